//! The contract of the store: every story is told on SQLite and on PostgreSQL, and must end the same way.

#![allow(clippy::unwrap_used, reason = "a test's failure is a panic")]

mod chain;
mod items;
mod links;
mod listing;
mod schema;
mod world;
mod writer;
