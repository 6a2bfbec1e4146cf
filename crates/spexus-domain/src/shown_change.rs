//! What a reader is shown of a change: references as their projects have them, and no end of a link that may not be seen.

use crate::change::{Change, Entity, FieldChange};
use crate::id::{ProjectPrefix, shown_words};
use crate::link::HIDDEN_END;
use serde_json::Value;

/// The fields that name other items.
const NAMING_FIELDS: [&str; 6] = [
    "parent",
    "acceptance_criterion",
    "source",
    "target",
    "item",
    "items",
];

impl Change {
    /// Shows the references it names as their projects have them: the history keeps them plain. `prefix_of` knows the project
    /// of a key, and that of the change where there is none.
    pub fn show_references(&mut self, prefix_of: impl Fn(Option<&str>) -> ProjectPrefix) {
        if !self.names_items() {
            return;
        }
        self.label = shown_words(&self.label, &prefix_of);
        for field in &mut self.fields {
            field.show_references(&prefix_of);
        }
    }

    /// The keys of the projects that the label of a link between projects names.
    pub fn named_projects(&self) -> impl Iterator<Item = &str> {
        let words = self.label.split(' ').filter(|_| self.entity == Entity::Link);
        words.filter_map(|word| Some(word.split_once('/')?.0))
    }

    /// Whether its label and fields are such as name items.
    pub fn names_items(&self) -> bool {
        matches!(
            self.entity,
            Entity::Item | Entity::Link | Entity::Comment | Entity::Evidence | Entity::Review
        )
    }

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

impl FieldChange {
    /// Shows the references it names, if it is one that names items, as their projects have them.
    pub fn show_references(&mut self, prefix_of: &impl Fn(Option<&str>) -> ProjectPrefix) {
        if !NAMING_FIELDS.contains(&self.field.as_str()) {
            return;
        }
        for value in [&mut self.before, &mut self.after].into_iter().flatten() {
            if let Value::String(text) = value {
                *text = shown_words(text, prefix_of);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::change::Action;
    use uuid::Uuid;

    #[test]
    fn an_end_that_may_not_be_seen_has_no_name_left() {
        let field = |name: &str, value: &str| FieldChange {
            field: name.into(),
            before: Some(value.into()),
            after: None,
        };
        let mut change = Change {
            seq: 1,
            number: 1,
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
            intent: None,
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
}
