//! What every story starts with: a fresh database of one engine, an account, a project and the shipped types; and
//! short words for what the service layer does with the store.

use spexus_domain::account::{Role, User};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::comment::Comment;
use spexus_domain::item::{Item, Person, Pointer, Priority};
use spexus_domain::link::LinkType;
use spexus_domain::member::ProjectRole;
use spexus_domain::project::Project;
use spexus_domain::query::{ItemFilter, Order, Page, PageRequest};
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::review::{Review, ReviewState, ReviewedItem, Reviewer};
use spexus_domain::search::{Hit, Query};
use spexus_domain::trace::record::PartKind;
use spexus_domain::trace::{ItemTrace, ReviewKind};
use spexus_domain::{Code, Kind, Reference, Timestamp, Uuid, told};
use spexus_store::{
    Actor, Clock, Engine, Error, Location, Result, Store, StoreOptions, Tx, accounts, comments, deletion,
    items, links, listing, projects, search, settings, trace,
};
use sqlx::Connection as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

/// Every story is told on both engines, as two tests.
macro_rules! both {
    ($($story:ident),* $(,)?) => {
        $(
            mod $story {
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    super::$story($crate::world::World::on_sqlite().await).await;
                }
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    if let Some(world) = $crate::world::World::on_postgres().await {
                        super::$story(world).await;
                    }
                }
            }
        )*
    };
}
pub(crate) use both;

/// A database with an account, a project and the shipped types in it.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) user: User,
    pub(crate) project: Project,
    pub(crate) place: Place,
}

/// Where a database is; it goes away with the last story that uses it.
pub(crate) struct Place {
    pub(crate) location: Location,
    _folder: Option<TempDir>,
}

impl Place {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("store.db"));
        Self {
            location,
            _folder: Some(folder),
        }
    }

    pub(crate) fn postgres() -> Option<Self> {
        let location = Location::Server(test_support::fresh_database()?);
        Some(Self {
            location,
            _folder: None,
        })
    }

    /// A place that is there already, and stays.
    pub(crate) fn of(location: Location) -> Self {
        Self {
            location,
            _folder: None,
        }
    }

    /// Another empty place of the same engine.
    pub(crate) fn another(&self) -> Self {
        match &self.location {
            Location::File(_) => Self::sqlite(),
            Location::Server(_) => Self::postgres().unwrap(),
        }
    }

    pub(crate) fn url(&self) -> String {
        match &self.location {
            Location::File(path) => format!("sqlite:{}", path.display()),
            Location::Server(url) => url.clone(),
        }
    }

    pub(crate) async fn open(&self) -> Result<(Store, bool)> {
        self.open_with(&StoreOptions::default()).await
    }

    pub(crate) async fn open_with(&self, options: &StoreOptions) -> Result<(Store, bool)> {
        Store::open(&self.location, options, ticking()).await
    }

    /// Does something behind the store's back, as an intruder or an accident would.
    pub(crate) async fn meddle(&self, sql: &str) {
        self.try_to_meddle(sql).await.unwrap();
    }

    /// The same where the database may refuse it; with what it says then.
    pub(crate) async fn try_to_meddle(&self, sql: &str) -> std::result::Result<(), String> {
        match &self.location {
            Location::File(path) => rusqlite::Connection::open(path)
                .unwrap()
                .execute_batch(sql)
                .map_err(|error| error.to_string()),
            Location::Server(url) => {
                let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
                let mut raw = sqlx::PgConnection::connect(url).await.unwrap();
                let done = sql.execute(&mut raw).await;
                raw.close().await.unwrap();
                done.map(drop).map_err(|error| error.to_string())
            }
        }
    }

    /// Takes away what keeps the history from being changed, as whoever owns the database can.
    pub(crate) async fn drop_triggers(&self) {
        let sql = match &self.location {
            Location::File(_) => {
                "DROP TRIGGER change_is_kept; DROP TRIGGER change_stays; \
                 DROP TRIGGER former_history_is_kept; DROP TRIGGER former_history_stays; \
                 DROP TRIGGER ledger_origin_is_kept; DROP TRIGGER ledger_origin_stays; \
                 DROP TRIGGER dropped_segment_is_kept; DROP TRIGGER dropped_segment_stays; \
                 DROP TRIGGER audit_is_kept; DROP TRIGGER audit_stays; \
                 DROP TRIGGER audit_day_is_kept; DROP TRIGGER audit_day_stays"
            }
            Location::Server(_) => {
                "ALTER TABLE change DISABLE TRIGGER USER; ALTER TABLE former_history DISABLE TRIGGER USER; \
                 ALTER TABLE ledger_origin DISABLE TRIGGER USER; ALTER TABLE dropped_segment DISABLE TRIGGER USER; \
                 ALTER TABLE audit DISABLE TRIGGER USER; ALTER TABLE audit_day DISABLE TRIGGER USER"
            }
        };
        self.meddle(sql).await;
    }

    /// One number straight from the database.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        match &self.location {
            Location::File(path) => {
                let raw = rusqlite::Connection::open(path).unwrap();
                raw.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Location::Server(url) => {
                let sql = sqlx::AssertSqlSafe(sql.to_owned());
                let mut raw = sqlx::PgConnection::connect(url).await.unwrap();
                let found = sqlx::query_scalar(sql).fetch_one(&mut raw).await.unwrap();
                raw.close().await.unwrap();
                found
            }
        }
    }

    /// A column of texts straight from the database.
    pub(crate) async fn texts(&self, sql: &str) -> Vec<String> {
        match &self.location {
            Location::File(path) => {
                let raw = rusqlite::Connection::open(path).unwrap();
                let mut asked = raw.prepare(sql).unwrap();
                let texts = asked.query_map([], |row| row.get(0)).unwrap();
                texts.map(|text| text.unwrap()).collect()
            }
            Location::Server(url) => {
                let sql = sqlx::AssertSqlSafe(sql.to_owned());
                let mut raw = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).fetch_all(&mut raw).await.unwrap()
            }
        }
    }
}

