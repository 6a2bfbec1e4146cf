//! Items: the one shape of everything that is managed, how it is made, and how it is changed.

use crate::{
    Code, Kind, Refusal, Ruled, ShownReference, Timestamp,
    attribute::Attributes,
    decode,
    text::{self, Faults},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// An item as it is now.
//= specs/spexus-http.md#answers
//# An item MUST have the same shape in every answer that holds it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Item {
    /// Its id, for programs.
    pub id: Uuid,
    /// Its id, for people.
    pub reference_id: ShownReference,
    /// The key of its project.
    pub project: String,
    /// The project, for programs.
    #[serde(skip)]
    pub project_id: Uuid,
    /// Its kind.
    pub kind: Kind,
    /// Its title; empty where the description stands for it.
    pub title: String,
    /// Its text, in Markdown.
    pub description: String,
    /// Where it stands in its workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// 1 critical, 2 high, 3 medium, 4 low.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The name of its requirement type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub requirement_type: Option<String>,
    /// The reference id of what contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub parent: Option<Pointer>,
    /// The reference id of the criterion a requirement serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub acceptance_criterion: Option<Pointer>,
    /// Who works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub assignee: Option<Person>,
    /// Who made it.
    #[schema(value_type = String)]
    pub creator: Person,
    /// Its place among its siblings; smaller comes first.
    pub position: i64,
    /// What the project adds.
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    #[schema(value_type = Object)]
    pub attributes: Attributes,
    /// Grows with every change.
    pub rev: i64,
    /// Changes when what it says changes.
    pub content_hash: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it was deleted, for deleted ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Timestamp>,
}

/// Another item, by both ids; people see the reference id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// For programs.
    pub id: Uuid,
    /// For people.
    pub reference_id: ShownReference,
}

/// A user, by id and name; people see the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// For programs.
    pub id: Uuid,
    /// For people.
    pub username: String,
}

impl Pointer {
    /// As the history tells it.
    fn recorded(&self) -> String {
        self.reference_id.plain().to_string()
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.reference_id.serialize(serializer)
    }
}

impl Serialize for Person {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.username.serialize(serializer)
    }
}

/// 1 critical, 2 high, 3 medium, 4 low; read as the number or the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[schema(value_type = u8, minimum = 1, maximum = 4)]
pub struct Priority(u8);

impl Priority {
    /// What items have when nobody says.
    pub const MEDIUM: Priority = Priority(3);

    /// The number, 1 to 4.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Reads a number, a number as it is shown in lists (`P2`), or a word.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let words = ["critical", "high", "medium", "low"];
        let wanted = text.trim();
        let number = match words.iter().position(|word| word.eq_ignore_ascii_case(wanted)) {
            Some(at) => at as i64 + 1,
            None => wanted
                .strip_prefix(['P', 'p'])
                .unwrap_or(wanted)
                .parse()
                .unwrap_or(0),
        };
        Self::from_number(number).ok_or_else(|| {
            let problem = format!("{:?} is not a priority", text::excerpt(text, 60));
            Refusal::field(
                Code::InvalidParams,
                field,
                problem,
                "1 (critical), 2 (high), 3 (medium) or 4 (low)",
            )
        })
    }

    /// From the number; `None` when out of range.
    pub fn from_number(number: i64) -> Option<Self> {
        u8::try_from(number)
            .ok()
            .filter(|n| (1..=4).contains(n))
            .map(Self)
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Priority::parse("priority", &text).map_err(|refusal| {
            let fault = &refusal.faults[0];
            decode::misfit(&fault.problem, &fault.allowed)
        })
    }
}

