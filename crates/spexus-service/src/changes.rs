//! The feed: what happened since a cursor, for everyone who wants to stay current.

use crate::context::{Context, reading};
use crate::{Service, told};
use spexus_domain::Ruled;
use spexus_domain::account::Caller;
use spexus_domain::change::Change;
use spexus_domain::limits::{DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS};
use spexus_domain::permission::Operation;
use spexus_domain::query::PageRequest;
use spexus_store::changes;

/// The changes of a project after a cursor, oldest first. The cursor of the last one is where to go on.
pub async fn since(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    after: i64,
    limit: Option<u32>,
) -> Ruled<Vec<Change>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let limit = PageRequest::new(Some(limit.unwrap_or(DEFAULT_PAGE_ROWS.min(MAX_PAGE_ROWS))), None)?.limit;
    let context = Context::of_read(service, &mut conn, caller, project)
        .await
        .map_err(told)?;
    changes::since(&mut conn, Some(context.project.id), after, limit)
        .await
        .map_err(told)
}

/// The number of the last change: where a feed that wants only news begins.
pub async fn head(service: &Service, caller: &Caller) -> Ruled<i64> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    changes::head(&mut conn).await.map_err(told)
}
