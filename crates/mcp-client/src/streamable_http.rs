//! Client side of MCP's streamable HTTP transport: messages by POST, streams by GET, the end of a session by DELETE.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use hyper::body::Incoming;

use crate::http::{HttpPool, PoolOptions, SendError, read_body};
use crate::sse::SseReader;

/// The header that names a session.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The header that names the version of the protocol.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The header by which a broken stream is taken up again where it broke.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Response of an MCP endpoint.
#[derive(Debug)]
pub enum HttpReply {
    /// One JSON text, or something that should have been.
    Text {
        /// The HTTP status.
        status: u16,
        /// The headers.
        headers: HeaderMap,
        /// The body.
        body: Bytes,
    },
    /// A stream of messages.
    Events {
        /// The headers.
        headers: HeaderMap,
        /// The messages, one after the other.
        events: SseReader,
    },
}

impl HttpReply {
    /// The session the endpoint opened with this response.
    pub fn session(&self) -> Option<&HeaderValue> {
        let (HttpReply::Text { headers, .. } | HttpReply::Events { headers, .. }) = self;
        headers.get(SESSION_ID)
    }
}

/// When to come back, if the response says so in seconds.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Whether a response says that it is JSON.
pub fn is_json(headers: &HeaderMap) -> bool {
    content_type(headers).starts_with("application/json")
}

/// An MCP endpoint over HTTP and the pool of connections to it. Clones share the pool.
#[derive(Clone, Debug)]
pub struct HttpEndpoint {
    pool: HttpPool,
    address: Uri,
    headers: HeaderMap,
    max_message_bytes: usize,
}

impl HttpEndpoint {
    /// An endpoint nothing was sent to yet; every request carries these headers. Fails when the address is `https` and
    /// the machine has no certificates to check a server by.
    pub fn new(
        address: Uri,
        headers: HeaderMap,
        max_message_bytes: usize,
        pool: PoolOptions,
    ) -> io::Result<Self> {
        let mut all = HeaderMap::new();
        all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        all.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        all.extend(headers);
        Ok(Self {
            pool: HttpPool::new(&address, pool)?,
            address,
            headers: all,
            max_message_bytes,
        })
    }

    /// The same endpoint, with more headers on every request.
    pub fn with_headers(&self, headers: &HeaderMap) -> Self {
        let mut endpoint = self.clone();
        for (name, value) in headers {
            endpoint.headers.insert(name, value.clone());
        }
        endpoint
    }

    /// Sends one message, or an array of them.
    pub async fn post(&self, body: Bytes, headers: &HeaderMap) -> Result<HttpReply, SendError> {
        self.exchange(Method::POST, self.address.clone(), body, headers)
            .await
    }

    /// Opens the stream of messages nobody asked for, or the rest of one that broke.
    pub async fn get(&self, headers: &HeaderMap) -> Result<HttpReply, SendError> {
        self.exchange(Method::GET, self.address.clone(), Bytes::new(), headers)
            .await
    }

    /// Ends a session.
    pub async fn delete(&self, headers: &HeaderMap) -> Result<HttpReply, SendError> {
        self.exchange(Method::DELETE, self.address.clone(), Bytes::new(), headers)
            .await
    }

    /// Sends a request to another address of the same server, with the endpoint's headers.
    pub async fn request(&self, method: Method, address: Uri, body: Bytes) -> Result<HttpReply, SendError> {
        self.exchange(method, address, body, &HeaderMap::new()).await
    }

    async fn exchange(
        &self,
        method: Method,
        address: Uri,
        body: Bytes,
        headers: &HeaderMap,
    ) -> Result<HttpReply, SendError> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = address;
        *request.headers_mut() = self.headers.clone();
        for (name, value) in headers {
            request.headers_mut().insert(name, value.clone());
        }
        self.reply(self.pool.send(request).await?).await
    }

    async fn reply(&self, response: Response<Incoming>) -> Result<HttpReply, SendError> {
        let (parts, body) = response.into_parts();
        let headers = parts.headers;
        if content_type(&headers).starts_with("text/event-stream") && parts.status.is_success() {
            let events = SseReader::new(body, self.max_message_bytes);
            return Ok(HttpReply::Events { headers, events });
        }
        Ok(HttpReply::Text {
            status: parts.status.as_u16(),
            headers,
            body: read_body(body, self.max_message_bytes).await?,
        })
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE);
    value.and_then(|value| value.to_str().ok()).unwrap_or_default()
}
