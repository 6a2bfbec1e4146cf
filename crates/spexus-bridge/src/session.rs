//! The session with the backend behind a host of the handshake era: opened once, and opened again when it is lost.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use mcp_client::{HttpEndpoint, HttpReply, PROTOCOL_VERSION, SESSION_ID, SendError};
use mcp_protocol::Version;
use mcp_protocol::envelope::{self, Message};
use serde_json::{Value, json};

use crate::settings::BridgeSettings;

/// What the stdio server is called unless somebody calls it something else.
pub const NAME: &str = "requirements-mcp-server";
/// The same for people.
pub const TITLE: &str = "Requirements";

/// The host's `initialize`.
#[derive(Clone, Debug)]
pub(crate) struct Handshake {
    pub(crate) version: Version,
    /// Its parameters, as they came.
    pub(crate) params: String,
}

/// A session that is open, as far as we know.
#[derive(Debug)]
pub(crate) struct OpenSession {
    /// The backend as the session sees it: every message names it.
    pub(crate) endpoint: HttpEndpoint,
    /// Counts the sessions of this bridge.
    pub(crate) generation: u64,
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum SessionError {
    /// The host did not say hello yet.
    NoHandshake,
    /// The backend cannot be reached.
    Send(SendError),
    /// The backend does not want us; its error as text, when it gave one.
    Refused(u16, Option<String>),
}

/// The session with the backend, and what a new one must be told again.
#[derive(Debug, Default)]
pub(crate) struct BackendSession {
    state: Mutex<State>,
    opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    handshake: Option<Handshake>,
    open: Option<Arc<OpenSession>>,
    generation: u64,
    subscriptions: BTreeSet<String>,
    log_level: Option<String>,
}

impl BackendSession {
    /// Keeps the host's `initialize` for every session to come.
    pub(crate) fn agree(&self, handshake: Handshake) {
        self.lock().handshake = Some(handshake);
    }

    /// Forgets the handshake: the backend did not accept it.
    pub(crate) fn reset(&self) {
        *self.lock() = State::default();
    }

    /// The parameters of the host's `initialize`; empty before it said hello.
    pub(crate) fn handshake_params(&self) -> String {
        let handshake = &self.lock().handshake;
        handshake
            .as_ref()
            .map(|handshake| handshake.params.clone())
            .unwrap_or_default()
    }

    /// The version the host agreed on.
    pub(crate) fn version(&self) -> Option<Version> {
        self.lock().handshake.as_ref().map(|handshake| handshake.version)
    }

    fn current(&self) -> Option<Arc<OpenSession>> {
        self.lock().open.clone()
    }

    /// This session is gone; a newer one is not touched.
    pub(crate) fn lost(&self, generation: u64) {
        let mut state = self.lock();
        if state
            .open
            .as_ref()
            .is_some_and(|open| open.generation == generation)
        {
            state.open = None;
        }
    }

    pub(crate) fn subscribed(&self, uri: &str) {
        self.lock().subscriptions.insert(uri.to_owned());
    }

    pub(crate) fn unsubscribed(&self, uri: &str) {
        self.lock().subscriptions.remove(uri);
    }

    pub(crate) fn subscriptions(&self) -> Vec<String> {
        self.lock().subscriptions.iter().cloned().collect()
    }

    pub(crate) fn set_log_level(&self, params: &str) {
        self.lock().log_level = Some(params.to_owned());
    }

    /// The open session, opened now if there is none. Callers that come at once share one opening.
    pub(crate) async fn ensure(&self, backend: &HttpEndpoint) -> Result<Arc<OpenSession>, SessionError> {
        if let Some(open) = self.current() {
            return Ok(open);
        }
        let _one = self.opening.lock().await;
        match self.current() {
            Some(open) => Ok(open),
            None => Ok(self.open(backend).await?.0),
        }
    }

    /// Opens the first session; the backend's answer to `initialize`.
    pub(crate) async fn initialize(&self, backend: &HttpEndpoint) -> Result<Value, SessionError> {
        let _one = self.opening.lock().await;
        Ok(self.open(backend).await?.1)
    }

    //= specs/spexus-bridge.md#faults
    //# A session the backend has lost MUST be opened again, with its subscriptions and its log level.
    async fn open(&self, backend: &HttpEndpoint) -> Result<(Arc<OpenSession>, Value), SessionError> {
        let handshake = self.lock().handshake.clone().ok_or(SessionError::NoHandshake)?;
        let (endpoint, answer) = initialize(backend, &handshake).await?;
        let (subscriptions, log_level) = {
            let state = self.lock();
            (state.subscriptions.clone(), state.log_level.clone())
        };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        post(&endpoint, initialized.to_string()).await?;
        for uri in subscriptions {
            let again = request("resources/subscribe", &json!({ "uri": uri }).to_string());
            post(&endpoint, again).await?;
        }
        if let Some(params) = log_level {
            post(&endpoint, request("logging/setLevel", &params)).await?;
        }
        let mut state = self.lock();
        state.generation += 1;
        let open = Arc::new(OpenSession {
            endpoint,
            generation: state.generation,
        });
        state.open = Some(open.clone());
        Ok((open, answer))
    }

