//! Several stores on one database, and a database that goes away: nobody is left behind, nobody stops for ever.

use crate::world::{Place, World, actor_of, both, create_in, of_user};
use spexus_domain::{Code, Kind};
use spexus_store::{Error, Store, StoreOptions, changes, items, projects};

both![
    a_foreign_commit_wakes_those_who_follow,
    a_foreign_change_of_accounts_is_noticed,
    a_foreign_change_of_accounts_is_noticed_behind_an_own_write,
    an_own_change_of_accounts_is_noticed_at_once,
    writers_of_two_stores_interleave,
    one_connection_is_enough_to_read_and_to_follow,
    a_write_sees_settings_as_they_are,
];

async fn change_account(store: &Store, world: &World) {
    let user = world.user.clone();
    store
        .write(world.actor(), move |tx| {
            Box::pin(async move { tx.record(of_user(&user)).await })
        })
        .await
        .unwrap();
}

//= specs/spexus-store.md#several-processes
//= type=test
//# A commit of another process MUST wake those who follow the history.
async fn a_foreign_commit_wakes_those_who_follow(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    let mut following = other.follow();
    for expect in 1..=5 {
        world.epic("news").await;
        let seen = *following.wait_for(|seq| *seq >= expect).await.unwrap();
        assert_eq!(seen, expect);
        let head = changes::head(&mut other.read().await.unwrap()).await.unwrap();
        assert_eq!(head, expect, "what is told of can be read");
    }
}

async fn a_foreign_change_of_accounts_is_noticed(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    let before = other.accounts_generation();
    let mut following = other.follow();
    change_account(&world.store, &world).await;
    following.wait_for(|seq| *seq >= 1).await.unwrap();
    assert_ne!(other.accounts_generation(), before);
}

//= specs/spexus-store.md#several-processes
//= type=test
//# A change of accounts by another process MUST change the generation of accounts, also when an own write follows it.
/// Our own larger number must not hide that another node revoked a token in between.
async fn a_foreign_change_of_accounts_is_noticed_behind_an_own_write(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    for _ in 0..20 {
        let before = other.accounts_generation();
        change_account(&world.store, &world).await;
        create_in(&other, world.actor(), world.draft(Kind::Epic, "own"))
            .await
            .unwrap();
        assert_ne!(other.accounts_generation(), before);
    }
}

async fn an_own_change_of_accounts_is_noticed_at_once(world: World) {
    let before = world.store.accounts_generation();
    change_account(&world.store, &world).await;
    assert_ne!(world.store.accounts_generation(), before);
}

//= specs/spexus-store.md#several-processes
//= type=test
//# Writers of several processes on one database MUST keep every ledger whole and one series of numbers.
async fn writers_of_two_stores_interleave(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for store in [&world.store, &other, &world.store, &other] {
        let (store, user, draft) = (
            store.clone(),
            world.user.clone(),
            world.draft(Kind::Epic, "one of many"),
        );
        writers.spawn(async move {
            for _ in 0..25 {
                create_in(&store, actor_of(&user), draft.clone()).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    world.chain_is_whole().await;
    assert_eq!(world.place.number("SELECT max(number) FROM item").await, 100);
    assert_eq!(world.place.number("SELECT count(*) FROM change").await, 100);
    for store in [&world.store, &other] {
        store.follow().wait_for(|seq| *seq == 100).await.unwrap();
    }
}

//= specs/spexus-store.md#several-processes
//= type=test
//# Following the history MUST NOT take a connection away from readers.
async fn one_connection_is_enough_to_read_and_to_follow(world: World) {
    let options = StoreOptions {
        max_read_connections: 1,
        ..StoreOptions::default()
    };
    let (other, _) = world.place.open_with(&options).await.unwrap();
    let mut following = other.follow();
    world.epic("news").await;
    following.wait_for(|seq| *seq >= 1).await.unwrap();
    other.ping().await.unwrap();
}

/// Names the project, and fails afterwards when told to. Answers the name the write found before.
async fn rename(store: &Store, world: &World, name: &str, fail: bool) -> Result<String, Error> {
    let (id, name, user) = (world.project.id, name.to_owned(), world.user.clone());
    store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let mut project = projects::by_id(&mut tx.conn, id).await?.unwrap();
                let before = std::mem::replace(&mut project.name, name.clone());
                projects::update(tx, &project).await?;
                let now = projects::by_id(&mut tx.conn, id).await?.unwrap().name;
                assert_eq!(now, name, "a write sees what it wrote");
                tx.record(of_user(&user)).await?;
                match fail {
                    true => Err(Error::Broken("on purpose".into())),
                    false => Ok(before),
                }
            })
        })
        .await
}

