//! Retention of the history: what a checkpoint has sealed can go, by whole segments.

use crate::Service;
use crate::audit::{Happening, record};
use crate::context::{Context, reading};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::{Ruled, Timestamp};
use spexus_store::{projects, segments};

/// Changes removed by one transaction.
const SWEPT_ROWS: u32 = 1_000;

/// A segment of a project's ledger that was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedSegment {
    /// The key of the project.
    pub project: String,
    /// Up to which change.
    pub until: i64,
    /// When that had happened.
    pub at: Timestamp,
}

/// Drops the changes of a project, or of all, up to the last checkpoint from before a time; what they had made of everything is
/// kept, and that they were dropped, and by whom, stays in the history and in the trail.
//= specs/spexus-service.md#audit
//# Whoever drops a part of the history MUST be named in the trail and in the history.
#[boxed]
pub async fn drop_before(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    before: Timestamp,
) -> Ruled<Vec<DroppedSegment>> {
    let mut conn = reading(service, caller, Operation::Audit).await?;
    let projects = match project {
        Some(_) => vec![
            Context::of_read(service, &mut conn, caller, project)
                .await?
                .project()?
                .clone(),
        ],
        None => projects::all(&mut conn).await?,
    };
    let mut dropped = Vec::new();
    for project in projects {
        let Some(segment) = segments::droppable(&mut conn, project.id, before).await? else {
            continue;
        };
        for change in segments::summary(&mut conn, &segment).await? {
            let told = service.change_anywhere(caller, Operation::Audit, move |tx, _| {
                Box::pin(async move { tx.record(change).await.map(drop) })
            });
            told.await?;
        }
        let detail = format!("{} up to change {}", project.key, segment.number);
        let job = service.change_anywhere(caller, Operation::Audit, move |tx, _| {
            Box::pin(async move {
                let is_new = segments::drop(tx, &segment).await?;
                if is_new {
                    record(tx, Happening::HistoryDropped, None, "", &detail).await?;
                }
                Ok(is_new)
            })
        });
        if job.await? {
            dropped.push(DroppedSegment {
                project: project.key,
                until: segment.number,
                at: segment.at,
            });
        }
    }
    // Also what an earlier one that was interrupted left.
    while sweep(service, caller).await? == u64::from(SWEPT_ROWS) {}
    Ok(dropped)
}

async fn sweep(service: &Service, caller: &Caller) -> Ruled<u64> {
    let job = service.change_anywhere(caller, Operation::Audit, |tx, _| {
        Box::pin(segments::sweep(tx, SWEPT_ROWS))
    });
    job.await
}
