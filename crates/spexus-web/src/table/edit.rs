//! Changing cells: one at once, several after a preview, in one transaction.

use super::column::Field;
use super::form::{self, reason};
use super::page;
use super::query::TableQuery;
use super::rows::NOBODY;
use super::undo::Done;
use crate::answer::{Answer, Refused, faulty, html, see};
use crate::form::Form;
use crate::mark::{icon, priority_word};
use crate::shell::{Crumb, Shell, View};
use crate::texts::{ENGLISH, RUSSIAN, Texts, fill};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use spexus_domain::batch::{BatchInput, BatchResult};
use spexus_domain::item::{ItemPatch, Priority};
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Code, Refusal, Ruled, decode};
use spexus_service::{batch, item};

/// Rows found at fault in one preview at most; behind that it is the input that is wrong.
const MAX_FAULTS_SHOWN: usize = 20;

/// What the forms of the table send.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// Items with the revisions they were seen in, separated by commas: `REQ-001@3`.
    #[serde(default)]
    items: String,
    #[serde(default)]
    field: String,
    /// One value for all of them.
    #[serde(default)]
    value: String,
    /// A value for each, one a line.
    #[serde(default)]
    values: String,
    /// Whether it is one open cell, which needs no preview.
    cell: Option<String>,
    /// Whether the preview was agreed to.
    sure: Option<String>,
    /// The state of the table to come back to.
    #[serde(default)]
    back: String,
}

/// One row that is to be changed.
#[derive(Debug)]
struct Row {
    reference: String,
    rev: i64,
    value: String,
}

/// Changes one cell, or shows what changing several would do, or does that.
//= specs/spexus-web.md#safety
//# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the same.
pub(crate) async fn edit(visit: Visit, Path(key): Path<String>, Form(input): Form<Edit>) -> Answer {
    let project = visit.project(&key).await?;
    visit.caller.may_in(Operation::UpdateItem, project.id)?;
    let field = Field::parse("field", &input.field)?;
    let back = TableQuery::carried(&input.back).still();
    let rows = rows(&input)?;
    match (input.cell.is_some(), rows.as_slice()) {
        (true, [row]) => one(&visit, project, field, row, back).await,
        _ => many(&visit, project, field, &input, rows, back).await,
    }
}

/// The rows a form names, each with its value.
fn rows(input: &Edit) -> Ruled<Vec<Row>> {
    let wrong = |text: &str| {
        let problem = format!(
            "{:?} is no row of the table",
            spexus_domain::text::excerpt(text, 60)
        );
        Refusal::field(
            Code::InvalidParams,
            "items",
            problem,
            "rows that were selected, such as REQ-001@3",
        )
    };
    let picked: Vec<&str> = input
        .items
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .collect();
    if !(1..=MAX_PAGE_ROWS as usize).contains(&picked.len()) {
        let problem = format!("{} rows are selected", picked.len());
        return Err(Refusal::field(
            Code::InvalidParams,
            "items",
            problem,
            format!("1 to {MAX_PAGE_ROWS}"),
        ));
    }
    let lines: Vec<&str> = input.values.trim_end_matches('\n').split('\n').collect();
    let values = |at: usize| match input.values.trim().is_empty() {
        true => Some(input.value.clone()),
        // A single line is the value of all, as in a sheet.
        false if lines.len() == 1 => Some(lines[0].trim().to_owned()),
        false => lines.get(at).map(|line| line.trim().to_owned()),
    };
    let row = |(at, item): (usize, &&str)| {
        let (reference, rev) = item.rsplit_once('@').ok_or_else(|| wrong(item))?;
        Ok(values(at).map(|value| Row {
            reference: reference.to_owned(),
            rev: rev.parse().unwrap_or(-1),
            value,
        }))
    };
    let rows: Vec<Option<Row>> = picked.iter().enumerate().map(row).collect::<Ruled<_>>()?;
    // Rows behind the last pasted line stay as they are.
    Ok(rows.into_iter().flatten().collect())
}

/// Changes one cell. What was entered stays in the form when it cannot be kept, be it wrong or late.
//= specs/spexus-web.md#tables
//# A cell MUST be saved for the revision that was shown; one that is stale MUST be shown again with what was entered and with who
//# changed it.
async fn one(visit: &Visit, project: Project, field: Field, row: &Row, back: TableQuery) -> Answer {
    let patch = patch(field, &row.value, row.rev);
    let done = match patch {
        Ok(patch) => {
            let of = Some(project.key.as_str());
            item::update(visit.service(), &visit.caller, of, None, &row.reference, patch).await
        }
        Err(refusal) => Err(refusal),
    };
    let refusal = match done {
        Ok(item) => {
            let done = Done::one(field, &row.reference, row.rev, item.rev);
            return Ok(see(&done.after(&back).address(&project.key)));
        }
        Err(refusal) if refusal.code == Code::ResourceNotFound => return Err(refusal.into()),
        Err(refusal) => refusal,
    };
    let now = item::get(
        visit.service(),
        &visit.caller,
        Some(&project.key),
        None,
        &row.reference,
    )
    .await?;
    let mut cell = form::of_item(visit, &project.key, &now, field, row.value.clone(), back).await?;
    cell.fault = Some(match refusal.code {
        Code::StaleRevision => {
            let changes: Vec<String> = refusal
                .faults
                .iter()
                .map(|fault| format!("{} {}", fault.field, fault.problem))
                .collect();
            fill(visit.texts().stale_cell, &[&changes.join("; "), &now.rev])
        }
        _ => reason(&refusal),
    });
    page::again(visit, project, cell, &refusal).await
}

