//! Where every item of a project stands, made anew from what was pushed for the commit that is traced: the latest one whose tree was
//! scanned, or, where none was, the latest one that has results.

use super::pack::PushHead;
use serde::de::DeserializeOwned;
use spexus_domain::trace::fold::{KnownItem, ProjectFold, RunWorth};
use spexus_domain::trace::record::PartKind;
use spexus_domain::trace::{ItemTrace, ReviewKind, Rung};
use spexus_domain::{AnyId, Kind, Uuid};
use spexus_store::trace::{self, NamedItem, PushRow, ReviewRow, StateRow};
use spexus_store::{Conn, Error, Result, Tx, trace_steps};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What was found.
#[derive(Default)]
pub(super) struct Derived {
    pub(super) commit: String,
    /// Ids that mean items.
    pub(super) known: HashSet<String>,
    pub(super) states: BTreeMap<&'static str, u64>,
}

/// Items and states as they are before a push is made sense of.
struct Ground {
    items: BTreeMap<Uuid, NamedItem>,
    ids: HashMap<String, Uuid>,
    before: BTreeMap<Uuid, StateRow>,
    reviews: HashMap<(Uuid, ReviewKind), ReviewRow>,
}

/// Derives everything and keeps what became different.
pub(super) async fn derive(tx: &mut Tx, (project_id, key): (Uuid, &str)) -> Result<Derived> {
    let pushes = trace::recent_pushes(&mut tx.conn, project_id).await?;
    let Some(traced) = traced(&pushes) else {
        return Ok(Derived::default());
    };
    let commit = traced.commit.clone();
    let at: Vec<&PushRow> = pushes
        .iter()
        .filter(|push| is_same_commit(&push.commit, &commit))
        .collect();
    let ground = Ground::read(&mut tx.conn, (project_id, key), &at).await?;
    let mut fold = ProjectFold::new(&commit, ground.known(), ground.ids.clone());
    feed(&mut tx.conn, project_id, &at, &mut fold).await?;
    let found = fold.finish();
    let mut derived = Derived {
        commit,
        known: ground.ids.keys().cloned().collect(),
        states: BTreeMap::new(),
    };
    for state in found.values() {
        *derived.states.entry(state.state.name()).or_default() += 1;
    }
    let moved = ground.moved(&found, trace_steps::is_first(&mut tx.conn, project_id).await?);
    keep(tx, project_id, &ground, found).await?;
    trace_steps::keep(tx, project_id, &derived.commit, &moved).await?;
    Ok(derived)
}

/// The push whose commit is traced: the latest that counts and has marks, else the latest that counts, else the latest.
fn traced(pushes: &[PushRow]) -> Option<&PushRow> {
    let counts = |push: &&PushRow| !push.is_reported && !push.is_dirty;
    let mut counting = pushes.iter().filter(counts);
    let with_marks = counting.clone().find(|push| push.has_marks);
    with_marks.or_else(|| counting.next()).or_else(|| pushes.first())
}

