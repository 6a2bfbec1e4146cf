//! What can be done with Spexus: one function for each use case.
//!
//! A use case is a permission, a rule, a transaction and its rows in the history, in this order and in one place.
//! REST, MCP and the command line hold no rule of their own: they turn their input into the domain's types, call one
//! function of this crate and show what it answers. What is done for somebody takes a [`spexus_domain::account::Caller`];
//! what happens before anybody is known (signing in) or for nobody (upkeep) does not.
//!
//! Use cases give boxed futures (`#[boxed]`). The code of an async function is compiled where it is polled: without the box every
//! surface would compile the service and the store below it again.
//!
//! The crate knows no surface and no SQL. What goes wrong below becomes a [`Refusal`] here, once, with the details in
//! the log and not in the answer.

pub mod account;
pub mod app;
pub mod audit;
pub mod baseline;
pub mod batch;
pub mod changes;
pub mod comment;
pub mod consent;
mod context;
pub mod envelope;
pub mod evidence;
mod feed_cursor;
pub mod group;
pub mod history_retention;
mod idempotent;
pub mod item;
pub mod language;
pub mod lease;
pub mod link;
pub mod mcp_session;
pub mod member;
pub mod network;
mod people;
pub mod plan;
pub mod project;
pub mod prompt;
pub mod report;
mod resolve;
pub mod review;
pub mod root;
pub mod saved_view;
pub mod search;
pub mod settings;
mod setup;
mod transaction;
pub mod transfer;

pub use audit::Origin;
pub use setup::FirstStart;
pub use spexus_store::deadline;

use account::password::{PasswordCost, Passwords};
use account::token::Grants;
use async_recursion::async_recursion as boxed;
use audit::AuditTrail;
use spexus_domain::member::ProjectRole;
use spexus_domain::{Refusal, Ruled};
use spexus_store::{Location, Store, StoreOptions};
use std::sync::Arc;
use tokio::sync::watch;

/// Projects remembered at most.
const MAX_REMEMBERED_PROJECTS: u64 = 1_000;

/// The system: everything a surface needs to do its work. One shared handle.
#[derive(Clone)]
pub struct Service(Arc<Parts>);

/// What all clones of a [`Service`] share; nothing of it is for others.
pub struct Parts {
    store: Store,
    passwords: Arc<Passwords>,
    grants: Arc<Grants>,
    audit: AuditTrail,
    projects: context::Projects,
    /// What whoever has an account is in a new project.
    default_role: ProjectRole,
    /// Whether every push of evidence makes everything anew.
    derives_everything: bool,
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
    /// How long audit events are kept; 0 means for ever.
    pub audit_retention_days: u32,
    /// Working tokens one user may have.
    pub max_tokens_per_user: usize,
    /// The key token hashes are made with, when it is not to be kept in the database.
    pub token_key: Option<[u8; 32]>,
    /// The password of the first administrator; made up when there is none.
    pub admin_password: Option<String>,
    /// What whoever has an account is in a new project that does not say so itself.
    pub default_role: ProjectRole,
    /// Whether every push of evidence makes everything anew, instead of what it can have changed: slow, and what the other is held
    /// against.
    pub derives_everything: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        Self {
            store: StoreOptions::default(),
            password_cost: PasswordCost::default(),
            session_seconds: 12 * 3_600,
            audit_retention_days: 365,
            max_tokens_per_user: 100,
            token_key: None,
            admin_password: None,
            // A project that nobody was added to is nobody else's.
            default_role: ProjectRole::None,
            derives_everything: false,
        }
    }
}

impl ServiceOptions {
    /// Cheap passwords, and projects in which every account can work: who is a member is said where that is the question.
    pub fn for_testing() -> Self {
        Self {
            password_cost: PasswordCost::for_testing(),
            admin_password: Some("correct horse battery".into()),
            default_role: ProjectRole::Author,
            // What two seconds are to a server, these are to a build without optimization beside other tests.
            store: StoreOptions {
                max_transaction_ms: 30_000,
                ..StoreOptions::default()
            },
            ..Self::default()
        }
    }
}

