//! Failed logins slow the next attempt down. Three counters, kept in the database, so that all nodes count alike and a
//! restart forgives nobody:
//!
//! - a **name from one network** waits longer and longer, up to a quarter of an hour: somebody guesses a password;
//! - a **network**, whatever the names: somebody tries one password on many names;
//! - a **name from anywhere**: many networks guess together. This one only slows down, by half a minute at most, because
//!   whoever knows a name could otherwise lock its owner out.
//!
//! A network from which the account was logged in to lately is spared by the last two: what strangers do is not held
//! against it.

use crate::Service;
use crate::audit::{self, Happening, Origin};
use spexus_domain::{Code, Refusal, Ruled, Timestamp, Uuid, text};
use spexus_store::accounts::{self, Credentials};
use spexus_store::logins::{self, Failures};
use spexus_store::{Actor, Conn, Result, Tx};

/// How long a network stays familiar after the last login.
const FAMILIAR_SECONDS: i64 = 30 * 86_400;
/// How long failures count after the last one.
const FORGET_SECONDS: i64 = 3_600;

/// How failures of one kind slow the next attempt down.
struct Rule {
    /// Failures that cost nothing.
    free: i64,
    /// The longest wait; each failure beyond the free ones doubles it.
    max_wait_seconds: i64,
}

const OF_PAIR: Rule = Rule {
    free: 5,
    max_wait_seconds: 900,
};
const OF_NETWORK: Rule = Rule {
    free: 30,
    max_wait_seconds: 900,
};
const OF_NAME: Rule = Rule {
    free: 20,
    max_wait_seconds: 30,
};

impl Rule {
    fn wait_seconds(&self, failures: Failures, now: Timestamp) -> i64 {
        let over = failures.count.saturating_sub(self.free);
        if over <= 0 {
            return 0;
        }
        let doubled = 2_i64.saturating_pow(u32::try_from(over).unwrap_or(u32::MAX));
        //= specs/spexus-service.md#logging-in
        //# A clock that is set back MUST NOT make anyone wait longer.
        let passed = now.0.saturating_sub(failures.last_at.0).max(0) / 1_000_000;
        (doubled.min(self.max_wait_seconds) - passed).max(0)
    }
}

/// An attempt to log in: what it is counted by.
pub(crate) struct Attempt {
    name: String,
    network: String,
    pair: [u8; 32],
    of_network: [u8; 32],
    of_name: [u8; 32],
    origin: Origin,
}

/// The account an attempt is about, and whether it comes from where its owner always comes from.
pub(crate) struct Target {
    pub(crate) found: Option<Credentials>,
    pub(crate) familiar: bool,
}

impl Attempt {
    pub(crate) fn new(service: &Service, username: &str, origin: &Origin) -> Self {
        let folded = text::excerpt(&username.to_lowercase(), 100);
        let network = origin.network();
        // What somebody typed as a name may be a password; only its hash is kept.
        let key = service.key_for("spexus failed logins v1");
        let keyed = |kind: &str, name: &str, network: &str| {
            let text = format!("{kind}\0{name}\0{network}");
            *blake3::keyed_hash(&key, text.as_bytes()).as_bytes()
        };
        Self {
            pair: keyed("pair", &folded, &network),
            of_network: keyed("network", "", &network),
            of_name: keyed("name", &folded, ""),
            name: username.to_owned(),
            network,
            origin: origin.clone(),
        }
    }

    /// Refuses an attempt that has to wait; tells whom it is about.
    pub(crate) async fn check(&self, service: &Service) -> Ruled<Target> {
        let mut conn = service.store.look_up().await?;
        let now = service.store.now();
        let target = self.target(&mut conn, now).await?;
        let waits = self.waits(&mut conn, target.familiar).await?;
        drop(conn);
        let longest = waits
            .iter()
            .map(|(rule, _, failures)| rule.wait_seconds(*failures, now));
        let wait = longest.max().unwrap_or(0);
        if wait == 0 {
            return Ok(target);
        }
        if waits.iter().any(|(_, _, failures)| failures.last_at > now) {
            // The clock was set back: the wait begins anew, so that nobody waits until the old time is reached.
            let keys: Vec<[u8; 32]> = waits.iter().map(|(_, key, _)| *key).collect();
            self.restart(service, keys, now).await?;
        }
        let message = format!("too many failed logins; wait {wait} seconds");
        Err(Refusal::new(Code::RateLimitExceeded, message).fact("retry_after_seconds", wait))
    }

