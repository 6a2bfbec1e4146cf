//! Retention of ledgers: the changes of a project up to one that a checkpoint names go as a whole. What they had made of everything is
//! told in the ledger of the installation before they go, so the present state can still be held against the history.

use crate::chain::Begun;
use crate::checkpoints;
use crate::dropped_segments;
pub use crate::dropped_segments::Segment;
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::kept_state::{KeptThing, LABEL, LEDGER, UNTIL};
use crate::ledger_head::{LedgerHead, hash};
use crate::ledger_walk::{self, Piece};
use crate::replay::{self, Known};
use crate::row_seals::touch;
use crate::tx::Tx;
use refusal::{Code, Refusal};
use serde_json::Value;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, INSTALLATION, NewChange};
use spexus_domain::{Timestamp, Uuid, told};

/// Things told by one change.
const TOLD_AT_ONCE: usize = 200;

/// The last segment of a ledger that a checkpoint from before a time ends, and that no baseline needs.
//= specs/spexus-store.md#retention
//# Retention of a ledger MUST end at a change that a checkpoint names, MUST NOT go beyond the change a baseline was made at, and MUST
//# be refused where the ledger is not whole up to there.
pub async fn droppable(conn: &mut Conn, ledger: Uuid, before: Timestamp) -> Result<Option<Segment>> {
    let dropped = dropped_segments::of(conn, ledger).await?;
    let dropped = dropped.map_or(0, |segment| segment.number);
    let limit = needed_by_baselines(conn, ledger).await?;
    let sql = "SELECT after FROM change WHERE ledger = $1 AND label = $2 AND entity = 'setting' AND at < $3 ORDER BY number DESC";
    let values = params![INSTALLATION, checkpoints::LABEL, before];
    for row in &conn.all(sql, values).await? {
        let ends = row.object("after")?;
        let end = ends.get(&ledger.to_string()).and_then(Value::as_str);
        let Some((number, head)) = end.and_then(|end| end.split_once(' ')) else {
            continue;
        };
        match number.parse::<i64>() {
            Ok(number) if number <= dropped => return Ok(None),
            Ok(number) if number <= limit => return at_change(conn, ledger, number, head).await.map(Some),
            _ => {}
        }
    }
    Ok(None)
}

/// The number of the first change that a baseline was made at.
async fn needed_by_baselines(conn: &mut Conn, ledger: Uuid) -> Result<i64> {
    let sql = "SELECT min(seq) AS seq FROM baseline WHERE project_id = $1";
    match conn.one(sql, params![ledger]).await?.opt_int("seq")? {
        Some(seq) => Ok(LedgerHead::read(conn, ledger, seq).await?.number),
        None => Ok(i64::MAX),
    }
}

async fn at_change(conn: &mut Conn, ledger: Uuid, number: i64, head: &str) -> Result<Segment> {
    let sql = "SELECT seq, hash, at FROM change WHERE ledger = $1 AND number = $2";
    let row = conn.optional(sql, params![ledger, number]).await?;
    let row = row.ok_or_else(|| not_whole(ledger, number))?;
    let hash = hash(&row, "hash")?;
    if hex::encode(hash) != head {
        return Err(not_whole(ledger, number).into());
    }
    Ok(Segment {
        ledger,
        number,
        seq: row.int("seq")?,
        hash,
        at: row.time("at")?,
    })
}

fn not_whole(ledger: Uuid, number: i64) -> Refusal {
    let problem =
        format!("the ledger {ledger} is not whole up to its change {number}, where it was to be dropped");
    Refusal::field(
        Code::RuleViolated,
        "before",
        problem,
        "a ledger that verification finds whole",
    )
    .hint("Run `spexus audit verify`: it says what was altered. Nothing was dropped.")
}

/// What is kept of a segment, ready to be told; its ledger is verified up to there on the way.
pub async fn summary(conn: &mut Conn, segment: &Segment) -> Result<Vec<NewChange>> {
    conn.without_limit();
    let begun = Begun::read(conn, &[]).await?;
    let piece = Piece {
        ledger: segment.ledger,
        after: begun.genesis(segment.ledger).number,
        until: segment.number,
    };
    let walked = ledger_walk::walk(conn, piece, &begun, &|_| {}).await?;
    if walked.fault.is_some() || walked.head.hash != segment.hash {
        return Err(not_whole(segment.ledger, segment.number).into());
    }
    let known = Known::read(conn).await?;
    let things = replay::summaries(conn, &known, segment).await?;
    let things = things
        .into_iter()
        .map(|(id, fold)| serde_json::to_value(KeptThing { id, fold }).unwrap_or_default());
    let rows = known.seals().of_ledger(segment.ledger, segment.number);
    let rows = rows
        .into_iter()
        .map(|((table, key), digest)| Value::from(vec![table.as_str(), key, digest]));
    let mut changes = Vec::new();
    for (name, told) in [
        (told::KEPT, things.collect::<Vec<_>>()),
        (told::KEPT_ROWS, rows.collect()),
    ] {
        for some in told.chunks(TOLD_AT_ONCE) {
            changes.push(change(segment, Action::Created).telling(name, some.to_vec()));
        }
    }
    Ok(changes)
}

fn change(segment: &Segment, action: Action) -> NewChange {
    let fields = Attributes::from_iter([
        (LEDGER.to_owned(), segment.ledger.to_string().into()),
        (UNTIL.to_owned(), segment.number.into()),
        ("hash".to_owned(), hex::encode(segment.hash).into()),
    ]);
    let change = NewChange::new(Entity::Setting, segment.ledger, LABEL, action, 1);
    match action {
        Action::Deleted => change.fields(Some(fields), Attributes::new()),
        _ => change.fields(None, fields),
    }
}

/// Drops a segment whose summary is told; false where as much or more was dropped meanwhile. Its changes are swept after that.
//= specs/spexus-store.md#retention
//# What dropped changes had made of items, comments, links and other rows MUST be told in the ledger of the installation before
//# they go, with who dropped them.
pub async fn drop(tx: &mut Tx, segment: &Segment) -> Result<bool> {
    touch(tx, "dropped_segment", params![segment.ledger]).await?;
    let sql = "INSERT INTO dropped_segment (ledger, number, seq, hash, at, dropped_at) VALUES ($1, $2, $3, $4, $5, $6) \
               ON CONFLICT (ledger) DO UPDATE SET number = excluded.number, seq = excluded.seq, hash = excluded.hash, at = excluded.at, \
               dropped_at = excluded.dropped_at WHERE dropped_segment.number < excluded.number";
    let values = params![
        segment.ledger,
        segment.number,
        segment.seq,
        segment.hash,
        segment.at,
        tx.now(),
    ];
    if tx.conn.run(sql, values).await? == 0 {
        return Ok(false);
    }
    tx.record(change(segment, Action::Deleted)).await.map(|_| true)
}

/// Removes changes that were dropped, so many at most; tells how many went.
pub async fn sweep(tx: &mut Tx, max_rows: u32) -> Result<u64> {
    let sql = "DELETE FROM change WHERE seq IN (SELECT c.seq FROM dropped_segment d JOIN change c ON c.ledger = d.ledger \
               AND c.number <= d.number ORDER BY c.ledger, c.number LIMIT $1)";
    tx.conn.run(sql, params![max_rows]).await
}
