//! Answers as they go over the wire.
//!
//! An answer is built as a value without any thought of versions; what a revision adds to it (a result type, the
//! server's name, cache hints, another number for the same error) is written here, and nowhere else.

use bytes::Bytes;
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use crate::tool::ToolResult;
use crate::version::{Era, Version};

/// A request's result before it is written.
pub(crate) struct Outcome {
    pub(crate) body: Body,
    pub(crate) kind: Kind,
    pub(crate) cacheable: bool,
}

pub(crate) enum Body {
    /// The text of an object that has no `_meta`.
    Text(Bytes),
    /// An object.
    Object(Map<String, Value>),
    /// A tool's result, kept as it is until it is written.
    Tool(Box<ToolResult>),
}

/// What sort of result it is, for revisions that say so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Complete,
    InputRequired,
    Task,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Complete => "complete",
            Kind::InputRequired => "input_required",
            Kind::Task => "task",
        }
    }
}

impl Outcome {
    pub(crate) fn empty() -> Self {
        Self::of(Body::Text(Bytes::from_static(b"{}")))
    }

    pub(crate) fn text(object: Bytes) -> Self {
        Self {
            cacheable: true,
            ..Self::of(Body::Text(object))
        }
    }

    pub(crate) fn object(object: Map<String, Value>) -> Self {
        Self::of(Body::Object(object))
    }

    /// An object written by `json!`; anything else becomes an empty one.
    pub(crate) fn value(value: Value) -> Self {
        match value {
            Value::Object(object) => Self::object(object),
            _ => Self::empty(),
        }
    }

    pub(crate) fn tool(result: ToolResult) -> Self {
        Self::of(Body::Tool(Box::new(result)))
    }

    pub(crate) fn cacheable(self) -> Self {
        Self {
            cacheable: true,
            ..self
        }
    }

    pub(crate) fn kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    fn of(body: Body) -> Self {
        Self {
            body,
            kind: Kind::Complete,
            cacheable: false,
        }
    }

    /// The result as a value, for a task that keeps it.
    pub(crate) fn into_object(self) -> Map<String, Value> {
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

// Fulfils 000 R2.4, 001 D6, 003 R11.6, 003 R11.7, 003 R11.8, 002 Req-Proto-006
/// An error as JSON-RPC wants it, with the refusal behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// `error.code`.
    pub code: i32,
    /// The refusal: message, hint, faults.
    pub refusal: Refusal,
    /// Further members of `error.data`.
    pub data: Box<Map<String, Value>>,
    /// The HTTP status, where the protocol prescribes one other than 200.
    pub(crate) status: Option<u16>,
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.code.json_rpc(),
            //= specs/mcp-runtime.md#http-transport
            //# A request the client has no right to MUST be answered with status 403 beside its JSON-RPC error.
            status: (refusal.code == Code::AuthzForbidden).then_some(403),
            refusal,
            data: Box::default(),
        }
    }
}

impl RpcError {
    /// A refusal under another number than the table's.
    pub fn numbered(code: i32, refusal: Refusal) -> Self {
        Self {
            code,
            ..Self::from(refusal)
        }
    }

    /// Adds a member of `error.data`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn status(self, status: u16) -> Self {
        Self {
            status: Some(status),
            ..self
        }
    }

    /// The error for a text that is not JSON.
    pub fn unreadable(problem: &str) -> Self {
        let refusal = Refusal::new(
            Code::ProtocolError,
            format!("the message is not valid JSON: {problem}"),
        );
        Self::numbered(-32700, refusal).status(400)
    }

    /// The error for JSON that is no message.
    pub fn invalid(problem: &str) -> Self {
        Self::from(Refusal::new(
            Code::ProtocolError,
            format!("not a JSON-RPC 2.0 message: {problem}"),
        ))
        .status(400)
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        let refusal = Refusal::new(Code::ProtocolError, format!("there is no method {method:?}"))
            .hint("Use a method the server declares in its capabilities.");
        Self::numbered(-32601, refusal).status(404)
    }

    /// The error for an `initialize` with a version nobody knows.
    //= specs/mcp-runtime.md#versions
    //# An `initialize` that asks for an unknown version MUST be refused with `-32602` and the supported versions, unless the server is set to negotiate.
    pub fn unknown_version(asked: &str) -> Self {
        let supported = Version::names().to_vec();
        let refusal = Refusal::new(
            Code::InvalidProtocolVersion,
            format!("version {asked:?} is not supported"),
        )
        .hint(format!("Ask for one of {}.", supported.join(", ")));
        Self::from(refusal)
            .with("code", Code::InvalidProtocolVersion.name())
            .with("supported_versions", supported.clone())
            .with("received_version", asked)
            .with("supported", supported)
            .with("requested", asked)
    }

    /// The whole answer to a request, as it goes over the wire. The id is `null` when none could be read.
    pub fn answer(&self, id: &str, version: Version) -> Vec<u8> {
        let mut out = Vec::new();
        write_error(&mut out, id, self, version);
        out
    }

    /// The error object of this revision.
    pub(crate) fn object(&self, version: Version) -> Value {
        let code = match self.refusal.code {
            Code::ResourceNotFound if self.code == -32002 => version.resource_not_found(),
            _ => self.code,
        };
        json!({ "code": code, "message": self.refusal.message, "data": self.details() })
    }

    fn details(&self) -> Map<String, Value> {
        let mut data = (*self.data).clone();
        // The words some clients look for beside the numbers of JSON-RPC.
        let word = match self.code {
            -32700 | -32600 => Some("MALFORMED_REQUEST"),
            -32603 => Some("INTERNAL_ERROR"),
            _ => None,
        };
        if let Some(word) = word {
            data.entry("code").or_insert_with(|| word.into());
        }
        data.insert("refusal".to_owned(), refusal_value(&self.refusal));
        if !self.refusal.faults.is_empty() {
            data.insert("fields".to_owned(), faults_value(&self.refusal));
        }
        for (name, value) in &self.refusal.facts {
            data.entry(*name).or_insert_with(|| Value::from(value.as_str()));
        }
        data
    }
}

