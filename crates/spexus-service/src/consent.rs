//! What a person agreed to counts once.
//!
//! In the stateless era of MCP a question travels with its client, and so does the answer. That it was used is all there
//! is to remember, and it is remembered where every node of an installation looks.

use crate::Service;
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::{Refusal, Ruled};
use spexus_store::{Actor, idempotency};

/// Takes the answer to the question of this number; false when it was taken before, here or at another node.
//= specs/spexus-service.md#writing-once
//# The answer of a person to a question MUST be taken once, whichever node it is brought to.
#[boxed]
pub async fn claim(service: &Service, caller: &Caller, nonce: &str) -> Ruled<bool> {
    // Kept among the answers that are given again. No key a client sends holds a line break.
    let (key, request) = (format!("answer\n{nonce}"), [0; 32]);
    let job = service.write_as(Actor::from(caller), move |tx| {
        Box::pin(async move {
            if idempotency::recall(tx, &key, request).await?.is_some() {
                return Ok(false);
            }
            idempotency::remember(tx, &key, request, "taken").await?;
            Ok(true)
        })
    });
    job.await.map_err(Refusal::from)
}
