//! HTTP for the SDK's streamable transport, on the TLS the rest of the product uses.
//!
//! The SDK brings a client of its own, whose choice of TLS would become everybody's in the build; this one is small
//! because the SDK does all that is MCP.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// A pool of connections.
#[derive(Clone, Debug)]
pub(crate) struct Web {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    max_message_bytes: usize,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Unanswered(String);

impl std::fmt::Display for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

type Failed = StreamableHttpError<Unanswered>;
type Headers = HashMap<HeaderName, HeaderValue>;

impl Web {
    /// Fails when the machine has no certificates to check a server by.
    pub(crate) fn new(max_message_bytes: usize) -> std::io::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            client,
            max_message_bytes,
        })
    }

    async fn send(
        &self,
        method: Method,
        uri: &str,
        body: Bytes,
        token: Option<String>,
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Result<Response<Incoming>, Failed> {
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header(ACCEPT, format!("{JSON}, {EVENTS}"));
        let mut request = request
            .header(CONTENT_TYPE, JSON)
            .body(Full::new(body))
            .map_err(unanswered)?;
        if let Some(token) = token {
            let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(unanswered)?;
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        request.headers_mut().extend(headers);
        let response = self.client.request(request).await.map_err(unanswered)?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let challenge = response
                .headers()
                .get(WWW_AUTHENTICATE)
                .and_then(|value| value.to_str().ok());
            let challenge = challenge.unwrap_or_default().to_owned();
            return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(
                challenge,
            )));
        }
        Ok(response)
    }

    fn events(&self, body: Incoming) -> BoxStream<'static, Result<Sse, SseError>> {
        SseStream::from_bytes_stream(bounded(body.into_data_stream(), self.max_message_bytes)).boxed()
    }
}

impl StreamableHttpClient for Web {
    type Error = Unanswered;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let had_session = session_id.is_some();
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        let headers = headers.into_iter().chain(named(SESSION, session_id.as_deref()));
        let body = serde_json::to_vec(&message)?.into();
        let response = self.send(Method::POST, &uri, body, token, headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = response
            .headers()
            .get(&SESSION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        if status.is_success() && kind(&response).starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(
                self.events(response.into_body()),
                session,
            ));
        }
        let body = Limited::new(response.into_body(), self.max_message_bytes)
            .collect()
            .await;
        let body = body
            .map_err(|error| StreamableHttpError::Client(Unanswered(error.to_string())))?
            .to_bytes();
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            Err(_) if status.is_success() && !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Err(_) => Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(
                format!("HTTP {status}"),
            ))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failed> {
        let headers = headers.into_iter().chain(named(SESSION, Some(&session_id)));
        // A server that keeps its session, or has none, loses nothing by it.
        self.send(Method::DELETE, &uri, Bytes::new(), token, headers)
            .await
            .map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let headers = headers.into_iter().chain(named(SESSION, session_id.as_deref()));
        let headers = headers.chain(named(LAST_EVENT, last_event_id.as_deref()));
        let response = self.send(Method::GET, &uri, Bytes::new(), token, headers).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !response.status().is_success() || !kind(&response).starts_with(EVENTS) {
            let problem = format!("HTTP {}", response.status());
            return Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(problem)));
        }
        Ok(self.events(response.into_body()))
    }
}

fn named(name: HeaderName, value: Option<&str>) -> Option<(HeaderName, HeaderValue)> {
    Some((name, HeaderValue::try_from(value?).ok()?))
}

fn kind(response: &Response<Incoming>) -> &str {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn unanswered(error: impl std::error::Error) -> Failed {
    let cause = error
        .source()
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    StreamableHttpError::Client(Unanswered(format!("{error}{cause}")))
}

/// The bytes of a stream of events, as long as no event grows beyond a limit. An event ends with an empty line.
fn bounded<S>(stream: S, max_bytes: usize) -> impl Stream<Item = Result<Bytes, std::io::Error>>
where
    S: Stream<Item = Result<Bytes, hyper::Error>>,
{
    let (mut size, mut line_is_empty) = (0_usize, true);
    stream.map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        for byte in &chunk {
            match byte {
                b'\n' if line_is_empty => size = 0,
                b'\n' => line_is_empty = true,
                b'\r' => {}
                _ => line_is_empty = false,
            }
            size += 1;
        }
        if size > max_bytes {
            return Err(std::io::Error::other("an event is too large"));
        }
        Ok(chunk)
    })
}
