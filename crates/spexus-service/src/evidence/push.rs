//! Pushing evidence: read, kept, sealed and made sense of in one transaction.

use super::derive::{Derivation, DerivedProject, Incoming, TraceHead, as_it_stands};
use super::pack::{EvidenceSource, Packed, PushedSource};
use crate::Service;
use crate::context::Context;
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::{Caller, Scope};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::trace::record::SourceMark;
use spexus_domain::{Code, Refusal, Ruled, Timestamp, Uuid, text};
use spexus_store::trace::{self, PushDigest, PushMark, PushRow, head_of_digest};
use spexus_store::{Error, Result, Tx};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use utoipa::ToSchema;

/// Characters of a commit.
const COMMIT_CHARS: std::ops::RangeInclusive<usize> = 7..=64;

/// What is pushed.
pub struct NewPush {
    /// The project; the token's or the usual one when left out.
    pub project: Option<String>,
    /// The commit it is about, in hexadecimal digits.
    pub commit: String,
    /// When that commit was made; decides which of two pushes is about the later one.
    pub committed_at: Option<Timestamp>,
    /// Whether the working tree had changes that are in no commit.
    pub is_dirty: bool,
    /// What was run.
    pub command: String,
    /// The reports.
    pub sources: Vec<EvidenceSource>,
    /// The marks of the tree, where it was scanned; none at all is not the same as none found.
    pub marks: Option<Vec<SourceMark>>,
}

/// What a push came to.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PushAnswer {
    /// Its id.
    pub id: Uuid,
    /// The commit it is about.
    pub commit: String,
    /// Whether the same was pushed before, so that nothing was done.
    pub already_known: bool,
    /// Whether it is an agent's word, which raises no state.
    pub reported: bool,
    /// Whether it is about a working tree with changes, which raises no state.
    pub dirty: bool,
    /// What each report came to.
    pub sources: Vec<PushedSource>,
    /// Marks of the tree.
    pub marks: u64,
    /// Ids that are named and are no items of the project.
    pub unknown_ids: Vec<String>,
    /// The commit that is traced now.
    pub traced_commit: String,
    /// How many items stand on which rung now, of those of which anything is known.
    #[schema(value_type = Object)]
    pub states: BTreeMap<&'static str, u64>,
}

/// Keeps evidence about a commit and finds out what it makes of each item. The same push again does nothing.
//= specs/spexus-service.md#evidence
//# A push MUST be kept and sealed, and its items MUST be derived, in one transaction.
#[boxed]
pub async fn push(service: &Service, caller: &Caller, input: NewPush) -> Ruled<PushAnswer> {
    caller.may(Operation::PushEvidence)?;
    let commit = commit(&input.commit)?;
    let command = text::description("command", &input.command)?;
    let NewPush {
        sources,
        marks,
        project,
        committed_at,
        is_dirty,
        ..
    } = input;
    if sources.is_empty() && marks.is_none() {
        let problem = "there is nothing to push";
        return Err(Refusal::field(
            Code::InvalidParams,
            "reports",
            problem,
            "a report, coverage or the marks of a tree",
        ));
    }
    let has_marks = marks.is_some();
    let packing = tokio::task::spawn_blocking(move || Packed::read(sources, marks));
    let mut packed = packing
        .await
        .map_err(|error| Refusal::from(Error::Broken(error.to_string())))??;
    packed.head.command = command;
    let head = serde_json::to_string(&packed.head)
        .map_err(|error| Refusal::from(Error::Broken(error.to_string())))?;
    let mut row = PushRow {
        id: PLANNED,
        number: 0,
        digest: [0; 32],
        commit,
        ordered_at: Timestamp(0),
        is_dirty,
        is_reported: is_reported(caller),
        has_marks,
        head,
        pushed_by: caller.user_id,
        pushed_at: Timestamp(0),
    };
    row.digest = digest(&packed, &row);
    row.ordered_at = ordered_at(committed_at, service.store.now())?;
    let brought = Arc::new((packed, row));
    let mut answered = None;
    for tries_left in (0..MAX_PLANS).rev() {
        let planned = plan(service, caller, project.as_deref(), &brought).await?;
        let attempt = Attempt {
            brought: brought.clone(),
            planned: Arc::new(planned),
            is_last: tries_left == 0,
            derives_everything: service.derives_everything,
        };
        answered = attempt.run(service, caller, project.as_deref()).await?;
        if answered.is_some() {
            break;
        }
    }
    answered.ok_or_else(|| Error::Broken("a push came to nothing".into()).into())
}

