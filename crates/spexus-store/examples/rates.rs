//! How fast the store is on this machine, beside a bare one-row transaction on the same kind of file:
//! `cargo run --profile dist -p spexus-store --example rates -- [ITEMS] [postgres://…]`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measuring tool talks and stops at the first fault"
)]

use spexus_domain::account::{Role, User};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::item::{Item, Person, Pointer};
use spexus_domain::member::ProjectRole;
use spexus_domain::project::Project;
use spexus_domain::query::{ItemFilter, Order, PageRequest};
use spexus_domain::search::Query;
use spexus_domain::{Kind, Reference, Timestamp, Uuid};
use spexus_store::verification::Effort;
use spexus_store::{
    Actor, Location, Result, Store, StoreOptions, Tx, accounts, items, listing, projects, search, tree,
    verification,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

const WORDS: &str = "system user password login report answer request second server client requirement criterion story \
    система пользователь пароль вход отчёт ответ запрос секунда сервер клиент требование критерий история проверка";

#[derive(Clone)]
struct Room {
    store: Store,
    user: User,
    project: Project,
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted: i64 = arguments.next().map_or(1_000, |n| n.parse().unwrap());
    let folder = tempfile::tempdir_in(".").unwrap();
    let location = match arguments.next() {
        Some(url) => Location::parse(&url).unwrap(),
        None => Location::File(folder.path().join("rates.db")),
    };
    let clock: spexus_store::Clock = Arc::new(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Timestamp(i64::try_from(now.unwrap().as_micros()).unwrap())
    });
    let (store, _) = Store::open(&location, &StoreOptions::default(), clock)
        .await
        .unwrap();
    let room = furnish(store).await;

    let bare = bare(&folder.path().join("bare.db"));
    println!("bare transaction        {bare:9.0} /s");
    let one = creates(&room, 1, 500).await;
    println!(
        "create, 1 client        {one:9.0} /s   {:4.0} % of bare",
        100.0 * one / bare
    );
    let many = creates(&room, 64, 6_400).await;
    println!(
        "create, 64 clients      {many:9.0} /s   {:4.1} x one client",
        many / one
    );

    let (epic, story) = fill(&room, wanted).await;
    edit(&room, wanted).await;
    verify(&room).await;
    println!("with {wanted} items more:");
    let room = &room;
    time("point read", async || {
        drop(
            items::by_id(&mut room.store.read().await.unwrap(), epic)
                .await
                .unwrap(),
        )
    })
    .await;
    let filter = ItemFilter {
        project_id: Some(room.project.id),
        kinds: vec![Kind::Requirement],
        ..ItemFilter::default()
    };
    let all = ItemFilter {
        project_id: Some(room.project.id),
        ..ItemFilter::default()
    };
    for order in [
        "created_at",
        "-updated_at",
        "title",
        "status",
        "priority",
        "position",
    ] {
        let order = Order::parse(order).unwrap();
        for (name, filter) in [("one kind", &filter), ("all kinds", &all)] {
            let what = format!("page by {} of {name}", order.field.name());
            time(&what, async || {
                let mut conn = room.store.read().await.unwrap();
                drop(
                    listing::items(&mut conn, filter, order, &PageRequest::default())
                        .await
                        .unwrap(),
                );
            })
            .await;
        }
    }
    time("tree of 500", async || {
        let mut conn = room.store.read().await.unwrap();
        let limits = tree::SubtreeLimits {
            max_depth: 10,
            max_nodes: 500,
            max_bytes: usize::MAX,
            brief: false,
        };
        let tree = tree::within(&mut conn, story, &limits).await.unwrap();
        assert!(tree.nodes.len() >= 500);
    })
    .await;
    for text in [
        "пароль",
        "password login",
        "sys",
        "\"user password\"",
        "pasword",
        "n77",
        "requirement 7",
    ] {
        time(&format!("search {text}"), async || {
            let mut conn = room.store.read().await.unwrap();
            drop(
                search::search(&mut conn, &Query::parse(text), &all, &PageRequest::default())
                    .await
                    .unwrap(),
            );
        })
        .await;
    }
    let one = creates(room, 1, 300).await;
    println!("create, 1 client        {one:9.0} /s");
}

