//! What is kept of changes that were dropped by retention: what they had made of everything they were about. It stands in the ledger
//! of the installation, so a replay can begin there.

use crate::dropped_segments::{self, Segment};
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::fold::{Fold, ItemFolds};
use crate::present_rows::ItemKey;
use crate::sealed_rows::RowKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spexus_domain::change::INSTALLATION;
use spexus_domain::{Uuid, told};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What dropped segments are called in the ledger of the installation.
pub(crate) const LABEL: &str = "dropped segment";

/// The fields that say which ledger is meant, and up to which change.
pub(crate) const LEDGER: &str = "ledger";
pub(crate) const UNTIL: &str = "until";

/// Changes read in one step; each holds much.
const STEP_ROWS: u32 = 20;

/// An item, a comment or a link as the dropped changes had made it.
#[derive(Serialize, Deserialize)]
pub(crate) struct KeptThing {
    pub(crate) id: Uuid,
    #[serde(flatten)]
    pub(crate) fold: Fold,
}

/// A row of a small table that the dropped changes told of.
pub(crate) struct KeptRow {
    pub(crate) digest: String,
    /// The last change of the segment: its ledger, its number there, and among all.
    pub(crate) ledger: Uuid,
    pub(crate) number: i64,
    pub(crate) seq: i64,
}

/// Everything that is kept of dropped changes.
#[derive(Default)]
pub(crate) struct KeptState {
    segments: BTreeMap<Uuid, Segment>,
    folds: BTreeMap<ItemKey, ItemFolds>,
    ids: HashSet<Uuid>,
    rows: HashMap<RowKey, KeptRow>,
}

//= specs/spexus-store.md#retention
//# Where a part of a ledger was dropped by retention, verification MUST still find all it would have found of what is left.
impl KeptState {
    pub(crate) async fn read(conn: &mut Conn) -> Result<Self> {
        let mut kept = Self {
            segments: dropped_segments::all(conn).await?,
            ..Self::default()
        };
        let mut after = 0;
        while !kept.segments.is_empty() {
            let sql = "SELECT number, after FROM change WHERE ledger = $1 AND label = $2 AND entity = 'setting' AND number > $3 \
                       ORDER BY number LIMIT $4";
            let rows = conn
                .all(sql, params![INSTALLATION, LABEL, after, STEP_ROWS])
                .await?;
            let Some(last) = rows.last() else { break };
            after = last.int("number")?;
            for row in &rows {
                // One that cannot be read is told by its ledger.
                if let Ok(after) = row.object("after") {
                    kept.take(after);
                }
            }
        }
        Ok(kept)
    }

    /// What one change says, if it is of the last segment that was dropped of its ledger.
    fn take(&mut self, mut after: Map<String, Value>) {
        let ledger = after.get(LEDGER).and_then(Value::as_str);
        let ledger = ledger.and_then(|ledger| Uuid::try_parse(ledger).ok());
        let Some(segment) = ledger.and_then(|ledger| self.segments.get(&ledger)).copied() else {
            return;
        };
        if after.get(UNTIL).and_then(Value::as_i64) != Some(segment.number) {
            return;
        }
        if let Some(things) = after.remove(told::KEPT)
            && let Ok(things) = serde_json::from_value::<Vec<KeptThing>>(things)
        {
            for KeptThing { id, fold } in things {
                self.ids.insert(id);
                let item = (segment.ledger, fold.item);
                self.folds.entry(item).or_default().0.insert(id, fold);
            }
        }
        if let Some(rows) = after.remove(told::KEPT_ROWS)
            && let Ok(rows) = serde_json::from_value::<Vec<(String, String, String)>>(rows)
        {
            for (table, key, digest) in rows {
                let row = KeptRow {
                    digest,
                    ledger: segment.ledger,
                    number: segment.number,
                    seq: segment.seq,
                };
                self.rows.insert((table, key), row);
            }
        }
    }

    /// Up to which change a ledger was dropped.
    pub(crate) fn until(&self, ledger: Uuid) -> i64 {
        self.segments.get(&ledger).map_or(0, |segment| segment.number)
    }

    /// What the dropped changes made of items behind the first, up to the last.
    pub(crate) fn folds_in(&self, after: ItemKey, until: ItemKey) -> BTreeMap<ItemKey, ItemFolds> {
        let within = (std::ops::Bound::Excluded(after), std::ops::Bound::Included(until));
        let found = self.folds.range(within);
        found.map(|(item, folds)| (*item, folds.clone())).collect()
    }

    /// Whether something is kept of a thing.
    pub(crate) fn knows(&self, id: Uuid) -> bool {
        self.ids.contains(&id)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&RowKey, &KeptRow)> {
        self.rows.iter()
    }

    pub(crate) fn row(&self, row: &RowKey) -> Option<&KeptRow> {
        self.rows.get(row)
    }
}
