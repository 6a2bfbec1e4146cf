//! Batches: many operations, all or nothing, that can speak of each other. An operation may give what it makes a local
//! name (`"ref": "login"`), and later ones use it wherever an id is asked for (`"@login"`).

use crate::{
    Code, Kind, Refusal, Ruled, Uuid,
    comment::NewComment,
    decode,
    item::{ItemPatch, Move, NewItem},
    limits,
    link::NewLink,
    nearest,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::collections::HashMap;
use utoipa::ToSchema;

/// A batch as it is sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchInput {
    /// What to do, in this order: objects with `op` = create | update | move | delete | restore | link | unlink |
    /// comment, an optional `ref`, the `id` where one is needed, an optional `project` (not for unlink), and the
    /// fields of that operation.
    #[schema(value_type = Vec<Object>)]
    pub operations: Vec<Map<String, Value>>,
    /// Try everything and report, but keep nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The project all operations happen in. Without it each operation is in the project it names itself, or in that of
    /// the items it speaks of; new items without either go to the caller's usual one.
    pub project: Option<String>,
    /// What for; it is kept with every change of an item that does not say so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

/// One operation, understood.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Make an item.
    Create(Kind, NewItem),
    /// Change an item.
    Update(String, ItemPatch),
    /// Move an item.
    Move(String, Move),
    /// Delete an item.
    Delete(String, bool),
    /// Bring an item back.
    Restore(String),
    /// Make a link.
    Link(NewLink),
    /// Remove a link, by its id.
    Unlink(Uuid),
    /// Comment on an item.
    Comment(String, NewComment),
}

/// An operation with its local name.
#[derive(Clone, Debug)]
pub struct Step {
    /// What later operations call the result.
    pub name: Option<String>,
    /// The project it names.
    pub project: Option<String>,
    /// What to do.
    pub operation: Operation,
}

/// What one operation of a batch did.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Outcome {
    /// The local name, when one was given.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The operation.
    pub op: &'static str,
    /// The id of what it made or changed.
    pub id: Uuid,
    /// What people call it.
    pub label: String,
    /// The revision that resulted.
    pub rev: i64,
}

/// The answer to a batch.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BatchResult {
    /// Whether nothing was kept because only a trial was asked for.
    pub dry_run: bool,
    /// One entry for each operation, in order.
    pub results: Vec<Outcome>,
}

/// The operations there are.
pub const OPERATIONS: [&str; 8] = [
    "create", "update", "move", "delete", "restore", "link", "unlink", "comment",
];

impl Operation {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Operation::Create(..) => "create",
            Operation::Update(..) => "update",
            Operation::Move(..) => "move",
            Operation::Delete(..) => "delete",
            Operation::Restore(..) => "restore",
            Operation::Link(..) => "link",
            Operation::Unlink(..) => "unlink",
            Operation::Comment(..) => "comment",
        }
    }

    /// The same operation with ids in place of local names, so that it can be done as if it stood alone.
    pub fn resolve(self, names: &LocalNames) -> Ruled<Self> {
        let id = |field, given| names.resolve(field, given);
        let optional = |field, given: Option<String>| given.map(|given| id(field, given)).transpose();
        Ok(match self {
            Operation::Create(kind, input) => {
                let input = NewItem {
                    parent: optional(kind.parent_field(), input.parent)?,
                    acceptance_criterion: optional("acceptance_criterion", input.acceptance_criterion)?,
                    ..input
                };
                Operation::Create(kind, input)
            }
            Operation::Update(item, patch) => {
                let criterion = patch.acceptance_criterion;
                let patch = ItemPatch {
                    acceptance_criterion: criterion
                        .map(|given| optional("acceptance_criterion", given))
                        .transpose()?,
                    ..patch
                };
                Operation::Update(id("id", item)?, patch)
            }
            Operation::Move(item, to) => {
                let to = Move {
                    parent: optional("parent", to.parent)?,
                    after: optional("after", to.after)?,
                    before: optional("before", to.before)?,
                    ..to
                };
                Operation::Move(id("id", item)?, to)
            }
            Operation::Delete(item, force) => Operation::Delete(id("id", item)?, force),
            Operation::Restore(item) => Operation::Restore(id("id", item)?),
            Operation::Link(input) => Operation::Link(NewLink {
                source: id("source", input.source)?,
                target: id("target", input.target)?,
                ..input
            }),
            Operation::Unlink(link) => Operation::Unlink(link),
            Operation::Comment(item, input) => Operation::Comment(id("item", item)?, input),
        })
    }
}

/// Understands all operations of a batch, or refuses with the place of the first that makes no sense.
pub fn steps(input: &BatchInput) -> Ruled<Vec<Step>> {
    let count = input.operations.len();
    //= specs/spexus-service.md#writing-once
    //# A batch of more than 500 operations MUST be refused, because one transaction holds up everybody else.
    if !(1..=limits::MAX_BATCH_OPERATIONS).contains(&count) {
        let allowed = format!("1 to {}", limits::MAX_BATCH_OPERATIONS);
        return Err(Refusal::field(
            Code::InvalidParams,
            "operations",
            format!("has {count} entries"),
            allowed,
        ));
    }
    let understood = |(at, fields): (usize, &Map<String, Value>)| {
        step(fields.clone()).map_err(|refusal| refusal.inside(&format!("operations[{at}].")))
    };
    input.operations.iter().enumerate().map(understood).collect()
}

