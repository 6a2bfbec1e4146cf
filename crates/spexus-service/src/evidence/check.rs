//! The gate: which requirements stand below a rung, and what to do about each.

use super::affected::{ChangedSince, only_affected};
use super::ground::as_it_reads;
use super::past::Past;
use super::read::{is_waiver, unknown};
use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::page_key::PageKey;
use spexus_domain::permission::Operation;
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::trace::{ReviewKind, Rung, TraceFlag};
use spexus_domain::{Kind, ProjectPrefix, Ruled, ShownReference, Timestamp, Uuid};
use spexus_store::trace::{self, BriefRow, ReviewRow, TracedItem};
use spexus_store::{Conn, Result, settings};
use std::collections::{BTreeMap, HashMap, HashSet};
use utoipa::{IntoParams, ToSchema};

/// What is checked.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CheckQuery {
    /// The key of the project; the token's or the default one when left out.
    pub project: Option<String>,
    /// The rung every requirement must stand on; `passed` when left out.
    pub level: Option<String>,
    /// The name of a baseline: only gaps that were none when it was made.
    pub baseline: Option<String>,
    /// Only requirements that a change of the sources can have touched.
    #[serde(skip)]
    #[param(ignore)]
    pub changed: Option<ChangedSince>,
    /// Rows of the page, 1 to 200.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// A requirement that stands too low.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TraceGap {
    /// Its id, for what is read beside it.
    #[serde(skip)]
    pub(super) item_id: Uuid,
    /// Its reference id.
    pub reference_id: ShownReference,
    /// Its title.
    pub title: String,
    /// The rung it stands on.
    pub state: Rung,
    /// What stands beside that.
    pub flags: Vec<TraceFlag>,
    /// The weakest link, and what to do about it.
    pub weakest: String,
}

impl PageKey for TraceGap {
    fn page_key(&self) -> String {
        format!("{:020}", self.reference_id.number())
    }
}

/// What the gate says.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CheckReport {
    /// The project.
    pub project: String,
    /// The rung every requirement must stand on.
    pub level: Rung,
    /// Whether they all do.
    pub holds: bool,
    /// The baseline it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Gaps that were there when that baseline was made, and so are not told again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps_before: Option<usize>,
    /// The commit since which a change had to touch a requirement for it to be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<String>,
    /// How many requirements were looked at.
    pub checked: usize,
    /// How many stand on which rung.
    #[schema(value_type = Object)]
    pub states: BTreeMap<&'static str, usize>,
    /// Those that stand too low.
    pub gaps: Vec<TraceGap>,
    /// All that were looked at, for outputs that list them.
    #[serde(skip)]
    pub all: Vec<TraceGap>,
}

/// Checks every living requirement whose work has not ended by being given up.
#[boxed]
pub async fn check(service: &Service, caller: &Caller, query: &CheckQuery) -> Ruled<CheckReport> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, query.project.as_deref()).await?;
    check_in(service, &mut conn, &context, query).await
}

/// Checks on a connection that is open already.
pub(super) async fn check_in(
    service: &Service,
    conn: &mut Conn,
    context: &Context,
    query: &CheckQuery,
) -> Ruled<CheckReport> {
    let level = level(query)?;
    let project = context.project()?;
    let now = service.store.now();
    let rows = trace::brief(conn, project.id, Kind::Requirement).await?;
    let mut all = living(conn, (project.id, &project.prefix()), rows, now).await?;
    if let Some(changed) = &query.changed {
        all = only_affected(conn, project.id, changed, all).await?;
    }
    let mut states: BTreeMap<&'static str, usize> = BTreeMap::new();
    for row in &all {
        *states.entry(row.state.name()).or_default() += 1;
    }
    let is_gap = |row: &&TraceGap| row.state < level && !row.flags.contains(&TraceFlag::Waived);
    let mut gaps: Vec<TraceGap> = all.iter().filter(is_gap).cloned().collect();
    let mut gaps_before = None;
    if let Some(name) = &query.baseline {
        let past = Past::at(conn, project.id, name).await?;
        let found = gaps.len();
        gaps.retain(|gap| !past.had_gap(gap.item_id, level));
        gaps_before = Some(found - gaps.len());
    }
    Ok(CheckReport {
        project: project.key.clone(),
        level,
        holds: gaps.is_empty(),
        baseline: query.baseline.clone(),
        gaps_before,
        changed_since: query.changed.as_ref().map(|changed| changed.commit.clone()),
        checked: all.len(),
        states,
        gaps,
        all,
    })
}