/// How far a clock elsewhere may be ahead of ours.
const MAX_AHEAD_SECONDS: i64 = 86_400;

/// When the commit was made, or else when this came. One that is yet to be made would keep every later one from being traced.
//= specs/spexus-service.md#evidence
//# A push for a commit that is more than a day ahead of the clock MUST be refused.
fn ordered_at(committed_at: Option<Timestamp>, now: Timestamp) -> Ruled<Timestamp> {
    match committed_at {
        Some(at) if at.0 > now.0 + MAX_AHEAD_SECONDS * 1_000_000 => {
            let problem = format!("{at} is yet to come: it is {now}");
            Err(Refusal::field(
                Code::InvalidParams,
                "committed_at",
                problem,
                "the time of the commit by a clock that goes right",
            ))
        }
        at => Ok(at.unwrap_or(now)),
    }
}

/// How often it is found out anew what a push changes, where something came between; then it is found out inside of its transaction.
const MAX_PLANS: u32 = 4;

/// One transaction of a push.
#[derive(Clone)]
struct Attempt {
    brought: Arc<(Packed, PushRow)>,
    planned: Arc<Planned>,
    is_last: bool,
    derives_everything: bool,
}

impl Attempt {
    /// Keeps the push; nothing where something came between that changes what it derives.
    async fn run(
        self,
        service: &Service,
        caller: &Caller,
        project: Option<&str>,
    ) -> Ruled<Option<PushAnswer>> {
        let job = service.change_in(
            caller,
            Operation::PushEvidence,
            (project, None),
            move |tx, context| {
                Box::pin(async move {
                    let project = context.project()?.clone();
                    tx.takes_many_steps();
                    self.keep(tx, (project.id, &project.key, self.derives_everything))
                        .await
                })
            },
        );
        job.await
    }

    async fn keep(&self, tx: &mut Tx, place: DerivedProject<'_>) -> Result<Option<PushAnswer>> {
        let (packed, row) = &*self.brought;
        let (mut row, project_id) = (row.clone(), place.0);
        row.number = trace::next_number(&mut tx.conn, project_id).await?;
        //= specs/spexus-service.md#evidence
        //# The same push again MUST do nothing and answer as the first did.
        if let Some(known) = trace::push_by_digest(&mut tx.conn, project_id, &row.digest).await? {
            let (head, ids) = as_it_stands(&mut tx.conn, place, &packed.head.ids).await?;
            return Ok(Some(answer(packed, known, (&head, &ids), true)));
        }
        let found;
        let derivation = match &*self.planned {
            Some((at, planned)) if *at == project_id && planned.still_holds(&mut tx.conn, *at).await? => {
                planned
            }
            _ if !self.is_last => return Ok(None),
            _ => {
                found = Derivation::of_push(&mut tx.conn, place, &incoming(packed, &row)).await?;
                &found
            }
        };
        row.id = tx.new_id();
        row.pushed_at = tx.now();
        trace::insert_push(tx, project_id, &row).await?;
        for (ordinal, (kind, body)) in packed.parts.iter().enumerate() {
            trace::insert_part(tx, (project_id, row.id), ordinal, *kind, body.clone()).await?;
        }
        tx.record(change(project_id, packed, &row)).await?;
        derivation.keep(tx, project_id, Some((PLANNED, row.id))).await?;
        let derived = (derivation.head(), derivation.known());
        Ok(Some(answer(packed, row, derived, false)))
    }
}

/// An agent's push is its word, unless its token is for evidence and nothing else: such a token is CI's.
//= specs/spexus-service.md#evidence
//# What an agent pushes MUST be kept as reported, unless its token has the scope `evidence`.
fn is_reported(caller: &Caller) -> bool {
    caller.is_agent && caller.scope != Scope::Evidence
}

