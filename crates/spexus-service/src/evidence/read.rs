//! Where one item stands: a point read.

use super::check::{TraceGap, requirements_below};
use super::ground::as_it_reads;
use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::trace::{ItemTrace, ReviewKind, TestStanding, TraceFlag};
use spexus_domain::{Kind, Refusal, Ruled, ShownReference, Timestamp};
use spexus_store::trace::{self, ReviewRow};
use spexus_store::{Conn, Result};
use utoipa::ToSchema;

/// Tests and spans that one answer shows.
const MAX_SHOWN: usize = 200;

/// Where an item stands, and which item that is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TraceAnswer {
    /// Its reference id.
    pub reference_id: ShownReference,
    /// Its title.
    pub title: String,
    /// How many tests it has; the first of them are shown, those that did not pass in front.
    pub tests_total: usize,
    /// How many places cite it; the first of them are shown.
    pub spans_total: usize,
    /// What people said about its evidence, the last of each kind.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewAnswer>,
    /// Where it stands, and what that rests on.
    #[serde(flatten)]
    pub trace: ItemTrace,
}

/// Where an item stands and why; with a kind, only of that kind.
#[boxed]
pub async fn trace(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    kind: Option<Kind>,
    id: &str,
) -> Ruled<TraceAnswer> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let item = context.item(&mut conn, "id", id, kind).await?;
    read_trace(&mut conn, item, service.store.now())
        .await
        .map_err(Refusal::from)
}

//= specs/spexus-service.md#evidence
//# Whoever asks where an item stands, by whatever surface, MUST be told the same.
/// Where an item stands at a time: its state, what an edit since then did to it, and what was said about it.
pub(crate) async fn read_trace(conn: &mut Conn, item: Item, now: Timestamp) -> Result<TraceAnswer> {
    let kept = trace::state(conn, item.project_id, item.id).await?;
    let label = item.reference_id.plain().to_string();
    let said = trace::reviews(conn, item.project_id, Some(item.id)).await?;
    let affirmed = said.iter().find(|row| row.kind == ReviewKind::Affirmed);
    let words = (label.as_str(), item.title.as_str(), item.description.as_str());
    let mut trace = match kept {
        Some(row) => as_it_reads(row, words, &item.content_hash, affirmed),
        None => unknown(&label),
    };
    if matches!(item.kind, Kind::Epic | Kind::UserStory) {
        roll_up(&requirements_below(conn, &item, now).await?, &mut trace);
    }
    if said.iter().any(|row| is_waiver(row, now)) {
        trace.flags.push(TraceFlag::Waived);
    }
    trace.weakest = item.reference_id.show_in(&trace.weakest);
    let (tests_total, spans_total) = (trace.tests.len(), trace.spans.len());
    // What is wrong comes first where not everything is shown.
    trace
        .tests
        .sort_by_key(|test| test.standing == TestStanding::Passed);
    trace.tests.truncate(MAX_SHOWN);
    trace.spans.sort_by_key(|span| span.executed);
    trace.spans.truncate(MAX_SHOWN);
    Ok(TraceAnswer {
        reference_id: item.reference_id,
        title: item.title,
        tests_total,
        spans_total,
        reviews: said.into_iter().map(ReviewAnswer::from).collect(),
        trace,
    })
}

/// What holds requirements stands where the lowest of them does.
//= specs/spexus-service.md#evidence
//# The state of an epic and of a story MUST be the lowest of the requirements below it that are not waived.
fn roll_up(below: &[TraceGap], trace: &mut ItemTrace) {
    let counted = below.iter().filter(|row| !row.flags.contains(&TraceFlag::Waived));
    let Some(lowest) = counted.clone().min_by_key(|row| row.state) else {
        return;
    };
    trace.state = lowest.state;
    trace.weakest = match lowest.weakest.as_str() {
        "" => String::new(),
        weakest => format!(
            "{} of {} requirements is {}. {weakest}",
            lowest.reference_id,
            below.len(),
            lowest.state.name()
        ),
    };
    trace
        .flags
        .extend(counted.flat_map(|row| row.flags.iter().copied()));
    trace.flags.sort_unstable();
    trace.flags.dedup();
}

/// Whether a review is a waiver that still holds.
//= specs/spexus-service.md#evidence
//# A waiver MUST have an end, and MUST take its item out of the gate until then and no longer.
pub(super) fn is_waiver(row: &ReviewRow, now: Timestamp) -> bool {
    row.kind == ReviewKind::Waived && row.expires_at.is_some_and(|end| end > now)
}

/// What was said about the evidence of an item.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReviewAnswer {
    /// What.
    pub kind: ReviewKind,
    /// Why.
    pub why: String,
    /// Who.
    pub reviewer: String,
    /// When.
    pub reviewed_at: Timestamp,
    /// Until when it holds, where it does not hold for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl From<ReviewRow> for ReviewAnswer {
    fn from(row: ReviewRow) -> Self {
        Self {
            kind: row.kind,
            why: row.why,
            reviewer: row.reviewer,
            reviewed_at: row.reviewed_at,
            expires_at: row.expires_at,
        }
    }
}

/// An item of which nothing was pushed.
pub(super) fn unknown(label: &str) -> ItemTrace {
    let mut trace = ItemTrace::default();
    spexus_domain::trace::derive(label, &mut trace, Default::default());
    trace
}
