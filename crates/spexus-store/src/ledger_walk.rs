//! A walk along a piece of one ledger. Pieces can be walked at once: each begins behind a change whose hash is taken as it
//! stands, which the piece before it verifies.

use crate::chain::{Begun, ChainFault, Earlier, Texts};
use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::ledger_head::{Head, LedgerHead, hash};
use spexus_domain::change::Payload;
use spexus_domain::{Timestamp, Uuid};

/// A change that arrived before the one in front of it in its ledger.
const OUT_OF_ORDER: &str = "it is not in its place among all changes";

/// Rows read in one step.
const STEP_ROWS: u32 = 1_000;

/// Changes of a ledger by their numbers: behind the first, up to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) ledger: Uuid,
    pub(crate) after: i64,
    pub(crate) until: i64,
}

/// The number of a change among all, and when it happened.
type Arrival = (i64, Timestamp);

/// What was found in a piece, or in all pieces of a ledger so far.
pub(crate) struct Walked {
    pub(crate) ledger: Uuid,
    pub(crate) head: LedgerHead,
    /// The last change that a checkpoint agrees with.
    pub(crate) proven: Option<LedgerHead>,
    pub(crate) fault: Option<ChainFault>,
    /// Whether the fault is that a checkpoint says otherwise: then only what one agrees with can be trusted.
    is_written_anew: bool,
    pub(crate) changes: i64,
    pub(crate) erased: i64,
    pub(crate) earlier: Earlier,
    /// When the first and the last change arrived and happened.
    times: Option<(Arrival, Arrival)>,
}

impl Walked {
    /// The ledger behind one of its changes, or behind what it begins with.
    pub(crate) fn begin(ledger: Uuid, head: LedgerHead) -> Self {
        Self {
            ledger,
            head,
            proven: None,
            fault: None,
            is_written_anew: false,
            changes: 0,
            erased: 0,
            earlier: Earlier::default(),
            times: None,
        }
    }

    /// Puts the next piece behind this one.
    pub(crate) fn append(&mut self, next: Self) {
        self.changes += next.changes;
        let mut is_torn = None;
        if let (Some((_, last)), Some((first, _))) = (self.times, next.times) {
            if first.1 < last.1 {
                self.earlier.note(first.0);
            }
            is_torn = (first.0 <= last.0).then_some(first.0);
        }
        self.earlier.count += next.earlier.count;
        self.earlier.first_seq = self.earlier.first_seq.or(next.earlier.first_seq);
        if let Some((first, last)) = next.times {
            self.times = Some((self.times.map_or(first, |(first, _)| first), last));
        }
        //= specs/spexus-store.md#history
        //# What follows a fault in its ledger MUST NOT be trusted.
        if self.fault.is_some() {
            return;
        }
        if let Some(seq) = is_torn {
            return self.fail(seq, OUT_OF_ORDER.into());
        }
        self.erased += next.erased;
        self.head = next.head;
        self.proven = next.proven.or(self.proven);
        self.fault = next.fault;
        self.is_written_anew = next.is_written_anew;
    }

    /// Up to where it can be trusted, once all pieces are together.
    pub(crate) fn trusted(&self, genesis: LedgerHead) -> LedgerHead {
        match self.is_written_anew {
            true => self.proven.unwrap_or(genesis),
            false => self.head,
        }
    }

    fn look_at(&mut self, row: &Row, begun: &Begun) -> Result<()> {
        let (seq, at) = (row.int("seq")?, row.time("at")?);
        self.changes += 1;
        let mut is_in_order = true;
        //= specs/spexus-store.md#history
        //# Verification MUST say how many changes are told to have happened before the change in front of them in their
        //# ledger.
        match &mut self.times {
            None => self.times = Some(((seq, at), (seq, at))),
            Some((_, last)) => {
                if at < last.1 {
                    self.earlier.note(seq);
                }
                is_in_order = seq > last.0;
                *last = (seq, at);
            }
        }
        if !is_in_order && self.fault.is_none() {
            self.fail(seq, OUT_OF_ORDER.into());
        }
        if self.fault.is_none() {
            match self.grow(row, begun) {
                Err(Error::Broken(_)) => self.fail(seq, "it cannot be read".into()),
                grown => grown?,
            }
        }
        Ok(())
    }

    fn fail(&mut self, seq: i64, problem: String) {
        self.fault = Some(ChainFault { seq, problem });
    }

    /// Adds a row to its ledger, or tells why it does not fit.
    //= specs/spexus-store.md#history
    //# Verification MUST find a row that was altered, removed, moved or added, and a baseline that names another history.
    fn grow(&mut self, row: &Row, begun: &Begun) -> Result<()> {
        let (seq, texts, salt) = (row.int("seq")?, Texts::of(row)?, row.bytes("salt")?);
        let payload = hash(row, "payload_hash")?;
        //= specs/spexus-store.md#history
        //# Where a person's words were taken out of a change, the ledger MUST still verify, and verification MUST say how many
        //# changes that happened to.
        let erased = salt.is_empty() && texts.payload() == Payload::ERASED;
        let end = LedgerHead {
            number: row.int("number")?,
            hash: hash(row, "hash")?,
            at: row.time("at")?,
        };
        if end.number != self.head.number + 1 {
            self.fail(seq, "changes before it are missing".into());
        } else if !erased && texts.payload().hash(&salt) != payload {
            self.fail(seq, "the hash of its words does not fit what they are".into());
        } else if texts.sealed(row, end.number, payload)?.hash(&self.head.hash) != end.hash {
            self.fail(
                seq,
                "its hash does not fit its content and the change before it".into(),
            );
        } else if begun.is_another_arrival(self.ledger, &end) {
            self.fail(
                seq,
                "it is not the change that came from the installation the ledger began at".into(),
            );
        } else {
            match begun.kept.agrees(self.ledger, end.number, &end.hash) {
                Some(Err(problem)) => {
                    self.is_written_anew = true;
                    self.fail(seq, problem);
                }
                agrees => {
                    self.erased += i64::from(erased);
                    self.head = end;
                    self.proven = agrees.map(|_| end).or(self.proven);
                }
            }
        }
        Ok(())
    }
}

/// Walks along a piece.
pub(crate) async fn walk(
    conn: &mut Conn,
    piece: Piece,
    begun: &Begun,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Walked> {
    let Piece { ledger, until, .. } = piece;
    let genesis = begun.genesis(ledger);
    let begin = match LedgerHead::read_at(conn, ledger, piece.after).await {
        _ if piece.after == genesis.number => genesis,
        // The piece before tells that it cannot be read; what follows is not trusted then.
        Err(Error::Broken(_)) => LedgerHead {
            number: 0,
            hash: [0; 32],
            at: Head::NONE.at,
        },
        begin => begin?,
    };
    let mut walked = Walked::begin(ledger, begin);
    let mut after = piece.after;
    loop {
        let sql = "SELECT * FROM change WHERE ledger = $1 AND number > $2 AND number <= $3 ORDER BY number LIMIT $4";
        let rows = conn.all(sql, params![ledger, after, until, STEP_ROWS]).await?;
        let Some(last) = rows.last() else {
            return Ok(walked);
        };
        after = last.int("number")?;
        progress(rows.len() as u64);
        for row in &rows {
            walked.look_at(row, begun)?;
        }
    }
}
