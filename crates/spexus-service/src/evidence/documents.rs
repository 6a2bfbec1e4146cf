//! The documents of pushes, record by record, kept or still at hand.

use super::derive::Incoming;
use serde::de::DeserializeOwned;
use spexus_domain::Uuid;
use spexus_domain::trace::record::PartKind;
use spexus_store::trace::{self, PushMark};
use spexus_store::{Conn, Error, Result};

/// Where the documents of a push are: kept, or still at hand.
pub(super) struct Source<'a> {
    pub(super) project_id: Uuid,
    pub(super) incoming: &'a Incoming<'a>,
}

impl Source<'_> {
    /// Every record of one kind of a push, document by document.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        conn: &mut Conn,
        push: &PushMark,
        kind: PartKind,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        if push.id == self.incoming.mark.id {
            return each(self.incoming.parts, kind, take);
        }
        let (of, mut after) = ((self.project_id, push.id), -1);
        while let Some((place, body)) = trace::part_after(conn, of, kind, after).await? {
            after = place;
            each_line(&body, &mut take)?;
        }
        Ok(())
    }
}

/// Every record of one kind.
pub(super) fn each<T: DeserializeOwned>(
    parts: &[(PartKind, String)],
    kind: PartKind,
    mut take: impl FnMut(T),
) -> Result<()> {
    for (_, body) in parts.iter().filter(|(of, _)| *of == kind) {
        each_line(body, &mut take)?;
    }
    Ok(())
}

fn each_line<T: DeserializeOwned>(body: &str, take: &mut impl FnMut(T)) -> Result<()> {
    for line in body.lines() {
        take(serde_json::from_str(line).map_err(|error| broken(&error))?);
    }
    Ok(())
}

pub(super) fn broken(error: &serde_json::Error) -> Error {
    Error::Broken(format!("what was pushed cannot be read: {error}"))
}
