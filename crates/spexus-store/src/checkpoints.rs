//! Checkpoints: what the ledgers had come to at one time, made to be kept elsewhere and held against them later.

use crate::chain::{ChainFault, Head, LedgerHead, hash};
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::tx::Tx;
use spexus_domain::Uuid;
use spexus_domain::change::{Action, Entity, INSTALLATION, NewChange};
use spexus_domain::checkpoint::{Checkpoint, LedgerEnd};
use std::collections::BTreeMap;

/// What a checkpoint is called in the installation's ledger.
const LABEL: &str = "checkpoint";

/// The field that names the key it was signed with.
const KEY: &str = "key";

/// The key of the last checkpoint, if there is one, and whether nothing happened since.
pub async fn last(conn: &mut Conn) -> Result<Option<(String, bool)>> {
    let sql = "SELECT seq, after FROM change WHERE ledger = $1 AND label = $2 AND entity = 'setting' ORDER BY seq DESC LIMIT 1";
    let Some(row) = conn.optional(sql, params![INSTALLATION, LABEL]).await? else {
        return Ok(None);
    };
    let is_last = row.int("seq")? == Head::read(conn).await?.seq;
    let key = row.object("after")?;
    let key = key.get(KEY).and_then(|key| key.as_str()).unwrap_or_default();
    Ok(Some((key.to_owned(), is_last)))
}

/// Takes down where every ledger ends, in the ledger of the installation as well.
//= specs/spexus-store.md#checkpoints
//# A checkpoint MUST hold the number and the hash of the last change of every ledger, and MUST itself be in the ledger of the
//# installation.
pub async fn take(tx: &mut Tx, key: &str) -> Result<Checkpoint> {
    let mut ledgers = Vec::new();
    let projects = tx
        .conn
        .all("SELECT id FROM project ORDER BY id", params![])
        .await?;
    for row in &projects {
        let ledger = row.id("id")?;
        let head = tx.ledger_head(ledger).await?;
        if head.number > 0 {
            ledgers.push(end(ledger, head));
        }
    }
    let ends = ledgers.iter().map(|end| {
        (
            end.ledger.to_string(),
            format!("{} {}", end.number, end.hash).into(),
        )
    });
    let fields = ends.chain([(KEY.to_owned(), key.into())]);
    let id = tx.new_id();
    let change =
        NewChange::new(Entity::Setting, id, LABEL, Action::Created, 1).fields(None, fields.collect());
    tx.record(change).await?;
    let own = tx.ledger_head(INSTALLATION).await?;
    ledgers.insert(0, end(INSTALLATION, own));
    Ok(Checkpoint {
        installation: installation(&mut tx.conn).await?.unwrap_or_default(),
        at: tx.now(),
        ledgers,
    })
}

fn end(ledger: Uuid, head: LedgerHead) -> LedgerEnd {
    LedgerEnd {
        ledger,
        number: head.number,
        hash: hex::encode(head.hash),
    }
}

/// The hash of the first change of the installation's ledger. Its salt is random, so no other installation has it.
async fn installation(conn: &mut Conn) -> Result<Option<String>> {
    let sql = "SELECT hash FROM change WHERE ledger = $1 ORDER BY seq LIMIT 1";
    let row = conn.optional(sql, params![INSTALLATION]).await?;
    row.map(|row| hash(&row, "hash").map(hex::encode)).transpose()
}

/// Checkpoints that the ledgers are held against.
#[derive(Default)]
pub(crate) struct Kept {
    /// Each place in each ledger that some checkpoint names, with what stands there.
    places: BTreeMap<Uuid, BTreeMap<i64, Place>>,
    /// What is wrong with a checkpoint as a whole.
    pub(crate) fault: Option<ChainFault>,
}

struct Place {
    hash: String,
    at: String,
}

impl Kept {
    pub(crate) async fn of(conn: &mut Conn, checkpoints: &[Checkpoint]) -> Result<Self> {
        let mut kept = Self::default();
        if checkpoints.is_empty() {
            return Ok(kept);
        }
        let installation = installation(conn).await?;
        for checkpoint in checkpoints {
            let at = checkpoint.at.to_string();
            if installation.as_ref() != Some(&checkpoint.installation) {
                let problem = format!(
                    "the checkpoint of {at} is of another installation, or the ledger of this one was written anew from its first change on"
                );
                kept.fault.get_or_insert(ChainFault { seq: 1, problem });
                continue;
            }
            for end in &checkpoint.ledgers {
                let place = Place {
                    hash: end.hash.to_ascii_lowercase(),
                    at: at.clone(),
                };
                let places = kept.places.entry(end.ledger).or_default();
                places.insert(end.number, place);
            }
        }
        Ok(kept)
    }

    /// Whether a change of a ledger is what a checkpoint says; `None` where none names it.
    pub(crate) fn agrees(
        &self,
        ledger: Uuid,
        number: i64,
        hash: &[u8; 32],
    ) -> Option<std::result::Result<(), String>> {
        let place = self.places.get(&ledger)?.get(&number)?;
        if place.hash == hex::encode(hash) {
            return Some(Ok(()));
        }
        Some(Err(format!(
            "the checkpoint of {} has another hash here: the ledger was written anew",
            place.at
        )))
    }

    /// The ledgers that end before a checkpoint says, with what is wrong.
    //= specs/spexus-store.md#checkpoints
    //# Held against a checkpoint, verification MUST find a tail that was cut off and a ledger that was computed anew, and MUST
    //# say that an older backup may have been restored.
    pub(crate) fn cut_off(&self, ends: impl Fn(Uuid) -> i64) -> Vec<(Uuid, String)> {
        let mut found = Vec::new();
        for (ledger, places) in &self.places {
            let (ends, last) = (ends(*ledger), places.last_key_value());
            if let Some((number, place)) = last
                && *number > ends
            {
                let problem = format!(
                    "the ledger ends at {ends}, the checkpoint of {} knows {number} changes: the rest was cut off, or an older \
                     backup was restored",
                    place.at
                );
                found.push((*ledger, problem));
            }
        }
        found
    }
}