/// What changes an item for one cell.
fn patch(field: Field, value: &str, rev: i64) -> Ruled<ItemPatch> {
    let mut fields = Map::from_iter([("expect_rev".to_owned(), json!(rev))]);
    fields.insert(field.of_item().to_owned(), sent(field, value)?);
    decode::value(&Value::Object(fields))
}

/// A value as the service takes it.
fn sent(field: Field, value: &str) -> Ruled<Value> {
    let value = value.trim();
    Ok(match field {
        Field::Priority => json!(priority(value)?.number()),
        Field::Owner if value.is_empty() || is_nobody(value) => Value::Null,
        _ => json!(value),
    })
}

/// A priority by number or by its word in any language of the pages.
fn priority(value: &str) -> Ruled<Priority> {
    let lower = value.to_lowercase();
    let number = |t: &Texts| {
        let words = [t.critical, t.high, t.medium, t.low];
        let at = words.iter().position(|word| word.to_lowercase() == lower)?;
        i64::try_from(at + 1).ok()
    };
    match number(&ENGLISH)
        .or_else(|| number(&RUSSIAN))
        .and_then(Priority::from_number)
    {
        Some(priority) => Ok(priority),
        None => Priority::parse("priority", value),
    }
}

fn is_nobody(value: &str) -> bool {
    let lower = value.to_lowercase();
    [NOBODY, ENGLISH.nobody, RUSSIAN.nobody]
        .iter()
        .any(|word| word.to_lowercase() == lower)
}

#[derive(Template)]
#[template(path = "table_preview.html")]
struct Preview {
    shell: Shell,
    key: String,
    back: String,
    leave: String,
    field: Field,
    /// What will be changed.
    sure: Vec<PreviewRow>,
    /// What cannot be, with the reasons.
    refused: Vec<PreviewRow>,
    /// The rows and values of the form that does it.
    items: String,
    values: String,
    /// What is wrong with the whole.
    fault: Option<String>,
}

struct PreviewRow {
    reference: String,
    title: String,
    before: String,
    after: String,
    reason: String,
}

/// Shows what changing several rows does, or does it: all of it in one transaction, or nothing.
//= specs/spexus-web.md#tables
//# A change of several rows MUST be shown before it is made, with the reason of every row that cannot be changed, and MUST be made
//# in one transaction.
async fn many(
    visit: &Visit,
    project: Project,
    field: Field,
    input: &Edit,
    rows: Vec<Row>,
    back: TableQuery,
) -> Answer {
    let mut fault = None;
    if input.sure.is_some() {
        match run(visit, &project.key, field, &rows, false).await {
            Ok(result) => {
                let done = Done::many(
                    field,
                    rows.iter().map(|row| (row.reference.as_str(), row.rev)),
                    &result,
                );
                return Ok(see(&done.after(&back).address(&project.key)));
            }
            Err(refusal) => fault = Some(refusal),
        }
    }
    let (possible, impossible) = tried(visit, &project.key, field, rows).await?;
    let shell = visit
        .shell_in(&project, View::Table, visit.texts().preview)
        .await?;
    let shell = shell.crumbs(vec![
        Crumb::to(&project.name, format!("/p/{}", project.key)),
        Crumb::to(visit.texts().table, back.address(&project.key)),
        Crumb::here(visit.texts().preview),
    ]);
    let page = Preview {
        shell,
        leave: back.address(&project.key),
        back: back.text(),
        field,
        items: possible
            .iter()
            .map(|row| format!("{}@{}", row.reference, row.rev))
            .collect::<Vec<_>>()
            .join(","),
        values: possible
            .iter()
            .map(|row| row.value.as_str())
            .collect::<Vec<_>>()
            .join("\n"),
        sure: shown(
            visit,
            &project.key,
            field,
            possible.iter().map(|row| (row, String::new())),
        )
        .await?,
        refused: shown(
            visit,
            &project.key,
            field,
            impossible.iter().map(|(row, why)| (row, why.clone())),
        )
        .await?,
        fault: fault.as_ref().map(|refusal| refusal.message.clone()),
        key: project.key,
    };
    match fault {
        Some(refusal) => faulty(&page, &refusal),
        None => html(&page),
    }
}

/// All rows in one transaction.
async fn run(visit: &Visit, project: &str, field: Field, rows: &[Row], dry_run: bool) -> Ruled<BatchResult> {
    let mut operations = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        let value =
            sent(field, &row.value).map_err(|refusal| refusal.inside(&format!("operations[{at}].")))?;
        let mut operation = Map::from_iter([
            ("op".to_owned(), json!("update")),
            ("id".to_owned(), json!(row.reference)),
            ("expect_rev".to_owned(), json!(row.rev)),
        ]);
        operation.insert(field.of_item().to_owned(), value);
        operations.push(operation);
    }
    let input = BatchInput {
        operations,
        dry_run,
        project: Some(project.to_owned()),
        intent: None,
    };
    batch::run(visit.service(), &visit.caller, input, None).await
}

