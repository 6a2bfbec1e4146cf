//! The history: an append-only list of changes, each chained to the one before by a hash, so that a row that was
//! altered, removed or slipped in shows. Per-item history, the project feed, audits and baselines all read it.

use crate::{Timestamp, attribute::Attributes, told, told::is_shown};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// What a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Entity {
    /// An item of any kind.
    Item,
    /// A link between two items.
    Link,
    /// A comment on an item.
    Comment,
    /// A project.
    Project,
    /// An account.
    User,
    /// A personal access token.
    Token,
    /// A stored prompt.
    Prompt,
    /// A workflow, requirement type or link type.
    Setting,
    /// A named position in the history.
    Baseline,
    /// What somebody is in a project.
    Member,
    /// A named set of users.
    Group,
    /// Reports of tests, marks of sources and lines that ran, pushed together; or what a person says about them.
    Evidence,
    /// What people and agents are asked about, and what they say.
    Review,
}

impl Entity {
    /// All of them.
    pub const ALL: [Entity; 13] = [
        Entity::Item,
        Entity::Link,
        Entity::Comment,
        Entity::Project,
        Entity::User,
        Entity::Token,
        Entity::Prompt,
        Entity::Setting,
        Entity::Baseline,
        Entity::Member,
        Entity::Group,
        Entity::Evidence,
        Entity::Review,
    ];

    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Entity::Item => "item",
            Entity::Link => "link",
            Entity::Comment => "comment",
            Entity::Project => "project",
            Entity::User => "user",
            Entity::Token => "token",
            Entity::Prompt => "prompt",
            Entity::Setting => "setting",
            Entity::Baseline => "baseline",
            Entity::Member => "member",
            Entity::Group => "group",
            Entity::Evidence => "evidence",
            Entity::Review => "review",
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It came to be.
    Created,
    /// It was changed.
    Updated,
    /// It was deleted.
    Deleted,
    /// It came back.
    Restored,
}

impl Action {
    /// All of them.
    pub const ALL: [Action; 4] = [
        Action::Created,
        Action::Updated,
        Action::Deleted,
        Action::Restored,
    ];

    /// As it stands in JSON and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Created => "created",
            Action::Updated => "updated",
            Action::Deleted => "deleted",
            Action::Restored => "restored",
        }
    }
}

/// A change before it has its place in the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct NewChange {
    /// The project, when it happened in one.
    pub project_id: Option<Uuid>,
    /// What it is about.
    pub entity: Entity,
    /// Its id.
    pub entity_id: Uuid,
    /// The item whose history it belongs to.
    pub item_id: Option<Uuid>,
    /// The other item, for links.
    pub other_item_id: Option<Uuid>,
    /// What people call the thing: `REQ-012`, a user name.
    pub label: String,
    /// What happened.
    pub action: Action,
    /// The revision that resulted.
    pub rev: i64,
    /// The fields before; only those that changed.
    pub before: Attributes,
    /// The fields after; only those that changed.
    pub after: Attributes,
}

impl NewChange {
    /// A change without a project, an item or fields.
    pub fn new(entity: Entity, entity_id: Uuid, label: impl Into<String>, action: Action, rev: i64) -> Self {
        Self {
            project_id: None,
            entity,
            entity_id,
            item_id: None,
            other_item_id: None,
            label: label.into(),
            action,
            rev,
            before: Attributes::new(),
            after: Attributes::new(),
        }
    }

    /// In this project.
    #[must_use]
    pub fn in_project(mut self, project_id: Uuid) -> Self {
        self.project_id = Some(project_id);
        self
    }

    /// In the history of this item, and of the other one for links.
    #[must_use]
    pub fn on_item(mut self, item_id: Uuid, other: Option<Uuid>) -> Self {
        (self.item_id, self.other_item_id) = (Some(item_id), other);
        self
    }

    /// With the fields as they were and as they are; what did not change is left out, and what was deleted has no
    /// fields any more.
    #[must_use]
    pub fn fields(mut self, before: Option<Attributes>, after: Attributes) -> Self {
        let after = if self.action == Action::Deleted {
            Attributes::new()
        } else {
            after
        };
        (self.before, self.after) = difference(before.unwrap_or_default(), after);
        self
    }

