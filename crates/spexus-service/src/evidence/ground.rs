//! Items as they are before something is made of a push: what ids mean, where each stood, what was said about it.

use super::documents::broken;
use spexus_domain::trace::fold::KnownItem;
use spexus_domain::trace::ground::ItemGround;
use spexus_domain::trace::{ItemReading, ItemTrace, ReviewKind, read_again};
use spexus_domain::{AnyId, Kind, Uuid};
use spexus_store::trace::{self, ReviewRow, StateRow, TracedItem};
use spexus_store::{Conn, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Items read in one step.
const STEP_ITEMS: usize = 500;

/// Items and what is known of them.
#[derive(Default)]
pub(super) struct Ground {
    pub(super) items: BTreeMap<Uuid, TracedItem>,
    /// What each id means.
    pub(super) ids: HashMap<String, Uuid>,
    loaded: BTreeSet<(Kind, i64)>,
    affirmed: HashMap<Uuid, ReviewRow>,
}

impl Ground {
    /// What each id means, where it is one of this project. What is none of ours is listed, not refused: it may be the key of
    /// another system.
    pub(super) async fn resolve(
        &mut self,
        conn: &mut Conn,
        (project_id, key): (Uuid, &str),
        named: &BTreeSet<String>,
    ) -> Result<()> {
        let mut by_number: Vec<(Kind, i64, &String)> = Vec::new();
        let mut by_id: Vec<(Uuid, &String)> = Vec::new();
        for id in named {
            match AnyId::parse("id", id) {
                Ok(AnyId::Uuid(uuid)) => by_id.push((uuid, id)),
                Ok(AnyId::Reference { project, reference })
                    if project.as_deref().is_none_or(|project| project == key) =>
                {
                    if let Some(kind) = reference.kind() {
                        by_number.push((kind, reference.number(), id));
                    }
                }
                Ok(AnyId::Reference { .. }) | Err(_) => {}
            }
        }
        let mut wanted: BTreeSet<(Kind, i64)> = by_number
            .iter()
            .map(|(kind, number, _)| (*kind, *number))
            .collect();
        let ids: Vec<Uuid> = by_id.iter().map(|(id, _)| *id).collect();
        for some in ids.chunks(STEP_ITEMS) {
            let found = trace::numbers_of(conn, project_id, some).await?;
            wanted.extend(found.into_iter().map(|(_, kind, number)| (kind, number)));
        }
        self.load(conn, project_id, &wanted).await?;
        let living = self.items.values().filter(|item| !item.is_deleted);
        let places: HashMap<_, Uuid> = living
            .map(|item| {
                (
                    (item.item.reference.kind(), item.item.reference.number()),
                    item.item.id,
                )
            })
            .collect();
        let numbered = by_number.into_iter().filter_map(|(kind, number, text)| {
            let id = places.get(&(Some(kind), number))?;
            Some((text.clone(), *id))
        });
        self.ids.extend(numbered);
        let by_id = by_id.into_iter().filter(|(id, _)| self.is_living(*id));
        let by_id: Vec<_> = by_id.map(|(id, text)| (text.clone(), id)).collect();
        self.ids.extend(by_id);
        Ok(())
    }

    /// Reads items by kind and number, where that was not done.
    pub(super) async fn load(
        &mut self,
        conn: &mut Conn,
        project_id: Uuid,
        wanted: &BTreeSet<(Kind, i64)>,
    ) -> Result<()> {
        for kind in Kind::ALL {
            let missing = wanted.difference(&self.loaded).filter(|(of, _)| *of == kind);
            let numbers: Vec<i64> = missing.map(|(_, number)| *number).collect();
            for some in numbers.chunks(STEP_ITEMS) {
                let found = trace::traced_items(conn, project_id, kind, some).await?;
                self.items
                    .extend(found.into_iter().map(|item| (item.item.id, item)));
            }
        }
        self.loaded.extend(wanted);
        Ok(())
    }

    /// Reads what was affirmed.
    pub(super) async fn read_reviews(&mut self, conn: &mut Conn, project_id: Uuid) -> Result<()> {
        let said = trace::reviews(conn, project_id, None).await?;
        let affirmed = said.into_iter().filter(|row| row.kind == ReviewKind::Affirmed);
        self.affirmed = affirmed.map(|row| (row.item_id, row)).collect();
        Ok(())
    }

    pub(super) fn is_living(&self, id: Uuid) -> bool {
        self.items.get(&id).is_some_and(|item| !item.is_deleted)
    }

    /// Ids that mean living items.
    pub(super) fn living_ids(&self) -> HashSet<String> {
        self.ids.keys().cloned().collect()
    }

    /// The living items as a fold takes them.
    pub(super) fn known(&self) -> BTreeMap<Uuid, KnownItem> {
        let living = self.items.values().filter(|item| !item.is_deleted);
        living
            .map(|item| (item.item.id, known(item, self.affirmed.get(&item.item.id))))
            .collect()
    }

    /// What each item goes on from.
    pub(super) fn grounds(&self) -> Result<Vec<(Uuid, ItemGround)>> {
        let living = self.items.values().filter(|item| !item.is_deleted);
        let ground = |item: &TracedItem| {
            let ground = match &item.state {
                Some(row) => serde_json::from_str(&row.ground).map_err(|error| broken(&error))?,
                None => ItemGround::default(),
            };
            Ok((item.item.id, ground))
        };
        living.map(ground).collect()
    }
}

fn known(item: &TracedItem, affirmed: Option<&ReviewRow>) -> KnownItem {
    let before = item.state.as_ref();
    KnownItem {
        label: item.item.reference.to_string(),
        text: text(&item.item.title, &item.item.description),
        before: before.map(|row| row.trace.clone()).unwrap_or_default(),
        is_text_changed: before.is_some_and(|row| is_text_changed(row, &item.item.content_hash)),
        affirmed: affirmed
            .filter(|row| row.content_hash == item.item.content_hash)
            .map(|row| row.fingerprint.clone()),
    }
}

fn text(title: &str, description: &str) -> String {
    format!("{title}\n{description}")
}

fn is_text_changed(row: &StateRow, content_hash: &str) -> bool {
    !row.confirmed_hash.is_empty() && row.confirmed_hash != content_hash
}

/// Where an item stands by what is kept of it and by its text, which may have been edited since.
//= specs/spexus-service.md#evidence
//# An item that was edited MUST NOT stand higher than claimed from that moment on.
pub(super) fn as_it_reads(
    row: StateRow,
    (label, title, description): (&str, &str, &str),
    content_hash: &str,
    affirmed: Option<&ReviewRow>,
) -> ItemTrace {
    let is_text_changed = is_text_changed(&row, content_hash);
    let StateRow {
        mut trace,
        content_hash: traced_hash,
        ..
    } = row;
    if traced_hash != content_hash {
        let affirmed = affirmed.filter(|said| said.content_hash == content_hash);
        let reading = ItemReading {
            label,
            text: &text(title, description),
            is_text_changed,
            affirmed: affirmed.map(|said| said.fingerprint.as_str()),
        };
        read_again(&mut trace, &reading);
    }
    trace
}
