//! Rates: how many requests a token, its owner, or an address without one, may send; and how many connections and
//! streams they may hold open.

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Keys looked at between two clean-ups.
const CLEAN_EVERY: u32 = 4_096;
/// Networks whose rates are counted apart; more than that share one.
const MAX_NETWORKS: usize = 100_000;
const MINUTE: Duration = Duration::from_secs(60);

/// The rates of tokens, users and addresses.
pub(crate) struct Limits {
    tokens: DefaultKeyedRateLimiter<Uuid>,
    users: DefaultKeyedRateLimiter<Uuid>,
    networks: Networks,
    clock: DefaultClock,
    asked: AtomicU32,
}

impl Limits {
    pub(crate) fn new(per_minute: u32, per_user_minute: u32, anonymous_per_minute: u32) -> Self {
        let quota = |per_minute| Quota::per_minute(NonZeroU32::new(per_minute).unwrap_or(NonZeroU32::MIN));
        Self {
            tokens: RateLimiter::keyed(quota(per_minute)),
            users: RateLimiter::keyed(quota(per_user_minute)),
            networks: Networks::new(anonymous_per_minute),
            clock: DefaultClock::default(),
            asked: AtomicU32::new(0),
        }
    }

    // Fulfils 001 D9, 003 R12.7
    //= specs/spexus-http.md#limits
    //# A token that sends more than its rate MUST be answered 429 with Retry-After, and no other token with it.
    //= specs/spexus-http.md#limits
    //# A user whose tokens and sessions together send more than the rate of a user MUST be answered 429 with Retry-After.
    /// Refuses a caller who sends too much.
    pub(crate) fn check_caller(&self, caller: &Caller) -> Ruled<()> {
        self.check_messages(caller, NonZeroU32::MIN)
    }

    /// Refuses a caller who sends too many messages, be it in one request; all count or none.
    pub(crate) fn check_messages(&self, caller: &Caller, messages: NonZeroU32) -> Ruled<()> {
        self.clean_up();
        let key = caller.token_id.unwrap_or(caller.user_id);
        self.spend_of(&self.tokens, key, messages)?;
        self.spend_of(&self.users, caller.user_id, messages)
    }

    fn spend_of(&self, rates: &DefaultKeyedRateLimiter<Uuid>, key: Uuid, messages: NonZeroU32) -> Ruled<()> {
        match rates.check_key_n(&key, messages) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(early)) => Err(too_many(early.wait_time_from(self.clock.now()))),
            // More than a token may send in a whole minute: waiting does not help, sending less does.
            Err(_) => {
                let message =
                    format!("{messages} messages at once are more than this token may send in a minute");
                Err(Refusal::new(Code::RateLimitExceeded, message).hint("Send fewer at once."))
            }
        }
    }

    //= specs/spexus-http.md#limits
    //# An address that sends more than its rate without a valid token MUST be answered 429 with Retry-After, before anything is looked up for it.
    /// Refuses a network that has sent too much without a valid token. Costs it nothing.
    pub(crate) fn check_network(&self, network: IpAddr) -> Ruled<()> {
        match self.networks.wait(network) {
            Duration::ZERO => Ok(()),
            wait => Err(too_many(wait)),
        }
    }

    /// Counts a request without a valid token.
    pub(crate) fn spend(&self, network: IpAddr) {
        self.networks.spend(network);
    }

    /// Forgets keys that are back to normal, so that the tables stay small.
    fn clean_up(&self) {
        if self.asked.fetch_add(1, Ordering::Relaxed) % CLEAN_EVERY == CLEAN_EVERY - 1 {
            self.tokens.retain_recent();
            self.users.retain_recent();
        }
    }
}

fn too_many(wait: Duration) -> Refusal {
    let wait = wait.as_secs() + 1;
    let message = format!("too many requests; wait {wait} second(s)");
    Refusal::new(Code::RateLimitExceeded, message).fact("retry_after_seconds", wait)
}

