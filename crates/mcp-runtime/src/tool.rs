//! Tools: what they are called, what they take, and what runs when one is called.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::answer::{self, RpcError};
use crate::breaker::Breaker;
use crate::content::{Content, Icon};
use crate::context::Context;
use crate::input::{Ask, InputRequired};
use crate::schema::Schema;

// Fulfils 002 Req-Tool-003
/// A tool as its author describes it.
#[derive(Clone)]
pub struct Tool {
    /// The name clients call it by.
    pub name: String,
    /// The name for people.
    pub title: Option<String>,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// JSON Schema of its structured result.
    pub output_schema: Option<Value>,
    /// What it does to the world.
    pub annotations: ToolAnnotations,
    /// Pictures.
    pub icons: Vec<Icon>,
    /// Facts for programs.
    pub meta: Map<String, Value>,
    /// How long a call may take, when it is not the server's usual limit.
    pub timeout: Option<Duration>,
    /// Whether a call may become a task that outlives its request.
    pub task_support: TaskSupport,
    /// Stops calls for a while after too many failures.
    pub breaker: Option<Arc<Breaker>>,
    /// Questions that must be answered before a call becomes a task; the work then finds the answers.
    pub first_asks: Vec<(String, Ask)>,
    /// Whether the person is asked for required arguments the model left out, where the client can show a form.
    pub asks_for_missing: bool,
    handler: Handler,
}

/// Hints on what a tool does to the world. Absent means unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// Changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// May destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Twice is the same as once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Reaches beyond the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Whether a call may become a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// Never.
    Forbidden,
    /// When the client can follow it.
    Optional,
    /// Always; a client that cannot follow tasks is refused.
    Required,
}

/// The arguments of a call, checked against the tool's schema.
#[derive(Clone, Debug, Default)]
pub struct Arguments(pub Map<String, Value>);

impl Arguments {
    /// The arguments as a type of the tool's own.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, Refusal> {
        serde_json::from_value(Value::Object(self.0))
            .map_err(|e| Refusal::field(Code::InvalidParams, "arguments", e.to_string(), ""))
    }

    /// One argument as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
}

impl Deref for Arguments {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

// Fulfils 002 Req-Tool-004
/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// For the model, piece by piece.
    pub content: Vec<Content>,
    /// For programs; fits the output schema when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// The tool ran and could not do it.
    pub is_error: bool,
    /// Facts for programs.
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// The text says less than the structured result: clients of revisions without one need it as text.
    #[serde(skip)]
    pub(crate) is_brief: bool,
}

impl ToolResult {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            ..Self::default()
        }
    }

    /// Several pieces.
    pub fn of(content: Vec<Content>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }

    /// A structured result, with the same as text for clients that read only that.
    pub fn structured(value: Value) -> Self {
        Self {
            content: vec![Content::text(value.to_string())],
            structured_content: Some(value),
            ..Self::default()
        }
    }

    /// A structured result with a short text beside it. The payload travels once: clients of revisions that know no
    /// structured results get it as text instead.
    pub fn brief(text: impl Into<String>, value: Value) -> Self {
        Self {
            content: vec![Content::text(text)],
            structured_content: Some(value),
            is_brief: true,
            ..Self::default()
        }
    }

    /// The result as a revision without structured results can carry it.
    pub(crate) fn in_words(&mut self) {
        if let Some(value) = self.structured_content.take_if(|_| self.is_brief) {
            self.content.push(Content::text(value.to_string()));
        }
    }

    // Fulfils 003 R6.8, 003 R6.9, 002 Req-Tool-007
    /// The tool could not do it: the message for the model, the refusal for programs.
    //= specs/mcp-runtime.md#tools
    //# A tool that ran and failed MUST be answered with a result whose `isError` is true and which carries the refusal.
    pub fn failed(refusal: &Refusal) -> Self {
        let mut error = json!({ "refusal": answer::refusal_value(refusal), "message": refusal.message });
        if !refusal.faults.is_empty() {
            error["fields"] = answer::faults_value(refusal);
        }
        for (name, value) in &refusal.facts {
            error[*name] = Value::from(value.as_str());
        }
        Self {
            content: vec![Content::text(words(refusal))],
            structured_content: Some(json!({ "error": error })),
            is_error: true,
            ..Self::default()
        }
    }
}

/// Why a handler has no result.
#[derive(Debug)]
pub enum Stop {
    /// It was refused, or could not be done.
    Refused(Refusal),
    /// A protocol error with a number of its own.
    Error(Box<RpcError>),
    /// It needs an answer of the user or the client first. Handlers pass this on with `?`.
    Input(Box<InputRequired>),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Stop::Refused(refusal)
    }
}

impl From<RpcError> for Stop {
    fn from(error: RpcError) -> Self {
        Stop::Error(Box::new(error))
    }
}

type Ready = dyn Fn(&Arguments) -> Result<ToolResult, Refusal> + Send + Sync;
type Work = dyn Fn(Context, Arguments) -> BoxFuture<'static, Result<ToolResult, Stop>> + Send + Sync;

#[derive(Clone)]
pub(crate) enum Handler {
    /// Never waits: runs where the message was read.
    Ready(Arc<Ready>),
    /// May wait: gets a task and a context of its own.
    Work(Arc<Work>),
}

