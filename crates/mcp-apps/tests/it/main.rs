//! Real apps as real processes, installed in a real server.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod bundles;
mod calling;
mod host;
mod installing;
mod isolation;
mod supervising;
mod web;
