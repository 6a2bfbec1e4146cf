//! Saying yes or no, asking again, asking others, and taking a review back.

use super::{address, ask, show};
use crate::answer::{Answer, see};
use crate::form::Form;
use crate::visit::Visit;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::review::{NewVerdict, ReviewPatch};
use spexus_service::review;

/// What is said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Said {
    verdict: String,
    #[serde(default)]
    reason: String,
    rev: i64,
}

/// Approves or rejects.
pub(crate) async fn decide(
    visit: Visit,
    Path((key, number)): Path<(String, i64)>,
    Form(said): Form<Said>,
) -> Answer {
    let input = NewVerdict {
        verdict: said.verdict,
        reason: said.reason.clone(),
        expect_rev: Some(said.rev),
    };
    match review::decide(visit.service(), &visit.caller, Some(&key), number, input).await {
        Ok(done) => Ok(see(&address(&done))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => show::again(&visit, &key, number, said.reason, &refusal).await,
    }
}

/// What becomes of a review.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Managed {
    rev: i64,
    /// `again`, `close` or `people`.
    action: String,
    /// Names, separated by commas, spaces or lines.
    #[serde(default)]
    reviewers: String,
}

/// Asks again, asks others, or takes it back.
pub(crate) async fn manage(
    visit: Visit,
    Path((key, number)): Path<(String, i64)>,
    Form(managed): Form<Managed>,
) -> Answer {
    let patch = ReviewPatch {
        ask_again: managed.action == "again",
        close: managed.action == "close",
        reviewers: (managed.action == "people").then(|| ask::words(&managed.reviewers)),
        expect_rev: Some(managed.rev),
        ..ReviewPatch::default()
    };
    match review::update(visit.service(), &visit.caller, Some(&key), number, patch).await {
        Ok(done) => Ok(see(&address(&done))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => show::again(&visit, &key, number, String::new(), &refusal).await,
    }
}