/// A clock that never shows the same time twice and never depends on the machine.
pub(crate) fn ticking() -> Clock {
    let now = AtomicI64::new(1_700_000_000_000_000);
    Arc::new(move || Timestamp(now.fetch_add(1_000, Ordering::Relaxed)))
}

pub(crate) fn actor_of(user: &User) -> Actor {
    Actor {
        user_id: user.id,
        username: user.username.clone(),
        token_id: None,
        client: "test".into(),
    }
}

impl World {
    pub(crate) async fn on_sqlite() -> Self {
        Self::at(Place::sqlite()).await
    }

    pub(crate) async fn on_postgres() -> Option<Self> {
        Some(Self::at(Place::postgres()?).await)
    }

    pub(crate) async fn at(place: Place) -> Self {
        Self::with(place, &StoreOptions::default()).await
    }

    pub(crate) async fn with(place: Place, options: &StoreOptions) -> Self {
        let (store, _) = place.open_with(options).await.unwrap();
        let (user, project) = (user("kim"), project("default"));
        let (first, room) = (user.clone(), project.clone());
        store
            .write(actor_of(&user), move |tx| {
                Box::pin(async move { furnish(tx, &first, &room).await })
            })
            .await
            .unwrap();
        Self {
            store,
            user,
            project,
            place,
        }
    }

    /// A world that was furnished before.
    pub(crate) async fn again(store: Store, place: Place) -> Self {
        let mut conn = store.read().await.unwrap();
        let user = accounts::by_name(&mut conn, "kim").await.unwrap().unwrap().user;
        let project = projects::by_key(&mut conn, "default").await.unwrap().unwrap();
        drop(conn);
        Self {
            store,
            user,
            project,
            place,
        }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.store.engine() == Engine::Sqlite
    }

    pub(crate) fn actor(&self) -> Actor {
        actor_of(&self.user)
    }

    pub(crate) async fn read(&self) -> spexus_store::Conn {
        self.store.read().await.unwrap()
    }

