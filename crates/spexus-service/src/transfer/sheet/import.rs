//! Reading CSV: a header of field names, then a row for each item.

use super::column::{Column, Field};
use super::formula::unguarded;
use crate::Service;
use crate::transfer::rows::{self, Row, Rows};
use crate::transfer::{Imported, Input, Progress, broken_file, refused_at};
use async_recursion::async_recursion as boxed;
use serde_json::Value;
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::item::{ItemPatch, Priority};
use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled, text};
use std::io::BufRead as _;

/// Makes and changes items as the sheet says, all of it or nothing.
#[boxed]
pub async fn import(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    input: Input,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Imported> {
    rows::apply(service, caller, project, read(input)?, vec![], dry_run, progress).await
}

fn read(mut input: Input) -> Ruled<Rows> {
    let delimiter = delimiter(input.fill_buf().map_err(|error| broken_file(&error))?);
    let mut sheet = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(input);
    let header = sheet.headers().map_err(|error| unreadable(&error))?.clone();
    let columns = header
        .iter()
        .map(|name| Column::parse("header", name))
        .collect::<Ruled<Vec<_>>>()
        .map_err(|refusal| refused_at(1, refusal))?;
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].contains(column) {
            let problem = format!("{:?} stands twice", column.name());
            return Err(refused_at(
                1,
                Refusal::field(Code::InvalidParams, "header", problem, "each column once"),
            ));
        }
    }
    let row = move |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.map_err(|error| unreadable(&error))?;
        let line = record.position().map_or(0, csv::Position::line);
        row(&columns, &record, line).map_err(|refusal| refused_at(line, refusal))
    };
    Ok(Box::new(sheet.into_records().map(row)))
}

/// Spreadsheets of some languages separate cells by semicolons.
fn delimiter(beginning: &[u8]) -> u8 {
    let header = beginning.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |wanted: u8| header.iter().filter(|byte| **byte == wanted).count();
    if count(b';') > count(b',') { b';' } else { b',' }
}

fn row(columns: &[Column], record: &csv::StringRecord, line: u64) -> Ruled<Row> {
    let mut row = Row {
        line,
        ..Row::default()
    };
    let mut attributes = Attributes::new();
    // What the item is decides what an empty cell means, wherever its column stands.
    let naming = |column: &Column| matches!(column, Column::Field(Field::ReferenceId | Field::Kind));
    let (first, rest): (Vec<_>, Vec<_>) = columns.iter().zip(record).partition(|(column, _)| naming(column));
    for (column, cell) in first.into_iter().chain(rest) {
        let cell = unguarded(cell);
        match column {
            Column::Attribute(name) => {
                attributes.insert(name.clone(), value(&cell));
            }
            Column::Field(field) => put(&mut row, *field, &cell)?,
        }
    }
    if !attributes.is_empty() {
        row.patch.attributes = Some(attributes);
    }
    Ok(row)
}

