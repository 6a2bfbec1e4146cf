//! The crate from outside: corpora, probes, the command.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test may fail and may speak"
)]

mod corpora;
mod scratch;
