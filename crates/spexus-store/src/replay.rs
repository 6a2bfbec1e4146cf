//! The present state held against a replay of the ledgers: whatever was altered, removed or added behind the history shows.
//!
//! Items, comments and links are compared, each with what the history made of it: its fields, and everything else a row has. Who
//! made a thing and when are those of its first change, unless the change tells otherwise; see [`spexus_domain::told`].

use crate::derived_tables;
use crate::dropped_segments::Segment;
use crate::engine::{Conn, Row, params};
use crate::error::{Error, Result};
use crate::fold::{Fold, Found, ItemFolds};
use crate::kept_state::KeptState;
use crate::ledger_origin::{self, LedgerOrigin};
use crate::present_rows::{ItemKey, Present, Read, present_comments, present_items, present_links};
use crate::sealed_rows::Seals;
use crate::state_verdict::{StateFault, StateVerdict};
use serde_json::Value;
use spexus_domain::Uuid;
use spexus_domain::change::INSTALLATION;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Changes read in one step.
const STEP_ROWS: u32 = 2_000;

/// Items compared at once.
const BATCH_ITEMS: usize = 200;

/// Compares items, comments and links with the history. The connection must see one moment.
//= specs/spexus-store.md#history
//# Verification MUST find an item, a comment or a link that is not what the history made of it, in any of its columns.
pub async fn compare(conn: &mut Conn, progress: &(dyn Fn(u64) + Sync)) -> Result<StateVerdict> {
    let known = Known::read(conn).await?;
    let mut verdict = range(conn, &known, Range::ALL, progress).await?.verdict;
    look_for_strangers(conn, &known, &mut verdict).await?;
    Ok(verdict)
}

/// The same with the small tables and what is derived.
#[cfg(test)]
pub(crate) async fn compare_all(conn: &mut Conn, progress: &(dyn Fn(u64) + Sync)) -> Result<StateVerdict> {
    let known = Known::read(conn).await?;
    let mut verdict = range(conn, &known, Range::ALL, progress).await?.verdict;
    compare_rest(conn, &known, &mut verdict).await?;
    Ok(verdict)
}

/// Compares what is no item, comment or link.
pub(crate) async fn compare_rest(conn: &mut Conn, known: &Known, verdict: &mut StateVerdict) -> Result<()> {
    look_for_strangers(conn, known, verdict).await?;
    known.seals.compare(conn, verdict).await?;
    derived_tables::compare(conn, verdict).await
}

/// What the history cannot tell of items, comments and links as they are, to be told once.
pub(crate) async fn untold(conn: &mut Conn) -> Result<Vec<Value>> {
    let known = Known {
        seals: Seals::default(),
        kept: KeptState::read(conn).await?,
        names: names(conn).await?,
        origins: ledger_origin::all(conn).await?,
        is_arriving: false,
    };
    Ok(range(conn, &known, Range::ALL, &|_| {}).await?.untold)
}

/// Compares everything of one project with the ledger it comes with, and tells what that cannot know: by whom things were made
/// as people are called here. That is no difference.
pub(crate) async fn compare_arriving(
    conn: &mut Conn,
    project_id: Uuid,
) -> Result<(StateVerdict, Vec<Value>)> {
    let known = Known {
        seals: Seals::default(),
        kept: KeptState::default(),
        names: names(conn).await?,
        origins: ledger_origin::all(conn).await?,
        is_arriving: true,
    };
    let Compared { mut verdict, untold } =
        range(conn, &known, Range::of_project(project_id), &|_| {}).await?;
    look_for_strangers_in(conn, project_id, &mut verdict).await?;
    Ok((verdict, untold))
}

/// Items by their projects and ids: behind the first, up to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    after: ItemKey,
    until: ItemKey,
}

impl Range {
    const ALL: Self = Self {
        after: (Uuid::nil(), Uuid::nil()),
        until: (Uuid::max(), Uuid::max()),
    };

    fn of_project(project_id: Uuid) -> Self {
        Self {
            after: (project_id, Uuid::nil()),
            until: (project_id, Uuid::max()),
        }
    }

