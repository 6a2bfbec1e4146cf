//! The rules of the product, where they are: the public use cases over a real database, SQLite and PostgreSQL alike, with
//! no surface and no socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod accounts;
mod agents;
mod apps;
mod audit;
mod batch;
mod carrying;
mod client;
mod comments;
mod deletion;
mod evidence;
mod evidence_derived;
mod evidence_faults;
mod faults;
mod history;
mod history_retention;
mod items;
mod leases;
mod links;
mod lists;
mod lockout;
mod members;
mod networks;
mod prefixes;
mod projects;
mod prompts;
mod reviews;
mod saved_views;
mod search;
mod tokens;
mod transfer;
mod world;

use world::World;