fn commit(text: &str) -> Ruled<String> {
    let commit = text.trim().to_ascii_lowercase();
    let is_hex = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || !COMMIT_CHARS.contains(&commit.len()) {
        let problem = format!("{:?} is no commit", text::excerpt(text, 60));
        return Err(Refusal::field(
            Code::InvalidParams,
            "commit",
            problem,
            "7 to 64 hexadecimal digits",
        ));
    }
    Ok(commit)
}

/// The id of a push before it is kept.
const PLANNED: Uuid = Uuid::nil();

/// What a push changes in which project, found out before its transaction begins.
type Planned = Option<(Uuid, Derivation)>;

/// Finds out what a push changes while others may still write. Nobody waits for that.
async fn plan(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    (packed, row): &(Packed, PushRow),
) -> Ruled<Planned> {
    let mut conn = service.store.read().await?;
    let context = Context::new(&mut conn, caller, Operation::PushEvidence, project).await?;
    let project = context.project()?;
    if trace::push_by_digest(&mut conn, project.id, &row.digest)
        .await?
        .is_some()
    {
        return Ok(None);
    }
    let mut row = row.clone();
    row.number = trace::next_number(&mut conn, project.id).await?;
    let place = (project.id, project.key.as_str(), service.derives_everything);
    let derivation = Derivation::of_push(&mut conn, place, &incoming(packed, &row)).await?;
    Ok(Some((project.id, derivation)))
}

fn incoming<'a>(packed: &'a Packed, row: &PushRow) -> Incoming<'a> {
    Incoming {
        mark: PushMark {
            id: row.id,
            number: row.number,
            commit: row.commit.clone(),
            ordered_at: row.ordered_at,
            is_dirty: row.is_dirty,
            is_reported: row.is_reported,
            has_marks: row.has_marks,
        },
        ids: &packed.head.ids,
        parts: &packed.parts,
    }
}

fn digest(packed: &Packed, row: &PushRow) -> [u8; 32] {
    let head = head_of_digest(&row.commit, row.is_dirty, row.is_reported, &row.head);
    let mut digest = PushDigest::new(&head);
    for (ordinal, (kind, body)) in packed.parts.iter().enumerate() {
        digest.add(ordinal, *kind, body);
    }
    digest.finish()
}

/// The push in the ledger of its project.
fn change(project_id: Uuid, packed: &Packed, row: &PushRow) -> NewChange {
    let sum = |count: fn(&PushedSource) -> u64| packed.head.sources.iter().map(count).sum::<u64>();
    let fields = [
        ("commit", row.commit.clone().into()),
        ("digest", hex::encode(row.digest).into()),
        ("dirty", row.is_dirty.into()),
        ("reported", row.is_reported.into()),
        ("passed", sum(|source| source.passed).into()),
        ("failed", sum(|source| source.failed).into()),
        ("errors", sum(|source| source.errors).into()),
        ("skipped", sum(|source| source.skipped).into()),
        ("marks", packed.head.marks.into()),
    ];
    let after: Attributes = fields
        .into_iter()
        .map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value))
        .collect();
    let label = format!("evidence of {}", row.commit.get(..12).unwrap_or(&row.commit));
    NewChange::new(Entity::Evidence, row.id, label, Action::Created, 1)
        .in_project(project_id)
        .fields(None, after)
}

fn answer(
    packed: &Packed,
    row: PushRow,
    (head, known): (&TraceHead, &HashSet<String>),
    already_known: bool,
) -> PushAnswer {
    let is_unknown = |id: &&String| !known.contains(*id);
    PushAnswer {
        id: row.id,
        commit: row.commit,
        already_known,
        reported: row.is_reported,
        dirty: row.is_dirty,
        sources: packed.head.sources.clone(),
        marks: packed.head.marks,
        unknown_ids: packed
            .head
            .ids
            .iter()
            .filter(is_unknown)
            .take(MAX_UNKNOWN)
            .cloned()
            .collect(),
        traced_commit: head.commit.clone(),
        states: head
            .states
            .iter()
            .map(|(rung, count)| (rung.name(), *count))
            .collect(),
    }
}

/// Ids that are told at most.
const MAX_UNKNOWN: usize = 1_000;
