//! The MCP endpoint from outside: agents on real sockets, beside REST on the same database.

mod client;
mod door;
mod hello;

use client::Agent;