/// `{code, name, hint}` of a refusal, as it stands beside every error.
pub(crate) fn refusal_value(refusal: &Refusal) -> Value {
    json!({ "code": refusal.code.number(), "name": refusal.code.name(), "hint": refusal.hint })
}

/// One entry for each field at fault.
pub(crate) fn faults_value(refusal: &Refusal) -> Value {
    let entry = |fault: &refusal::Fault| json!({ "field": fault.field, "problem": fault.problem, "allowed": fault.allowed });
    refusal.faults.iter().map(entry).collect()
}

/// What a server adds to its results in the stateless era.
#[derive(Debug)]
pub(crate) struct Signature {
    /// `"io.modelcontextprotocol/serverInfo":{…}`.
    pub(crate) meta_member: String,
    pub(crate) info: Value,
    pub(crate) cache_ttl_ms: u64,
    pub(crate) cache_scope: &'static str,
}

pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Writes a whole answer: a result.
pub(crate) fn write_result(
    out: &mut Vec<u8>,
    id: &str,
    mut outcome: Outcome,
    version: Version,
    signature: &Signature,
) {
    //= specs/mcp-runtime.md#tools
    //# A structured result with a short text MUST be sent as text where the revision knows no structured results.
    if let (Body::Tool(result), false) = (&mut outcome.body, version.has_structured_results()) {
        result.in_words();
    }
    open(out, id);
    out.extend_from_slice(b",\"result\":");
    match version.era() {
        Era::Handshake => write_plain(out, outcome.body),
        Era::Stateless => write_signed(out, outcome, signature),
    }
    out.push(b'}');
}

/// Writes a whole answer: an error. `id` is `null` when none could be read.
pub(crate) fn write_error(out: &mut Vec<u8>, id: &str, error: &RpcError, version: Version) {
    open(out, id);
    out.extend_from_slice(b",\"error\":");
    write_json(out, &error.object(version));
    out.push(b'}');
}

/// The result with what the stateless era adds, as an object text of its own.
pub(crate) fn write_signed(out: &mut Vec<u8>, outcome: Outcome, signature: &Signature) {
    out.extend_from_slice(b"{\"resultType\":\"");
    out.extend_from_slice(outcome.kind.name().as_bytes());
    out.push(b'"');
    if outcome.cacheable {
        let hints = format!(
            r#","ttlMs":{},"cacheScope":"{}""#,
            signature.cache_ttl_ms, signature.cache_scope
        );
        out.extend_from_slice(hints.as_bytes());
    }
    let (mut meta, body) = split_meta(outcome.body);
    out.extend_from_slice(b",\"_meta\":");
    if meta.is_empty() {
        out.push(b'{');
        out.extend_from_slice(signature.meta_member.as_bytes());
        out.push(b'}');
    } else {
        meta.insert(SERVER_INFO.to_owned(), signature.info.clone());
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

//= specs/mcp-runtime.md#messages
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
pub(crate) fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if let Err(error) = serde_json::to_writer(&mut *out, value) {
        out.truncate(before);
        out.extend_from_slice(b"{}");
        tracing::error!(%error, "a value could not be written as JSON and was left out");
    }
}
