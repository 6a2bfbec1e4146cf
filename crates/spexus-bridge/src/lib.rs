//! The stdio server of an AI host whose requirements live on a server elsewhere.
//!
//! A host starts a process and speaks MCP with it over pipes; the product is served over HTTP. The bridge stands between
//! the two. It answers by itself what needs nobody else (`initialize`, `ping`, `shutdown`, arguments that cannot be
//! right) and passes everything else on, in both directions, byte for byte where it can.
//!
//! The decision that shaped it: **the host must never notice that there is a network.** Every request gets exactly one
//! answer, whatever becomes of the backend. What is safe to repeat is repeated, with growing pauses; what is not safe is
//! given a key by which the backend recognises it, or is reported as unknown. A session the backend lost is opened
//! again, with its subscriptions, and the host is told that things may have changed.
//!
//! The second decision: **bodies are copied, not decoded.** A request keeps the id the host gave it, so that cancels,
//! progress and answers fit without a table; its envelope is taken apart once, when it is read; the only thing ever
//! added to it is an idempotency key. An answer goes back as the bytes it came as, on one line; only the answer to the
//! hello is given the bridge's own name.
//!
//! The crate knows MCP's envelopes; HTTP, events and backoff are `mcp-client`'s. It knows no requirements, no database
//! and no environment: whoever runs it hands in [`BridgeSettings`] and a pair of streams.

mod answer;
mod backend;
mod bridge;
mod forward;
mod in_flight;
mod listener;
mod message;
mod request;
mod session;
mod settings;
mod stats;
mod subscription;
mod tool_cache;
mod tool_call;

pub use backend::endpoint;
pub use bridge::serve;
pub use session::{NAME, TITLE, trial};
pub use settings::{BackendUrl, BearerToken, BridgeLimits, BridgeSettings};
