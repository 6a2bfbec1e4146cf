//! Where items stand, made from what was pushed for the commit that is traced: the latest one whose tree was scanned, or, where none
//! was, the latest one that has results.
//!
//! What comes for the commit that is traced already is told to the items it can touch and to no other. Where it becomes another commit,
//! or another scan of it, everything is made anew; both are the same fold, which a test holds against each other push by push. What is
//! to be written is found out before the transaction begins: whoever else writes waits for the writing only.

use super::documents::{Source, broken, each};
use super::ground::Ground;
use super::pack::PushHead;
use super::traced::{is_same_commit, pushes_at, scan, traced_commit, worth};
use serde::{Deserialize, Serialize};
use spexus_domain::trace::fold::{FoldedItem, ProjectFold, RunWorth};
use spexus_domain::trace::identity::leaf_of;
use spexus_domain::trace::keys::{TraceKey, TraceKeys};
use spexus_domain::trace::record::{CoverageRecord, PartKind, TestRecord};
use spexus_domain::trace::{Rung, fold};
use spexus_domain::{Kind, Uuid};
use spexus_store::trace::{self, PushMark, StateRow, TracedItem};
use spexus_store::{Conn, Result, Tx, trace_steps};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What is known of the traced commit, beside the items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TraceHead {
    pub(super) commit: String,
    /// The push whose marks count.
    scan: Option<Uuid>,
    /// Suites that ran there.
    suites: BTreeSet<String>,
    /// How many items stand on which rung.
    pub(super) states: BTreeMap<Rung, u64>,
}

/// A push that is not kept yet.
pub(super) struct Incoming<'a> {
    pub(super) mark: PushMark,
    pub(super) ids: &'a BTreeSet<String>,
    pub(super) parts: &'a [(PartKind, String)],
}

/// What is known of the traced commit, and which of some ids mean items: for a push that is known already.
pub(super) async fn as_it_stands(
    conn: &mut Conn,
    (project_id, key, _): DerivedProject<'_>,
    ids: &BTreeSet<String>,
) -> Result<(TraceHead, HashSet<String>)> {
    let head = match trace::head(conn, project_id).await? {
        Some(row) => serde_json::from_str(&row.body).map_err(|error| broken(&error))?,
        None => TraceHead::default(),
    };
    let mut named = Ground::default();
    named.resolve(conn, (project_id, key), ids).await?;
    Ok((head, named.living_ids()))
}

/// What a push or a review changes, as long as nothing else came between.
pub(super) struct Derivation {
    basis: Basis,
    head: TraceHead,
    /// Whether anything is to be written.
    is_moved: bool,
    keys: Option<Vec<u8>>,
    put: Vec<StateRow>,
    remove: Vec<Uuid>,
    /// Items that stand elsewhere than before, and where.
    moved: Vec<(Uuid, Rung)>,
    /// Ids of the push that mean items.
    known: HashSet<String>,
}

/// What a derivation was made from: the last push, and how often anything was made of pushes and reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Basis {
    number: i64,
    version: i64,
}

impl Basis {
    async fn read(conn: &mut Conn, project_id: Uuid) -> Result<Self> {
        Ok(Self {
            number: trace::next_number(conn, project_id).await?,
            version: trace::head_version(conn, project_id).await?,
        })
    }
}

/// How much has to be made anew.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// It is about another commit.
    Nothing,
    /// The items it can touch.
    Touched,
    /// The commit is traced from now on, or its tree was scanned again.
    Everything,
}

/// The project that is derived, by id and key, and whether everything is to be made anew whatever came.
pub(super) type DerivedProject<'a> = (Uuid, &'a str, bool);

