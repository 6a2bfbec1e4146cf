//! Real apps as real processes, installed in a real server.

mod bundles;
mod calling;
mod host;
mod installing;
mod isolation;
mod supervising;
mod web;
