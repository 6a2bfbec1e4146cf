//! Requests that write, and the time they have: the runtime that keeps the time and the store that writes agree on whether
//! a request was given up or its work is kept, as they do for REST.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_server::WorkClaim;
use spexus_service::deadline::Claim;
use std::sync::Arc;

/// The claim of one request.
//= specs/spexus-mcp.md#tools
//# A write that is answered "too late" MUST NOT be carried out afterwards, unless the answer says that its outcome is unknown.
pub(crate) fn make() -> Box<dyn WorkClaim> {
    Box::new(WriteClaim::default())
}

#[derive(Default)]
struct WriteClaim(Arc<Claim>);

impl WorkClaim for WriteClaim {
    fn scope<'a>(&self, work: BoxFuture<'a, ()>) -> BoxFuture<'a, ()> {
        self.0.scope(work).boxed()
    }

    fn give_up(&self) -> bool {
        self.0.give_up()
    }
}