/// The requirements that stand too low, page by page.
#[boxed]
pub async fn gaps(service: &Service, caller: &Caller, query: &CheckQuery) -> Ruled<Page<TraceGap>> {
    let page = PageRequest::new(query.limit, query.cursor.clone())?;
    let found = check(service, caller, query).await?;
    Ok(Page::whole(found.gaps).part(&page))
}

fn level(query: &CheckQuery) -> Ruled<Rung> {
    match &query.level {
        Some(name) => Rung::parse("level", name),
        None => Ok(Rung::Passed),
    }
}

/// Where the requirements below an item stand that are not given up.
pub(crate) async fn requirements_below(
    conn: &mut Conn,
    item: &Item,
    now: Timestamp,
) -> Result<Vec<TraceGap>> {
    let rows = trace::brief_below(conn, item.project_id, item.id).await?;
    let place = (item.project_id, item.reference_id.prefix());
    living(conn, place, rows, now).await
}

/// Those of the requirements of a project that are not given up, as they are shown.
async fn living(
    conn: &mut Conn,
    (project_id, prefix): (Uuid, &ProjectPrefix),
    mut rows: Vec<BriefRow>,
    now: Timestamp,
) -> Result<Vec<TraceGap>> {
    let said = trace::reviews(conn, project_id, None).await?;
    read_edited(conn, project_id, &mut rows, &said).await?;
    let waived: HashSet<Uuid> = said
        .iter()
        .filter(|row| is_waiver(row, now))
        .map(|row| row.item_id)
        .collect();
    let workflow = settings::workflow(conn, Kind::Requirement).await?;
    let ended = workflow.into_iter().flat_map(|workflow| workflow.statuses);
    let ended: HashSet<String> = ended
        .filter(|status| status.is_final)
        .map(|status| status.name)
        .collect();
    let living = rows.into_iter().filter(|row| !ended.contains(&row.status));
    Ok(living.map(|row| row_of(row, prefix, &waived)).collect())
}

/// Requirements read again in one step.
const STEP_EDITED: usize = 500;

/// Requirements that were edited since they were traced stand where their text puts them now.
async fn read_edited(
    conn: &mut Conn,
    project_id: Uuid,
    rows: &mut [BriefRow],
    said: &[ReviewRow],
) -> Result<()> {
    let mut edited: Vec<&mut BriefRow> = rows.iter_mut().filter(|row| row.is_moved).collect();
    if edited.is_empty() {
        return Ok(());
    }
    let affirmed = said.iter().filter(|row| row.kind == ReviewKind::Affirmed);
    let affirmed: HashMap<Uuid, &ReviewRow> = affirmed.map(|row| (row.item_id, row)).collect();
    for some in edited.chunks_mut(STEP_EDITED) {
        let numbers: Vec<i64> = some.iter().map(|row| row.reference.number()).collect();
        let found = trace::traced_items(conn, project_id, Kind::Requirement, &numbers).await?;
        let mut found: HashMap<Uuid, TracedItem> =
            found.into_iter().map(|item| (item.item.id, item)).collect();
        for row in some {
            let Some(TracedItem {
                item,
                state: Some(state),
                ..
            }) = found.remove(&row.item_id)
            else {
                continue;
            };
            let label = row.reference.to_string();
            let words = (label.as_str(), item.title.as_str(), item.description.as_str());
            let affirmed = affirmed.get(&row.item_id).copied();
            let trace = as_it_reads(state, words, &item.content_hash, affirmed);
            (row.state, row.flags, row.weakest) = (trace.state, trace.flags, trace.weakest);
        }
    }
    Ok(())
}

fn row_of(row: BriefRow, prefix: &ProjectPrefix, waived: &HashSet<Uuid>) -> TraceGap {
    let label = row.reference.to_string();
    let (state, mut flags, mut weakest) = (row.state, row.flags, row.weakest);
    if waived.contains(&row.item_id) {
        flags.push(TraceFlag::Waived);
    }
    if state == Rung::None && weakest.is_empty() {
        weakest = unknown(&label).weakest;
    }
    let reference_id = prefix.show(row.reference);
    TraceGap {
        item_id: row.item_id,
        weakest: reference_id.show_in(&weakest),
        reference_id,
        title: row.title,
        state,
        flags,
    }
}
