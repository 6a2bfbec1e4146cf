//! Writing a project as CSV.

use super::column::{Column, DEFAULT_COLUMNS};
use super::formula::guarded;
use crate::Service;
use crate::context::Context;
use crate::transfer::{Exported, Progress, broken_file};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::query::{ItemFilter, Order, PageRequest};
use spexus_domain::{Kind, Refusal, Ruled};
use spexus_store::transfer::{self, PAGE_ROWS, Snapshot};
use spexus_store::{Conn, Error, Result, listing};
use std::io::Write;

/// How a sheet is written.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The columns, by name and separated by commas; the usual ones when left out.
    pub columns: Option<String>,
    /// Only this epic and what is below it.
    pub epic: Option<String>,
    /// Whether cells that look like formulas stay as they are.
    pub formulas: bool,
    /// Whether the file begins with a mark that tells spreadsheets it is UTF-8.
    pub mark: bool,
}

/// Writes the items of a project, or with an epic those of the epic, containers before what they contain.
#[boxed]
pub async fn export(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    layout: &Layout,
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> Ruled<Exported> {
    caller.may(Operation::Read)?;
    let mut snapshot = Snapshot::begin(&service.store, caller.user_id).await?;
    let conn = snapshot.conn()?;
    let context = Context::new(conn, caller, Operation::Read, project).await?;
    let project = context.project()?;
    let columns = chosen(layout.columns.as_deref(), project)?;
    if layout.mark {
        out.write_all("\u{feff}".as_bytes())
            .map_err(|error| broken_file(&error))?;
    }
    let mut sheet = Sheet {
        out: csv::Writer::from_writer(out),
        columns,
        formulas: layout.formulas,
        progress,
        items: 0,
    };
    let written = match &layout.epic {
        None => sheet.project(conn, project).await,
        Some(id) => match context.item(conn, "epic", id, Some(Kind::Epic)).await {
            Ok(epic) => sheet.epic(conn, &epic).await,
            Err(error) => Err(error),
        },
    };
    let items = written?;
    snapshot.end().await?;
    Ok(Exported {
        project: project.key.clone(),
        items,
        ..Exported::default()
    })
}

/// The columns named, or the usual ones and one for each attribute the project knows.
fn chosen(columns: Option<&str>, project: &Project) -> Ruled<Vec<Column>> {
    let names = columns
        .unwrap_or(DEFAULT_COLUMNS)
        .split(',')
        .filter(|name| !name.trim().is_empty());
    let mut chosen = names
        .map(|name| Column::parse("columns", name))
        .collect::<Ruled<Vec<_>>>()?;
    if columns.is_none() {
        chosen.extend(
            project
                .attributes
                .iter()
                .map(|rule| Column::Attribute(rule.name.clone())),
        );
    }
    Ok(chosen)
}

/// A sheet that is being written.
struct Sheet<'a> {
    out: csv::Writer<&'a mut (dyn Write + Send)>,
    columns: Vec<Column>,
    formulas: bool,
    progress: &'a Progress,
    items: u64,
}

impl Sheet<'_> {
    async fn project(&mut self, conn: &mut Conn, project: &Project) -> Result<u64> {
        self.header()?;
        for kind in Kind::ALL {
            let mut last = 0;
            loop {
                let page = transfer::items_after(conn, project.id, kind, last).await?;
                for item in &page {
                    last = item.reference_id.number();
                    self.row(item)?;
                }
                if page.len() < PAGE_ROWS as usize {
                    break;
                }
            }
        }
        self.end()
    }

    async fn epic(&mut self, conn: &mut Conn, epic: &Item) -> Result<u64> {
        self.header()?;
        self.row(epic)?;
        for kind in Kind::ALL {
            let below = ItemFilter {
                under: Some(epic.id),
                kinds: vec![kind],
                ..ItemFilter::default()
            };
            let mut request = PageRequest {
                limit: PAGE_ROWS,
                ..PageRequest::default()
            };
            loop {
                let page = listing::items(conn, &below, Order::default(), &request).await?;
                for item in &page.data {
                    self.row(item)?;
                }
                request.cursor = page.next_cursor;
                if request.cursor.is_none() {
                    break;
                }
            }
        }
        self.end()
    }

    fn header(&mut self) -> Result<()> {
        let names = self.columns.iter().map(Column::name);
        self.out.write_record(names).map_err(broken)
    }

    fn row(&mut self, item: &Item) -> Result<()> {
        let formulas = self.formulas;
        let cell = |column: &Column| match formulas {
            true => column.cell(item),
            false => guarded(column.cell(item)),
        };
        self.out
            .write_record(self.columns.iter().map(cell))
            .map_err(broken)?;
        self.items += 1;
        (self.progress)(self.items);
        Ok(())
    }

    fn end(&mut self) -> Result<u64> {
        self.out.flush().map_err(|error| broken_file(&error))?;
        Ok(self.items)
    }
}

fn broken(error: csv::Error) -> Error {
    let refusal: Refusal = broken_file(&std::io::Error::other(error.to_string()));
    refusal.into()
}