    /// With who made a thing and when, where that is not who makes the change and when.
    #[must_use]
    pub fn made(
        mut self,
        creator: Uuid,
        created_at: Timestamp,
        updated_at: Timestamp,
        (actor, now): (Uuid, Timestamp),
    ) -> Self {
        if creator != actor {
            self = self.telling(told::CREATOR, creator.to_string());
        }
        if created_at != now {
            self = self.telling(told::CREATED_AT, created_at.0);
        }
        if updated_at != now {
            self = self.telling(told::UPDATED_AT, updated_at.0);
        }
        self
    }

    /// With something that is told for verification alone, under a name of [`told`]; after the fields.
    #[must_use]
    pub fn telling(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.after.insert(name.to_owned(), value.into());
        self
    }
}

/// A change in its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Change {
    /// Its place among all changes of the installation, in the order of their arrival.
    pub seq: i64,
    /// Its place in the ledger of its project, or of the installation, counting from 1 without gaps.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub user: String,
    /// With which token, if one was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<Uuid>,
    /// With which program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub client: String,
    /// What it is about.
    pub entity: Entity,
    /// Its id.
    pub entity_id: Uuid,
    /// The project, when it happened in one.
    #[serde(skip)]
    pub project_id: Option<Uuid>,
    /// The item whose history it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<Uuid>,
    /// The other item, for links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_item_id: Option<Uuid>,
    /// What people call the thing.
    pub label: String,
    /// What happened.
    pub action: Action,
    /// The revision that resulted.
    pub rev: i64,
    /// What for, when it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// What changed, field by field.
    pub fields: Vec<FieldChange>,
    /// The hash that seals this change and all before it in its ledger.
    pub hash: String,
}

/// One field that changed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// Before; absent when it did not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub before: Option<Value>,
    /// After; absent when it no longer exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub after: Option<Value>,
}

/// The ledger of what belongs to no project: accounts, settings, prompts.
pub const INSTALLATION: Uuid = Uuid::nil();

/// The ledger a change of a project belongs to, or one of none.
pub fn ledger_of(project_id: Option<Uuid>) -> Uuid {
    project_id.unwrap_or(INSTALLATION)
}

/// The project a ledger belongs to.
pub fn project_of(ledger: Uuid) -> Option<Uuid> {
    Some(ledger).filter(|ledger| *ledger != INSTALLATION)
}

/// What a person wrote or is called by. It can be taken out of a ledger, which verifies all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload<'a> {
    /// Who, by the name of that day.
    pub username: &'a str,
    /// With which program.
    pub client: &'a str,
    /// What people call the thing.
    pub label: &'a str,
    /// The fields before, as the JSON text that is stored.
    pub before: &'a str,
    /// The fields after, as the JSON text that is stored.
    pub after: &'a str,
}

impl Payload<'_> {
    /// What stands where a payload was taken out.
    pub const ERASED: Payload<'static> = Payload {
        username: "",
        client: "",
        label: "",
        before: "{}",
        after: "{}",
    };

    /// The hash that stands for the payload in the ledger. Without the salt nobody can tell whether a guess is right.
    pub fn hash(&self, salt: &[u8]) -> [u8; 32] {
        let mut parts = Parts::of(b"spexus payload 1");
        parts.add(salt);
        for text in [self.username, self.client, self.label, self.before, self.after] {
            parts.add(text.as_bytes());
        }
        parts.hash()
    }
}

/// A row of a ledger as it is stored: exactly what the hash covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// The ledger.
    pub ledger: Uuid,
    /// Its place in it.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// Who, by id.
    pub user_id: Uuid,
    /// With which token.
    pub token_id: Option<Uuid>,
    /// What it is about.
    pub entity: &'a str,
    /// Its id.
    pub entity_id: Uuid,
    /// The item whose history it belongs to.
    pub item_id: Option<Uuid>,
    /// The other item, for links.
    pub other_item_id: Option<Uuid>,
    /// What happened.
    pub action: &'a str,
    /// The revision that resulted.
    pub rev: i64,
    /// The hash of its payload.
    pub payload: [u8; 32],
}

