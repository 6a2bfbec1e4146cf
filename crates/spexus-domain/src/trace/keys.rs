//! Which items a run can touch, without reading any: hashes of the names, suites and files each item has to do with. Two that share a
//! hash cost a look at an item that nothing happened to, and never miss one.

use super::ItemTrace;
use super::ground::ItemGround;
use super::identity::TestName;
use crate::{Kind, Reference};
use std::collections::BTreeSet;

/// What an item and a run can have in common.
#[derive(Clone, Copy, Debug)]
pub enum TraceKey<'a> {
    /// The innermost part of the name of a test that a mark means.
    Leaf(&'a str),
    /// The name of a test it has.
    Name(&'a str),
    /// A suite in which a test of it ran.
    Suite(&'a str),
    /// A file that cites it.
    File(&'a str),
}

impl TraceKey<'_> {
    fn hash(self) -> u64 {
        let (kind, text) = match self {
            TraceKey::Leaf(text) => (b'l', text),
            TraceKey::Name(text) => (b'n', text),
            TraceKey::Suite(text) => (b's', text),
            TraceKey::File(text) => (b'f', text),
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[kind]).update(text.as_bytes());
        let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
        u64::from(u32::from_le_bytes([a, b, c, d]))
    }
}

/// The keys of all items of a project that have any, each with the item: the hash above, kind and number below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceKeys {
    sorted: Vec<u64>,
    fresh: Vec<u64>,
}

const KIND_BIT: u32 = 28;

impl TraceKeys {
    /// As they were kept.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (slots, _) = bytes.as_chunks::<8>();
        Self {
            sorted: slots.iter().map(|slot| u64::from_le_bytes(*slot)).collect(),
            fresh: Vec::new(),
        }
    }

    /// As they are kept; `None` where nothing was added.
    pub fn into_bytes(mut self) -> Option<Vec<u8>> {
        if self.fresh.is_empty() {
            return None;
        }
        self.sorted.append(&mut self.fresh);
        // Two sorted runs one behind the other: sorting them is merging them.
        self.sorted.sort();
        self.sorted.dedup();
        Some(self.sorted.iter().flat_map(|slot| slot.to_le_bytes()).collect())
    }

    /// Adds the keys of an item that it did not have.
    pub fn add(&mut self, item: &Reference, trace: &ItemTrace, ground: &ItemGround) {
        let Some(place) = place(item) else {
            return;
        };
        let mut slots: Vec<u64> = hashes(trace, ground)
            .into_iter()
            .map(|hash| hash << 32 | place)
            .collect();
        slots.retain(|slot| self.sorted.binary_search(slot).is_err());
        self.fresh.append(&mut slots);
    }

    /// The items that have a key, by kind and number.
    pub fn items(&self, key: TraceKey<'_>) -> impl Iterator<Item = (Kind, i64)> {
        let hash = key.hash();
        let from = self.sorted.partition_point(|slot| slot >> 32 < hash);
        let found = self.sorted[from..]
            .iter()
            .take_while(move |slot| **slot >> 32 == hash);
        found.filter_map(|slot| item(*slot))
    }
}

fn hashes(trace: &ItemTrace, ground: &ItemGround) -> BTreeSet<u64> {
    let mut hashes = BTreeSet::new();
    for name in ground.claims.iter().flat_map(|claim| claim.names()) {
        hashes.insert(TraceKey::Leaf(TestName::leaf(&name)).hash());
    }
    for test in trace.tests.iter().filter(|test| !test.suite.is_empty()) {
        hashes.insert(TraceKey::Name(&test.name).hash());
        hashes.insert(TraceKey::Suite(&test.suite).hash());
    }
    for span in &trace.spans {
        hashes.insert(TraceKey::File(&span.path).hash());
    }
    hashes
}

/// Kind and number in 32 bits: no project counts to 268 million.
fn place(item: &Reference) -> Option<u64> {
    let kind = Kind::ALL.iter().position(|kind| Some(*kind) == item.kind())?;
    let number = u64::try_from(item.number())
        .ok()
        .filter(|number| *number < 1 << KIND_BIT)?;
    Some((kind as u64) << KIND_BIT | number)
}

fn item(slot: u64) -> Option<(Kind, i64)> {
    let kind = (slot as u32 >> KIND_BIT) as usize;
    let number = (slot as u32) & ((1 << KIND_BIT) - 1);
    Some((*Kind::ALL.get(kind)?, i64::from(number)))
}
