//! Verifying the ledgers of changes: what is found, and how it is put together.

use crate::arrival;
use crate::audit_verification::TrailVerdict;
use crate::checkpointed_ends::CheckpointedEnds;
use crate::dropped_segments::{self, Segment};
use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::ledger_head::{Head, LedgerHead, former, hash};
use crate::ledger_origin::{self, Arrival, LedgerOrigin};
use crate::ledger_walk::{self, Piece, Walked};
use crate::state_verdict::StateVerdict;
use serde::Serialize;
use spexus_domain::Uuid;
use spexus_domain::change::{FormerHead, FormerRow, Payload, Sealed, project_of};
use spexus_domain::checkpoint::Checkpoint;
use std::collections::BTreeMap;

/// What verifying the ledgers found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// How many changes were looked at.
    pub changes: i64,
    /// The first place that does not fit, with what is wrong there.
    pub fault: Option<ChainFault>,
    /// One hash over the ends of all ledgers, to be kept elsewhere.
    pub head: String,
    /// Every ledger, as far as it can be trusted.
    pub ledgers: Vec<LedgerVerdict>,
    /// Changes whose time is before that of the change in front of them: a clock that went wrong, not a fault of the
    /// ledgers.
    pub earlier: Earlier,
    /// Changes that somebody's words were taken out of.
    pub erased: i64,
    /// The one chain there was before there were ledgers, which every ledger begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<Former>,
    /// Items, comments and links held against what the history made of them, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateVerdict>,
    /// The audit trail, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trail: Option<TrailVerdict>,
}

impl Verdict {
    /// Whether nothing was found that was tampered with.
    pub fn is_whole(&self) -> bool {
        self.fault.is_none()
            && self.state.as_ref().is_none_or(|state| state.differing == 0)
            && self.trail.as_ref().is_none_or(|trail| trail.faults.is_empty())
    }
}

/// The chain of a whole installation, as it was when it was brought into ledgers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Former {
    /// How many changes it had.
    pub changes: i64,
    /// Its last hash.
    pub head: String,
}

/// What verifying one ledger found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerVerdict {
    /// The project, or the nil UUID for the installation.
    pub ledger: Uuid,
    /// The number of the last change that can be trusted.
    pub trusted: i64,
    /// Its hash.
    pub hash: String,
    /// The first place that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<ChainFault>,
    /// Up to which change it was dropped by retention; what is trusted begins behind that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<i64>,
    /// Where it began, when that was at another installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Arrival>,
}

/// Changes told to have happened before the one in front of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Earlier {
    /// How many there are.
    pub count: i64,
    /// The number of the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seq: Option<i64>,
}

impl Earlier {
    pub(crate) fn note(&mut self, seq: i64) {
        self.count += 1;
        self.first_seq.get_or_insert(seq);
    }
}

/// A place in the history that was tampered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainFault {
    /// The number of the change among all.
    pub seq: i64,
    /// What is wrong.
    pub problem: String,
}

/// Rows read in one step.
const STEP_ROWS: u32 = 1_000;

/// Changes of one ledger that are walked along in one piece, where several are walked along at once.
pub(crate) const PIECE_CHANGES: i64 = 20_000;

/// Reads the whole history and checks every ledger of it.
pub async fn verify(conn: &mut Conn) -> Result<Verdict> {
    verify_against(conn, &[]).await
}

/// Reads the whole history and checks every ledger of it, also against checkpoints that were kept elsewhere; then that baselines
/// still name what they were made on.
pub async fn verify_against(conn: &mut Conn, checkpoints: &[Checkpoint]) -> Result<Verdict> {
    verify_watched(conn, checkpoints, &|_| {}).await
}

