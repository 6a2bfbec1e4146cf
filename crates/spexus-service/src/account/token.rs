//! Personal access tokens and sessions as keys to the door: one keyed hash, one indexed look-up, and a memory of recent
//! answers that is void the moment an account, token or project changes.

use super::caller;
use crate::audit::{Happening, Origin};
use crate::context::{project_of, reading};
use crate::{Service, people, setup, told};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moka::sync::Cache;
use serde::Serialize;
use spexus_domain::account::{Caller, NewToken, Scope, TOKEN_PREFIX, Token, User, expiry};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, Timestamp, Uuid, text};
use spexus_store::{Actor, Result, Tx, accounts, tokens};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use utoipa::ToSchema;

/// What the secret of a web session begins with.
pub const SESSION_PREFIX: &str = "spexus_session_";
/// Answers remembered at most.
const MAX_REMEMBERED: u64 = 10_000;
/// How fine the last use of a token is noted.
const USE_NOTED_EVERY_MICROS: i64 = 60_000_000;

/// A new token with its secret, which is shown this once.
#[derive(Clone, Serialize, ToSchema)]
pub struct CreatedToken {
    /// The secret; send it as `Authorization: Bearer …`.
    pub token: String,
    /// Everything else about it.
    #[serde(flatten)]
    pub info: Token,
}

/// Who holds which key.
pub(crate) struct Grants {
    key: [u8; 32],
    pub(crate) session_seconds: i64,
    remembered: Cache<[u8; 32], Arc<Grant>>,
    uses: Mutex<HashMap<Uuid, Use>>,
}

/// A key that was looked up, and when it is to be looked up again.
struct Grant {
    generation: u64,
    user: User,
    scope: Scope,
    token_id: Option<Uuid>,
    project_id: Option<Uuid>,
    expires_at: Option<Timestamp>,
}

/// The last use of a token that is not written yet.
struct Use {
    at: Timestamp,
    noted_at: Timestamp,
}

impl Grants {
    pub(crate) fn new(key: [u8; 32], session_seconds: i64) -> Self {
        Self {
            key,
            session_seconds,
            remembered: Cache::new(MAX_REMEMBERED),
            uses: Mutex::default(),
        }
    }

    /// A key for another purpose, from which this one cannot be found.
    pub(crate) fn key_for(&self, purpose: &str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.key)
    }

    /// The hash a secret is known by.
    pub(crate) fn hash(&self, secret: &str) -> [u8; 32] {
        *blake3::keyed_hash(&self.key, secret.as_bytes()).as_bytes()
    }
}

/// Who a secret belongs to, with the rights as they are now. Tokens and web sessions are told apart by their prefix.
pub async fn authenticate(service: &Service, secret: &str, origin: &Origin) -> Ruled<Caller> {
    match check(service, secret).await {
        Ok(grant) => {
            if let Some(token_id) = grant.token_id {
                note_use(service, token_id, &grant.user.username, origin);
            }
            let caller = caller(&grant.user, origin.clean_client());
            Ok(Caller {
                scope: grant.scope,
                token_id: grant.token_id,
                bound_project: grant.project_id,
                ..caller
            })
        }
        Err(refusal) => {
            if refusal.code.http_status() == 401 {
                service
                    .audit
                    .note(Happening::TokenRefused, "", None, origin, refusal.code.name());
            }
            Err(refusal)
        }
    }
}

async fn check(service: &Service, secret: &str) -> Ruled<Arc<Grant>> {
    let known_form =
        secret.len() < 200 && (secret.starts_with(TOKEN_PREFIX) || secret.starts_with(SESSION_PREFIX));
    if !known_form {
        return Err(Refusal::new(Code::AuthFailed, "the token is not one of ours"));
    }
    let hash = service.grants.hash(secret);
    //= specs/spexus-http.md#permissions
    //# A change of role, a disabled account, a revoked token and a changed password MUST bite on the next request.
    let generation = service.store.accounts_generation();
    let remembered = service
        .grants
        .remembered
        .get(&hash)
        .filter(|grant| grant.generation == generation);
    let grant = match remembered {
        Some(grant) => grant,
        None => {
            let grant = Arc::new(look_up(service, secret, hash, generation).await?);
            service.grants.remembered.insert(hash, grant.clone());
            grant
        }
    };
    if !grant.user.active {
        return Err(Refusal::new(Code::AuthFailed, "the account is disabled").hint("Ask an administrator."));
    }
    if grant.expires_at.is_some_and(|at| at <= service.store.now()) {
        return Err(Refusal::new(Code::AuthExpired, "the token has expired"));
    }
    Ok(grant)
}

