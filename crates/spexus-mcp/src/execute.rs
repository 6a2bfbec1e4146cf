//! `batch/execute`: calls of any tools of the product, in one transaction.
//!
//! Each call runs as it would alone, with the same right, the same check of its arguments and the same function of the
//! service, which works inside the transaction without knowing of it. Calls that only read do so at one moment, and no
//! write waits for them. A call gives its result a name with `ref`, and later ones use it: `@name` stands for what was
//! made, whichever project it is in, and `@name.field` for a field of it. A text that begins with `@` and is meant as it
//! is gets a second one.

mod reference;

use crate::audit::{self, AuditEntry};
use crate::guard::Gate;
use crate::render::{Answer, visible};
use crate::tools::{Call, Effect, Spec};
use crate::visit::Visit;
use mcp_protocol::{Arguments, Schema};
use mcp_server::{Context, CustomMethod, Stop};
use reference::Results;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, decode, nearest};
use spexus_service::Service;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The method, which is also the name of the family it is declared as.
pub(crate) const METHOD: &str = "batch/execute";
/// The version of the family.
pub(crate) const VERSION: &str = "1.0.0";

/// Calls in one batch: all other writes wait for them.
const MAX_CALLS: usize = 200;

/// A tool as a batch calls it.
struct Callable {
    call: Call,
    effect: Effect,
    input: Value,
    aliases: Vec<(&'static str, &'static str)>,
    /// Compiled when it is first called.
    schema: OnceLock<Schema>,
}

/// What runs batches.
pub(crate) struct Executor {
    service: Service,
    gate: Gate,
    tools: HashMap<&'static str, Callable>,
    /// Tools that are called on their own only.
    alone: Vec<&'static str>,
    /// What the results of a batch may have together.
    max_bytes: usize,
}

/// A batch as it is sent. Calls may be called operations, tools names, and refs as.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(alias = "calls")]
    operations: Vec<Operation>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default, rename = "_meta")]
    _meta: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    #[serde(alias = "name")]
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
    #[serde(default, rename = "ref", alias = "as")]
    name: Option<String>,
}

