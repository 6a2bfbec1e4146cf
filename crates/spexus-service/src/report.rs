//! Reports over a project or a part of it: how far the work has come, and where the tree has gaps.

use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_domain::report::{self, Counts, GapReport, Section};
use spexus_domain::{Ruled, Uuid};
use spexus_store::transfer::Snapshot;
use spexus_store::{Conn, Result, report as store};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

/// How far the work has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StatusReport {
    /// How many items there are.
    pub total_count: i64,
    /// The counts of each kind, by name.
    #[schema(value_type = Object)]
    pub kinds: BTreeMap<&'static str, Counts>,
}

//= specs/spexus-service.md#reports
//# A report of status and of gaps MUST be the same to agents, by REST and on the command line.
/// Counts items by kind, status, type and assignee; of the project, or of one item and what is below it.
#[boxed]
pub async fn status(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    under: Option<&str>,
) -> Ruled<StatusReport> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let (project_id, under) = scope(service, &mut conn, caller, project, under).await?;
    let tallies = store::tallies(&mut conn, project_id, under).await?;
    Ok(StatusReport {
        total_count: tallies.iter().map(|tally| tally.count).sum(),
        kinds: report::counts(&tallies),
    })
}

/// What a report of gaps is asked for.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GapQuery {
    /// The key of the project; the token's or the default one when left out.
    pub project: Option<String>,
    /// Any id: only this item and what is below it.
    pub under: Option<String>,
    /// Only this section; all of them when left out.
    #[param(inline)]
    pub section: Option<String>,
    /// Rows of each section, 1 to 200.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// `next_cursor` of a section's page before.
    pub cursor: Option<String>,
}

/// Finds gaps and contradictions; in the project, or in one item and what is below it. Each section has its whole count
/// and a page of its rows.
#[boxed]
pub async fn gaps(service: &Service, caller: &Caller, query: &GapQuery) -> Ruled<GapReport> {
    caller.may(Operation::Read)?;
    let page = PageRequest::new(query.limit, query.cursor.clone())?;
    let sections = sections(query)?;
    let mut snapshot = Snapshot::begin(&service.store, caller.user_id).await?;
    let conn = snapshot.conn()?;
    let (project, under) = (query.project.as_deref(), query.under.as_deref());
    let (project_id, under) = scope(service, conn, caller, project, under).await?;
    let scope = store::ReportScope {
        project_id,
        under,
        seen: caller.visibility().projects(),
    };
    let mut found = GapReport::default();
    for section in sections {
        let rows = store::section(conn, &scope, section, &page).await?;
        found.total_count += rows.total().at_least();
        found.sections.insert(section, rows);
    }
    snapshot.end().await?;
    Ok(found)
}

/// The section named, the one a cursor belongs to, or all.
fn sections(query: &GapQuery) -> Ruled<Vec<Section>> {
    let named = query.section.as_deref();
    let named = named.map(|name| Section::parse("section", name)).transpose()?;
    let continued = query.cursor.as_deref().map(store::section_of).transpose();
    let section = named.or(continued?);
    Ok(section.map_or_else(|| Section::ALL.to_vec(), |section| vec![section]))
}

/// The project, and the item below which to look when one is named.
async fn scope(
    service: &Service,
    conn: &mut Conn,
    caller: &Caller,
    project: Option<&str>,
    under: Option<&str>,
) -> Result<(Uuid, Option<Uuid>)> {
    let context = Context::of_read(service, conn, caller, project).await?;
    match under {
        None => Ok((context.project()?.id, None)),
        Some(id) => {
            let root = context.item(conn, "under", id, None).await?;
            Ok((root.project_id, Some(root.id)))
        }
    }
}
