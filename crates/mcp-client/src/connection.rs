//! JSON-RPC connection to an MCP server: requests matched with their answers, over pipes or HTTP.
//!
//! Answers may come in any order, progress goes to the request it belongs to, other notifications go to a handler. A
//! request nobody waits for any more is cancelled at the server.

mod http;
mod lines;

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use mcp_protocol::Version;
use mcp_protocol::envelope::{self, Frame, Message, Notification, Request};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::http::SendError;
use crate::streamable_http::HttpEndpoint;

/// Progress that waits to be read; more is dropped, for the next one says more.
const MAX_WAITING_PROGRESS: usize = 16;

/// What a server says without being asked.
pub trait ConnectionHandler: Send + Sync + 'static {
    /// A notification other than progress, with the text of its parameters. Must not block.
    fn handle_notification(&self, method: &str, params: Option<&str>);
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallError {
    /// The server answered with a JSON-RPC error.
    Refused {
        /// Its code.
        code: i64,
        /// What it says.
        message: String,
    },
    /// The server answered with something else than was asked for.
    Unexpected(String),
    /// The request was not sent, or the connection broke before its answer.
    Send(SendError),
    /// The connection is over.
    Closed,
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallError::Refused { code, message } => write!(f, "{message} ({code})"),
            CallError::Unexpected(problem) => f.write_str(problem),
            CallError::Send(error) => error.fmt(f),
            CallError::Closed => f.write_str("the connection closed"),
        }
    }
}

impl std::error::Error for CallError {}

/// Result of `initialize`: who the server is and what it can do.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Initialized {
    /// The version of the protocol the server chose.
    pub protocol_version: String,
    /// What the server declares.
    pub capabilities: Value,
    /// The server's own name, title and version.
    pub server_info: Value,
}

impl Initialized {
    /// A text of the server's introduction: `name`, `title` or `version`.
    pub fn server_text(&self, field: &str) -> Option<&str> {
        self.server_info.get(field)?.as_str()
    }
}

/// A connection to a server. Dropped, it ends at once; [`close`](Connection::close) lets the server know first.
#[derive(Debug)]
pub struct Connection {
    peer: Peer,
    over: watch::Receiver<bool>,
    /// Reads and writes; ends with this value.
    _tasks: JoinSet<()>,
}

impl Connection {
    /// A connection over a pair of byte streams, one message on a line.
    pub fn lines<R, W>(
        reader: R,
        writer: W,
        max_message_bytes: usize,
        handler: impl ConnectionHandler,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (outbound, messages) = mpsc::channel(lines::MAX_WAITING_MESSAGES);
        let (shared, over) = Shared::new(Outbound::Lines(Mutex::new(Some(outbound))), handler);
        let mut tasks = JoinSet::new();
        tasks.spawn(lines::write(writer, messages));
        tasks.spawn(lines::read(reader, max_message_bytes, shared.clone()));
        Self {
            peer: Peer(shared),
            over,
            _tasks: tasks,
        }
    }

    /// A connection over HTTP.
    pub fn http(endpoint: HttpEndpoint, handler: impl ConnectionHandler) -> Self {
        let (outbound, messages) = mpsc::unbounded_channel();
        let session = http::HttpSession::new(endpoint, outbound);
        let (shared, over) = Shared::new(Outbound::Http(Box::new(session)), handler);
        let mut tasks = JoinSet::new();
        tasks.spawn(http::run(shared.clone(), messages));
        Self {
            peer: Peer(shared),
            over,
            _tasks: tasks,
        }
    }

    /// The handle requests are sent with; clones are the same.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Waits until the connection is over.
    pub async fn closed(&mut self) {
        // The sender lives as long as this value.
        let _ = self.over.wait_for(|over| *over).await;
    }

    /// Ends the connection from this side and waits until the server did so, too: its input is closed, or its session
    /// deleted. The caller bounds the time.
    pub async fn close(&mut self) {
        self.peer.0.close();
        self.closed().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.peer.0.end();
    }
}

/// Handle to send requests and notifications with. Clones are the same connection.
#[derive(Clone, Debug)]
pub struct Peer(Arc<Shared>);

/// What happens to a request that was sent.
#[derive(Debug)]
pub enum RequestUpdate {
    /// It goes on.
    Progress(ProgressUpdate),
    /// It is over: the text of its result, or why there is none.
    Done(Result<String, CallError>),
}

/// Parameters of `notifications/progress`.
#[derive(Clone, Debug, Deserialize)]
pub struct ProgressUpdate {
    /// How far it is.
    pub progress: f64,
    /// How far it goes, if that is known.
    #[serde(default)]
    pub total: Option<f64>,
    /// What is being done.
    #[serde(default)]
    pub message: Option<String>,
}

