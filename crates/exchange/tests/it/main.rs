//! Documents read, changed and given back: the corpus, whatever text, and the format's own traps.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed; figures are printed"
)]

mod corpus;
mod folders;
mod reqif;