impl Sealed<'_> {
    /// The hash of this row on top of the one before.
    pub fn hash(&self, previous: &[u8; 32]) -> [u8; 32] {
        let mut parts = Parts::of(previous);
        parts.add(self.ledger.as_bytes());
        parts.add(&self.number.to_le_bytes());
        parts.add(&self.at.0.to_le_bytes());
        parts.add(self.user_id.as_bytes());
        parts.add_id(self.token_id);
        parts.add(self.entity.as_bytes());
        parts.add(self.entity_id.as_bytes());
        parts.add_id(self.item_id);
        parts.add_id(self.other_item_id);
        parts.add(self.action.as_bytes());
        parts.add(&self.rev.to_le_bytes());
        parts.add(&self.payload);
        parts.hash()
    }
}

/// The chain that one history for a whole installation ended with, before projects had ledgers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormerHead {
    /// How many changes it had.
    pub changes: i64,
    /// The hash of the last.
    pub hash: [u8; 32],
}

impl FormerHead {
    /// Where there was none.
    pub const NONE: Self = Self {
        changes: 0,
        hash: [0; 32],
    };

    /// The hash before the first change of a ledger: it seals what there was before there were ledgers.
    pub fn genesis(&self, ledger: Uuid) -> [u8; 32] {
        let mut parts = Parts::of(b"spexus ledger 1");
        parts.add(ledger.as_bytes());
        parts.add(&self.changes.to_le_bytes());
        parts.add(&self.hash);
        parts.hash()
    }
}

/// A row of the chain that one history for a whole installation was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerRow<'a> {
    /// Its place.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// Who, by id.
    pub user_id: Uuid,
    /// With which token.
    pub token_id: Option<Uuid>,
    /// In which project.
    pub project_id: Option<Uuid>,
    /// What it is about.
    pub entity: &'a str,
    /// Its id.
    pub entity_id: Uuid,
    /// The item whose history it belongs to.
    pub item_id: Option<Uuid>,
    /// The other item, for links.
    pub other_item_id: Option<Uuid>,
    /// What happened.
    pub action: &'a str,
    /// The revision that resulted.
    pub rev: i64,
    /// What a person wrote or is called by.
    pub payload: Payload<'a>,
}

impl FormerRow<'_> {
    /// The hash of this row on top of the one before.
    pub fn hash(&self, previous: &[u8; 32]) -> [u8; 32] {
        let mut parts = Parts::of(previous);
        parts.add(&self.seq.to_le_bytes());
        parts.add(&self.at.0.to_le_bytes());
        parts.add(self.user_id.as_bytes());
        parts.add(self.payload.username.as_bytes());
        parts.add_id(self.token_id);
        parts.add(self.payload.client.as_bytes());
        parts.add_id(self.project_id);
        parts.add(self.entity.as_bytes());
        parts.add(self.entity_id.as_bytes());
        parts.add_id(self.item_id);
        parts.add_id(self.other_item_id);
        parts.add(self.payload.label.as_bytes());
        parts.add(self.action.as_bytes());
        parts.add(&self.rev.to_le_bytes());
        parts.add(self.payload.before.as_bytes());
        parts.add(self.payload.after.as_bytes());
        parts.hash()
    }
}

/// Parts that are hashed together, each with its length, so that no two different rows hash the same bytes.
pub(crate) struct Parts(blake3::Hasher);

