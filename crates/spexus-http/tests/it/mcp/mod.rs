//! The MCP endpoint from outside: agents on real sockets, beside REST on the same database.

mod asking;
mod client;
mod completion;
mod docs;
mod door;
mod execute;
mod hello;
mod measures;
mod prompts;
mod quiet;
mod resources;
mod roots;
mod sdk;
mod sdk_roots;
mod search;
mod sessions;
mod subscriptions;
mod tools;
mod toolsets;

pub(crate) use client::{Agent, hello};