async fn look_up(service: &Service, secret: &str, hash: [u8; 32], generation: u64) -> Ruled<Grant> {
    let mut conn = service.store.read().await.map_err(told)?;
    if secret.starts_with(SESSION_PREFIX) {
        let found = accounts::session_by_hash(&mut conn, hash).await.map_err(told)?;
        let (session, user) =
            found.ok_or_else(|| Refusal::new(Code::AuthFailed, "the session is not known or was closed"))?;
        let expires_at = Some(session.expires_at);
        return Ok(Grant {
            generation,
            user,
            scope: Scope::Admin,
            token_id: None,
            project_id: None,
            expires_at,
        });
    }
    //= specs/spexus-service.md#tokens
    //# A token MUST be found by one indexed look-up of its hash, however many there are.
    let found = tokens::grant_by_hash(&mut conn, hash).await.map_err(told)?;
    let found =
        found.ok_or_else(|| Refusal::new(Code::AuthFailed, "the token is not known or was revoked"))?;
    Ok(Grant {
        generation,
        user: found.user,
        scope: found.scopes.into_iter().max().unwrap_or(Scope::Read),
        token_id: Some(found.token_id),
        project_id: found.project_id,
        expires_at: found.expires_at,
    })
}

/// Remembers the last use of a token; it is written with the others, not with the request.
fn note_use(service: &Service, token_id: Uuid, username: &str, origin: &Origin) {
    let now = service.store.now();
    let mut uses = service.grants.uses.lock().unwrap_or_else(PoisonError::into_inner);
    let entry = uses.entry(token_id).or_insert(Use {
        at: now,
        noted_at: Timestamp(i64::MIN),
    });
    entry.at = now;
    let due = now.0.saturating_sub(entry.noted_at.0) >= USE_NOTED_EVERY_MICROS;
    if due {
        entry.noted_at = now;
        service
            .audit
            .note(Happening::TokenUsed, username, Some(token_id), origin, "");
    }
}

/// Writes the last uses of tokens.
pub(crate) async fn note_uses(service: &Service) {
    let uses: Vec<(Uuid, Timestamp)> = {
        let mut uses = service.grants.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let all = uses.iter().map(|(id, used)| (*id, used.at)).collect();
        let now = service.store.now();
        uses.retain(|_, used| now.0.saturating_sub(used.at.0) < USE_NOTED_EVERY_MICROS);
        all
    };
    if uses.is_empty() {
        return;
    }
    let actor = Actor {
        user_id: Uuid::nil(),
        username: "system".into(),
        token_id: None,
        client: String::new(),
    };
    let written = service.store.write(actor, move |tx| {
        Box::pin(async move { tokens::note_use(tx, &uses).await })
    });
    if let Err(error) = written.await {
        tracing::warn!(%error, "last uses of tokens could not be written");
    }
}

/// The tokens of a user: one's own, or for administrators anyone's.
pub async fn list(service: &Service, caller: &Caller, user: Option<&str>) -> Ruled<Page<Token>> {
    let mut conn = reading(service, caller, Operation::OwnAccount).await?;
    let owner = owner(&mut conn, caller, user).await.map_err(told)?;
    Ok(Page::whole(
        tokens::of_user(&mut conn, owner.id).await.map_err(told)?,
    ))
}

