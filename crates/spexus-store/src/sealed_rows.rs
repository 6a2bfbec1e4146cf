//! What the ledgers tell of rows that no replay can make anew, held against the rows.

use crate::engine::{Conn, Row, params};
use crate::error::Result;
use crate::evidence;
use crate::kept_state::KeptState;
use crate::ledger_origin;
use crate::row_digests::{BETWEEN, Pages};
use crate::state_verdict::StateVerdict;
use crate::tables;
use serde_json::Value;
use spexus_domain::{Uuid, told};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Changes read in one step.
const STEP_ROWS: u32 = 500;

/// A table, and the key of a row in it.
pub(crate) type RowKey = (String, String);

/// What the changes that belong to no item tell for verification.
#[derive(Default)]
pub(crate) struct Seals {
    /// The last digest of each row, by table and key; `None` where it is gone.
    rows: HashMap<RowKey, Option<String>>,
    /// The last change that told of each: its ledger, and its number there.
    tellers: HashMap<RowKey, (Uuid, i64)>,
    /// Rows whose digest before a change was not the one after the change before.
    torn: BTreeMap<RowKey, i64>,
    /// What was changed by somebody whose words were taken out, so that nothing is known of its rows.
    unknown: HashSet<String>,
    /// Where siblings came to stand when they were numbered anew, with the number of the change.
    pub(crate) positions: HashMap<Uuid, (i64, i64)>,
    /// What an upgrade found of items, comments and links, with the number of the change.
    pub(crate) found: HashMap<Uuid, (i64, Value)>,
}

impl Seals {
    pub(crate) async fn read(conn: &mut Conn, kept: &KeptState) -> Result<Self> {
        let origins = ledger_origin::all(conn).await?;
        let (mut seals, mut after) = (Self::default(), i64::MIN);
        for (row, known) in kept.rows() {
            seals.rows.insert(row.clone(), Some(known.digest.clone()));
            seals.tellers.insert(row.clone(), (known.ledger, known.number));
        }
        loop {
            let sql = "SELECT seq, ledger, number, entity, entity_id, after, salt FROM change WHERE item_id IS NULL AND seq > $1 ORDER BY seq LIMIT $2";
            let rows = conn.all(sql, params![after, STEP_ROWS]).await?;
            let Some(last) = rows.last() else { return Ok(seals) };
            after = last.int("seq")?;
            for row in &rows {
                let ledger = row.id("ledger").ok();
                if ledger
                    .is_some_and(|ledger| row.int("number").is_ok_and(|number| number <= kept.until(ledger)))
                {
                    continue;
                }
                let came = ledger.and_then(|ledger| origins.get(&ledger));
                seals.take(row, came.map_or(0, |origin| origin.number), kept)?;
            }
        }
    }

    /// The next change, of a ledger of which so many changes came from another installation: what those tell of rows is true there.
    fn take(&mut self, row: &Row, came: i64, kept: &KeptState) -> Result<()> {
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
            let teller = (row.id("ledger")?, row.int("number")?);
            for entry in &rows {
                self.take_row(seq, teller, entry, kept);
            }
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

    fn take_row(&mut self, seq: i64, teller: (Uuid, i64), entry: &Value, kept: &KeptState) {
        let text = |at: usize| entry.get(at).and_then(Value::as_str).map(str::to_owned);
        let (Some(table), Some(key)) = (text(0), text(1)) else {
            return;
        };
        let place = (table, key);
        if kept.row(&place).is_some_and(|known| seq <= known.seq) {
            return;
        }
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
        self.tellers.insert(place.clone(), teller);
        self.rows.insert(place, after);
    }

    /// The rows of which a ledger told last, up to one of its changes, with the digests they had then.
    pub(crate) fn of_ledger(&self, ledger: Uuid, until: i64) -> Vec<(&RowKey, &str)> {
        let of = |row: &RowKey| {
            let teller = self.tellers.get(row);
            teller.is_some_and(|(of, number)| *of == ledger && *number <= until)
        };
        let told = self.rows.iter().filter(|(row, _)| of(row));
        let mut told: Vec<_> = told
            .filter_map(|(row, digest)| Some((row, digest.as_deref()?)))
            .collect();
        told.sort_unstable();
        told
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
