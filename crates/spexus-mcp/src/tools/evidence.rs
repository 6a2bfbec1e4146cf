//! Evidence: how far an item has come to a test that passed, what is missing, and pushing what a run said.

use super::items::{pages, project};
use super::spec::{Effect, Invocation, Spec, read};
use crate::Toolset;
use crate::render::{Answer, rows_of};
use crate::schema::{answer, choice, flag, object, text};
use mcp_protocol::Arguments;
use serde::Deserialize;
use serde_json::json;
use spexus_domain::Ruled;
use spexus_domain::permission::Operation;
use spexus_domain::text::grouped;
use spexus_domain::trace::{Rung, TraceFlag};
use spexus_service::evidence::{self, CheckQuery, PushBody, ReportBody, TraceAnswer};

/// The tools of evidence.
pub(super) fn tools() -> Vec<Spec> {
    vec![get_trace(), explain_state(), list_gaps(), push_evidence()]
}

fn get_trace() -> Spec {
    Spec::new(
        "get_trace",
        "Get a trace",
        "Shows how far an item has come: its state, the sentences, code and tests that rests on, and the weakest link.",
        run_trace,
    )
    .set(Toolset::Author)
    .takes(
        object([text("id", "any id").required(), project()]),
        answer(&[("state", "string"), ("flags", "array"), ("weakest", "string"), ("tests", "array"), ("spans", "array"), ("sentences", "array")]),
    )
}

async fn run_trace(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = asked_for(&invocation, &arguments).await?;
    Ok(Answer::new(headline(&found), &found))
}

fn explain_state() -> Spec {
    Spec::new(
        "explain_state",
        "Explain a state",
        "Says in words why an item is not verified further, and what to do next.",
        run_explain,
    )
    .set(Toolset::Author)
    .takes(
        object([text("id", "any id").required(), project()]),
        answer(&[("state", "string"), ("flags", "array"), ("weakest", "string")]),
    )
}

async fn run_explain(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = asked_for(&invocation, &arguments).await?;
    let words = match found.trace.weakest.as_str() {
        "" => format!("{} {}", headline(&found), "There is nothing to do."),
        weakest => format!("{} {weakest}", headline(&found)),
    };
    let value = json!({
        "reference_id": found.reference_id,
        "state": found.trace.state,
        "flags": found.trace.flags,
        "weakest": found.trace.weakest,
    });
    Ok(Answer::new(words, value))
}

async fn asked_for(invocation: &Invocation, arguments: &Arguments) -> Ruled<TraceAnswer> {
    let (project, id) = (
        arguments.text("project"),
        arguments.text("id").unwrap_or_default(),
    );
    evidence::trace(&invocation.service, &invocation.caller, project, None, id).await
}

fn headline(found: &TraceAnswer) -> String {
    let flags: Vec<&str> = found
        .trace
        .flags
        .iter()
        .map(|flag| TraceFlag::name(*flag))
        .collect();
    match flags.is_empty() {
        true => format!("{} is {}.", found.reference_id, found.trace.state.name()),
        false => format!(
            "{} is {} ({}).",
            found.reference_id,
            found.trace.state.name(),
            flags.join(", ")
        ),
    }
}

fn list_gaps() -> Spec {
    Spec::new(
        "list_gaps",
        "List gaps",
        "Lists the requirements that stand below a rung, each with what to do about it.",
        run_gaps,
    )
    .set(Toolset::Author)
    .takes(
        object(
            [
                choice("level", &Rung::ALL.map(Rung::name), "passed when left out"),
                project(),
            ]
            .into_iter()
            .chain(pages()),
        ),
        super::items::rows(),
    )
}

async fn run_gaps(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let query: CheckQuery = read(arguments.0)?;
    let found = evidence::gaps(&invocation.service, &invocation.caller, &query).await?;
    let rows = found.data.iter().map(|gap| json!(gap)).collect();
    Ok(rows_of("gaps", rows, found.total(), found.next_cursor.as_deref()))
}

/// One report of one run; reports that belong together are pushed one after the other for the same commit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneReport {
    project: Option<String>,
    commit: String,
    committed_at: Option<String>,
    #[serde(default)]
    dirty: bool,
    format: String,
    #[serde(default)]
    name: String,
    test: Option<String>,
    text: String,
}

fn push_evidence() -> Spec {
    Spec::new(
        "push_evidence",
        "Push evidence",
        "Keeps what a test run or a coverage tool reported for a commit. What an agent pushes is shown as reported and raises no state; CI pushes with a token for evidence.",
        run_push,
    )
    .does(Effect::Set, Operation::PushEvidence)
    .set(Toolset::Author)
    .lean()
    .takes(
        object([
            text("commit", "hexadecimal").required(),
            text("format", "junit, ctrf, tap, robot, lcov, cobertura, jacoco or llvm-cov").required(),
            text("text", "the report").required(),
            text("name", "its file"),
            text("test", "for coverage of one test"),
            text("committed_at", "RFC 3339"),
            flag("dirty", "changes in no commit"),
            project(),
        ]),
        answer(&[("id", "string"), ("already_known", "boolean"), ("reported", "boolean"), ("sources", "array"), ("unknown_ids", "array"), ("states", "object")]),
    )
    .alone()
}

async fn run_push(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let one: OneReport = read(arguments.0)?;
    let body = PushBody {
        project: one.project,
        commit: one.commit,
        committed_at: one.committed_at,
        dirty: one.dirty,
        command: String::new(),
        reports: vec![ReportBody {
            format: one.format,
            name: one.name,
            test: one.test,
            text: one.text,
        }],
        marks: None,
    };
    let pushed = evidence::push(&invocation.service, &invocation.caller, body.into_push()?).await?;
    let tests: u64 = pushed
        .sources
        .iter()
        .map(|source| source.passed + source.failed + source.errors + source.skipped)
        .sum();
    let counted = grouped(i64::try_from(tests).unwrap_or(i64::MAX));
    let words = match (pushed.already_known, pushed.reported) {
        (true, _) => "The same was pushed before; nothing was done.".to_owned(),
        (false, true) => format!("Kept {counted} results as reported by an agent; they raise no state."),
        (false, false) => format!("Kept {counted} results."),
    };
    Ok(Answer::new(words, &pushed))
}
