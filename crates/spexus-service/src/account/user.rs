//! Users: making, changing, disabling them. Nothing is erased: a disabled account keeps its name in the history.

use super::login::check_password;
use super::token;
use crate::audit::{self, Happening, Origin};
use crate::context::{check_rev, reading};
use crate::{Service, people};
use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spexus_domain::account::{Caller, NewUser, Role, User, UserPatch};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::page_key::PageKey;
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, Uuid, password, text};
use spexus_store::{Conn, Result, Tx, accounts, logins, tokens};
use utoipa::ToSchema;

/// What stands in place of the hash of a password that nobody has: no password has this hash.
const NO_PASSWORD: &str = "-";

/// What everyone may know of a user: enough to assign and to mention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Profile {
    /// The id.
    pub id: Uuid,
    /// The name.
    pub username: String,
    /// The role; not told to a token that is bound to a project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Whether the account can be used.
    pub active: bool,
    /// Whose service account it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl PageKey for Profile {
    fn page_key(&self) -> String {
        self.username.to_lowercase()
    }
}

/// The names of all users.
#[boxed]
pub async fn names(service: &Service, caller: &Caller) -> Ruled<Page<Profile>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let all = accounts::all(&mut conn).await?;
    //= specs/spexus-service.md#projects
    //# A token bound to a project MUST be told no more of other people than their names.
    let tells_role = caller.bound_project.is_none();
    let profile = |user: User| Profile {
        id: user.id,
        username: user.username,
        role: tells_role.then_some(user.role),
        active: user.active,
        owner: user.owner,
    };
    Ok(Page::whole(all.into_iter().map(profile).collect()))
}

/// A user with everything about the account: oneself, or for administrators anyone.
#[boxed]
pub async fn get(service: &Service, caller: &Caller, wanted: &str) -> Ruled<User> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let user = people::find(&mut conn, caller, "user", wanted).await?;
    if user.id != caller.user_id {
        caller.may(Operation::ManageUsers)?;
    }
    Ok(user)
}

/// Makes an account.
#[boxed]
pub async fn create(service: &Service, caller: &Caller, input: NewUser) -> Ruled<User> {
    caller.may(Operation::ManageUsers)?;
    let username = text::username("username", &input.username)?;
    let email = input
        .email
        .as_deref()
        .map(|email| text::email("email", email))
        .transpose()?;
    let role = Role::parse("role", &input.role)?;
    let password_hash = match &input.owner {
        None => {
            password::chosen("password", &input.password, &username)?;
            service.passwords.hash(&input.password).await?
        }
        Some(_) if input.password.is_empty() => NO_PASSWORD.to_owned(),
        Some(_) => {
            let problem = "a service account has none";
            return Err(Refusal::field(
                Code::InvalidParams,
                "password",
                problem,
                "nothing",
            ));
        }
    };
    let job = service.change_anywhere(caller, Operation::ManageUsers, move |tx, caller| {
        Box::pin(async move {
            refuse_taken(&mut tx.conn, None, Some(&username), email.as_deref()).await?;
            let owner = match &input.owner {
                Some(wanted) => Some(owner_of_service(&mut tx.conn, &caller, wanted, role).await?),
                None => None,
            };
            let (id, now) = (tx.new_id(), tx.now());
            let user = User {
                id,
                username,
                email,
                role,
                active: true,
                owner: owner.as_ref().map(|owner| owner.username.clone()),
                owner_id: owner.map(|owner| owner.id),
                rev: 1,
                created_at: now,
                updated_at: now,
            };
            accounts::insert(tx, &user, &password_hash).await?;
            record(tx, Action::Created, None, &user).await?;
            let role = user.role.name();
            audit::record(tx, Happening::AccountCreated, Some(id), &user.username, role).await?;
            Ok(user)
        })
    });
    job.await
}