    /// A draft of an item in this project.
    pub(crate) fn draft(&self, kind: Kind, title: &str) -> Draft {
        Draft {
            kind,
            project: self.project.clone(),
            creator: self.user.clone(),
            title: title.to_owned(),
            description: String::new(),
            parent: None,
            criterion: None,
            status: kind.rules().has_status.then(|| "Draft".to_owned()),
            priority: kind.rules().has_priority.then_some(Priority::MEDIUM),
            assignee: None,
            id: None,
            created_at: None,
        }
    }

    pub(crate) async fn create(&self, draft: Draft) -> Item {
        self.try_create(draft).await.unwrap()
    }

    pub(crate) async fn try_create(&self, draft: Draft) -> Result<Item> {
        create_in(&self.store, self.actor(), draft).await
    }

    pub(crate) async fn epic(&self, title: &str) -> Item {
        self.create(self.draft(Kind::Epic, title)).await
    }

    /// One more project.
    pub(crate) async fn another_project(&self, key: &str) -> Project {
        let made = project(key);
        let wanted = made.clone();
        let job = self.store.write(self.actor(), move |tx| {
            Box::pin(async move { projects::insert(tx, &wanted).await })
        });
        job.await.unwrap();
        made
    }

    pub(crate) async fn epic_in(&self, project: &Project, title: &str) -> Item {
        let project = project.clone();
        self.create(Draft {
            project,
            ..self.draft(Kind::Epic, title)
        })
        .await
    }

    pub(crate) async fn story(&self, epic: &Item, title: &str) -> Item {
        self.create(self.draft(Kind::UserStory, title).under(epic)).await
    }

    pub(crate) async fn requirement(&self, story: &Item, title: &str) -> Item {
        self.create(self.draft(Kind::Requirement, title).under(story))
            .await
    }

    pub(crate) async fn criterion(&self, story: &Item, text: &str) -> Item {
        let draft = self.draft(Kind::AcceptanceCriterion, "");
        self.create(draft.under(story).saying(text)).await
    }

    /// Changes an item as the service layer does, and returns it as it is afterwards.
    pub(crate) async fn edit(&self, item: &Item, change: impl FnOnce(&mut Item) + Send + 'static) -> Item {
        let id = item.id;
        self.store
            .write(self.actor(), move |tx| {
                Box::pin(async move {
                    let before = items::by_id(&mut tx.conn, id).await?.unwrap();
                    let mut after = before.clone();
                    change(&mut after);
                    after.rev += 1;
                    after.updated_at = tx.now();
                    after.content_hash = content_hash(&after);
                    items::update(tx, &before, &after).await?;
                    tx.record(of_item(&after, Action::Updated)).await?;
                    Ok(items::by_id(&mut tx.conn, id).await?.unwrap())
                })
            })
            .await
            .unwrap()
    }

    /// Deletes items together with the links between them and returns the id of the deletion.
    pub(crate) async fn delete(&self, fallen: &[&Item]) -> Uuid {
        let fallen: Vec<Item> = fallen.iter().map(|item| (*item).clone()).collect();
        self.store
            .write(self.actor(), move |tx| {
                Box::pin(async move {
                    let deletion_id = tx.new_id();
                    for item in &fallen {
                        let ending = deletion::links(&mut tx.conn, item.id, u32::MAX).await?;
                        links::soft_delete(tx, &ending, Some(deletion_id)).await?;
                        items::soft_delete(tx, std::slice::from_ref(item), deletion_id).await?;
                        let mut fallen = item.clone();
                        fallen.rev += 1;
                        let fell = of_item(&fallen, Action::Deleted);
                        tx.record(fell.telling(told::DELETION, deletion_id.to_string()))
                            .await?;
                    }
                    Ok(deletion_id)
                })
            })
            .await
            .unwrap()
    }

