//! What differs between two positions of the history, item by item. Items come in the order of their ids, a page at a
//! time, and the changes of an item are folded as they are read: a difference of any size is read in bounded memory, and
//! reading all its pages costs as much as reading the history between them once.

use crate::changes::action;
use crate::cursor;
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::items::kind;
use crate::listing::Conditions;
use crate::reference_prefix::{prefix, prefix_of};
use serde::{Deserialize, Serialize};
use spexus_domain::baseline::{Difference, Fold, ItemDifference};
use spexus_domain::change::{Action, FieldChange};
use spexus_domain::item::heading;
use spexus_domain::limits::MAX_PAGE_BYTES;
use spexus_domain::query::{Count, Page, PageRequest, Total};
use spexus_domain::{Reference, ShownReference, Uuid};
use std::collections::HashMap;

/// How much of a difference is read at once.
#[derive(Clone, Copy, Debug)]
pub struct DiffLimits {
    /// Items whose changes are folded at once.
    pub batch_items: u32,
    /// Changes read at once.
    pub batch_steps: u32,
    /// A range no longer than this is looked through as it stands; a longer one is walked item by item.
    pub max_short_steps: i64,
    /// A range no longer than this is counted to its end without being asked.
    pub max_counted_steps: i64,
}

impl Default for DiffLimits {
    fn default() -> Self {
        Self {
            batch_items: 100,
            batch_steps: 200,
            max_short_steps: 20_000,
            max_counted_steps: 2_000,
        }
    }
}

/// A range of a project's history, from one change to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRange {
    /// The project.
    pub project_id: Uuid,
    /// The position it begins behind.
    pub after: i64,
    /// The position it ends with.
    pub until: i64,
}

/// The position of a page cursor: where a page ended.
#[derive(Serialize, Deserialize)]
struct Position {
    range: HistoryRange,
    behind: Uuid,
    shown: i64,
}

/// What became of an item: nothing, or how it differs.
type Outcome = Option<(Difference, Vec<FieldChange>)>;

/// The range a cursor was made for.
pub fn range_of(cursor: &str) -> Result<HistoryRange> {
    Ok(cursor::read::<Position>(cursor)?.range)
}

//= specs/spexus-service.md#baselines
//# A difference MUST show every item that differs exactly once, over as many pages as it takes, whatever its size.
/// One page of the items that differ between the ends of a range.
pub async fn page(
    conn: &mut Conn,
    range: &HistoryRange,
    page: &PageRequest,
    limits: &DiffLimits,
) -> Result<Page<ItemDifference>> {
    let mut walk = Walk { conn, range, limits };
    let position: Option<Position> = page.cursor.as_deref().map(cursor::read).transpose()?;
    let (begin, before) = position.map_or((Uuid::nil(), 0), |position| (position.behind, position.shown));
    let (found, more) = walk.fill(begin, page.limit as usize).await?;
    let shown = before + i64::try_from(found.len()).unwrap_or(0);
    let short = range.until - range.after <= limits.max_counted_steps;
    let total = match more {
        false => Total::Exact(shown),
        true if short || page.count == Count::Exact => Total::Exact(walk.count().await?),
        true => Total::AtLeast(shown + 1),
    };
    let next = found.last().filter(|_| more).map(|(id, ..)| {
        cursor::write(&Position {
            range: *range,
            behind: *id,
            shown,
        })
    });
    Ok(Page::new(titled(conn, found).await?, total, next))
}

type Found = (Uuid, Difference, Vec<FieldChange>);

/// A walk along a range, item by item.
struct Walk<'a> {
    conn: &'a mut Conn,
    range: &'a HistoryRange,
    limits: &'a DiffLimits,
}

