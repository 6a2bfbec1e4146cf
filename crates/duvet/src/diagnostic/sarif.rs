//! Diagnostics, written as sarif.