async fn time(what: &str, work: impl AsyncFn()) {
    let mut took = Vec::new();
    for _ in 0..100 {
        let start = Instant::now();
        work().await;
        took.push(start.elapsed());
    }
    took.sort();
    let show = |at: usize| took[at].as_secs_f64() * 1e3;
    println!("{what:32} p50 {:8.3} ms   p99 {:8.3} ms", show(50), show(98));
}

fn bare(file: &std::path::Path) -> f64 {
    let conn = rusqlite::Connection::open(file).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.pragma_update(None, "synchronous", "FULL").unwrap();
    conn.execute_batch("CREATE TABLE bare (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        .unwrap();
    let start = Instant::now();
    for _ in 0..500 {
        conn.prepare_cached("INSERT INTO bare (text) VALUES (?1)")
            .unwrap()
            .execute(["a title of usual length, and a bit of text behind it"])
            .unwrap();
    }
    rate(500, start.elapsed())
}

fn rate(count: u32, took: Duration) -> f64 {
    f64::from(count) / took.as_secs_f64()
}

async fn creates(room: &Room, clients: u32, count: u32) -> f64 {
    let start = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for client in 0..clients {
        let room = room.clone();
        running.spawn(async move {
            for n in 0..count / clients {
                let (project, user) = (room.project.clone(), room.user.clone());
                let actor = actor(&user);
                let write = room.store.write(actor, move |tx| {
                    Box::pin(async move {
                        create(tx, &project, &user, Kind::Epic, None, client * 1_000 + n).await
                    })
                });
                write.await.unwrap();
            }
        });
    }
    running.join_all().await;
    rate(count, start.elapsed())
}

async fn create(
    tx: &mut Tx,
    project: &Project,
    user: &User,
    kind: Kind,
    parent: Option<Pointer>,
    n: u32,
) -> Result<Pointer> {
    let above = parent.as_ref().map(|parent| parent.id);
    let (number, position) = items::next_number_and_position(&mut tx.conn, project.id, kind, above).await?;
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let pick = |at: u32| words[(n.wrapping_mul(2_654_435_761) >> (at % 24)) as usize % words.len()];
    let title = format!("{} {} n{}", pick(1), pick(5), n % 5_000);
    let description = (0..30).map(pick).collect::<Vec<_>>().join(" ");
    let item = Item {
        id: tx.new_id(),
        reference_id: Reference::of_kind(kind, number).into(),
        project: project.key.clone(),
        project_id: project.id,
        kind,
        content_hash: Item::hash(&title, &description, None, &serde_json::Map::new()),
        title,
        description,
        status: Some(["Draft", "Active", "Obsolete"][n as usize % 3].into()),
        priority: spexus_domain::item::Priority::from_number(1 + i64::from(n % 4)),
        requirement_type: None,
        parent,
        acceptance_criterion: None,
        assignee: None,
        creator: Person {
            id: user.id,
            username: user.username.clone(),
        },
        position,
        attributes: serde_json::Map::new(),
        rev: 1,
        created_at: tx.now(),
        updated_at: tx.now(),
        deleted_at: None,
    };
    items::insert(tx, &item).await?;
    let change = NewChange {
        project_id: Some(project.id),
        entity: Entity::Item,
        entity_id: item.id,
        item_id: Some(item.id),
        other_item_id: None,
        label: item.reference_id.to_string(),
        action: Action::Created,
        rev: 1,
        before: serde_json::Map::new(),
        after: item.fields(),
    };
    tx.record(change).await?;
    Ok(Pointer {
        id: item.id,
        reference_id: item.reference_id,
    })
}

/// Fills the room; returns an epic and a story with 500 requirements.
async fn fill(room: &Room, wanted: i64) -> (Uuid, Uuid) {
    let (project, user) = (room.project.clone(), room.user.clone());
    let start = Instant::now();
    let write = room.store.write(actor(&user.clone()), move |tx| {
        Box::pin(async move {
            let epic = create(tx, &project, &user, Kind::Epic, None, 1).await?;
            let mut story = create(tx, &project, &user, Kind::UserStory, Some(epic.clone()), 1).await?;
            let first = story.id;
            for n in 0..u32::try_from(wanted).unwrap() {
                if n % 500 == 499 {
                    story = create(tx, &project, &user, Kind::UserStory, Some(epic.clone()), n).await?;
                } else {
                    create(tx, &project, &user, Kind::Requirement, Some(story.clone()), n).await?;
                }
            }
            Ok((epic.id, first))
        })
    });
    let made = write.await.unwrap();
    println!(
        "filled in one transaction {:7.0} /s",
        rate(u32::try_from(wanted).unwrap(), start.elapsed())
    );
    made
}

/// Changes the status of every item twice, so that a history is not made of beginnings only.
async fn edit(room: &Room, wanted: i64) {
    let mut ids = Vec::new();
    let (filter, mut page) = (
        ItemFilter::default(),
        PageRequest {
            limit: 200,
            ..PageRequest::default()
        },
    );
    loop {
        let found = listing::items(
            &mut room.store.read().await.unwrap(),
            &filter,
            Order::default(),
            &page,
        )
        .await
        .unwrap();
        ids.extend(found.data.iter().map(|item| item.id));
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    let write = room.store.write_long(actor(&room.user), move |tx| {
        Box::pin(async move {
            for id in ids {
                let Some(mut last) = items::by_id(&mut tx.conn, id).await? else {
                    continue;
                };
                for status in ["Active", "Draft"] {
                    let mut after = last.clone();
                    after.status = Some(status.into());
                    after.rev += 1;
                    after.updated_at = tx.now();
                    items::update(tx, &last, &after).await?;
                    let change = NewChange::new(
                        Entity::Item,
                        after.id,
                        after.reference_id.plain().to_string(),
                        Action::Updated,
                        after.rev,
                    )
                    .in_project(after.project_id)
                    .on_item(after.id, None)
                    .fields(Some(last.fields()), after.fields());
                    tx.record(change).await?;
                    last = after;
                }
            }
            Ok(())
        })
    });
    let start = Instant::now();
    write.await.unwrap();
    println!(
        "edited twice               {:7.0} /s",
        rate(2 * u32::try_from(wanted).unwrap(), start.elapsed())
    );
}

/// How fast the whole history is verified and replayed, with one connection and with as many as there are cores.
async fn verify(room: &Room) {
    for (what, effort) in [("one connection", Some(Effort::SEQUENTIAL)), ("all cores", None)] {
        for _ in 0..2 {
            let (store, owner, nobody) = (&room.store, room.user.id, Arc::new(|_| {}));
            let start = Instant::now();
            let verdict = match effort {
                Some(effort) => verification::verify_with(store, owner, vec![], nobody, effort).await,
                None => verification::verify(store, owner, vec![], nobody).await,
            };
            let (verdict, took) = (verdict.unwrap(), start.elapsed());
            assert_eq!(verdict.fault, None);
            let changes = u32::try_from(verdict.changes).unwrap();
            println!(
                "verify, {what:15}    {:9.0} changes/s   ({changes} in {took:.2?})",
                rate(changes, took)
            );
        }
    }
}

async fn furnish(store: Store) -> Room {
    let user = User {
        id: Uuid::now_v7(),
        username: "kim".into(),
        email: None,
        role: Role::Administrator,
        active: true,
        owner: None,
        owner_id: None,
        rev: 1,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    };
    let project = Project {
        id: Uuid::now_v7(),
        key: "default".into(),
        name: "default".into(),
        description: String::new(),
        attributes: vec![],
        default_role: ProjectRole::Author,
        prefix_references: false,
        rev: 1,
        created_at: Timestamp(1),
        updated_at: Timestamp(1),
    };
    let (first, place) = (user.clone(), project.clone());
    store
        .write(actor(&user), move |tx| {
            Box::pin(async move {
                accounts::insert(tx, &first, "").await?;
                projects::insert(tx, &place).await
            })
        })
        .await
        .unwrap();
    Room { store, user, project }
}

fn actor(user: &User) -> Actor {
    Actor {
        user_id: user.id,
        username: user.username.clone(),
        token_id: None,
        client: "rates".into(),
    }
}
