//! What the ledgers tell of rows that no replay can make anew, held against the rows.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::evidence;
use crate::ledger_origin;
use crate::row_digests::{BETWEEN, Pages};
use crate::state_verdict::StateVerdict;
use crate::tables;
use serde_json::Value;
use spexus_domain::{Uuid, told};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Changes read in one step.
const STEP_ROWS: u32 = 500;

/// What the changes that belong to no item tell for verification.
#[derive(Default)]
pub(crate) struct Seals {
    /// The last digest of each row, by table and key; `None` where it is gone.
    rows: HashMap<(String, String), Option<String>>,
    /// Rows whose digest before a change was not the one after the change before.
    torn: BTreeMap<(String, String), i64>,
    /// What was changed by somebody whose words were taken out, so that nothing is known of its rows.
    unknown: HashSet<String>,
    /// Where siblings came to stand when they were numbered anew, with the number of the change.
    pub(crate) positions: HashMap<Uuid, (i64, i64)>,
    /// What an upgrade found of items, comments and links, with the number of the change.
    pub(crate) found: HashMap<Uuid, (i64, Value)>,
}

impl Seals {
    pub(crate) async fn read(conn: &mut Conn) -> Result<Self> {
        let origins = ledger_origin::all(conn).await?;
        let (mut seals, mut after) = (Self::default(), i64::MIN);
        loop {
            let sql = "SELECT seq, ledger, number, entity, entity_id, after, salt FROM change WHERE item_id IS NULL AND seq > $1 ORDER BY seq LIMIT $2";
            let rows = conn.all(sql, params![after, STEP_ROWS]).await?;
            let Some(last) = rows.last() else { return Ok(seals) };
            after = last.int("seq")?;
            for row in &rows {
                let came = row.id("ledger").ok().and_then(|ledger| origins.get(&ledger));
                seals.take(row, came.map_or(0, |origin| origin.number))?;
            }
        }
    }

    /// The next change, of a ledger of which so many changes came from another installation: what those tell of rows is true there.
    fn take(&mut self, row: &Row, came: i64) -> Result<()> {
        if row.bytes("salt")?.is_empty() {
            self.unknown.insert(row.id("entity_id")?.to_string());
            return Ok(());
        }
        let text = row.text("after")?;
        if !text.contains("\".") {
            return Ok(());
        }
        // One that cannot be read is told by its ledger.
        let (seq, Ok(mut after)) = (row.int("seq")?, row.object("after")) else {
            return Ok(());
        };
        if let Some(Value::Array(rows)) = after.remove(told::ROWS)
            && row.int("number")? > came
        {
            rows.iter().for_each(|entry| self.take_row(seq, entry));
        }
        if let Some(Value::Object(places)) = after.remove(told::POSITIONS) {
            for (id, place) in places {
                if let (Ok(id), Some(place)) = (Uuid::try_parse(&id), place.as_i64()) {
                    self.positions.insert(id, (seq, place));
                }
            }
        }
        if let Some(Value::Array(found)) = after.remove(told::FOUND) {
            for entry in found {
                if let Some(id) = entry.get("id").and_then(Value::as_str)
                    && let Ok(id) = Uuid::try_parse(id)
                {
                    self.found.insert(id, (seq, entry));
                }
            }
        }
        Ok(())
    }

    fn take_row(&mut self, seq: i64, entry: &Value) {
        let text = |at: usize| entry.get(at).and_then(Value::as_str).map(str::to_owned);
        let (Some(table), Some(key)) = (text(0), text(1)) else {
            return;
        };
        let place = (table, key);
        // One that an upgrade found has no digest of before.
        let is_found = entry.as_array().is_some_and(|parts| parts.len() == 3);
        let (before, after) = if is_found {
            (None, text(2))
        } else {
            (text(2), text(3))
        };
        let known = self.rows.get(&place).cloned().unwrap_or_default();
        if !is_found && before != known && !self.is_unknown(&place.1) {
            self.torn.entry(place.clone()).or_insert(seq);
        }
        self.rows.insert(place, after);
    }

    fn is_unknown(&self, key: &str) -> bool {
        !self.unknown.is_empty() && key.split(BETWEEN).any(|part| self.unknown.contains(part))
    }

    /// Holds the rows of the small tables against what the ledgers tell of them.
    //= specs/spexus-store.md#history
    //# Verification MUST find a row of an account, a token, a member, a group, a project, a setting, a prompt, a baseline, a root
    //# or an app that is not what the history made of it, also where it was changed rightly afterwards.
    pub(crate) async fn compare(&self, conn: &mut Conn, verdict: &mut StateVerdict) -> Result<()> {
        let mut met = HashSet::new();
        for (name, _) in evidence::sealed() {
            let mut pages = Pages::of(tables::table(name)?);
            while let Some(rows) = pages.next(conn).await? {
                for (key, digest) in rows {
                    verdict.compared += 1;
                    let place = (name.to_owned(), key);
                    let problem = match self.rows.get(&place) {
                        _ if self.is_unknown(&place.1) => None,
                        None | Some(None) => Some("it is not in the history"),
                        Some(Some(told)) if *told != digest => Some("it is not what the history made of it"),
                        Some(Some(_)) => None,
                    };
                    if let Some(problem) = problem {
                        note(verdict, name, &place.1, problem);
                    }
                    met.insert(place);
                }
            }
        }
        let gone = self
            .rows
            .iter()
            .filter(|(place, digest)| digest.is_some() && !met.contains(*place));
        let mut gone: Vec<_> = gone.map(|(place, _)| place).collect();
        gone.sort_unstable();
        for (table, key) in gone {
            verdict.compared += 1;
            if !self.is_unknown(key) {
                note(verdict, table, key, "the history has it, and it is gone");
            }
        }
        for ((table, key), seq) in &self.torn {
            let problem = format!("change {seq} met it other than the history had made it");
            note(verdict, table, key, &problem);
        }
        Ok(())
    }
}

fn note(verdict: &mut StateVerdict, table: &str, key: &str, problem: &str) {
    let id = key
        .split(BETWEEN)
        .next()
        .and_then(|part| Uuid::try_parse(part).ok());
    verdict.note(table, id.unwrap_or_default(), &key.replace(BETWEEN, " "), problem);
}