    async fn target(&self, conn: &mut Conn, now: Timestamp) -> Result<Target> {
        let found = accounts::by_name(conn, &self.name).await?;
        let since = now.plus_seconds(-FAMILIAR_SECONDS);
        let familiar = match &found {
            Some(found) => logins::is_familiar(conn, found.user.id, &self.network, since).await?,
            None => false,
        };
        Ok(Target { found, familiar })
    }

    //= specs/spexus-service.md#logging-in
    //# After five failed logins of a name from a network, each further one MUST double the wait, up to 15 minutes.
    //= specs/spexus-service.md#logging-in
    //# Failed logins of a name from anywhere MUST slow the name down by at most 30 seconds, and MUST NOT slow down a network from which it was logged in to in the last 30 days.
    //= specs/spexus-service.md#logging-in
    //# Failed logins from a network MUST slow down all names from it that were not logged in to from there in the last 30 days.
    async fn waits(&self, conn: &mut Conn, familiar: bool) -> Result<Vec<(Rule, [u8; 32], Failures)>> {
        let mut counted = vec![(OF_PAIR, self.pair)];
        if !familiar {
            counted.extend([(OF_NETWORK, self.of_network), (OF_NAME, self.of_name)]);
        }
        let mut waits = Vec::with_capacity(counted.len());
        for (rule, key) in counted {
            waits.push((rule, key, logins::failures(conn, key).await?));
        }
        Ok(waits)
    }

    async fn restart(&self, service: &Service, keys: Vec<[u8; 32]>, now: Timestamp) -> Result<()> {
        let job = service.write_as(self.actor(), move |tx| {
            Box::pin(async move {
                for key in keys {
                    logins::restart(tx, key, now).await?;
                }
                Ok(())
            })
        });
        job.await
    }

    /// Counts a failure and notes it, in one transaction.
    //= specs/spexus-service.md#logging-in
    //# Failed logins MUST be counted by all nodes together, and a restart MUST NOT forget them.
    pub(crate) async fn failed(&self, service: &Service) -> Ruled<()> {
        let (pair, of_network, of_name) = (self.pair, self.of_network, self.of_name);
        let (name, origin, now) = (self.name.clone(), self.origin.clone(), service.store.now());
        let job = service.write_as(self.actor(), move |tx| {
            Box::pin(async move {
                logins::forget_before(tx, now.plus_seconds(-FORGET_SECONDS)).await?;
                for key in [pair, of_network, of_name] {
                    logins::fail(tx, key, now).await?;
                }
                audit::record_at_door(tx, Happening::LoginFailed, &name, &origin).await
            })
        });
        job.await?;
        audit::tell_at_door(Happening::LoginFailed, &self.name, &self.origin);
        Ok(())
    }

    /// Forgets the failures of the name here, and remembers the network, with the transaction the password was good for.
    pub(crate) async fn succeeded(&self, tx: &mut Tx, user_id: Uuid) -> Result<()> {
        logins::forget(tx, self.pair).await?;
        logins::remember(tx, user_id, &self.network).await
    }

    fn actor(&self) -> Actor {
        Actor {
            user_id: Uuid::nil(),
            username: "system".into(),
            token_id: None,
            client: self.origin.clean_client(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_limit_and_pass() {
        let at = |count| Failures {
            count,
            last_at: Timestamp(0),
        };
        let waits: Vec<i64> = [0, 5, 6, 7, 14, 15, i64::MAX]
            .map(|count| OF_PAIR.wait_seconds(at(count), Timestamp(0)))
            .into();
        assert_eq!(waits, [0, 0, 2, 4, 512, 900, 900]);
        assert_eq!(OF_NAME.wait_seconds(at(1_000_000), Timestamp(0)), 30);
        assert_eq!(OF_PAIR.wait_seconds(at(7), Timestamp(3_000_000)), 1);
        assert_eq!(OF_PAIR.wait_seconds(at(7), Timestamp(9_000_000)), 0);
        assert_eq!(
            OF_PAIR.wait_seconds(at(7), Timestamp(-9_000_000)),
            4,
            "the clock was set back"
        );
    }
}
