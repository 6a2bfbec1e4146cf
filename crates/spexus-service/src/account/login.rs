//! Logging in and out. Failures slow the next attempt down, and an unknown name takes as long as a wrong password.

use super::caller;
use super::token::SESSION_PREFIX;
use crate::audit::{Happening, Origin};
use crate::{Service, setup, told};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moka::sync::Cache;
use serde::Serialize;
use spexus_domain::account::{Caller, User};
use spexus_domain::{Code, Refusal, Ruled, Timestamp, Uuid, text};
use spexus_store::accounts::{self, Session};
use spexus_store::{Actor, Error};
use std::time::Duration;
use utoipa::ToSchema;

/// Failures that cost nothing.
const FREE_FAILURES: u32 = 5;
/// The longest one has to wait.
const MAX_WAIT_SECONDS: i64 = 900;

/// An open web session.
#[derive(Clone, Serialize, ToSchema)]
pub struct LoggedIn {
    /// The secret of the session; send it as `Authorization: Bearer …`.
    pub token: String,
    /// When it ends.
    pub expires_at: Timestamp,
    /// Who it is.
    pub user: User,
}

/// Recent failures by name and address. Bounded and forgetful: an attacker can neither fill the memory nor lock
/// someone out from another address.
pub(crate) struct Lockouts(Cache<(String, String), Failures>);

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Timestamp,
}

impl Failures {
    fn wait_seconds(self, now: Timestamp) -> i64 {
        let over = self.count.saturating_sub(FREE_FAILURES);
        if over == 0 {
            return 0;
        }
        let wait = 2_i64.saturating_pow(over).min(MAX_WAIT_SECONDS);
        let passed = now.0.saturating_sub(self.last.0).max(0) / 1_000_000;
        (wait - passed).max(0)
    }
}

impl Default for Lockouts {
    fn default() -> Self {
        Self(
            Cache::builder()
                .max_capacity(10_000)
                .time_to_idle(Duration::from_secs(MAX_WAIT_SECONDS.unsigned_abs()))
                .build(),
        )
    }
}

impl Lockouts {
    //= specs/spexus-service.md#logging-in
    //# After five failed logins of a name from an address, each further one MUST double the wait, up to 15 minutes.
    /// Refuses a name that has to wait at this address.
    fn check(&self, key: &(String, String), now: Timestamp) -> Ruled<()> {
        let Some(failures) = self.0.get(key) else {
            return Ok(());
        };
        let wait = failures.wait_seconds(now);
        if wait == 0 {
            return Ok(());
        }
        if failures.last > now {
            //= specs/spexus-service.md#logging-in
            //# A clock that is set back MUST NOT make anyone wait longer.
            // The clock was set back: the wait begins anew, so that nobody waits until the old time is reached.
            let again = Failures {
                last: now,
                ..failures
            };
            self.0.insert(key.clone(), again);
        }
        let message = format!("too many failed logins; wait {wait} seconds");
        Err(Refusal::new(Code::RateLimitExceeded, message).fact("retry_after_seconds", wait))
    }

    fn failed(&self, key: (String, String), now: Timestamp) {
        let count = self
            .0
            .get(&key)
            .map_or(0, |failures| failures.count)
            .saturating_add(1);
        self.0.insert(key, Failures { count, last: now });
    }
}

/// Opens a web session.
pub async fn login(service: &Service, username: &str, password: &str, origin: &Origin) -> Ruled<LoggedIn> {
    let user = check_password(service, username, password, origin).await?;
    let secret = format!(
        "{SESSION_PREFIX}{}",
        URL_SAFE_NO_PAD.encode(setup::random_bytes()?)
    );
    let (hash, seconds, user_id) = (
        service.grants.hash(&secret),
        service.grants.session_seconds,
        user.id,
    );
    let actor = Actor::from(&caller(&user, origin.clean_client()));
    let job = service.store.write(actor, move |tx| {
        Box::pin(async move {
            let session = Session {
                id: tx.new_id(),
                user_id,
                expires_at: tx.now().plus_seconds(seconds),
            };
            accounts::open_session(tx, &session, hash).await?;
            Ok(session.expires_at)
        })
    });
    let expires_at = job.await.map_err(told)?;
    service
        .audit
        .note(Happening::Login, &user.username, None, origin, "");
    Ok(LoggedIn {
        token: secret,
        expires_at,
        user,
    })
}

/// Closes a web session.
pub async fn logout(service: &Service, caller: &Caller, secret: &str, origin: &Origin) -> Ruled<()> {
    let hash = service.grants.hash(secret);
    let job = service.store.write(Actor::from(caller), move |tx| {
        Box::pin(async move {
            if accounts::close_session(tx, hash).await? {
                // An account event, so that no node remembers the session.
                super::user::note_sessions_closed(tx).await?;
                return Ok(());
            }
            Err(Error::Refused(
                Refusal::new(Code::RuleViolated, "this is not a web session").hint("Revoke a token instead."),
            ))
        })
    });
    job.await.map_err(told)?;
    service
        .audit
        .note(Happening::Logout, &caller.username, None, origin, "");
    Ok(())
}

/// A caller for commands on the machine that holds the database, where the file's own protection is the door.
pub async fn local(service: &Service, username: Option<&str>, client: &str) -> Ruled<Caller> {
    let mut conn = service.store.read().await.map_err(told)?;
    let wanted = username.unwrap_or(setup::ADMIN);
    let found = accounts::by_name(&mut conn, wanted)
        .await
        .map_err(told)?
        .map(|found| found.user);
    match found.filter(|user| user.active) {
        Some(user) => Ok(caller(&user, client.to_owned())),
        None => {
            let problem = format!("there is no active user {:?}", text::excerpt(wanted, 60));
            Err(Refusal::field(
                Code::ResourceNotFound,
                "user",
                problem,
                "the name of a user",
            ))
        }
    }
}

/// The user a name and password belong to.
pub(crate) async fn check_password(
    service: &Service,
    username: &str,
    password: &str,
    origin: &Origin,
) -> Ruled<User> {
    let key = (
        text::excerpt(&username.to_lowercase(), 100),
        origin.address.clone(),
    );
    service.lockouts.check(&key, service.store.now())?;
    let turn = service.passwords.turn().await?;
    // Others may have failed while this one waited for its turn; a flood of guesses is slowed down like a trickle.
    service.lockouts.check(&key, service.store.now())?;
    let mut conn = service.store.read().await.map_err(told)?;
    let found = accounts::by_name(&mut conn, username).await.map_err(told)?;
    drop(conn);
    let known = found.as_ref().map(|found| found.password_hash.as_str());
    let fits = service.passwords.fits(&turn, password, known).await?;
    match found.filter(|found| fits && found.user.active) {
        Some(found) => {
            service.lockouts.0.invalidate(&key);
            Ok(found.user)
        }
        //= specs/spexus-service.md#logging-in
        //# An unknown name, a disabled account and a wrong password MUST be answered alike.
        None => {
            service.lockouts.failed(key, service.store.now());
            service
                .audit
                .note(Happening::LoginFailed, username, None, origin, "");
            Err(Refusal::new(
                Code::AuthInvalidCredentials,
                "the user name or the password is wrong",
            ))
        }
    }
}

/// The id sessions are noted under when one is closed.
pub(crate) const SESSIONS: Uuid = Uuid::nil();
