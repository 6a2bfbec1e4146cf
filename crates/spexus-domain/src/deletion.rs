//! Deletion: what falls with an item, told before it happens. Nothing is erased; deleted items are tombstones that can
//! be brought back together.

use crate::item::Item;
use crate::{Code, Kind, Refusal, Ruled, ShownReference};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// What deleting an item would do. Who agrees to it agrees to this item in this revision and to nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DeletionPreview {
    /// The id of the item.
    pub id: Uuid,
    /// Its reference id.
    pub reference_id: ShownReference,
    /// The key of its project.
    pub project: String,
    /// Its title.
    pub title: String,
    /// The revision that was looked at.
    pub rev: i64,
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
    pub unpointed: Vec<ShownReference>,
}

/// One item that falls with another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Falling {
    /// Its id.
    pub id: Uuid,
    /// Its reference id.
    pub reference_id: ShownReference,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
}

/// The item a deletion is about, as it is shown.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its id.
    pub id: Uuid,
    /// Its reference id.
    pub reference_id: ShownReference,
    /// The key of its project.
    pub project: String,
    /// Its title.
    pub title: String,
    /// Its revision.
    pub rev: i64,
}

impl From<&Item> for Subject {
    fn from(item: &Item) -> Self {
        Self {
            id: item.id,
            reference_id: item.reference_id.clone(),
            project: item.project.clone(),
            title: item.heading(),
            rev: item.rev,
        }
    }
}

/// What a deletion would take with it.
#[derive(Clone, Debug, Default)]
pub struct DeletionFacts {
    /// The items below it.
    pub items: Vec<Falling>,
    /// How many links end.
    pub links: i64,
    /// How many of them lead to items the caller may not see, and so may not end.
    pub hidden_links: i64,
    /// How many comments are hidden with the items.
    pub comments: i64,
    /// The requirements that lose their criterion.
    pub unpointed: Vec<ShownReference>,
    /// The story that would lose its last criterion while it stays itself.
    pub last_criterion: Option<ShownReference>,
}

impl DeletionPreview {
    /// Decides from the facts whether the item may go.
    pub fn decide(subject: Subject, falling: DeletionFacts) -> Self {
        let DeletionFacts {
            items,
            links,
            hidden_links,
            comments,
            unpointed,
            last_criterion,
        } = falling;
        let mut reasons = Vec::new();
        if hidden_links > 0 {
            reasons.push(format!(
                "{hidden_links} link(s) with items of projects you cannot see would end; somebody who sees both has to end them first"
            ));
        }
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
        let forbidden = last_criterion.is_some() || hidden_links > 0;
        Self {
            id: subject.id,
            reference_id: subject.reference_id,
            project: subject.project,
            title: subject.title,
            rev: subject.rev,
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
            let hint = "A last criterion can go after another was added, or with its story; links into another project need a \
                        token that is not bound to one.";
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
    use crate::Reference;

    fn preview(facts: DeletionFacts) -> DeletionPreview {
        let subject = Subject {
            id: Uuid::nil(),
            reference_id: Reference::of_kind(Kind::AcceptanceCriterion, 1).into(),
            project: "web".into(),
            title: "Opens at once".into(),
            rev: 3,
        };
        DeletionPreview::decide(subject, facts)
    }

    #[test]
    fn consequences_need_force_and_the_last_criterion_cannot_go_at_all() {
        let free = preview(DeletionFacts {
            comments: 3,
            ..DeletionFacts::default()
        });
        assert!(
            free.check(false).is_ok(),
            "comments alone do not hold an item back"
        );
        let linked = preview(DeletionFacts {
            links: 2,
            ..DeletionFacts::default()
        });
        assert_eq!(linked.check(false).unwrap_err().code, Code::DeletionBlocked);
        assert!(linked.check(true).is_ok());
        let last = preview(DeletionFacts {
            last_criterion: Some(Reference::of_kind(Kind::UserStory, 4).into()),
            ..DeletionFacts::default()
        });
        assert_eq!(last.check(true).unwrap_err().code, Code::RuleViolated);
    }

    #[test]
    fn a_link_nobody_here_may_end_holds_the_item_back_whatever_force_says() {
        let held = preview(DeletionFacts {
            links: 1,
            hidden_links: 1,
            ..DeletionFacts::default()
        });
        assert!(held.forbidden && !held.can_delete);
        let refusal = held.check(true).unwrap_err();
        assert_eq!(refusal.code, Code::RuleViolated);
        assert_eq!(
            refusal.message,
            "AC-001 was not deleted: 1 link(s) with items of projects you cannot see would end; somebody who sees both has \
             to end them first; 1 link(s) end"
        );
    }
}
