//! What the last step of an import does more where a project comes with its history.

use super::publish::Difference;
use crate::carry;
use crate::engine::{Conn, Param, params};
use crate::error::Result;
use crate::ledger_origin::{self, LedgerOrigin};
use crate::row_seals::{self, touch, touch_where};
use crate::scratch_copy::whole;
use crate::tables::{self, Table};
use crate::tx::Tx;
use refusal::{Code, Refusal};
use spexus_domain::Uuid;
use std::collections::HashMap;

/// A project that comes with its history.
pub(super) struct Carried {
    project: Uuid,
    origin: LedgerOrigin,
    /// The empty project that makes room for it.
    instead_of: Option<Uuid>,
    /// Its baselines; the place each was made at is that in the scratch copy.
    baselines: Vec<Vec<Param>>,
    /// Its reviews, with what was asked about and who was asked, by table.
    reviews: Vec<(&'static str, Vec<Vec<Param>>)>,
    /// What was pushed for it as evidence, and what that makes of its items.
    evidence: Vec<(&'static Table, Vec<Vec<Param>>)>,
}

/// The tables of evidence, those that are pointed to before those that point. Each begins with the project.
const EVIDENCE: [&str; 5] = [
    "trace_push",
    "trace_part",
    "trace_review",
    "trace_state",
    "trace_head",
];

/// How many columns behind the project name a row that is sealed.
const SEALED_KEYS: [(&str, usize); 2] = [("trace_push", 1), ("trace_review", 2)];

async fn evidence(conn: &mut Conn, project: Uuid) -> Result<Vec<(&'static Table, Vec<Vec<Param>>)>> {
    let mut found = Vec::new();
    for name in EVIDENCE {
        let table = tables::table(name)?;
        let mut rows = whole(conn, table).await?;
        rows.retain(|row| matches!(row.first(), Some(Param::Id(Some(id))) if *id == project));
        found.push((table, rows));
    }
    Ok(found)
}

/// The tables of reviews, those that are pointed to before those that point.
const REVIEW_TABLES: [&str; 3] = ["review", "review_item", "review_person"];

/// Where changes that baselines name came to stand among all, by their place in the scratch copy.
pub(super) struct Positions(HashMap<i64, Option<i64>>);

impl Positions {
    /// Notes where a change came to stand.
    pub(super) fn note(&mut self, ordinal: i64, seq: i64) {
        if let Some(position) = self.0.get_mut(&ordinal) {
            *position = Some(seq);
        }
    }
}

impl Carried {
    /// What came into the scratch copy with a ledger, if anything did.
    pub(super) async fn of(conn: &mut Conn, settings: &mut [Difference]) -> Result<Option<Self>> {
        let Some((project, origin)) = ledger_origin::all(conn).await?.into_iter().next() else {
            return Ok(None);
        };
        let mut instead_of = None;
        for Difference { table, gone, new } in settings {
            if table.name != "project" {
                continue;
            }
            // It cannot go before what belongs to it moved on.
            let kept = |row: &Vec<Param>| new.iter().any(|new| new.first() == row.first());
            if let Some(Some(Param::Id(id))) = gone.iter().find(|row| !kept(row)).map(|row| row.first()) {
                instead_of = *id;
                gone.retain(kept);
            }
        }
        let mut reviews = Vec::new();
        for name in REVIEW_TABLES {
            reviews.push((name, whole(conn, tables::table(name)?).await?));
        }
        Ok(Some(Self {
            project,
            origin,
            instead_of,
            reviews,
            baselines: whole(conn, tables::table("baseline")?).await?,
            evidence: evidence(conn, project).await?,
        }))
    }

    /// Before the project is written: its ledger must not be here, and its key is to be free.
    pub(super) async fn begin(&self, tx: &mut Tx) -> Result<()> {
        if carry::has_history(&mut tx.conn, self.project).await? {
            return Err(carry::is_here().into());
        }
        if let Some(old) = self.instead_of {
            let sql = "SELECT count(*) AS n FROM baseline WHERE project_id = $1";
            if tx.conn.one(sql, params![old]).await?.int("n")? > 0 {
                let problem = "the empty project there has baselines";
                let refusal = Refusal::field(
                    Code::RuleViolated,
                    "project",
                    problem,
                    "another project, or a new one",
                );
                return Err(refusal.hint("Name a new one with --project KEY.").into());
            }
            let sql = "UPDATE project SET key = $2 WHERE id = $1";
            tx.conn.run(sql, params![old, old.to_string()]).await?;
        }
        touch(tx, "ledger_origin", params![self.project]).await?;
        let now = tx.now();
        ledger_origin::insert(&mut tx.conn, self.project, &self.origin, now).await
    }

    /// Once the project is written: who belonged to the empty one belongs to it.
    pub(super) async fn take_place(&self, tx: &mut Tx) -> Result<()> {
        let Some(old) = self.instead_of else { return Ok(()) };
        for (table, who) in [
            ("member", Some("user_id")),
            ("member_group", Some("group_id")),
            ("token", None),
        ] {
            touch_where(tx, table, "project_id = $1", params![old]).await?;
            if let Some(who) = who {
                let sql = format!("SELECT {who} AS who FROM {table} WHERE project_id = $1");
                for row in tx.conn.all(sql, params![old]).await? {
                    touch(tx, table, params![self.project, row.id("who")?]).await?;
                }
            }
            let sql = format!("UPDATE {table} SET project_id = $2 WHERE project_id = $1");
            tx.conn.run(sql, params![old, self.project]).await?;
        }
        let sql = "UPDATE saved_view SET project_id = $2 WHERE project_id = $1";
        tx.conn.run(sql, params![old, self.project]).await?;
        for table in ["counter", "item_count"] {
            let sql = format!("DELETE FROM {table} WHERE project_id = $1");
            tx.conn.run(sql, params![old]).await?;
        }
        carry::remove_project(tx, old).await
    }

    /// The changes that baselines name.
    pub(super) fn positions(&self) -> Positions {
        let at = self.baselines.iter().filter_map(|row| self.seq_of(row));
        Positions(at.map(|seq| (seq, None)).collect())
    }

    /// Once the ledger is written: baselines name a place in it, or the one before all of it. What was written here without a change
    /// of its own is told then.
    pub(super) async fn insert_baselines(
        &self,
        tx: &mut Tx,
        before: i64,
        positions: &Positions,
    ) -> Result<()> {
        let table = tables::table("baseline")?;
        let columns = tables::columns(table);
        let mut rows = self.baselines.clone();
        touch_baselines(tx, &rows).await?;
        for row in &mut rows {
            let seq = self
                .seq_of(row)
                .and_then(|seq| positions.0.get(&seq).copied().flatten());
            row[SEQ_COLUMN] = seq.unwrap_or(before).into();
        }
        tables::insert(&mut tx.conn, table, &columns, &rows).await?;
        self.insert_reviews(tx).await?;
        self.insert_evidence(tx).await?;
        row_seals::seal_touched(tx).await
    }

    async fn insert_reviews(&self, tx: &mut Tx) -> Result<()> {
        for (name, rows) in &self.reviews {
            let table = tables::table(name)?;
            let columns = tables::columns(table);
            let key: Vec<usize> = table
                .order
                .split(", ")
                .filter_map(|part| columns.iter().position(|(column, _)| *column == part))
                .collect();
            for row in rows {
                let key = key.iter().map(|at| row[*at].clone()).collect();
                touch(tx, name, key).await?;
            }
            tables::insert(&mut tx.conn, table, &columns, rows).await?;
        }
        Ok(())
    }

    async fn insert_evidence(&self, tx: &mut Tx) -> Result<()> {
        for (table, rows) in &self.evidence {
            let sealed = SEALED_KEYS.iter().find(|(name, _)| *name == table.name);
            if let Some((name, columns)) = sealed {
                for row in rows {
                    touch(tx, name, row[..=*columns].to_vec()).await?;
                }
            }
            tables::insert(&mut tx.conn, table, &tables::columns(table), rows).await?;
        }
        Ok(())
    }

    fn seq_of(&self, row: &[Param]) -> Option<i64> {
        match row.get(SEQ_COLUMN) {
            Some(Param::Int(seq)) => *seq,
            _ => None,
        }
    }
}

async fn touch_baselines(tx: &mut Tx, rows: &[Vec<Param>]) -> Result<()> {
    for row in rows {
        let key = [PROJECT_COLUMN, ID_COLUMN].map(|column| row[column].clone());
        touch(tx, "baseline", key.to_vec()).await?;
    }
    Ok(())
}

/// The columns of a baseline that name it.
const ID_COLUMN: usize = 0;
const PROJECT_COLUMN: usize = 1;
/// The column of a baseline that says where it was made.
const SEQ_COLUMN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_and_the_place_of_a_baseline_are_where_they_are_taken_for() {
        let columns = tables::columns(tables::table("baseline").unwrap());
        let names = [ID_COLUMN, PROJECT_COLUMN, SEQ_COLUMN].map(|column| columns[column].0);
        assert_eq!(names, ["id", "project_id", "seq"]);
    }
}
