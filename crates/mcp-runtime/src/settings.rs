//! What a server is called, what it declares, and where its limits are.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::content::Icon;

/// Who the server says it is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The version, semantic.
    pub version: String,
    /// One sentence on what it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where to read more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Pictures for a client's list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl Info {
    /// A name and a version; the rest is optional.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            website_url: None,
            icons: Vec::new(),
        }
    }
}

/// Everything about a server that is decided before it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to do when `initialize` asks for an unknown version.
    pub version_mismatch: VersionMismatch,
    /// Which families of methods are served and declared.
    pub offers: Offers,
    /// Families outside MCP, declared under `experimental`, each with a semantic version of its own.
    pub experimental: Vec<(String, String)>,
    /// Extensions of MCP, declared under `extensions` with their settings.
    pub extensions: Map<String, Value>,
    /// How long clients may keep lists and resources, for revisions that carry cache hints.
    pub cache_ttl_ms: u64,
    /// Whether such an answer may be shared between users; never where there is a guard.
    pub cache_public: bool,
    /// Key that protects cursors and request states. Random unless set; nodes that share work must share it.
    pub seal_key: Option<[u8; 32]>,
    /// What stands before a `path` that is given in place of a resource's `uri`.
    pub path_base: Option<String>,
    /// The name under which pieces of a streamed resource stand in `_meta`.
    pub chunk_key: String,
    /// Where the limits are.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version_mismatch: VersionMismatch::Reject,
            offers: Offers::default(),
            experimental: Vec::new(),
            extensions: Map::new(),
            cache_ttl_ms: 0,
            cache_public: false,
            seal_key: None,
            path_base: None,
            chunk_key: "mcp-runtime/chunk".to_owned(),
            limits: Limits::default(),
        }
    }
}

/// What to do when `initialize` asks for a version nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMismatch {
    /// Refuse, and name the versions that are spoken.
    Reject,
    /// Answer with the newest version of the handshake era, and let the client decide.
    Negotiate,
}

/// The families of methods a server offers. What is off is not declared and answers `-32601`.
#[derive(Clone, Copy, Debug)]
pub struct Offers {
    /// `tools/*`.
    pub tools: bool,
    /// `resources/*`.
    pub resources: bool,
    /// `prompts/list` and `prompts/get`.
    pub prompts: bool,
    /// `prompts/create`, which lets clients add prompts.
    pub prompt_creation: bool,
    /// `logging/setLevel` and log messages.
    pub logging: bool,
    /// `completion/complete`.
    pub completions: bool,
    /// `tasks/*`, in both forms.
    pub tasks: bool,
}

impl Default for Offers {
    fn default() -> Self {
        Self {
            tools: true,
            resources: true,
            prompts: true,
            prompt_creation: false,
            logging: true,
            completions: true,
            tasks: true,
        }
    }
}

/// Every limit of the runtime, with its unit in its name.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest incoming message.
    pub max_message_bytes: usize,
    /// Largest answer.
    pub max_answer_bytes: usize,
    /// Messages in one batch.
    pub max_batch_messages: usize,
    /// Requests of one session that run at once.
    pub max_in_flight_per_session: usize,
    /// Requests of all sessions that run at once.
    pub max_in_flight_total: usize,
    /// Parameters held by the running requests of one session.
    pub max_in_flight_bytes_per_session: usize,
    /// How long a connection stops reading when a session is at its limit before further requests are refused.
    pub admission_wait_ms: u64,
    /// Bytes waiting to be read by one client before its connection is no longer read.
    pub max_outbox_bytes: usize,
    /// Requests of the server that wait for one client's answer.
    pub max_pending_per_session: usize,
    /// Sessions alive at once.
    pub max_sessions: usize,
    /// Sessions of one owner alive at once; the one unheard of for longest gives way.
    pub max_sessions_per_owner: usize,
    /// How long what became of sessions may gather before it is written to a store that outlives the process.
    pub session_save_ms: u64,
    /// How long an idle session lives.
    pub session_idle_ms: u64,
    /// Resources one session may watch.
    pub max_subscriptions_per_session: usize,
    /// Messages of one session in a second; 0 means no limit.
    pub max_messages_per_second: u32,
    /// Messages that may come at once before the rate counts.
    pub message_burst: u32,
    /// How long a request may be served when its tool does not say otherwise.
    pub serve_timeout_ms: u64,
    /// How long the client may take to answer a request of the server.
    pub ask_timeout_ms: u64,
    /// How long a person may take to answer a question put to them once.
    pub elicit_timeout_ms: u64,
    /// How often a person is asked the same before an answer that does not fit ends the request.
    pub max_elicit_attempts: usize,
    /// How long running requests may finish when the server stops.
    pub drain_timeout_ms: u64,
    /// How long a client may take to read what was said before its connection is given up.
    pub flush_timeout_ms: u64,
    /// Entries on one page of a list; tools are never paged.
    pub page_entries: usize,
    /// Resources above this size are streamed.
    pub stream_above_bytes: usize,
    /// Size of one streamed piece.
    pub stream_chunk_bytes: usize,
    /// Bytes of resources kept in the cache.
    pub max_cached_bytes: usize,
    /// Events one HTTP stream keeps for a client that comes back.
    pub max_replay_events: usize,
    /// Bytes one HTTP stream keeps for a client that comes back.
    pub max_replay_bytes: usize,
    /// HTTP streams of one session kept for a client that comes back.
    pub max_streams_per_session: usize,
    /// Silence on an HTTP stream after which a comment keeps it open.
    pub keep_alive_ms: u64,
    /// Tasks remembered at once.
    pub max_tasks: usize,
    /// How long a task is remembered when the client does not say.
    pub task_ttl_ms: u64,
    /// How often a client should ask for a task's state.
    pub task_poll_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 1 << 20,
            max_answer_bytes: 16 << 20,
            max_batch_messages: 1_000,
            max_in_flight_per_session: 1_024,
            max_in_flight_total: 65_536,
            max_in_flight_bytes_per_session: 32 << 20,
            admission_wait_ms: 100,
            max_outbox_bytes: 1 << 20,
            max_pending_per_session: 256,
            max_sessions: 100_000,
            max_sessions_per_owner: 1_000,
            session_save_ms: 1_000,
            session_idle_ms: 30 * 60 * 1_000,
            max_subscriptions_per_session: 1_000,
            max_messages_per_second: 0,
            message_burst: 1_000,
            serve_timeout_ms: 30_000,
            ask_timeout_ms: 5_000,
            elicit_timeout_ms: 5_000,
            max_elicit_attempts: 3,
            drain_timeout_ms: 10_000,
            flush_timeout_ms: 5_000,
            page_entries: 100,
            stream_above_bytes: 1 << 20,
            stream_chunk_bytes: 256 << 10,
            max_cached_bytes: 16 << 20,
            max_replay_events: 256,
            max_replay_bytes: 1 << 20,
            max_streams_per_session: 32,
            keep_alive_ms: 15_000,
            max_tasks: 10_000,
            task_ttl_ms: 10 * 60 * 1_000,
            task_poll_ms: 1_000,
        }
    }
}

impl Limits {
    pub(crate) fn serve_timeout(&self) -> Duration {
        Duration::from_millis(self.serve_timeout_ms)
    }
}