impl Parts {
    pub(crate) fn of(first: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(first);
        Self(hasher)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn add_id(&mut self, id: Option<Uuid>) {
        match id {
            Some(id) => self.add(id.as_bytes()),
            None => self.add(&[]),
        }
    }

    pub(crate) fn hash(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

/// What two sets of fields differ in: the parts before and after, without what stayed.
pub fn difference(mut before: Attributes, mut after: Attributes) -> (Attributes, Attributes) {
    before.retain(|name, value| match after.get(name) {
        Some(now) if now == value => {
            after.remove(name);
            false
        }
        _ => true,
    });
    (before, after)
}

/// The field changes of a pair of parts, by name.
//= specs/spexus-service.md#history
//# What a change tells for verification alone MUST NOT be shown.
pub fn field_changes(mut before: Attributes, after: Attributes) -> Vec<FieldChange> {
    let mut changes: Vec<FieldChange> = after
        .into_iter()
        .filter(|(field, _)| is_shown(field))
        .map(|(field, value)| FieldChange {
            before: before.remove(&field),
            after: Some(value),
            field,
        })
        .collect();
    changes.extend(before.into_iter().map(|(field, value)| FieldChange {
        field,
        before: Some(value),
        after: None,
    }));
    changes.sort_by(|a, b| a.field.cmp(&b.field));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    //= specs/spexus-service.md#history
    //= type=test
    //# What a change tells for verification alone MUST NOT be shown.
    #[test]
    fn what_is_told_for_verification_is_not_shown() {
        let change = NewChange::new(Entity::Item, Uuid::nil(), "EP-001", Action::Created, 1)
            .fields(None, map(json!({"title": "a"})))
            .telling(told::DELETION, "x");
        assert_eq!(change.after.len(), 2);
        let shown = field_changes(change.before, change.after);
        assert_eq!(shown.len(), 1, "{shown:?}");
    }

    fn map(value: Value) -> Attributes {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_difference_holds_only_what_changed() {
        let (before, after) = difference(
            map(json!({"a": 1, "b": 2, "c": 3})),
            map(json!({"a": 1, "b": 5, "d": 4})),
        );
        assert_eq!(
            (Value::from(before.clone()), Value::from(after.clone())),
            (json!({"b": 2, "c": 3}), json!({"b": 5, "d": 4}))
        );
        let fields = field_changes(before, after);
        assert_eq!(
            serde_json::to_value(fields).unwrap(),
            json!([
                {"field": "b", "before": 2, "after": 5}, {"field": "c", "before": 3}, {"field": "d", "after": 4},
            ])
        );
    }

    #[test]
    fn every_part_of_a_row_is_sealed() {
        let payload = Payload {
            username: "kim",
            client: "cli",
            label: "EP-001",
            before: "{}",
            after: "{\"a\":1}",
        };
        let of = |payload: Payload<'_>| payload.hash(b"salt");
        let row = Sealed {
            ledger: Uuid::from_u128(4),
            number: 1,
            at: Timestamp(2),
            user_id: Uuid::from_u128(3),
            token_id: None,
            entity: "item",
            entity_id: Uuid::from_u128(5),
            item_id: None,
            other_item_id: None,
            action: "created",
            rev: 1,
            payload: of(payload.clone()),
        };
        let genesis = FormerHead::NONE.genesis(row.ledger);
        let hash = row.hash(&genesis);
        let alterations: [fn(&mut Sealed<'_>); 11] = [
            |row| row.ledger = INSTALLATION,
            |row| row.number = 2,
            |row| row.at = Timestamp(3),
            |row| row.user_id = Uuid::nil(),
            |row| row.token_id = Some(Uuid::nil()),
            |row| row.entity = "link",
            |row| row.entity_id = Uuid::nil(),
            |row| row.item_id = Some(Uuid::nil()),
            |row| row.other_item_id = Some(Uuid::nil()),
            |row| row.action = "deleted",
            |row| row.rev = 2,
        ];
        for (at, alter) in alterations.iter().enumerate() {
            let mut other = row.clone();
            alter(&mut other);
            assert_ne!(other.hash(&genesis), hash, "alteration {at}");
        }
        let payloads: [fn(&mut Payload<'_>); 5] = [
            |payload| payload.username = "kin",
            |payload| payload.client = "",
            |payload| payload.label = "EP-002",
            |payload| payload.before = "{ }",
            |payload| payload.after = "{}",
        ];
        for (at, alter) in payloads.iter().enumerate() {
            let mut other = payload.clone();
            alter(&mut other);
            assert_ne!(of(other), row.payload, "payload {at}");
        }
        assert_ne!(payload.hash(b"tlas"), row.payload, "the salt matters");
        let other = Sealed {
            payload: [0; 32],
            ..row.clone()
        };
        assert_ne!(other.hash(&genesis), hash, "the payload matters");
        assert_ne!(row.hash(&hash), hash, "the row before matters");
    }

    #[test]
    fn a_ledger_begins_with_what_there_was_before_it() {
        let (ledger, former) = (
            Uuid::from_u128(4),
            FormerHead {
                changes: 7,
                hash: [1; 32],
            },
        );
        let genesis = former.genesis(ledger);
        assert_ne!(genesis, FormerHead { changes: 8, ..former }.genesis(ledger));
        assert_ne!(
            genesis,
            FormerHead {
                hash: [2; 32],
                ..former
            }
            .genesis(ledger)
        );
        assert_ne!(genesis, former.genesis(INSTALLATION));
    }
}