    /// Ends the session, if there is one.
    pub(crate) async fn close(&self) {
        let open = self.lock().open.take();
        if let Some(open) = open {
            // Best effort: an abandoned session ends by itself.
            let _ = open.endpoint.delete(&HeaderMap::new()).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Shakes hands with a backend as a host would, and counts its tools: `(name, version, tools)`.
pub async fn trial(settings: &BridgeSettings) -> Result<(String, String, usize), String> {
    let backend = crate::backend::endpoint(settings).map_err(|error| error.to_string())?;
    let session = BackendSession::default();
    let version = Version::NEWEST_HANDSHAKE;
    let params = json!({
        "protocolVersion": version.name(),
        "capabilities": {},
        "clientInfo": { "name": settings.name, "version": settings.version },
    });
    session.agree(Handshake {
        version,
        params: params.to_string(),
    });
    let initialized = session.initialize(&backend).await.map_err(describe)?;
    let open = session.ensure(&backend).await.map_err(describe)?;
    let listed = post(&open.endpoint, request("tools/list", "{}"))
        .await
        .map_err(describe)?;
    session.close().await;
    let text = |at: &str| {
        initialized["serverInfo"][at]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let tools = listed["tools"].as_array().map_or(0, Vec::len);
    Ok((text("name"), text("version"), tools))
}

fn describe(error: SessionError) -> String {
    match error {
        SessionError::NoHandshake => "there was no greeting".to_owned(),
        SessionError::Send(error) => error.to_string(),
        SessionError::Refused(status, error) => {
            let message = error.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            let message = message.and_then(|error| error["message"].as_str().map(str::to_owned));
            message.unwrap_or_else(|| format!("it answered with HTTP status {status} and no message"))
        }
    }
}

async fn initialize(
    backend: &HttpEndpoint,
    handshake: &Handshake,
) -> Result<(HttpEndpoint, Value), SessionError> {
    let body = request("initialize", &handshake.params);
    let reply = backend.post(body.into(), &HeaderMap::new()).await;
    let reply = reply.map_err(SessionError::Send)?;
    let session = reply.session().cloned();
    let answer = result_of(reply).await?;
    let mut headers = HeaderMap::new();
    if let Some(session) = session {
        headers.insert(SESSION_ID, session);
    }
    // The first revision has no such header; naming it does no harm.
    headers.insert(
        PROTOCOL_VERSION,
        HeaderValue::from_static(handshake.version.name()),
    );
    Ok((backend.with_headers(&headers), answer))
}

async fn post(endpoint: &HttpEndpoint, body: String) -> Result<Value, SessionError> {
    let reply = endpoint.post(body.into(), &HeaderMap::new()).await;
    result_of(reply.map_err(SessionError::Send)?).await
}

/// The result of a message of our own.
async fn result_of(reply: HttpReply) -> Result<Value, SessionError> {
    let (status, body) = match reply {
        HttpReply::Text {
            status: 202 | 204, ..
        } => return Ok(Value::Null),
        HttpReply::Text { status, body, .. } => (status, body),
        HttpReply::Events { mut events, .. } => loop {
            match events.next().await.map_err(SessionError::Send)? {
                Some(event) if is_response(&event.data) => break (200, Bytes::from(event.data)),
                Some(_) => {}
                None => {
                    let early = SendError::Broken("the stream ended early".into());
                    return Err(SessionError::Send(early));
                }
            }
        },
    };
    let text = std::str::from_utf8(&body).unwrap_or_default();
    match envelope::message(text) {
        Ok(Message::Response(response)) => match response.outcome {
            Ok(result) => Ok(serde_json::from_str(result).unwrap_or_default()),
            Err(error) => Err(SessionError::Refused(status, Some(error.to_owned()))),
        },
        _ if matches!(status, 502..=504) => {
            let gone = SendError::NotSent(format!("HTTP status {status}"));
            Err(SessionError::Send(gone))
        }
        _ => Err(SessionError::Refused(status, None)),
    }
}

fn is_response(data: &[u8]) -> bool {
    let text = std::str::from_utf8(data).unwrap_or_default();
    matches!(envelope::message(text), Ok(Message::Response(_)))
}

/// A request of our own. Its id cannot be one of the host's: nobody else chooses this name.
fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"spexus-bridge/{method}","method":"{method}","params":{params}}}"#)
}