/// What is needed to make an item. Ids are UUIDs or reference ids; names are names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewItem {
    /// The project, when it is not the caller's usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Its title; acceptance criteria can do without.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its text, in Markdown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What contains it: the epic of a story, the story of a criterion or requirement.
    #[serde(
        alias = "parent_id",
        alias = "epic_id",
        alias = "user_story_id",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent: Option<String>,
    /// The status it starts in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// 1 critical, 2 high, 3 medium, 4 low; medium when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The name of its requirement type; Functional when left out.
    #[serde(rename = "type", alias = "type_id", skip_serializing_if = "Option::is_none")]
    pub requirement_type: Option<String>,
    /// The criterion of the same story that a requirement serves.
    #[serde(
        alias = "acceptance_criterion_id",
        alias = "acceptance_criteria_id",
        skip_serializing_if = "Option::is_none"
    )]
    pub acceptance_criterion: Option<String>,
    /// Who works on it: a user name.
    #[serde(alias = "assignee_id", skip_serializing_if = "Option::is_none")]
    pub assignee: Option<String>,
    /// What the project adds.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    #[schema(value_type = Object)]
    pub attributes: Attributes,
    /// What for; it is kept with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// What can be changed about an item; a field left out stays as it is, `null` clears what can be empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemPatch {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The status it moves to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Its priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Its requirement type.
    #[serde(rename = "type", alias = "type_id", skip_serializing_if = "Option::is_none")]
    pub requirement_type: Option<String>,
    /// The criterion a requirement serves; `null` removes it.
    #[serde(
        default,
        deserialize_with = "given",
        alias = "acceptance_criterion_id",
        alias = "acceptance_criteria_id",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<String>)]
    pub acceptance_criterion: Option<Option<String>>,
    /// Who works on it; `null` removes the person.
    #[serde(
        default,
        deserialize_with = "given",
        alias = "assignee_id",
        skip_serializing_if = "Option::is_none"
    )]
    #[schema(value_type = Option<String>)]
    pub assignee: Option<Option<String>>,
    /// Attributes to set; an attribute that is `null` is removed, the others stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub attributes: Option<Attributes>,
    /// The revision this change was made against; a stale one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_rev: Option<i64>,
    /// What for; it is kept with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// Where an item moves to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// The new container; the present one when left out.
    #[serde(
        alias = "parent_id",
        alias = "epic_id",
        alias = "user_story_id",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent: Option<String>,
    /// The sibling to stand behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The sibling to stand before; the end of the list when neither is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The revision this change was made against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_rev: Option<i64>,
}

impl NewItem {
    /// Refuses text that breaks the kind's rules and fields the kind does not have; all faults at once.
    pub fn check(&self, kind: Kind) -> Ruled<()> {
        let given = Given {
            status: self.status.is_some(),
            priority: self.priority.is_some(),
            requirement_type: self.requirement_type.is_some(),
            acceptance_criterion: self.acceptance_criterion.is_some(),
            assignee: self.assignee.is_some(),
        };
        check(kind, Some(&self.title), Some(&self.description), &given)
    }
}

impl ItemPatch {
    /// Refuses text that breaks the kind's rules and fields the kind does not have; all faults at once.
    pub fn check(&self, kind: Kind) -> Ruled<()> {
        let given = Given {
            status: self.status.is_some(),
            priority: self.priority.is_some(),
            requirement_type: self.requirement_type.is_some(),
            acceptance_criterion: self.acceptance_criterion.is_some(),
            assignee: self.assignee.is_some(),
        };
        check(kind, self.title.as_deref(), self.description.as_deref(), &given)
    }
}

impl Item {
    /// The hash of what it says: links confirmed against another hash are suspect.
    pub fn hash(
        title: &str,
        description: &str,
        requirement_type: Option<&str>,
        attributes: &Attributes,
    ) -> String {
        let mut hasher = blake3::Hasher::new();
        let attributes = Value::Object(attributes.clone()).to_string();
        for part in [title, description, requirement_type.unwrap_or(""), &attributes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// The title, or the beginning of the description where there is none.
    pub fn heading(&self) -> String {
        heading(&self.title, &self.description)
    }

    /// How many bytes its texts have, roughly what it takes in an answer.
    pub fn text_bytes(&self) -> usize {
        let attributes = self
            .attributes
            .iter()
            .map(|(name, value)| name.len() + value.as_str().map_or(8, str::len));
        self.title.len() + self.description.len() + attributes.sum::<usize>()
    }

    /// The fields the history speaks of, by name; what two revisions differ in is what their maps differ in.
    pub fn fields(&self) -> Attributes {
        let mut fields = Attributes::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                fields.insert(name.to_owned(), value);
            }
        };
        put("title", self.title.clone().into());
        put("description", self.description.clone().into());
        put("status", self.status.clone().into());
        put("priority", self.priority.map(Priority::number).into());
        put("type", self.requirement_type.clone().into());
        put("parent", self.parent.as_ref().map(Pointer::recorded).into());
        put(
            "acceptance_criterion",
            self.acceptance_criterion.as_ref().map(Pointer::recorded).into(),
        );
        put(
            "assignee",
            self.assignee.as_ref().map(|p| p.username.clone()).into(),
        );
        put("position", self.position.into());
        for (name, value) in &self.attributes {
            put(&format!("attributes.{name}"), value.clone());
        }
        fields
    }
}

