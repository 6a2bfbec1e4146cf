//! The kinds of items and what is true of each, as data.

use crate::{Code, Refusal, Ruled, nearest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A large goal; holds user stories.
    Epic,
    /// What someone wants and why; belongs to an epic.
    UserStory,
    /// When a story counts as done; belongs to a story.
    AcceptanceCriterion,
    /// What the product must do or be; belongs to a story.
    Requirement,
    /// Guidance that epics follow.
    SteeringDocument,
}

/// What is true of a kind.
#[derive(Debug)]
pub struct KindRules {
    /// As it stands in JSON and in filters.
    pub name: &'static str,
    /// As people read it.
    pub label: &'static str,
    /// The plural in URLs.
    pub path: &'static str,
    /// What reference ids begin with.
    pub prefix: &'static str,
    /// What it must be contained in; `None` for roots.
    pub parent: Option<Kind>,
    /// The field that names the parent, beside the general `parent`.
    pub parent_field: &'static str,
    /// Whether a title is required; where not, the description stands for it.
    pub title_required: bool,
    /// Whether a description is required.
    pub description_required: bool,
    /// Whether it has a status, governed by a workflow.
    pub has_status: bool,
    /// Whether it has a priority.
    pub has_priority: bool,
    /// Whether it has a requirement type and may point to a criterion of its story.
    pub has_type: bool,
    /// Whether someone can be assigned.
    pub has_assignee: bool,
}

impl Kind {
    /// All kinds, containers before what they contain.
    pub const ALL: [Kind; 5] = [
        Kind::Epic,
        Kind::UserStory,
        Kind::AcceptanceCriterion,
        Kind::Requirement,
        Kind::SteeringDocument,
    ];

    /// What is true of this kind.
    pub const fn rules(self) -> &'static KindRules {
        match self {
            Kind::Epic => &EPIC,
            Kind::UserStory => &USER_STORY,
            Kind::AcceptanceCriterion => &ACCEPTANCE_CRITERION,
            Kind::Requirement => &REQUIREMENT,
            Kind::SteeringDocument => &STEERING_DOCUMENT,
        }
    }

    /// As it stands in JSON, in filters and in the database.
    pub const fn name(self) -> &'static str {
        self.rules().name
    }

    /// The field that names what contains it: the general one for a kind that nothing contains.
    pub const fn parent_field(self) -> &'static str {
        match self.rules().parent {
            Some(_) => self.rules().parent_field,
            None => "parent",
        }
    }

    /// The kinds directly contained in this one.
    pub fn children(self) -> impl Iterator<Item = Kind> {
        Kind::ALL
            .into_iter()
            .filter(move |kind| kind.rules().parent == Some(self))
    }

    /// Reads a kind by name, path or prefix, in any letter case: `user_story`, `user-stories`, `US`.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let named = |name: fn(&KindRules) -> &str| {
            nearest::find(&Kind::ALL, |kind| name(kind.rules()), text).copied()
        };
        named(|r| r.name)
            .or_else(|| named(|r| r.path))
            .or_else(|| named(|r| r.prefix))
            .ok_or_else(|| nearest::miss(field, text, Kind::ALL.iter().map(|kind| kind.name())))
    }

    /// Refuses a parent of the wrong kind, a missing one, or one where none may be.
    pub fn check_parent(self, parent: Option<Kind>) -> Ruled<()> {
        let rules = self.rules();
        if parent == rules.parent {
            return Ok(());
        }
        let field = self.parent_field();
        Err(match (rules.parent, parent) {
            (Some(wanted), None) => {
                let problem = format!(
                    "is missing; {} belongs to {}",
                    article(rules.label),
                    article(wanted.rules().label)
                );
                Refusal::field(
                    Code::MissingRequiredField,
                    field,
                    problem,
                    format!("the id of {}", article(wanted.rules().label)),
                )
            }
            (Some(wanted), Some(given)) => {
                let problem = format!(
                    "is {}, but {} belongs to {}",
                    article(given.rules().label),
                    article(rules.label),
                    article(wanted.rules().label)
                );
                Refusal::field(
                    Code::InvalidParams,
                    field,
                    problem,
                    format!("the id of {}", article(wanted.rules().label)),
                )
            }
            (None, _) => Refusal::field(
                Code::InvalidParams,
                field,
                format!("{} has no parent", article(rules.label)),
                "leave it out",
            ),
        })
    }
}

fn article(label: &str) -> String {
    let article = if label.starts_with(['a', 'e', 'i', 'o']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {label}")
}

const EPIC: KindRules = KindRules {
    name: "epic",
    label: "epic",
    path: "epics",
    prefix: "EP",
    parent: None,
    parent_field: "",
    title_required: true,
    description_required: false,
    has_status: true,
    has_priority: true,
    has_type: false,
    has_assignee: true,
};

const USER_STORY: KindRules = KindRules {
    name: "user_story",
    label: "user story",
    path: "user-stories",
    prefix: "US",
    parent: Some(Kind::Epic),
    parent_field: "epic_id",
    ..EPIC
};

const ACCEPTANCE_CRITERION: KindRules = KindRules {
    name: "acceptance_criterion",
    label: "acceptance criterion",
    path: "acceptance-criteria",
    prefix: "AC",
    parent: Some(Kind::UserStory),
    parent_field: "user_story_id",
    title_required: false,
    description_required: true,
    has_status: false,
    has_priority: false,
    has_type: false,
    has_assignee: false,
};

const REQUIREMENT: KindRules = KindRules {
    name: "requirement",
    label: "requirement",
    path: "requirements",
    prefix: "REQ",
    parent: Some(Kind::UserStory),
    parent_field: "user_story_id",
    has_type: true,
    ..EPIC
};

const STEERING_DOCUMENT: KindRules = KindRules {
    name: "steering_document",
    label: "steering document",
    path: "steering-documents",
    prefix: "STD",
    parent: None,
    parent_field: "",
    title_required: true,
    description_required: false,
    has_status: false,
    has_priority: false,
    has_type: false,
    has_assignee: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_by_any_of_its_names() {
        for text in ["user_story", "User Story", "user-stories", "US", "us"] {
            assert_eq!(Kind::parse("kind", text).unwrap(), Kind::UserStory, "{text}");
        }
        assert!(
            Kind::parse("kind", "tsk").unwrap_err().faults[0]
                .allowed
                .contains("steering_document")
        );
    }

    #[test]
    fn serialised_names_are_the_names_in_the_table() {
        for kind in Kind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn containment_is_epic_story_criterion_and_requirement() {
        assert!(Kind::Requirement.check_parent(Some(Kind::UserStory)).is_ok());
        let refusal = Kind::Requirement.check_parent(Some(Kind::Epic)).unwrap_err();
        assert_eq!(
            refusal.message,
            "user_story_id: is an epic, but a requirement belongs to a user story"
        );
        assert_eq!(
            Kind::UserStory.check_parent(None).unwrap_err().code,
            Code::MissingRequiredField
        );
        assert!(Kind::Epic.check_parent(Some(Kind::Epic)).is_err());
        assert_eq!(
            Kind::UserStory.children().collect::<Vec<_>>(),
            [Kind::AcceptanceCriterion, Kind::Requirement]
        );
    }
}