    /// Brings back what fell together.
    pub(crate) async fn restore(&self, deletion: Uuid) {
        let project = self.project.id;
        self.store
            .write(self.actor(), move |tx| {
                Box::pin(async move {
                    let fallen = items::deleted_by(&mut tx.conn, project, deletion).await?;
                    let ids: Vec<Uuid> = fallen.iter().map(|(id, _)| *id).collect();
                    let fallen = items::by_ids(&mut tx.conn, &ids).await?;
                    items::undelete(tx, &fallen).await?;
                    for mut item in fallen {
                        item.rev += 1;
                        tx.record(of_item(&item, Action::Restored)).await?;
                    }
                    links::undelete_by(tx, project, deletion).await.map(drop)
                })
            })
            .await
            .unwrap();
    }

    pub(crate) async fn link(&self, link_type: &str, source: &Item, target: &Item) -> Result<Uuid> {
        let types = LinkType::shipped();
        let wanted = types.into_iter().find(|known| known.name == link_type).unwrap();
        let (source, target) = (source.clone(), target.clone());
        self.store
            .write(self.actor(), move |tx| {
                Box::pin(async move {
                    let id = tx.new_id();
                    links::insert(tx, id, &wanted, &source, &target).await?;
                    Ok(id)
                })
            })
            .await
    }

    pub(crate) async fn comment(&self, item: &Item, content: &str) -> Comment {
        self.reply(item, None, content).await
    }

    pub(crate) async fn reply(&self, item: &Item, parent: Option<&Comment>, content: &str) -> Comment {
        let draft = Comment {
            id: Uuid::nil(),
            item_id: item.id,
            item: item.reference_id.clone(),
            parent_id: parent.map(|parent| parent.id),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            author: self.user.username.clone(),
            author_id: self.user.id,
            content: content.to_owned(),
            resolved: false,
            anchor: None,
            rev: 1,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        };
        self.add_comment(draft).await
    }

    /// Writes a comment; an id and times it does not have are given.
    pub(crate) async fn add_comment(&self, mut comment: Comment) -> Comment {
        let project = self.project.id;
        self.store
            .write(self.actor(), move |tx| {
                Box::pin(async move {
                    if comment.id.is_nil() {
                        comment.id = tx.new_id();
                    }
                    if comment.created_at == Timestamp(0) {
                        comment.created_at = tx.now();
                        comment.updated_at = tx.now();
                    }
                    comments::insert(tx, project, &comment).await?;
                    Ok(comment)
                })
            })
            .await
            .unwrap()
    }

    pub(crate) async fn list(&self, filter: &ItemFilter, order: Order, page: &PageRequest) -> Page<Item> {
        listing::items(&mut self.read().await, filter, order, page)
            .await
            .unwrap()
    }

    /// Everything a query finds, best first.
    pub(crate) async fn search(&self, text: &str) -> Vec<Hit> {
        let page = PageRequest {
            limit: 200,
            ..PageRequest::default()
        };
        self.search_page(text, &ItemFilter::default(), &page).await.data
    }

    pub(crate) async fn search_page(&self, text: &str, filter: &ItemFilter, page: &PageRequest) -> Page<Hit> {
        search::search(&mut self.read().await, &Query::parse(text), filter, page)
            .await
            .unwrap()
    }

    /// The reference ids a query finds, best first.
    pub(crate) async fn finds(&self, text: &str) -> Vec<String> {
        let hits = self.search(text).await;
        hits.iter().map(|hit| hit.reference_id.to_string()).collect()
    }

    /// The same after connections were lost, when the first readers may still meet dead ones.
    pub(crate) async fn chain_is_whole_after_a_while(&self) {
        for _ in 0..StoreOptions::default().max_read_connections {
            let mut conn = self.read().await;
            if spexus_store::chain::verify(&mut conn).await.is_ok() {
                break;
            }
        }
        self.chain_is_whole().await;
    }

    pub(crate) async fn chain_is_whole(&self) {
        let verdict = spexus_store::chain::verify(&mut self.read().await).await.unwrap();
        assert_eq!(verdict.fault, None);
    }
}

