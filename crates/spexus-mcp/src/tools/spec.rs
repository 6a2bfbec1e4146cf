//! A tool as a row: its words, what it needs, and the one function it calls.

use crate::complete::Uses;
use crate::render::{Answer, visible};
use crate::{Toolset, audit};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_runtime::{Arguments, Context, Stop, Tool, ToolAnnotations, ToolResult};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::{Ruled, complaint};
use spexus_service::Service;
use std::future::Future;
use std::sync::Arc;

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    Read,
    /// Adds something; twice is two.
    Add,
    /// Sets something; twice is once.
    Set,
    /// May remove something; twice is once.
    Remove,
}

impl Effect {
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, Effect::Read)
    }

    //= specs/spexus-mcp.md#tools
    //# Every tool MUST say whether it only reads, may destroy and may be repeated.
    fn annotations(self) -> ToolAnnotations {
        ToolAnnotations {
            read_only_hint: Some(self == Effect::Read),
            destructive_hint: self.writes().then_some(self == Effect::Remove),
            idempotent_hint: self.writes().then_some(self != Effect::Add),
            open_world_hint: Some(false),
        }
    }
}

type Run = dyn Fn(Work, Arguments) -> BoxFuture<'static, Ruled<Answer>> + Send + Sync;

/// One row of the table of tools.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: String,
    pub(crate) toolset: Toolset,
    pub(crate) right: Operation,
    pub(crate) effect: Effect,
    pub(crate) input: Value,
    pub(crate) output: Value,
    run: Arc<Run>,
}

/// What a tool may touch while it works.
pub(crate) struct Work {
    pub(crate) service: Service,
    pub(crate) caller: Caller,
}

impl Spec {
    /// A row; what it needs and takes follows.
    pub(crate) fn new<F, Fut>(
        name: &'static str,
        title: &'static str,
        description: impl Into<String>,
        run: F,
    ) -> Self
    where
        F: Fn(Work, Arguments) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Ruled<Answer>> + Send + 'static,
    {
        Self {
            name,
            title,
            description: description.into(),
            toolset: Toolset::Core,
            right: Operation::Read,
            effect: Effect::Read,
            input: Value::Null,
            output: Value::Null,
            run: Arc::new(move |work, arguments| run(work, arguments).boxed()),
        }
    }

    /// Sets what it does, and the right that takes.
    pub(crate) fn does(self, effect: Effect, right: Operation) -> Self {
        Self {
            effect,
            right,
            ..self
        }
    }

    /// Puts it into another group than the core.
    pub(crate) fn set(self, toolset: Toolset) -> Self {
        Self { toolset, ..self }
    }

    /// Sets the schemas of what it takes and gives.
    pub(crate) fn takes(self, input: Value, output: Value) -> Self {
        Self {
            input,
            output,
            ..self
        }
    }

    //= specs/spexus-mcp.md#tools
    //# Every tool MUST have a title, a description, a flat input schema that refuses unknown arguments, and an output schema.
    /// The tool as the runtime wants it: audited, counted, and with an answer that is written once.
    pub(crate) fn into_tool(self, service: &Service, uses: &Uses) -> Tool {
        let (service, run, name) = (service.clone(), self.run, self.name);
        let uses = uses.clone();
        let work = move |cx: Context, arguments: Arguments| {
            let (service, run, uses) = (service.clone(), run.clone(), uses.clone());
            async move {
                let caller = audit::caller(&cx)?;
                uses.note(caller.user_id, arguments.0.values().filter_map(Value::as_str));
                let watch = audit::Watch::start(&service, &caller, "tools/call", name);
                let answered = run(Work { service, caller }, arguments).await;
                watch.stop(answered.as_ref().map(drop));
                Ok::<_, Stop>(result(answered?))
            }
        };
        let mut tool = Tool::new(self.name, self.description, work)
            .input(self.input)
            .output(self.output)
            .annotated(self.effect.annotations());
        tool.title = Some(self.title.to_owned());
        tool
    }
}

//= specs/spexus-mcp.md#answers
//# The payload of an answer MUST be sent once: as structured content beside a short text, or as text to clients that know nothing else.
fn result(mut answer: Answer) -> ToolResult {
    visible(&mut answer.value);
    ToolResult::brief(answer.text, answer.value)
}

/// Takes one text out of the arguments.
pub(super) fn take(arguments: &mut Map<String, Value>, name: &str) -> Option<String> {
    match arguments.remove(name)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Reads checked arguments into a type; what a schema cannot say is told by field all the same.
pub(super) fn read<T: DeserializeOwned>(arguments: impl Into<Map<String, Value>>) -> Ruled<T> {
    serde_json::from_value(Value::Object(arguments.into()))
        .map_err(|error| complaint::refusal("", &error.to_string()))
}
