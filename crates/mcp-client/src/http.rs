//! HTTP connection pool: whole bodies out, streamed bodies in, and failures told apart by whether the request left.

use std::io;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// Why a request has no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The request did not leave: whatever it is, it can be sent again.
    NotSent(String),
    /// The connection broke after the request had left: nobody knows whether it was done.
    Broken(String),
}

impl std::fmt::Display for SendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (SendError::NotSent(reason) | SendError::Broken(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for SendError {}

/// Limits of a connection pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolOptions {
    /// Idle connections that are kept.
    pub max_idle: usize,
    /// How long an idle connection is kept.
    pub idle_timeout_ms: u64,
    /// How long a connection may take to be made.
    pub connect_timeout_ms: u64,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            max_idle: 64,
            idle_timeout_ms: 60_000,
            connect_timeout_ms: 5_000,
        }
    }
}

/// HTTP/1.1 connection pool for one server. Clones share the connections. Redirects are not followed.
#[derive(Clone, Debug)]
pub struct HttpPool(Transport);

#[derive(Clone, Debug)]
enum Transport {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl HttpPool {
    /// A pool without connections yet, for the server of this address. Fails when the address is `https` and the
    /// machine has no certificates to check a server by.
    pub fn new(address: &Uri, options: PoolOptions) -> io::Result<Self> {
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_idle_timeout(Duration::from_millis(options.idle_timeout_ms))
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(options.max_idle);
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(Duration::from_millis(options.connect_timeout_ms)));
        if address.scheme_str() != Some("https") {
            return Ok(Self(Transport::Plain(builder.build(connector))));
        }
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_only()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self(Transport::Tls(builder.build(connector))))
    }

    /// Sends a request and waits for the head of its response.
    pub async fn send(&self, request: Request<Bytes>) -> Result<Response<Incoming>, SendError> {
        let request = request.map(Full::new);
        let sent = match &self.0 {
            Transport::Plain(client) => client.request(request).await,
            Transport::Tls(client) => client.request(request).await,
        };
        sent.map_err(|error| send_error(&error))
    }
}

/// The whole body of a response, up to a limit.
pub async fn read_body(mut body: Incoming, max_bytes: usize) -> Result<Bytes, SendError> {
    let mut all = BytesMut::new();
    let mut first = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| SendError::Broken(innermost(&error)))?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.len() + first.as_ref().map_or(0, Bytes::len) > max_bytes {
            return Err(SendError::Broken(format!(
                "the answer is larger than {max_bytes} bytes"
            )));
        }
        // Most answers are one piece, which needs no copy.
        match first.take() {
            None if all.is_empty() => first = Some(data),
            before => {
                all.extend_from_slice(&before.unwrap_or_default());
                all.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}

fn send_error(error: &legacy::Error) -> SendError {
    if error.is_connect() {
        SendError::NotSent(innermost(error))
    } else {
        SendError::Broken(innermost(error))
    }
}

/// The innermost error of a chain, which is the one that says what happened.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
