//! Logging in and out. Failures slow the next attempt down (`lockout`), and an unknown name takes as
//! long as a wrong password.

use super::lockout::Attempt;
use super::password::Lane;
use super::token::SESSION_PREFIX;
use super::{Rights, caller};
use crate::audit::{self, Happening, Origin};
use crate::{Service, setup};
use async_recursion::async_recursion as boxed;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use spexus_domain::account::{Caller, Scope, User};
use spexus_domain::{Code, Refusal, Ruled, Timestamp, hint, text};
use spexus_store::accounts::{self, Session};
use spexus_store::{Actor, Error};
use utoipa::ToSchema;

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

/// Opens a web session.
#[boxed]
pub async fn login(service: &Service, username: &str, password: &str, origin: &Origin) -> Ruled<LoggedIn> {
    let (user, attempt) = check_password(service, username, password, origin).await?;
    let secret = format!(
        "{SESSION_PREFIX}{}",
        URL_SAFE_NO_PAD.encode(setup::random_bytes()?)
    );
    let (hash, seconds) = (service.grants.hash(&secret), service.grants.session_seconds);
    let actor = Actor {
        user_id: user.id,
        username: user.username.clone(),
        token_id: None,
        client: origin.clean_client(),
    };
    let (from, (id, name)) = (origin.clone(), (user.id, user.username.clone()));
    let job = service.write_as(actor, move |tx| {
        Box::pin(async move {
            let session = Session {
                id: tx.new_id(),
                user_id: id,
                expires_at: tx.now().plus_seconds(seconds),
            };
            accounts::open_session(tx, &session, hash).await?;
            attempt.succeeded(tx, id).await?;
            audit::record_at_door(tx, Happening::Login, &name, &from).await?;
            Ok(session.expires_at)
        })
    });
    let expires_at = job.await?;
    audit::tell_at_door(Happening::Login, &user.username, origin);
    Ok(LoggedIn {
        expires_at,
        token: secret,
        user,
    })
}

/// Closes a web session.
#[boxed]
pub async fn logout(service: &Service, caller: &Caller, secret: &str, origin: &Origin) -> Ruled<()> {
    let hash = service.grants.hash(secret);
    let (owner, from) = (caller.clone(), origin.clone());
    let job = service.write_as(Actor::from(caller), move |tx| {
        Box::pin(async move {
            if !accounts::close_session(tx, hash).await? {
                return Err(Error::Refused(
                    Refusal::new(Code::RuleViolated, "this is not a web session")
                        .hint("Revoke a token instead."),
                ));
            }
            // An account event, so that no node remembers the session.
            super::user::record_sessions_closed(tx, owner.user_id, &owner.username).await?;
            audit::record_at_door(tx, Happening::Logout, &owner.username, &from).await
        })
    });
    job.await?;
    audit::tell_at_door(Happening::Logout, &caller.username, origin);
    Ok(())
}

/// A caller for commands on the machine that holds the database, where the file's own protection is the door.
#[boxed]
pub async fn local(service: &Service, username: Option<&str>, client: &str) -> Ruled<Caller> {
    let mut conn = service.store.read().await?;
    let wanted = username.unwrap_or(setup::ADMIN);
    let found = accounts::by_name(&mut conn, wanted).await?;
    let found = match found.map(|found| found.user) {
        Some(user) => Some((Rights::of(&mut conn, &user).await?, user)),
        None => None,
    };
    match found.filter(|(rights, _)| rights.is_usable) {
        Some((rights, user)) => Ok(caller(&user, &rights, client.to_owned())),
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

/// The caller of a local program that acts for a user with less than all of the user's rights, perhaps marked as an agent.
#[boxed]
pub async fn local_agent(
    service: &Service,
    username: Option<&str>,
    (scope, is_marked): (Scope, bool),
    client: &str,
) -> Ruled<Caller> {
    let caller = local(service, username, client).await?;
    Ok(Caller {
        scope,
        is_agent: caller.is_agent || is_marked,
        ..caller
    })
}

/// The user a name and password belong to, and the attempt that is to be told when something was made of it.
pub(crate) async fn check_password(
    service: &Service,
    username: &str,
    password: &str,
    origin: &Origin,
) -> Ruled<(User, Attempt)> {
    let attempt = Attempt::new(service, username, origin);
    let target = attempt.check(service).await?;
    let lane = match target.familiar {
        true => Lane::Familiar,
        false => Lane::Stranger,
    };
    let turn = service.passwords.turn(lane).await?;
    // Others may have failed while this one waited for its turn; a flood of guesses is slowed down like a trickle.
    let found = attempt.check(service).await?.found;
    //= specs/spexus-service.md#service-accounts
    //# A service account MUST NOT be logged in to.
    let found = found.filter(|found| found.user.owner_id.is_none());
    let known = found.as_ref().map(|found| found.password_hash.as_str());
    let fits = service.passwords.fits(&turn, password, known).await?;
    match found.filter(|found| fits && found.user.active) {
        Some(found) => Ok((found.user, attempt)),
        //= specs/spexus-service.md#logging-in
        //# An unknown name, a disabled account and a wrong password MUST be answered alike.
        None => {
            // Counted before the next one has its turn.
            attempt.failed(service).await?;
            drop(turn);
            Err(Refusal::new(
                Code::AuthInvalidCredentials,
                "the user name or the password is wrong",
            )
            .hint(hint::WRONG_PASSWORD))
        }
    }
}
