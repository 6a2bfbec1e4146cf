//! The MCP endpoint from outside: agents on real sockets, beside REST on the same database.

mod arrays;
mod asking;
mod client;
mod completion;
mod consent;
mod docs;
mod door;
mod execute;
mod greeting;
mod hello;
mod isolation;
mod measures;
mod noted;
mod pair;
mod projects;
mod quiet;
mod refusals;
mod roots;
mod routing;
mod rows;
mod sdk;
mod sdk_roots;
mod search;
mod sessions;
mod subscriptions;

pub(crate) use client::{Agent, hello};
