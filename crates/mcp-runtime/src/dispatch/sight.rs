//! What a request sees of the lists.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use refusal::{Code, Refusal};

use super::{Door, new_call};
use crate::answer::RpcError;
use crate::context::Context;
use crate::envelope::Request;
use crate::registry::{Family, Listed, Shelf};
use crate::session::Terms;

/// The family as the audience of this request sees it.
pub(super) fn seen<T: Listed>(
    door: &Door<'_>,
    request: &Request<'_>,
    terms: &Terms,
    shelf: &Shelf<T>,
) -> Result<Arc<Family<T>>, RpcError> {
    let all = shelf.load();
    let Some(guard) = &door.core.guard else {
        return Ok(all);
    };
    let cx = Context(Arc::new(new_call(door, request, terms.clone(), None, 0)?));
    let look = || match guard.audience(&cx) {
        None => all,
        Some(audience) => all.seen_by(&audience, |entry| guard.shows(&audience, entry)),
    };
    catch_unwind(AssertUnwindSafe(look))
        .map_err(|_panic| Refusal::new(Code::InternalError, "the request could not be served").into())
}
