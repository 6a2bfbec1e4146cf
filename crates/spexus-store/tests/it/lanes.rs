//! Lanes on PostgreSQL: writers of different projects do not wait for each other, and whoever follows all projects is given every
//! change once and in one order, whatever writers finish first.

use crate::world::{World, actor_of, create_in, make, of_item};
use spexus_domain::Kind;
use spexus_domain::change::Action;
use spexus_domain::project::Project;
use spexus_store::{Error, Store, StoreOptions, changes, projects};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);
const A_WHILE: Duration = Duration::from_millis(300);

async fn raw(world: &World) -> PgConnection {
    PgConnection::connect(&world.place.url()).await.unwrap()
}

async fn epic_beside(store: &Store, world: &World, project: &Project, title: &str) {
    let mut draft = world.draft(Kind::Epic, title);
    draft.project = project.clone();
    let job = store.write_in(project.id, actor_of(&world.user), move |tx| {
        Box::pin(async move { make(tx, &draft).await })
    });
    timeout(SOON, job).await.unwrap().unwrap();
}

/// A write in a project that stays in the middle until it is let go.
struct SlowWrite {
    go_on: oneshot::Sender<()>,
    writing: tokio::task::JoinHandle<spexus_store::Result<()>>,
}

impl SlowWrite {
    async fn begin(world: &World, project: &Project) -> Self {
        let (go_on, wait) = oneshot::channel::<()>();
        let (entered, inside) = oneshot::channel();
        let (store, actor, id) = (world.store.clone(), world.actor(), project.id);
        let mut draft = world.draft(Kind::Epic, "slow");
        draft.project = project.clone();
        let both = Arc::new(std::sync::Mutex::new(Some((wait, entered))));
        let writing = tokio::spawn(async move {
            store
                .write_in(id, actor, move |tx| {
                    Box::pin(async move {
                        make(tx, &draft).await?;
                        let taken = both.lock().unwrap().take();
                        if let Some((wait, entered)) = taken {
                            let _ = entered.send(());
                            let _ = wait.await;
                        }
                        Ok(())
                    })
                })
                .await
        });
        timeout(SOON, inside).await.unwrap().unwrap();
        Self { go_on, writing }
    }

    async fn end(self) {
        self.go_on.send(()).unwrap();
        timeout(SOON, self.writing).await.unwrap().unwrap().unwrap();
    }
}

/// Everything a follower of all projects has seen.
#[derive(Default)]
struct Follower {
    seen: Vec<i64>,
    after: i64,
}

impl Follower {
    async fn read(&mut self, store: &Store) {
        loop {
            let mut conn = store.read().await.unwrap();
            let found = changes::since(&mut conn, None, self.after, 7).await.unwrap();
            let Some(last) = found.last() else { return };
            self.after = last.seq;
            self.seen.extend(found.iter().map(|change| change.seq));
        }
    }
}

//= specs/spexus-store.md#several-processes
//= type=test
//# Writes of different projects MUST NOT wait for each other on PostgreSQL.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_write_keeps_only_its_own_project_waiting() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let (other, _) = world.place.open().await.unwrap();
    let (web, app) = (
        world.another_project("web").await,
        world.another_project("app").await,
    );
    let slow = SlowWrite::begin(&world, &web).await;
    // Projects that share a writer of one process take turns there; another process has writers of its own.
    epic_beside(&other, &world, &app, "meanwhile").await;
    let same = epic_beside(&other, &world, &web, "behind it");
    let mut same = Box::pin(same);
    assert!(
        timeout(A_WHILE, &mut same).await.is_err(),
        "one project has one writer"
    );
    let anywhere = create_in(&other, world.actor(), world.draft(Kind::Epic, "anywhere"));
    let mut anywhere = Box::pin(anywhere);
    assert!(
        timeout(A_WHILE, &mut anywhere).await.is_err(),
        "who may write anywhere is alone"
    );
    slow.end().await;
    same.await;
    anywhere.await.unwrap();
    world.chain_is_whole().await;
}