/// The rates of networks, which can be asked without being charged: each network has a time at which all it spent is
/// forgiven (the generic cell rate algorithm).
struct Networks {
    interval: Duration,
    started: Instant,
    forgiven: RwLock<HashMap<IpAddr, Duration>>,
}

impl Networks {
    fn new(per_minute: u32) -> Self {
        Self {
            interval: MINUTE / per_minute.max(1),
            started: Instant::now(),
            forgiven: RwLock::default(),
        }
    }

    /// How long a network has to wait until it can spend again.
    fn wait(&self, network: IpAddr) -> Duration {
        let now = self.started.elapsed();
        let known = self.forgiven.read().unwrap_or_else(PoisonError::into_inner);
        let shared = known.len() >= MAX_NETWORKS;
        let forgiven = known.get(&network).or(known.get(&OTHERS).filter(|_| shared));
        let next = forgiven.map_or(Duration::ZERO, |forgiven| *forgiven + self.interval);
        next.saturating_sub(now + MINUTE)
    }

    fn spend(&self, network: IpAddr) {
        let now = self.started.elapsed();
        let mut known = self.forgiven.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_NETWORKS && !known.contains_key(&network) {
            known.retain(|_, forgiven| *forgiven > now);
        }
        let key = match known.len() >= MAX_NETWORKS && !known.contains_key(&network) {
            true => OTHERS,
            false => network,
        };
        let forgiven = known.entry(key).or_insert(now);
        // What is spent at once by many requests under way is not held against the network for more than a minute.
        *forgiven = (now.max(*forgiven) + self.interval).min(now + MINUTE);
    }
}

/// Stands for all networks that found no place.
const OTHERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// How many of something each owner holds open: connections of a network, streams of a user.
pub(crate) struct Held<K: Eq + Hash + Clone> {
    max: usize,
    open: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> Held<K> {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            open: Arc::default(),
        }
    }

    /// One more, unless the owner holds the most already; it is given back when it is dropped.
    pub(crate) fn take(&self, owner: K) -> Option<Hold<K>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(owner.clone()).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(Hold {
            owner,
            open: self.open.clone(),
        })
    }

    /// What an owner is told that holds the most.
    pub(crate) fn refusal(&self, what: &str) -> Refusal {
        let message = format!("{} {what} are open, which is the most", self.max);
        Refusal::new(Code::ConcurrentLimitExceeded, message)
            .hint("Close one that is no longer needed.")
            .fact("retry_after_seconds", 1)
    }
}

/// One of the things an owner holds open.
pub(crate) struct Hold<K: Eq + Hash> {
    owner: K,
    open: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash> Drop for Hold<K> {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    #[test]
    fn a_network_spends_its_minute_and_asking_costs_nothing() {
        let networks = Networks::new(3);
        for _ in 0..3 {
            for _ in 0..10 {
                assert_eq!(networks.wait(ip(1)), Duration::ZERO, "asking is free");
            }
            networks.spend(ip(1));
        }
        let wait = networks.wait(ip(1));
        assert!(
            wait > Duration::from_secs(19) && wait <= Duration::from_secs(20),
            "{wait:?}"
        );
        for _ in 0..1_000 {
            networks.spend(ip(1));
        }
        assert!(
            networks.wait(ip(1)) <= Duration::from_secs(20),
            "no debt beyond a minute"
        );
        assert_eq!(networks.wait(ip(2)), Duration::ZERO, "another network");
    }

    #[test]
    fn what_is_held_is_counted_for_each_owner_and_given_back() {
        let held = Held::new(2);
        let both = [held.take(ip(1)).unwrap(), held.take(ip(1)).unwrap()];
        assert!(held.take(ip(1)).is_none() && held.take(ip(2)).is_some());
        drop(both);
        assert!(held.take(ip(1)).is_some());
        assert!(
            held.open.lock().unwrap().is_empty(),
            "nobody is remembered who holds nothing"
        );
    }
}
