//! The ledgers of changes: where they end, how they grow, how they are verified.

use crate::arrival;
use crate::checkpointed_ends::CheckpointedEnds;
use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::ledger_origin::{self, Arrival, LedgerOrigin};
use crate::state_verdict::StateVerdict;
use serde::Serialize;
use spexus_domain::change::{FormerHead, FormerRow, Payload, Sealed, project_of};
use spexus_domain::checkpoint::Checkpoint;
use spexus_domain::{Timestamp, Uuid};
use std::collections::BTreeMap;

/// The last change of all, whatever its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the last change.
    pub seq: i64,
    /// Its hash.
    pub hash: [u8; 32],
    /// When it happened; nothing after it may be earlier.
    pub at: Timestamp,
}

/// The end of one ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHead {
    /// The number of the last change in it; 0 before the first.
    pub number: i64,
    /// Its hash; before the first, what the ledger begins with.
    pub hash: [u8; 32],
    /// When it happened; nothing after it in the ledger may be earlier.
    pub at: Timestamp,
}

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
}

impl Verdict {
    /// Whether nothing was found that was tampered with.
    pub fn is_whole(&self) -> bool {
        self.fault.is_none() && self.state.as_ref().is_none_or(|state| state.differing == 0)
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
    fn note(&mut self, seq: i64) {
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

impl Head {
    const SELECT: &str = "SELECT seq, hash, at FROM change ORDER BY seq DESC LIMIT 1";

    /// The last change and the version of the tables, which a write to SQLite must know both.
    pub(crate) const SELECT_TO_WRITE: &str = "SELECT v.version, c.seq, c.hash, c.at FROM schema_version v \
         LEFT JOIN (SELECT seq, hash, at FROM change ORDER BY seq DESC LIMIT 1) c ON true";

    /// Before the first change.
    pub(crate) const NONE: Self = Self {
        seq: 0,
        hash: [0; 32],
        at: Timestamp(i64::MIN),
    };

    pub(crate) async fn read(conn: &mut Conn) -> Result<Self> {
        Self::of(conn.optional(Self::SELECT, params![]).await?.as_ref())
    }

    /// The end of a history whose last row this is; without one, the beginning.
    pub(crate) fn of(last: Option<&Row>) -> Result<Self> {
        Ok(match last {
            None => Self::NONE,
            Some(row) => Self {
                seq: row.int("seq")?,
                hash: hash(row, "hash")?,
                at: row.time("at")?,
            },
        })
    }
}

impl LedgerHead {
    /// The end of a ledger up to a place among all changes.
    pub(crate) async fn read(conn: &mut Conn, ledger: Uuid, until: i64) -> Result<Self> {
        let sql = "SELECT f.changes, f.head, c.number, c.hash, c.at FROM (SELECT 1 AS one) o LEFT JOIN former_history f ON true \
                   LEFT JOIN (SELECT number, hash, at FROM change WHERE ledger = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1) c ON true";
        let row = conn.one(sql, params![ledger, until]).await?;
        Ok(match row.opt_int("number")? {
            Some(number) => Self {
                number,
                hash: hash(&row, "hash")?,
                at: row.time("at")?,
            },
            None => match ledger_origin::of(conn, ledger).await? {
                Some(origin) => Self::genesis(origin.former, ledger),
                None => Self::genesis(former(&row)?, ledger),
            },
        })
    }

    pub(crate) fn genesis(former: FormerHead, ledger: Uuid) -> Self {
        Self {
            number: 0,
            hash: former.genesis(ledger),
            at: Head::NONE.at,
        }
    }
}

/// The chain there was before there were ledgers; nothing where there was none.
fn former(row: &Row) -> Result<FormerHead> {
    Ok(match row.opt_int("changes")? {
        None => FormerHead::NONE,
        Some(changes) => FormerHead {
            changes,
            hash: hash(row, "head")?,
        },
    })
}

/// Rows read in one step.
const STEP_ROWS: u32 = 1_000;

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
    let mut verifier = Verifier::begin(conn, checkpoints).await?;
    // Somebody may be about to finish a change in front of others that are finished.
    let settled = arrival::settled(conn).await?;
    verifier.read_to(conn, settled, progress).await?;
    // No writer made what has a number that was never given out.
    if let Some(given_out) = arrival::given_out(conn).await? {
        verifier.end = given_out;
        verifier.last = verifier.last.max(given_out);
        verifier.read_to(conn, i64::MAX, progress).await?;
    }
    verifier.end = verifier.end.max(verifier.last);
    verifier.look_for_tails();
    verifier.look_at_baselines(conn).await?;
    Ok(verifier.verdict())
}

/// What is known while the history is read, oldest change first.
struct Verifier {
    former: FormerHead,
    /// The former chain as far as it could be computed again; `None` once something of it was erased.
    recomputed: Option<[u8; 32]>,
    /// What ledgers begin with that did not begin here.
    origins: BTreeMap<Uuid, LedgerOrigin>,
    ledgers: BTreeMap<Uuid, Walked>,
    kept: CheckpointedEnds,
    /// The number of the last change that was looked at.
    last: i64,
    /// The number of the last change there can be.
    end: i64,
    changes: i64,
    erased: i64,
    earlier: Earlier,
    fault: Option<ChainFault>,
}

/// One ledger, as far as it was read.
struct Walked {
    head: LedgerHead,
    /// The last change that a checkpoint agrees with.
    proven: LedgerHead,
    fault: Option<ChainFault>,
}

impl Walked {
    fn begin(former: FormerHead, ledger: Uuid) -> Self {
        let head = LedgerHead::genesis(former, ledger);
        Self {
            head,
            proven: head,
            fault: None,
        }
    }
}

impl Verifier {
    async fn begin(conn: &mut Conn, checkpoints: &[Checkpoint]) -> Result<Self> {
        let sql = "SELECT changes, head, fault_seq, fault FROM former_history";
        let row = conn.optional(sql, params![]).await?;
        let kept = CheckpointedEnds::of(conn, checkpoints).await?;
        let mut verifier = Self {
            former: row.as_ref().map_or(Ok(FormerHead::NONE), former)?,
            recomputed: Some(FormerHead::NONE.hash),
            origins: ledger_origin::all(conn).await?,
            ledgers: BTreeMap::new(),
            fault: kept.fault.clone(),
            kept,
            last: 0,
            end: 0,
            changes: 0,
            erased: 0,
            earlier: Earlier::default(),
        };
        //= specs/spexus-store.md#history
        //# A fault of the former history that was found when it was brought into ledgers MUST be told by every verification.
        if let Some(row) = row
            && let Some(seq) = row.opt_int("fault_seq")?
        {
            let problem = row.text("fault")?;
            verifier.fault = Some(ChainFault { seq, problem });
            verifier.recomputed = None;
        }
        Ok(verifier)
    }

    /// Reads on, up to a number.
    async fn read_to(&mut self, conn: &mut Conn, until: i64, progress: &(dyn Fn(u64) + Sync)) -> Result<()> {
        loop {
            let sql = "SELECT * FROM change WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3";
            let rows = conn.all(sql, params![self.last, until, STEP_ROWS]).await?;
            if rows.is_empty() {
                return Ok(());
            }
            progress(rows.len() as u64);
            for row in &rows {
                match self.look_at(row) {
                    Err(Error::Broken(_)) => self.unreadable(row)?,
                    looked_at => looked_at?,
                }
            }
        }
    }

    fn look_at(&mut self, row: &Row) -> Result<()> {
        let seq = row.int("seq")?;
        self.changes += 1;
        let texts = Texts::of(row)?;
        let salt = row.bytes("salt")?;
        self.recompute_former(row, &texts, salt.is_empty())?;
        let problem = self.grow(row, &texts, &salt)?;
        if let Some(problem) = problem {
            self.fault.get_or_insert(ChainFault { seq, problem });
        }
        self.last = seq;
        Ok(())
    }

    /// One ledger, as far as it was read.
    fn walked(&mut self, ledger: Uuid) -> &mut Walked {
        let origin = self.origins.get(&ledger);
        let former = origin.map_or(self.former, |origin| origin.former);
        self.ledgers
            .entry(ledger)
            .or_insert_with(|| Walked::begin(former, ledger))
    }

    /// A row that is not even of the right form.
    fn unreadable(&mut self, row: &Row) -> Result<()> {
        let seq = row.int("seq")?;
        let problem = "it cannot be read".to_owned();
        self.fault.get_or_insert(ChainFault { seq, problem });
        self.last = seq;
        Ok(())
    }

    /// Adds a row to its ledger, or tells why it does not fit. What follows a fault in its ledger is not looked at.
    //= specs/spexus-store.md#history
    //# Verification MUST find a row that was altered, removed, moved or added, and a baseline that names another history.
    fn grow(&mut self, row: &Row, texts: &Texts, salt: &[u8]) -> Result<Option<String>> {
        let ledger = row.id("ledger")?;
        if self.walked(ledger).fault.is_some() {
            return Ok(None);
        }
        let walked_to = self.walked(ledger).head;
        let payload = hash(row, "payload_hash")?;
        //= specs/spexus-store.md#history
        //# Where a person's words were taken out of a change, the ledger MUST still verify, and verification MUST say how many
        //# changes that happened to.
        let erased = salt.is_empty() && texts.payload() == Payload::ERASED;
        let number = row.int("number")?;
        let end = LedgerHead {
            number,
            hash: hash(row, "hash")?,
            at: row.time("at")?,
        };
        //= specs/spexus-store.md#history
        //# Verification MUST say how many changes are told to have happened before the change in front of them in their
        //# ledger.
        if end.at < walked_to.at {
            self.earlier.note(row.int("seq")?);
        }
        let against = self.kept.agrees(ledger, number, &end.hash);
        let problem = if number != walked_to.number + 1 {
            Some("changes before it are missing".to_owned())
        } else if !erased && texts.payload().hash(salt) != payload {
            Some("the hash of its words does not fit what they are".to_owned())
        } else if texts.sealed(row, number, payload)?.hash(&walked_to.hash) != end.hash {
            Some("its hash does not fit its content and the change before it".to_owned())
        } else if self.is_another_arrival(ledger, &end) {
            Some("it is not the change that came from the installation the ledger began at".to_owned())
        } else {
            against.clone().and_then(std::result::Result::err)
        };
        self.erased += i64::from(problem.is_none() && erased);
        let walked = self.walked(ledger);
        match &problem {
            None => {
                walked.head = end;
                if against.is_some() {
                    walked.proven = end;
                }
            }
            Some(problem) => {
                walked.fault = Some(ChainFault {
                    seq: row.int("seq")?,
                    problem: problem.clone(),
                });
                // A ledger that was written anew fits itself; only what a checkpoint agrees with can be trusted.
                if against.is_some_and(|agrees| agrees.is_err()) {
                    walked.head = walked.proven;
                }
            }
        }
        Ok(problem)
    }

    /// Whether a ledger did not come here with this change, though it came as far as that.
    fn is_another_arrival(&self, ledger: Uuid, end: &LedgerHead) -> bool {
        let came = self.origins.get(&ledger);
        came.is_some_and(|origin| origin.number == end.number && origin.hash != end.hash)
    }

    /// Computes the former chain again, and compares it at its end.
    fn recompute_former(&mut self, row: &Row, texts: &Texts, erased: bool) -> Result<()> {
        let seq = row.int("seq")?;
        let Some(previous) = self.recomputed.filter(|_| seq <= self.former.changes) else {
            return Ok(());
        };
        if erased {
            self.recomputed = None;
            return Ok(());
        }
        let hash = texts.former(row, seq)?.hash(&previous);
        self.recomputed = Some(hash);
        if seq == self.former.changes && hash != self.former.hash {
            let problem = "the history up to here is not the one that was brought into ledgers".to_owned();
            self.fault.get_or_insert(ChainFault { seq, problem });
        }
        Ok(())
    }

    /// Finds ledgers that end before a checkpoint says, or before where they came here.
    //= specs/spexus-store.md#history
    //# Verification MUST find a ledger that ends before the last change that came with it, or has another in its place.
    fn look_for_tails(&mut self) {
        let mut cut_off = {
            let ledgers = &self.ledgers;
            let ends = |ledger: Uuid| ledgers.get(&ledger).map_or(0, |walked| walked.head.number);
            let mut cut_off = self.kept.cut_off(ends);
            for (ledger, origin) in &self.origins {
                let (end, came) = (ends(*ledger), origin.number);
                let is_whole = ledgers.get(ledger).is_none_or(|walked| walked.fault.is_none());
                if end < came && is_whole {
                    let problem = format!("the ledger came here with {came} changes, and ends with {end}");
                    cut_off.push((*ledger, problem));
                }
            }
            cut_off
        };
        let seq = self.last + 1;
        for (ledger, problem) in cut_off.drain(..) {
            let walked = self.walked(ledger);
            let fault = ChainFault { seq, problem };
            walked.fault.get_or_insert(fault.clone());
            self.fault.get_or_insert(fault);
        }
    }

    async fn look_at_baselines(&mut self, conn: &mut Conn) -> Result<()> {
        let sql = "SELECT name, project_id, seq, hash FROM baseline ORDER BY seq, id";
        for row in &conn.all(sql, params![]).await? {
            let (seq, name) = (row.int("seq")?, row.text("name")?);
            let made_on = LedgerHead::read(conn, row.id("project_id")?, seq).await?;
            if seq > self.end || made_on.hash != hash(row, "hash")? {
                let problem = format!("baseline {name:?} was made on another history");
                self.fault.get_or_insert(ChainFault { seq, problem });
            }
        }
        Ok(())
    }

    fn verdict(self) -> Verdict {
        let mut all = blake3::Hasher::new();
        let mut ledgers = Vec::with_capacity(self.ledgers.len());
        for (ledger, Walked { head, fault, .. }) in self.ledgers {
            all.update(ledger.as_bytes());
            all.update(&head.number.to_le_bytes());
            all.update(&head.hash);
            ledgers.push(LedgerVerdict {
                ledger,
                trusted: head.number,
                hash: hex::encode(head.hash),
                fault,
                origin: self.origins.get(&ledger).map(Arrival::from),
            });
        }
        Verdict {
            changes: self.changes,
            fault: self.fault,
            head: all.finalize().to_hex().to_string(),
            ledgers,
            earlier: self.earlier,
            erased: self.erased,
            former: (self.former != FormerHead::NONE).then(|| Former {
                changes: self.former.changes,
                head: hex::encode(self.former.hash),
            }),
            state: None,
        }
    }
}

/// The texts of a row.
pub(crate) struct Texts {
    username: String,
    client: String,
    label: String,
    before: String,
    after: String,
    entity: String,
    action: String,
}

impl Texts {
    pub(crate) fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            username: row.text("username")?,
            client: row.text("client")?,
            label: row.text("label")?,
            before: row.text("before")?,
            after: row.text("after")?,
            entity: row.text("entity")?,
            action: row.text("action")?,
        })
    }

    pub(crate) fn payload(&self) -> Payload<'_> {
        Payload {
            username: &self.username,
            client: &self.client,
            label: &self.label,
            before: &self.before,
            after: &self.after,
        }
    }

    /// The row as its ledger seals it.
    fn sealed(&self, row: &Row, number: i64, payload: [u8; 32]) -> Result<Sealed<'_>> {
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
            entity: &self.entity,
            entity_id: row.id("entity_id")?,
            item_id: row.opt_id("item_id")?,
            other_item_id: row.opt_id("other_item_id")?,
            action: &self.action,
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
            entity: &self.entity,
            entity_id: row.id("entity_id")?,
            item_id: row.opt_id("item_id")?,
            other_item_id: row.opt_id("other_item_id")?,
            action: &self.action,
            rev: row.int("rev")?,
            payload: self.payload(),
        })
    }
}

pub(crate) fn hash(row: &Row, column: &str) -> Result<[u8; 32]> {
    row.bytes(column)?
        .try_into()
        .map_err(|_| Error::Broken("a hash of the history has another length".into()))
}
