//! The ends of ledgers that checkpoints know of, ready to be held against the ledgers.

use crate::chain::ChainFault;
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::ledger_head::hash;
use spexus_domain::Uuid;
use spexus_domain::change::INSTALLATION;
use spexus_domain::checkpoint::Checkpoint;
use std::collections::BTreeMap;

/// The hash of the first change of the installation's ledger. Its salt is random, so no other installation has it.
pub(crate) async fn installation(conn: &mut Conn) -> Result<Option<String>> {
    let sql = "SELECT hash FROM change WHERE ledger = $1 ORDER BY seq LIMIT 1";
    let row = conn.optional(sql, params![INSTALLATION]).await?;
    row.map(|row| hash(&row, "hash").map(hex::encode)).transpose()
}

/// Checkpoints that the ledgers are held against.
#[derive(Default)]
pub(crate) struct CheckpointedEnds {
    /// Each place in each ledger that some checkpoint names, with what stands there.
    places: BTreeMap<Uuid, BTreeMap<i64, CheckpointedHash>>,
    /// What is wrong with a checkpoint as a whole.
    pub(crate) fault: Option<ChainFault>,
}

struct CheckpointedHash {
    hash: String,
    at: String,
}

impl CheckpointedEnds {
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
                let place = CheckpointedHash {
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