/// Whether two commits are the same, one of them perhaps in its short form.
fn is_same_commit(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn worth(push: &PushRow) -> RunWorth {
    match (push.is_reported, push.is_dirty) {
        (true, _) => RunWorth::Reported,
        (false, true) => RunWorth::Dirty,
        (false, false) => RunWorth::Counts,
    }
}

impl Ground {
    async fn read(conn: &mut Conn, (project_id, key): (Uuid, &str), pushes: &[&PushRow]) -> Result<Self> {
        let mut named = BTreeSet::new();
        for push in pushes {
            let head: PushHead = serde_json::from_str(&push.head).map_err(|error| broken(&error))?;
            named.extend(head.ids);
        }
        let mut ground = Self {
            items: BTreeMap::new(),
            ids: HashMap::new(),
            before: BTreeMap::new(),
            reviews: HashMap::new(),
        };
        let said = trace::reviews(conn, project_id, None).await?;
        ground.reviews = said
            .into_iter()
            .map(|row| ((row.item_id, row.kind), row))
            .collect();
        ground.resolve(conn, (project_id, key), &named).await?;
        let before = trace::states(conn, project_id).await?;
        let missing = before
            .iter()
            .map(|row| row.item_id)
            .filter(|id| !ground.items.contains_key(id));
        let missing: Vec<Uuid> = missing.collect();
        ground.take(conn, project_id, &missing).await?;
        ground.before = before.into_iter().map(|row| (row.item_id, row)).collect();
        Ok(ground)
    }

    /// What each id means, where it is one of this project. What is none of ours is listed, not refused: it may be the key of
    /// another system.
    async fn resolve(
        &mut self,
        conn: &mut Conn,
        (project_id, key): (Uuid, &str),
        named: &BTreeSet<String>,
    ) -> Result<()> {
        let mut by_number: BTreeMap<(Kind, i64), Vec<&String>> = BTreeMap::new();
        let mut by_id: BTreeMap<Uuid, Vec<&String>> = BTreeMap::new();
        for id in named {
            match AnyId::parse("id", id) {
                Ok(AnyId::Uuid(uuid)) => by_id.entry(uuid).or_default().push(id),
                Ok(AnyId::Reference { project, reference })
                    if project.as_deref().is_none_or(|project| project == key) =>
                {
                    if let Some(kind) = reference.kind() {
                        by_number.entry((kind, reference.number())).or_default().push(id);
                    }
                }
                Ok(AnyId::Reference { .. }) | Err(_) => {}
            }
        }
        let ids: Vec<Uuid> = by_id.keys().copied().collect();
        self.take(conn, project_id, &ids).await?;
        for kind in Kind::ALL {
            let numbers: Vec<i64> = by_number
                .keys()
                .filter(|(of, _)| *of == kind)
                .map(|(_, number)| *number)
                .collect();
            for some in numbers.chunks(STEP_ITEMS) {
                for item in trace::items_by_number(conn, project_id, kind, some).await? {
                    let texts = by_number
                        .get(&(kind, item.reference.number()))
                        .into_iter()
                        .flatten();
                    self.ids.extend(texts.map(|text| ((*text).clone(), item.id)));
                    self.items.insert(item.id, item);
                }
            }
        }
        let found = by_id.iter().filter(|(id, _)| self.items.contains_key(id));
        self.ids
            .extend(found.flat_map(|(id, texts)| texts.iter().map(|text| ((*text).clone(), *id))));
        Ok(())
    }

    async fn take(&mut self, conn: &mut Conn, project_id: Uuid, ids: &[Uuid]) -> Result<()> {
        for some in ids.chunks(STEP_ITEMS) {
            let found = trace::items_by_id(conn, project_id, some).await?;
            self.items.extend(found.into_iter().map(|item| (item.id, item)));
        }
        Ok(())
    }

    /// The evidence that somebody affirmed, where the text is still the same.
    fn affirmed(&self, item: &NamedItem) -> Option<String> {
        let row = self.reviews.get(&(item.id, ReviewKind::Affirmed))?;
        (row.content_hash == item.content_hash).then(|| row.fingerprint.clone())
    }

    /// Items that stand elsewhere than before; all that stand anywhere where it is the first time.
    fn moved(&self, found: &BTreeMap<Uuid, ItemTrace>, is_first: bool) -> Vec<(Uuid, Rung)> {
        let stood = |id: &Uuid| self.before.get(id).map_or(Rung::None, |row| row.trace.state);
        let gone = self.before.keys().filter(|id| !found.contains_key(id));
        let gone = gone.map(|id| (*id, Rung::None));
        let stands = found.iter().map(|(id, trace)| (*id, trace.state));
        let differs = |(id, rung): &(Uuid, Rung)| is_first || *rung != stood(id);
        gone.chain(stands).filter(differs).collect()
    }

    fn known(&self) -> BTreeMap<Uuid, KnownItem> {
        let known = |item: &NamedItem| {
            let before = self.before.get(&item.id);
            KnownItem {
                label: item.reference.to_string(),
                text: format!("{}\n{}", item.title, item.description),
                before: before.map(|row| row.trace.clone()).unwrap_or_default(),
                is_text_changed: before.is_some_and(|row| {
                    !row.confirmed_hash.is_empty() && row.confirmed_hash != item.content_hash
                }),
                affirmed: self.affirmed(item),
            }
        };
        self.items.values().map(|item| (item.id, known(item))).collect()
    }
}

/// Items read in one step.
const STEP_ITEMS: usize = 500;

/// Marks of the last scan that counts, results of every run, and lines that ran in those that count.
async fn feed(conn: &mut Conn, project_id: Uuid, pushes: &[&PushRow], fold: &mut ProjectFold) -> Result<()> {
    let mut scans: Vec<&&PushRow> = pushes.iter().filter(|push| push.has_marks).collect();
    scans.sort_by_key(|push| (worth(push), push.number));
    if let Some(scan) = scans.last() {
        read(conn, (project_id, scan.id), PartKind::Marks, |mark| {
            fold.mark(mark)
        })
        .await?;
    }
    for push in pushes {
        read(conn, (project_id, push.id), PartKind::Tests, |record| {
            fold.result(worth(push), &record)
        })
        .await?;
    }
    for push in pushes.iter().filter(|push| worth(push) == RunWorth::Counts) {
        read(conn, (project_id, push.id), PartKind::Coverage, |record| {
            fold.coverage(&record)
        })
        .await?;
    }
    Ok(())
}

/// Every record of one kind of a push, document by document.
async fn read<T: DeserializeOwned>(
    conn: &mut Conn,
    push: (Uuid, Uuid),
    kind: PartKind,
    mut take: impl FnMut(T),
) -> Result<()> {
    let mut after = -1;
    while let Some((place, body)) = trace::part_after(conn, push, kind, after).await? {
        after = place;
        for line in body.lines() {
            take(serde_json::from_str(line).map_err(|error| broken(&error))?);
        }
    }
    Ok(())
}

fn broken(error: &serde_json::Error) -> Error {
    Error::Broken(format!("what was pushed cannot be read: {error}"))
}

async fn keep(
    tx: &mut Tx,
    project_id: Uuid,
    ground: &Ground,
    found: BTreeMap<Uuid, ItemTrace>,
) -> Result<()> {
    for (id, before) in &ground.before {
        if !found.contains_key(id) {
            trace::remove_state(tx, project_id, before.item_id).await?;
        }
    }
    for (id, state) in found {
        let Some(item) = ground.items.get(&id) else {
            continue;
        };
        let before = ground.before.get(&id);
        let row = StateRow {
            item_id: id,
            confirmed_hash: confirmed(before, item, &state),
            content_hash: item.content_hash.clone(),
            trace: state,
        };
        if before != Some(&row) {
            trace::put_state(tx, project_id, &row).await?;
        }
    }
    Ok(())
}

/// What the text was when tests first claimed it: whoever wrote them had read it. From then on only a person confirms another.
fn confirmed(before: Option<&StateRow>, item: &NamedItem, state: &ItemTrace) -> String {
    match before {
        Some(before) if !before.confirmed_hash.is_empty() => before.confirmed_hash.clone(),
        _ if state.tests.is_empty() && state.state <= Rung::Cited => String::new(),
        _ => item.content_hash.clone(),
    }
}