impl Walk<'_> {
    /// How many items differ.
    async fn count(&mut self) -> Result<i64> {
        let (mut behind, mut differing) = (Uuid::nil(), 0);
        loop {
            let batch = self.outcomes(behind).await?;
            let Some((last, _)) = batch.last() else {
                return Ok(differing);
            };
            behind = *last;
            differing += batch.iter().filter(|(_, outcome)| outcome.is_some()).count() as i64;
        }
    }

    /// As many items as the page takes, by number and by bytes, and whether there is one more.
    async fn fill(&mut self, mut behind: Uuid, limit: usize) -> Result<(Vec<Found>, bool)> {
        let (mut found, mut bytes): (Vec<Found>, usize) = (Vec::new(), 0);
        loop {
            let batch = self.outcomes(behind).await?;
            let Some((last, _)) = batch.last() else {
                return Ok((found, false));
            };
            behind = *last;
            for (id, outcome) in batch {
                let Some((difference, fields)) = outcome else {
                    continue;
                };
                bytes += fields.iter().map(weight).sum::<usize>();
                if found.len() == limit || (bytes > MAX_PAGE_BYTES && !found.is_empty()) {
                    return Ok((found, true));
                }
                found.push((id, difference, fields));
            }
        }
    }

    /// The next items something happened to, in the order of their ids, each with what remains of it.
    async fn outcomes(&mut self, behind: Uuid) -> Result<Vec<(Uuid, Outcome)>> {
        let touched = self.touched(behind).await?;
        let mut folds: HashMap<Uuid, Fold> = HashMap::new();
        if touched.is_empty() {
            return Ok(vec![]);
        }
        let mut rest = touched.as_slice();
        while let Some(at) = self.read_steps(rest, &mut folds).await? {
            rest = &rest[at + 1..];
            if rest.is_empty() {
                break;
            }
        }
        let finish = |id: Uuid| (id, folds.remove(&id).and_then(Fold::finish));
        Ok(touched.into_iter().map(finish).collect())
    }

    /// Items something happened to, behind an id.
    async fn touched(&mut self, behind: Uuid) -> Result<Vec<Uuid>> {
        // Written so that neither engine looks through the project's whole history and sorts it for each page.
        const LONG: &str = "SELECT DISTINCT c.item_id AS id FROM change c WHERE c.ledger = $1 AND c.item_id > $4 AND CASE WHEN \
                            c.entity = 'item' AND c.seq > $2 AND c.seq <= $3 THEN 1 ELSE 0 END = 1 ORDER BY c.item_id LIMIT $5";
        const SHORT: &str = "SELECT DISTINCT c.item_id AS id FROM change c WHERE c.ledger = $1 AND c.seq > $2 AND c.seq <= $3 \
                             AND c.entity = 'item' AND c.item_id > $4 ORDER BY c.item_id LIMIT $5";
        let sql = match self.range.until - self.range.after <= self.limits.max_short_steps {
            true => SHORT,
            false => LONG,
        };
        let values = params![
            self.range.project_id,
            self.range.after,
            self.range.until,
            behind,
            self.limits.batch_items
        ];
        self.conn
            .all(sql, values)
            .await?
            .iter()
            .map(|row| row.id("id"))
            .collect()
    }

    /// Reads changes of these items into their folds. Tells how far it came when there may be more: the place of the last
    /// item it read, which is complete then.
    async fn read_steps(&mut self, items: &[Uuid], folds: &mut HashMap<Uuid, Fold>) -> Result<Option<usize>> {
        let rows = self.steps(items, self.range.after).await?;
        let mut last = None;
        for row in &rows {
            last = Some(push(row, folds)?);
        }
        let Some((id, mut seq)) = last.filter(|_| rows.len() == self.limits.batch_steps as usize) else {
            return Ok(None);
        };
        loop {
            let rows = self.steps(&[id], seq).await?;
            for row in &rows {
                seq = push(row, folds)?.1;
            }
            if rows.len() < self.limits.batch_steps as usize {
                return Ok(items.iter().position(|item| *item == id));
            }
        }
    }

    async fn steps(&mut self, items: &[Uuid], after: i64) -> Result<Vec<Row>> {
        let mut query = Conditions::default();
        let ledger = query.bind(self.range.project_id);
        query.add(format!("c.ledger = {ledger}"));
        query.any_of("c.item_id", items.iter().map(|id| Param::from(*id)));
        let (after, until, limit) = (
            query.bind(after),
            query.bind(self.range.until),
            query.bind(self.limits.batch_steps),
        );
        let sql = format!(
            "SELECT c.item_id, c.seq, c.action, c.before, c.after FROM change c WHERE {} AND c.seq > {after} AND c.seq <= {until} \
             AND c.entity = 'item' ORDER BY c.item_id, c.seq LIMIT {limit}",
            query.text()
        );
        self.conn.all(sql, query.params).await
    }
}

fn weight(field: &FieldChange) -> usize {
    let side = |value: &Option<serde_json::Value>| value.as_ref().map_or(0, |value| value.to_string().len());
    field.field.len() + side(&field.before) + side(&field.after)
}

fn push(row: &Row, folds: &mut HashMap<Uuid, Fold>) -> Result<(Uuid, i64)> {
    let (id, action) = (row.id("item_id")?, action(row)?);
    let was = matches!(action, Action::Updated | Action::Deleted);
    let is = action != Action::Deleted;
    let fold = folds.entry(id).or_default();
    fold.push(was, is, &row.object("before")?, row.object("after")?);
    Ok((id, row.int("seq")?))
}

/// Asks for the changes of some items, to look at how they are found.
#[cfg(test)]
pub(crate) async fn steps_of(conn: &mut Conn, range: &HistoryRange, items: &[Uuid]) -> Result<()> {
    let limits = &DiffLimits::default();
    let mut walk = Walk { conn, range, limits };
    walk.steps(items, range.after).await.map(drop)
}

/// Puts names to what was found.
async fn titled(conn: &mut Conn, found: Vec<Found>) -> Result<Vec<ItemDifference>> {
    let mut query = Conditions::default();
    query.any_of("w.id", found.iter().map(|(id, ..)| Param::from(*id)));
    if found.is_empty() {
        return Ok(vec![]);
    }
    let sql = format!(
        "SELECT i.id, i.kind, i.number, i.title, {} AS prefix, \
         CASE WHEN i.title = '' THEN substr(i.description, 1, 200) ELSE '' END AS description \
         FROM directory w CROSS JOIN item i CROSS JOIN project p \
         WHERE i.project_id = w.project_id AND i.id = w.id AND p.id = w.project_id AND {}",
        prefix_of!("p"),
        query.text()
    );
    let mut names = HashMap::new();
    for row in conn.all(sql, query.params).await? {
        let kind = kind(&row, "kind")?;
        let title = heading(&row.text("title")?, &row.text("description")?);
        let reference = prefix(&row, "prefix")?.show(Reference::of_kind(kind, row.int("number")?));
        names.insert(row.id("id")?, (kind, reference, title));
    }
    let titled = found.into_iter().filter_map(|(id, difference, mut fields)| {
        let (kind, reference_id, title): (_, ShownReference, _) = names.remove(&id)?;
        for field in &mut fields {
            field.show_references(&|_| reference_id.prefix().clone());
        }
        Some(ItemDifference {
            id,
            reference_id,
            kind,
            title,
            difference,
            fields,
        })
    });
    Ok(titled.collect())
}
