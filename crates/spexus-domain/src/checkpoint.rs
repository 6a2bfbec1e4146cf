//! Checkpoints: what every ledger had come to at one time, to be signed and kept where the database is not.

use crate::change::Parts;
use crate::{Timestamp, Uuid};
use serde::{Deserialize, Serialize};

/// The ends of all ledgers at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The hash of the first change of the installation's ledger, which no other installation has.
    pub installation: String,
    /// When.
    pub at: Timestamp,
    /// Every ledger that has a change, by id.
    pub ledgers: Vec<LedgerEnd>,
}

/// The end of one ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerEnd {
    /// The project, or the nil UUID for the installation.
    pub ledger: Uuid,
    /// The number of its last change.
    pub number: i64,
    /// Its hash, in hexadecimal digits.
    pub hash: String,
}

/// A checkpoint with the signature of the one who made it: a line of the file it is kept in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedCheckpoint {
    /// What is signed.
    pub checkpoint: Checkpoint,
    /// The public key of the signature, in hexadecimal digits.
    pub key: String,
    /// An Ed25519 signature over [`Checkpoint::digest`], in hexadecimal digits.
    pub signature: String,
}

impl Checkpoint {
    /// What is signed: a hash over every part of it.
    pub fn digest(&self) -> [u8; 32] {
        let mut parts = Parts::of(b"spexus checkpoint 1");
        parts.add(self.installation.as_bytes());
        parts.add(&self.at.0.to_le_bytes());
        parts.add(&(self.ledgers.len() as u64).to_le_bytes());
        for end in &self.ledgers {
            parts.add(end.ledger.as_bytes());
            parts.add(&end.number.to_le_bytes());
            parts.add(end.hash.as_bytes());
        }
        parts.hash()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_signed() {
        let end = LedgerEnd {
            ledger: Uuid::nil(),
            number: 1,
            hash: "aa".into(),
        };
        let checkpoint = Checkpoint {
            installation: "bb".into(),
            at: Timestamp(7),
            ledgers: vec![end],
        };
        let alterations: [fn(&mut Checkpoint); 7] = [
            |it| it.installation = "bc".into(),
            |it| it.at = Timestamp(8),
            |it| it.ledgers.clear(),
            |it| it.ledgers.push(it.ledgers[0].clone()),
            |it| it.ledgers[0].ledger = Uuid::from_u128(1),
            |it| it.ledgers[0].number = 2,
            |it| it.ledgers[0].hash = "ab".into(),
        ];
        for (at, alter) in alterations.iter().enumerate() {
            let mut other = checkpoint.clone();
            alter(&mut other);
            assert_ne!(other.digest(), checkpoint.digest(), "alteration {at}");
        }
        let line = serde_json::to_string(&checkpoint).unwrap();
        let read: Checkpoint = serde_json::from_str(&line).unwrap();
        assert_eq!(read, checkpoint);
    }
}
