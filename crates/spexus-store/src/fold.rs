//! What the history makes of items, comments and links, change by change.

use crate::engine::Row;
use crate::error::Result;
use crate::present_rows::Rest;
use crate::sealed_rows::Seals;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spexus_domain::change::Action;
use spexus_domain::{Uuid, told};
use std::collections::HashMap;

/// What the history made of an item, its comments and the links that begin at it.
#[derive(Clone, Default)]
pub(crate) struct ItemFolds(pub(crate) HashMap<Uuid, Fold>);

/// What the history made of one thing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fold {
    pub(crate) entity: String,
    pub(crate) label: String,
    /// The item itself, the one that is commented on, or the one a link begins at.
    pub(crate) item: Uuid,
    pub(crate) target: Option<Uuid>,
    /// The place of the last change in its ledger.
    pub(crate) number: i64,
    pub(crate) rev: i64,
    pub(crate) fields: Map<String, Value>,
    pub(crate) is_deleted: bool,
    /// Whether words were taken out of its history, so that nothing can be said of its fields.
    pub(crate) is_erased: bool,
    pub(crate) rest: Rest,
    /// The last change, and the one that told its place among siblings.
    seq: i64,
    placed_by: i64,
}

/// A thing as it was found where the history could not tell.
#[derive(Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) id: Uuid,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

impl ItemFolds {
    pub(crate) fn push(&mut self, row: &Row, seals: &Seals) -> Result<()> {
        let (entity, id) = (row.text("entity")?, row.id("entity_id")?);
        let fold = self.0.entry(id).or_insert_with(|| Fold {
            entity,
            label: String::new(),
            item: Uuid::nil(),
            target: None,
            number: 0,
            rev: 0,
            fields: Map::new(),
            is_deleted: false,
            is_erased: false,
            rest: Rest::default(),
            seq: i64::MIN,
            placed_by: i64::MIN,
        });
        let anchors = fold.push(id, row, seals)?;
        for (comment, anchor) in anchors {
            if let Some(fold) = Uuid::try_parse(&comment).ok().and_then(|id| self.0.get_mut(&id)) {
                fold.rest.anchor = Some(anchor);
            }
        }
        Ok(())
    }
}

impl Fold {
    /// The next change. Tells which anchors of comments moved with it.
    fn push(&mut self, id: Uuid, row: &Row, seals: &Seals) -> Result<Map<String, Value>> {
        let seq = row.int("seq")?;
        self.take_found(id, seals, seq);
        self.seq = seq;
        self.item = row.id("item_id")?;
        self.target = row.opt_id("other_item_id")?;
        self.number = row.int("number")?;
        self.rev = row.int("rev")?;
        self.is_erased |= row.bytes("salt")?.is_empty();
        self.label = row.text("label")?;
        let action = crate::changes::action(row)?;
        self.is_deleted = action == Action::Deleted;
        let mut after = row.object("after")?;
        let anchors = match after.remove(told::ANCHORS) {
            Some(Value::Object(anchors)) => anchors,
            _ => Map::new(),
        };
        after.remove(told::INTENT);
        self.push_rest(row, action, &mut after)?;
        if action == Action::Deleted {
            // The row keeps what it was.
            return Ok(anchors);
        }
        for gone in row.object("before")?.keys() {
            self.fields.remove(gone);
        }
        if let Some(position) = after.get("position").and_then(Value::as_i64) {
            self.placed_by = seq;
            self.rest.position = Some(position);
        }
        self.fields.extend(after);
        Ok(anchors)
    }