impl Peer {
    /// Introduces the client and agrees on a version; to be called once, before anything else.
    pub async fn initialize(&self, name: &str, version: &str) -> Result<Initialized, CallError> {
        let params = json!({
            "protocolVersion": Version::NEWEST_HANDSHAKE.name(),
            "capabilities": {},
            "clientInfo": { "name": name, "version": version },
        });
        let initialized: Initialized = self.call("initialize", params).await?;
        if let Outbound::Http(session) = &self.0.outbound {
            session.agree_on(&initialized.protocol_version);
        }
        self.notify("notifications/initialized", json!({}));
        if let Outbound::Http(session) = &self.0.outbound {
            session.listen();
        }
        Ok(initialized)
    }

    /// Sends a request, waits for its result and decodes it.
    pub async fn call<T: serde::de::DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> Result<T, CallError> {
        let mut request = self.request(method, params)?;
        let result = loop {
            if let RequestUpdate::Done(result) = request.next().await {
                break result?;
            }
        };
        serde_json::from_str(&result).map_err(|error| CallError::Unexpected(error.to_string()))
    }

    /// Sends a request that wants progress. Dropped before it is done, it is cancelled at the server.
    pub fn request(&self, method: &str, mut params: Value) -> Result<PendingRequest, CallError> {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        // Nobody may cancel or follow the handshake.
        if method != "initialize" {
            params["_meta"]["progressToken"] = id.into();
        }
        let (answer, answered) = oneshot::channel();
        let (progress, progressed) = mpsc::channel(MAX_WAITING_PROGRESS);
        let waiting = Waiting { answer, progress };
        if !self.0.enter(id, waiting) {
            return Err(CallError::Closed);
        }
        let request = PendingRequest {
            peer: self.clone(),
            id,
            answered: Some(answered),
            progressed,
            is_cancellable: method != "initialize",
        };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.0.send(message.to_string().into(), Some(id));
        Ok(request)
    }

    /// Sends a notification; lost when the connection is over.
    pub fn notify(&self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.0.send(message.to_string().into(), None);
    }
}

/// A request under way.
#[derive(Debug)]
pub struct PendingRequest {
    peer: Peer,
    id: u64,
    answered: Option<oneshot::Receiver<Result<String, CallError>>>,
    progressed: mpsc::Receiver<ProgressUpdate>,
    is_cancellable: bool,
}

impl PendingRequest {
    /// What happens next to it; nothing more once it is done.
    pub async fn next(&mut self) -> RequestUpdate {
        let Some(answered) = &mut self.answered else {
            return std::future::pending().await;
        };
        let answer = tokio::select! {
            biased;
            Some(progress) = self.progressed.recv() => return RequestUpdate::Progress(progress),
            answer = answered => answer,
        };
        self.answered = None;
        RequestUpdate::Done(answer.unwrap_or(Err(CallError::Closed)))
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        let is_waited_for = self.peer.0.leave(self.id).is_some();
        if is_waited_for && self.is_cancellable {
            let reason = "nobody waits for it any more";
            self.peer.notify(
                "notifications/cancelled",
                json!({ "requestId": self.id, "reason": reason }),
            );
        }
    }
}

/// How messages leave.
#[derive(Debug)]
enum Outbound {
    /// As lines; `None` when this side closed.
    Lines(Mutex<Option<mpsc::Sender<Bytes>>>),
    /// As requests of their own.
    Http(Box<http::HttpSession>),
}

/// Somebody who waits for an answer.
#[derive(Debug)]
struct Waiting {
    answer: oneshot::Sender<Result<String, CallError>>,
    progress: mpsc::Sender<ProgressUpdate>,
}

struct Shared {
    outbound: Outbound,
    /// Requests under way; `None` when the connection is over.
    waiting: Mutex<Option<HashMap<u64, Waiting>>>,
    next_id: AtomicU64,
    handler: Box<dyn ConnectionHandler>,
    over: watch::Sender<bool>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    fn new(outbound: Outbound, handler: impl ConnectionHandler) -> (Arc<Self>, watch::Receiver<bool>) {
        let (over, is_over) = watch::channel(false);
        let shared = Self {
            outbound,
            waiting: Mutex::new(Some(HashMap::new())),
            next_id: AtomicU64::new(1),
            handler: Box::new(handler),
            over,
        };
        (Arc::new(shared), is_over)
    }

