//! References between the calls of a batch: `@name`, `@name.field`, and `@@` for a text that begins with `@`.

use serde_json::{Map, Value};
use spexus_domain::{Code, Refusal, Ruled, Uuid, nearest, text};
use std::collections::HashMap;

/// What calls gave, by the names they gave it.
#[derive(Default)]
pub(super) struct Results(HashMap<String, Named>);

/// What a call gave, and the item it is about.
struct Named {
    value: Value,
    item: Option<Uuid>,
}

/// A reference, taken apart.
struct Reference<'a> {
    name: &'a str,
    field: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// The reference a text is; `None` when it means itself. A text that merely begins with `@` is no reference: names
    /// have no blanks.
    fn read(text: &'a str) -> Option<Self> {
        let inner = text.strip_prefix('@')?;
        let (name, field) = match inner.split_once('.') {
            Some((name, field)) => (name, Some(field)),
            None => (inner, None),
        };
        let is_one = is_name(name) && field.is_none_or(|field| field.split('.').all(is_name));
        is_one.then_some(Self { name, field })
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Refuses a name that cannot be referred to, or is given twice.
pub(super) fn check_name(name: &str, names: &[&str]) -> Ruled<()> {
    let odd =
        |problem: String, allowed: &str| Err(Refusal::field(Code::InvalidParams, "ref", problem, allowed));
    match name {
        name if !is_name(name) => odd(
            format!("{:?} is no name", text::excerpt(name, 60)),
            "letters, digits, - and _",
        ),
        name if names.contains(&name) => odd(format!("{name:?} is already taken"), "another name"),
        _ => Ok(()),
    }
}

/// Refuses arguments with a reference to a name nobody has given yet.
pub(super) fn check(arguments: &Map<String, Value>, names: &[&str]) -> Ruled<()> {
    let own = own_names(arguments);
    for (field, value) in arguments {
        walk(
            &format!("arguments.{field}"),
            value,
            &mut |place, text| match Reference::read(text) {
                Some(Reference { name, .. }) if !names.contains(&name) && !own.contains(&name) => {
                    Err(unknown(place, text, names))
                }
                _ => Ok(()),
            },
        )?;
    }
    Ok(())
}

impl Results {
    pub(super) fn keep(&mut self, name: String, value: Value, item: Option<Uuid>) {
        self.0.insert(name, Named { value, item });
    }

    /// Arguments with what the references in them stand for.
    pub(super) fn resolve(&self, arguments: Map<String, Value>) -> Ruled<Map<String, Value>> {
        let own: Vec<String> = own_names(&arguments).into_iter().map(str::to_owned).collect();
        let mut resolved = Map::new();
        for (field, mut value) in arguments {
            self.replace(&format!("arguments.{field}"), &mut value, &own)?;
            resolved.insert(field, value);
        }
        Ok(resolved)
    }

    fn replace(&self, place: &str, value: &mut Value, own: &[String]) -> Ruled<()> {
        match value {
            Value::String(text) => {
                if let Some(stands_for) = self.stands_for(place, text, own)? {
                    *value = stands_for;
                }
            }
            Value::Array(list) => {
                for (at, one) in list.iter_mut().enumerate() {
                    self.replace(&format!("{place}[{at}]"), one, own)?;
                }
            }
            Value::Object(fields) => {
                for (name, one) in fields.iter_mut() {
                    self.replace(&format!("{place}.{name}"), one, own)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What a text stands for when it is not itself.
    fn stands_for(&self, place: &str, text: &str, own: &[String]) -> Ruled<Option<Value>> {
        if let Some(escaped) = text.strip_prefix("@@") {
            return Ok(Some(Value::String(format!("@{escaped}"))));
        }
        let Some(Reference { name, field }) = Reference::read(text) else {
            return Ok(None);
        };
        if own.iter().any(|own| own == name) {
            return Ok(None);
        }
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        let result = self.0.get(name).ok_or_else(|| unknown(place, text, &names))?;
        let found = match field {
            Some(field) => member(&result.value, field).cloned(),
            None => result.id(),
        };
        let missing = || {
            let problem = format!("{text:?} is not in the result of {name:?}");
            let allowed = "@name for its id, @name.field for a field of it";
            Refusal::field(Code::InvalidParams, place, problem, allowed)
        };
        found.map(Some).ok_or_else(missing)
    }
}

impl Named {
    /// The id of what a call made: the item's, its own, or that of the one thing it tells of. An item is meant by its UUID,
    /// for its reference may mean another one elsewhere.
    //= specs/spexus-mcp.md#batches
    //# A reference to a result MUST mean the very item the operation made or read, in whichever project it is.
    fn id(&self) -> Option<Value> {
        let own = |name: &&str| member(&self.value, name).cloned();
        let item = self.item.map(|id| Value::String(id.to_string()));
        item.or_else(|| ["id", "key", "name"].iter().find_map(own))
    }
}

/// A field of a result, or of the one thing it tells of.
fn member<'a>(result: &'a Value, path: &str) -> Option<&'a Value> {
    let down = |from: &'a Value| path.split('.').try_fold(from, |value, name| value.get(name));
    let mut things = result.as_object()?.values().filter(|value| value.is_object());
    down(result).or_else(|| match (things.next(), things.next()) {
        (Some(only), None) => down(only),
        _ => None,
    })
}

/// The names a batch within the batch gives: `apply_changes` has references of the same form, and resolves its own.
fn own_names(arguments: &Map<String, Value>) -> Vec<&str> {
    let operations = arguments.get("operations").and_then(Value::as_array);
    let names = operations
        .into_iter()
        .flatten()
        .filter_map(|one| one["ref"].as_str());
    names.map(|name| name.trim_start_matches('@')).collect()
}

fn walk(place: &str, value: &Value, see: &mut dyn FnMut(&str, &str) -> Ruled<()>) -> Ruled<()> {
    match value {
        Value::String(text) if !text.starts_with("@@") => see(place, text),
        Value::Array(list) => {
            let mut each = list.iter().enumerate();
            each.try_for_each(|(at, one)| walk(&format!("{place}[{at}]"), one, see))
        }
        Value::Object(fields) => {
            let mut each = fields.iter();
            each.try_for_each(|(name, one)| walk(&format!("{place}.{name}"), one, see))
        }
        _ => Ok(()),
    }
}

fn unknown(place: &str, text: &str, names: &[&str]) -> Refusal {
    nearest::miss(place, text, names.iter().copied())
        .hint("A name must be given with `ref` by an earlier operation of the same batch; a text that begins with @ is written @@.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn references_stand_for_ids_and_fields_and_texts_for_themselves() {
        let mut results = Results::default();
        let item =
            json!({ "item": { "reference_id": "EP-007", "rev": 3, "assignee": { "username": "ann" } } });
        let id = Uuid::from_u128(7);
        results.keep("e".into(), item, Some(id));
        results.keep("link".into(), json!({ "id": "42", "line": "a b c" }), None);
        let given = json!({
            "epic_id": "@e", "told": "@e.reference_id", "expect_rev": "@e.rev", "who": ["@e.assignee.username"], "link": { "id": "@link" },
            "content": "@@e", "mail": "@ann, please look", "title": "a@b", "operations": [{ "ref": "own" }, { "id": "@own" }],
        });
        let resolved = results.resolve(arguments(given)).unwrap();
        let wanted = json!({
            "epic_id": id.to_string(), "told": "EP-007", "expect_rev": 3, "who": ["ann"], "link": { "id": "42" },
            "content": "@e", "mail": "@ann, please look", "title": "a@b", "operations": [{ "ref": "own" }, { "id": "@own" }],
        });
        assert_eq!(Value::Object(resolved), wanted);
        let refused = results
            .resolve(arguments(json!({ "a": [{ "b": "@e.colour" }] })))
            .unwrap_err();
        assert_eq!(refused.faults[0].field, "arguments.a[0].b");
    }

    #[test]
    fn what_nobody_named_is_refused_with_its_place() {
        let refused = check(&arguments(json!({ "x": { "y": ["ok", "@stroy"] } })), &["story"]).unwrap_err();
        assert_eq!(refused.faults[0].field, "arguments.x.y[1]");
        assert!(refused.faults[0].problem.contains("@stroy"), "{refused:?}");
        assert!(check(&arguments(json!({ "x": "@story.id", "y": "@@any" })), &["story"]).is_ok());
        assert!(check_name("two words", &[]).is_err() && check_name("a", &["a"]).is_err());
        assert!(check_name("история-1", &["a"]).is_ok());
    }
}
