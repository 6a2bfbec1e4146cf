//! From one chain for a whole installation to a ledger for each project. The chain is verified as it was made, then every row
//! gets its place in its ledger; the former head becomes part of what every ledger begins with.

use crate::chain::{ChainFault, Texts};
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::ledger_head::{Head, LedgerHead, hash};
use crate::tables;
use crate::tx::{Salts, row};
use spexus_domain::Uuid;
use spexus_domain::change::{FormerHead, ledger_of};
use std::collections::HashMap;

/// Rows read in one step.
const STEP_ROWS: u32 = 1_000;

/// Fills the new table from the former one, which is not needed afterwards.
//= specs/spexus-store.md#schema
//# The former history MUST be verified before it is brought into ledgers, and every ledger MUST begin with its last hash.
pub(super) async fn carry_over(conn: &mut Conn) -> Result<()> {
    let (former, fault) = verify_former(conn).await?;
    if former == FormerHead::NONE {
        return Ok(());
    }
    let (fault_seq, problem) = fault.map_or((None, String::new()), |fault| (Some(fault.seq), fault.problem));
    let sql = "INSERT INTO former_history (changes, head, fault_seq, fault) VALUES ($1, $2, $3, $4)";
    conn.run(sql, params![former.changes, former.hash, fault_seq, problem])
        .await?;
    seal_rows(conn, former).await?;
    seal_baselines(conn).await
}

async fn page(conn: &mut Conn, after: i64) -> Result<Vec<Row>> {
    let sql = "SELECT * FROM former_change WHERE seq > $1 ORDER BY seq LIMIT $2";
    conn.all(sql, params![after, STEP_ROWS]).await
}

/// The end of the former chain, and the first place where it does not fit.
async fn verify_former(conn: &mut Conn) -> Result<(FormerHead, Option<ChainFault>)> {
    let (mut head, mut fault) = (FormerHead::NONE, None);
    let mut found = |seq: i64, problem: String| {
        fault.get_or_insert(ChainFault { seq, problem });
    };
    loop {
        let rows = page(conn, head.changes).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let seq = row.int("seq")?;
            let texts = Texts::of(row)?;
            let sealed = texts.former_in(row, row.opt_id("project_id")?, seq)?;
            let (computed, kept) = (sealed.hash(&head.hash), hash(row, "hash").ok());
            if seq != head.changes + 1 {
                found(seq, "changes before it were missing".into());
            } else if kept != Some(computed) {
                found(
                    seq,
                    "its hash did not fit its content and the change before it".into(),
                );
            }
            head = FormerHead {
                changes: seq,
                hash: kept.unwrap_or(computed),
            };
        }
    }
    let sql = "SELECT b.name, b.seq FROM baseline b LEFT JOIN former_change c ON c.seq = b.seq \
               WHERE b.seq > 0 AND (c.hash IS NULL OR c.hash <> b.hash) ORDER BY b.seq";
    for row in &conn.all(sql, params![]).await? {
        let name = row.text("name")?;
        found(
            row.int("seq")?,
            format!("baseline {name:?} was made on another history"),
        );
    }
    Ok((head, fault))
}

async fn seal_rows(conn: &mut Conn, former: FormerHead) -> Result<()> {
    let table = tables::table("change")?;
    let columns = tables::columns(table);
    let mut ledgers: HashMap<Uuid, LedgerHead> = HashMap::new();
    let (mut salts, mut after) = (Salts::default(), 0);
    loop {
        let rows = page(conn, after).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.int("seq")?;
        let mut sealed = Vec::with_capacity(rows.len());
        for row in &rows {
            let ledger = ledger_of(row.opt_id("project_id")?);
            let end = ledgers
                .entry(ledger)
                .or_insert_with(|| LedgerHead::genesis(former, ledger));
            sealed.push(seal(row, ledger, end, &salts.next()?)?);
        }
        tables::insert(conn, table, &columns, &sealed).await?;
    }
}

/// The row as it stands in its ledger, whose end moves on.
fn seal(old: &Row, ledger: Uuid, end: &mut LedgerHead, salt: &[u8]) -> Result<Vec<Param>> {
    let texts = Texts::of(old)?;
    let payload = texts.payload();
    let sealed = texts.sealed_in(old, ledger, end.number + 1, payload.hash(salt))?;
    let head = Head {
        seq: old.int("seq")?,
        hash: sealed.hash(&end.hash),
        at: sealed.at,
    };
    *end = LedgerHead {
        number: sealed.number,
        hash: head.hash,
        at: head.at,
    };
    Ok(row(Some(head.seq), &sealed, &payload, salt, head.hash))
}

/// Baselines name what their project's ledger had come to.
async fn seal_baselines(conn: &mut Conn) -> Result<()> {
    let baselines = conn
        .all("SELECT id, project_id, seq FROM baseline", params![])
        .await?;
    for row in &baselines {
        let made_on = LedgerHead::read(conn, row.id("project_id")?, row.int("seq")?).await?;
        let sql = "UPDATE baseline SET hash = $2 WHERE id = $1";
        conn.run(sql, params![row.id("id")?, made_on.hash]).await?;
    }
    Ok(())
}
