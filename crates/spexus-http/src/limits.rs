//! Rates: how many requests a token, or an address without one, may send.

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

/// Keys looked at between two clean-ups.
const CLEAN_EVERY: u32 = 4_096;

/// The rates of tokens and addresses.
pub(crate) struct Limits {
    callers: DefaultKeyedRateLimiter<Uuid>,
    addresses: DefaultKeyedRateLimiter<String>,
    clock: DefaultClock,
    asked: AtomicU32,
}

impl Limits {
    pub(crate) fn new(per_minute: u32, anonymous_per_minute: u32) -> Self {
        let quota = |per_minute| Quota::per_minute(NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN));
        Self {
            callers: RateLimiter::keyed(quota(per_minute)),
            addresses: RateLimiter::keyed(quota(anonymous_per_minute)),
            clock: DefaultClock::default(),
            asked: AtomicU32::new(0),
        }
    }

    // Fulfils 001 D9, 003 R12.7
    //= specs/spexus-http.md#limits
    //# A token that sends more than its rate MUST be answered 429 with Retry-After, and no other token with it.
    /// Refuses a caller who sends too much.
    pub(crate) fn check_caller(&self, caller: &Caller) -> Ruled<()> {
        self.clean_up();
        let key = caller.token_id.unwrap_or(caller.user_id);
        self.callers
            .check_key(&key)
            .map_err(|early| self.refusal(early.wait_time_from(self.clock.now()).as_secs()))
    }

    //= specs/spexus-http.md#limits
    //# An address that sends more than its rate without a valid token MUST be answered 429 with Retry-After.
    /// Refuses an address that sends too much without a valid token.
    pub(crate) fn check_address(&self, address: &str) -> Ruled<()> {
        self.clean_up();
        let early = self.addresses.check_key(&address.to_owned());
        early.map_err(|early| self.refusal(early.wait_time_from(self.clock.now()).as_secs()))
    }

    fn refusal(&self, seconds: u64) -> Refusal {
        let wait = seconds + 1;
        let message = format!("too many requests; wait {wait} second(s)");
        Refusal::new(Code::RateLimitExceeded, message).fact("retry_after_seconds", wait)
    }

    /// Forgets keys that are back to normal, so that the tables stay small.
    fn clean_up(&self) {
        if self.asked.fetch_add(1, Ordering::Relaxed) % CLEAN_EVERY == CLEAN_EVERY - 1 {
            self.callers.retain_recent();
            self.addresses.retain_recent();
        }
    }
}
