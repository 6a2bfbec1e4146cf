//! Diagnostics, written as json.