/// Tries the rows, and tells those that can be changed from those that cannot.
async fn tried(
    visit: &Visit,
    project: &str,
    field: Field,
    mut rows: Vec<Row>,
) -> Result<(Vec<Row>, Vec<(Row, String)>), Refused> {
    let mut refused = Vec::new();
    while !rows.is_empty() && refused.len() < MAX_FAULTS_SHOWN {
        let Err(refusal) = run(visit, project, field, &rows, true).await else {
            break;
        };
        let Some(at) = place(&refusal).filter(|at| *at < rows.len()) else {
            return Err(refusal.into());
        };
        refused.push((rows.remove(at), reason(&refusal)));
    }
    if refused.len() == MAX_FAULTS_SHOWN {
        // What was not tried to the end is not offered.
        let why = visit.texts().not_tried;
        refused.extend(rows.drain(..).map(|row| (row, why.to_owned())));
    }
    Ok((rows, refused))
}

/// Which operation of a batch a refusal is about.
fn place(refusal: &Refusal) -> Option<usize> {
    let field = refusal.faults.first().map(|fault| fault.field.as_str());
    let text = field
        .filter(|field| field.starts_with("operations["))
        .unwrap_or(&refusal.message);
    let (_, behind) = text.split_once("operations[")?;
    behind.split(']').next()?.parse().ok()
}

/// Rows of the preview: what each says now and what it would say.
async fn shown<'a>(
    visit: &Visit,
    project: &str,
    field: Field,
    rows: impl Iterator<Item = (&'a Row, String)>,
) -> Answer<Vec<PreviewRow>> {
    let mut found = Vec::new();
    for (row, reason) in rows {
        let now = item::get(
            visit.service(),
            &visit.caller,
            Some(project),
            None,
            &row.reference,
        )
        .await;
        let (title, before) = match &now {
            Ok(item) => (
                item.heading(),
                words(visit.texts(), field, &super::cell::value(field, item)),
            ),
            Err(_) => (String::new(), String::new()),
        };
        found.push(PreviewRow {
            reference: row.reference.clone(),
            title,
            before,
            after: words(visit.texts(), field, &row.value),
            reason,
        });
    }
    Ok(found)
}

/// A value as people read it.
fn words(t: &Texts, field: Field, value: &str) -> String {
    match field {
        Field::Priority => {
            priority(value).map_or_else(|_| value.to_owned(), |known| priority_word(t, known).to_owned())
        }
        Field::Owner if value.trim().is_empty() || is_nobody(value) => t.nobody.to_owned(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(items: &str, value: &str, values: &str) -> Edit {
        Edit {
            items: items.to_owned(),
            value: value.to_owned(),
            values: values.to_owned(),
            ..Edit::default()
        }
    }

    fn told(rows: &[Row]) -> Vec<String> {
        rows.iter()
            .map(|row| format!("{}@{}={}", row.reference, row.rev, row.value))
            .collect()
    }

    #[test]
    fn rows_have_one_value_or_one_each() {
        let all = rows(&input("REQ-001@3,REQ-002@4", "High", "")).unwrap();
        assert_eq!(told(&all), ["REQ-001@3=High", "REQ-002@4=High"]);
        let each = rows(&input("REQ-001@3,REQ-002@4,REQ-003@1", "", "a\nb, c\n")).unwrap();
        assert_eq!(
            told(&each),
            ["REQ-001@3=a", "REQ-002@4=b, c"],
            "the third has no line and stays"
        );
        let one = rows(&input("REQ-001@3,REQ-002@4", "", "a")).unwrap();
        assert_eq!(told(&one), ["REQ-001@3=a", "REQ-002@4=a"]);
        assert_eq!(rows(&input("", "x", "")).unwrap_err().faults[0].field, "items");
        assert!(rows(&input("REQ-001", "x", "")).is_err());
        assert!(rows(&input(&"REQ-001@1,".repeat(201), "x", "")).is_err());
    }

    #[test]
    fn values_are_understood_in_every_language_of_the_pages() {
        for word in ["1", "critical", "Критический"] {
            assert_eq!(sent(Field::Priority, word).unwrap(), json!(1), "{word}");
        }
        assert!(sent(Field::Priority, "urgent").is_err());
        for word in ["", "none", "Nobody", "Никто"] {
            assert_eq!(sent(Field::Owner, word).unwrap(), Value::Null, "{word}");
        }
        assert_eq!(sent(Field::Title, " A ").unwrap(), json!("A"));
    }

    #[test]
    fn a_refusal_of_a_batch_says_which_row() {
        let refusal = Refusal::field(Code::RuleViolated, "status", "no", "yes").inside("operations[12].");
        assert_eq!(place(&refusal), Some(12));
        assert_eq!(place(&Refusal::new(Code::Timeout, "late")), None);
    }
}