fn put(row: &mut Row, field: Field, cell: &str) -> Ruled<()> {
    let given = Some(cell.trim()).filter(|cell| !cell.is_empty());
    let has = |wanted: fn(&spexus_domain::kind::KindRules) -> bool, kind: Option<Kind>| {
        kind.is_none_or(|kind| wanted(kind.rules()))
    };
    let ItemPatch {
        title,
        description,
        status,
        priority,
        requirement_type,
        acceptance_criterion,
        assignee,
        expect_rev,
        ..
    } = &mut row.patch;
    match field {
        Field::ReferenceId => cell.trim().clone_into(&mut row.name),
        Field::Kind => row.kind = given.map(|cell| Kind::parse("kind", cell)).transpose()?,
        Field::Title => *title = given.map(str::to_owned),
        Field::Description => *description = Some(cell.to_owned()),
        Field::Status => *status = given.map(str::to_owned),
        Field::Priority => *priority = given.map(|cell| Priority::parse("priority", cell)).transpose()?,
        Field::Type => *requirement_type = given.map(str::to_owned),
        Field::Parent => row.parent = given.map(str::to_owned),
        // An empty cell of a kind that has no such field says nothing.
        Field::AcceptanceCriterion => {
            let clears = has(|rules| rules.has_type, known_kind(&row.name, row.kind));
            *acceptance_criterion = (given.is_some() || clears).then(|| given.map(str::to_owned));
        }
        Field::Assignee => {
            let clears = has(|rules| rules.has_assignee, known_kind(&row.name, row.kind));
            *assignee = (given.is_some() || clears).then(|| given.map(str::to_owned));
        }
        Field::Rev => {
            let number = |cell: &str| {
                cell.parse().map_err(|_| {
                    Refusal::field(
                        Code::InvalidParams,
                        "rev",
                        format!("{:?} is not a number", text::excerpt(cell, 60)),
                        "a revision, or nothing",
                    )
                })
            };
            *expect_rev = given.map(number).transpose()?;
        }
        Field::Id
        | Field::Project
        | Field::Creator
        | Field::Position
        | Field::CreatedAt
        | Field::UpdatedAt => {}
    }
    Ok(())
}

fn known_kind(name: &str, kind: Option<Kind>) -> Option<Kind> {
    kind.or_else(|| AnyId::parse("reference_id", name).ok()?.kind())
}

/// A number, true or false where the cell is one; nothing where it is empty; else its text.
fn value(cell: &str) -> Value {
    match serde_json::from_str(cell) {
        _ if cell.is_empty() => Value::Null,
        Ok(plain @ (Value::Number(_) | Value::Bool(_))) => plain,
        _ => cell.into(),
    }
}

fn unreadable(error: &csv::Error) -> Refusal {
    let line = error.position().map_or(1, csv::Position::line);
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("has {len} cells, the header has {expected_len}"),
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8 text".to_owned(),
        _ => text::excerpt(&error.to_string(), 200),
    };
    refused_at(
        line,
        Refusal::field(
            Code::InvalidParams,
            "row",
            problem,
            "CSV with a header of field names, in UTF-8",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Ruled<Row>> {
        match read(Box::new(std::io::Cursor::new(text.to_owned().into_bytes()))) {
            Ok(rows) => rows.collect(),
            Err(refusal) => vec![Err(refusal)],
        }
    }

    #[test]
    fn a_header_names_fields_and_cells_fill_them() {
        let read =
            rows("\u{feff}Reference ID;title;priority;assignee;attributes.points\nUS-1;\"a;\nb\";high;;3\n");
        let row = read[0].as_ref().unwrap();
        assert_eq!((row.line, row.name.as_str()), (2, "US-1"));
        assert_eq!(row.patch.title.as_deref(), Some("a;\nb"));
        assert_eq!(row.patch.assignee, Some(None));
        assert_eq!(row.patch.attributes.as_ref().unwrap()["points"], 3);
    }

    #[test]
    fn an_empty_cell_of_a_field_the_kind_has_not_says_nothing() {
        let read = rows("reference_id,assignee,acceptance_criterion\nAC-1,,\n");
        let row = read[0].as_ref().unwrap();
        assert_eq!(
            (&row.patch.assignee, &row.patch.acceptance_criterion),
            (&None, &None)
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let message = |text: &str| rows(text).into_iter().find_map(Result::err).unwrap().message;
        assert_eq!(message("titel\nx\n"), "line 1: header: \"titel\" is not known");
        assert_eq!(
            message("title,title\nx,y\n"),
            "line 1: header: \"title\" stands twice"
        );
        assert_eq!(
            message("title,kind\na,epic\nb\n"),
            "line 3: row: has 1 cells, the header has 2"
        );
        assert_eq!(
            message("title,priority\na,urgent\n"),
            "line 2: priority: \"urgent\" is not a priority"
        );
        assert_eq!(message("title,rev\na,x\n"), "line 2: rev: \"x\" is not a number");
    }
}
