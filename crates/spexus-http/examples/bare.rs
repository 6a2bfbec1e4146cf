//! What the REST surface is measured against: an axum route that answers JSON of the size of an item and does nothing
//! else. `cargo xtask bench rest` starts it beside the real server.
//!
//! It listens on the address given as its only argument and prints the one it got. It shares nothing with the product
//! but the libraries, because what it measures is the floor they give us.
#![allow(clippy::print_stdout, reason = "the benchmark reads the address from here")]

use axum::routing::get;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use serde::Serialize;

#[derive(Serialize)]
struct Item {
    id: &'static str,
    reference_id: &'static str,
    project: &'static str,
    kind: &'static str,
    title: &'static str,
    description: &'static str,
    status: &'static str,
    priority: u8,
    creator: &'static str,
    position: i64,
    rev: i64,
    content_hash: &'static str,
    created_at: &'static str,
    updated_at: &'static str,
}

const ITEM: Item = Item {
    id: "0198a1b2-0000-7000-8000-000000000000",
    reference_id: "EP-001",
    project: "default",
    kind: "epic",
    title: "Sign in with a passkey",
    description: "The user signs in with a passkey kept on the device, without a password, within two seconds.",
    status: "Backlog",
    priority: 3,
    creator: "admin",
    position: 1_048_576,
    rev: 1,
    content_hash: "0123456789abcdef0123456789abcdef",
    created_at: "2026-11-15T19:30:00.123456Z",
    updated_at: "2026-11-15T19:30:00.123456Z",
};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, Router::new().route("/item", get(async || Json(ITEM)))).await
}
