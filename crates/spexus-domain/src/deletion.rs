//! Deletion: what falls with an item, told before it happens. Nothing is erased; deleted items are tombstones that can
//! be brought back together.

use crate::{Code, Kind, Reference, Refusal, Ruled};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// What deleting an item would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DeletionPreview {
    /// The item.
    pub reference_id: Reference,
    /// Whether it can go without `force`.
    pub can_delete: bool,
    /// Why it needs `force`, or why it cannot go at all; empty when it can.
    pub reasons: Vec<String>,
    /// Whether not even `force` helps.
    pub forbidden: bool,
    /// The items that fall with it.
    pub items: Vec<Falling>,
    /// How many links end.
    pub links: i64,
    /// How many comments are hidden with them.
    pub comments: i64,
    /// The requirements that lose the criterion they point to.
    pub unpointed: Vec<Reference>,
}

/// One item that falls with another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Falling {
    /// Its id.
    pub id: Uuid,
    /// Its reference id.
    pub reference_id: Reference,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
}

impl DeletionPreview {
    /// Decides from the facts whether the item may go.
    ///
    /// `last_criterion` is the story that would lose its last criterion while it stays itself.
    pub fn decide(
        reference_id: Reference,
        items: Vec<Falling>,
        links: i64,
        comments: i64,
        unpointed: Vec<Reference>,
        last_criterion: Option<Reference>,
    ) -> Self {
        let mut reasons = Vec::new();
        if let Some(story) = &last_criterion {
            reasons.push(format!(
                "it is the last acceptance criterion of {story}; a story keeps at least one"
            ));
        }
        if !items.is_empty() {
            reasons.push(format!("{} contained item(s) fall with it", items.len()));
        }
        if links > 0 {
            reasons.push(format!("{links} link(s) end"));
        }
        if !unpointed.is_empty() {
            reasons.push(format!(
                "{} requirement(s) lose the criterion they point to",
                unpointed.len()
            ));
        }
        let forbidden = last_criterion.is_some();
        Self {
            reference_id,
            can_delete: reasons.is_empty(),
            reasons,
            forbidden,
            items,
            links,
            comments,
            unpointed,
        }
    }

    /// Refuses a deletion that is forbidden, or that has consequences nobody agreed to.
    pub fn check(&self, force: bool) -> Ruled<()> {
        if self.can_delete || (force && !self.forbidden) {
            return Ok(());
        }
        let message = format!(
            "{} was not deleted: {}",
            self.reference_id,
            self.reasons.join("; ")
        );
        Err(if self.forbidden {
            let hint = "Add another criterion to the story first, or delete the story.";
            Refusal::new(Code::RuleViolated, message).hint(hint)
        } else {
            Refusal::new(Code::DeletionBlocked, message)
        }
        .fact("falling_items", self.items.len())
        .fact("ending_links", self.links))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consequences_need_force_and_the_last_criterion_cannot_go_at_all() {
        let reference = |number| Reference::of_kind(Kind::AcceptanceCriterion, number);
        let free = DeletionPreview::decide(reference(1), vec![], 0, 3, vec![], None);
        assert!(
            free.check(false).is_ok(),
            "comments alone do not hold an item back"
        );
        let linked = DeletionPreview::decide(reference(1), vec![], 2, 0, vec![], None);
        assert_eq!(linked.check(false).unwrap_err().code, Code::DeletionBlocked);
        assert!(linked.check(true).is_ok());
        let last = DeletionPreview::decide(
            reference(1),
            vec![],
            0,
            0,
            vec![],
            Some(Reference::of_kind(Kind::UserStory, 4)),
        );
        assert_eq!(last.check(true).unwrap_err().code, Code::RuleViolated);
    }
}
