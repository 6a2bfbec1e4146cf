//! Writing a project as CSV.

use super::column::{Column, DEFAULT_COLUMNS};
use crate::context::Context;
use crate::transfer::{Exported, Progress, broken_file};
use crate::{Service, told};
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Kind, Refusal, Ruled};
use spexus_store::transfer::{self, PAGE_ROWS, Snapshot};
use spexus_store::{Conn, Error, Result};
use std::io::Write;

/// Writes the items of a project, containers before what they contain, with the columns named or the usual ones.
pub async fn export(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    columns: Option<&str>,
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> Ruled<Exported> {
    caller.may(Operation::Read)?;
    let mut snapshot = Snapshot::begin(&service.store).await.map_err(told)?;
    let conn = snapshot.conn().map_err(told)?;
    let context = Context::new(conn, caller, project).await.map_err(told)?;
    let columns = chosen(columns, &context.project)?;
    let items = write(conn, &context.project, &columns, out, progress)
        .await
        .map_err(told)?;
    snapshot.end().await.map_err(told)?;
    Ok(Exported {
        project: context.project.key,
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

async fn write(
    conn: &mut Conn,
    project: &Project,
    columns: &[Column],
    out: &mut (dyn Write + Send),
    progress: &Progress,
) -> Result<u64> {
    let mut sheet = csv::Writer::from_writer(out);
    sheet
        .write_record(columns.iter().map(Column::name))
        .map_err(broken)?;
    let mut count = 0;
    for kind in Kind::ALL {
        let mut last = 0;
        loop {
            let page = transfer::items_after(conn, project.id, kind, last).await?;
            for item in &page {
                last = item.reference_id.number();
                sheet
                    .write_record(columns.iter().map(|column| column.cell(item)))
                    .map_err(broken)?;
                count += 1;
            }
            progress(count);
            if page.len() < PAGE_ROWS as usize {
                break;
            }
        }
    }
    sheet.flush().map_err(|error| broken_file(&error))?;
    Ok(count)
}

fn broken(error: csv::Error) -> Error {
    let refusal: Refusal = broken_file(&std::io::Error::other(error.to_string()));
    refusal.into()
}
