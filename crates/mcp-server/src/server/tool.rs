//! Tools: what they are called, what they take, and what runs when one is called.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use crate::breaker::Breaker;
use crate::server::context::Context;
use mcp_protocol::{
    Arguments, Ask, Icon, InputRequired, RpcError, Schema, TaskSupport, ToolAnnotations, ToolResult,
};

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
    /// Icons, for clients that show them.
    pub icons: Vec<Icon>,
    /// MCP `_meta`.
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
    /// Other names of arguments: what is sent as the first is taken for the second, where that is not there.
    pub aliases: Vec<(&'static str, &'static str)>,
    handler: Handler,
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

type ReadyHandler = dyn Fn(&Arguments) -> Result<ToolResult, Refusal> + Send + Sync;
type AsyncHandler = dyn Fn(Context, Arguments) -> BoxFuture<'static, Result<ToolResult, Stop>> + Send + Sync;

#[derive(Clone)]
pub(crate) enum Handler {
    /// Never waits: runs where the message was read.
    Ready(Arc<ReadyHandler>),
    /// May wait: gets a task and a context of its own.
    Async(Arc<AsyncHandler>),
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
        Self::with(name.into(), description.into(), Handler::Async(Arc::new(work)))
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
            aliases: Vec::new(),
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