//= specs/spexus-store.md#several-processes
//= type=test
//# A write MUST see settings and projects as they are, whichever process changed them last.
async fn a_write_sees_settings_as_they_are(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    rename(&world.store, &world, "one", false).await.unwrap();
    assert_eq!(rename(&other, &world, "two", false).await.unwrap(), "one");
    assert_eq!(rename(&world.store, &world, "three", false).await.unwrap(), "two");
    rename(&world.store, &world, "undone", true).await.unwrap_err();
    assert_eq!(
        rename(&world.store, &world, "four", false).await.unwrap(),
        "three"
    );
}

async fn end_all_connections(place: &Place) {
    place
        .number(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
}

//= specs/spexus-store.md#writes
//= type=test
//# A connection that died before a write began MUST NOT cost that write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_costs_no_write() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    for _ in 0..5 {
        world.epic("before").await;
        end_all_connections(&world.place).await;
        world.epic("after").await;
    }
    world.chain_is_whole_after_a_while().await;
    assert_eq!(world.place.number("SELECT max(number) FROM item").await, 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_lost_inside_a_write_costs_that_write_only() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let url = world.place.url();
    let draft = world.draft(Kind::Epic, "never");
    let lost = world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                end_all_connections(&Place::of(spexus_store::Location::Server(url))).await;
                crate::world::make(tx, &draft).await
            })
        })
        .await;
    assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
    let made = world.epic("the writer lives").await;
    assert_eq!(made.reference_id.to_string(), "EP-001");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_follow_hear_again_after_a_lost_connection() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let (other, _) = world.place.open().await.unwrap();
    let mut following = other.follow();
    end_all_connections(&world.place).await;
    let made = world.epic("news").await;
    following.wait_for(|seq| *seq >= 1).await.unwrap();
    let mut conn = other.read().await.unwrap();
    assert_eq!(items::by_id(&mut conn, made.id).await.unwrap(), Some(made));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_holds_the_lock_makes_others_wait_and_then_refuse() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let hasty = StoreOptions {
        max_write_wait_ms: 1_000,
        ..StoreOptions::default()
    };
    let (other, _) = world.place.open_with(&hasty).await.unwrap();
    let (entered, go_on) = (tokio::sync::Notify::new(), tokio::sync::Notify::new());
    let (entered, go_on) = (std::sync::Arc::new(entered), std::sync::Arc::new(go_on));
    let holding = tokio::spawn({
        let (store, actor) = (world.store.clone(), world.actor());
        let (entered, go_on) = (entered.clone(), go_on.clone());
        async move {
            let held = store.write(actor, move |_| {
                Box::pin(async move {
                    entered.notify_one();
                    go_on.notified().await;
                    Ok(())
                })
            });
            held.await
        }
    });
    entered.notified().await;
    let waited = create_in(&other, world.actor(), world.draft(Kind::Epic, "waits")).await;
    let refusal = waited.unwrap_err().into_refusal();
    assert_eq!(refusal.code, Code::DependencyUnavailable, "{refusal:?}");
    go_on.notify_one();
    holding.await.unwrap().unwrap();
    create_in(&other, world.actor(), world.draft(Kind::Epic, "goes on"))
        .await
        .unwrap();
}
