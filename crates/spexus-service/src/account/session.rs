//! One's own web sessions: which there are, and ending one.

use super::user::record_sessions_closed;
use crate::Service;
use crate::context::reading;
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::{Code, Refusal, Ruled, Timestamp, Uuid};
use spexus_store::accounts;

/// A web session of somebody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OwnSession {
    /// Its id, by which nobody can use it.
    pub id: Uuid,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
}

/// The sessions of the caller, the newest first.
//= specs/spexus-service.md#logging-in
//# Whoever is signed in MUST be told their own sessions and no others, and MUST be able to end each.
#[boxed]
pub async fn list(service: &Service, caller: &Caller) -> Ruled<Vec<OwnSession>> {
    let mut conn = reading(service, caller, Operation::OwnAccount).await?;
    let found = accounts::sessions(&mut conn, caller.user_id, service.store.now()).await?;
    let session = |(id, began_at, ends_at)| OwnSession {
        id,
        began_at,
        ends_at,
    };
    Ok(found.into_iter().map(session).collect())
}

/// Ends a session of the caller.
#[boxed]
pub async fn end(service: &Service, caller: &Caller, id: Uuid) -> Ruled<()> {
    let job = service.change_anywhere(caller, Operation::OwnAccount, move |tx, caller| {
        Box::pin(async move {
            if !accounts::close_session_of(tx, caller.user_id, id).await? {
                let refusal = Refusal::new(Code::ResourceNotFound, format!("there is no session {id}"));
                return Err(refusal.into());
            }
            record_sessions_closed(tx, caller.user_id, &caller.username).await
        })
    });
    job.await
}