    /// All items in so many ranges of about equal size.
    pub(crate) async fn split(conn: &mut Conn, parts: i64) -> Result<Vec<Self>> {
        let count = conn
            .one("SELECT count(*) AS n FROM item", params![])
            .await?
            .int("n")?;
        let (mut ranges, mut after) = (Vec::new(), Self::ALL.after);
        for part in 1..parts {
            let sql = "SELECT project_id, id FROM item ORDER BY project_id, id LIMIT 1 OFFSET $1";
            let Some(row) = conn.optional(sql, params![count * part / parts]).await? else {
                break;
            };
            let until = (row.id("project_id")?, row.id("id")?);
            if until > after {
                ranges.push(Self { after, until });
                after = until;
            }
        }
        ranges.push(Self {
            after,
            until: Self::ALL.until,
        });
        Ok(ranges)
    }
}

/// What is known before items are looked at.
pub(crate) struct Known {
    seals: Seals,
    /// What is known of changes that were dropped.
    kept: KeptState,
    names: HashMap<Uuid, HashSet<String>>,
    /// Where ledgers began that did not begin here.
    origins: BTreeMap<Uuid, LedgerOrigin>,
    /// Whether it is a project that just comes with its ledger.
    is_arriving: bool,
}

impl Known {
    /// What the ledgers tell of rows of small tables.
    pub(crate) fn seals(&self) -> &Seals {
        &self.seals
    }

    pub(crate) async fn read(conn: &mut Conn) -> Result<Self> {
        let kept = KeptState::read(conn).await?;
        Ok(Self {
            seals: Seals::read(conn, &kept).await?,
            kept,
            names: names(conn).await?,
            origins: ledger_origin::all(conn).await?,
            is_arriving: false,
        })
    }
}

/// What comparing a range of items found.
pub(crate) struct Compared {
    pub(crate) verdict: StateVerdict,
    untold: Vec<Value>,
}

/// Compares a range of items, with their comments and the links that begin at them.
pub(crate) async fn range(
    conn: &mut Conn,
    known: &Known,
    range: Range,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Compared> {
    let mut replay = Replay {
        known,
        faults: Vec::new(),
        compared: Compared {
            verdict: StateVerdict::default(),
            untold: Vec::new(),
        },
    };
    let mut folds = known.kept.folds_in(range.after, range.until);
    let mut after = (range.after, i64::MAX);
    loop {
        let rows = changes_behind(conn, after, range.until).await?;
        for row in &rows {
            after = ((row.id("ledger")?, row.id("item_id")?), row.int("seq")?);
            if row.int("number")? <= known.kept.until(after.0.0) {
                continue;
            }
            match folds.entry(after.0).or_default().push(row, &known.seals) {
                Err(Error::Broken(_)) => {
                    let problem = format!("change {} of it cannot be read", after.1);
                    replay.note(after.0, "item", after.0.1, "", problem);
                }
                pushed => pushed?,
            }
        }
        progress(rows.len() as u64);
        let is_last = rows.len() < STEP_ROWS as usize;
        // The last item may go on in the next step.
        let open = match is_last {
            true => BTreeMap::new(),
            false => folds.split_off(&after.0),
        };
        if folds.len() >= BATCH_ITEMS || is_last {
            replay.compare_items(conn, std::mem::take(&mut folds)).await?;
        }
        folds.extend(open);
        if is_last {
            return Ok(replay.compared);
        }
    }
}

/// What the changes of a project up to one made of its items, comments and links, to be kept when those are dropped.
pub(crate) async fn summaries(
    conn: &mut Conn,
    known: &Known,
    segment: &Segment,
) -> Result<Vec<(Uuid, Fold)>> {
    let range = Range::of_project(segment.ledger);
    let mut folds = known.kept.folds_in(range.after, range.until);
    let mut after = (range.after, i64::MAX);
    loop {
        let rows = changes_behind(conn, after, range.until).await?;
        let Some(last) = rows.last() else { break };
        for row in &rows {
            let number = row.int("number")?;
            if number > known.kept.until(segment.ledger) && number <= segment.number {
                let item = (segment.ledger, row.id("item_id")?);
                folds.entry(item).or_default().push(row, &known.seals)?;
            }
        }
        after = ((segment.ledger, last.id("item_id")?), last.int("seq")?);
    }
    let things = folds.into_values().flat_map(|folds| folds.0);
    Ok(things
        .map(|(id, fold)| (id, fold.summary(id, &known.seals, segment.seq)))
        .collect())
}

async fn changes_behind(conn: &mut Conn, (place, seq): (ItemKey, i64), until: ItemKey) -> Result<Vec<Row>> {
    let sql = "SELECT item_id, other_item_id, seq, number, at, user_id, ledger, entity, entity_id, label, action, rev, before, after, salt FROM change \
               WHERE item_id IS NOT NULL AND (ledger, item_id, seq) > ($1, $2, $3) AND (ledger, item_id) <= ($4, $5) \
               ORDER BY ledger, item_id, seq LIMIT $6";
    let values = params![place.0, place.1, seq, until.0, until.1, STEP_ROWS];
    conn.all(sql, values).await
}

/// Every name each account ever had: the history tells people by the name of that day.
pub(crate) async fn names(conn: &mut Conn) -> Result<HashMap<Uuid, HashSet<String>>> {
    let mut names: HashMap<Uuid, HashSet<String>> = HashMap::new();
    let sql = "SELECT DISTINCT entity_id AS id, label AS name FROM change WHERE entity = 'user' \
               UNION SELECT id, username AS name FROM account";
    for row in &conn.all(sql, params![]).await? {
        names.entry(row.id("id")?).or_default().insert(row.text("name")?);
    }
    // Names that people had where a project came from.
    let sql = "SELECT after FROM change WHERE ledger = $1 AND entity = 'project'";
    for row in &conn.all(sql, params![INSTALLATION]).await? {
        let people = row.object("after")?.remove("people");
        let people: HashMap<Uuid, HashSet<String>> = people
            .and_then(|people| serde_json::from_value(people).ok())
            .unwrap_or_default();
        for (id, brought) in people {
            names.entry(id).or_default().extend(brought);
        }
    }
    Ok(names)
}

struct Replay<'k> {
    known: &'k Known,
    /// What was found in this batch, by the item it belongs to, so that it is told in the same order however it was read.
    faults: Vec<(ItemKey, StateFault)>,
    compared: Compared,
}

