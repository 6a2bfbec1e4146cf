//! The HTTP surface from outside: a real server on a real socket over a real database, SQLite and PostgreSQL alike.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod accounts;
mod answers;
mod audit;
mod bad_input;
mod deadlines;
mod door;
mod evidence;
mod faults;
mod feed;
mod harness;
mod https;
mod isolation;
mod items;
mod limits;
mod lockout;
mod logs;
mod mcp;
mod openapi;
mod permissions;
mod prefixes;
mod projects;
mod search;

use harness::Server as World;