    /// What a change makes of the columns that are no fields.
    fn push_rest(&mut self, row: &Row, action: Action, after: &mut Map<String, Value>) -> Result<()> {
        let at = row.int("at")?;
        let (is_link, is_comment) = (self.entity == "link", self.entity == "comment");
        let rest = &mut self.rest;
        if action == Action::Created {
            let creator = id_of(after.remove(told::CREATOR));
            rest.creator = creator.map_or_else(|| row.id("user_id"), Ok)?;
            rest.created_at = int_of(after.remove(told::CREATED_AT)).unwrap_or(at);
            rest.parent = id_of(after.remove(told::PARENT));
            rest.anchor = after.remove(told::ANCHOR);
            rest.rev = is_link.then(|| self.rev - 1);
        }
        let updated_at = int_of(after.remove(told::UPDATED_AT)).unwrap_or(at);
        let keeps_its_time = is_link || (is_comment && action == Action::Deleted);
        if !keeps_its_time {
            rest.updated_at = updated_at;
        }
        rest.rev = rest.rev.map(|rev| rev + 1);
        if let Some(Value::Array(hashes)) = after.remove(told::HASHES) {
            let mut hashes = hashes
                .into_iter()
                .map(|hash| hash.as_str().unwrap_or_default().to_owned());
            rest.hashes = Some([
                hashes.next().unwrap_or_default(),
                hashes.next().unwrap_or_default(),
            ]);
        }
        let deletion = id_of(after.remove(told::DELETION));
        match action {
            Action::Deleted => (rest.deleted_at, rest.deletion) = (Some(updated_at), deletion),
            Action::Created | Action::Restored => (rest.deleted_at, rest.deletion) = (None, None),
            Action::Updated => {}
        }
        Ok(())
    }

    /// What an upgrade found stands from then on, whatever was told before.
    fn take_found(&mut self, id: Uuid, seals: &Seals, until: i64) {
        if let Some((seq, found)) = seals.found.get(&id)
            && (self.seq + 1..=until).contains(seq)
            && let Ok(found) = serde_json::from_value::<Found>(found.clone())
        {
            self.rest = found.rest;
            self.placed_by = *seq;
        }
    }

    /// What is known once nothing follows.
    pub(crate) fn finish(&mut self, id: Uuid, seals: &Seals) {
        self.take_told(id, seals, i64::MAX);
    }

    /// What is kept of it when its changes up to one are dropped.
    pub(crate) fn summary(mut self, id: Uuid, seals: &Seals, seq: i64) -> Self {
        self.take_told(id, seals, seq);
        (self.seq, self.placed_by) = (seq, seq);
        self.fields = self
            .fields
            .into_iter()
            .map(|(name, value)| {
                let kept = shortened(&name, value);
                (name, kept)
            })
            .collect();
        self
    }

    /// Whether a field is what the history made of it.
    pub(crate) fn says(&self, name: &str, present: Option<&Value>) -> bool {
        match (self.fields.get(name), present) {
            (Some(Value::Object(kept)), Some(present)) if kept.contains_key(DIGEST) => {
                kept.get(DIGEST).and_then(Value::as_str) == Some(digest(present).as_str())
            }
            (kept, present) => kept == present,
        }
    }

    fn take_told(&mut self, id: Uuid, seals: &Seals, until: i64) {
        self.take_found(id, seals, until);
        if let Some((seq, position)) = seals.positions.get(&id)
            && (self.placed_by + 1..=until).contains(seq)
        {
            self.rest.position = Some(*position);
        }
    }
}

fn id_of(value: Option<Value>) -> Option<Uuid> {
    Uuid::try_parse(value?.as_str()?).ok()
}

fn int_of(value: Option<Value>) -> Option<i64> {
    value?.as_i64()
}

/// The field by which a value is known of which only a digest is kept.
const DIGEST: &str = ".digest";

/// Bytes of the longest value that is kept as it is.
const MAX_KEPT_BYTES: usize = 64;

/// Digits of a digest.
const DIGEST_DIGITS: usize = 32;

/// A value, or its digest where it is long. People are compared by name, so theirs are kept.
fn shortened(name: &str, value: Value) -> Value {
    match name == "assignee" || value.to_string().len() <= MAX_KEPT_BYTES {
        true => value,
        false => Value::Object(Map::from_iter([(DIGEST.to_owned(), digest(&value).into())])),
    }
}

fn digest(value: &Value) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"spexus field 1 ");
    hasher.update(value.to_string().as_bytes());
    hasher.finalize().to_hex()[..DIGEST_DIGITS].to_owned()
}