impl Replay<'_> {
    async fn compare_items(
        &mut self,
        conn: &mut Conn,
        mut folds: BTreeMap<ItemKey, ItemFolds>,
    ) -> Result<()> {
        let places: Vec<ItemKey> = folds.keys().copied().collect();
        for of_project in places.chunk_by(|a, b| a.0 == b.0) {
            self.compare_in_project(conn, of_project, &mut folds).await?;
        }
        Ok(())
    }

    /// Compares items of one project.
    async fn compare_in_project(
        &mut self,
        conn: &mut Conn,
        places: &[ItemKey],
        folds: &mut BTreeMap<ItemKey, ItemFolds>,
    ) -> Result<()> {
        // By place and id, so that a change of one thing that stands under two items is told alike however items are read.
        let of_item = |(place, folds): (ItemKey, ItemFolds)| {
            folds.0.into_iter().map(move |(id, fold)| ((place, id), fold))
        };
        let taken = places
            .iter()
            .filter_map(|place| Some((*place, folds.remove(place)?)));
        let mut folds: HashMap<(ItemKey, Uuid), Fold> = taken.flat_map(of_item).collect();
        for some in places.chunks(BATCH_ITEMS) {
            let mut present = self.readable("item", present_items(conn, some).await?)?;
            present.extend(self.readable("comment", present_comments(conn, some).await?)?);
            present.extend(self.readable("link", present_links(conn, some).await?)?);
            for (item, one) in present {
                let Some(mut fold) = folds.remove(&(item, one.id)) else {
                    continue;
                };
                self.compared.verdict.compared += 1;
                fold.finish(one.id, &self.known.seals);
                if fold.rest != one.rest {
                    let found = Found {
                        id: one.id,
                        rest: one.rest.clone(),
                    };
                    self.compared
                        .untold
                        .push(serde_json::to_value(found).unwrap_or_default());
                }
                if let Some(problem) = self.difference(&fold, &one) {
                    self.note(item, &fold.entity, one.id, &fold.label, problem);
                }
            }
        }
        for ((item, id), fold) in folds {
            if self.stayed_behind(conn, item.0, &fold).await? {
                continue;
            }
            self.compared.verdict.compared += 1;
            let problem = "the history has it, and it is gone";
            self.note(item, &fold.entity, id, &fold.label, problem);
        }
        self.faults
            .sort_by(|(a_item, a), (b_item, b)| (a_item, &a.entity, a.id).cmp(&(b_item, &b.entity, b.id)));
        for (_, fault) in self.faults.drain(..) {
            self.compared.verdict.add(fault);
        }
        Ok(())
    }

    /// Whether it is a link into another project that was not brought here with the project it is told of in.
    async fn stayed_behind(&self, conn: &mut Conn, ledger: Uuid, fold: &Fold) -> Result<bool> {
        let came = self.known.origins.get(&ledger).map_or(0, |origin| origin.number);
        let (Some(target), true) = (fold.target, fold.entity == "link" && fold.number <= came) else {
            return Ok(false);
        };
        let sql = "SELECT count(*) AS n FROM item WHERE project_id = $1 AND id IN ($2, $3)";
        let row = conn.one(sql, params![ledger, fold.item, target]).await?;
        let ends = if fold.item == target { 1 } else { 2 };
        Ok(row.int("n")? < ends)
    }

    fn note(&mut self, item: ItemKey, entity: &str, id: Uuid, label: &str, problem: impl Into<String>) {
        self.faults.push((
            item,
            StateFault {
                entity: entity.to_owned(),
                id,
                label: label.to_owned(),
                problem: problem.into(),
            },
        ));
    }

    /// Those that can be read; the others are told.
    fn readable(&mut self, entity: &str, read: Vec<Read>) -> Result<Vec<(ItemKey, Present)>> {
        let mut readable = Vec::with_capacity(read.len());
        for (item, id, present) in read {
            match present {
                Err(Error::Broken(_)) => self.note(item, entity, id, "", "it cannot be read"),
                present => readable.push((item, present?)),
            }
        }
        Ok(readable)
    }

    /// What is not as the history made it.
    fn difference(&self, fold: &Fold, present: &Present) -> Option<String> {
        if fold.is_deleted != present.is_deleted {
            return Some("its deletion is not as the history has it".into());
        }
        if present.item != fold.item || present.target != fold.target {
            return Some("it belongs to another item than its history".into());
        }
        let is_called = |label: &String| fold.is_erased || *label == fold.label;
        if !present.label.as_ref().is_none_or(is_called) {
            return Some(format!("it is not called {} as the history has it", fold.label));
        }
        if present.rev.is_some_and(|rev| rev != fold.rev) {
            return Some(format!("its revision is not {} as the history has it", fold.rev));
        }
        //= specs/spexus-store.md#history
        //# Both rows of a link of two projects MUST be compared.
        if !present.is_agreed {
            return Some("its rows in the two projects are not the same".into());
        }
        if !present.is_hashed {
            return Some("the hash of its content does not fit its content".into());
        }
        if present.is_dangling {
            return Some("it points to what is not there".into());
        }
        if fold.is_erased {
            return None;
        }
        let all: HashSet<&String> = fold.fields.keys().chain(present.fields.keys()).collect();
        let differs = |name: &&String| match name.as_str() {
            // The ends of a link are compared by their ids, not by their names.
            "position" | "suspect" | "source" | "target" => false,
            "assignee" => !self.is_called(present.assignee, fold.fields.get("assignee")),
            name => !fold.says(name, present.fields.get(name)),
        };
        let mut names: Vec<&str> = all.into_iter().filter(differs).map(String::as_str).collect();
        if !self.known.is_arriving {
            names.extend(fold.rest.differences(&present.rest));
        }
        names.sort_unstable();
        let names = names.join(", ");
        (!names.is_empty()).then(|| format!("not as the history has it: {names}"))
    }

    fn is_called(&self, person: Option<Uuid>, name: Option<&Value>) -> bool {
        match (person, name.and_then(Value::as_str)) {
            (None, None) => true,
            (Some(id), Some(name)) => self
                .known
                .names
                .get(&id)
                .is_some_and(|names| names.contains(name)),
            _ => false,
        }
    }
}

