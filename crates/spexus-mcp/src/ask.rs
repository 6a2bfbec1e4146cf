//! Asking the person and the model behind an agent.
//!
//! A tool that lacks something only a person can say — whether nine requirements may go, which of two was meant — asks
//! for it where the client can show a question, and refuses as it always did where it cannot. What is asked, of whom and
//! with which outcome is in the audit trail; how much is asked of models is decided by one sampler for the whole server.

mod answered;
mod unknown_reference;

pub(crate) use answered::Answered;
pub(crate) use unknown_reference::{subject_of, until_found};

use crate::McpOptions;
use crate::audit::{self, AuditEntry};
use crate::render;
use mcp_protocol::Elicited;
use mcp_server::{Context, CustomMethod, Decision, Elicitation, ElicitationRequest, Sampler, Stop};
use serde_json::{Value, json};
use spexus_domain::deletion::DeletionPreview;
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Kind, Refusal, text};
use spexus_service::Service;
use std::hash::{DefaultHasher, Hash, Hasher};

/// `elicitation/request`: an agent asks its person through the server, and gets an answer that fits.
const ELICITATION: &str = "elicitation/request";
/// `sampling/request`: how the models of clients are asked at present.
const SAMPLING: &str = "sampling/request";
/// A title in a question is cut here.
const MAX_TITLE_CHARS: usize = 120;
/// What is declared beside MCP's own, with its version.
pub(crate) const FAMILIES: [(&str, &str); 2] = [(ELICITATION, "1.0.0"), (SAMPLING, "1.0.0")];

/// Whoever can be asked while one request is served.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) cx: Context,
    pub(crate) sampler: Sampler,
}

/// The sampler of a server, with its decisions in the log, the traces and the metrics.
pub(crate) fn sampler(options: &McpOptions) -> Sampler {
    Sampler::new(options.sampling.clone(), tell)
}

/// The methods by which clients ask back.
pub(crate) fn methods(service: &Service, sampler: &Sampler) -> impl Iterator<Item = CustomMethod> {
    let (asking, telling, sampler) = (service.clone(), service.clone(), sampler.clone());
    let elicitation = CustomMethod::new(ELICITATION, move |cx: Context, params: Value| {
        let service = asking.clone();
        async move {
            let caller = audit::caller(&cx)?;
            let watch = AuditEntry::start(&service, &caller, ELICITATION, "");
            let answered = match ElicitationRequest::parse(&params) {
                Ok(request) => request.ask(&cx).await,
                Err(refusal) => Err(refusal.into()),
            };
            watch.pause(answered.as_ref().map(drop));
            answered
        }
    });
    let sampling = CustomMethod::new(SAMPLING, move |cx: Context, _: Value| {
        let (service, strategy) = (telling.clone(), sampler.describe(&cx));
        async move {
            let caller = audit::caller(&cx)?;
            let watch = AuditEntry::start(&service, &caller, SAMPLING, "");
            let told = caller.may(Operation::Read).map(|()| strategy);
            watch.stop(told.as_ref().map(drop));
            told
        }
    });
    [elicitation, sampling].into_iter()
}

/// Notes every question to a person with what became of it.
//= specs/spexus-mcp.md#asking
//# Every question to a person MUST be noted with its outcome.
pub(crate) fn noting(
    service: &Service,
) -> impl Fn(&Context, &str, Result<&Elicited, &Refusal>) + Send + Sync + 'static {
    let service = service.clone();
    move |cx, key, outcome| {
        // Without a caller there is no tool that could have asked.
        let Ok(caller) = audit::caller(cx) else { return };
        let outcome = outcome.map_or_else(|refusal| refusal.code.name(), Elicited::action);
        // By what asked; the rest of the key tells questions of one call apart.
        let asking = key.split('.').next().unwrap_or_default();
        AuditEntry::start(&service, &caller, "elicitation/create", asking).note(outcome);
    }
}

