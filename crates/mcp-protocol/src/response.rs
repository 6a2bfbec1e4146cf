//! JSON-RPC responses as they go over the wire.
//!
//! An answer is built as a value without any thought of versions; what a revision adds to it (a result type, the
//! server's name, cache hints, another number for the same error) is written here, and nowhere else.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::error::RpcError;
use crate::tool::ToolResult;
use crate::version::Version;

/// A request's result before it is written.
#[derive(Debug)]
pub struct Outcome {
    body: Body,
    result_type: ResultType,
    cacheable: bool,
}

#[derive(Debug)]
enum Body {
    /// The text of an object that has no `_meta`.
    Text(Bytes),
    /// An object.
    Object(Map<String, Value>),
    /// A tool's result, kept as it is until it is written.
    Tool(Box<ToolResult>),
}

/// MCP `resultType`, for revisions that carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// The result is there.
    Complete,
    /// The client has to answer questions and send the request again.
    InputRequired,
    /// The handle of a task that goes on.
    Task,
}

impl ResultType {
    const fn name(self) -> &'static str {
        match self {
            ResultType::Complete => "complete",
            ResultType::InputRequired => "input_required",
            ResultType::Task => "task",
        }
    }
}

impl Outcome {
    /// An empty object.
    pub fn empty() -> Self {
        Self::of(Body::Text(Bytes::from_static(b"{}")))
    }

    /// An object that is written already and may be cached; it has no `_meta`.
    pub fn text(object: Bytes) -> Self {
        Self {
            cacheable: true,
            ..Self::of(Body::Text(object))
        }
    }

    /// An object.
    pub fn object(object: Map<String, Value>) -> Self {
        Self::of(Body::Object(object))
    }

    /// An object written by `json!`; anything else becomes an empty one.
    pub fn value(value: Value) -> Self {
        match value {
            Value::Object(object) => Self::object(object),
            _ => Self::empty(),
        }
    }

    /// A tool's result.
    pub fn tool(result: ToolResult) -> Self {
        Self::of(Body::Tool(Box::new(result)))
    }

    /// Clients may cache it.
    #[must_use]
    pub fn cacheable(self) -> Self {
        Self {
            cacheable: true,
            ..self
        }
    }

    /// Sets the `resultType`.
    #[must_use]
    pub fn typed(self, result_type: ResultType) -> Self {
        Self { result_type, ..self }
    }

    fn of(body: Body) -> Self {
        Self {
            body,
            result_type: ResultType::Complete,
            cacheable: false,
        }
    }

    /// The result as a value, for a task that keeps it.
    pub fn into_object(self) -> Map<String, Value> {
        match self.body {
            Body::Object(object) => object,
            Body::Text(text) => serde_json::from_slice(&text).unwrap_or_default(),
            Body::Tool(result) => match serde_json::to_value(&*result) {
                Ok(Value::Object(object)) => object,
                _ => Map::new(),
            },
        }
    }
}

/// What a server adds to every result in the stateless era: its `serverInfo` and cache hints.
#[derive(Debug)]
pub struct ResultMeta {
    /// `"io.modelcontextprotocol/serverInfo":{…}`.
    meta_member: String,
    info: Value,
    cache_ttl_ms: u64,
    cache_scope: &'static str,
}

impl ResultMeta {
    /// For a server with this `serverInfo`, whose cacheable results live so long and may or may not be shared.
    pub fn new(info: Value, cache_ttl_ms: u64, is_public: bool) -> Self {
        Self {
            meta_member: format!("\"{SERVER_INFO}\":{info}"),
            info,
            cache_ttl_ms,
            cache_scope: if is_public { "public" } else { "private" },
        }
    }
}

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Writes a whole answer: a result.
pub fn write_result(
    out: &mut Vec<u8>,
    id: &str,
    mut outcome: Outcome,
    version: Version,
    result_meta: &ResultMeta,
) {
    //= specs/mcp-server.md#tools
    //# A structured result with a short text MUST be sent as text where the revision knows no structured results.
    if let (Body::Tool(result), false) = (&mut outcome.body, version.has_structured_results()) {
        result.in_words();
    }
    open(out, id);
    out.extend_from_slice(b",\"result\":");
    match version.has_result_meta() {
        true => write_with_meta(out, outcome, result_meta),
        false => write_plain(out, outcome.body),
    }
    out.push(b'}');
}

/// Writes a whole answer: an error. `id` is `null` when none could be read.
pub fn write_error(out: &mut Vec<u8>, id: &str, error: &RpcError, version: Version) {
    open(out, id);
    out.extend_from_slice(b",\"error\":");
    write_json(out, &error.object(version));
    out.push(b'}');
}

impl RpcError {
    /// The whole answer to a request, as it goes over the wire. The id is `null` when none could be read.
    pub fn answer(&self, id: &str, version: Version) -> Vec<u8> {
        let mut out = Vec::new();
        write_error(&mut out, id, self, version);
        out
    }
}

/// The result with what the stateless era adds, as an object text of its own.
fn write_with_meta(out: &mut Vec<u8>, outcome: Outcome, result_meta: &ResultMeta) {
    out.extend_from_slice(b"{\"resultType\":\"");
    out.extend_from_slice(outcome.result_type.name().as_bytes());
    out.push(b'"');
    if outcome.cacheable {
        let hints = format!(
            r#","ttlMs":{},"cacheScope":"{}""#,
            result_meta.cache_ttl_ms, result_meta.cache_scope
        );
        out.extend_from_slice(hints.as_bytes());
    }
    let (mut meta, body) = split_meta(outcome.body);
    out.extend_from_slice(b",\"_meta\":");
    if meta.is_empty() {
        out.push(b'{');
        out.extend_from_slice(result_meta.meta_member.as_bytes());
        out.push(b'}');
    } else {
        meta.insert(SERVER_INFO.to_owned(), result_meta.info.clone());
        write_json(out, &meta);
    }
    let at = out.len();
    write_plain(out, body);
    // The members follow those already written: the opening brace becomes the comma between them.
    match out.get(at + 1) {
        Some(b'}') => out.truncate(at),
        _ => {
            out[at] = b',';
            return;
        }
    }
    out.push(b'}');
}

//= specs/mcp-server.md#messages
//# The id of a request MUST come back byte for byte.
fn open(out: &mut Vec<u8>, id: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
}

fn write_plain(out: &mut Vec<u8>, body: Body) {
    match body {
        Body::Text(text) => out.extend_from_slice(&text),
        Body::Object(object) => write_json(out, &object),
        Body::Tool(result) => write_json(out, &*result),
    }
}

fn split_meta(body: Body) -> (Map<String, Value>, Body) {
    match body {
        Body::Object(mut object) => match object.remove("_meta") {
            Some(Value::Object(meta)) => (meta, Body::Object(object)),
            _ => (Map::new(), Body::Object(object)),
        },
        Body::Tool(mut result) => (std::mem::take(&mut result.meta), Body::Tool(result)),
        text => (Map::new(), text),
    }
}

/// JSON into a buffer. Values here have string keys and finite numbers, and a `Vec` takes everything: it cannot fail.
pub fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        out.truncate(before);
        out.extend_from_slice(b"{}");
        tracing::error!(%error, "a value could not be written as JSON and was left out");
    }
}

/// Writes a whole notification.
pub fn notification(method: &str, params: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    write_json(
        &mut out,
        &json!({ "jsonrpc": "2.0", "method": method, "params": params }),
    );
    out
}
