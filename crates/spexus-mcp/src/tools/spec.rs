//! A tool as a row: its words, what it needs, and the one function it calls.

mod fit;

use crate::ask::{self, Asker};
use crate::complete::Uses;
use crate::render::{Answer, visible};
use crate::visit::Visit;
use crate::{Toolset, audit, views};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocol::{Arguments, Level, TaskSupport, ToolAnnotations, ToolResult};
use mcp_server::{Context, Sampler, Stop, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::{Ruled, decode};
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

/// What arguments are called that name what a tool is about.
const NAMES_OF_IDS: [&str; 11] = [
    "epic_id",
    "user_story_id",
    "acceptance_criteria_id",
    "requirement_id",
    "steering_document_id",
    "epic",
    "user_story",
    "comment_id",
    "relationship_id",
    "prompt_id",
    "token_id",
];

/// What a tool runs.
pub(crate) type Run = dyn Fn(Invocation, Arguments) -> BoxFuture<'static, Result<Answer, Stop>> + Send + Sync;

/// A tool as a batch calls it, with a service of the batch's own.
pub(crate) type Call =
    Box<dyn Fn(Service, Caller, Arguments) -> BoxFuture<'static, Ruled<Answer>> + Send + Sync>;

/// One row of the table of tools.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: String,
    pub(crate) toolset: Toolset,
    /// Whether agents that chose the lean group are shown it.
    pub(crate) lean: bool,
    pub(crate) right: Operation,
    pub(crate) effect: Effect,
    pub(crate) input: Value,
    pub(crate) output: Value,
    /// Whether it takes too long for a batch, for which all other writes wait.
    alone: bool,
    /// Whether it may take so long that a client follows it as a task.
    long: bool,
    /// How to get what an answer had to leave out.
    rest: &'static str,
    run: Arc<Run>,
}

/// What a tool may touch while it works.
#[derive(Clone)]
pub(crate) struct Invocation {
    pub(crate) service: Service,
    pub(crate) caller: Caller,
    /// Who is asked what only a person or a model can say; in a batch nobody is.
    pub(crate) asker: Option<Asker>,
}

impl Invocation {
    /// Tells whoever waits how far the work is, as progress and in the log of the session. Nobody hears it in a batch.
    pub(crate) async fn tell(&self, done: u64, total: Option<u64>, message: &str) {
        if let Some(asker) = &self.asker {
            let total = total.map(|total| total as f64);
            asker.cx.progress(done as f64, total, Some(message)).await;
        }
        self.log(message).await;
    }

    /// Writes a line into the log of the session.
    pub(crate) async fn log(&self, message: &str) {
        if let Some(asker) = &self.asker {
            asker.cx.log(Level::Info, "spexus", message.into()).await;
        }
    }
}

