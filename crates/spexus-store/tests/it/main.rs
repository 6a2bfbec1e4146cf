//! The contract of the store: every story is told on SQLite and on PostgreSQL, and must end the same way.

#![allow(clippy::unwrap_used, reason = "a test's failure is a panic")]

mod accounts;
mod audit_days;
mod auditor;
mod chain;
mod comments;
mod copy;
mod crash;
mod differences;
mod items;
mod keys;
mod lanes;
mod links;
mod listing;
mod mcp_sessions;
mod nodes;
mod prompts;
mod proxy;
mod reports;
mod schema;
mod search;
mod snapshot;
mod tampering;
mod time;
mod together;
mod totals;
mod trace;
mod world;
mod writer;
