//! Diagnostics, written as text.
