//! Nobody waits for ever, nobody is worked for who left, and whoever hears "too late" can rely on it.

use crate::proxy::Proxy;
use crate::world::{Place, World, actor_of, both, create_in, make};
use futures_util::future::{join, join_all};
use spexus_domain::{Code, Kind, Refusal};
use spexus_store::deadline::{self, Overrun};
use spexus_store::{Error, Location, Result, Store, StoreOptions, changes};
use sqlx::{Connection as _, Executor as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

both![
    a_write_answered_too_late_is_never_done,
    writes_that_wait_are_each_refused_at_their_own_time,
    a_lock_timeout_costs_the_next_write_nothing,
    a_caller_that_leaves_while_its_job_runs_leaves_no_trace,
    a_job_that_is_kept_is_waited_for,
    a_transaction_of_many_steps_gives_the_writer_back,
    a_long_transaction_costs_no_other_write,
    a_write_that_takes_too_long_is_undone,
    look_ups_do_not_wait_for_readers,
];

/// Longer than anything here may take, and shorter than the patience of whoever runs the tests.
const PATIENCE: Duration = Duration::from_secs(45);

/// Holds the place of the one writer from outside, as another node does.
enum Held {
    File(rusqlite::Connection),
    Server(sqlx::PgConnection),
}

impl Held {
    async fn by_another(place: &Place) -> Self {
        match &place.location {
            Location::File(path) => {
                let raw = rusqlite::Connection::open(path).unwrap();
                raw.execute_batch("BEGIN IMMEDIATE").unwrap();
                Self::File(raw)
            }
            Location::Server(url) => {
                let mut raw = sqlx::PgConnection::connect(url).await.unwrap();
                raw.execute("BEGIN; SELECT pg_advisory_xact_lock(75327)")
                    .await
                    .unwrap();
                Self::Server(raw)
            }
        }
    }

    async fn release(self) {
        match self {
            Self::File(raw) => raw.execute_batch("ROLLBACK").unwrap(),
            Self::Server(mut raw) => {
                raw.execute("ROLLBACK").await.unwrap();
                raw.close().await.unwrap();
            }
        }
    }
}

fn told<T: std::fmt::Debug>(result: Result<T>) -> Refusal {
    result.unwrap_err().into_refusal()
}

fn fact<'r>(refusal: &'r Refusal, name: &str) -> Option<&'r str> {
    let found = refusal.facts.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str())
}

async fn items(world: &World) -> i64 {
    world.place.number("SELECT count(*) FROM item").await
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work)
        .await
        .expect("it is given up in time")
}

//= specs/spexus-store.md#time
//= type=test
//# A request that is told that it took too long MUST have written nothing, then or later, unless it is told that the outcome
//# is not known.
async fn a_write_answered_too_late_is_never_done(world: World) {
    world.epic("the connection is in use").await;
    let held = Held::by_another(&world.place).await;
    let create = |at: usize| {
        let title = format!("late {at}");
        let creating = world.try_create(world.draft(Kind::Epic, &title));
        deadline::within(Duration::from_millis(50), creating)
    };
    let answers = join_all((0..12).map(create)).await;
    for answer in answers {
        assert_eq!(answer.map(drop).unwrap_err(), Overrun::NothingDone);
    }
    held.release().await;
    let next = in_time(world.epic("next")).await;
    assert_eq!(next.reference_id.to_string(), "EP-002");
    assert_eq!(items(&world).await, 2, "nothing was done later");
    world.chain_is_whole().await;
}

fn hasty() -> StoreOptions {
    StoreOptions {
        max_write_wait_ms: 1_000,
        ..StoreOptions::default()
    }
}

//= specs/spexus-store.md#time
//= type=test
//# A write that did not begin within its time MUST be refused then, whatever waits before it, and MUST leave no trace.
/// One after the other they would need a minute and more.
async fn writes_that_wait_are_each_refused_at_their_own_time(world: World) {
    let (store, _) = world.place.open_with(&hasty()).await.unwrap();
    let held = Held::by_another(&world.place).await;
    let create = |_| create_in(&store, world.actor(), world.draft(Kind::Epic, "waits"));
    let answers = in_time(join_all((0..60).map(create))).await;
    for answer in answers {
        let refusal = told(answer);
        assert_eq!(refusal.code, Code::DependencyUnavailable, "{refusal:?}");
    }
    held.release().await;
    in_time(world.epic("goes on")).await;
    assert_eq!(items(&world).await, 1);
}

