//! The crate from outside: corpora, probes, the command, the resident engine.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test may fail and may speak"
)]

mod catalogue;
mod command;
mod corpora;
mod mcp;
mod mutations;
mod probes;
mod resident;
mod scratch;
