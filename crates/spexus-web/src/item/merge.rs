//! What two people made of the same item, put together: what only one of them changed is taken, what both changed alike too;
//! for the rest somebody has to choose.

use super::words;
use serde_json::Value;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Change, Entity};
use std::collections::BTreeSet;

/// What became of one field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Merged {
    pub(super) field: String,
    pub(super) before: Value,
    pub(super) theirs: Value,
    pub(super) mine: Value,
    pub(super) outcome: Outcome,
}

/// Whose change of a field stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Only they changed it, or both did alike.
    Theirs,
    /// Only I changed it.
    Mine,
    /// Both did; a text that holds both changes where one can be made.
    Clash(Option<String>),
}

/// The fields as they were in an earlier revision: the changes since then undone, newest first.
pub(super) fn at_revision(now: &Attributes, newest_first: &[Change], rev: i64) -> Attributes {
    let mut fields = now.clone();
    let later = newest_first
        .iter()
        .filter(|change| change.entity == Entity::Item && change.rev > rev);
    for field in later.flat_map(|change| &change.fields) {
        match &field.before {
            Some(value) => fields.insert(field.field.clone(), value.clone()),
            None => fields.remove(&field.field),
        };
    }
    fields
}

/// Field by field, what differs from before. Fields that are not in the form are theirs alone.
pub(super) fn merge(before: &Attributes, theirs: &Attributes, mine: &Attributes) -> Vec<Merged> {
    let names: BTreeSet<&String> = theirs.keys().chain(before.keys()).chain(mine.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| merge_one(name, before, theirs, mine))
        .collect()
}

fn merge_one(name: &str, before: &Attributes, theirs: &Attributes, mine: &Attributes) -> Option<Merged> {
    let value = |fields: &Attributes| fields.get(name).cloned().unwrap_or(Value::Null);
    let (before, theirs, mine) = (value(before), value(theirs), value(mine));
    let outcome = match (theirs == before, mine == before) {
        (true, true) => return None,
        (false, true) => Outcome::Theirs,
        (true, false) => Outcome::Mine,
        (false, false) if theirs == mine => Outcome::Theirs,
        (false, false) => Outcome::Clash(both(name, &before, &theirs, &mine)),
    };
    Some(Merged {
        field: name.to_owned(),
        before,
        theirs,
        mine,
        outcome,
    })
}

/// One text with both changes, for what is text.
fn both(name: &str, before: &Value, theirs: &Value, mine: &Value) -> Option<String> {
    if !["title", "description"].contains(&name) {
        return None;
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    words::merged(&text(before), &text(theirs), &text(mine))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Attributes {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn what_does_not_clash_is_merged() {
        let before = fields(
            json!({"title": "A", "priority": 2, "status": "Draft", "description": "one two three four five"}),
        );
        let theirs = fields(
            json!({"title": "B", "priority": 2, "status": "Active", "description": "one 2 three four five"}),
        );
        let mine = fields(
            json!({"title": "A", "priority": 1, "status": "Obsolete", "description": "one two three four 5"}),
        );
        let found: Vec<(String, Outcome)> = merge(&before, &theirs, &mine)
            .into_iter()
            .map(|merged| (merged.field, merged.outcome))
            .collect();
        assert_eq!(
            found,
            [
                (
                    "description".into(),
                    Outcome::Clash(Some("one 2 three four 5".into()))
                ),
                ("priority".into(), Outcome::Mine),
                ("status".into(), Outcome::Clash(None)),
                ("title".into(), Outcome::Theirs),
            ]
        );
    }
}
