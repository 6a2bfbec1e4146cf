//! Personal access tokens and sessions as keys to the door: one keyed hash, one indexed look-up, and a memory of recent
//! answers that is void the moment an account, token or project changes.

use super::{Rights, caller};
use crate::audit::{self, Happening, Origin};
use crate::context::{project_of, reading};
use crate::{Service, people, setup};
use async_recursion::async_recursion as boxed;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moka::sync::Cache;
use parking_lot::Mutex;
use serde::Serialize;
use spexus_domain::account::{Caller, NewToken, Scope, TOKEN_PREFIX, Token, User, expiry};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, Timestamp, Uuid, hint, text};
use spexus_store::{Actor, Result, Tx, accounts, tokens};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// What the secret of a web session begins with.
pub const SESSION_PREFIX: &str = "spexus_session_";
/// Answers remembered at most.
const MAX_REMEMBERED: u64 = 10_000;
/// How long a token works when nobody says.
const DEFAULT_SECONDS: i64 = 90 * 86_400;
/// What to ask for when a token is to work until it is revoked.
const NEVER: &str = "never";
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
    max_tokens_per_user: usize,
    remembered: Cache<[u8; 32], Arc<Grant>>,
    uses: Mutex<HashMap<Uuid, Use>>,
}

/// A key that was looked up, and when it is to be looked up again.
struct Grant {
    generation: u64,
    user: User,
    rights: Rights,
    is_agent: bool,
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
    pub(crate) fn new(key: [u8; 32], session_seconds: i64, max_tokens_per_user: usize) -> Self {
        Self {
            key,
            session_seconds,
            max_tokens_per_user,
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
#[boxed]
pub async fn authenticate(service: &Service, secret: &str, origin: &Origin) -> Ruled<Caller> {
    match check(service, secret).await {
        Ok(grant) => {
            if let Some(token_id) = grant.token_id {
                note_use(service, token_id, &grant.user.username, origin);
            }
            let caller = caller(&grant.user, &grant.rights, origin.clean_client());
            Ok(Caller {
                scope: grant.scope,
                token_id: grant.token_id,
                bound_project: grant.project_id,
                //= specs/spexus-service.md#service-accounts
                //# A token MUST be known as an agent's when it is one of a service account or was marked so.
                is_agent: caller.is_agent || grant.is_agent,
                ..caller
            })
        }
        Err(refusal) => {
            audit::note_turned_away(service, origin, &refusal);
            Err(refusal)
        }
    }
}

/// The projects that whoever holds a token sees now, unless it is every one; the holder is known by the id of the token, or by
/// that of the account when there is none. For what was opened with it and is still open.
#[boxed]
pub async fn sight(service: &Service, holder: Uuid) -> Ruled<Option<Vec<Uuid>>> {
    let mut conn = service.store.look_up().await?;
    let token = tokens::by_id(&mut conn, holder).await?;
    let bound_project = token.as_ref().and_then(|(token, _)| token.project_id);
    let user_id = token.map_or(holder, |(_, user_id)| user_id);
    let Some(user) = accounts::by_id(&mut conn, user_id).await? else {
        return Ok(Some(vec![]));
    };
    let rights = Rights::of(&mut conn, &user).await?;
    if !rights.is_usable {
        return Ok(Some(vec![]));
    }
    let caller = Caller {
        bound_project,
        ..caller(&user, &rights, String::new())
    };
    Ok(caller.visibility().projects())
}

/// Whether a secret was good lately, as far as this process remembers: asked without looking anything up.
pub fn is_remembered(service: &Service, secret: &str) -> bool {
    is_of_our_form(secret)
        && service
            .grants
            .remembered
            .contains_key(&service.grants.hash(secret))
}

/// Done when a secret that was good has expired; never for one that does not end by itself. The clock is looked at every
/// so often, because it may be set.
#[boxed]
pub async fn expired(service: &Service, secret: &str, every: Duration) {
    let Ok(grant) = check(service, secret).await else {
        return;
    };
    let Some(at) = grant.expires_at else {
        return std::future::pending().await;
    };
    while service.store.now() < at {
        tokio::time::sleep(every).await;
    }
}

fn is_of_our_form(secret: &str) -> bool {
    secret.len() < 200 && (secret.starts_with(TOKEN_PREFIX) || secret.starts_with(SESSION_PREFIX))
}

async fn check(service: &Service, secret: &str) -> Ruled<Arc<Grant>> {
    if !is_of_our_form(secret) {
        return Err(Refusal::new(Code::AuthFailed, "the token is not one of ours").hint(hint::WRONG_TOKEN));
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
            let found = look_up(service, secret, hash, generation).await;
            if found
                .as_ref()
                .is_err_and(|refusal| refusal.code == Code::AuthFailed)
            {
                service.grants.remembered.invalidate(&hash);
            }
            let grant = Arc::new(found?);
            service.grants.remembered.insert(hash, grant.clone());
            grant
        }
    };
    if !grant.rights.is_usable {
        return Err(Refusal::new(Code::AuthFailed, "the account is disabled").hint("Ask an administrator."));
    }
    if grant.expires_at.is_some_and(|at| at <= service.store.now()) {
        return Err(Refusal::new(Code::AuthExpired, "the token has expired").hint(hint::EXPIRED_TOKEN));
    }
    Ok(grant)
}

async fn look_up(service: &Service, secret: &str, hash: [u8; 32], generation: u64) -> Ruled<Grant> {
    let mut conn = service.store.look_up().await?;
    if secret.starts_with(SESSION_PREFIX) {
        let found = accounts::session_by_hash(&mut conn, hash).await?;
        let (session, user) = found.ok_or_else(|| {
            Refusal::new(Code::AuthFailed, "the session is not known or was closed").hint(hint::WRONG_TOKEN)
        })?;
        let expires_at = Some(session.expires_at);
        return Ok(Grant {
            generation,
            rights: Rights::of(&mut conn, &user).await?,
            is_agent: false,
            user,
            scope: Scope::Admin,
            token_id: None,
            project_id: None,
            expires_at,
        });
    }
    //= specs/spexus-service.md#tokens
    //# A token MUST be found by one indexed look-up of its hash, however many there are.
    let found = tokens::grant_by_hash(&mut conn, hash).await?;
    let found = found.ok_or_else(|| {
        Refusal::new(Code::AuthFailed, "the token is not known or was revoked").hint(hint::WRONG_TOKEN)
    })?;
    Ok(Grant {
        generation,
        rights: Rights::of(&mut conn, &found.user).await?,
        is_agent: found.agent,
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
    let mut uses = service.grants.uses.lock();
    let entry = uses.entry(token_id).or_insert(Use {
        at: now,
        noted_at: Timestamp(i64::MIN),
    });
    entry.at = now;
    let due = now.0.saturating_sub(entry.noted_at.0) >= USE_NOTED_EVERY_MICROS;
    if due {
        entry.noted_at = now;
        service.audit.note_use(username, token_id, origin);
    }
}

/// Writes the last uses of tokens.
pub(crate) async fn note_uses(service: &Service) {
    let uses: Vec<(Uuid, Timestamp)> = {
        let mut uses = service.grants.uses.lock();
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
    let written = service.write_as(actor, move |tx| {
        Box::pin(async move { tokens::note_use(tx, &uses).await })
    });
    if let Err(error) = written.await {
        tracing::warn!(%error, "last uses of tokens could not be written");
    }
}

/// The tokens of a user: one's own, or for administrators anyone's.
#[boxed]
pub async fn list(service: &Service, caller: &Caller, user: Option<&str>) -> Ruled<Page<Token>> {
    let mut conn = reading(service, caller, Operation::OwnAccount).await?;
    let owner = owner(&mut conn, caller, user).await?;
    let mut found = tokens::of_user(&mut conn, owner.id).await?;
    //= specs/spexus-service.md#projects
    //# A token bound to a project MUST list and revoke only tokens bound to the same project.
    found.retain(|token| is_within_reach(caller, token));
    Ok(Page::whole(found))
}

/// Whether a caller may know of a token: one that reaches no further than the caller does.
fn is_within_reach(caller: &Caller, token: &Token) -> bool {
    caller.bound_project.is_none() || caller.bound_project == token.project_id
}

/// Makes a token for oneself or for a service account of one's own, or as an administrator for someone else. A token never makes one with more rights.
#[boxed]
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
    let user = user.map(str::to_owned);
    let max_tokens = service.grants.max_tokens_per_user;
    let job = service.change_anywhere(caller, Operation::OwnAccount, move |tx, caller| {
        Box::pin(async move {
            let owner = owner(&mut tx.conn, &caller, user.as_deref()).await?;
            let name = text::name("name", &input.name)?;
            let mut scopes = input
                .scopes
                .iter()
                .map(|scope| Scope::parse("scopes", scope))
                .collect::<Ruled<Vec<_>>>()?;
            //= specs/spexus-service.md#tokens
            //# A token that is made without saying what for MUST be for reading, and MUST stop working after 90 days.
            if scopes.is_empty() {
                scopes.push(Scope::Read);
            }
            scopes.sort_unstable();
            scopes.dedup();
            if scopes.len() > 1 && scopes.contains(&Scope::Evidence) {
                let problem = "evidence stands alone: such a token can do nothing else";
                return Err(Refusal::field(
                    Code::InvalidParams,
                    "scopes",
                    problem,
                    "evidence, or the others",
                )
                .into());
            }
            //= specs/spexus-service.md#tokens
            //# A token made with a token that is bound to a project MUST be bound to the same project.
            let wanted = input.project.as_deref();
            let project = match wanted.is_some() || caller.bound_project.is_some() {
                true => Some(project_of(&mut tx.conn, &caller, Operation::Read, wanted).await?),
                false => None,
            };
            let now = tx.now();
            let expires_at = within(tx, &caller, input.expires.as_deref(), now).await?;
            refuse_too_many(tx, &owner, max_tokens, now).await?;
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
                project_id: project.as_ref().map(|project| project.id),
                agent: input.agent || owner.owner_id.is_some(),
                expires_at,
                last_used_at: None,
                created_at: now,
            };
            tokens::insert(tx, &info, owner.id, project.map(|project| project.id), hash).await?;
            record(tx, Action::Created, &info).await?;
            note(tx, Happening::TokenCreated, &info).await?;
            Ok(info)
        })
    });
    Ok(CreatedToken {
        token: secret,
        info: job.await?,
    })
}

/// Revokes a token; it opens nothing from now on.
#[boxed]
pub async fn revoke(service: &Service, caller: &Caller, id: Uuid) -> Ruled<Token> {
    let job = service.change_anywhere(caller, Operation::OwnAccount, move |tx, caller| {
        Box::pin(async move {
            let missing = || Refusal::new(Code::ResourceNotFound, format!("there is no token {id}"));
            let (token, owner) = tokens::by_id(&mut tx.conn, id).await?.ok_or_else(missing)?;
            if !is_within_reach(&caller, &token) {
                return Err(missing().into());
            }
            let owner = accounts::by_id(&mut tx.conn, owner).await?.ok_or_else(missing)?;
            if owner.id != caller.user_id && owner.owner_id != Some(caller.user_id) {
                // Other people's tokens do not exist for those who may not manage them.
                caller.may(Operation::ManageUsers).map_err(|_| missing())?;
            }
            remove(tx, &token).await?;
            Ok(token)
        })
    });
    job.await
}

/// Takes a token away, and tells so.
pub(super) async fn remove(tx: &mut Tx, token: &Token) -> Result<()> {
    tokens::remove(tx, token.id).await?;
    record(tx, Action::Deleted, token).await?;
    note(tx, Happening::TokenRevoked, token).await
}

async fn note(tx: &mut Tx, what: Happening, token: &Token) -> Result<()> {
    let name = format!("token {} of {}", token.name, token.user);
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
    audit::record(tx, what, Some(token.id), &name, &scopes.join(",")).await
}

/// When a new token stops working: as it is asked for, and never later than the token it is made with.
async fn within(
    tx: &mut Tx,
    caller: &Caller,
    wanted: Option<&str>,
    now: Timestamp,
) -> Result<Option<Timestamp>> {
    let own = match caller.token_id {
        Some(id) => tokens::by_id(&mut tx.conn, id)
            .await?
            .and_then(|(own, _)| own.expires_at),
        None => None,
    };
    let asked = match wanted {
        None => Some(now.plus_seconds(DEFAULT_SECONDS)),
        Some(NEVER) => None,
        Some(text) => Some(expiry("expires", text, now)?),
    };
    match (asked, own) {
        (asked, None) => Ok(asked),
        (Some(asked), Some(own)) if asked <= own => Ok(Some(asked)),
        // Nothing was asked for: as long as it can be.
        (_, Some(own)) if wanted.is_none() => Ok(Some(own)),
        //= specs/spexus-service.md#tokens
        //# A token MUST NOT be made with one that stops working earlier.
        (_, Some(own)) => Err(Refusal::field(
            Code::InvalidParams,
            "expires",
            format!("is later than {own}, when the token it is made with stops working"),
            "an earlier time",
        )
        .hint("Make it with a session or with a token that lasts longer.")
        .into()),
    }
}

//= specs/spexus-service.md#tokens
//# A user MUST NOT have more working tokens than the limit.
async fn refuse_too_many(tx: &mut Tx, owner: &User, max: usize, now: Timestamp) -> Result<()> {
    let all = tokens::of_user(&mut tx.conn, owner.id).await?;
    let working = all
        .iter()
        .filter(|token| token.expires_at.is_none_or(|at| at > now));
    if working.count() < max {
        return Ok(());
    }
    let message = format!("{} has {max} tokens, which is the most", owner.username);
    Err(Refusal::new(Code::RuleViolated, message)
        .hint("Revoke one that is no longer used.")
        .fact("max_tokens_per_user", max)
        .into())
}

async fn owner(conn: &mut spexus_store::Conn, caller: &Caller, wanted: Option<&str>) -> Result<User> {
    let user = people::find(conn, caller, "user", wanted.unwrap_or("me")).await?;
    if user.id != caller.user_id && user.owner_id != Some(caller.user_id) {
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
