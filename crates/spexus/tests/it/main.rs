//! The real binary, in an empty home, as people and scripts meet it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod administration;
mod configuration;
mod connect;
mod items;
mod sampling;
mod serving;
mod sessions;
mod stdio;
mod transfer;
mod world;