/// Makes a token for oneself, or as an administrator for someone else. A token never makes one with more rights.
pub async fn create(
    service: &Service,
    caller: &Caller,
    user: Option<&str>,
    input: NewToken,
) -> Ruled<CreatedToken> {
    caller.may(Operation::OwnAccount)?;
    let secret = format!("{TOKEN_PREFIX}{}", URL_SAFE_NO_PAD.encode(setup::random_bytes()?));
    //= specs/spexus-service.md#tokens
    //# The secret of a token MUST be shown once, when it is made, and kept nowhere but as a keyed hash.
    let hash = service.grants.hash(&secret);
    let (caller, user) = (caller.clone(), user.map(str::to_owned));
    let job = service.store.write(Actor::from(&caller), move |tx| {
        Box::pin(async move {
            let owner = owner(&mut tx.conn, &caller, user.as_deref()).await?;
            let name = text::name("name", &input.name)?;
            let mut scopes = input
                .scopes
                .iter()
                .map(|scope| Scope::parse("scopes", scope))
                .collect::<Ruled<Vec<_>>>()?;
            if scopes.is_empty() {
                scopes.push(Scope::Admin);
            }
            scopes.sort_unstable();
            scopes.dedup();
            //= specs/spexus-service.md#tokens
            //# A token made with a token that is bound to a project MUST be bound to the same project.
            let wanted = input.project.as_deref();
            let project = match wanted.is_some() || caller.bound_project.is_some() {
                true => Some(project_of(&mut tx.conn, &caller, wanted).await?),
                false => None,
            };
            let now = tx.now();
            let expires_at = input
                .expires
                .as_deref()
                .map(|text| expiry("expires", text, now))
                .transpose()?;
            if tokens::has_name(&mut tx.conn, owner.id, &name).await? {
                let problem = format!("{} has a token {name:?} already", owner.username);
                return Err(Refusal::field(Code::EntityDuplicate, "name", problem, "another name").into());
            }
            let info = Token {
                id: tx.new_id(),
                user: owner.username.clone(),
                name,
                scopes,
                project: project.as_ref().map(|project| project.key.clone()),
                expires_at,
                last_used_at: None,
                created_at: now,
            };
            tokens::insert(tx, &info, owner.id, project.map(|project| project.id), hash).await?;
            record(tx, Action::Created, &info).await?;
            Ok(info)
        })
    });
    Ok(CreatedToken {
        token: secret,
        info: job.await.map_err(told)?,
    })
}

/// Revokes a token; it opens nothing from now on.
pub async fn revoke(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Token> {
    caller.may(Operation::OwnAccount)?;
    let caller = caller.clone();
    let job = service.store.write(Actor::from(&caller), move |tx| {
        Box::pin(async move {
            let missing = || Refusal::new(Code::ResourceNotFound, format!("there is no token {id}"));
            let (token, owner) = tokens::by_id(&mut tx.conn, id).await?.ok_or_else(missing)?;
            if owner != caller.user_id {
                // Other people's tokens do not exist for those who may not manage them.
                caller.may(Operation::ManageUsers).map_err(|_| missing())?;
            }
            tokens::remove(tx, id).await?;
            record(tx, Action::Deleted, &token).await?;
            Ok(token)
        })
    });
    job.await.map_err(told)
}

async fn owner(conn: &mut spexus_store::Conn, caller: &Caller, wanted: Option<&str>) -> Result<User> {
    let user = people::find(conn, caller, "user", wanted.unwrap_or("me")).await?;
    if user.id != caller.user_id {
        caller.may(Operation::ManageUsers)?;
    }
    Ok(user)
}

async fn record(tx: &mut Tx, action: Action, token: &Token) -> Result<()> {
    let fields = Attributes::from_iter([
        ("user".to_owned(), token.user.clone().into()),
        (
            "scopes".to_owned(),
            serde_json::to_value(&token.scopes).unwrap_or_default(),
        ),
        (
            "expires_at".to_owned(),
            serde_json::to_value(token.expires_at).unwrap_or_default(),
        ),
    ]);
    let before = (action == Action::Deleted).then(|| fields.clone());
    let label = format!("token {} of {}", token.name, token.user);
    tx.record(NewChange::new(Entity::Token, token.id, label, action, 1).fields(before, fields))
        .await
        .map(drop)
}
