//! What every story starts with: a fresh database of one engine, an administrator and a clock that can be moved.

use crate::client::Client;
use serde_json::json;
use spexus_domain::{Code, Refusal, Ruled, Timestamp};
use spexus_service::account::{login, token};
use spexus_service::{Origin, Service, ServiceOptions};
use spexus_store::{Location, StoreOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub(crate) use test_support::both;

pub(crate) const ADMIN_PASSWORD: &str = "correct horse battery";

/// The password of everyone else.
pub(crate) const PASSWORD: &str = "long enough";

/// A database, the service over it, and its administrator.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) admin: Client,
    location: Location,
    clock: Arc<AtomicI64>,
    _folder: Option<tempfile::TempDir>,
}

impl World {
    pub(crate) async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("spexus.db"));
        Self::open(location, Some(folder)).await
    }

    pub(crate) async fn on_postgres() -> Option<Self> {
        let made = tokio::task::spawn_blocking(test_support::fresh_database);
        let location = Location::parse(&made.await.unwrap()?).unwrap();
        Some(Self::open(location, None).await)
    }

    /// Another node on the same database, or the same one after a restart.
    pub(crate) async fn second_node(&self) -> Self {
        Self::open(self.location.clone(), None).await
    }

    /// Another node whose store works otherwise.
    pub(crate) async fn node_with(&self, store: StoreOptions) -> Self {
        let options = ServiceOptions {
            store,
            ..ServiceOptions::for_testing()
        };
        Self::open_with(self.location.clone(), None, options).await
    }

    /// Another installation on the same engine that works otherwise, with a clock of its own.
    pub(crate) async fn sibling(&self, options: ServiceOptions) -> Self {
        if self.is_sqlite() {
            let folder = tempfile::tempdir().unwrap();
            let location = Location::File(folder.path().join("sibling.db"));
            return Self::open_with(location, Some(folder), options).await;
        }
        let url = tokio::task::spawn_blocking(test_support::fresh_database).await;
        let location = Location::parse(&url.unwrap().unwrap()).unwrap();
        Self::open_with(location, None, options).await
    }

    async fn open(location: Location, folder: Option<tempfile::TempDir>) -> Self {
        Self::open_with(location, folder, ServiceOptions::for_testing()).await
    }

    async fn open_with(
        location: Location,
        folder: Option<tempfile::TempDir>,
        options: ServiceOptions,
    ) -> Self {
        let clock = Arc::new(AtomicI64::new(1_790_000_000_000_000));
        let tick = clock.clone();
        let now = Arc::new(move || Timestamp(tick.fetch_add(1, Ordering::Relaxed)));
        let opened = Service::open(&location, options, now).await;
        let (service, _) = opened.unwrap();
        let caller = login::local(&service, None, "exam").await.unwrap();
        Self {
            admin: Client::new(&service, caller),
            service,
            location,
            clock,
            _folder: folder,
        }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.location, Location::File(_))
    }

    /// Every story ends with a look at everything: whatever the use cases did is what the history says they did.
    pub(crate) async fn end(self) {
        self.service.flush().await;
        let (store, nobody) = (self.service.store(), Arc::new(|_| {}));
        let verdict =
            spexus_store::verification::verify(store, spexus_domain::Uuid::nil(), vec![], nobody).await;
        let verdict = verdict.unwrap();
        assert!(verdict.is_whole(), "{verdict:#?}");
        self.service.close().await;
    }

    /// Moves the clock.
    pub(crate) fn jump(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    /// A new user with a role, and the secret of a token of theirs that may do whatever they may.
    pub(crate) async fn user(&self, username: &str, role: &str) -> String {
        let user = json!({"username": username, "password": PASSWORD, "role": role});
        self.admin.create_user(user).await.unwrap();
        let token = json!({"name": "test", "scopes": ["admin"]});
        self.token_of(username, token).await
    }

    /// The secret of a new token of a user.
    pub(crate) async fn token_of(&self, username: &str, wanted: serde_json::Value) -> String {
        let made = self.admin.create_token(Some(username), wanted).await.unwrap();
        made["token"].as_str().unwrap().to_owned()
    }

    /// A token of a user, bound to a project, in use.
    pub(crate) async fn bound(&self, username: &str, name: &str, project: &str) -> Client {
        let wanted = json!({"name": name, "project": project, "scopes": ["admin"]});
        let secret = self.token_of(username, wanted).await;
        self.client(&secret).await.unwrap()
    }

    /// Whoever a secret belongs to.
    pub(crate) async fn client(&self, secret: &str) -> Ruled<Client> {
        let caller = token::authenticate(&self.service, secret, &Origin::default()).await?;
        Ok(Client::new(&self.service, caller))
    }

    /// Logs in from an address.
    pub(crate) async fn log_in(&self, from: &str, username: &str, password: &str) -> Ruled<login::LoggedIn> {
        let origin = Origin {
            address: from.to_owned(),
            client: "exam".to_owned(),
        };
        login::login(&self.service, username, password, &origin).await
    }

    /// The number of the last change: what left it as it was wrote nothing.
    pub(crate) async fn chain_head(&self) -> i64 {
        let mut conn = self.service.store().read().await.unwrap();
        spexus_store::changes::head(&mut conn).await.unwrap()
    }

    /// An epic with a story, a criterion and a requirement: `EP-001`, `US-001`, `AC-001`, `REQ-001`.
    pub(crate) async fn seed(&self) {
        let admin = &self.admin;
        let epic = json!({"title": "Sign in", "priority": 1});
        admin.create("epic", epic).await.unwrap();
        let story = json!({"epic_id": "EP-001", "title": "With a passkey"});
        admin.create("user_story", story).await.unwrap();
        let criterion =
            json!({"user_story_id": "US-001", "description": "The passkey prompt opens within a second."});
        admin.create("acceptance_criterion", criterion).await.unwrap();
        let requirement = json!({"user_story_id": "US-001", "title": "Passkeys MUST work", "acceptance_criteria_id": "AC-001"});
        admin.create("requirement", requirement).await.unwrap();
    }
}

/// What was refused, as it had to be.
pub(crate) trait Refused {
    /// The refusal, which has this number and says something to people.
    fn refused(self, number: u16) -> Refusal;
}

impl<T: std::fmt::Debug> Refused for Ruled<T> {
    fn refused(self, number: u16) -> Refusal {
        let refusal = self.expect_err("it was not refused");
        assert_eq!(Some(refusal.code), Code::from_number(number), "{refusal:?}");
        assert!(!refusal.message.is_empty(), "{refusal:?}");
        refusal
    }
}

/// The fact of a refusal.
pub(crate) fn fact(refusal: &Refusal, name: &str) -> String {
    let found = refusal.facts.iter().find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {refusal:?}"))
        .1
        .clone()
}