pub(crate) async fn verify_watched(
    conn: &mut Conn,
    checkpoints: &[Checkpoint],
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Verdict> {
    let begun = Begun::read(conn, checkpoints).await?;
    let mut walked = Vec::new();
    for piece in pieces(conn, &begun, i64::MAX).await? {
        walked.push(ledger_walk::walk(conn, piece, &begun, progress).await?);
    }
    let former_fault = recompute_former(conn, &begun).await?;
    finish(conn, &begun, walked, former_fault).await
}

/// What is known before the ledgers are walked along.
pub(crate) struct Begun {
    pub(crate) former: FormerHead,
    /// What was dropped of ledgers.
    segments: BTreeMap<Uuid, Segment>,
    /// What ledgers begin with that did not begin here.
    origins: BTreeMap<Uuid, LedgerOrigin>,
    pub(crate) kept: CheckpointedEnds,
    fault: Option<ChainFault>,
}

impl Begun {
    pub(crate) async fn read(conn: &mut Conn, checkpoints: &[Checkpoint]) -> Result<Self> {
        let sql = "SELECT changes, head, fault_seq, fault FROM former_history";
        let row = conn.optional(sql, params![]).await?;
        let kept = CheckpointedEnds::of(conn, checkpoints).await?;
        //= specs/spexus-store.md#history
        //# A fault of the former history that was found when it was brought into ledgers MUST be told by every verification.
        let told = row.as_ref().map(|row| match row.opt_int("fault_seq") {
            Ok(Some(seq)) => row.text("fault").map(|problem| Some(ChainFault { seq, problem })),
            other => other.map(|_| None),
        });
        Ok(Self {
            former: row.as_ref().map_or(Ok(FormerHead::NONE), former)?,
            fault: told.transpose()?.flatten().or_else(|| kept.fault.clone()),
            origins: ledger_origin::all(conn).await?,
            segments: dropped_segments::all(conn).await?,
            kept,
        })
    }

    /// What a ledger begins with, or what is kept of it.
    pub(crate) fn genesis(&self, ledger: Uuid) -> LedgerHead {
        if let Some(segment) = self.segments.get(&ledger) {
            return LedgerHead::behind(segment);
        }
        let origin = self.origins.get(&ledger);
        LedgerHead::genesis(origin.map_or(self.former, |origin| origin.former), ledger)
    }

    /// Whether a ledger did not come here with this change, though it came as far as that.
    pub(crate) fn is_another_arrival(&self, ledger: Uuid, end: &LedgerHead) -> bool {
        let came = self.origins.get(&ledger);
        came.is_some_and(|origin| origin.number == end.number && origin.hash != end.hash)
    }

    /// Finds ledgers that end before a checkpoint says, or before where they came here.
    //= specs/spexus-store.md#history
    //# Verification MUST find a ledger that ends before the last change that came with it, or has another in its place.
    fn cut_off(&self, ledgers: &BTreeMap<Uuid, Walked>) -> Vec<(Uuid, String)> {
        let ends = |ledger: Uuid| {
            let walked = ledgers.get(&ledger);
            let begin = self.genesis(ledger);
            walked.map_or(begin, |walked| walked.trusted(begin)).number
        };
        let mut cut_off = self.kept.cut_off(ends);
        for (ledger, segment) in &self.segments {
            if let Some(Err(problem)) = self.kept.agrees(*ledger, segment.number, &segment.hash) {
                cut_off.push((*ledger, problem));
            }
        }
        for (ledger, origin) in &self.origins {
            let (end, came) = (ends(*ledger), origin.number);
            let is_whole = ledgers.get(ledger).is_none_or(|walked| walked.fault.is_none());
            if end < came && is_whole {
                let problem = format!("the ledger came here with {came} changes, and ends with {end}");
                cut_off.push((*ledger, problem));
            }
        }
        cut_off
    }
}

/// The ledgers, oldest change first, in pieces of at most about so many changes.
pub(crate) async fn pieces(conn: &mut Conn, begun: &Begun, max_changes: i64) -> Result<Vec<Piece>> {
    let sql = "SELECT ledger, min(number) AS first, max(number) AS last, count(*) AS n FROM change GROUP BY ledger ORDER BY ledger";
    let mut pieces = Vec::new();
    for row in &conn.all(sql, params![]).await? {
        let (first, last, count) = (row.int("first")?, row.int("last")?, row.int("n")?);
        // A ledger without a right name is missed by the one it was taken from.
        let Ok(ledger) = row.id("ledger") else {
            continue;
        };
        let dropped = begun.segments.get(&ledger).map(|segment| segment.number);
        if dropped.is_some_and(|dropped| last <= dropped) {
            continue;
        }
        let parts = count / max_changes.max(1) + 1;
        let step = last.saturating_sub(first) / parts + 1;
        let mut after = dropped.unwrap_or(i64::MIN);
        for part in 1..=parts {
            let until = match part == parts {
                true => i64::MAX,
                false => first.saturating_add(step.saturating_mul(part)),
            };
            if until > after {
                pieces.push(Piece { ledger, after, until });
                after = until;
            }
        }
    }
    Ok(pieces)
}

/// Computes the former chain again, and compares it at its end. Nothing can be said once something of it was erased or dropped.
pub(crate) async fn recompute_former(conn: &mut Conn, begun: &Begun) -> Result<Option<ChainFault>> {
    let former = begun.former;
    if !begun.segments.is_empty() {
        return Ok(None);
    }
    let (mut head, mut seq) = (FormerHead::NONE.hash, 0);
    while seq < former.changes {
        let sql = "SELECT * FROM change WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3";
        let rows = conn.all(sql, params![seq, former.changes, STEP_ROWS]).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            seq = row.int("seq")?;
            let texts = match Texts::of(row) {
                Err(Error::Broken(_)) => return Ok(None),
                texts => texts?,
            };
            if row.bytes("salt")?.is_empty() {
                return Ok(None);
            }
            head = match texts.former(row, seq) {
                Err(Error::Broken(_)) => return Ok(None),
                former => former?.hash(&head),
            };
        }
    }
    let problem = "the history up to here is not the one that was brought into ledgers";
    Ok((former.changes > 0 && head != former.hash).then(|| ChainFault {
        seq: former.changes,
        problem: problem.to_owned(),
    }))
}

