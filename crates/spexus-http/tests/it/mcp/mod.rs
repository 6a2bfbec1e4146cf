//! The MCP endpoint from outside: agents on real sockets, beside REST on the same database.

mod client;
mod completion;
mod docs;
mod door;
mod hello;
mod measures;
mod prompts;
mod quiet;
mod resources;
mod roots;
mod search;
mod sessions;
mod subscriptions;
mod tools;
mod toolsets;

pub(crate) use client::{Agent, hello};
