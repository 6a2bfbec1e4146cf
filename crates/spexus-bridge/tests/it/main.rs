//! The bridge between a host that speaks lines and a real server behind real sockets, which can be killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod both_ways;
mod faults;
mod lifecycle;
mod place;
mod refusals;
mod slow;
mod vitals;
