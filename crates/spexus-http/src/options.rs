//! What the HTTP surface can be told, with its limits.

use crate::{Tls, TrustedProxies};
use std::sync::Arc;

/// How the HTTP surface works. Every limit has its unit in its name.
#[derive(Clone)]
pub struct HttpOptions {
    /// The largest body accepted.
    pub max_body_bytes: usize,
    /// The largest push of evidence accepted, in JSON or as one report.
    pub max_push_bytes: usize,
    /// The most headers accepted, all together.
    pub max_header_bytes: usize,
    /// How long a request may take to arrive, head and body each.
    pub read_timeout_ms: u64,
    /// How long a request may take to be answered.
    pub request_timeout_ms: u64,
    /// Requests answered at once; more are refused.
    pub max_concurrent_requests: usize,
    /// Open connections; more wait to be accepted.
    pub max_connections: usize,
    /// Open connections of one address; more are closed at once. Trusted proxies have no such limit.
    pub max_connections_per_address: usize,
    /// Requests of one HTTP/2 connection answered at once; more are refused.
    pub max_requests_per_connection: u32,
    /// Streams of events one user may have open, over REST and MCP.
    pub max_streams_per_user: usize,
    /// How long a peer may take nothing of an answer.
    pub write_timeout_ms: u64,
    /// Requests a minute for one token or session.
    pub max_requests_per_minute: u32,
    /// Requests a minute for all tokens and sessions of one user.
    pub max_user_requests_per_minute: u32,
    /// Requests a minute for one address without a valid token.
    pub max_anonymous_requests_per_minute: u32,
    /// How long running requests may take after the server was told to stop.
    pub drain_timeout_ms: u64,
    /// The certificate to serve HTTPS with; in clear without one.
    pub tls: Option<Tls>,
    /// Whether browsers may be told to use HTTPS only, because they reach us that way.
    pub secure_cookies: bool,
    /// Proxies that are believed when they say for whom they speak.
    pub trusted_proxies: TrustedProxies,
    /// Names the server is reached by, beside its address and the names of the machine itself.
    pub public_hosts: Vec<String>,
    /// Origins of other sites whose pages may call REST and MCP with a token.
    pub cors_origins: Vec<String>,
    /// Writes the metrics in Prometheus' text form.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            max_body_bytes: 1 << 20,
            max_push_bytes: 256 << 20,
            max_header_bytes: 32 << 10,
            read_timeout_ms: 15_000,
            request_timeout_ms: 30_000,
            max_concurrent_requests: 1_024,
            max_connections: 4_096,
            max_connections_per_address: 512,
            max_requests_per_connection: 100,
            max_streams_per_user: 256,
            write_timeout_ms: 30_000,
            max_requests_per_minute: 6_000,
            max_user_requests_per_minute: 24_000,
            max_anonymous_requests_per_minute: 300,
            drain_timeout_ms: 10_000,
            tls: None,
            secure_cookies: false,
            trusted_proxies: TrustedProxies::default(),
            public_hosts: Vec::new(),
            cors_origins: Vec::new(),
            metrics: Arc::new(String::new),
        }
    }
}
