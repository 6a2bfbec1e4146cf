//! What every story starts with: a fresh database of one engine, the MCP server over it, and an administrator's token.

use serde_json::{Value, json};
use spexus_domain::account::Caller;
use spexus_domain::audit::EventFilter;
use spexus_domain::query::PageRequest;
use spexus_domain::{Kind, Timestamp};
use spexus_mcp::{Mcp, McpOptions};
use spexus_service::account::{login, token, user};
use spexus_service::{
    Service, ServiceOptions, audit, baseline, batch, changes, comment, item, link, member, project, prompt,
};
use spexus_store::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub(crate) use test_support::both;

/// A database and everything over it but a transport.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) mcp: Mcp,
    pub(crate) admin: Caller,
    /// The secret of an administrator's token.
    pub(crate) token: String,
    /// The database, for another node.
    pub(crate) location: Location,
    _folder: Option<tempfile::TempDir>,
}

impl World {
    pub(crate) async fn on_sqlite() -> Self {
        Self::with(McpOptions::default()).await
    }

    pub(crate) async fn with(options: McpOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("spexus.db"));
        Self::open(&location, options, Some(folder)).await
    }

    pub(crate) async fn on_postgres() -> Option<Self> {
        Self::on_postgres_with(McpOptions::default()).await
    }

    pub(crate) async fn on_postgres_with(options: McpOptions) -> Option<Self> {
        let made = tokio::task::spawn_blocking(test_support::fresh_database);
        let location = Location::parse(&made.await.unwrap()?).unwrap();
        Some(Self::open(&location, options, None).await)
    }

    /// Another node on the same database.
    pub(crate) async fn second_node(&self) -> Self {
        Self::open(&self.location, McpOptions::default(), None).await
    }

    async fn open(location: &Location, options: McpOptions, folder: Option<tempfile::TempDir>) -> Self {
        let clock = AtomicI64::new(1_790_000_000_000_000);
        let now = Arc::new(move || Timestamp(clock.fetch_add(1, Ordering::Relaxed)));
        let opened = Service::open(location, ServiceOptions::for_testing(), now).await;
        let (service, _) = opened.unwrap();
        let mcp = Mcp::new(&service, options).unwrap();
        mcp.restore().await.unwrap();
        let admin = login::local(&service, None, "exam").await.unwrap();
        let mut world = Self {
            service,
            mcp,
            admin,
            token: String::new(),
            location: location.clone(),
            _folder: folder,
        };
        // Nodes share a database, and names are an owner's own.
        let name = format!("exam {}", spexus_domain::Uuid::now_v7());
        let wanted = json!({ "name": name, "scopes": ["admin"], "expires": "never" });
        world.token = world.token_of("admin", wanted).await;
        world
    }

    /// The end of a story.
    pub(crate) async fn end(self) {}

    /// A new user with a role, and the secret of a token of theirs that may do whatever they may.
    pub(crate) async fn user(&self, username: &str, role: &str) -> String {
        let wanted = json!({ "username": username, "password": "long enough", "role": role });
        let wanted = serde_json::from_value(wanted).unwrap();
        user::create(&self.service, &self.admin, wanted).await.unwrap();
        self.token_of(username, json!({ "name": "test", "scopes": ["admin"] }))
            .await
    }

    /// The secret of a new token of a user.
    pub(crate) async fn token_of(&self, username: &str, wanted: Value) -> String {
        let wanted = serde_json::from_value(wanted).unwrap();
        let made = token::create(&self.service, &self.admin, Some(username), wanted).await;
        json!(made.unwrap())["token"].as_str().unwrap().to_owned()
    }

    /// The number of the last change: what left it as it was wrote nothing.
    pub(crate) async fn chain_head(&self) -> i64 {
        let mut conn = self.service.store().read().await.unwrap();
        spexus_store::changes::head(&mut conn).await.unwrap()
    }

    /// Makes an item, as somebody else would beside the agent.
    pub(crate) async fn create(&self, kind: &str, input: Value) -> Value {
        let (kind, input) = (
            Kind::parse("kind", kind).unwrap(),
            serde_json::from_value(input).unwrap(),
        );
        json!(
            item::create(&self.service, &self.admin, kind, input, None)
                .await
                .unwrap()
        )
    }

    /// An item as the service gives it.
    pub(crate) async fn item(&self, id: &str) -> Value {
        json!(
            item::get(&self.service, &self.admin, None, None, id)
                .await
                .unwrap()
        )
    }

    /// Whether an item can be read.
    pub(crate) async fn is_there(&self, id: &str) -> bool {
        item::get(&self.service, &self.admin, None, None, id)
            .await
            .is_ok()
    }

    pub(crate) async fn update(&self, id: &str, patch: Value) {
        let patch = serde_json::from_value(patch).unwrap();
        item::update(&self.service, &self.admin, None, None, id, patch)
            .await
            .unwrap();
    }

    pub(crate) async fn delete(&self, id: &str) {
        item::delete(&self.service, &self.admin, None, None, id, true, None)
            .await
            .unwrap();
    }

    pub(crate) async fn link(&self, source: &str, link_type: &str, target: &str) {
        let wanted = json!({ "source": source, "target": target, "type": link_type });
        let wanted = serde_json::from_value(wanted).unwrap();
        link::create(&self.service, &self.admin, None, wanted)
            .await
            .unwrap();
    }

    pub(crate) async fn comment(&self, on: &str, content: &str) {
        let wanted = serde_json::from_value(json!({ "content": content })).unwrap();
        comment::create(&self.service, &self.admin, None, None, on, wanted)
            .await
            .unwrap();
    }

    pub(crate) async fn comments(&self, on: &str) -> Value {
        let page = PageRequest::new(None, None).unwrap();
        let listed = comment::list(&self.service, &self.admin, None, None, on, None, page).await;
        json!(listed.unwrap())
    }

    pub(crate) async fn links(&self, of: &str) -> Value {
        let page = PageRequest::new(None, None).unwrap();
        let listed = link::list(&self.service, &self.admin, None, None, of, None, page).await;
        json!(listed.unwrap())
    }

    pub(crate) async fn project(&self, key: &str, name: &str) {
        let wanted = serde_json::from_value(json!({ "key": key, "name": name })).unwrap();
        project::create(&self.service, &self.admin, wanted).await.unwrap();
    }

    /// A user who owns one project and is no member of another, however often it is said.
    pub(crate) async fn belong(&self, username: &str, to: &str, not_to: &str) {
        let wanted = json!({ "username": username, "password": "long enough", "role": "User" });
        let wanted = serde_json::from_value(wanted).unwrap();
        // The second time they are there.
        let _ = user::create(&self.service, &self.admin, wanted).await;
        let owner = serde_json::from_value(json!({ "role": "owner" })).unwrap();
        member::put(&self.service, &self.admin, Some(to), username, owner)
            .await
            .unwrap();
        for key in [to, not_to] {
            let closed = serde_json::from_value(json!({ "default_role": "none" })).unwrap();
            project::update(&self.service, &self.admin, key, closed)
                .await
                .unwrap();
        }
    }

    /// Makes a user something in a project.
    pub(crate) async fn make(&self, username: &str, project: &str, role: &str) {
        let role = serde_json::from_value(json!({ "role": role })).unwrap();
        member::put(&self.service, &self.admin, Some(project), username, role)
            .await
            .unwrap();
    }

    pub(crate) async fn baseline(&self, project: &str, name: &str) {
        let wanted = serde_json::from_value(json!({ "project": project, "name": name })).unwrap();
        baseline::create(&self.service, &self.admin, wanted)
            .await
            .unwrap();
    }

    /// How much has happened in a project.
    pub(crate) async fn changes(&self, project: &str) -> usize {
        let all = changes::since(&self.service, &self.admin, Some(project), "0", Some(200)).await;
        all.unwrap().len()
    }

    /// The newest events of the audit trail.
    pub(crate) async fn events(&self) -> Value {
        self.service.flush().await;
        let page = PageRequest::new(Some(200), None).unwrap();
        let found = audit::list(&self.service, &self.admin, &EventFilter::default(), page).await;
        json!(found.unwrap())
    }

    pub(crate) async fn prompt(&self, wanted: Value) {
        let wanted = serde_json::from_value(wanted).unwrap();
        prompt::create(&self.service, &self.admin, wanted).await.unwrap();
    }

    pub(crate) async fn batch(&self, operations: Vec<Value>) {
        let input = serde_json::from_value(json!({ "operations": operations })).unwrap();
        batch::run(&self.service, &self.admin, input, None).await.unwrap();
    }

    /// An epic with a story, a criterion and a requirement: `EP-001`, `US-001`, `AC-001`, `REQ-001`.
    pub(crate) async fn seed(&self) {
        self.create("epic", json!({ "title": "Sign in", "priority": 1 }))
            .await;
        self.create(
            "user_story",
            json!({ "epic_id": "EP-001", "title": "With a passkey" }),
        )
        .await;
        let criterion =
            json!({ "user_story_id": "US-001", "description": "The passkey prompt opens within a second." });
        self.create("acceptance_criterion", criterion).await;
        let requirement = json!({ "user_story_id": "US-001", "title": "Passkeys MUST work", "acceptance_criteria_id": "AC-001" });
        self.create("requirement", requirement).await;
    }
}