/// The title, or the beginning of the description where there is none.
pub fn heading(title: &str, description: &str) -> String {
    if title.is_empty() {
        text::excerpt(description, 80)
    } else {
        title.to_owned()
    }
}

/// Which of the fields that not every kind has were given.
struct Given {
    status: bool,
    priority: bool,
    requirement_type: bool,
    acceptance_criterion: bool,
    assignee: bool,
}

fn check(kind: Kind, title: Option<&str>, description: Option<&str>, given: &Given) -> Ruled<()> {
    let rules = kind.rules();
    let mut faults = Faults::default();
    check_texts(kind, title, description, &mut faults);
    for (field, given, has) in [
        ("status", given.status, rules.has_status),
        ("priority", given.priority, rules.has_priority),
        ("type", given.requirement_type, rules.has_type),
        ("acceptance_criterion", given.acceptance_criterion, rules.has_type),
        ("assignee", given.assignee, rules.has_assignee),
    ] {
        if given && !has {
            faults.add(field, format!("{} has no {field}", rules.label), "leave it out");
        }
    }
    faults.refuse()
}

fn check_texts(kind: Kind, title: Option<&str>, description: Option<&str>, faults: &mut Faults) {
    let rules = kind.rules();
    if let Some(title) = title.filter(|title| rules.title_required || !title.is_empty()) {
        faults.take(text::title("title", title));
    }
    match description {
        Some(description) if rules.description_required => {
            faults.take(text::required_paragraphs(
                "description",
                description,
                crate::limits::MAX_DESCRIPTION_CHARS,
            ));
        }
        Some(description) => {
            faults.take(text::description("description", description));
        }
        None => {}
    }
}

/// Tells `null` from absent: present at all means someone said something.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_faults_of_an_input_are_told_at_once() {
        let input: NewItem =
            serde_json::from_value(json!({"type": "Data", "assignee": "kim", "description": "a\u{0}b"}))
                .unwrap();
        let fields: Vec<String> = input
            .check(Kind::Epic)
            .unwrap_err()
            .faults
            .into_iter()
            .map(|f| f.field)
            .collect();
        assert_eq!(fields, ["title", "description", "type"]);
    }

    #[test]
    fn a_criterion_needs_no_title_but_a_description() {
        let input = NewItem {
            description: "It answers within a second.".into(),
            ..NewItem::default()
        };
        assert!(input.check(Kind::AcceptanceCriterion).is_ok());
        assert!(NewItem::default().check(Kind::AcceptanceCriterion).is_err());
    }

    #[test]
    fn a_patch_tells_null_from_absent() {
        let patch: ItemPatch = serde_json::from_value(json!({"assignee": null})).unwrap();
        assert_eq!(patch.assignee, Some(None));
        assert_eq!(patch.acceptance_criterion, None);
    }

    #[test]
    fn a_priority_is_a_number_or_a_word() {
        for (given, number) in [(json!(1), 1), (json!("Low"), 4), (json!("2"), 2)] {
            assert_eq!(
                serde_json::from_value::<Priority>(given).unwrap().number(),
                number
            );
        }
        for bad in [
            json!(0),
            json!(5),
            json!(1.5),
            json!("urgent"),
            json!(true),
            json!(1e300),
        ] {
            assert!(serde_json::from_value::<Priority>(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_content_hash_tells_where_one_field_ends() {
        let empty = Attributes::new();
        assert_ne!(
            Item::hash("ab", "c", None, &empty),
            Item::hash("a", "bc", None, &empty)
        );
    }
}