/// Puts together what was found in pieces, which stand in their order, and finds what no piece tells.
pub(crate) async fn finish(
    conn: &mut Conn,
    begun: &Begun,
    pieces: Vec<Walked>,
    former_fault: Option<ChainFault>,
) -> Result<Verdict> {
    let mut ledgers: BTreeMap<Uuid, Walked> = BTreeMap::new();
    for piece in pieces {
        ledgers
            .entry(piece.ledger)
            .or_insert_with(|| Walked::begin(piece.ledger, begun.genesis(piece.ledger)))
            .append(piece);
    }
    for ledger in begun.segments.keys() {
        let begin = || Walked::begin(*ledger, begun.genesis(*ledger));
        ledgers.entry(*ledger).or_insert_with(begin);
    }
    // Numbers may be given out before they are written.
    let written = Head::read_number(conn).await?;
    let last = arrival::given_out(conn).await?.unwrap_or(0).max(written);
    for (ledger, problem) in begun.cut_off(&ledgers) {
        let walked = ledgers
            .entry(ledger)
            .or_insert_with(|| Walked::begin(ledger, begun.genesis(ledger)));
        walked.fault.get_or_insert(ChainFault {
            seq: last + 1,
            problem,
        });
    }
    let faults = ledgers.values().filter_map(|walked| walked.fault.as_ref());
    let first = faults
        .chain(former_fault.as_ref().filter(|_| begun.fault.is_none()))
        .min_by_key(|fault| fault.seq);
    let fault = begun.fault.clone().or_else(|| first.cloned());
    let fault = match fault {
        None => look_at_baselines(conn, last).await?,
        fault => fault,
    };
    Ok(verdict(begun, fault, ledgers))
}

async fn look_at_baselines(conn: &mut Conn, last: i64) -> Result<Option<ChainFault>> {
    let sql = "SELECT name, project_id, seq, hash FROM baseline ORDER BY seq, id";
    for row in &conn.all(sql, params![]).await? {
        let (seq, name) = (row.int("seq")?, row.text("name")?);
        let is_right = match (row.id("project_id"), hash(row, "hash")) {
            (Ok(project), Ok(hash)) => LedgerHead::read(conn, project, seq).await?.hash == hash,
            _ => false,
        };
        if seq > last || !is_right {
            let problem = format!("baseline {name:?} was made on another history");
            return Ok(Some(ChainFault { seq, problem }));
        }
    }
    Ok(None)
}

