//! The MCP endpoint from outside: agents on real sockets, beside REST on the same database.

mod arrays;
mod asking;
mod completion;
mod docs;
mod door;
mod evidence;
mod greeting;
mod hello;
mod isolation;
mod measures;
mod noted;
mod pair;
mod quiet;
mod refusals;
mod roots;
mod routing;
mod sdk;
mod sdk_roots;
mod search;
mod sessions;
mod subscriptions;

pub(crate) use test_support::mcp::{EventStream as Notices, HttpAgent as Agent, HttpAnswer, hello};
