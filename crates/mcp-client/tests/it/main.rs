//! Connections to servers that behave, and to servers that do not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod http;
mod pipes;
