//! Moving a node: among its siblings, or into another container.

use super::page;
use super::query::TreeQuery;
use crate::answer::{Answer, see};
use crate::form::Form;
use crate::visit::Visit;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::item::Move;
use spexus_domain::{Code, Refusal};
use spexus_service::item;

/// What the form sends; the keys and the mouse fill in the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Movement {
    /// The node with the revision it was seen in: `US-002@3`.
    #[serde(default)]
    item: String,
    /// The container it goes into; where it is when left empty.
    #[serde(default)]
    parent: String,
    /// The sibling it goes behind, or before.
    #[serde(default)]
    after: String,
    #[serde(default)]
    before: String,
    /// The state of the tree to come back to.
    #[serde(default)]
    back: String,
}

/// Moves a node.
//= specs/spexus-web.md#trees
//# A node MUST be moved by a form for the revision that was shown, and a move that is refused MUST leave the form open with the reason.
pub(crate) async fn movement(visit: Visit, Path(key): Path<String>, Form(input): Form<Movement>) -> Answer {
    let project = visit.project(&key).await?;
    let wrong = || {
        Refusal::field(
            Code::InvalidParams,
            "item",
            "names no node of the tree",
            "US-002@3",
        )
    };
    let (reference, rev) = input.item.rsplit_once('@').ok_or_else(wrong)?;
    let given = |text: &String| (!text.trim().is_empty()).then(|| text.trim().to_owned());
    let to = Move {
        parent: given(&input.parent),
        after: given(&input.after),
        before: given(&input.before),
        expect_rev: Some(rev.parse().map_err(|_| wrong())?),
    };
    let back = TreeQuery::carried(&input.back).moving(None);
    let of = Some(project.key.as_str());
    match item::move_to(visit.service(), &visit.caller, of, None, reference, to).await {
        Ok(_) => Ok(see(&back.address(&project.key))),
        Err(refusal)
            if matches!(
                refusal.code,
                Code::RuleViolated | Code::StaleRevision | Code::InvalidParams
            ) =>
        {
            page::again(&visit, project, back.moving(Some(reference)), &refusal).await
        }
        Err(refusal) => Err(refusal.into()),
    }
}
