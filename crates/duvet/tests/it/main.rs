//! The crate from outside: corpora, probes, the command, the resident engine.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test may fail and may speak"
)]

mod cases;
mod command;
mod corpora;
mod fence;
#[cfg(unix)]
mod full_disk;
mod lost;
mod mcp;
mod mutations;
mod parity;
mod probes;
mod reading;
mod requirement_index;
mod resident;
mod scratch;
mod stale;
