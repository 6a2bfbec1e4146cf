//! What people say about evidence: that a text which changed is still shown, that an item is as it should be, that it may stand below
//! the gate for a while. Each says who and why, and is sealed like everything else. An agent's word is none of these.

use super::derive::Derivation;
use super::read::{TraceAnswer, read_trace};
use crate::Service;
use async_recursion::async_recursion as boxed;
use serde::Deserialize;
use spexus_domain::account::{self, Caller};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::trace::{ReviewKind, Rung, TestStanding};
use spexus_domain::{Code, Refusal, Ruled, Timestamp, text};
use spexus_store::trace::{self, ReviewRow};
use spexus_store::{Result, Tx};
use utoipa::ToSchema;

/// What somebody says about the evidence of an item.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReview {
    /// confirmed: its tests still show its text, and tests that are gone are not missed. affirmed: it is what it should be. waived: it
    /// may stand below the gate until `expires`.
    pub kind: String,
    /// Why.
    pub why: String,
    /// Until when a waiver holds: a time, or a length such as `30d`.
    pub expires: Option<String>,
    /// The key of the project the id is looked up in.
    pub project: Option<String>,
}

/// Says something about the evidence of an item, and tells where it stands then.
//= specs/spexus-service.md#evidence
//# What a person says about evidence MUST be kept with who said it and why, sealed by a change; an agent MUST be refused.
#[boxed]
pub async fn review(service: &Service, caller: &Caller, id: &str, input: NewReview) -> Ruled<TraceAnswer> {
    caller.may(Operation::ReviewEvidence)?;
    if caller.is_agent {
        let message = "an agent does not speak for evidence";
        return Err(
            Refusal::new(Code::AuthzForbidden, message).hint("Ask a person who reviews in this project.")
        );
    }
    let kind = ReviewKind::parse("kind", &input.kind)?;
    let (id, project) = (id.to_owned(), input.project.clone());
    let about = id.clone();
    let job = service.change_in(
        caller,
        Operation::ReviewEvidence,
        (project.as_deref(), Some(&about)),
        move |tx, context| {
            Box::pin(async move {
                let why = text::required_paragraphs("why", &input.why, MAX_WHY_CHARS)?;
                let item = context.item(&mut tx.conn, "id", &id, None).await?;
                tx.concerns(item.project_id)?;
                let now = tx.now();
                let row = ReviewRow {
                    item_id: item.id,
                    kind,
                    why,
                    reviewer: tx.actor().username.clone(),
                    content_hash: item.content_hash.clone(),
                    fingerprint: fingerprint(tx, &item, kind).await?,
                    reviewed_at: now,
                    expires_at: until(kind, input.expires.as_deref(), now)?,
                };
                keep(tx, &item, &row).await?;
                derive(tx, &item).await?;
                read_trace(&mut tx.conn, item, now).await
            })
        },
    );
    job.await
}

/// Characters of a reason.
const MAX_WHY_CHARS: usize = 2_000;

/// A waiver has an end; nothing else has one.
fn until(kind: ReviewKind, expires: Option<&str>, now: Timestamp) -> Ruled<Option<Timestamp>> {
    match (kind, expires) {
        (ReviewKind::Waived, Some(text)) => account::expiry("expires", text, now).map(Some),
        (ReviewKind::Waived, None) => {
            let problem = "a waiver needs an end";
            Err(Refusal::field(
                Code::InvalidParams,
                "expires",
                problem,
                "a time, or a length such as 30d",
            ))
        }
        (_, None) => Ok(None),
        (_, Some(_)) => {
            let problem = "only a waiver has an end";
            Err(Refusal::field(
                Code::InvalidParams,
                "expires",
                problem,
                "leave it out",
            ))
        }
    }
}

/// What an affirmation is about. There is nothing to stand for where no test passed.
async fn fingerprint(tx: &mut Tx, item: &Item, kind: ReviewKind) -> Result<String> {
    let state = trace::state(&mut tx.conn, item.project_id, item.id).await?;
    let trace = state.map(|row| row.trace).unwrap_or_default();
    if kind == ReviewKind::Affirmed && trace.state < Rung::Passed {
        let problem = format!("{} is only {}", item.reference_id, trace.state.name());
        return Err(
            Refusal::field(Code::RuleViolated, "kind", problem, "an item whose tests passed")
                .hint(trace.weakest)
                .into(),
        );
    }
    Ok(trace.fingerprint())
}

async fn keep(tx: &mut Tx, item: &Item, row: &ReviewRow) -> Result<()> {
    trace::put_review(tx, item.project_id, row).await?;
    match row.kind {
        ReviewKind::Confirmed => take_for_read(tx, item, true).await?,
        ReviewKind::Affirmed => take_for_read(tx, item, false).await?,
        ReviewKind::Waived => {}
    }
    let fields = [
        ("item", item.reference_id.plain().to_string()),
        ("review", row.kind.name().to_owned()),
        ("why", row.why.clone()),
        (
            "expires",
            row.expires_at.map(|at| at.to_string()).unwrap_or_default(),
        ),
    ];
    let said = fields.into_iter().filter(|(_, value)| !value.is_empty());
    let after: Attributes = said
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let label = format!("{} {}", item.reference_id.plain(), row.kind.name());
    let change = NewChange::new(Entity::Evidence, item.id, label, Action::Updated, 1);
    tx.record(change.in_project(item.project_id).fields(None, after))
        .await
        .map(drop)
}

/// What an item has is taken for read as it is. Whoever confirms says of its text, too, and that tests that are gone are not missed.
async fn take_for_read(tx: &mut Tx, item: &Item, is_confirmed: bool) -> Result<()> {
    let Some(mut row) = trace::state(&mut tx.conn, item.project_id, item.id).await? else {
        return Ok(());
    };
    row.trace.confirm();
    if is_confirmed {
        row.trace
            .tests
            .retain(|test| test.standing != TestStanding::Vanished);
        row.confirmed_hash.clone_from(&item.content_hash);
    }
    trace::put_states(tx, item.project_id, &[row]).await
}

/// Makes anew where the item stands.
async fn derive(tx: &mut Tx, item: &Item) -> Result<()> {
    let place = (item.kind, item.reference_id.plain().number());
    match Derivation::of_review(&mut tx.conn, item.project_id, place).await? {
        Some(derivation) => derivation.keep(tx, item.project_id, None).await,
        None => Ok(()),
    }
}