/// An item that does not exist yet.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) kind: Kind,
    pub(crate) project: Project,
    pub(crate) creator: User,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) parent: Option<Pointer>,
    pub(crate) criterion: Option<Pointer>,
    pub(crate) status: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) assignee: Option<Person>,
    pub(crate) id: Option<Uuid>,
    pub(crate) created_at: Option<Timestamp>,
}

impl Draft {
    pub(crate) fn under(mut self, parent: &Item) -> Self {
        self.parent = Some(pointer(parent));
        self
    }

    pub(crate) fn saying(mut self, text: &str) -> Self {
        self.description = text.to_owned();
        self
    }
}

pub(crate) async fn create_in(store: &Store, actor: Actor, draft: Draft) -> Result<Item> {
    store
        .write(actor, move |tx| Box::pin(async move { make(tx, &draft).await }))
        .await
}

/// What the service layer does to create an item.
pub(crate) async fn make(tx: &mut Tx, draft: &Draft) -> Result<Item> {
    let kind = draft.kind;
    let parent = draft.parent.as_ref().map(|parent| parent.id);
    let (number, position) =
        items::next_number_and_position(&mut tx.conn, draft.project.id, kind, parent).await?;
    let created_at = draft.created_at.unwrap_or(tx.now());
    let mut item = Item {
        id: draft.id.unwrap_or_else(|| tx.new_id()),
        reference_id: Reference::of_kind(kind, number).into(),
        project: draft.project.key.clone(),
        project_id: draft.project.id,
        kind,
        title: draft.title.clone(),
        description: draft.description.clone(),
        status: draft.status.clone(),
        priority: draft.priority,
        requirement_type: kind.rules().has_type.then(|| "Functional".to_owned()),
        parent: draft.parent.clone(),
        acceptance_criterion: draft.criterion.clone(),
        assignee: draft.assignee.clone(),
        creator: Person {
            id: draft.creator.id,
            username: draft.creator.username.clone(),
        },
        position,
        attributes: Attributes::new(),
        rev: 1,
        content_hash: String::new(),
        created_at,
        updated_at: created_at,
        deleted_at: None,
    };
    item.content_hash = content_hash(&item);
    items::insert(tx, &item).await?;
    tx.record(of_item(&item, Action::Created)).await?;
    Ok(item)
}

pub(crate) fn of_item(item: &Item, action: Action) -> NewChange {
    NewChange {
        project_id: Some(item.project_id),
        entity: Entity::Item,
        entity_id: item.id,
        item_id: Some(item.id),
        other_item_id: None,
        label: item.reference_id.to_string(),
        action,
        rev: item.rev,
        before: Attributes::new(),
        after: item.fields(),
    }
}

/// A change of an account, for stories about who is told of those.
pub(crate) fn of_user(user: &User) -> NewChange {
    NewChange {
        project_id: None,
        entity: Entity::User,
        entity_id: user.id,
        item_id: None,
        other_item_id: None,
        label: user.username.clone(),
        action: Action::Updated,
        rev: user.rev,
        before: Attributes::new(),
        after: Attributes::new(),
    }
}

pub(crate) fn content_hash(item: &Item) -> String {
    Item::hash(
        &item.title,
        &item.description,
        item.requirement_type.as_deref(),
        &item.attributes,
    )
}

pub(crate) fn pointer(item: &Item) -> Pointer {
    Pointer {
        id: item.id,
        reference_id: item.reference_id.clone(),
    }
}

pub(crate) fn user(name: &str) -> User {
    User {
        id: Uuid::now_v7(),
        username: name.to_owned(),
        email: Some(format!("{name}@example.org")),
        role: Role::Administrator,
        active: true,
        owner: None,
        owner_id: None,
        rev: 1,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    }
}

pub(crate) fn project(key: &str) -> Project {
    Project {
        id: Uuid::now_v7(),
        key: key.to_owned(),
        name: key.to_owned(),
        description: String::new(),
        attributes: vec![],
        default_role: ProjectRole::Author,
        prefix_references: false,
        rev: 1,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    }
}

