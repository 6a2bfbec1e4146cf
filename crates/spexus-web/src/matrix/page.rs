//! The page of the matrix.

use super::query::{MatrixQuery, relations};
use super::window::{self, Column, State, Window};
use crate::answer::{Answer, html};
use crate::form::Params;
use crate::mark::{Markup, escaped, icon, kind_word, kinds_word};
use crate::shell::{Shell, View};
use crate::texts::{Texts, fill};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use spexus_domain::Kind;
use spexus_domain::item::Item;
use spexus_domain::query::Total;
use spexus_domain::text;
use spexus_service::settings;

#[derive(Template)]
#[template(path = "matrix.html")]
struct MatrixPage {
    shell: Shell,
    key: String,
    heading: String,
    size: String,
    query: MatrixQuery,
    kinds: Vec<(Kind, &'static str)>,
    rows_kind: Kind,
    rows_words: &'static str,
    columns_kind: Kind,
    relations: Vec<(String, bool)>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    columns_left_out: usize,
    truncated: bool,
    cell: String,
    csv: String,
    turned: String,
    next: Option<String>,
}

/// One row.
struct Row {
    reference: String,
    title: String,
    /// The cells; a row without any link is one cell that says so.
    cells: Option<Markup>,
    sum: String,
}

/// The matrix at `/p/KEY/matrix`.
pub(crate) async fn page(
    visit: Visit,
    Path(key): Path<String>,
    Params(query): Params<MatrixQuery>,
) -> Answer {
    let project = visit.project(&key).await?;
    let t = visit.texts();
    let query = query.tidy();
    let (rows_kind, columns_kind) = query.kinds()?;
    let link = query.link()?;
    let window = window::read(&visit, &project.key, &query).await?;
    let types = settings::link_types(visit.service(), &visit.caller).await?.data;
    let known = relations(&types, rows_kind, columns_kind);
    let heading = fill(
        t.kinds_by_kinds,
        &[&kinds_word(t, rows_kind), &kinds_word(t, columns_kind)],
    );
    let next = window.next.clone().map(|cursor| {
        let there = MatrixQuery {
            cursor: Some(cursor),
            ..query.clone()
        };
        there.address(&project.key)
    });
    let turned = MatrixQuery {
        rows: Some(columns_kind.name().to_owned()),
        columns: Some(rows_kind.name().to_owned()),
        ..MatrixQuery::default()
    };
    let cell = format!(
        "/p/{}/matrix/cell?{}link={}",
        project.key,
        carried(&query),
        link.clone().unwrap_or_default()
    );
    let shell = visit.shell_in(&project, View::Matrix, heading.clone()).await?;
    html(&MatrixPage {
        shell,
        size: size(t, &window),
        relations: known
            .into_iter()
            .map(|name| (name.clone(), link.as_deref() == Some(name.as_str())))
            .collect(),
        kinds: Kind::ALL.map(|kind| (kind, kind_word(t, kind))).to_vec(),
        rows_words: kind_word(t, rows_kind),
        rows: window
            .rows
            .iter()
            .map(|item| row(t, &window, item, &cell))
            .collect(),
        columns_left_out: window.columns_left_out,
        truncated: window.truncated,
        csv: format!("/p/{}/matrix.csv?{}", project.key, query.text()),
        turned: turned.address(&project.key),
        columns: window.columns,
        key: project.key,
        heading,
        query,
        rows_kind,
        columns_kind,
        cell,
        next,
    })
}

/// The state of the matrix for the pages of its cells to come back to.
fn carried(query: &MatrixQuery) -> String {
    let back = query.text();
    let text: String = form_urlencoded::byte_serialize(back.as_bytes()).collect();
    format!("back={text}&")
}

fn size(t: &Texts, window: &Window) -> String {
    let rows = match window.total {
        Total::Exact(rows) => text::grouped(rows),
        Total::AtLeast(rows) => fill(t.at_least, &[&text::grouped(rows)]),
    };
    fill(t.matrix_size, &[&window.rows.len(), &rows, &window.columns.len()])
}

fn row(t: &Texts, window: &Window, item: &Item, cell: &str) -> Row {
    let (all, suspect) = window.counts(item.id);
    let reference = item.reference_id.to_string();
    let mut cells = String::new();
    for column in &window.columns {
        match window.cell(item.id, column.id) {
            None => cells.push_str("<td></td>"),
            Some(state) => {
                let (class, glyph, words) = match state {
                    State::Linked => ("ok", "link", t.linked),
                    State::Suspect => ("sus", "suspect", t.suspect),
                };
                cells.push_str(&format!(
                    "<td class=\"{class}\"><a href=\"{}&amp;row={reference}&amp;column={}\" title=\"{reference} – {}: {words}\">{}\
                     <span class=\"sr\">{words}</span></a></td>",
                    escaped(cell),
                    escaped(&full(column, &item.project)),
                    escaped(&column.reference),
                    icon(glyph)
                ));
            }
        }
    }
    Row {
        title: item.heading(),
        cells: (all > 0).then_some(Markup(cells)),
        sum: match suspect {
            0 => all.to_string(),
            _ => fill(t.sum_with_suspect, &[&all, &suspect]),
        },
        reference,
    }
}

/// The reference of a column, with its project where that is another one.
fn full(column: &Column, project: &str) -> String {
    match column.project == project {
        true => column.reference.clone(),
        false => format!("{}/{}", column.project, column.reference),
    }
}
