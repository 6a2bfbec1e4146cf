//! Errors as JSON-RPC wants them: a refusal, the number of the revision, and what else belongs into `data`.

use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use crate::envelope::Malformed;
use crate::version::{OfferedVersions, Version};

// Fulfils 000 R2.4, 001 D6, 003 R11.6, 003 R11.7, 003 R11.8, 002 Req-Proto-006
/// A JSON-RPC error, with the refusal behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// `error.code`.
    pub code: i32,
    /// The refusal: message, hint, faults.
    pub refusal: Refusal,
    /// Further members of `error.data`.
    pub data: Box<Map<String, Value>>,
    /// The HTTP status, where the protocol prescribes one other than 200.
    pub http_status: Option<u16>,
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        Self {
            code: refusal.code.json_rpc(),
            //= specs/mcp-server.md#http-transport
            //# A request the client has no right to MUST be answered with status 403 beside its JSON-RPC error.
            http_status: (refusal.code == Code::AuthzForbidden).then_some(403),
            refusal,
            data: Box::default(),
        }
    }
}

/// Numbers JSON-RPC and MCP give to cases of their own: all that `error.code` can be beside what the table of refusals says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum RpcCode {
    /// JSON-RPC: what came is not JSON.
    ParseError = -32700,
    /// JSON-RPC: nobody serves the method.
    MethodNotFound = -32601,
    /// JSON-RPC: the parameters do not fit.
    InvalidParams = -32602,
    /// MCP: a header says something else than the body.
    HeaderMismatch = -32020,
    /// MCP: the client did not declare what the request needs.
    MissingCapability = -32021,
    /// MCP: the request is written in a version that is not offered.
    UnsupportedVersion = -32022,
    /// MCP: somebody has to visit a page first.
    UrlElicitationRequired = -32042,
}

impl RpcError {
    /// A refusal under the protocol's number instead of the table's.
    pub fn numbered(code: RpcCode, refusal: Refusal) -> Self {
        Self {
            code: code as i32,
            ..Self::from(refusal)
        }
    }

    /// Adds a member of `error.data`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self {
            http_status: Some(status),
            ..self
        }
    }

    /// The error for a text that is not JSON.
    pub fn unreadable(problem: &str) -> Self {
        let refusal = Refusal::new(
            Code::ProtocolError,
            format!("the message is not valid JSON: {problem}"),
        );
        Self::numbered(RpcCode::ParseError, refusal).with_status(400)
    }

    /// The error for JSON that is no message.
    pub fn invalid(problem: &str) -> Self {
        Self::from(Refusal::new(
            Code::ProtocolError,
            format!("not a JSON-RPC 2.0 message: {problem}"),
        ))
        .with_status(400)
    }

    /// The error for a text that is no message, and the id it is answered to.
    pub fn malformed<'a>(malformed: &Malformed<'a>) -> (&'a str, Self) {
        match malformed {
            Malformed::Syntax(problem) => ("null", Self::unreadable(problem)),
            Malformed::Shape { id, problem } => (id.unwrap_or("null"), Self::invalid(problem)),
        }
    }

    /// The error for a method nobody serves.
    pub fn unknown_method(method: &str) -> Self {
        let refusal = Refusal::new(Code::ProtocolError, format!("there is no method {method:?}"))
            .hint("Use a method the server declares in its capabilities.");
        Self::numbered(RpcCode::MethodNotFound, refusal).with_status(404)
    }

    /// The error for an `initialize` with a version nobody knows.
    //= specs/mcp-server.md#versions
    //# An `initialize` that asks for an unknown version MUST be refused with `-32602` and the supported versions, unless the server is set to negotiate.
    pub fn unknown_version(asked: &str, offered: &OfferedVersions) -> Self {
        let supported = offered.names();
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

    /// The error object of this revision.
    pub fn object(&self, version: Version) -> Value {
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
//= specs/mcp-server.md#messages
//# A refusal of parameters MUST say in `data.refusal.class` that it is one (`invalid_params`), however special its own number is.
pub(crate) fn refusal_value(refusal: &Refusal) -> Value {
    let mut value =
        json!({ "code": refusal.code.number(), "name": refusal.code.name(), "hint": refusal.hint });
    if refusal.code.is_invalid_params() {
        value["class"] = json!("invalid_params");
    }
    value
}

/// One entry for each field at fault.
pub(crate) fn faults_value(refusal: &Refusal) -> Value {
    let entry = |fault: &refusal::Fault| json!({ "field": fault.field, "problem": fault.problem, "allowed": fault.allowed });
    refusal.faults.iter().map(entry).collect()
}