pub(crate) async fn furnish(tx: &mut Tx, user: &User, project: &Project) -> Result<()> {
    accounts::insert(tx, user, "no password").await?;
    projects::insert(tx, project).await?;
    for shipped in RequirementType::shipped() {
        settings::put_requirement_type(tx, &shipped).await?;
    }
    for shipped in LinkType::shipped() {
        settings::put_link_type(tx, &shipped).await?;
    }
    for kind in Kind::ALL {
        if let Some(workflow) = spexus_domain::workflow::Workflow::shipped(kind) {
            settings::put_workflow(tx, &workflow).await?;
        }
    }
    Ok(())
}

/// The code a refusal has; anything but a refusal is a failure of the test.
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T>) -> Code {
    match result {
        Err(Error::Refused(refusal)) => refusal.code,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// A push of evidence with two documents, and the state of something.
pub(crate) async fn push_evidence(tx: &mut Tx, project_id: Uuid, item_id: Uuid) -> Result<()> {
    let row = trace::PushRow {
        id: tx.new_id(),
        number: trace::next_number(&mut tx.conn, project_id).await?,
        digest: evidence_digest(),
        commit: "abcdef1".into(),
        ordered_at: tx.now(),
        is_dirty: false,
        is_reported: false,
        has_marks: true,
        head: "{}".into(),
        pushed_by: tx.actor().user_id,
        pushed_at: tx.now(),
    };
    trace::insert_push(tx, project_id, &row).await?;
    for (ordinal, (kind, body)) in PARTS.into_iter().enumerate() {
        trace::insert_part(tx, (project_id, row.id), ordinal, kind, body.into()).await?;
    }
    let review = trace::ReviewRow {
        item_id,
        kind: ReviewKind::Waived,
        why: "later".into(),
        reviewer: "kim".into(),
        content_hash: "h".into(),
        fingerprint: "f".into(),
        reviewed_at: tx.now(),
        expires_at: Some(tx.now()),
    };
    trace::put_review(tx, project_id, &review).await?;
    let change = NewChange::new(Entity::Evidence, row.id, "evidence", Action::Created, 1);
    tx.record(change.in_project(project_id)).await?;
    let moved = [(item_id, spexus_domain::trace::Rung::Passed)];
    spexus_store::trace_steps::keep(tx, project_id, "abcdef1", &moved).await?;
    let state = trace::StateRow {
        item_id,
        trace: ItemTrace::default(),
        content_hash: String::new(),
        confirmed_hash: String::new(),
        ground: "{}".into(),
    };
    trace::put_states(tx, project_id, &[state]).await?;
    trace::put_head(tx, project_id, "{}", Some(vec![1])).await
}

const PARTS: [(PartKind, &str); 2] = [(PartKind::Marks, "{}\n"), (PartKind::Tests, "{}\n{}\n")];

/// The digest of what `push_evidence` pushes.
pub(crate) fn evidence_digest() -> [u8; 32] {
    let head = trace::head_of_digest("abcdef1", false, false, "{}");
    let mut digest = trace::PushDigest::new(&head);
    for (ordinal, (kind, body)) in PARTS.into_iter().enumerate() {
        digest.add(ordinal, kind, body);
    }
    digest.finish()
}

/// A review of an item that asks one person.
pub(crate) fn review_of(item_id: Uuid, user_id: Uuid) -> Review {
    Review {
        id: Uuid::from_u128(6),
        project: String::new(),
        number: 1,
        title: "Is it right?".into(),
        description: String::new(),
        state: ReviewState::Open,
        created_by: String::new(),
        creator_id: user_id,
        reviewers: vec![Reviewer {
            username: String::new(),
            user_id,
            verdict: None,
            reason: String::new(),
            decided_at: None,
        }],
        items: vec![ReviewedItem {
            id: item_id,
            reference_id: spexus_domain::Reference::of_kind(Kind::Requirement, 1).into(),
            kind: Kind::Requirement,
            title: String::new(),
            rev: 1,
            current_rev: 1,
            is_as_asked: true,
            content_hash: "h".into(),
        }],
        rev: 1,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    }
}