    /// False when the connection is over.
    fn enter(&self, id: u64, waiting: Waiting) -> bool {
        match &mut *self.lock() {
            Some(all) => {
                all.insert(id, waiting);
                true
            }
            None => false,
        }
    }

    fn leave(&self, id: u64) -> Option<Waiting> {
        self.lock().as_mut()?.remove(&id)
    }

    /// Sends a message; a request that cannot be sent is answered with the reason.
    fn send(&self, message: Bytes, id: Option<u64>) {
        let is_sent = match &self.outbound {
            Outbound::Lines(sender) => {
                let sender = sender.lock();
                sender
                    .as_ref()
                    .is_some_and(|sender| sender.try_send(message).is_ok())
            }
            Outbound::Http(session) => session.send(message, id),
        };
        if let (false, Some(id)) = (is_sent, id) {
            let full = SendError::NotSent("the server does not read what it is sent".to_owned());
            self.answer(id, Err(CallError::Send(full)));
        }
    }

    fn answer(&self, id: u64, result: Result<String, CallError>) {
        if let Some(waiting) = self.leave(id) {
            // Whoever lost interest meanwhile needs no answer.
            let _ = waiting.answer.send(result);
        }
    }

    /// Closes this side.
    fn close(&self) {
        match &self.outbound {
            Outbound::Lines(sender) => drop(sender.lock().take()),
            Outbound::Http(session) => session.close(),
        }
    }

    /// The connection is over: whoever waits is told.
    fn end(&self) {
        let waiting = self.lock().take();
        for (_, waiting) in waiting.into_iter().flatten() {
            let _ = waiting.answer.send(Err(CallError::Closed));
        }
        self.over.send_replace(true);
    }

    /// Takes one text of the server: a message or an array of them. What is neither is left out.
    fn receive(&self, text: &str) {
        match envelope::frame(text) {
            Ok(Frame::Single(text)) => self.receive_one(text),
            Ok(Frame::Batch(texts)) => texts.iter().for_each(|text| self.receive_one(text.get())),
            Err(_) => tracing::debug!("a server sent something that is no message"),
        }
    }

    /// Takes the start of a message above the limit: whoever waits for it is told that it cannot be read.
    fn receive_cut(&self, start: &[u8], max_message_bytes: usize) {
        tracing::warn!(max_message_bytes, "a server sent a message above the limit");
        let valid = match std::str::from_utf8(start) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default(),
        };
        if let Some(id) = envelope::id_in_prefix(valid).and_then(number) {
            let problem = format!("the answer is larger than {max_message_bytes} bytes");
            self.answer(id, Err(CallError::Unexpected(problem)));
        }
    }

    fn receive_one(&self, text: &str) {
        match envelope::message(text) {
            Ok(Message::Response(response)) => {
                if let Some(id) = number(response.id) {
                    self.answer(id, response.outcome.map(str::to_owned).map_err(refused));
                }
            }
            Ok(Message::Notification(notification)) => self.notified(&notification),
            Ok(Message::Request(request)) => self.asked(&request),
            Err(_) => tracing::debug!("a server sent something that is no message"),
        }
    }

    fn notified(&self, notification: &Notification<'_>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Progress {
            progress_token: u64,
            #[serde(flatten)]
            update: ProgressUpdate,
        }
        if notification.method != "notifications/progress" {
            return self
                .handler
                .handle_notification(&notification.method, notification.params);
        }
        let Some(progress) = notification
            .params
            .and_then(|params| serde_json::from_str::<Progress>(params).ok())
        else {
            return;
        };
        if let Some(waiting) = self
            .lock()
            .as_ref()
            .and_then(|all| all.get(&progress.progress_token))
        {
            let _ = waiting.progress.try_send(progress.update);
        }
    }

    /// Answers a request of the server: this client declares nothing, so only a ping can be meant for it.
    fn asked(&self, request: &Request<'_>) {
        let outcome = match &*request.method {
            "ping" => r#""result":{}"#.to_owned(),
            _ => r#""error":{"code":-32601,"message":"this client has no such method"}"#.to_owned(),
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},{outcome}}}"#, request.id);
        self.send(answer.into(), None);
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<u64, Waiting>>> {
        self.waiting.lock()
    }
}

/// One of our own ids; servers that make texts of numbers are understood.
fn number(id: &str) -> Option<u64> {
    id.trim_matches('"').parse().ok()
}

fn refused(error: &str) -> CallError {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct RemoteError {
        code: i64,
        message: String,
    }
    let error: RemoteError = serde_json::from_str(error).unwrap_or_default();
    CallError::Refused {
        code: error.code,
        message: error.message,
    }
}
