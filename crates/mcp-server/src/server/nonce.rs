//! Numbers that count once: each stands for a question that went out with a client, and whoever brings its answer claims it.
//!
//! The server keeps nothing of a question in the stateless era; what it must remember is that it was answered. In memory
//! that holds for one process. Where several share their clients, they must share this too.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use refusal::{Code, Refusal};
use tokio::time::Instant;

use crate::server::context::Context;

/// Numbers remembered in memory at once.
const MAX_NONCES: usize = 100_000;

/// Remembers which numbers were claimed.
pub trait NonceStore: Send + Sync + 'static {
    /// Claims a number on behalf of a request; false when somebody did before. It must be remembered for so long.
    fn claim<'a>(
        &'a self,
        cx: &'a Context,
        nonce: &'a str,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, Refusal>>;
}

/// Numbers in the memory of one process.
#[derive(Debug, Default)]
pub struct MemoryNonces(Mutex<HashMap<String, Instant>>);

impl NonceStore for MemoryNonces {
    fn claim<'a>(
        &'a self,
        _: &'a Context,
        nonce: &'a str,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, Refusal>> {
        std::future::ready(self.claim_at(nonce, keep, Instant::now())).boxed()
    }
}

impl MemoryNonces {
    fn claim_at(&self, nonce: &str, keep: Duration, now: Instant) -> Result<bool, Refusal> {
        let mut claimed = self.0.lock();
        if claimed.len() >= MAX_NONCES {
            claimed.retain(|_, until| *until > now);
        }
        if claimed.len() >= MAX_NONCES {
            return Err(Refusal::new(
                Code::ResourceExhausted,
                "more answers came in than can be remembered",
            ));
        }
        let known = claimed.insert(nonce.to_owned(), now + keep);
        Ok(known.is_none_or(|until| until <= now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_once_until_it_is_forgotten() {
        let (nonces, now, keep) = (MemoryNonces::default(), Instant::now(), Duration::from_secs(1));
        assert!(nonces.claim_at("a", keep, now).unwrap());
        assert!(!nonces.claim_at("a", keep, now).unwrap());
        assert!(nonces.claim_at("b", keep, now).unwrap());
    }

    #[test]
    fn memory_is_bounded_and_old_numbers_make_room() {
        let (nonces, now, keep) = (MemoryNonces::default(), Instant::now(), Duration::from_secs(1));
        for number in 0..MAX_NONCES {
            assert!(nonces.claim_at(&number.to_string(), keep, now).unwrap());
        }
        assert!(nonces.claim_at("more", keep, now).is_err());
        assert!(nonces.claim_at("more", keep, now + keep * 2).unwrap());
    }
}
