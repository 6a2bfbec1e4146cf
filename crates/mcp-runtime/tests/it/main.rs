//! The runtime from outside: real pipes, real sockets, real child processes, and memory where that is enough.

mod client;
mod clients;
mod http;
mod interleaving;
mod lifecycle;
mod limits;
mod messages;
mod prompts;
mod refusals;
mod registry;
mod requests;
mod resources;
mod sessions;
mod stdio;
mod tasks;
mod tools;
