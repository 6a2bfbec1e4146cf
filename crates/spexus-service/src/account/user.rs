//! Users: making, changing, disabling them. Nothing is erased: a disabled account keeps its name in the history.

use super::login::{SESSIONS, check_password};
use crate::audit::Origin;
use crate::context::{check_rev, reading};
use crate::{Service, people, told};
use serde::Serialize;
use spexus_domain::account::{Caller, NewUser, Role, User, UserPatch};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, Uuid, text};
use spexus_store::{Actor, Conn, Result, Tx, accounts, tokens};
use utoipa::ToSchema;

/// What everyone may know of a user: enough to assign and to mention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Profile {
    /// The id.
    pub id: Uuid,
    /// The name.
    pub username: String,
    /// The role.
    pub role: Role,
    /// Whether the account can be used.
    pub active: bool,
}

/// The names of all users.
pub async fn names(service: &Service, caller: &Caller) -> Ruled<Page<Profile>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let all = accounts::all(&mut conn).await.map_err(told)?;
    let profile = |user: User| Profile {
        id: user.id,
        username: user.username,
        role: user.role,
        active: user.active,
    };
    Ok(Page::whole(all.into_iter().map(profile).collect()))
}

/// A user with everything about the account: oneself, or for administrators anyone.
pub async fn get(service: &Service, caller: &Caller, wanted: &str) -> Ruled<User> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let user = people::find(&mut conn, caller, "user", wanted)
        .await
        .map_err(told)?;
    if user.id != caller.user_id {
        caller.may(Operation::ManageUsers)?;
    }
    Ok(user)
}

/// Makes an account.
pub async fn create(service: &Service, caller: &Caller, input: NewUser) -> Ruled<User> {
    caller.may(Operation::ManageUsers)?;
    let username = text::username("username", &input.username)?;
    let email = input
        .email
        .as_deref()
        .map(|email| text::email("email", email))
        .transpose()?;
    text::password("password", &input.password)?;
    let role = Role::parse("role", &input.role)?;
    let password_hash = service.passwords.hash(&input.password).await?;
    let job = service.store.write(Actor::from(caller), move |tx| {
        Box::pin(async move {
            refuse_taken(&mut tx.conn, None, Some(&username), email.as_deref()).await?;
            let (id, now) = (tx.new_id(), tx.now());
            let user = User {
                id,
                username,
                email,
                role,
                active: true,
                rev: 1,
                created_at: now,
                updated_at: now,
            };
            accounts::insert(tx, &user, &password_hash).await?;
            record(tx, Action::Created, None, &user).await?;
            Ok(user)
        })
    });
    job.await.map_err(told)
}

/// Changes an account; role and access bite at once. Someone must remain who can administer.
pub async fn update(service: &Service, caller: &Caller, wanted: &str, patch: UserPatch) -> Ruled<User> {
    caller.may(Operation::ManageUsers)?;
    let (caller, wanted) = (caller.clone(), wanted.to_owned());
    let job = service.store.write(Actor::from(&caller), move |tx| {
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
                remove_keys(tx, user.id).await?;
            }
            record(tx, Action::Updated, Some(&before), &user).await?;
            Ok(user)
        })
    });
    job.await.map_err(told)
}

/// Disables an account: its tokens and sessions go, its name stays in the history.
pub async fn disable(service: &Service, caller: &Caller, wanted: &str) -> Ruled<User> {
    let patch = UserPatch {
        active: Some(false),
        ..UserPatch::default()
    };
    update(service, caller, wanted, patch).await
}

/// Changes one's own password; all sessions end.
pub async fn change_password(
    service: &Service,
    caller: &Caller,
    current: &str,
    new: &str,
    origin: &Origin,
) -> Ruled<()> {
    caller.may(Operation::OwnAccount)?;
    text::password("new_password", new)?;
    let user = check_password(service, &caller.username, current, origin).await?;
    replace_password(service, caller, user.id, new).await
}

/// Sets another person's password, as an administrator; all of that person's sessions end.
pub async fn reset_password(service: &Service, caller: &Caller, wanted: &str, new: &str) -> Ruled<()> {
    caller.may(Operation::ManageUsers)?;
    text::password("password", new)?;
    let mut conn = service.store.read().await.map_err(told)?;
    let user = people::find(&mut conn, caller, "user", wanted)
        .await
        .map_err(told)?;
    drop(conn);
    replace_password(service, caller, user.id, new).await
}

async fn replace_password(service: &Service, caller: &Caller, user_id: Uuid, new: &str) -> Ruled<()> {
    let password_hash = service.passwords.hash(new).await?;
    let job = service.store.write(Actor::from(caller), move |tx| {
        Box::pin(async move {
            accounts::set_password(tx, user_id, &password_hash).await?;
            //= specs/spexus-service.md#accounts
            //# A new password MUST end all sessions of the account.
            accounts::close_sessions(tx, user_id).await?;
            note_sessions_closed(tx).await
        })
    });
    job.await.map_err(told)
}

/// Takes everything from an account that opens the door; it gets nothing of it back when it is enabled again.
async fn remove_keys(tx: &mut Tx, user_id: Uuid) -> Result<()> {
    accounts::close_sessions(tx, user_id).await?;
    for token in tokens::of_user(&mut tx.conn, user_id).await? {
        tokens::remove(tx, token.id).await?;
    }
    Ok(())
}

/// Tells every node that sessions ended; what they remember of accounts is void.
pub(crate) async fn note_sessions_closed(tx: &mut Tx) -> Result<()> {
    tx.record(NewChange::new(
        Entity::User,
        SESSIONS,
        "sessions closed",
        Action::Updated,
        1,
    ))
    .await
    .map(drop)
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
        ])
    };
    let change = NewChange::new(Entity::User, after.id, &after.username, action, after.rev)
        .fields(before.map(fields), fields(after));
    tx.record(change).await.map(drop)
}
