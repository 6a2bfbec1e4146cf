//! Taking a step of the workflow from the board.

use super::page::{self, BoardQuery};
use crate::answer::{Answer, see};
use crate::form::Form;
use crate::visit::Visit;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::item::ItemPatch;
use spexus_domain::{Code, Refusal};
use spexus_service::item;

/// What the buttons of a card send; dragging sends the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepForm {
    /// The card with the revision it was seen in: `US-002@3`.
    #[serde(default)]
    item: String,
    /// The status it goes to.
    #[serde(default)]
    to: String,
    /// The state of the board to come back to.
    #[serde(default)]
    back: String,
}

/// Takes a step.
pub(crate) async fn step(visit: Visit, Path(key): Path<String>, Form(input): Form<StepForm>) -> Answer {
    let project = visit.project(&key).await?;
    let wrong = || {
        Refusal::field(
            Code::InvalidParams,
            "item",
            "names no card of the board",
            "US-002@3",
        )
    };
    let (reference, rev) = input.item.rsplit_once('@').ok_or_else(wrong)?;
    let patch = ItemPatch {
        status: Some(input.to),
        expect_rev: Some(rev.parse().map_err(|_| wrong())?),
        ..ItemPatch::default()
    };
    let back = BoardQuery::carried(&input.back).stepping(None);
    let of = Some(project.key.as_str());
    match item::update(visit.service(), &visit.caller, of, None, reference, patch).await {
        Ok(_) => Ok(see(&back.address(&project.key))),
        Err(refusal)
            if matches!(
                refusal.code,
                Code::RuleViolated | Code::StaleRevision | Code::InvalidParams
            ) =>
        {
            page::again(&visit, project, back.stepping(Some(reference)), &refusal).await
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// What a refusal says, for a card.
pub(super) fn words(refusal: &Refusal) -> String {
    let faults: Vec<String> = refusal
        .faults
        .iter()
        .map(|fault| match fault.allowed.is_empty() {
            true => fault.problem.clone(),
            false => format!("{}; {}", fault.problem, fault.allowed),
        })
        .collect();
    match (refusal.code, faults.is_empty()) {
        (Code::StaleRevision, false) => format!("{}: {}", refusal.message, faults.join("; ")),
        (_, false) => faults.join("; "),
        (_, true) => refusal.message.clone(),
    }
}