/// Puts a deletion and what falls with it to the person. Only a yes lets it happen.
pub(crate) async fn agree_to_deletion(asker: &Asker, preview: &DeletionPreview) -> Result<(), Stop> {
    let schema = json!({
        "type": "object",
        "properties": { "delete": { "type": "boolean", "title": "Delete", "description": "It can be brought back with everything that fell." } },
        "required": ["delete"],
    });
    let question = Elicitation::new(consequences(preview), schema);
    // The key binds the answer to what was shown: this item in this revision. When something else falls by now, the person
    // is asked anew.
    let mut shown = DefaultHasher::new();
    (preview.id, preview.rev, consequences(preview)).hash(&mut shown);
    preview.items.iter().for_each(|item| item.id.hash(&mut shown));
    let key = format!("delete_item.{:016x}", shown.finish());
    let why = match asker.cx.elicit(&key, &question).await? {
        Elicited::Accepted(fields) if fields.get("delete") == Some(&json!(true)) => return Ok(()),
        Elicited::Cancelled => "the person did not decide",
        _ => "the person said no",
    };
    let message = format!("{} was not deleted: {why}", preview.reference_id);
    Err(Refusal::new(Code::DeletionBlocked, message)
        .hint("Nothing was changed. Talk to the person before you try again.")
        .into())
}

/// What a batch, where nobody is asked, is told instead.
pub(crate) fn refusal(stop: Stop) -> Refusal {
    match stop {
        Stop::Refused(refusal) => refusal,
        Stop::Error(error) => error.refusal,
        Stop::Input(_) => Refusal::new(Code::RuleViolated, "this asks a question, which a batch cannot")
            .hint("Call the tool by itself."),
    }
}

/// `EP-001 "Sign in" in the project web takes 3 user stories and 9 requirements with it and ends 2 links. Delete?`
//= specs/spexus-mcp.md#asking
//# The question whether to delete MUST name the title, the reference and the project, and its answer MUST be bound to that item in that revision.
fn consequences(preview: &DeletionPreview) -> String {
    let mut parts = Vec::new();
    let falling: Vec<String> = Kind::ALL
        .into_iter()
        .filter_map(|kind| {
            let count = preview.items.iter().filter(|item| item.kind == kind).count();
            (count > 0).then(|| counted(count, kind.rules().label))
        })
        .collect();
    if !falling.is_empty() {
        parts.push(format!("takes {} with it", listed(&falling)));
    }
    if preview.links > 0 {
        parts.push(format!(
            "ends {}",
            counted(usize::try_from(preview.links).unwrap_or(usize::MAX), "link")
        ));
    }
    if !preview.unpointed.is_empty() {
        parts.push(format!(
            "leaves {} without its criterion",
            counted(preview.unpointed.len(), "requirement")
        ));
    }
    let mut title = text::excerpt(&preview.title, MAX_TITLE_CHARS);
    title.retain(|c| !render::is_invisible(c));
    format!(
        "{} {title:?} in the project {} {}. Delete?",
        preview.reference_id,
        preview.project,
        listed(&parts)
    )
}

fn counted(count: usize, noun: &str) -> String {
    let many = match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None => match noun.strip_suffix("criterion") {
            Some(stem) => format!("{stem}criteria"),
            None => format!("{noun}s"),
        },
    };
    format!("{count} {many}")
}

fn listed(parts: &[String]) -> String {
    match parts {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        other => other.concat(),
    }
}

// Fulfils 002 Req-Sample-004
/// A decision of the sampler, for those who watch over agents.
//= specs/spexus-mcp.md#asking
//# Every decision of the sampler MUST be an event of the trace it belongs to and MUST be counted.
fn tell(decision: &Decision) {
    let Decision {
        what, why, strategy, ..
    } = *decision;
    metrics::counter!("spexus_mcp_sampling_decisions_total", "what" => what, "why" => why).increment(1);
    for (parameter, value) in [
        ("concurrency", strategy.concurrency as f64),
        ("spacing_ms", strategy.spacing_ms as f64),
        ("max_tokens", strategy.max_tokens as f64),
    ] {
        metrics::gauge!("spexus_mcp_sampling_strategy", "parameter" => parameter).set(value);
    }
    tracing::info!(
        what,
        why,
        took_ms = decision.took_ms,
        concurrency = strategy.concurrency,
        spacing_ms = strategy.spacing_ms,
        max_tokens = strategy.max_tokens,
        running = decision.running,
        queued = decision.queued,
        "sampling decision"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_as_people_do() {
        assert_eq!(counted(1, "user story"), "1 user story");
        assert_eq!(counted(3, "user story"), "3 user stories");
        assert_eq!(counted(2, "acceptance criterion"), "2 acceptance criteria");
        assert_eq!(counted(9, "requirement"), "9 requirements");
        let parts = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            (listed(&parts[..1]), listed(&parts)),
            ("a".to_owned(), "a, b and c".to_owned())
        );
    }
}
