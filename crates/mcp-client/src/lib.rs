//! The client side of the Model Context Protocol, for clients of any kind.
//!
//! The bridge forwards to an MCP server, apps are MCP servers somebody else wrote, text completion asks a model over
//! HTTP. All three need the same few mechanisms, and this crate holds each of them once: an HTTP connection pool
//! ([`HttpPool`]), a reader of server-sent events ([`SseReader`]), the client side of the streamable HTTP transport
//! ([`HttpEndpoint`]), a JSON-RPC connection over pipes or HTTP ([`Connection`]), exponential backoff with jitter
//! ([`Backoff`]) and bounded retries ([`Retries`]).
//!
//! The decision that shaped it: **a failure says whether the request left** ([`SendError`]). Only with that knowledge can
//! somebody decide to send it again, so no layer here hides it, and none repeats anything on its own.
//!
//! The second: **hyper's client, not a larger one.** We send whole bodies to one address and read streams; redirects,
//! cookies, proxies and a URL type of its own would be weight on every call and in the binary, and the TLS a larger
//! client chooses becomes everybody's in the build. Answers stay the bytes they came as.
//!
//! What the crate refuses to know: what is called and why, users, retries' policy, and the environment.

mod backoff;
mod connection;
mod http;
mod sse;
mod streamable_http;

pub use backoff::{Backoff, Retries};
pub use connection::{
    CallError, Connection, ConnectionHandler, Initialized, Peer, PendingRequest, ProgressUpdate,
    RequestUpdate,
};
pub use http::{HttpPool, PoolOptions, SendError, read_body};
pub use sse::{SseEvent, SseReader};
pub use streamable_http::{
    HttpEndpoint, HttpReply, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID, is_json, retry_after,
};