impl Derivation {
    /// What a push changes.
    //= specs/spexus-service.md#evidence
    //# A push about the commit that is traced MUST derive the items it can have changed and no others, and MUST come to the same as
    //# deriving everything.
    pub(super) async fn of_push(
        conn: &mut Conn,
        place: DerivedProject<'_>,
        incoming: &Incoming<'_>,
    ) -> Result<Self> {
        let (project_id, key, is_whole) = place;
        let basis = Basis::read(conn, project_id).await?;
        let kept = trace::head(conn, project_id).await?;
        let (head, keys) = match &kept {
            Some(row) => (
                serde_json::from_str(&row.body).map_err(|error| broken(&error))?,
                TraceKeys::from_bytes(&row.keys),
            ),
            None => (TraceHead::default(), TraceKeys::default()),
        };
        let mut named = Ground::default();
        named.resolve(conn, (project_id, key), incoming.ids).await?;
        let commit = traced_commit(conn, project_id, &incoming.mark).await?;
        let at = pushes_at(conn, project_id, &commit, &incoming.mark).await?;
        let scan = scan(&at).map(|push| push.id);
        let is_same = kept.is_some() && commit == head.commit && scan == head.scan;
        let extent = match (is_same, is_same_commit(&incoming.mark.commit, &commit)) {
            (false, _) => Extent::Everything,
            _ if is_whole => Extent::Everything,
            (true, true) => Extent::Touched,
            (true, false) => Extent::Nothing,
        };
        let known: HashSet<String> = named.living_ids();
        let mut derivation = Self {
            basis,
            is_moved: extent != Extent::Nothing,
            head: TraceHead {
                commit,
                scan,
                ..head.clone()
            },
            keys: None,
            put: Vec::new(),
            remove: Vec::new(),
            moved: Vec::new(),
            known,
        };
        match extent {
            Extent::Nothing => {}
            Extent::Touched => {
                derivation
                    .touched(conn, project_id, named, keys, incoming)
                    .await?
            }
            Extent::Everything => {
                derivation
                    .everything(conn, (project_id, key), &at, incoming)
                    .await?
            }
        }
        Ok(derivation)
    }

    /// What a review of an item changes; nothing where nothing was pushed.
    pub(super) async fn of_review(
        conn: &mut Conn,
        project_id: Uuid,
        item: (Kind, i64),
    ) -> Result<Option<Self>> {
        let basis = Basis::read(conn, project_id).await?;
        let Some(kept) = trace::head(conn, project_id).await? else {
            return Ok(None);
        };
        let head: TraceHead = serde_json::from_str(&kept.body).map_err(|error| broken(&error))?;
        let mut derivation = Self {
            basis,
            head,
            is_moved: true,
            keys: None,
            put: Vec::new(),
            remove: Vec::new(),
            moved: Vec::new(),
            known: HashSet::new(),
        };
        let mut ground = Ground::default();
        ground.load(conn, project_id, &BTreeSet::from([item])).await?;
        ground.read_reviews(conn, project_id).await?;
        let fold = derivation.resumed(&ground)?;
        derivation.settle(&ground, fold, TraceKeys::from_bytes(&kept.keys))?;
        Ok(Some(derivation))
    }

    /// Goes on with the items the push can touch, each from where it was.
    async fn touched(
        &mut self,
        conn: &mut Conn,
        project_id: Uuid,
        named: Ground,
        keys: TraceKeys,
        incoming: &Incoming<'_>,
    ) -> Result<()> {
        let worth = worth(&incoming.mark);
        let mut ground = named;
        let touched = touched(&keys, &self.head.suites, worth, incoming.parts)?;
        ground.load(conn, project_id, &touched).await?;
        ground.read_reviews(conn, project_id).await?;
        let mut fold = self.resumed(&ground)?;
        each(incoming.parts, PartKind::Tests, |record| {
            fold.result(worth, &record)
        })?;
        if worth == RunWorth::Counts {
            each(incoming.parts, PartKind::Coverage, |record| {
                fold.coverage(&record)
            })?;
        }
        self.settle(&ground, fold, keys)
    }

    fn resumed(&self, ground: &Ground) -> Result<ProjectFold> {
        let mut fold = ProjectFold::new(&self.head.commit, ground.known(), ground.ids.clone());
        fold.resume(self.head.suites.iter().cloned(), ground.grounds()?);
        Ok(fold)
    }

