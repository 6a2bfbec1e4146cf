//! Working beside each other: what can be begun, and holding an item for a while.

use super::items::project;
use super::spec::{Effect, Invocation, Spec, read, take};
use crate::Toolset;
use crate::render::Answer;
use crate::schema::{answer, number, object, text};
use mcp_protocol::Arguments;
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_domain::lease::{Lease, NewLease};
use spexus_domain::permission::Operation;
use spexus_service::lease::{self, WorkQuery};

/// The tools of leases.
pub(super) fn tools() -> Vec<Spec> {
    vec![next_work(), claim_item(), release_item()]
}

fn next_work() -> Spec {
    let description = "What can be begun now, failing tests first, then by priority, with the reason; what waits for what; who holds what.";
    Spec::new("next_work", "Next work", description, run_next)
        .set(Toolset::Agent)
        .lean()
        .takes(
            object([
                text("kind", "requirement (default), user_story, epic"),
                text("under", "only below this item"),
                number("limit", "1-50, default 5"),
                project(),
            ]),
            answer(&[("ready", "array"), ("waiting", "array"), ("leases", "array")]),
        )
        .rest("Ask under one item, or with a smaller limit.")
}

async fn run_next(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let text = |name: &str| arguments.text(name).map(str::to_owned);
    let query = WorkQuery {
        project: text("project"),
        kind: text("kind"),
        under: text("under"),
        limit: arguments.get("limit").and_then(Value::as_i64),
    };
    let found = lease::next_work(&invocation.service, &invocation.caller, query).await?;
    let mut value = json!(found);
    value["ready"] = found
        .ready
        .iter()
        .map(|one| json!(format!("{} (rev {}) — {}", one.line, one.rev, one.because)))
        .collect();
    value["waiting"] = found
        .waiting
        .iter()
        .map(|one| json!(format!("{} — {}", one.line, one.because)))
        .collect();
    value["leases"] = found.leases.iter().map(|one| json!(line(one))).collect();
    let ready = found.ready.len();
    Ok(Answer::new(format!("{ready} can be begun."), value))
}

/// `REQ-012: ann (laptop) until 2026-…: what for`.
fn line(lease: &Lease) -> String {
    format!("{}: {}", lease.item, lease.line())
}

fn claim_item() -> Spec {
    let description = "Holds an item for some minutes, so that no other agent changes it. Claim again before it runs out to keep it. Warns of work on linked items.";
    Spec::new("claim_item", "Claim an item", description, run_claim)
        .does(Effect::Set, Operation::UpdateItem)
        .set(Toolset::Agent)
        .lean()
        .takes(
            object([
                text("id", "any id").required(),
                number("minutes", "1-240, default 30"),
                text("intent", "what for; kept with your changes"),
                project(),
            ]),
            answer(&[("lease", "string"), ("rev", "integer"), ("warnings", "array")]),
        )
}

async fn run_claim(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let id = take(&mut arguments, "id").unwrap_or_default();
    let project = take(&mut arguments, "project");
    let input: NewLease = read(arguments)?;
    let (service, caller) = (&invocation.service, &invocation.caller);
    let done = lease::claim(service, caller, project.as_deref(), &id, input).await?;
    let text = format!("{} is yours until {}.", done.lease.item, done.lease.until);
    let mut value = json!(done);
    value["lease"] = json!(line(&done.lease));
    Ok(Answer::new(text, value).about(done.lease.item_id))
}

fn release_item() -> Spec {
    let description = "Lets go of an item you hold, or hands it over.";
    Spec::new("release_item", "Release an item", description, run_release)
        .does(Effect::Set, Operation::UpdateItem)
        .set(Toolset::Agent)
        .lean()
        .takes(
            object([
                text("id", "any id").required(),
                text("to", "user to hand it to"),
                project(),
            ]),
            answer(&[("released", "boolean"), ("lease", "string")]),
        )
}

async fn run_release(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let text = |name: &str| arguments.text(name);
    let (id, to) = (text("id").unwrap_or_default(), text("to"));
    let (service, caller) = (&invocation.service, &invocation.caller);
    let done = lease::release(service, caller, text("project"), id, to).await?;
    Ok(match (&done, to) {
        (None, _) => Answer::new("Nobody held it.", json!({ "released": false })),
        (Some(lease), Some(_)) => Answer::new(
            format!("{} holds it now.", lease.holder),
            json!({ "released": true, "lease": line(lease) }),
        ),
        (Some(lease), None) => Answer::new(format!("{} is free.", lease.item), json!({ "released": true })),
    })
}
