//! The backend as something that is sent requests: one pool of connections, and answers sorted by what can be done with
//! them.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::events::Events;
use crate::settings::{Settings, Token};

/// The header that names a session.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request did not leave: whatever it is, it can be sent again.
    NotSent(String),
    /// The connection broke after the request had left: nobody knows whether it was done.
    Broken(String),
}

/// What came back.
#[derive(Debug)]
pub enum Reply {
    /// One JSON text, or something that should have been.
    Text {
        /// The HTTP status.
        status: u16,
        /// The session that was opened.
        session: Option<HeaderValue>,
        /// When to come back, if the backend says.
        retry_after: Option<Duration>,
        /// Whether it says that it is JSON.
        is_json: bool,
        /// The body.
        body: Bytes,
    },
    /// Messages, one after the other.
    Events(Events),
}

/// See the module.
pub struct Backend {
    client: Transport,
    mcp: Uri,
    common: HeaderMap,
    places: Semaphore,
    max_answer_bytes: usize,
}

enum Transport {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl Backend {
    // Fulfils 003 R4.5, 003 R12.1, 003 R15.2
    /// A backend that was not spoken to yet. Fails when the machine has no certificates to check a backend by.
    //= specs/spexus-bridge.md#calling-the-backend
    //# All calls MUST share one pool of connections, and every call MUST carry the token in its `Authorization` header.
    pub fn new(settings: &Settings) -> std::io::Result<Self> {
        let mut common = HeaderMap::new();
        common.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        common.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        let token = settings.token.as_ref().and_then(Token::header);
        common.extend(token.map(|token| (AUTHORIZATION, token)));
        common.extend(settings.headers.iter().cloned());
        Ok(Self {
            client: Transport::new(settings)?,
            mcp: settings.endpoint.mcp().clone(),
            common,
            places: Semaphore::new(settings.limits.max_connections),
            max_answer_bytes: settings.limits.max_answer_bytes,
        })
    }

    /// Waits for one of the places for calls.
    pub(crate) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.places.acquire().await.ok()
    }

    /// Sends one message.
    pub async fn post(&self, body: Bytes, headers: &HeaderMap) -> Result<Reply, Fault> {
        let response = self.send(Method::POST, self.mcp.clone(), body, headers).await?;
        self.reply(response).await
    }

    /// Opens a stream of messages nobody asked for, or the rest of one that broke.
    pub async fn get(&self, headers: &HeaderMap) -> Result<Reply, Fault> {
        let response = self
            .send(Method::GET, self.mcp.clone(), Bytes::new(), headers)
            .await?;
        self.reply(response).await
    }

    /// Ends a session.
    pub async fn delete(&self, headers: &HeaderMap) -> Result<Reply, Fault> {
        let response = self
            .send(Method::DELETE, self.mcp.clone(), Bytes::new(), headers)
            .await?;
        self.reply(response).await
    }

    /// Sends a request to any address of the backend.
    pub async fn request(&self, method: Method, to: Uri, body: Bytes) -> Result<Reply, Fault> {
        let response = self.send(method, to, body, &HeaderMap::new()).await?;
        self.reply(response).await
    }

    async fn send(
        &self,
        method: Method,
        to: Uri,
        body: Bytes,
        headers: &HeaderMap,
    ) -> Result<Response<Incoming>, Fault> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = to;
        *request.headers_mut() = self.common.clone();
        for (name, value) in headers {
            request.headers_mut().insert(name, value.clone());
        }
        self.client.send(request).await.map_err(|error| fault(&error))
    }

    async fn reply(&self, response: Response<Incoming>) -> Result<Reply, Fault> {
        let (parts, body) = response.into_parts();
        let kind = parts
            .headers
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        if kind.starts_with("text/event-stream") && parts.status.is_success() {
            return Ok(Reply::Events(Events::new(body, self.max_answer_bytes)));
        }
        let seconds = parts
            .headers
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Ok(Reply::Text {
            status: parts.status.as_u16(),
            session: parts.headers.get(SESSION).cloned(),
            retry_after: seconds.map(Duration::from_secs),
            is_json: kind.starts_with("application/json"),
            body: collect(body, self.max_answer_bytes).await?,
        })
    }
}

impl Transport {
    fn new(settings: &Settings) -> std::io::Result<Self> {
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(settings.limits.max_connections);
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        if settings.endpoint.mcp().scheme_str() != Some("https") {
            return Ok(Self::Plain(builder.build(connector)));
        }
        //= specs/spexus-bridge.md#calling-the-backend
        //# A backend at an `https` address MUST show a certificate the machine trusts, or nothing is sent to it.
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_only()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self::Tls(builder.build(connector)))
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, legacy::Error> {
        match self {
            Self::Plain(client) => client.request(request).await,
            Self::Tls(client) => client.request(request).await,
        }
    }
}

async fn collect(mut body: Incoming, max_bytes: usize) -> Result<Bytes, Fault> {
    let mut all = BytesMut::new();
    let mut first = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Fault::Broken(reason(&error)))?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.len() + first.as_ref().map_or(0, Bytes::len) > max_bytes {
            return Err(Fault::Broken(format!(
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

fn fault(error: &legacy::Error) -> Fault {
    if error.is_connect() {
        Fault::NotSent(reason(error))
    } else {
        Fault::Broken(reason(error))
    }
}

/// The last word of a chain of errors, which is the one that says what happened.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