/// What is in a project without a history in its ledger.
async fn look_for_strangers_in(conn: &mut Conn, project: Uuid, verdict: &mut StateVerdict) -> Result<()> {
    const ITEMS: &str = "SELECT i.id FROM item i WHERE i.project_id = $1 AND NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = $1 AND c.item_id = i.id AND c.entity_id = i.id) ORDER BY i.id";
    const COMMENTS: &str = "SELECT m.id FROM comment m WHERE m.project_id = $1 AND NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = $1 AND c.item_id = m.item_id AND c.entity_id = m.id) ORDER BY m.id";
    const LINKS: &str = "SELECT l.id FROM link l WHERE l.project_id = $1 AND NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = $1 AND c.item_id = l.source_id AND c.entity_id = l.id) ORDER BY l.id";
    for (entity, sql) in [("item", ITEMS), ("comment", COMMENTS), ("link", LINKS)] {
        for row in &conn.all(sql, params![project]).await? {
            verdict.compared += 1;
            verdict.note(entity, row.id("id")?, "", "it is not in the history");
        }
    }
    Ok(())
}

/// What is there without a history, and what cannot be found by its id.
async fn look_for_strangers(conn: &mut Conn, known: &Known, verdict: &mut StateVerdict) -> Result<()> {
    const ITEMS: &str = "SELECT i.id FROM item i WHERE NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = i.project_id AND c.item_id = i.id AND c.entity_id = i.id) ORDER BY i.id";
    const COMMENTS: &str = "SELECT m.id FROM comment m WHERE NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = m.project_id AND c.item_id = m.item_id AND c.entity_id = m.id) ORDER BY m.id";
    const LINKS: &str = "SELECT l.id FROM link l WHERE NOT EXISTS \
            (SELECT 1 FROM change c WHERE c.ledger = l.source_project_id AND c.item_id = l.source_id AND c.entity_id = l.id) \
            ORDER BY l.id";
    const HALVES: &str = "SELECT l.id FROM link l WHERE l.project_id <> l.source_project_id AND (l.project_id <> l.target_project_id \
            OR NOT EXISTS (SELECT 1 FROM link o WHERE o.project_id = l.source_project_id AND o.id = l.id)) ORDER BY l.id";
    const LISTED: [(&str, &str); 3] = [
        (
            "item",
            "SELECT t.id FROM item t WHERE NOT EXISTS \
              (SELECT 1 FROM directory w WHERE w.id = t.id AND w.project_id = t.project_id) ORDER BY t.id",
        ),
        (
            "comment",
            "SELECT t.id FROM comment t WHERE NOT EXISTS \
              (SELECT 1 FROM directory w WHERE w.id = t.id AND w.project_id = t.project_id) ORDER BY t.id",
        ),
        (
            "link",
            "SELECT t.id FROM link t WHERE t.project_id = t.source_project_id AND NOT EXISTS \
              (SELECT 1 FROM directory w WHERE w.id = t.id AND w.project_id = t.project_id) ORDER BY t.id",
        ),
    ];
    const STRANGE: &str = "it is not in the history";
    const HALF: &str = "it has a row in one project only";
    const UNLISTED: &str = "it is not listed in its project";
    let mut questions = vec![
        ("item", ITEMS, STRANGE),
        ("comment", COMMENTS, STRANGE),
        ("link", LINKS, STRANGE),
        ("link", HALVES, HALF),
    ];
    questions.extend(LISTED.map(|(entity, sql)| (entity, sql, UNLISTED)));
    for (entity, sql, problem) in questions {
        for row in &conn.all(sql, params![]).await? {
            let id = row.id("id")?;
            // The replay knows it from what is kept of changes that were dropped.
            if problem == STRANGE && known.kept.knows(id) {
                continue;
            }
            verdict.compared += i64::from(problem == STRANGE);
            verdict.note(entity, id, "", problem);
        }
    }
    Ok(())
}