impl Tool {
    /// A tool that may wait. Its work is dropped when the call is cancelled or takes too long.
    pub fn new<F, Fut, E>(name: impl Into<String>, description: impl Into<String>, run: F) -> Self
    where
        F: Fn(Context, Arguments) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ToolResult, E>> + Send + 'static,
        E: Into<Stop>,
    {
        let work = move |cx, arguments| run(cx, arguments).map(|r| r.map_err(Into::into)).boxed();
        Self::with(name.into(), description.into(), Handler::Work(Arc::new(work)))
    }

    /// A tool that never waits and takes microseconds: it runs on the connection's own task.
    pub fn ready<F>(name: impl Into<String>, description: impl Into<String>, run: F) -> Self
    where
        F: Fn(&Arguments) -> Result<ToolResult, Refusal> + Send + Sync + 'static,
    {
        Self::with(name.into(), description.into(), Handler::Ready(Arc::new(run)))
    }

    fn with(name: String, description: String, handler: Handler) -> Self {
        Self {
            name,
            title: None,
            description,
            input_schema: json!({ "type": "object", "properties": {} }),
            output_schema: None,
            annotations: ToolAnnotations::default(),
            icons: Vec::new(),
            meta: Map::new(),
            timeout: None,
            task_support: TaskSupport::Forbidden,
            breaker: None,
            first_asks: Vec::new(),
            asks_for_missing: false,
            handler,
        }
    }

    /// Sets the schema of the arguments.
    #[must_use]
    pub fn input(self, schema: Value) -> Self {
        Self {
            input_schema: schema,
            ..self
        }
    }

    /// Sets the schema of the structured result.
    #[must_use]
    pub fn output(self, schema: Value) -> Self {
        Self {
            output_schema: Some(schema),
            ..self
        }
    }

    /// Sets how long a call may take.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }

    /// Sets whether a call may become a task.
    #[must_use]
    pub fn tasks(self, support: TaskSupport) -> Self {
        Self {
            task_support: support,
            ..self
        }
    }

    /// Sets the hints.
    #[must_use]
    pub fn annotated(self, annotations: ToolAnnotations) -> Self {
        Self { annotations, ..self }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A registered tool: schemas compiled, list entry written.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) tool: Tool,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
    pub(crate) entry: Bytes,
    /// Header name and argument, for arguments that are repeated in an HTTP header.
    pub(crate) header_arguments: Vec<(String, String)>,
}

impl Registered {
    pub(crate) fn new(tool: Tool) -> Result<Self, Refusal> {
        check_name(&tool.name)?;
        if tool.input_schema.get("type") != Some(&Value::from("object")) {
            return Err(Refusal::new(
                Code::InvalidJsonSchema,
                format!("the input schema of {} has no `type: object`", tool.name),
            ));
        }
        let input = Schema::compile(tool.input_schema.clone())?;
        let output = tool.output_schema.clone().map(Schema::compile).transpose()?;
        let entry = entry(&tool);
        let header_arguments = header_arguments(&tool.input_schema);
        Ok(Self {
            tool,
            input,
            output,
            entry,
            header_arguments,
        })
    }

    pub(crate) fn handler(&self) -> &Handler {
        &self.tool.handler
    }

    /// Debug builds and tests hold a tool to its own output schema.
    pub(crate) fn check_output(&self, result: &ToolResult) -> Result<(), Refusal> {
        let (Some(schema), false, true) = (&self.output, result.is_error, cfg!(debug_assertions)) else {
            return Ok(());
        };
        let value = result.structured_content.as_ref().unwrap_or(&Value::Null);
        schema.check(value).map_err(|found| {
            let problem = format!(
                "the result of {} does not fit its output schema: {}",
                self.tool.name, found.message
            );
            Refusal::new(Code::InternalError, problem)
        })
    }
}

/// The names model APIs accept: letters, digits, `_`, `-`, `.`, `/`, at most 64 characters.
fn check_name(name: &str) -> Result<(), Refusal> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(fits) {
        return Err(Refusal::field(
            Code::InvalidParams,
            "name",
            format!("{name:?} is no name for a tool"),
            "1 to 64 letters, digits, `_`, `-`, `.` or `/`",
        ));
    }
    Ok(())
}

fn entry(tool: &Tool) -> Bytes {
    let mut entry = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    });
    if let Some(title) = &tool.title {
        entry["title"] = json!(title);
    }
    if let Some(schema) = &tool.output_schema {
        entry["outputSchema"] = schema.clone();
    }
    if tool.annotations != ToolAnnotations::default() {
        entry["annotations"] = json!(tool.annotations);
    }
    if !tool.icons.is_empty() {
        entry["icons"] = json!(tool.icons);
    }
    if tool.task_support != TaskSupport::Forbidden {
        entry["execution"] = json!({ "taskSupport": tool.task_support });
    }
    if !tool.meta.is_empty() {
        entry["_meta"] = json!(tool.meta);
    }
    entry.to_string().into()
}

fn header_arguments(schema: &Value) -> Vec<(String, String)> {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Vec::new();
    };
    let named = |(argument, inner): (&String, &Value)| {
        let header = inner.get("x-mcp-header")?.as_str()?;
        Some((
            format!("mcp-param-{}", header.to_ascii_lowercase()),
            argument.clone(),
        ))
    };
    properties.iter().filter_map(named).collect()
}

/// Message, faults and hint as one text a model can act on.
fn words(refusal: &Refusal) -> String {
    let mut text = refusal.message.clone();
    for fault in &refusal.faults {
        text.push_str(&format!("\n- {}: {}", fault.field, fault.problem));
        if !fault.allowed.is_empty() {
            text.push_str(&format!(" (allowed: {})", fault.allowed));
        }
    }
    text.push('\n');
    text.push_str(&refusal.hint);
    text
}