fn step(mut fields: Map<String, Value>) -> Ruled<Step> {
    let op = text(&mut fields, "op")?;
    let name = match fields.remove("ref") {
        None => None,
        Some(Value::String(name)) => Some(crate::text::name("ref", name.trim_start_matches('@'))?),
        Some(_) => {
            return Err(Refusal::field(
                Code::FieldTypeMismatch,
                "ref",
                "is not text",
                "a local name",
            ));
        }
    };
    let op = op.to_lowercase();
    // A link that exists is found by its own id, wherever it is; everything else happens in a project.
    let project = match op.as_str() {
        "unlink" => None,
        _ => match fields.remove("project") {
            None | Some(Value::Null) => None,
            Some(Value::String(key)) => Some(key),
            Some(_) => {
                let allowed = "the key of a project";
                return Err(Refusal::field(
                    Code::FieldTypeMismatch,
                    "project",
                    "is not text",
                    allowed,
                ));
            }
        },
    };
    let operation = match op.as_str() {
        "create" => Operation::Create(Kind::parse("kind", &text(&mut fields, "kind")?)?, rest(fields)?),
        "update" => Operation::Update(text(&mut fields, "id")?, rest(fields)?),
        "move" => Operation::Move(text(&mut fields, "id")?, rest(fields)?),
        "delete" => {
            let id = text(&mut fields, "id")?;
            Operation::Delete(id, rest::<Force>(fields)?.force)
        }
        "restore" => {
            let id = text(&mut fields, "id")?;
            rest::<Nothing>(fields)?;
            Operation::Restore(id)
        }
        "link" => Operation::Link(rest(fields)?),
        "unlink" => {
            let id = text(&mut fields, "id")?;
            rest::<Nothing>(fields)?;
            let id = Uuid::try_parse(&id).map_err(|_| {
                Refusal::field(Code::InvalidParams, "id", "is not the id of a link", "a UUID")
            })?;
            Operation::Unlink(id)
        }
        "comment" => {
            // Every other operation calls it `id`.
            let named = if fields.contains_key("id") { "id" } else { "item" };
            Operation::Comment(text(&mut fields, named)?, rest(fields)?)
        }
        _ => return Err(nearest::miss("op", &op, OPERATIONS)),
    };
    Ok(Step {
        name,
        project,
        operation,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Force {
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn text(fields: &mut Map<String, Value>, field: &str) -> Ruled<String> {
    match fields.remove(field) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Refusal::field(
            Code::FieldTypeMismatch,
            field,
            "is not text",
            "text",
        )),
        None => Err(Refusal::field(
            Code::MissingRequiredField,
            field,
            "is missing",
            "text",
        )),
    }
}

fn rest<T: DeserializeOwned>(fields: Map<String, Value>) -> Ruled<T> {
    decode::value(&Value::Object(fields))
}

/// The names that operations of a running batch gave to what they made.
#[derive(Debug, Default)]
pub struct LocalNames(HashMap<String, Uuid>);

impl LocalNames {
    /// Gives a result its name; the same name twice is refused.
    pub fn insert(&mut self, name: &str, id: Uuid) -> Ruled<()> {
        match self.0.insert(name.to_owned(), id) {
            None => Ok(()),
            Some(_) => Err(Refusal::field(
                Code::InvalidParams,
                "ref",
                format!("{name:?} is already taken"),
                "another name",
            )),
        }
    }

    /// The UUID a local name (`@login`) stands for; every other id as it is.
    fn resolve(&self, field: &str, given: String) -> Ruled<String> {
        let Some(name) = given.trim().strip_prefix('@') else {
            return Ok(given);
        };
        match self.0.get(name) {
            Some(id) => Ok(id.to_string()),
            None => Err(nearest::miss(field, &given, self.0.keys().map(String::as_str))
                .hint("A local name must be given by an earlier operation of the same batch.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(operations: Value) -> Ruled<Vec<Step>> {
        steps(&serde_json::from_value(json!({"operations": operations})).unwrap())
    }

    #[test]
    fn operations_are_understood_or_named() {
        let understood = parse(json!([
            {"op": "create", "ref": "@e", "kind": "epic", "title": "Login"},
            {"op": "update", "id": "@e", "priority": 1, "expect_rev": 1},
            {"op": "delete", "id": "EP-001", "force": true},
            {"op": "comment", "id": "@e", "content": "Well"},
        ]))
        .unwrap();
        assert_eq!(understood[0].name.as_deref(), Some("e"));
        assert_eq!(understood[2].operation.name(), "delete");
    }

    //= specs/spexus-service.md#writing-once
    //= type=test
    //# A batch of more than 500 operations MUST be refused, because one transaction holds up everybody else.
    #[test]
    fn five_hundred_operations_are_one_transaction_and_no_more() {
        let operations = |count| Value::from(vec![json!({"op": "delete", "id": "EP-1"}); count]);
        assert_eq!(parse(operations(500)).unwrap().len(), 500);
        let refusal = parse(operations(501)).unwrap_err();
        assert_eq!(refusal.faults[0].allowed, "1 to 500");
    }

    #[test]
    fn every_operation_on_items_may_name_its_project_and_unlink_may_not() {
        for fields in [
            json!({"op": "create", "kind": "epic", "title": "x"}),
            json!({"op": "update", "id": "EP-1"}),
            json!({"op": "move", "id": "EP-1"}),
            json!({"op": "delete", "id": "EP-1"}),
            json!({"op": "restore", "id": "EP-1"}),
            json!({"op": "link", "source": "EP-1", "target": "EP-2", "type": "blocks"}),
            json!({"op": "comment", "item": "EP-1", "content": "x"}),
        ] {
            let mut fields = fields;
            fields["project"] = json!("web");
            let understood = parse(json!([fields])).unwrap();
            assert_eq!(understood[0].project.as_deref(), Some("web"));
        }
        let link = json!([{"op": "unlink", "id": Uuid::nil(), "project": "web"}]);
        assert_eq!(parse(link).unwrap_err().faults[0].field, "operations[0].project");
        let number = json!([{"op": "update", "id": "EP-1", "project": 7}]);
        assert_eq!(
            parse(number).unwrap_err().faults[0].field,
            "operations[0].project"
        );
    }

    #[test]
    fn a_fault_names_the_operation_and_the_field() {
        let cases = [
            (json!([{"op": "craete"}]), "operations[0].op"),
            (
                json!([{"op": "create", "kind": "epic", "titel": "x"}]),
                "operations[0].titel",
            ),
            (
                json!([{"op": "restore", "id": "EP-1"}, {"op": "update", "id": 7}]),
                "operations[1].id",
            ),
            (json!([{"op": "update"}]), "operations[0].id"),
            (
                json!([{"op": "comment", "id": "EP-1", "item": "EP-2", "content": "x"}]),
                "operations[0].item",
            ),
        ];
        for (operations, field) in cases {
            assert_eq!(parse(operations).unwrap_err().faults[0].field, field);
        }
        assert_eq!(parse(json!([])).unwrap_err().faults[0].field, "operations");
    }

    #[test]
    fn local_names_are_given_once_and_only_forward() {
        let mut names = LocalNames::default();
        names.insert("e", Uuid::from_u128(1)).unwrap();
        let resolved = |given: &str| names.resolve("parent", given.to_owned());
        assert_eq!(resolved("@e").unwrap(), Uuid::from_u128(1).to_string());
        assert_eq!(resolved("EP-001").unwrap(), "EP-001");
        assert_eq!(resolved("@f").unwrap_err().faults[0].field, "parent");
        assert!(names.insert("e", Uuid::from_u128(2)).is_err());
    }

    #[test]
    fn a_local_name_stands_wherever_an_id_does() {
        let mut names = LocalNames::default();
        names.insert("e", Uuid::from_u128(1)).unwrap();
        let resolved = |fields: Value| {
            let operation = parse(json!([fields])).unwrap().remove(0).operation;
            operation.resolve(&names)
        };
        let id = Uuid::from_u128(1).to_string();
        let cases = [
            (
                json!({"op": "create", "kind": "user_story", "title": "x"}),
                vec![("parent", "epic_id")],
            ),
            (
                json!({"op": "create", "kind": "epic", "title": "x"}),
                vec![("parent", "parent")],
            ),
            (
                json!({"op": "create", "kind": "requirement", "title": "x"}),
                vec![
                    ("parent", "user_story_id"),
                    ("acceptance_criterion", "acceptance_criterion"),
                ],
            ),
            (
                json!({"op": "update", "id": "EP-1"}),
                vec![("id", "id"), ("acceptance_criterion", "acceptance_criterion")],
            ),
            (
                json!({"op": "move", "id": "EP-1"}),
                vec![
                    ("id", "id"),
                    ("parent", "parent"),
                    ("after", "after"),
                    ("before", "before"),
                ],
            ),
            (json!({"op": "delete"}), vec![("id", "id")]),
            (json!({"op": "restore"}), vec![("id", "id")]),
            (
                json!({"op": "link", "source": "EP-1", "target": "EP-2", "type": "blocks"}),
                vec![("source", "source"), ("target", "target")],
            ),
            (
                json!({"op": "comment", "content": "x"}),
                vec![("id", "item"), ("item", "item")],
            ),
        ];
        for (fields, places) in cases {
            for (place, named) in places {
                let mut fields = fields.clone();
                fields[place] = json!("@e");
                let done = resolved(fields.clone()).unwrap();
                assert!(format!("{done:?}").contains(&id), "{place}: {done:?}");
                fields[place] = json!("@f");
                assert_eq!(resolved(fields).unwrap_err().faults[0].field, named);
            }
        }
    }
}
