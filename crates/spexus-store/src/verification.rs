//! Everything that can be verified, at once: the ledgers on one connection, the present state on another.

use crate::chain::{self, Verdict};
use crate::error::{Error, Result};
use crate::{Store, replay};
use spexus_domain::Uuid;
use spexus_domain::checkpoint::Checkpoint;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Hears how many changes were looked at since it heard last; every change is looked at twice, once in its ledger and once
/// for what it made.
pub type OnProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// Verifies every ledger, also against checkpoints, and the present state against a replay of them.
pub async fn verify(
    store: &Store,
    owner: Uuid,
    checkpoints: Vec<Checkpoint>,
    progress: OnProgress,
) -> Result<Verdict> {
    if store.is_in_transaction() {
        let mut conn = store.read().await?;
        let mut verdict = chain::verify_watched(&mut conn, &checkpoints, &*progress).await?;
        verdict.state = Some(replay::compare(&mut conn, &*progress).await?);
        return Ok(verdict);
    }
    // Dropped with what is waited for here, so that nothing goes on for nobody.
    let mut ledgers = JoinSet::new();
    let (own, seen) = (store.clone(), progress.clone());
    ledgers.spawn(async move {
        let mut conn = own.read().await?;
        chain::verify_watched(&mut conn, &checkpoints, &*seen).await
    });
    let state = store.snapshot(owner, async |store| {
        replay::compare(&mut store.read().await?, &*progress).await
    });
    let state = state.await?;
    let verdict = ledgers.join_next().await;
    let lost = || Error::Unavailable("a verification was lost".into());
    let mut verdict = verdict.ok_or_else(lost)?.map_err(|_| lost())??;
    verdict.state = Some(state);
    Ok(verdict)
}
