//! The digest of a push: made when it is kept, and computed again by whoever verifies.

use super::{next_part, push};
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::state_verdict::StateVerdict;
use spexus_domain::trace::record::PartKind;

/// The digest of what a push brought: its head, and each document with its kind, in their order.
pub struct PushDigest(blake3::Hasher);

impl PushDigest {
    /// Begins with what is known of the push itself.
    pub fn new(head: &[&str]) -> Self {
        let mut digest = Self(blake3::Hasher::new());
        digest.0.update(b"spexus push 1");
        for text in head {
            digest.add_text(text);
        }
        digest
    }

    /// The document at a place.
    pub fn add(&mut self, ordinal: usize, kind: PartKind, body: &str) {
        self.add_part(i64::try_from(ordinal).unwrap_or(i64::MAX), kind.name(), body);
    }

    /// The document at a place, of a kind by name.
    pub fn add_part(&mut self, ordinal: i64, kind: &str, body: &str) {
        self.0.update(&ordinal.to_le_bytes());
        self.add_text(kind);
        self.add_text(body);
    }

    fn add_text(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }

    /// The digest.
    pub fn finish(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

/// The texts of a push itself that its digest begins with.
pub fn head_of_digest<'a>(commit: &'a str, is_dirty: bool, is_reported: bool, head: &'a str) -> [&'a str; 4] {
    [
        commit,
        if is_dirty { "dirty" } else { "clean" },
        if is_reported { "reported" } else { "run" },
        head,
    ]
}

/// Computes the digest of every push again from its documents.
//= specs/spexus-store.md#history
//# Verification MUST compute the digest of every push of evidence again from what it brought.
pub(crate) async fn compare(conn: &mut Conn, verdict: &mut StateVerdict) -> Result<()> {
    let pushes = conn
        .all("SELECT * FROM trace_push ORDER BY project_id, number", params![])
        .await?;
    for row in &pushes {
        let (project_id, push) = (row.id("project_id")?, push(row)?);
        let mut digest = PushDigest::new(&head_of_digest(
            &push.commit,
            push.is_dirty,
            push.is_reported,
            &push.head,
        ));
        let mut after = -1;
        loop {
            let Some((place, kind, body)) = next_part(conn, (project_id, push.id), after).await? else {
                break;
            };
            after = place;
            digest.add_part(place, &kind, &body);
        }
        if digest.finish() != push.digest {
            let label = format!("push {}", push.number);
            verdict.note("trace_part", push.id, &label, "what the push brought was altered");
        }
    }
    Ok(())
}
