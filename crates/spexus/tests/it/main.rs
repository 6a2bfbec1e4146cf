//! The real binary, in an empty home, as people and scripts meet it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed, and one that is skipped says so"
)]

mod administration;
mod agents;
mod checkpoints;
mod coding_agent;
mod configuration;
mod connect;
mod documentation;
mod https;
mod items;
mod large_imports;
mod lint;
mod metadata;
mod projects;
mod reqif;
mod sampling;
mod serving;
mod sessions;
mod sheets;
mod stdio;
mod sync;
mod trace;
mod trace_examples;
mod trace_outputs;
mod transfer;
mod upgrade;
mod world;