impl Executor {
    pub(crate) fn new(service: &Service, gate: &Gate, tools: &[Spec], max_bytes: usize) -> Self {
        let (together, alone): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| tool.is_batched());
        let callable = |tool: &Spec| Callable {
            call: tool.call(),
            effect: tool.effect,
            input: tool.input.clone(),
            aliases: tool.aliases(),
            schema: OnceLock::new(),
        };
        Self {
            service: service.clone(),
            gate: gate.clone(),
            tools: together.iter().map(|tool| (tool.name, callable(tool))).collect(),
            alone: alone.iter().map(|tool| tool.name).collect(),
            max_bytes,
        }
    }

    pub(crate) fn into_method(self) -> CustomMethod {
        let executor = Arc::new(self);
        CustomMethod::new(METHOD, move |cx: Context, params: Value| {
            let executor = executor.clone();
            async move { executor.run(&cx, params).await.map_err(Stop::from) }
        })
    }

    //= specs/spexus-mcp.md#batches
    //# `batch/execute` MUST carry out its operations in one transaction, all or none, and MUST note them as one operation.
    async fn run(&self, cx: &Context, params: Value) -> Ruled<Value> {
        let caller = audit::caller(cx)?;
        let watch = AuditEntry::start(&self.service, &caller, METHOD, "tools");
        let done = self.execute(cx, Visit::of(cx)?, &caller, params).await;
        watch.stop(done.as_ref().map(drop));
        done
    }

    // Fulfils 002 Req-Proto-008
    async fn execute(&self, cx: &Context, visit: &Visit, caller: &Caller, params: Value) -> Ruled<Value> {
        let input = read(params)?;
        self.check(visit, &input.operations)?;
        //= specs/spexus-mcp.md#endpoint
        //# Every message of an array, and every call of a batch, MUST count against the rate of the token like a request of its own.
        cx.count(
            u32::try_from(input.operations.len())
                .unwrap_or(u32::MAX)
                .saturating_sub(1),
        )?;
        let dry_run = input.dry_run;
        let writes = self.writes(&input.operations);
        let work = |service| self.execute_in(service, caller, input.operations);
        //= specs/spexus-mcp.md#batches
        //# A batch whose operations only read MUST read them at one moment, and no write MUST wait for it.
        let results = match writes {
            //= specs/spexus-mcp.md#batches
            //# A trial of a batch MUST answer what the batch would, and keep nothing.
            true => self.service.together(caller, !dry_run, work).await?,
            false => self.service.snapshot(caller, work).await?,
        };
        Ok(fitting(dry_run, results, self.max_bytes))
    }

    fn writes(&self, operations: &[Operation]) -> bool {
        let mut tools = operations
            .iter()
            .filter_map(|one| self.tools.get(one.tool.as_str()));
        tools.any(|tool| tool.effect.writes())
    }

    /// Everything that can be known before anything is done.
    //= specs/spexus-mcp.md#batches
    //# A reference MUST name an earlier operation of the batch, and one that does not MUST be refused with its place before anything is done.
    fn check(&self, visit: &Visit, operations: &[Operation]) -> Ruled<()> {
        if !(1..=MAX_CALLS).contains(&operations.len()) {
            let problem = format!("has {} entries", operations.len());
            let allowed = format!("1 to {MAX_CALLS}");
            return Err(Refusal::field(
                Code::InvalidParams,
                "operations",
                problem,
                allowed,
            ));
        }
        let mut names = Vec::new();
        for (at, operation) in operations.iter().enumerate() {
            self.check_one(visit, operation, &names)
                .map_err(|refusal| refusal.inside(&place(at)))?;
            names.extend(operation.name.as_deref());
        }
        Ok(())
    }

    //= specs/spexus-mcp.md#batches
    //# Every operation of a batch MUST have the right and the arguments it needs alone; the first that does not MUST be refused with its place.
    fn check_one(&self, visit: &Visit, operation: &Operation, names: &[&str]) -> Ruled<()> {
        self.find(&operation.tool)?;
        self.gate.check_tool(visit, &operation.tool)?;
        if let Some(name) = &operation.name {
            reference::check_name(name, names)?;
        }
        reference::check(&operation.arguments, names)
    }

    async fn execute_in(
        &self,
        service: Service,
        caller: &Caller,
        operations: Vec<Operation>,
    ) -> Ruled<Vec<Value>> {
        let (mut results, mut answers) = (Results::default(), Vec::with_capacity(operations.len()));
        for (at, operation) in operations.into_iter().enumerate() {
            let Operation {
                tool,
                arguments,
                name,
            } = operation;
            let done = self.call(&service, caller, &tool, arguments, &results).await;
            let Answer {
                text,
                mut value,
                item,
                whole,
            } = done.map_err(|refusal| refusal.inside(&place(at)))?;
            visible(&mut value);
            let mut answer = json!({ "tool": tool, "text": text, "result": value });
            if let Some(name) = name {
                answer["ref"] = json!(name);
                let mut whole = whole.unwrap_or(value);
                visible(&mut whole);
                results.keep(name, whole, item);
            }
            answers.push(answer);
        }
        Ok(answers)
    }

    async fn call(
        &self,
        service: &Service,
        caller: &Caller,
        tool: &str,
        arguments: Map<String, Value>,
        results: &Results,
    ) -> Ruled<Answer> {
        let callable = self.find(tool)?;
        let arguments = mcp_protocol::renamed(results.resolve(arguments)?, &callable.aliases);
        let mut arguments = Value::Object(arguments);
        callable
            .schema()?
            .admit(&mut arguments)
            .map_err(|refusal| refusal.inside("arguments."))?;
        let Value::Object(arguments) = arguments else {
            return Err(Refusal::new(
                Code::InternalError,
                "arguments became something else",
            ));
        };
        (callable.call)(service.clone(), caller.clone(), Arguments(arguments)).await
    }

    fn find(&self, tool: &str) -> Ruled<&Callable> {
        if let Some(callable) = self.tools.get(tool) {
            return Ok(callable);
        }
        if self.alone.contains(&tool) {
            let problem = format!("{tool} cannot be part of a batch");
            return Err(
                Refusal::field(Code::InvalidParams, "tool", problem, "other tools")
                    .hint("Call it on its own, before or after the batch."),
            );
        }
        Err(nearest::miss("tool", tool, self.tools.keys().copied()))
    }
}

impl Callable {
    fn schema(&self) -> Ruled<&Schema> {
        if let Some(schema) = self.schema.get() {
            return Ok(schema);
        }
        let schema = Schema::compile(self.input.clone())?;
        Ok(self.schema.get_or_init(|| schema))
    }
}

/// The answer to a batch. Every call is told by its sentence; results stand beside it as long as there is room for them.
//= specs/spexus-mcp.md#batches
//# The results of a batch MUST stay below the bytes an answer may have together; a call whose result was left out MUST say so.
fn fitting(dry_run: bool, mut results: Vec<Value>, max_bytes: usize) -> Value {
    const REST: &str =
        "Results that are truncated did not fit; what writes was done. Call those that read by themselves.";
    let bytes = |value: &Value| value.to_string().len() + 1;
    let all: usize = results.iter().map(bytes).sum();
    if all <= max_bytes {
        return json!({ "dry_run": dry_run, "results": results, "truncated": false });
    }
    let of_results: usize = results.iter().map(|one| bytes(&one["result"])).sum();
    let marks = results.len() * r#","truncated":true"#.len() + REST.len() + 100;
    let mut left = max_bytes.saturating_sub(all - of_results + marks);
    for one in &mut results {
        let size = bytes(&one["result"]);
        if size <= left {
            left -= size;
        } else if let Some(call) = one.as_object_mut() {
            call.remove("result");
            call.insert("truncated".to_owned(), json!(true));
        }
    }
    json!({ "dry_run": dry_run, "results": results, "truncated": true, "rest": REST })
}

fn read(params: Value) -> Ruled<Input> {
    decode::value(&params)
}

fn place(at: usize) -> String {
    format!("operations[{at}].")
}
