//! What can be done with Spexus: one function for each use case.
//!
//! A use case is a permission, a rule, a transaction and its rows in the history, in this order and in one place.
//! REST, MCP, the web pages and the command line hold no rule of their own: they turn their input into the domain's
//! types, call one function of this crate and show what it answers. A [`spexus_domain::account::Caller`] is the first
//! argument of every one of them, so nothing can be done by nobody.
//!
//! The crate knows no surface and no SQL. What goes wrong below becomes a [`Refusal`] here, once, with the details in
//! the log and not in the answer.

pub mod account;
pub mod audit;
pub mod baseline;
pub mod batch;
pub mod changes;
pub mod comment;
mod context;
pub mod envelope;
mod idempotent;
pub mod item;
pub mod link;
pub mod mcp_session;
mod people;
pub mod project;
pub mod prompt;
pub mod report;
pub mod root;
pub mod search;
pub mod settings;
mod setup;
pub mod transfer;

pub use audit::Origin;
pub use setup::FirstStart;

use account::login::Lockouts;
use account::password::{PasswordCost, Passwords};
use account::token::Grants;
use audit::AuditTrail;
use spexus_domain::account::Caller;
use spexus_domain::{Refusal, Ruled};
use spexus_store::{Actor, Location, Store, StoreOptions};
use std::sync::Arc;
use tokio::sync::watch;

/// Projects remembered at most.
const MAX_REMEMBERED_PROJECTS: u64 = 1_000;

/// The system: everything a surface needs to do its work. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    store: Store,
    passwords: Arc<Passwords>,
    grants: Arc<Grants>,
    lockouts: Arc<Lockouts>,
    audit: AuditTrail,
    projects: context::Projects,
}

/// How the service works.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// The database.
    pub store: StoreOptions,
    /// What hashing a password costs.
    pub password_cost: PasswordCost,
    /// How long a web session lasts.
    pub session_seconds: i64,
    /// The key token hashes are made with, when it is not to be kept in the database.
    pub token_key: Option<[u8; 32]>,
    /// The password of the first administrator; made up when there is none.
    pub admin_password: Option<String>,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            store: StoreOptions::default(),
            password_cost: PasswordCost::default(),
            session_seconds: 12 * 3_600,
            token_key: None,
            admin_password: None,
        }
    }
}

impl ServiceOptions {
    /// Cheap passwords and nothing else changed.
    pub fn for_testing() -> Self {
        Self {
            password_cost: PasswordCost::for_testing(),
            admin_password: Some("correct horse battery".into()),
            ..Self::default()
        }
    }
}

impl Service {
    /// Opens the database and sets it up when it is empty; tells what the first start made.
    pub async fn open(
        location: &Location,
        options: ServiceOptions,
        clock: spexus_store::Clock,
    ) -> Ruled<(Self, Option<FirstStart>)> {
        let (store, _) = Store::open(location, &options.store, clock).await.map_err(told)?;
        let passwords = Passwords::new(options.password_cost)?;
        let first = setup::set_up(&store, &passwords, options.admin_password.as_deref()).await?;
        let key = match options.token_key {
            Some(key) => key,
            None => setup::token_key(&store).await?,
        };
        let service = Self {
            audit: AuditTrail::start(store.clone()),
            grants: Arc::new(Grants::new(key, options.session_seconds)),
            lockouts: Arc::new(Lockouts::default()),
            passwords: Arc::new(passwords),
            projects: context::Projects::new(MAX_REMEMBERED_PROJECTS),
            store,
        };
        Ok((service, first))
    }

    /// Follows the number of the last change, whoever made it.
    pub fn follow(&self) -> watch::Receiver<i64> {
        self.store.follow()
    }

    /// Runs work with a service all of whose reads and writes happen in one transaction: with a refusal, or where `keep`
    /// is not wanted, nothing of it stands. All other writes wait meanwhile, so the work must not wait for anything else.
    //= specs/spexus-service.md#writing-once
    //# What is done together MUST be carried out whole or not at all.
    pub async fn together<T, F, Fut>(&self, caller: &Caller, keep: bool, work: F) -> Ruled<T>
    where
        F: FnOnce(Service) -> Fut,
        Fut: Future<Output = Ruled<T>>,
    {
        let inside = |store| Self {
            store,
            // What is remembered outside must not be what may be undone.
            projects: context::Projects::new(MAX_REMEMBERED_PROJECTS),
            ..self.clone()
        };
        let work = |store| {
            let done = work(inside(store));
            async move { done.await.map_err(spexus_store::Error::Refused) }
        };
        let done = self.store.together(Actor::from(caller), keep, work).await;
        done.map_err(told)
    }

    /// Whether everything happens in a transaction that may yet be undone.
    pub fn is_inside(&self) -> bool {
        self.store.is_inside()
    }

    /// A key for one purpose, the same on every node of this installation.
    pub fn key_for(&self, purpose: &str) -> [u8; 32] {
        self.grants.key_for(purpose)
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Ruled<()> {
        self.store.ping().await.map_err(told)
    }

    /// The store below, for what is not a use case: backups, copies, chain verification.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes what is still in memory: audit events and last uses of tokens.
    pub async fn flush(&self) {
        self.audit.flush().await;
        account::token::note_uses(self).await;
    }

    /// Writes what is in memory and closes the database.
    pub async fn close(self) {
        self.flush().await;
        self.store.close().await;
    }
}

/// What the caller is told of an error below; the rest goes to the log.
fn told(error: spexus_store::Error) -> Refusal {
    match &error {
        spexus_store::Error::Refused(_) => {}
        spexus_store::Error::Unavailable(why) => tracing::warn!(why, "the database does not answer"),
        spexus_store::Error::Broken(why) => tracing::error!(why, "the store failed"),
    }
    error.into_refusal()
}