    /// Makes everything anew: marks of the last scan that counts, results of every run, and lines that ran in those that count.
    async fn everything(
        &mut self,
        conn: &mut Conn,
        (project_id, key): (Uuid, &str),
        at: &[PushMark],
        incoming: &Incoming<'_>,
    ) -> Result<()> {
        let is_incoming = |push: &PushMark| push.id == incoming.mark.id;
        let mut named = BTreeSet::new();
        for push in at {
            match is_incoming(push) {
                true => named.extend(incoming.ids.iter().cloned()),
                false => {
                    let head = trace::push_head(conn, project_id, push.id).await?;
                    let head: PushHead = serde_json::from_str(&head).map_err(|error| broken(&error))?;
                    named.extend(head.ids);
                }
            }
        }
        let mut ground = Ground::default();
        ground.resolve(conn, (project_id, key), &named).await?;
        let stated = trace::stated_items(conn, project_id).await?;
        ground
            .load(conn, project_id, &stated.into_iter().collect())
            .await?;
        ground.read_reviews(conn, project_id).await?;
        let mut fold = ProjectFold::new(&self.head.commit, ground.known(), ground.ids.clone());
        let source = Source { project_id, incoming };
        if let Some(scan) = scan(at) {
            source
                .read(conn, scan, PartKind::Marks, |mark| fold.mark(mark))
                .await?;
        }
        for push in at {
            let worth = worth(push);
            let take = |record| fold.result(worth, &record);
            source.read(conn, push, PartKind::Tests, take).await?;
        }
        for push in at.iter().filter(|push| worth(push) == RunWorth::Counts) {
            let take = |record| fold.coverage(&record);
            source.read(conn, push, PartKind::Coverage, take).await?;
        }
        self.head.states.clear();
        for (id, item) in &ground.items {
            if item.is_deleted && item.state.is_some() {
                self.note(item, None);
                self.remove.push(*id);
            }
        }
        self.head.suites = fold.suites().cloned().collect();
        let mut keys = TraceKeys::default();
        for (id, row) in self.rows(&ground, fold)? {
            let item = &ground.items[&id];
            match row {
                Some((row, found)) => {
                    *self.head.states.entry(row.trace.state).or_default() += 1;
                    self.note(item, Some(row.trace.state));
                    keys.add(&item.item.reference, &found.trace, &found.ground);
                    self.put_if_new(item, row);
                }
                None => {
                    self.note(item, None);
                    self.remove.push(id);
                }
            }
        }
        self.keys = Some(keys.into_bytes().unwrap_or_default());
        Ok(())
    }

    /// Takes over what became of the items that were loaded, and of no others.
    fn settle(&mut self, ground: &Ground, fold: ProjectFold, mut keys: TraceKeys) -> Result<()> {
        self.head.suites = fold.suites().cloned().collect();
        for (id, item) in &ground.items {
            if item.is_deleted && item.state.is_some() {
                self.count(item, None);
                self.remove.push(*id);
            }
        }
        for (id, row) in self.rows(ground, fold)? {
            let item = &ground.items[&id];
            match row {
                Some((row, found)) => {
                    self.count(item, Some(row.trace.state));
                    keys.add(&item.item.reference, &found.trace, &found.ground);
                    self.put_if_new(item, row);
                }
                None => {
                    self.count(item, None);
                    self.remove.push(id);
                }
            }
        }
        self.keys = keys.into_bytes();
        Ok(())
    }

    fn put_if_new(&mut self, item: &TracedItem, row: StateRow) {
        if item.state.as_ref() != Some(&row) {
            self.put.push(row);
        }
    }

    /// Notes an item that stands elsewhere than before.
    fn note(&mut self, item: &TracedItem, now: Option<Rung>) {
        let before = item.state.as_ref().map(|row| row.trace.state);
        let (before, now) = (before.unwrap_or_default(), now.unwrap_or_default());
        if before != now {
            self.moved.push((item.item.id, now));
        }
    }

    /// Counts an item on the rung it stands on now, and no more on the one it stood on.
    fn count(&mut self, item: &TracedItem, now: Option<Rung>) {
        self.note(item, now);
        let states = &mut self.head.states;
        if let Some(before) = item.state.as_ref().map(|row| row.trace.state) {
            let count = states.entry(before).or_default();
            *count = count.saturating_sub(1);
        }
        if let Some(now) = now {
            *states.entry(now).or_default() += 1;
        }
        states.retain(|_, count| *count > 0);
    }