//= specs/spexus-store.md#several-processes
//= type=test
//# Who follows the changes of all projects MUST be given each of them once and in one order, whatever writers of several
//# projects finish first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_is_finished_late_is_told_in_its_place() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let (web, app) = (
        world.another_project("web").await,
        world.another_project("app").await,
    );
    let mut follower = Follower::default();
    follower.read(&world.store).await;
    let known = follower.seen.len();
    let (other, _) = world.place.open().await.unwrap();
    let slow = SlowWrite::begin(&world, &web).await;
    epic_beside(&other, &world, &app, "later and finished first").await;
    follower.read(&world.store).await;
    assert_eq!(
        follower.seen.len(),
        known,
        "nothing behind what is not finished is shown"
    );
    let mut conn = world.read().await;
    let own = changes::since(&mut conn, Some(app.id), 0, 9).await.unwrap();
    assert_eq!(own.len(), 1, "a project waits for no other");
    let mut news = world.store.follow();
    news.mark_unchanged();
    slow.end().await;
    timeout(SOON, news.changed()).await.unwrap().unwrap();
    timeout(SOON, async {
        while follower.seen.len() < known + 2 {
            follower.read(&world.store).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    assert!(follower.seen.is_sorted_by(|a, b| a < b), "{:?}", follower.seen);
}

/// A writer that died, another database of the server in which something has been running for long, and locks there that look
/// like ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_a_dead_writer_nor_another_database_holds_the_feed_up() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let app = world.another_project("app").await;
    let Some(foreign) = test_support::fresh_database() else {
        return;
    };
    let mut foreign = PgConnection::connect(&foreign).await.unwrap();
    let busy = "BEGIN; SELECT pg_current_xact_id(); SELECT pg_advisory_xact_lock_shared(CAST(75329 AS bigint) << 44)";
    foreign.execute(busy).await.unwrap();
    let mut follower = Follower::default();
    epic_beside(&world.store, &world, &app, "one").await;
    follower.read(&world.store).await;
    assert_eq!(follower.seen.len(), 1, "another database is none of our business");

    let mut dying = raw(&world).await;
    let begun = "BEGIN; SELECT pg_advisory_xact_lock_shared(75327); SELECT pg_advisory_xact_lock_shared((CAST(75329 AS bigint) << 44) \
                 | last_value) FROM change_seq_seq; SELECT nextval('change_seq_seq'); SELECT pg_backend_pid() AS pid";
    let rows = sqlx::raw_sql(begun).fetch_all(&mut dying).await.unwrap();
    let pid: i32 = rows.last().unwrap().get("pid");
    epic_beside(&world.store, &world, &app, "two").await;
    follower.read(&world.store).await;
    assert_eq!(follower.seen.len(), 1, "it may still write in front of that");
    world
        .place
        .meddle(&format!("SELECT pg_terminate_backend({pid})"))
        .await;
    timeout(SOON, async {
        while follower.seen.len() < 2 {
            follower.read(&world.store).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    world.chain_is_whole().await;
}

//= specs/spexus-store.md#several-processes
//= type=test
//# A write that turns out to concern more than the project it was begun in MUST be undone and done again alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_leaves_its_project_is_done_once_and_alone() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let (web, app) = (
        world.another_project("web").await,
        world.another_project("app").await,
    );
    let runs = Arc::new(AtomicUsize::new(0));
    let mut drafts = Vec::new();
    for project in [&web, &app] {
        let mut draft = world.draft(Kind::Epic, "both");
        draft.project = project.clone();
        drafts.push(draft);
    }
    let counted = runs.clone();
    let job = world.store.write_in(web.id, world.actor(), move |tx| {
        Box::pin(async move {
            counted.fetch_add(1, Ordering::Relaxed);
            for draft in drafts {
                make(tx, &draft).await?;
            }
            Ok(())
        })
    });
    job.await.unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(world.place.number("SELECT count(*) FROM item").await, 2);

    // A setting is remembered by every writer, so nobody changes it beside others.
    let (name, id) = ("Web, renamed".to_owned(), web.id);
    let job = world.store.write_in(web.id, world.actor(), move |tx| {
        Box::pin(async move {
            let mut project = projects::by_id(&mut tx.conn, id).await?.unwrap();
            project.name = name;
            projects::update(tx, &project).await
        })
    });
    job.await.unwrap();
    let seen = world.store.write_in(web.id, world.actor(), move |tx| {
        Box::pin(async move { Ok(projects::by_id(&mut tx.conn, id).await?.unwrap().name) })
    });
    assert_eq!(seen.await.unwrap(), "Web, renamed");

    // What is refused is refused, and leaves nothing.
    let item = world.epic_in(&app, "changed by a failing write").await;
    let job = world.store.write_in(web.id, world.actor(), move |tx| {
        Box::pin(async move {
            tx.record(of_item(&item, Action::Updated)).await?;
            Err::<(), _>(Error::Broken("on purpose".into()))
        })
    });
    job.await.unwrap_err();
    world.chain_is_whole().await;
}

/// Locks that somebody waits for: which key of ours, or the end of whose transaction. That a file is just being made longer is
/// no lock of anybody's.
async fn waited_for(conn: &mut PgConnection) -> BTreeSet<String> {
    // PostgreSQL lets only one transaction that notifies commit at a time, in all its databases. Writes notify after their commit: who
    // waits there has no project to itself any more.
    let sql = "SELECT w.locktype || ' ' || coalesce(CAST(w.classid AS bigint), 0) || ' ' || coalesce(w.objsubid, 0) AS lock FROM pg_locks w \
               WHERE NOT w.granted AND w.locktype <> 'extend' \
               AND w.pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database()) \
               AND NOT (w.locktype = 'object' AND w.classid = 1262 AND w.objid = 0 AND NOT EXISTS \
               (SELECT 1 FROM pg_locks h WHERE h.pid = w.pid AND h.granted AND h.locktype = 'advisory'))";
    let rows = sqlx::query(sql).fetch_all(conn).await.unwrap();
    rows.iter().map(|row| row.get("lock")).collect()
}

//= specs/spexus-store.md#several-processes
//= type=test
//# Writers of several processes on one database MUST keep every ledger whole and one series of numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_projects_are_written_by_two_nodes_at_once() {
    const PROJECTS: usize = 16;
    const EACH: usize = 12;
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let options = StoreOptions {
        max_project_writers: 8,
        ..StoreOptions::default()
    };
    let (other, _) = world.place.open_with(&options).await.unwrap();
    let mut rooms = Vec::new();
    for n in 0..PROJECTS {
        rooms.push(world.another_project(&format!("p{n}")).await);
    }
    let before = changes::head(&mut world.read().await).await.unwrap();
    let done = Arc::new(AtomicBool::new(false));
    let (stop, store) = (done.clone(), world.store.clone());
    let following = tokio::spawn(async move {
        let mut follower = Follower {
            after: before,
            seen: vec![],
        };
        while !stop.load(Ordering::Relaxed) {
            follower.read(&store).await;
            tokio::task::yield_now().await;
        }
        follower.read(&store).await;
        follower.seen
    });
    let (stop, mut watching) = (done.clone(), raw(&world).await);
    let sampling = tokio::spawn(async move {
        let (mut waits, mut samples) = (BTreeSet::new(), 0);
        while !stop.load(Ordering::Relaxed) {
            waits.extend(waited_for(&mut watching).await);
            samples += 1;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        (waits, samples)
    });
    let mut writers = tokio::task::JoinSet::new();
    for (n, room) in rooms.iter().enumerate() {
        for store in [&world.store, &other] {
            let (store, user, room) = (store.clone(), world.user.clone(), room.clone());
            let draft = world.draft(Kind::Epic, "the same words everywhere");
            writers.spawn(async move {
                for i in 0..EACH {
                    let mut draft = draft.clone();
                    draft.project = room.clone();
                    let pause = Duration::from_millis(((n * 7 + i * 3) % 5) as u64);
                    let job = store.write_in(room.id, actor_of(&user), move |tx| {
                        Box::pin(async move {
                            let made = make(tx, &draft).await?;
                            // Some hold an old number while others go on.
                            tokio::time::sleep(pause).await;
                            Ok(made)
                        })
                    });
                    job.await.unwrap();
                }
            });
        }
    }
    timeout(Duration::from_secs(120), writers.join_all())
        .await
        .unwrap();
    done.store(true, Ordering::Relaxed);
    let (waits, samples) = sampling.await.unwrap();
    let seen = following.await.unwrap();
    // A lock with two halves is that of one project.
    let foreign: Vec<_> = waits.iter().filter(|lock| *lock != "advisory 75328 2").collect();
    assert!(foreign.is_empty(), "in {samples} samples: {foreign:?}");
    let all = PROJECTS * EACH * 2;
    assert_eq!(seen.len(), all, "each change once");
    assert!(seen.is_sorted_by(|a, b| a < b));
    world.chain_is_whole().await;
    for room in &rooms {
        let sql = format!("SELECT max(number) FROM change WHERE ledger = '{}'", room.id);
        assert_eq!(world.place.number(&sql).await, (EACH * 2) as i64);
    }
}