impl Spec {
    /// A row; what it needs and takes follows.
    pub(crate) fn new<F, Fut, E>(
        name: &'static str,
        title: &'static str,
        description: impl Into<String>,
        run: F,
    ) -> Self
    where
        F: Fn(Invocation, Arguments) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, E>> + Send + 'static,
        E: Into<Stop>,
    {
        Self {
            name,
            title,
            description: description.into(),
            toolset: Toolset::Core,
            lean: false,
            right: Operation::Read,
            effect: Effect::Read,
            input: Value::Null,
            output: Value::Null,
            alone: false,
            long: false,
            rest: "",
            run: Arc::new(move |invocation, arguments| {
                run(invocation, arguments)
                    .map(|done| done.map_err(Into::into))
                    .boxed()
            }),
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

    /// Puts it into the lean group of agents, too.
    pub(crate) fn lean(self) -> Self {
        Self { lean: true, ..self }
    }

    /// What an argument may also be called: the item is `id` everywhere, whatever the tool calls it.
    //= specs/spexus-mcp.md#tools
    //# The item a tool is about MUST be accepted as `id`, whatever name the source documents give the argument.
    pub(crate) fn aliases(&self) -> Vec<(&'static str, &'static str)> {
        let properties = &self.input["properties"];
        let required = self.input["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let mut named = NAMES_OF_IDS.iter().filter(|name| is_required(name));
        if self.effect == Effect::Add {
            // What something is made in is not the item it is about.
            return Vec::new();
        }
        match (properties.get("id"), named.next(), named.next()) {
            (None, Some(only), None) => vec![("id", *only)],
            (Some(_), ..) => vec![("item", "id"), ("item_id", "id")],
            _ => Vec::new(),
        }
    }

    /// Sets the schemas of what it takes and gives.
    pub(crate) fn takes(self, input: Value, output: Value) -> Self {
        Self {
            input,
            output,
            ..self
        }
    }

    /// Says how to get what an answer had to leave out.
    pub(crate) fn rest(self, rest: &'static str) -> Self {
        Self { rest, ..self }
    }

    /// Keeps it out of batches.
    pub(crate) fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Lets a client follow it as a task, and hear how far it is.
    pub(crate) fn long(self) -> Self {
        Self { long: true, ..self }
    }

    /// Whether it can be part of a batch.
    pub(crate) fn is_batched(&self) -> bool {
        !self.alone
    }

    /// The tool without what surrounds a single call: its batch is audited and counted as one.
    pub(crate) fn call(&self) -> Call {
        let run = self.run.clone();
        Box::new(move |service, caller, arguments| {
            let invocation = Invocation {
                service,
                caller,
                asker: None,
            };
            run(invocation, arguments)
                .map(|done| done.map_err(ask::refusal))
                .boxed()
        })
    }

    // Fulfils 003 R6.2, 003 R6.4, 003 R6.7, 003 R10.2, 003 R10.7
    //= specs/spexus-mcp.md#tools
    //# Every tool MUST have a title, a description, a flat input schema that refuses unknown arguments, and an output schema.
    /// The tool as the runtime wants it: audited, counted, and with an answer that is written once.
    pub(crate) fn into_tool(self, service: &Service, sampler: &Sampler, uses: &Uses) -> Tool {
        let aliases = self.aliases();
        let (service, sampler, run, name) = (service.clone(), sampler.clone(), self.run, self.name);
        let (uses, subject, long) = (uses.clone(), ask::subject_of(&self.input), self.long);
        let invocation = move |cx: Context, arguments: Arguments| {
            let (service, sampler, run, uses) = (service.clone(), sampler.clone(), run.clone(), uses.clone());
            async move {
                let caller = audit::caller(&cx)?;
                let mirrors = Visit::of(&cx)?.mirrors();
                uses.note(caller.user_id, arguments.0.values().filter_map(Value::as_str));
                let watch = audit::AuditEntry::start(&service, &caller, "tools/call", name);
                let invocation = Invocation {
                    service,
                    caller,
                    asker: Some(Asker { cx, sampler }),
                };
                let telling = invocation.clone();
                if long {
                    telling.tell(0, None, &format!("{name} begins")).await;
                }
                let answered = ask::until_found(&*run, subject, invocation, arguments).await;
                watch.pause(answered.as_ref().map(drop));
                if let (true, Ok(answer)) = (long, &answered) {
                    telling.log(&format!("{name}: {}", answer.text)).await;
                }
                Ok::<_, Stop>(result(answered?, mirrors))
            }
        };
        let mut tool = Tool::new(self.name, self.description, invocation)
            .input(self.input)
            .output(self.output)
            .annotated(self.effect.annotations());
        tool.title = Some(self.title.to_owned());
        tool.aliases = aliases;
        tool.meta = views::of_tool(self.name);
        //= specs/spexus-mcp.md#tools
        //# An import, a report and the verification of the history MUST be able to run as tasks, and MUST tell how far they are to
        //# clients that ask for progress or for the log.
        if long {
            tool.task_support = TaskSupport::Optional;
        }
        //= specs/spexus-mcp.md#asking
        //# A tool that makes something MUST ask the person for the required arguments the model left out, where the client can ask.
        tool.asks_for_missing = self.effect == Effect::Add;
        tool
    }
}

//= specs/spexus-mcp.md#answers
//# The payload of an answer MUST be sent as structured content and as text beside a short sentence; a client that asks for structured content alone MUST be spared the text, and one that knows nothing else MUST be sent the text alone.
fn result(mut answer: Answer, mirrors: bool) -> ToolResult {
    visible(&mut answer.value);
    match mirrors {
        true => ToolResult::mirrored(answer.text, answer.value),
        false => ToolResult::brief(answer.text, answer.value),
    }
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
    decode::value(&Value::Object(arguments.into()))
}
