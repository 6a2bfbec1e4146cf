//! The form that stands in an open cell, by itself and within the page.

use super::cell::value;
use super::column::Field;
use super::query::TableQuery;
use super::rows::{NOBODY, known_values};
use crate::answer::{Answer, html, markup};
use crate::form::Params;
use crate::mark::{Markup, icon, priority_word};
use crate::texts::Texts;
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use spexus_domain::item::{Item, Priority};
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::{item, settings};

/// People offered by name in one cell at most; others are typed.
const MAX_NAMES: usize = 200;

/// A value that can be chosen.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) words: String,
    pub(super) is_chosen: bool,
    /// Why it cannot be chosen; empty when it can.
    pub(super) reason: String,
}

/// An open cell.
#[derive(Template)]
#[template(path = "table_cell.html")]
pub(crate) struct CellForm {
    pub(super) t: &'static Texts,
    pub(super) project: String,
    pub(super) reference: String,
    pub(super) rev: i64,
    pub(super) field: Field,
    pub(super) value: String,
    pub(super) choices: Vec<Choice>,
    /// What is wrong with what was entered.
    pub(super) fault: Option<String>,
    /// The state of the table to come back to.
    pub(super) back: TableQuery,
}

impl CellForm {
    pub(super) fn markup(&self) -> Answer<Markup> {
        markup(self)
    }
}

/// A page that is only an open cell, for the module that puts it in place.
#[derive(Template)]
#[template(path = "table_cell_only.html")]
struct CellOnly {
    cell: Markup,
}

/// The form of the cell that the address names.
pub(crate) async fn cell(visit: Visit, Path(key): Path<String>, Params(query): Params<TableQuery>) -> Answer {
    let project = visit.project(&key).await?;
    match open(&visit, &project.key, &query.tidy()).await? {
        Some(cell) => html(&CellOnly { cell: cell.markup()? }),
        None => Err(Refusal::field(Code::InvalidParams, "edit", "names no cell", "REQ-001.status").into()),
    }
}

/// The cell that a table has open; none where the caller may not change the item.
pub(super) async fn open(visit: &Visit, project: &str, query: &TableQuery) -> Answer<Option<CellForm>> {
    let Some(edit) = query.edit.as_deref() else {
        return Ok(None);
    };
    let (reference, field) = named(edit)?;
    let item = item::get(visit.service(), &visit.caller, Some(project), None, reference).await?;
    if visit
        .caller
        .may_in(Operation::UpdateItem, item.project_id)
        .is_err()
        || !field.is_of(Some(item.kind))
    {
        return Ok(None);
    }
    let now = value(field, &item);
    of_item(visit, project, &item, field, now, query.still())
        .await
        .map(Some)
}

/// A cell as addresses name it: `REQ-012.status`.
fn named(edit: &str) -> Ruled<(&str, Field)> {
    let wrong = || Refusal::field(Code::InvalidParams, "edit", "names no cell", "REQ-001.status");
    let (reference, field) = edit.split_once('.').ok_or_else(wrong)?;
    Ok((reference, Field::parse("edit", field)?))
}

/// The form for a field of an item, with something entered.
pub(super) async fn of_item(
    visit: &Visit,
    project: &str,
    item: &Item,
    field: Field,
    entered: String,
    back: TableQuery,
) -> Answer<CellForm> {
    Ok(CellForm {
        t: visit.texts(),
        project: project.to_owned(),
        reference: item.reference_id.to_string(),
        rev: item.rev,
        field,
        choices: choices(visit, item, field, &entered).await?,
        value: entered,
        fault: None,
        back,
    })
}

/// What can be chosen. A step that the workflow does not allow is shown with the reason, so that nobody tries in vain.
//= specs/spexus-web.md#tables
//# A step of the workflow that is not allowed MUST say why before it is tried.
async fn choices(visit: &Visit, item: &Item, field: Field, entered: &str) -> Answer<Vec<Choice>> {
    let t = visit.texts();
    let mut known = known_values(visit, Some(item.kind), field).await?;
    if field == Field::Owner {
        known.retain(|name| name != NOBODY);
        known.truncate(MAX_NAMES);
    }
    let workflow = match field {
        Field::Status => Some(settings::workflow(visit.service(), &visit.caller, item.kind).await?),
        _ => None,
    };
    let choice = |value: String| {
        let from = item.status.as_deref().unwrap_or_default();
        let refused = workflow
            .as_ref()
            .and_then(|workflow| workflow.step(from, &value).err());
        Choice {
            is_chosen: value == entered,
            words: match field {
                Field::Priority => value
                    .parse()
                    .ok()
                    .and_then(Priority::from_number)
                    .map_or_else(String::new, |priority| priority_word(t, priority).to_owned()),
                _ => value.clone(),
            },
            reason: refused.map(|refusal| reason(&refusal)).unwrap_or_default(),
            value,
        }
    };
    Ok(known.into_iter().map(choice).collect())
}

/// What a refusal says about the first field at fault, without its name.
pub(super) fn reason(refusal: &Refusal) -> String {
    match refusal.faults.first() {
        Some(fault) if fault.allowed.is_empty() => fault.problem.clone(),
        Some(fault) => format!("{}; {}", fault.problem, fault.allowed),
        None => refusal.message.clone(),
    }
}