    /// What becomes of each living item: its row, or none where nothing is known of it any more.
    #[allow(clippy::type_complexity)]
    fn rows(
        &self,
        ground: &Ground,
        fold: ProjectFold,
    ) -> Result<Vec<(Uuid, Option<(StateRow, FoldedItem)>)>> {
        let mut found = fold.finish();
        let mut rows = Vec::new();
        for (id, item) in ground.items.iter().filter(|(_, item)| !item.is_deleted) {
            match found.remove(id) {
                Some(found) => {
                    let row = StateRow {
                        item_id: *id,
                        trace: found.trace.clone(),
                        content_hash: item.item.content_hash.clone(),
                        confirmed_hash: confirmed(item, &found),
                        ground: serde_json::to_string(&found.ground).map_err(|error| broken(&error))?,
                    };
                    rows.push((*id, Some((row, found))));
                }
                None if item.state.is_some() => rows.push((*id, None)),
                None => {}
            }
        }
        Ok(rows)
    }

    /// Whether nothing came between: it is still what has to be written.
    pub(super) async fn still_holds(&self, conn: &mut Conn, project_id: Uuid) -> Result<bool> {
        Ok(Basis::read(conn, project_id).await? == self.basis)
    }

    /// Writes it.
    pub(super) async fn keep(
        &self,
        tx: &mut Tx,
        project_id: Uuid,
        incoming: Option<(Uuid, Uuid)>,
    ) -> Result<()> {
        if !self.is_moved {
            return Ok(());
        }
        for id in &self.remove {
            trace::remove_state(tx, project_id, *id).await?;
        }
        trace::put_states(tx, project_id, &self.put).await?;
        // The first step tells where everything stands: what is known may have come from elsewhere.
        let moved = match trace_steps::is_first(&mut tx.conn, project_id).await? {
            true => trace::standing(&mut tx.conn, project_id).await?,
            false => self.moved.clone(),
        };
        trace_steps::keep(tx, project_id, &self.head.commit, &moved).await?;
        let mut head = self.head.clone();
        if let Some((planned, kept)) = incoming
            && head.scan == Some(planned)
        {
            head.scan = Some(kept);
        }
        let body = serde_json::to_string(&head).map_err(|error| broken(&error))?;
        trace::put_head(tx, project_id, &body, self.keys.clone()).await
    }

    /// What is known of the traced commit.
    pub(super) fn head(&self) -> &TraceHead {
        &self.head
    }

    /// Ids of the push that mean items.
    pub(super) fn known(&self) -> &HashSet<String> {
        &self.known
    }
}

/// The items that records of a push have anything in common with. A suite that ran before at this commit was missed in then.
fn touched(
    keys: &TraceKeys,
    suites: &BTreeSet<String>,
    worth: RunWorth,
    parts: &[(PartKind, String)],
) -> Result<BTreeSet<(Kind, i64)>> {
    let mut items = BTreeSet::new();
    let mut new_suites: HashSet<String> = HashSet::new();
    each(parts, PartKind::Tests, |record: TestRecord| {
        let leaf = leaf_of(&record.name).replace('-', "_");
        items.extend(keys.items(TraceKey::Leaf(&leaf)));
        items.extend(keys.items(TraceKey::Name(&record.full_name())));
        let is_new = !suites.contains(&record.suite) && !new_suites.contains(&record.suite);
        if worth == RunWorth::Counts && is_new {
            items.extend(keys.items(TraceKey::Suite(&record.suite)));
            new_suites.insert(record.suite);
        }
    })?;
    each(parts, PartKind::Coverage, |record: CoverageRecord| {
        for end in fold::ends_of_path(&record.file) {
            items.extend(keys.items(TraceKey::File(end)));
        }
    })?;
    Ok(items)
}

/// What the text was when tests first claimed it: whoever wrote them had read it. From then on only a person confirms another.
fn confirmed(item: &TracedItem, found: &FoldedItem) -> String {
    let before = item.state.as_ref().map_or("", |row| row.confirmed_hash.as_str());
    match before {
        "" if found.trace.is_claimed() => item.item.content_hash.clone(),
        before => before.to_owned(),
    }
}