fn verdict(begun: &Begun, fault: Option<ChainFault>, walked: BTreeMap<Uuid, Walked>) -> Verdict {
    let former = begun.former;
    let mut all = blake3::Hasher::new();
    let mut ledgers = Vec::with_capacity(walked.len());
    let (mut changes, mut erased, mut earlier) = (0, 0, Earlier::default());
    for (ledger, walked) in walked {
        let head = walked.trusted(begun.genesis(ledger));
        all.update(ledger.as_bytes());
        all.update(&head.number.to_le_bytes());
        all.update(&head.hash);
        changes += walked.changes;
        erased += walked.erased;
        earlier.count += walked.earlier.count;
        earlier.first_seq = earlier
            .first_seq
            .into_iter()
            .chain(walked.earlier.first_seq)
            .min();
        ledgers.push(LedgerVerdict {
            ledger,
            trusted: head.number,
            hash: hex::encode(head.hash),
            fault: walked.fault,
            dropped: begun.segments.get(&ledger).map(|segment| segment.number),
            origin: begun.origins.get(&ledger).map(Arrival::from),
        });
    }
    Verdict {
        changes,
        fault,
        head: all.finalize().to_hex().to_string(),
        ledgers,
        earlier,
        erased,
        former: (former != FormerHead::NONE).then(|| Former {
            changes: former.changes,
            head: hex::encode(former.hash),
        }),
        state: None,
        trail: None,
    }
}

/// The texts of a row, where they stand.
pub(crate) struct Texts<'r> {
    username: &'r str,
    client: &'r str,
    label: &'r str,
    before: &'r str,
    after: &'r str,
    entity: &'r str,
    action: &'r str,
}

impl<'r> Texts<'r> {
    pub(crate) fn of(row: &'r Row) -> Result<Self> {
        Ok(Self {
            username: row.str("username")?,
            client: row.str("client")?,
            label: row.str("label")?,
            before: row.str("before")?,
            after: row.str("after")?,
            entity: row.str("entity")?,
            action: row.str("action")?,
        })
    }

    pub(crate) fn payload(&self) -> Payload<'_> {
        Payload {
            username: self.username,
            client: self.client,
            label: self.label,
            before: self.before,
            after: self.after,
        }
    }

    /// The row as its ledger seals it.
    pub(crate) fn sealed(&self, row: &Row, number: i64, payload: [u8; 32]) -> Result<Sealed<'_>> {
        self.sealed_in(row, row.id("ledger")?, number, payload)
    }

    pub(crate) fn sealed_in(
        &self,
        row: &Row,
        ledger: Uuid,
        number: i64,
        payload: [u8; 32],
    ) -> Result<Sealed<'_>> {
        Ok(Sealed {
            ledger,
            number,
            at: row.time("at")?,
            user_id: row.id("user_id")?,
            token_id: row.opt_id("token_id")?,
            entity: self.entity,
            entity_id: row.id("entity_id")?,
            item_id: row.opt_id("item_id")?,
            other_item_id: row.opt_id("other_item_id")?,
            action: self.action,
            rev: row.int("rev")?,
            payload,
        })
    }

    /// The row as the former chain sealed it.
    fn former(&self, row: &Row, seq: i64) -> Result<FormerRow<'_>> {
        self.former_in(row, project_of(row.id("ledger")?), seq)
    }

    pub(crate) fn former_in(&self, row: &Row, project_id: Option<Uuid>, seq: i64) -> Result<FormerRow<'_>> {
        Ok(FormerRow {
            seq,
            at: row.time("at")?,
            user_id: row.id("user_id")?,
            token_id: row.opt_id("token_id")?,
            project_id,
            entity: self.entity,
            entity_id: row.id("entity_id")?,
            item_id: row.opt_id("item_id")?,
            other_item_id: row.opt_id("other_item_id")?,
            action: self.action,
            rev: row.int("rev")?,
            payload: self.payload(),
        })
    }
}
