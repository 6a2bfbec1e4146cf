//! The matrix as a file: all of its rows, window by window.

use super::query::MatrixQuery;
use super::window::{self, Column, State};
use crate::answer::Answer;
use crate::form::Params;
use crate::visit::Visit;
use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use spexus_domain::limits::MAX_PAGE_ROWS;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows of one file at most; whoever wants more takes a part of the project.
const MAX_ROWS: usize = 10_000;

/// A row of the file.
struct Row {
    reference: String,
    title: String,
    cells: BTreeMap<String, State>,
}

/// The file.
//= specs/spexus-web.md#networks
//# The file of a matrix MUST hold every row, and no cell of it MUST be read as a formula.
pub(crate) async fn file(
    visit: Visit,
    Path(key): Path<String>,
    Params(query): Params<MatrixQuery>,
) -> Answer {
    let project = visit.project(&key).await?;
    let mut query = MatrixQuery {
        cursor: None,
        limit: Some(MAX_PAGE_ROWS),
        ..query.tidy()
    };
    let (mut rows, mut columns) = (Vec::new(), BTreeMap::new());
    loop {
        let window = window::read_whole(&visit, &project.key, &query).await?;
        for item in &window.rows {
            let cells = window.columns.iter().filter_map(|column| {
                let state = window.cell(item.id, column.id)?;
                Some((name(column, &project.key), state))
            });
            rows.push(Row {
                reference: item.reference_id.to_string(),
                title: item.heading(),
                cells: cells.collect(),
            });
        }
        columns.extend(
            window
                .columns
                .iter()
                .map(|column| (column.place(), name(column, &project.key))),
        );
        match window.next {
            Some(next) if rows.len() < MAX_ROWS => query.cursor = Some(next),
            _ => break,
        }
    }
    let kind = HeaderValue::from_static("text/csv; charset=utf-8");
    let named = format!("attachment; filename=\"matrix-{}.csv\"", project.key);
    let named = HeaderValue::try_from(named).unwrap_or(HeaderValue::from_static("attachment"));
    let text = written(&rows, columns.values());
    Ok((
        [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, named)],
        text,
    )
        .into_response())
}

fn name(column: &Column, project: &str) -> String {
    match column.project == project {
        true => column.reference.clone(),
        false => format!("{}/{}", column.project, column.reference),
    }
}

fn written<'a>(rows: &[Row], columns: impl Iterator<Item = &'a String> + Clone) -> String {
    let mut text = String::from("reference_id,title");
    for column in columns.clone() {
        let _ = write!(text, ",{}", field(column));
    }
    text.push_str("\r\n");
    for row in rows {
        let _ = write!(text, "{},{}", field(&row.reference), field(&row.title));
        for column in columns.clone() {
            text.push_str(match row.cells.get(column) {
                None => ",",
                Some(State::Linked) => ",linked",
                Some(State::Suspect) => ",suspect",
            });
        }
        text.push_str("\r\n");
    }
    text
}

/// A field as sheets read it; what they would take for a formula is text.
fn field(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        "'"
    } else {
        ""
    };
    match text.contains([',', '"', '\n', '\r']) || !guard.is_empty() {
        true => format!("\"{guard}{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-web.md#networks
    //= type=test
    //# The file of a matrix MUST hold every row, and no cell of it MUST be read as a formula.
    #[test]
    fn a_file_has_its_rows_and_no_formula() {
        let rows = [
            Row {
                reference: "REQ-001".into(),
                title: "=1+1, \"really\"".into(),
                cells: BTreeMap::from([("AC-002".to_owned(), State::Suspect)]),
            },
            Row {
                reference: "REQ-002".into(),
                title: "plain".into(),
                cells: BTreeMap::from([("AC-001".to_owned(), State::Linked)]),
            },
        ];
        let columns = ["AC-001".to_owned(), "AC-002".to_owned()];
        assert_eq!(
            written(&rows, columns.iter()),
            "reference_id,title,AC-001,AC-002\r\nREQ-001,\"'=1+1, \"\"really\"\"\",,suspect\r\nREQ-002,plain,linked,\r\n"
        );
    }
}
