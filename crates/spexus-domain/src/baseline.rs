//! Baselines: names for positions in the history, and what changed between two of them.

use crate::{
    Kind, ShownReference, Timestamp, attribute::Attributes, change::FieldChange, page_key::PageKey,
    told::is_shown,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A named position in the history of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Baseline {
    /// Its id.
    pub id: Uuid,
    /// The key of its project.
    pub project: String,
    /// Its name, unique in the project.
    pub name: String,
    /// What it stands for.
    pub description: String,
    /// The last change it covers.
    pub seq: i64,
    /// The hash that seals the history up to there.
    pub hash: String,
    /// Who made it.
    pub created_by: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl PageKey for Baseline {
    fn page_key(&self) -> String {
        format!("{:020}.{}", self.seq, self.id)
    }
}

/// What is needed to make a baseline.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBaseline {
    /// Its name, unique in the project.
    pub name: String,
    /// What it stands for.
    #[serde(default)]
    pub description: String,
    /// The project, when it is not the caller's usual one.
    pub project: Option<String>,
}

/// What happened to one item between two positions.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ItemDifference {
    /// The item.
    pub id: Uuid,
    /// Its reference id.
    pub reference_id: ShownReference,
    /// Its kind.
    pub kind: Kind,
    /// Its title now.
    pub title: String,
    /// Whether it was added, removed or changed.
    pub difference: Difference,
    /// What changed, field by field.
    pub fields: Vec<FieldChange>,
}

/// How an item differs between two positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// It is there only later.
    Added,
    /// It is there only earlier.
    Removed,
    /// It is there both times and differs.
    Changed,
}

/// The changes of one item, oldest first, folded into one difference as they come: only what was first and what is last
/// is kept, however many there are.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    first: Option<bool>,
    there: bool,
    before: Attributes,
    after: Attributes,
}

impl Fold {
    /// The next change: whether it was there before and is there after, and the fields of both.
    pub fn push(&mut self, was: bool, is: bool, was_fields: &Attributes, is_fields: Attributes) {
        self.first.get_or_insert(was);
        self.there = is;
        for (field, value) in was_fields {
            if !self.before.contains_key(field) && !self.after.contains_key(field) {
                self.before.insert(field.clone(), value.clone());
            }
            self.after.remove(field);
        }
        self.after
            .extend(is_fields.into_iter().filter(|(field, _)| is_shown(field)));
    }

    /// What remains of them; `None` when nothing does.
    pub fn finish(self) -> Option<(Difference, Vec<FieldChange>)> {
        let (before, after) = crate::change::difference(self.before, self.after);
        let difference = match (self.first?, self.there) {
            (false, true) => Difference::Added,
            (true, false) => Difference::Removed,
            (true, true) if before.is_empty() && after.is_empty() => return None,
            (true, true) => Difference::Changed,
            (false, false) => return None,
        };
        Some((difference, crate::change::field_changes(before, after)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    type Step = (bool, bool, Attributes, Attributes);

    fn fold(steps: impl IntoIterator<Item = Step>) -> Option<(Difference, Vec<FieldChange>)> {
        let mut fold = Fold::default();
        for (was, is, before, after) in steps {
            fold.push(was, is, &before, after);
        }
        fold.finish()
    }

    fn step(was: bool, is: bool, before: Value, after: Value) -> (bool, bool, Attributes, Attributes) {
        (
            was,
            is,
            before.as_object().unwrap().clone(),
            after.as_object().unwrap().clone(),
        )
    }

    #[test]
    fn several_edits_fold_into_first_before_and_last_after() {
        let folded = fold([
            step(true, true, json!({"title": "a"}), json!({"title": "b"})),
            step(
                true,
                true,
                json!({"title": "b", "status": "Draft"}),
                json!({"title": "c", "status": "Done"}),
            ),
            step(true, true, json!({"status": "Done"}), json!({"status": "Draft"})),
        ]);
        let (difference, fields) = folded.unwrap();
        assert_eq!(difference, Difference::Changed);
        assert_eq!(
            serde_json::to_value(fields).unwrap(),
            json!([{"field": "title", "before": "a", "after": "c"}])
        );
    }

    #[test]
    fn what_came_and_went_leaves_no_difference() {
        assert_eq!(
            fold([
                step(false, true, json!({}), json!({"title": "a"})),
                step(true, false, json!({"title": "a"}), json!({}))
            ]),
            None
        );
        let back = [
            step(true, true, json!({"title": "a"}), json!({"title": "b"})),
            step(true, true, json!({"title": "b"}), json!({"title": "a"})),
        ];
        assert_eq!(fold(back), None);
    }

    #[test]
    fn a_field_that_was_empty_before_stays_empty_before() {
        let folded = fold([
            step(true, true, json!({}), json!({"assignee": "kim"})),
            step(true, true, json!({"assignee": "kim"}), json!({"assignee": "lee"})),
        ]);
        assert_eq!(
            serde_json::to_value(folded.unwrap().1).unwrap(),
            json!([{"field": "assignee", "after": "lee"}])
        );
    }
}