async fn a_lock_timeout_costs_the_next_write_nothing(world: World) {
    let (store, _) = world.place.open_with(&hasty()).await.unwrap();
    let create = async |title: &str| create_in(&store, world.actor(), world.draft(Kind::Epic, title)).await;
    for round in 1..=3 {
        // Only a connection that was used before is kept with what is open on it.
        create("before").await.unwrap();
        let held = Held::by_another(&world.place).await;
        let refusal = told(in_time(create("waits")).await);
        assert_eq!(refusal.code, Code::DependencyUnavailable, "{refusal:?}");
        held.release().await;
        create("after").await.unwrap();
        assert_eq!(items(&world).await, 2 * round);
    }
    world.chain_is_whole().await;
}

/// Makes an item, tells that it has, and goes on when it is told to.
struct Slow {
    made: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl Slow {
    fn new() -> Self {
        Self {
            made: Arc::default(),
            go_on: Arc::default(),
        }
    }

    fn create(
        &self,
        store: &Store,
        world: &World,
        title: &str,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        let (made, go_on) = (self.made.clone(), self.go_on.clone());
        let (store, actor, draft) = (
            store.clone(),
            actor_of(&world.user),
            world.draft(Kind::Epic, title),
        );
        async move {
            let job = store.write(actor, move |tx| {
                Box::pin(async move {
                    make(tx, &draft).await?;
                    made.notify_one();
                    go_on.notified().await;
                    Ok(())
                })
            });
            job.await
        }
    }
}

//= specs/spexus-store.md#time
//= type=test
//# A write whose caller left before it was finished MUST leave no trace.
async fn a_caller_that_leaves_while_its_job_runs_leaves_no_trace(world: World) {
    let slow = Slow::new();
    let leaving = tokio::spawn(slow.create(&world.store, &world, "left behind"));
    slow.made.notified().await;
    leaving.abort();
    assert!(leaving.await.unwrap_err().is_cancelled());
    slow.go_on.notify_one();
    let next = in_time(world.epic("next")).await;
    assert_eq!(next.reference_id.to_string(), "EP-001", "no number was lost");
    assert_eq!(items(&world).await, 1);
    world.chain_is_whole().await;
}

/// Two jobs share a transaction: the first is done and kept when its time is over, so its outcome is waited for.
async fn a_job_that_is_kept_is_waited_for(world: World) {
    let (first, second) = (Slow::new(), Slow::new());
    let (creating, holding) = (
        first.create(&world.store, &world, "kept"),
        second.create(&world.store, &world, "holds"),
    );
    let limit = Duration::from_millis(200);
    let kept = tokio::spawn(deadline::within(limit, creating));
    first.made.notified().await;
    let held = tokio::spawn(holding);
    while world.store.queued_writes() == 0 {
        tokio::task::yield_now().await;
    }
    first.go_on.notify_one();
    second.made.notified().await;
    tokio::time::sleep(limit * 2).await;
    assert!(!kept.is_finished(), "it cannot be taken back any more");
    second.go_on.notify_one();
    kept.await.unwrap().unwrap().unwrap();
    held.await.unwrap().unwrap();
    assert_eq!(items(&world).await, 2);
}

fn short_transactions() -> StoreOptions {
    StoreOptions {
        max_transaction_ms: 200,
        ..StoreOptions::default()
    }
}

//= specs/spexus-store.md#time
//= type=test
//# A transaction of many steps that takes longer than its limit MUST be undone and refused, and MUST free the writer.
async fn a_transaction_of_many_steps_gives_the_writer_back(world: World) {
    let (store, _) = world.place.open_with(&short_transactions()).await.unwrap();
    for holds_connection in [false, true] {
        let (actor, draft) = (world.actor(), world.draft(Kind::Epic, "half"));
        let endless = store.together(world.actor(), true, |inside| async move {
            create_in(&inside, actor.clone(), draft.clone()).await?;
            let conn = match holds_connection {
                true => Some(inside.read().await?),
                false => None,
            };
            loop {
                tokio::time::sleep(Duration::from_millis(20)).await;
                if conn.is_none() {
                    create_in(&inside, actor.clone(), draft.clone()).await?;
                } else if inside
                    .write(actor.clone(), |_| Box::pin(async { Ok(()) }))
                    .await
                    .is_err()
                {
                    return Ok(());
                }
            }
        });
        let refusal = told(in_time(endless).await);
        assert_eq!(refusal.code, Code::Timeout, "{refusal:?}");
        assert!(refusal.message.contains("200 ms"), "{}", refusal.message);
        assert_eq!(fact(&refusal, "outcome"), Some("nothing_done"));
        assert_eq!(items(&world).await, i64::from(holds_connection));
        let next = create_in(&store, world.actor(), world.draft(Kind::Epic, "next"));
        in_time(next).await.unwrap();
    }
    world.chain_is_whole().await;
}

/// What waits with it has a transaction of its own, so that it is neither kept waiting for it nor lost with it.
async fn a_long_transaction_costs_no_other_write(world: World) {
    let (store, _) = world.place.open_with(&short_transactions()).await.unwrap();
    let slow = Slow::new();
    let first = tokio::spawn(slow.create(&store, &world, "first"));
    slow.made.notified().await;
    let (holder, actor) = (store.clone(), world.actor());
    let endless = tokio::spawn(async move {
        let holding = holder.together(actor, true, |inside| async move {
            let conn = inside.read().await?;
            std::future::pending::<()>().await;
            drop(conn);
            Ok(())
        });
        tokio::time::timeout(PATIENCE, holding).await
    });
    while store.queued_writes() == 0 {
        tokio::task::yield_now().await;
    }
    let last = tokio::spawn({
        let (store, actor, draft) = (store.clone(), world.actor(), world.draft(Kind::Epic, "last"));
        async move { create_in(&store, actor, draft).await }
    });
    slow.go_on.notify_one();
    in_time(first).await.unwrap().unwrap();
    in_time(last).await.unwrap().unwrap();
    endless.abort();
    assert_eq!(items(&world).await, 2);
}

async fn a_write_that_takes_too_long_is_undone(world: World) {
    let options = StoreOptions {
        max_write_ms: 100,
        ..StoreOptions::default()
    };
    let (store, _) = world.place.open_with(&options).await.unwrap();
    let draft = world.draft(Kind::Epic, "again and again");
    let endless = store.write(world.actor(), move |tx| {
        Box::pin(async move {
            loop {
                make(tx, &draft).await?;
            }
        })
    });
    let refusal = told::<()>(in_time(endless).await);
    assert_eq!(refusal.code, Code::Timeout, "{refusal:?}");
    assert_eq!(items(&world).await, 0);
    in_time(create_in(&store, world.actor(), world.draft(Kind::Epic, "next")))
        .await
        .unwrap();
}

//= specs/spexus-store.md#time
//= type=test
//# Reads that take long MUST NOT keep look-ups of tokens, the question whether the database answers and news of changes
//# waiting.
async fn look_ups_do_not_wait_for_readers(world: World) {
    let options = StoreOptions {
        max_read_connections: 2,
        acquire_timeout_ms: 200,
        ..StoreOptions::default()
    };
    let (store, _) = world.place.open_with(&options).await.unwrap();
    let mut following = store.follow();
    let busy = [store.read().await.unwrap(), store.read().await.unwrap()];
    assert!(store.read().await.is_err(), "no reader is free");
    store.ping().await.unwrap();
    let mut conn = store.look_up().await.unwrap();
    let found = spexus_store::accounts::by_name(&mut conn, "kim").await.unwrap();
    assert!(found.is_some());
    drop(conn);
    let generation = store.accounts_generation();
    world.another_project("news").await;
    world.epic("news").await;
    in_time(following.wait_for(|seq| *seq >= 1)).await.unwrap();
    assert_ne!(
        store.accounts_generation(),
        generation,
        "what was remembered is void"
    );
    drop(busy);
}

async fn behind_a_proxy() -> Option<(World, Proxy, Store)> {
    let world = World::on_postgres().await?;
    let proxy = Proxy::before(&world.place.url()).await;
    let (store, _) = Place::of(proxy.location.clone())
        .open_with(&hasty())
        .await
        .unwrap();
    Some((world, proxy, store))
}

//= specs/spexus-store.md#time
//= type=test
//# A connection on which nothing is answered MUST be given up within a bounded time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_holed_connection_stops_nobody_for_long() {
    let Some((world, proxy, store)) = behind_a_proxy().await else {
        return;
    };
    let create = async |title: &str| create_in(&store, world.actor(), world.draft(Kind::Epic, title)).await;
    create("before").await.unwrap();
    store.ping().await.unwrap();
    proxy.fall_silent();
    // The connection was just in use, so the first write may have to find out; it is told that nothing was done.
    let mut refused = 0;
    while in_time(create("after")).await.is_err() {
        refused += 1;
        assert!(refused < 20, "the writer is stuck");
    }
    assert_eq!(items(&world).await, 2);
    in_time(store.ping()).await.unwrap();
    world.chain_is_whole_after_a_while().await;
}