impl std::ops::Deref for Service {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Service {
    /// Opens the database and sets it up when it is empty; tells what the first start made.
    #[boxed]
    pub async fn open(
        location: &Location,
        options: ServiceOptions,
        clock: spexus_store::Clock,
    ) -> Ruled<(Self, Option<FirstStart>)> {
        let (store, _) = Store::open(location, &options.store, clock).await?;
        if location.is_remote() {
            warn_of_listeners(&store).await?;
        }
        let passwords = Passwords::new(options.password_cost)?;
        let first = setup::set_up(&store, &passwords, options.admin_password.as_deref()).await?;
        let key = match options.token_key {
            Some(key) => key,
            None => setup::token_key(&store).await?,
        };
        let service = Self(Arc::new(Parts {
            audit: AuditTrail::start(store.clone(), options.audit_retention_days),
            grants: Arc::new(Grants::new(
                key,
                options.session_seconds,
                options.max_tokens_per_user,
            )),
            passwords: Arc::new(passwords),
            projects: context::Projects::new(MAX_REMEMBERED_PROJECTS),
            default_role: options.default_role,
            derives_everything: options.derives_everything,
            store,
        }));
        Ok((service, first))
    }

    /// Follows the number of the last change, whoever made it.
    pub fn follow(&self) -> watch::Receiver<i64> {
        self.store.follow()
    }

    /// The same service over the store of one transaction or one moment. What is remembered outside may be younger than
    /// what is read there, and what is read there may be undone, so it remembers projects for itself.
    fn over(&self, store: Store) -> Self {
        Self(Arc::new(Parts {
            store,
            passwords: self.passwords.clone(),
            grants: self.grants.clone(),
            audit: self.audit.clone(),
            projects: context::Projects::new(MAX_REMEMBERED_PROJECTS),
            default_role: self.default_role,
            derives_everything: self.derives_everything,
        }))
    }

    /// Whether everything happens in a transaction that may yet be undone.
    pub fn is_inside(&self) -> bool {
        self.store.is_in_transaction()
    }

    /// A key for one purpose, the same on every node of this installation.
    pub fn key_for(&self, purpose: &str) -> [u8; 32] {
        self.grants.key_for(purpose)
    }

    /// Whether the database answers.
    #[boxed]
    pub async fn ping(&self) -> Ruled<()> {
        self.store.ping().await.map_err(Refusal::from)
    }

    /// The time as the history has it.
    pub fn now(&self) -> spexus_domain::Timestamp {
        self.store.now()
    }

    /// The store below, for what is not a use case: backups, copies, chain verification.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Writes what is still in memory: audit events and last uses of tokens. Removes audit events that were kept long
    /// enough.
    #[boxed]
    pub async fn flush(&self) {
        self.audit.flush().await;
        account::token::note_uses(self).await;
        audit::retain(self).await;
    }

    /// Writes what is in memory and closes the database.
    #[boxed]
    pub async fn close(self) {
        self.flush().await;
        self.store.clone().close().await;
    }
}

/// Says so when everything that is asked and answered can be read on the way to the database.
async fn warn_of_listeners(store: &Store) -> spexus_store::Result<()> {
    let facts = spexus_store::server::facts(&mut store.look_up().await?).await?;
    if facts.is_some_and(|facts| !facts.encrypted) {
        tracing::warn!(
            "the connection to the database is not encrypted; add sslmode=verify-full to its URL, or require to accept any certificate"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use tracing::field::{Field, Visit};
    use tracing::span;

    /// Keeps every field of every event.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<String>>);

    impl Visit for Kept {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            let mut text = self.0.lock().unwrap();
            text.push_str(&format!("{field}={value:?}\n"));
        }
    }

    impl tracing::Subscriber for Kept {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }
        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, event: &tracing::Event<'_>) {
            event.record(&mut self.clone());
        }
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    #[inline(never)]
    fn a_use_case_that_breaks() -> Refusal {
        spexus_store::Error::Broken("no such column: colour".into()).into()
    }

    // proves 003 R13.8
    //= specs/spexus-service.md#errors
    //= type=test
    //# An internal error MUST be logged with its causes and the way that led to it, and MUST NOT be told to the caller.
    #[test]
    fn an_internal_error_is_logged_with_the_way_that_led_to_it_and_not_told() {
        let kept = Kept::default();
        let refusal = tracing::subscriber::with_default(kept.clone(), a_use_case_that_breaks);
        assert_eq!(refusal.code, spexus_domain::Code::InternalError);
        assert!(!format!("{refusal:?}").contains("colour"), "{refusal:?}");
        let log = kept.0.lock().unwrap();
        assert!(log.contains("no such column: colour"), "{log}");
        assert!(
            log.contains("a_use_case_that_breaks"),
            "the frames are there: {log}"
        );
    }
}
