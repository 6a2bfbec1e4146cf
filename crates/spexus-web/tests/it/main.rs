//! The pages from outside: a real server on a real socket over a real database, SQLite and PostgreSQL alike, and a browser that
//! follows no script. What only a browser with scripts shows is in `.ci/web`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should stop"
)]

mod admin;
mod document;
mod harness;
mod items;
mod own;
mod reviews;
mod rights;
mod safety;
mod saved_views;
mod sign_in;
mod tables;
mod trace;
mod views;

use harness::World;
