//! Rate limiters and semaphores: how many requests a token, its owner, or an address without one, may send; and how many connections and
//! streams they may hold open.

use parking_lot::{Mutex, RwLock};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Keys looked at between two clean-ups.
const CLEAN_EVERY: u32 = 4_096;
/// Networks whose rates are counted apart; more than that share one.
const MAX_NETWORKS: usize = 100_000;
const MINUTE: Duration = Duration::from_secs(60);

/// The rate limiters of tokens, users and addresses.
pub(crate) struct RateLimits {
    tokens: RateLimiter<Uuid>,
    users: RateLimiter<Uuid>,
    networks: Networks,
    asked: AtomicU32,
}

/// What the rates of a caller are counted by: the token, or the user in a session, and the user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateKey {
    token: Uuid,
    user: Uuid,
}

impl RateKey {
    pub(crate) fn of(caller: &Caller) -> Self {
        Self {
            token: caller.token_id.unwrap_or(caller.user_id),
            user: caller.user_id,
        }
    }
}

impl RateLimits {
    pub(crate) fn new(per_minute: u32, per_user_minute: u32, anonymous_per_minute: u32) -> Self {
        Self {
            tokens: RateLimiter::new(per_minute),
            users: RateLimiter::new(per_user_minute),
            networks: Networks(RateLimiter::new(anonymous_per_minute)),
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
        self.check_messages(RateKey::of(caller), NonZeroU32::MIN)
    }

    /// Refuses a caller who sends too many messages, be it in one request; all count or none.
    pub(crate) fn check_messages(&self, key: RateKey, messages: NonZeroU32) -> Ruled<()> {
        self.clean_up();
        spend(&self.tokens, key.token, messages)?;
        spend(&self.users, key.user, messages)
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
            self.tokens.forget_idle();
            self.users.forget_idle();
        }
    }
}

fn spend(rates: &RateLimiter<Uuid>, key: Uuid, messages: NonZeroU32) -> Ruled<()> {
    if messages.get() > rates.per_minute {
        // More than a token may send in a whole minute: waiting does not help, sending less does.
        let message = format!("{messages} messages at once are more than this token may send in a minute");
        return Err(Refusal::new(Code::RateLimitExceeded, message).hint("Send fewer at once."));
    }
    rates.spend(key, messages.get()).map_err(too_many)
}

fn too_many(wait: Duration) -> Refusal {
    let wait = wait.as_secs() + 1;
    let message = format!("too many requests; wait {wait} second(s)");
    Refusal::new(Code::RateLimitExceeded, message).fact("retry_after_seconds", wait)
}

/// A rate of so many messages a minute for each key, by the generic cell rate algorithm (GCRA): all that is remembered of a key
/// is the time at which what it spent is forgiven, and that may lie a minute ahead at most.
struct RateLimiter<K> {
    per_minute: u32,
    interval: Duration,
    started: Instant,
    forgiven: RwLock<HashMap<K, Duration>>,
}

impl<K: Eq + Hash> RateLimiter<K> {
    fn new(per_minute: u32) -> Self {
        let per_minute = per_minute.max(1);
        Self {
            per_minute,
            interval: MINUTE / per_minute,
            started: Instant::now(),
            forgiven: RwLock::default(),
        }
    }

    /// Counts messages, all or none; if none, how long to wait until they may come.
    fn spend(&self, key: K, messages: u32) -> Result<(), Duration> {
        let now = self.started.elapsed();
        let mut known = self.forgiven.write();
        let forgiven = known.entry(key).or_insert(now);
        let next = now.max(*forgiven) + self.interval * messages;
        match next.saturating_sub(now + MINUTE) {
            Duration::ZERO => {
                *forgiven = next;
                Ok(())
            }
            wait => Err(wait),
        }
    }

    /// Forgets the keys that are back to normal.
    fn forget_idle(&self) {
        let now = self.started.elapsed();
        let mut known = self.forgiven.write();
        known.retain(|_, forgiven| *forgiven > now);
    }
}

