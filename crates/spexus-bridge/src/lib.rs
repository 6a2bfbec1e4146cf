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
//! The second decision: **ids and bodies are not rewritten.** A request keeps the id the host gave it, so that cancels,
//! progress and answers fit without a table, and an answer is copied, not decoded.
//!
//! The crate knows MCP's envelopes and HTTP. It knows no requirements, no database and no environment: whoever runs it
//! hands in [`Settings`] and a pair of streams.

mod answer;
mod backend;
mod call;
mod catalogue;
mod ear;
mod events;
mod flights;
mod host;
mod link;
mod listen;
mod settings;
mod text;
mod vitals;

pub use backend::{Backend, Fault, Reply};
pub use host::serve;
pub use link::{NAME, TITLE, trial};
pub use settings::{Endpoint, Limits, Settings, Token};
