//! What a server is called, what it declares, and where its limits are.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::limits::Limits;
use mcp_protocol::{Icon, OfferedVersions};

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
    /// Icons for a client's list.
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
    /// The revisions of MCP that are offered.
    pub versions: OfferedVersions,
    /// What to do when `initialize` asks for an unknown version.
    pub version_mismatch: VersionMismatch,
    /// Which families of methods are served and declared.
    pub offers: Offers,
    /// Families outside MCP, declared under `experimental`, each with a semantic version of its own. Others come and go
    /// while the server runs: see [`Server::declare`](crate::Server::declare).
    pub experimental: Vec<(String, String)>,
    /// Extensions of MCP, declared under `extensions` with their settings.
    pub extensions: Map<String, Value>,
    /// How long clients may keep lists and resources, for revisions that carry cache hints.
    pub cache_ttl_ms: u64,
    /// Whether such an answer may be shared between users; never where there is a guard.
    pub cache_public: bool,
    /// Key that protects cursors and request states. Random unless set; nodes that share work must share it.
    pub signing_key: Option<[u8; 32]>,
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
            versions: OfferedVersions::default(),
            version_mismatch: VersionMismatch::Reject,
            offers: Offers::default(),
            experimental: Vec::new(),
            extensions: Map::new(),
            cache_ttl_ms: 0,
            cache_public: false,
            signing_key: None,
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
