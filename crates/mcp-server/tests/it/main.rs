//! The runtime from outside: real pipes, real sockets, real child processes, and memory where that is enough.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on should stop where it stands, and its helpers take what it hands them"
)]

mod audiences;
mod batches;
mod client;
mod clients;
mod declaring;
mod elicitation;
mod http;
mod http_client;
mod interleaving;
mod kept_sessions;
mod lifecycle;
mod limits;
mod messages;
mod prompts;
mod refusals;
mod registry;
mod requests;
mod resources;
mod roots;
mod sampling;
mod schema;
mod sessions;
mod shares;
mod stdio;
mod subscriptions;
mod tasks;
mod tools;
