//! Evidence that comes with its project: what the next push goes on from is made of the states as they come.

use super::derive::TraceHead;
use super::documents::broken;
use spexus_domain::Reference;
use spexus_domain::trace::keys::TraceKeys;
use spexus_store::Result;
use spexus_store::trace::StateRow;

/// Gathers the keys of items as they come.
#[derive(Default)]
pub(crate) struct TraceKeeper(TraceKeys);

impl TraceKeeper {
    /// The next item.
    pub(crate) fn add(&mut self, item: &Reference, row: &StateRow) -> Result<()> {
        let ground = serde_json::from_str(&row.ground).map_err(|error| broken(&error))?;
        self.0.add(item, &row.trace, &ground);
        Ok(())
    }

    /// The keys of all of them, beside what is known of the traced commit, which has to be readable.
    pub(crate) fn keys(self, head: &str) -> Result<Vec<u8>> {
        let _: TraceHead = serde_json::from_str(head).map_err(|error| broken(&error))?;
        Ok(self.0.into_bytes().unwrap_or_default())
    }
}
