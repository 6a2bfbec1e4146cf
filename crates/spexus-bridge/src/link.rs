//! The session with the backend behind a host of the handshake era: opened once, and opened again when it is lost.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp_protocol::Version;
use mcp_protocol::envelope::{self, Message};
use serde_json::{Value, json};

use crate::backend::{Backend, Fault, Reply, SESSION};
use crate::settings::Settings;

/// What the stdio server is called unless somebody calls it something else.
pub const NAME: &str = "requirements-mcp-server";
/// The same for people.
pub const TITLE: &str = "Requirements";

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// How the host said hello.
#[derive(Clone, Debug)]
pub(crate) struct Greeting {
    pub(crate) version: Version,
    /// The parameters of its `initialize`, as they came.
    pub(crate) params: String,
}

/// A session that is open, as far as we know.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    /// What every message of it carries.
    pub(crate) headers: HeaderMap,
    /// Counts the sessions of this link.
    pub(crate) generation: u64,
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum Closed {
    /// The host did not say hello yet.
    NoGreeting,
    /// The backend cannot be reached.
    Fault(Fault),
    /// The backend does not want us; its error as text, when it gave one.
    Refused(u16, Option<String>),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Link {
    state: Mutex<State>,
    opening: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    greeting: Option<Greeting>,
    live: Option<Live>,
    generation: u64,
    watched: BTreeSet<String>,
    level: Option<String>,
}

impl Link {
    pub(crate) fn greet(&self, greeting: Greeting) {
        self.lock().greeting = Some(greeting);
    }

    /// The parameters of the host's `initialize`; empty before it said hello.
    pub(crate) fn greeting(&self) -> String {
        let greeting = &self.lock().greeting;
        greeting
            .as_ref()
            .map(|greeting| greeting.params.clone())
            .unwrap_or_default()
    }

    /// Forgets the greeting: the backend did not accept it.
    pub(crate) fn ungreet(&self) {
        *self.lock() = State::default();
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.lock().greeting.as_ref().map(|greeting| greeting.version)
    }

    /// The session that is open now.
    pub(crate) fn live(&self) -> Option<Live> {
        self.lock().live.clone()
    }

    /// This session is gone; a newer one is not touched.
    pub(crate) fn lost(&self, generation: u64) {
        let mut state = self.lock();
        if state
            .live
            .as_ref()
            .is_some_and(|live| live.generation == generation)
        {
            state.live = None;
        }
    }

    /// Remembers what a new session must be told again.
    pub(crate) fn watch(&self, uri: &str) {
        self.lock().watched.insert(uri.to_owned());
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        self.lock().watched.remove(uri);
    }

    pub(crate) fn watched(&self) -> Vec<String> {
        self.lock().watched.iter().cloned().collect()
    }

    pub(crate) fn set_level(&self, params: &str) {
        self.lock().level = Some(params.to_owned());
    }

    /// The open session, opened now if there is none. Callers that come at once share one opening.
    pub(crate) async fn ensure(&self, backend: &Backend) -> Result<Live, Closed> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let _one = self.opening.lock().await;
        match self.live() {
            Some(live) => Ok(live),
            None => Ok(self.open(backend).await?.0),
        }
    }

    /// Opens the first session; answers what the backend said, too.
    pub(crate) async fn hello(&self, backend: &Backend) -> Result<Value, Closed> {
        let _one = self.opening.lock().await;
        Ok(self.open(backend).await?.1)
    }

    //= specs/spexus-bridge.md#faults
    //# A session the backend has lost MUST be opened again, with its subscriptions and its log level.
    async fn open(&self, backend: &Backend) -> Result<(Live, Value), Closed> {
        let greeting = self.lock().greeting.clone().ok_or(Closed::NoGreeting)?;
        let (headers, answer) = initialize(backend, &greeting).await?;
        let (watched, level) = {
            let state = self.lock();
            (state.watched.clone(), state.level.clone())
        };
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        post(backend, &headers, initialized.to_string()).await?;
        for uri in watched {
            let again = request("resources/subscribe", &json!({ "uri": uri }).to_string());
            post(backend, &headers, again).await?;
        }
        if let Some(level) = level {
            post(backend, &headers, request("logging/setLevel", &level)).await?;
        }
        let mut state = self.lock();
        state.generation += 1;
        let live = Live {
            headers,
            generation: state.generation,
        };
        state.live = Some(live.clone());
        Ok((live, answer))
    }

    /// Ends the session, if there is one.
    pub(crate) async fn close(&self, backend: &Backend) {
        let live = self.lock().live.take();
        if let Some(live) = live {
            // Best effort: an abandoned session ends by itself.
            let _ = backend.delete(&live.headers).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shakes hands with a backend as a host would, and counts its tools: `(name, version, tools)`.
pub async fn trial(settings: &Settings) -> Result<(String, String, usize), String> {
    let backend = Backend::new(settings).map_err(|error| error.to_string())?;
    let link = Link::default();
    let version = Version::NEWEST_HANDSHAKE;
    let params = json!({
        "protocolVersion": version.name(),
        "capabilities": {},
        "clientInfo": { "name": settings.name, "version": settings.version },
    });
    link.greet(Greeting {
        version,
        params: params.to_string(),
    });
    let hello = link.hello(&backend).await.map_err(|closed| told(&closed))?;
    let live = link.ensure(&backend).await.map_err(|closed| told(&closed))?;
    let listed = post(&backend, &live.headers, request("tools/list", "{}")).await;
    let listed = listed.map_err(|closed| told(&closed))?;
    link.close(&backend).await;
    let text = |at: &str| hello["serverInfo"][at].as_str().unwrap_or_default().to_owned();
    let tools = listed["tools"].as_array().map_or(0, Vec::len);
    Ok((text("name"), text("version"), tools))
}

fn told(closed: &Closed) -> String {
    match closed {
        Closed::NoGreeting => "there was no greeting".to_owned(),
        Closed::Fault(Fault::NotSent(reason) | Fault::Broken(reason)) => reason.clone(),
        Closed::Refused(status, error) => {
            let message = error
                .as_deref()
                .and_then(|text| serde_json::from_str::<Value>(text).ok());
            let message = message.and_then(|error| error["message"].as_str().map(str::to_owned));
            message.unwrap_or_else(|| format!("it answered with HTTP status {status} and no message"))
        }
    }
}

async fn initialize(backend: &Backend, greeting: &Greeting) -> Result<(HeaderMap, Value), Closed> {
    let body = request("initialize", &greeting.params);
    let reply = backend
        .post(body.into(), &HeaderMap::new())
        .await
        .map_err(Closed::Fault)?;
    let session = match &reply {
        Reply::Text { session, .. } => session.clone(),
        Reply::Events(_) => None,
    };
    let answer = outcome(reply).await?;
    let mut headers = HeaderMap::new();
    if let Some(session) = session {
        headers.insert(SESSION, session);
    }
    // The first revision has no such header; naming it does no harm.
    headers.insert(VERSION, HeaderValue::from_static(greeting.version.name()));
    Ok((headers, answer))
}

async fn post(backend: &Backend, headers: &HeaderMap, body: String) -> Result<Value, Closed> {
    let reply = backend.post(body.into(), headers).await.map_err(Closed::Fault)?;
    outcome(reply).await
}

/// The result of a message of our own.
async fn outcome(reply: Reply) -> Result<Value, Closed> {
    let (status, body) = match reply {
        Reply::Text {
            status: 202 | 204, ..
        } => return Ok(Value::Null),
        Reply::Text { status, body, .. } => (status, body),
        Reply::Events(mut events) => loop {
            match events.next().await.map_err(Closed::Fault)? {
                Some(event) if is_response(&event.data) => break (200, Bytes::from(event.data)),
                Some(_) => {}
                None => return Err(Closed::Fault(Fault::Broken("the stream ended early".into()))),
            }
        },
    };
    let text = std::str::from_utf8(&body).unwrap_or_default();
    match envelope::message(text) {
        Ok(Message::Response(response)) => match response.outcome {
            Ok(result) => Ok(serde_json::from_str(result).unwrap_or_default()),
            Err(error) => Err(Closed::Refused(status, Some(error.to_owned()))),
        },
        _ if matches!(status, 502..=504) => {
            Err(Closed::Fault(Fault::NotSent(format!("HTTP status {status}"))))
        }
        _ => Err(Closed::Refused(status, None)),
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
