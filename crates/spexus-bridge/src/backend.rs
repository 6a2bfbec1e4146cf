//! The backend: its MCP endpoint, and the permits for calls to it.

use std::io;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use mcp_client::{HttpEndpoint, PoolOptions};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::settings::{BearerToken, BridgeSettings};

// Fulfils 003 R4.5, 003 R12.1, 003 R15.2
/// The HTTP endpoint of the backend, with the token and the headers every call carries. Fails when the machine has no
/// certificates to check a backend by.
//= specs/spexus-bridge.md#calling-the-backend
//# All calls MUST share one pool of connections, and every call MUST carry the token in its `Authorization` header.
//= specs/spexus-bridge.md#calling-the-backend
//# A backend at an `https` address MUST show a certificate the machine trusts, or nothing is sent to it.
pub fn endpoint(settings: &BridgeSettings) -> io::Result<HttpEndpoint> {
    let mut headers = HeaderMap::new();
    let token = settings.token.as_ref().and_then(BearerToken::header);
    headers.extend(token.map(|token| (AUTHORIZATION, token)));
    headers.extend(settings.headers.iter().cloned());
    let pool = PoolOptions {
        max_idle: settings.limits.max_connections,
        ..PoolOptions::default()
    };
    let address = settings.backend.mcp().clone();
    HttpEndpoint::new(address, headers, settings.limits.max_answer_bytes, pool)
}

/// The backend as calls see it.
pub(crate) struct Backend {
    pub(crate) endpoint: HttpEndpoint,
    permits: Semaphore,
}

impl Backend {
    pub(crate) fn new(settings: &BridgeSettings) -> io::Result<Self> {
        Ok(Self {
            endpoint: endpoint(settings)?,
            permits: Semaphore::new(settings.limits.max_connections),
        })
    }

    /// Waits for the permit of one call.
    pub(crate) async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }
}

/// A value for a header, when the text can stand in one.
pub(crate) fn header_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text).ok()
}
