//! The rules at work: examples of the table, labelled sentences, the corpora.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on has failed; figures are printed"
)]

mod corpora;
mod examples;
mod labelled;
mod properties;
mod sets;
