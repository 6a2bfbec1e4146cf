//! Everything a check rests on, requirement by requirement: what reports, sheets, other tools and signed statements are made of. The
//! states are those of the check itself, so that no output can say anything else.

use super::check::{CheckQuery, CheckReport, TraceGap, check_in};
use super::pack::{PushHead, PushedSource};
use crate::Service;
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::trace::record::{PartKind, TestRecord};
use spexus_domain::trace::{TracedSentence, TracedSpan, TracedTest};
use spexus_domain::{Kind, Refusal, Ruled, Timestamp, Uuid};
use spexus_store::trace_whole::PushedRun;
use spexus_store::{Conn, Error, Result, trace, trace_steps, trace_whole};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A check with everything it rests on.
#[derive(Clone, Debug)]
pub struct TraceMatrix {
    /// The check.
    pub check: CheckReport,
    /// The commit that is traced; empty where nothing was pushed.
    pub commit: String,
    /// When this was read.
    pub read_at: Timestamp,
    /// The requirements, in the order of their numbers.
    pub rows: Vec<MatrixRow>,
    /// The pushes about that commit, where they were asked for.
    pub runs: Vec<EvidenceRun>,
}

/// A requirement.
#[derive(Clone, Debug)]
pub struct MatrixRow {
    /// Where it stands, as the check says.
    pub standing: TraceGap,
    /// Whether it is a gap of that check.
    pub is_gap: bool,
    /// Its text.
    pub text: String,
    /// The sentences it comes from.
    pub sentences: Vec<TracedSentence>,
    /// The code that cites it.
    pub spans: Vec<TracedSpan>,
    /// The tests that say they show it.
    pub tests: Vec<TracedTest>,
}

/// A push about the traced commit.
#[derive(Clone, Debug)]
pub struct EvidenceRun {
    /// Its id.
    pub id: Uuid,
    /// The digest of all it brought, as its project's ledger seals it.
    pub digest: String,
    /// The commit it named.
    pub commit: String,
    /// Whether it raises states: neither an agent's word nor of a tree with changes.
    pub counts: bool,
    /// What was run.
    pub command: String,
    /// Who pushed it.
    pub pushed_by: String,
    /// When.
    pub pushed_at: Timestamp,
    /// Its reports.
    pub sources: Vec<PushedSource>,
    /// The tests of requirements that it has results of.
    pub tests: BTreeSet<String>,
}

/// A check with everything it rests on; the runs behind it only on demand, because finding them reads every result of the commit.
#[boxed]
pub async fn matrix(
    service: &Service,
    caller: &Caller,
    query: &CheckQuery,
    with_runs: bool,
) -> Ruled<TraceMatrix> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, query.project.as_deref()).await?;
    let project_id = context.project()?.id;
    let mut check = check_in(service, &mut conn, &context, query).await?;
    let all = std::mem::take(&mut check.all);
    let gaps = check.gaps.iter().map(|gap| gap.item_id).collect();
    let rows = rows(&mut conn, project_id, all, &gaps)
        .await
        .map_err(Refusal::from)?;
    let commit = trace_steps::traced_commit(&mut conn, project_id).await;
    let commit = commit.map_err(Refusal::from)?.unwrap_or_default();
    let runs = match with_runs && !commit.is_empty() {
        true => runs(&mut conn, (project_id, &commit), &rows).await?,
        false => Vec::new(),
    };
    Ok(TraceMatrix {
        read_at: service.store.now(),
        check,
        commit,
        rows,
        runs,
    })
}

async fn rows(
    conn: &mut Conn,
    project_id: Uuid,
    all: Vec<TraceGap>,
    gaps: &HashSet<Uuid>,
) -> Result<Vec<MatrixRow>> {
    let mut texts = trace_whole::texts(conn, project_id, Kind::Requirement).await?;
    let mut traces = trace_whole::traces(conn, project_id).await?;
    let row = |standing: TraceGap| {
        let trace = traces.remove(&standing.item_id).unwrap_or_default();
        MatrixRow {
            is_gap: gaps.contains(&standing.item_id),
            text: texts.remove(&standing.item_id).unwrap_or_default(),
            sentences: trace.sentences,
            spans: trace.spans,
            tests: trace.tests,
            standing,
        }
    };
    Ok(all.into_iter().map(row).collect())
}

async fn runs(
    conn: &mut Conn,
    (project_id, commit): (Uuid, &str),
    rows: &[MatrixRow],
) -> Result<Vec<EvidenceRun>> {
    let tests = rows.iter().flat_map(|row| &row.tests);
    let wanted: HashSet<&str> = tests.map(|test| test.name.as_str()).collect();
    let mut runs = Vec::new();
    for pushed in trace_whole::runs_of(conn, project_id, commit).await? {
        let mut run = run(pushed)?;
        let mut after = -1;
        while let Some((place, body)) =
            trace::part_after(conn, (project_id, run.id), PartKind::Tests, after).await?
        {
            after = place;
            for line in body.lines() {
                let record: TestRecord = serde_json::from_str(line).map_err(|error| broken(&error))?;
                let name = record.full_name();
                if wanted.contains(name.as_str()) {
                    run.tests.insert(name);
                }
            }
        }
        runs.push(run);
    }
    Ok(runs)
}

fn run(pushed: PushedRun) -> Result<EvidenceRun> {
    let head: PushHead = serde_json::from_str(&pushed.head).map_err(|error| broken(&error))?;
    Ok(EvidenceRun {
        id: pushed.id,
        digest: pushed.digest,
        commit: pushed.commit,
        counts: !pushed.is_dirty && !pushed.is_reported,
        command: head.command,
        pushed_by: pushed.pushed_by,
        pushed_at: pushed.pushed_at,
        sources: head.sources,
        tests: BTreeSet::new(),
    })
}

fn broken(error: &serde_json::Error) -> Error {
    Error::Broken(format!("what was pushed cannot be read: {error}"))
}

impl TraceMatrix {
    /// The runs that have results of a test and count, by their places.
    pub fn runs_by_test(&self) -> HashMap<&str, Vec<&EvidenceRun>> {
        let mut by_test: HashMap<&str, Vec<&EvidenceRun>> = HashMap::new();
        for run in self.runs.iter().filter(|run| run.counts) {
            for test in &run.tests {
                by_test.entry(test.as_str()).or_default().push(run);
            }
        }
        by_test
    }
}