/// Changes an account; role and access bite at once. Someone must remain who can administer.
#[boxed]
pub async fn update(service: &Service, caller: &Caller, wanted: &str, patch: UserPatch) -> Ruled<User> {
    let wanted = wanted.to_owned();
    let job = service.change_anywhere(caller, Operation::ManageUsers, move |tx, caller| {
        Box::pin(async move {
            let before = people::find(&mut tx.conn, &caller, "user", &wanted).await?;
            check_rev("this account", before.rev, patch.expect_rev)?;
            let mut user = before.clone();
            if let Some(username) = &patch.username {
                user.username = text::username("username", username)?;
            }
            if let Some(email) = &patch.email {
                user.email = Some(text::email("email", email)?);
            }
            if let Some(role) = &patch.role {
                user.role = Role::parse("role", role)?;
            }
            user.active = patch.active.unwrap_or(user.active);
            if user == before {
                return Ok(before);
            }
            refuse_taken(
                &mut tx.conn,
                Some(user.id),
                Some(&user.username),
                user.email.as_deref(),
            )
            .await?;
            user.rev += 1;
            user.updated_at = tx.now();
            accounts::update(tx, &user).await?;
            //= specs/spexus-service.md#accounts
            //# The last active administrator MUST keep the role and the account.
            if accounts::count_administrators(&mut tx.conn).await? == 0 {
                let message = format!("{} is the last active administrator", before.username);
                return Err(Refusal::new(Code::RuleViolated, message)
                    .hint("Make someone else an administrator first.")
                    .into());
            }
            //= specs/spexus-service.md#accounts
            //# An account that is disabled MUST lose its tokens and sessions with the same transaction.
            if before.active && !user.active {
                remove_keys(tx, &user).await?;
            }
            record(tx, Action::Updated, Some(&before), &user).await?;
            note_rights(tx, &before, &user).await?;
            Ok(user)
        })
    });
    job.await
}

/// Disables an account: its tokens and sessions go, its name stays in the history.
#[boxed]
pub async fn disable(service: &Service, caller: &Caller, wanted: &str) -> Ruled<User> {
    let patch = UserPatch {
        active: Some(false),
        ..UserPatch::default()
    };
    update(service, caller, wanted, patch).await
}

/// Changes one's own password; all sessions end, and the tokens too when that is wanted.
#[boxed]
pub async fn change_password(
    service: &Service,
    caller: &Caller,
    current: &str,
    new: &str,
    tokens: Tokens,
    origin: &Origin,
) -> Ruled<u64> {
    caller.may(Operation::OwnAccount)?;
    password::chosen("new_password", new, &caller.username)?;
    let (user, attempt) = check_password(service, &caller.username, current, origin).await?;
    let password_hash = service.passwords.hash(new).await?;
    let job = service.change_anywhere(caller, Operation::OwnAccount, move |tx, _| {
        Box::pin(async move {
            let kept = replace_password(tx, &user, &password_hash, tokens).await?;
            attempt.succeeded(tx, user.id).await?;
            audit::record(tx, Happening::PasswordChanged, Some(user.id), &user.username, "").await?;
            Ok(kept)
        })
    });
    job.await
}

/// Sets another person's password, as an administrator; all of that person's sessions end, and the tokens too when that
/// is wanted. Tells how many tokens go on working.
#[boxed]
pub async fn reset_password(
    service: &Service,
    caller: &Caller,
    wanted: &str,
    new: &str,
    tokens: Tokens,
) -> Ruled<u64> {
    caller.may(Operation::ManageUsers)?;
    let mut conn = service.store.read().await?;
    let user = people::find(&mut conn, caller, "user", wanted).await?;
    drop(conn);
    if user.owner_id.is_some() {
        let message = format!("{} is a service account, which has no password", user.username);
        return Err(Refusal::new(Code::RuleViolated, message).hint("Make a token for it."));
    }
    password::chosen("password", new, &user.username)?;
    let password_hash = service.passwords.hash(new).await?;
    let job = service.change_anywhere(caller, Operation::ManageUsers, move |tx, _| {
        Box::pin(async move {
            let kept = replace_password(tx, &user, &password_hash, tokens).await?;
            // Whoever came from these networks may be why the password is replaced.
            logins::forget_networks(tx, user.id).await?;
            audit::record(tx, Happening::PasswordReset, Some(user.id), &user.username, "").await?;
            Ok(kept)
        })
    });
    job.await
}

/// What becomes of the tokens of an account that gets a new password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokens {
    /// They go on: programs do not know the password, and need not be set up anew.
    #[default]
    Keep,
    /// They are revoked, because whoever knew the password may have made some.
    Revoke,
}

/// Replaces a password and ends what was opened with the old one; tells how many tokens go on working.
async fn replace_password(tx: &mut Tx, user: &User, password_hash: &str, wanted: Tokens) -> Result<u64> {
    accounts::set_password(tx, user.id, password_hash).await?;
    //= specs/spexus-service.md#accounts
    //# A new password MUST end all sessions of the account.
    accounts::close_sessions(tx, user.id).await?;
    //= specs/spexus-service.md#accounts
    //# A new password, a closed session and a revoked token MUST be told in the history and in the audit trail with the id and the name of what they happened to.
    let changed = Attributes::from_iter([("password".to_owned(), "changed".into())]);
    let change = NewChange::new(
        Entity::User,
        user.id,
        &user.username,
        Action::Updated,
        user.rev + 1,
    );
    tx.record(change.fields(None, changed)).await?;
    record_sessions_closed(tx, user.id, &user.username).await?;
    //= specs/spexus-service.md#accounts
    //# A new password MUST revoke the tokens of the account when that is asked for, and keep them otherwise.
    match wanted {
        Tokens::Revoke => revoke_tokens(tx, user.id).await.map(|()| 0),
        Tokens::Keep => Ok(tokens::of_user(&mut tx.conn, user.id).await?.len() as u64),
    }
}

