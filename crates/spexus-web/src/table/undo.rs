//! Undoing what was just done in the table: the values before are in the history, so the address only says which revisions.

use super::column::Field;
use super::query::TableQuery;
use crate::answer::{Answer, see};
use crate::form::Form;
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use axum::extract::Path;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use spexus_domain::batch::{BatchInput, BatchResult};
use spexus_domain::change::Entity;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::query::PageRequest;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::{batch, item};

/// Changes of an item looked through for the one to undo; others may have commented or linked meanwhile.
const CHANGES_LOOKED_AT: u32 = 50;

/// What was done: a field of some items, each in the revision that resulted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Done {
    field: Field,
    items: Vec<(String, i64)>,
}

impl Done {
    pub(super) fn one(field: Field, reference: &str, before: i64, after: i64) -> Self {
        let changed = (after != before).then(|| (reference.to_owned(), after));
        Self {
            field,
            items: changed.into_iter().collect(),
        }
    }

    pub(super) fn many<'a>(
        field: Field,
        rows: impl Iterator<Item = (&'a str, i64)>,
        result: &BatchResult,
    ) -> Self {
        let changed = rows
            .zip(&result.results)
            .filter(|((_, before), now)| now.rev != *before);
        Self {
            field,
            items: changed
                .map(|((reference, _), now)| (reference.to_owned(), now.rev))
                .collect(),
        }
    }

    /// As the address has it: `status:REQ-001@4,REQ-002@7`.
    pub(super) fn text(&self) -> String {
        let items: Vec<String> = self
            .items
            .iter()
            .map(|(reference, rev)| format!("{reference}@{rev}"))
            .collect();
        format!("{}:{}", self.field.name(), items.join(","))
    }

    pub(super) fn read(text: Option<&str>) -> Option<Self> {
        let (field, items) = text?.split_once(':')?;
        let item = |text: &str| {
            let (reference, rev) = text.rsplit_once('@')?;
            Some((reference.to_owned(), rev.parse().ok()?))
        };
        let items: Vec<(String, i64)> = items.split(',').map(item).collect::<Option<_>>()?;
        let field = Field::parse("undo", field).ok()?;
        (items.len() <= MAX_PAGE_ROWS as usize).then_some(Self { field, items })
    }

    /// The table as it was, saying what was done.
    pub(super) fn after(&self, back: &TableQuery) -> TableQuery {
        TableQuery {
            undo: (!self.items.is_empty()).then(|| self.text()),
            ..back.still()
        }
    }

    pub(super) fn words(&self, t: &Texts) -> String {
        match self.items.as_slice() {
            [(reference, rev)] => fill(t.cell_saved, &[reference, &self.field.words(t), rev]),
            many => fill(t.rows_changed, &[&many.len(), &self.field.words(t)]),
        }
    }
}

/// What the button sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    #[serde(default)]
    undo: String,
    #[serde(default)]
    back: String,
}

/// Gives the items the values they had before, in one transaction; whoever was changed again meanwhile is not touched.
//= specs/spexus-web.md#tables
//# What was changed in a table MUST be undone as a whole or not at all, and never what others have changed since.
pub(crate) async fn undo(visit: Visit, Path(key): Path<String>, Form(input): Form<Undo>) -> Answer {
    let project = visit.project(&key).await?;
    let wrong = || {
        Refusal::field(
            Code::InvalidParams,
            "undo",
            "names nothing that was done",
            "status:REQ-001@4",
        )
    };
    let done = Done::read(Some(&input.undo)).ok_or_else(wrong)?;
    let mut operations = Vec::with_capacity(done.items.len());
    for (reference, rev) in &done.items {
        operations.push(reversed(&visit, &project.key, done.field, reference, *rev).await?);
    }
    let batch = BatchInput {
        operations,
        dry_run: false,
        project: Some(project.key.clone()),
        intent: None,
    };
    batch::run(visit.service(), &visit.caller, batch, None).await?;
    Ok(see(&TableQuery::carried(&input.back)
        .still()
        .address(&project.key)))
}

/// The operation that takes one change back.
async fn reversed(
    visit: &Visit,
    project: &str,
    field: Field,
    reference: &str,
    rev: i64,
) -> Ruled<Map<String, Value>> {
    let page = PageRequest::new(Some(CHANGES_LOOKED_AT), None)?;
    let changes = item::history(
        visit.service(),
        &visit.caller,
        Some(project),
        None,
        reference,
        page,
    )
    .await?;
    let change = changes
        .data
        .into_iter()
        .find(|change| change.entity == Entity::Item && change.rev == rev);
    let name = field.of_item();
    let before = change.and_then(|change| change.fields.into_iter().find(|changed| changed.field == name));
    let missing = || {
        Refusal::new(
            Code::ResourceNotFound,
            format!("revision {rev} of {reference} did not change {name}"),
        )
    };
    let before = before.ok_or_else(missing)?.before.unwrap_or(Value::Null);
    Ok(Map::from_iter([
        ("op".to_owned(), json!("update")),
        ("id".to_owned(), json!(reference)),
        ("expect_rev".to_owned(), json!(rev)),
        (name.to_owned(), before),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_carried_in_the_address() {
        let done = Done::read(Some("status:REQ-001@4,REQ-002@7")).unwrap();
        assert_eq!(done.text(), "status:REQ-001@4,REQ-002@7");
        assert_eq!(Done::one(Field::Title, "REQ-001", 3, 4).text(), "title:REQ-001@4");
        let nothing = Done::one(Field::Title, "REQ-001", 3, 3);
        assert_eq!(
            nothing.after(&TableQuery::default()),
            TableQuery::default(),
            "nothing changed, nothing to undo"
        );
        for wrong in ["", "status", "colour:REQ-001@4", "status:REQ-001", "status:"] {
            assert_eq!(Done::read(Some(wrong)), None, "{wrong}");
        }
    }
}