/// Statements, writes and look-ups may take longer here than the test has patience.
fn patient() -> StoreOptions {
    StoreOptions {
        max_statement_ms: 600_000,
        max_write_ms: 600_000,
        max_transaction_ms: 600_000,
        max_write_wait_ms: 600_000,
        ..StoreOptions::default()
    }
}

//= specs/spexus-store.md#time
//= type=test
//# Where a server can be reached, a connection on which it does not answer MUST be given up within seconds, however long a
//# statement may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_connection_is_told_from_a_long_statement() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let proxy = Proxy::before(&world.place.url()).await;
    let place = Place::of(proxy.location.clone());
    let (store, _) = place.open_with(&patient()).await.unwrap();
    let create = async |title: &str| create_in(&store, world.actor(), world.draft(Kind::Epic, title)).await;
    let readers = async || join_all((0..4).map(|_| store.read())).await;
    for round in 1..=2 {
        create("before").await.unwrap();
        store.ping().await.unwrap();
        // All connections were just in use, so that nobody asks them first.
        let mut reading: Vec<_> = readers().await.into_iter().map(Result::unwrap).collect();
        proxy.fall_silent();
        let reads = join_all(reading.iter_mut().map(changes::head));
        // A look-up may be given a new connection, and then it is answered.
        let (reads, _) = in_time(join(reads, store.ping())).await;
        assert!(reads.iter().all(Result::is_err));
        drop(reading);
        // Whether the write in the silence is done or not, the next one is.
        let _ = in_time(create("in the silence")).await;
        in_time(create("after")).await.unwrap();
        for read in in_time(readers()).await {
            in_time(changes::head(&mut read.unwrap())).await.unwrap();
        }
        in_time(store.ping()).await.unwrap();
        assert!(items(&world).await >= 2 * round);
    }
    world.chain_is_whole_after_a_while().await;
}

