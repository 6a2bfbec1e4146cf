//! Questions of the stateless era that were answered: remembered in the database, so that an answer counts once whichever
//! node it is brought to and however often.

use crate::audit;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_server::{Context, NonceStore};
use spexus_domain::Refusal;
use spexus_service::{Service, consent};
use std::time::Duration;

/// The nonce store of answered questions, in the database.
pub(crate) struct Answered(pub(crate) Service);

impl NonceStore for Answered {
    //= specs/spexus-mcp.md#asking
    //# An answer MUST count once and only for the question that was put, at every node; one that was not asked for, or was used before, MUST be asked for anew.
    fn claim<'a>(
        &'a self,
        cx: &'a Context,
        nonce: &'a str,
        // The database keeps them for a day, which is longer than any question lives.
        _: Duration,
    ) -> BoxFuture<'a, Result<bool, Refusal>> {
        async move { consent::claim(&self.0, &audit::caller(cx)?, nonce).await }.boxed()
    }
}