/// The rates of networks, which can be asked without being charged.
struct Networks(RateLimiter<IpAddr>);

impl Networks {
    /// How long a network has to wait until it can spend again.
    fn wait(&self, network: IpAddr) -> Duration {
        let now = self.0.started.elapsed();
        let known = self.0.forgiven.read();
        let shared = known.len() >= MAX_NETWORKS;
        let forgiven = known.get(&network).or(known.get(&OTHERS).filter(|_| shared));
        let next = forgiven.map_or(Duration::ZERO, |forgiven| *forgiven + self.0.interval);
        next.saturating_sub(now + MINUTE)
    }

    fn spend(&self, network: IpAddr) {
        let now = self.0.started.elapsed();
        let mut known = self.0.forgiven.write();
        if known.len() >= MAX_NETWORKS && !known.contains_key(&network) {
            known.retain(|_, forgiven| *forgiven > now);
        }
        let key = match known.len() >= MAX_NETWORKS && !known.contains_key(&network) {
            true => OTHERS,
            false => network,
        };
        let forgiven = known.entry(key).or_insert(now);
        // What is spent at once by many requests under way is not held against the network for more than a minute.
        *forgiven = (now.max(*forgiven) + self.0.interval).min(now + MINUTE);
    }
}

/// Stands for all networks that found no place.
const OTHERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// A semaphore for each owner: connections of a network, streams of a user.
pub(crate) struct OwnerSemaphore<K: Eq + Hash + Clone> {
    max: usize,
    open: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Clone> OwnerSemaphore<K> {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            open: Arc::default(),
        }
    }

    /// A permit, unless the owner holds the most already; it is given back when it is dropped.
    pub(crate) fn acquire(&self, owner: K) -> Option<OwnerPermit<K>> {
        let mut open = self.open.lock();
        let count = open.entry(owner.clone()).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(OwnerPermit {
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

/// One of the permits of an owner.
pub(crate) struct OwnerPermit<K: Eq + Hash> {
    owner: K,
    open: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash> Drop for OwnerPermit<K> {
    fn drop(&mut self) {
        let mut open = self.open.lock();
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
    fn a_key_spends_its_minute_all_or_nothing_and_no_other_key_with_it() {
        let rates = RateLimiter::new(6);
        assert_eq!(rates.spend("a", 4), Ok(()));
        let wait = rates.spend("a", 4).unwrap_err();
        assert!(
            wait > Duration::from_secs(19) && wait <= Duration::from_secs(20),
            "two of four are missing: {wait:?}"
        );
        assert_eq!(rates.spend("a", 2), Ok(()), "what was refused is not charged");
        assert!(rates.spend("a", 1).is_err());
        assert_eq!(rates.spend("b", 6), Ok(()), "another key");
        rates.forget_idle();
        assert!(rates.spend("a", 1).is_err(), "who has spent is not forgotten");
        assert_eq!(
            RateLimiter::new(0).spend("a", 1),
            Ok(()),
            "no rate is less than one"
        );
    }

    #[test]
    fn keys_that_are_back_to_normal_are_forgotten() {
        let rates = RateLimiter::new(60_000_000);
        rates.spend("a", 1).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        rates.forget_idle();
        assert!(rates.forgiven.read().is_empty());
    }

    #[test]
    fn a_network_spends_its_minute_and_asking_costs_nothing() {
        let networks = Networks(RateLimiter::new(3));
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
        let held = OwnerSemaphore::new(2);
        let both = [held.acquire(ip(1)).unwrap(), held.acquire(ip(1)).unwrap()];
        assert!(held.acquire(ip(1)).is_none() && held.acquire(ip(2)).is_some());
        drop(both);
        assert!(held.acquire(ip(1)).is_some());
        assert!(
            held.open.lock().is_empty(),
            "nobody is remembered who holds nothing"
        );
    }
}
