//! What a request sees of the lists.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use refusal::{Code, Refusal};

use super::{Incoming, new_call};
use crate::server::context::Context;
use crate::server::registry::{Collection, Listed, Snapshot};
use mcp_protocol::{RpcError, Terms, envelope::Request};

/// The family as the audience of this request sees it.
pub(super) fn visible<T: Listed>(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: &Terms,
    collection: &Collection<T>,
) -> Result<Arc<Snapshot<T>>, RpcError> {
    match incoming.core.guard {
        None => Ok(collection.load()),
        Some(_) => {
            let call = new_call(incoming, request, terms.clone(), None, 0)?;
            visible_to(&Context(Arc::new(call)), collection)
        }
    }
}

/// The family as the audience of a call sees it.
pub(super) fn visible_to<T: Listed>(
    cx: &Context,
    collection: &Collection<T>,
) -> Result<Arc<Snapshot<T>>, RpcError> {
    let all = collection.load();
    let Some(guard) = &cx.0.core.guard else {
        return Ok(all);
    };
    guarded(|| match guard.audience(cx) {
        None => all,
        Some(audience) => all.seen_by(&audience, |entry| guard.shows(&audience, entry)),
    })
}

/// The audience a request belongs to; `None` sees all there is.
pub(super) fn audience(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: &Terms,
) -> Result<Option<String>, RpcError> {
    let Some(guard) = &incoming.core.guard else {
        return Ok(None);
    };
    let cx = Context(Arc::new(new_call(incoming, request, terms.clone(), None, 0)?));
    guarded(|| guard.audience(&cx))
}

/// What a guard says; one that panics is a fault of the server.
pub(super) fn guarded<T>(ask: impl FnOnce() -> T) -> Result<T, RpcError> {
    catch_unwind(AssertUnwindSafe(ask))
        .map_err(|_panic| Refusal::new(Code::InternalError, "the request could not be served").into())
}
