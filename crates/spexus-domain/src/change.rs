//! The history: an append-only list of changes, each chained to the one before by a hash, so that a row that was
//! altered, removed or slipped in shows. Per-item history, the project feed, audits and baselines all read it.

use crate::{Timestamp, attribute::Attributes, link::HIDDEN_END};
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
}

impl Entity {
    /// All of them.
    pub const ALL: [Entity; 11] = [
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
}

/// A change in its place in the chain.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Change {
    /// Its place, counting from 1 without gaps; also the cursor of the feed.
    pub seq: i64,
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
    /// What changed, field by field.
    pub fields: Vec<FieldChange>,
    /// The hash that seals this change and all before it.
    pub hash: String,
}

impl Change {
    /// Takes out of the change of a link what names an end the reader may not see.
    pub fn hide_ends(&mut self, sees_source: bool, sees_target: bool) {
        if self.entity != Entity::Link || (sees_source && sees_target) {
            return;
        }
        let (source, rest) = self.label.split_once(' ').unwrap_or_default();
        let (link_type, target) = rest.rsplit_once(' ').unwrap_or_default();
        let name = |visible: bool, name: &str| {
            if visible {
                name.to_owned()
            } else {
                HIDDEN_END.to_owned()
            }
        };
        self.label = format!(
            "{} {link_type} {}",
            name(sees_source, source),
            name(sees_target, target)
        );
        for (visible, end, item) in [
            (sees_source, "source", &mut self.item_id),
            (sees_target, "target", &mut self.other_item_id),
        ] {
            if visible {
                continue;
            }
            *item = None;
            for field in self.fields.iter_mut().filter(|field| field.field == end) {
                for value in [&mut field.before, &mut field.after].into_iter().flatten() {
                    *value = HIDDEN_END.into();
                }
            }
        }
    }
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

/// A row of the chain as it is stored: exactly what the hash covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Its place.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// Who, by id.
    pub user_id: Uuid,
    /// Who, by the name of that day.
    pub username: &'a str,
    /// With which token.
    pub token_id: Option<Uuid>,
    /// With which program.
    pub client: &'a str,
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
    /// What people call the thing.
    pub label: &'a str,
    /// What happened.
    pub action: &'a str,
    /// The revision that resulted.
    pub rev: i64,
    /// The fields before, as the JSON text that is stored.
    pub before: &'a str,
    /// The fields after, as the JSON text that is stored.
    pub after: &'a str,
}

/// The hash before the first change.
pub const GENESIS: [u8; 32] = [0; 32];

impl Sealed<'_> {
    /// The hash of this row on top of the one before. Every field is written with its length, so no two different
    /// rows hash the same bytes.
    pub fn hash(&self, previous: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(previous);
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        let id = |id: &Option<Uuid>| id.map(|id| id.as_bytes().to_vec()).unwrap_or_default();
        part(&self.seq.to_le_bytes());
        part(&self.at.0.to_le_bytes());
        part(self.user_id.as_bytes());
        part(self.username.as_bytes());
        part(&id(&self.token_id));
        part(self.client.as_bytes());
        part(&id(&self.project_id));
        part(self.entity.as_bytes());
        part(self.entity_id.as_bytes());
        part(&id(&self.item_id));
        part(&id(&self.other_item_id));
        part(self.label.as_bytes());
        part(self.action.as_bytes());
        part(&self.rev.to_le_bytes());
        part(self.before.as_bytes());
        part(self.after.as_bytes());
        *hasher.finalize().as_bytes()
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
pub fn field_changes(mut before: Attributes, after: Attributes) -> Vec<FieldChange> {
    let mut changes: Vec<FieldChange> = after
        .into_iter()
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

    #[test]
    fn an_end_that_may_not_be_seen_has_no_name_left() {
        let field = |name: &str, value: &str| FieldChange {
            field: name.into(),
            before: Some(value.into()),
            after: None,
        };
        let mut change = Change {
            seq: 1,
            at: Timestamp(0),
            user: "kim".into(),
            token_id: None,
            client: String::new(),
            entity: Entity::Link,
            entity_id: Uuid::from_u128(1),
            project_id: None,
            item_id: Some(Uuid::from_u128(2)),
            other_item_id: Some(Uuid::from_u128(3)),
            label: "web/REQ-001 depends on default/REQ-154".into(),
            action: Action::Deleted,
            rev: 1,
            fields: vec![field("source", "web/REQ-001"), field("target", "default/REQ-154")],
            hash: String::new(),
        };
        change.hide_ends(true, false);
        assert_eq!(change.label, "web/REQ-001 depends on (another project)");
        assert_eq!((change.item_id.is_some(), change.other_item_id), (true, None));
        let told = serde_json::to_string(&change).unwrap();
        assert!(!told.contains("154") && !told.contains("default"), "{told}");
        assert!(told.contains("web/REQ-001"), "{told}");
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
        let row = Sealed {
            seq: 1,
            at: Timestamp(2),
            user_id: Uuid::from_u128(3),
            username: "kim",
            token_id: None,
            client: "cli",
            project_id: Some(Uuid::from_u128(4)),
            entity: "item",
            entity_id: Uuid::from_u128(5),
            item_id: None,
            other_item_id: None,
            label: "EP-001",
            action: "created",
            rev: 1,
            before: "{}",
            after: "{\"a\":1}",
        };
        let hash = row.hash(&GENESIS);
        let altered = [
            Sealed {
                seq: 2,
                ..row.clone()
            },
            Sealed {
                at: Timestamp(3),
                ..row.clone()
            },
            Sealed {
                user_id: Uuid::nil(),
                ..row.clone()
            },
            Sealed {
                username: "kin",
                ..row.clone()
            },
            Sealed {
                token_id: Some(Uuid::nil()),
                ..row.clone()
            },
            Sealed {
                client: "",
                ..row.clone()
            },
            Sealed {
                project_id: None,
                ..row.clone()
            },
            Sealed {
                entity: "link",
                ..row.clone()
            },
            Sealed {
                entity_id: Uuid::nil(),
                ..row.clone()
            },
            Sealed {
                item_id: Some(Uuid::nil()),
                ..row.clone()
            },
            Sealed {
                other_item_id: Some(Uuid::nil()),
                ..row.clone()
            },
            Sealed {
                label: "EP-002",
                ..row.clone()
            },
            Sealed {
                action: "deleted",
                ..row.clone()
            },
            Sealed {
                rev: 2,
                ..row.clone()
            },
            Sealed {
                before: "{ }",
                ..row.clone()
            },
            Sealed {
                after: "{}",
                ..row.clone()
            },
        ];
        for (at, other) in altered.iter().enumerate() {
            assert_ne!(other.hash(&GENESIS), hash, "alteration {at}");
        }
        assert_ne!(row.hash(&hash), hash, "the row before matters");
    }
}
