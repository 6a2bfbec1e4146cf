//! What agents are shown, told and allowed: the product's MCP server over an in-memory pair and a real database, SQLite and
//! PostgreSQL alike, with no socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod agent;
mod answers;
mod asking;
mod consent;
mod deadlines;
mod execute;
mod hosts;
mod isolation;
mod pair;
mod prefixes;
mod projects;
mod prompts;
mod resources;
mod roles;
mod rows;
mod sizes;
mod subscriptions;
mod tools;
mod toolsets;
mod world;

use world::World;