/// Takes everything from an account that opens the door; it gets nothing of it back when it is enabled again.
async fn remove_keys(tx: &mut Tx, user: &User) -> Result<()> {
    accounts::close_sessions(tx, user.id).await?;
    logins::forget_networks(tx, user.id).await?;
    record_sessions_closed(tx, user.id, &user.username).await?;
    revoke_tokens(tx, user.id).await
}

async fn revoke_tokens(tx: &mut Tx, user_id: Uuid) -> Result<()> {
    for token in tokens::of_user(&mut tx.conn, user_id).await? {
        token::remove(tx, &token).await?;
    }
    Ok(())
}

/// Tells every node that sessions of an account ended; what they remember of it is void.
pub(crate) async fn record_sessions_closed(tx: &mut Tx, user_id: Uuid, username: &str) -> Result<()> {
    let rev = accounts::by_id(&mut tx.conn, user_id)
        .await?
        .map_or(1, |user| user.rev);
    let closed = Attributes::from_iter([("sessions".to_owned(), "closed".into())]);
    let change = NewChange::new(Entity::User, user_id, username, Action::Updated, rev);
    tx.record(change.fields(None, closed)).await?;
    audit::record(tx, Happening::SessionsClosed, Some(user_id), username, "").await
}

/// Notes what became of somebody's rights.
async fn note_rights(tx: &mut Tx, before: &User, after: &User) -> Result<()> {
    let (id, name) = (Some(after.id), &after.username);
    if before.role != after.role {
        let detail = format!("{} to {}", before.role.name(), after.role.name());
        audit::record(tx, Happening::RoleChanged, id, name, &detail).await?;
    }
    match (before.active, after.active) {
        (true, false) => audit::record(tx, Happening::AccountDisabled, id, name, "").await,
        (false, true) => audit::record(tx, Happening::AccountEnabled, id, name, "").await,
        _ => Ok(()),
    }
}

/// Who a service account is to belong to: an active person, who has at least the role it is to have.
async fn owner_of_service(conn: &mut Conn, caller: &Caller, wanted: &str, role: Role) -> Result<User> {
    let owner = people::find_active(conn, caller, "owner", wanted).await?;
    let refused = |problem: String, allowed: &str| {
        Err(Refusal::field(Code::RuleViolated, "owner", problem, allowed).into())
    };
    if owner.owner_id.is_some() {
        let problem = format!("{} is a service account itself", owner.username);
        return refused(problem, "a person");
    }
    if role > owner.role {
        let problem = format!("{} is only a {}", owner.username, owner.role.name());
        return refused(problem, "somebody with at least the role of the service account");
    }
    Ok(owner)
}

async fn refuse_taken(
    conn: &mut Conn,
    own: Option<Uuid>,
    username: Option<&str>,
    email: Option<&str>,
) -> Result<()> {
    for other in accounts::all(conn).await? {
        let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        if Some(other.id) == own {
            continue;
        }
        if username.is_some_and(|name| same(name, &other.username)) {
            let problem = format!("{:?} is taken", other.username);
            return Err(Refusal::field(Code::EntityDuplicate, "username", problem, "another name").into());
        }
        if let (Some(wanted), Some(taken)) = (email, &other.email)
            && same(wanted, taken)
        {
            return Err(Refusal::field(Code::EntityDuplicate, "email", "is taken", "another address").into());
        }
    }
    Ok(())
}

async fn record(tx: &mut Tx, action: Action, before: Option<&User>, after: &User) -> Result<()> {
    let fields = |user: &User| {
        Attributes::from_iter([
            ("username".to_owned(), user.username.clone().into()),
            ("email".to_owned(), user.email.clone().into()),
            ("role".to_owned(), user.role.name().into()),
            ("active".to_owned(), user.active.into()),
            ("owner".to_owned(), user.owner.clone().into()),
        ])
    };
    let change = NewChange::new(Entity::User, after.id, &after.username, action, after.rev)
        .fields(before.map(fields), fields(after));
    tx.record(change).await.map(drop)
}