//= specs/spexus-store.md#time
//= type=test
//# A statement that the server works on MUST be waited for as long as it may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_for_another_node_is_not_taken_for_a_silent_one() {
    let Some(world) = World::on_postgres().await else {
        return;
    };
    let proxy = Proxy::before(&world.place.url()).await;
    let place = Place::of(proxy.location.clone());
    let (store, _) = place.open_with(&patient()).await.unwrap();
    create_in(&store, world.actor(), world.draft(Kind::Epic, "before"))
        .await
        .unwrap();
    let held = Held::by_another(&world.place).await;
    let waiting = {
        let (store, actor, draft) = (store.clone(), world.actor(), world.draft(Kind::Epic, "waits"));
        tokio::spawn(async move { create_in(&store, actor, draft).await })
    };
    // Each look at it is a connection; after the second one it would have been given up.
    in_time(proxy.more_connections(3)).await;
    assert!(!waiting.is_finished(), "the server works on it");
    held.release().await;
    in_time(waiting).await.unwrap().unwrap();
}

//= specs/spexus-store.md#time
//= type=test
//# A node that goes silent in the middle of a write MUST lose its place as the writer within a few seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_goes_silent_in_a_write_stops_the_others_for_seconds_only() {
    let Some((world, proxy, store)) = behind_a_proxy().await else {
        return;
    };
    let (other, _) = world.place.open_with(&hasty()).await.unwrap();
    let (draft, silent) = (world.draft(Kind::Epic, "half"), Arc::new(Notify::new()));
    let gone = silent.clone();
    let half = store.write(world.actor(), move |tx| {
        Box::pin(async move {
            make(tx, &draft).await?;
            proxy.fall_silent();
            gone.notify_one();
            make(tx, &draft).await
        })
    });
    let write = async || create_in(&other, world.actor(), world.draft(Kind::Epic, "other")).await;
    let others = async {
        silent.notified().await;
        while write().await.is_err() {}
    };
    let (half, ()) = in_time(join(half, others)).await;
    assert!(half.is_err());
    assert_eq!(items(&world).await, 1, "what the silent one began is undone");
    world.chain_is_whole_after_a_while().await;
}

//= specs/spexus-store.md#time
//= type=test
//# When the connection is lost after COMMIT was sent, the writes of that transaction MUST be told that their outcome is not
//# known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_to_a_commit_is_told_as_unknown() {
    let Some((world, proxy, store)) = behind_a_proxy().await else {
        return;
    };
    let create = async |title: &str| create_in(&store, world.actor(), world.draft(Kind::Epic, title)).await;
    create("before").await.unwrap();
    proxy.break_at_commit();
    let lost = in_time(create("perhaps")).await;
    assert!(matches!(lost, Err(Error::OutcomeUnknown(_))), "{lost:?}");
    let refusal = told(lost);
    assert_eq!(refusal.code, Code::DependencyUnavailable);
    assert_eq!(fact(&refusal, "outcome"), Some("unknown"));
    assert_eq!(items(&world).await, 2, "it was done, this time");
    let next = in_time(create("next")).await.unwrap();
    assert_eq!(next.reference_id.to_string(), "EP-003");
    world.chain_is_whole_after_a_while().await;
}
