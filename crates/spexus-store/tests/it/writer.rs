//! The writer: jobs that wait together commit together, and each of them stands or falls alone.

use crate::world::{Place, World, actor_of, both, create_in, make, of_user, refused};
use futures_util::future::join_all;
use spexus_domain::{Code, Kind, Refusal};
use spexus_store::{Error, StoreOptions, accounts, changes};
use std::sync::Arc;
use tokio::sync::{Notify, oneshot};

both![
    a_failing_job_is_undone_alone,
    a_failing_first_job_is_undone_alone,
    a_panicking_job_costs_one_answer,
    a_job_that_breaks_a_statement_costs_one_answer,
    a_fault_that_shows_late_is_still_that_jobs_own,
    a_trial_shows_the_faults_the_real_thing_would_have,
    a_job_that_fails_before_it_begins_leaves_the_others_alone,
    a_swallowed_database_error_is_never_acknowledged_and_lost,
    a_discarded_job_answers_and_keeps_nothing,
    nobody_hears_done_before_the_commit,
    many_jobs_at_once_keep_the_chain_whole,
    a_job_whose_caller_left_is_not_worked_for,
    closing_does_what_was_accepted,
    a_closed_store_refuses,
];

/// Holds the writer inside a job until told to go on, so that others wait together behind it.
struct Gate {
    entered: Arc<Notify>,
    go_on: Option<oneshot::Sender<()>>,
    holder: tokio::task::JoinHandle<spexus_store::Result<()>>,
}

impl Gate {
    async fn close(world: &World) -> Self {
        let entered = Arc::new(Notify::new());
        let (go_on, wait) = oneshot::channel();
        let (store, actor, signal) = (world.store.clone(), world.actor(), entered.clone());
        let holder = tokio::spawn(async move {
            store
                .write(actor, move |_| {
                    Box::pin(async move {
                        signal.notify_one();
                        let _ = wait.await;
                        Ok(())
                    })
                })
                .await
        });
        entered.notified().await;
        Self {
            entered,
            go_on: Some(go_on),
            holder,
        }
    }

    async fn open(mut self) {
        self.go_on.take().unwrap().send(()).unwrap();
        self.holder.await.unwrap().unwrap();
        drop(self.entered);
    }
}

async fn titles(world: &World) -> Vec<String> {
    world.place.texts("SELECT title FROM item ORDER BY number").await
}

fn fault() -> Error {
    Refusal::new(Code::RuleViolated, "no").into()
}

//= specs/spexus-store.md#writes
//= type=test
//# A write that fails or panics MUST change nothing, and MUST NOT change the outcome of others in the same transaction.
async fn a_failing_job_is_undone_alone(world: World) {
    let gate = Gate::close(&world).await;
    let jobs = ["a", "no", "b", "no", "c"].map(|title| {
        let draft = world.draft(Kind::Epic, title);
        world.store.write(world.actor(), move |tx| {
            Box::pin(async move {
                make(tx, &draft).await?;
                if draft.title == "no" { Err(fault()) } else { Ok(()) }
            })
        })
    });
    let ((), answers) = tokio::join!(gate.open(), join_all(jobs));
    let went: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(went, [true, false, true, false, true]);
    assert_eq!(titles(&world).await, ["a", "b", "c"]);
    assert_eq!(world.place.number("SELECT max(number) FROM item").await, 3);
    world.chain_is_whole().await;
}

async fn a_failing_first_job_is_undone_alone(world: World) {
    let draft = world.draft(Kind::Epic, "no");
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (signal, wait) = (entered.clone(), go_on.clone());
    let first = world.store.write(world.actor(), move |tx| {
        Box::pin(async move {
            make(tx, &draft).await?;
            signal.notify_one();
            wait.notified().await;
            Err::<(), _>(fault())
        })
    });
    let second = async {
        entered.notified().await;
        let create = world.try_create(world.draft(Kind::Epic, "yes"));
        let (answer, ()) = tokio::join!(create, async { go_on.notify_one() });
        answer.unwrap()
    };
    let (failed, made) = tokio::join!(first, second);
    assert_eq!(refused(failed), Code::RuleViolated);
    assert_eq!(made.reference_id.to_string(), "EP-001");
    assert_eq!(titles(&world).await, ["yes"]);
    world.chain_is_whole().await;
}

//= specs/spexus-store.md#writes
//= type=test
//# A write that fails or panics MUST change nothing, and MUST NOT change the outcome of others in the same transaction.
async fn a_panicking_job_costs_one_answer(world: World) {
    let gate = Gate::close(&world).await;
    let draft = world.draft(Kind::Epic, "never");
    let panicking = world.store.write(world.actor(), move |tx| {
        Box::pin(async move {
            make(tx, &draft).await?;
            if tx.seq() > 0 {
                panic!("a bug in a job");
            }
            Ok(())
        })
    });
    let (before, after) = (
        world.try_create(world.draft(Kind::Epic, "a")),
        world.try_create(world.draft(Kind::Epic, "b")),
    );
    let ((), first, panicked, second) = tokio::join!(gate.open(), before, panicking, after);
    assert!(matches!(panicked, Err(Error::Broken(_))));
    assert_eq!(first.unwrap().reference_id.to_string(), "EP-001");
    assert_eq!(second.unwrap().reference_id.to_string(), "EP-002");
    world.epic("the writer lives").await;
    world.chain_is_whole().await;
}

/// A broken statement ends a whole PostgreSQL transaction unless someone goes back to a savepoint.
async fn a_job_that_breaks_a_statement_costs_one_answer(world: World) {
    let double = world.user.clone();
    let gate = Gate::close(&world).await;
    let (before, after) = (
        world.try_create(world.draft(Kind::Epic, "a")),
        world.try_create(world.draft(Kind::Epic, "b")),
    );
    let breaking = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { accounts::insert(tx, &double, "").await })
    });
    let ((), first, broken, second) = tokio::join!(gate.open(), before, breaking, after);
    assert_eq!(refused(broken), Code::EntityDuplicate);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(titles(&world).await, ["a", "b"]);
}

/// The id of an item is taken; nobody looks before it is written, and SQLite is told late.
async fn a_fault_that_shows_late_is_still_that_jobs_own(world: World) {
    let taken = world.epic("there before").await;
    let double = |title: &str| {
        let mut draft = world.draft(Kind::Epic, title);
        draft.id = Some(taken.id);
        world.try_create(draft)
    };
    assert_eq!(refused(double("alone").await), Code::EntityDuplicate);
    for order in ["first", "middle", "last"] {
        let gate = Gate::close(&world).await;
        let (a, b) = (
            world.try_create(world.draft(Kind::Epic, "a")),
            world.try_create(world.draft(Kind::Epic, "b")),
        );
        let (answer, a, b) = match order {
            "first" => {
                let ((), answer, a, b) = tokio::join!(gate.open(), double(order), a, b);
                (answer, a, b)
            }
            "middle" => {
                let ((), a, answer, b) = tokio::join!(gate.open(), a, double(order), b);
                (answer, a, b)
            }
            _ => {
                let ((), a, b, answer) = tokio::join!(gate.open(), a, b, double(order));
                (answer, a, b)
            }
        };
        assert_eq!(refused(answer), Code::EntityDuplicate, "{order}");
        assert!(a.is_ok() && b.is_ok(), "{order}");
    }
    assert_eq!(world.place.number("SELECT max(number) FROM item").await, 7);
    assert_eq!(world.place.number("SELECT count(*) FROM item").await, 7);
    world.chain_is_whole().await;
}

async fn a_trial_shows_the_faults_the_real_thing_would_have(world: World) {
    let mut draft = world.draft(Kind::Epic, "only a trial");
    draft.id = Some(world.epic("there before").await.id);
    let trial = world.store.write(world.actor(), move |tx| {
        Box::pin(async move {
            tx.discard();
            make(tx, &draft).await
        })
    });
    assert_eq!(refused(trial.await), Code::EntityDuplicate);
}

async fn a_job_that_fails_before_it_begins_leaves_the_others_alone(world: World) {
    let gate = Gate::close(&world).await;
    let nothing = || {
        world
            .store
            .write(world.actor(), |_| Box::pin(async { Err::<(), _>(fault()) }))
    };
    let create = |title: &str| world.try_create(world.draft(Kind::Epic, title));
    let ((), a, x, b, y, z, c) = tokio::join!(
        gate.open(),
        create("a"),
        nothing(),
        create("b"),
        nothing(),
        nothing(),
        create("c")
    );
    assert!(x.is_err() && y.is_err() && z.is_err());
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(titles(&world).await, ["a", "b", "c"]);
    world.chain_is_whole().await;
}

async fn a_swallowed_database_error_is_never_acknowledged_and_lost(world: World) {
    for alone in [true, false] {
        let (double, draft) = (world.user.clone(), world.draft(Kind::Epic, "kept or refused"));
        let gate = if alone {
            None
        } else {
            Some(Gate::close(&world).await)
        };
        let swallowing = world.store.write(world.actor(), move |tx| {
            Box::pin(async move {
                let made = make(tx, &draft).await?;
                let _ = accounts::insert(tx, &double, "").await;
                Ok(made)
            })
        });
        let open = async {
            if let Some(gate) = gate {
                gate.open().await;
            }
        };
        let (answer, ()) = tokio::join!(swallowing, open);
        if let Ok(item) = answer {
            let found = spexus_store::items::by_id(&mut world.read().await, item.id).await;
            assert!(found.unwrap().is_some(), "acknowledged, so it must be there");
        }
        world.epic("the writer lives").await;
    }
    world.chain_is_whole().await;
}

async fn a_discarded_job_answers_and_keeps_nothing(world: World) {
    let before = changes::head(&mut world.read().await).await.unwrap();
    let draft = world.draft(Kind::Epic, "only a trial");
    let trial = world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                tx.discard();
                make(tx, &draft).await
            })
        })
        .await
        .unwrap();
    assert_eq!(trial.reference_id.to_string(), "EP-001");
    assert!(titles(&world).await.is_empty());
    assert_eq!(changes::head(&mut world.read().await).await.unwrap(), before);
    assert_eq!(world.epic("real").await.reference_id.to_string(), "EP-001");
}

//= specs/spexus-store.md#writes
//= type=test
//# A write MUST be acknowledged only after it is durable.
//= specs/spexus-store.md#writes
//= type=test
//# Writes that wait together SHOULD share one transaction.
/// Two jobs wait together behind the gate; the first is finished while the second still holds their transaction.
async fn nobody_hears_done_before_the_commit(world: World) {
    let gate = Gate::close(&world).await;
    let first = tokio::spawn(create_in_owned(&world, "early"));
    until_queued(&world, 1).await;
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let second = tokio::spawn({
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
    until_queued(&world, 2).await;
    let opening = tokio::spawn(gate.open());
    entered.notified().await;
    assert!(!first.is_finished(), "its work is done, its answer is not given");
    assert_eq!(changes::head(&mut world.read().await).await.unwrap(), 0);
    go_on.notify_one();
    first.await.unwrap().unwrap();
    assert_eq!(changes::head(&mut world.read().await).await.unwrap(), 1);
    second.await.unwrap().unwrap();
    opening.await.unwrap();
}

async fn until_queued(world: &World, jobs: usize) {
    while world.store.queued_writes() < jobs {
        tokio::task::yield_now().await;
    }
}

async fn many_jobs_at_once_keep_the_chain_whole(world: World) {
    let mut running = tokio::task::JoinSet::new();
    for at in 0..300 {
        let (store, actor, user) = (world.store.clone(), world.actor(), world.user.clone());
        let draft = world.draft(Kind::Epic, &format!("item {at}"));
        running.spawn(async move {
            match at % 3 {
                0 => create_in(&store, actor, draft).await.is_ok(),
                1 => {
                    let failing = store.write(actor, move |tx| {
                        Box::pin(async move {
                            make(tx, &draft).await?;
                            Err::<(), _>(fault())
                        })
                    });
                    failing.await.is_ok()
                }
                _ => {
                    let recording = store.write(actor, move |tx| {
                        Box::pin(async move { tx.record(of_user(&user)).await })
                    });
                    recording.await.is_ok()
                }
            }
        });
    }
    let went = running.join_all().await;
    assert_eq!(went.iter().filter(|ok| **ok).count(), 200);
    world.chain_is_whole().await;
    assert_eq!(world.place.number("SELECT count(*) FROM change").await, 200);
    assert_eq!(world.place.number("SELECT max(number) FROM item").await, 100);
}

//= specs/spexus-store.md#time
//= type=test
//# A write whose caller left before it began MUST NOT be worked for.
/// Ruling 48: before COMMIT is sent, a write that nobody waits for leaves no trace.
async fn a_job_whose_caller_left_is_not_worked_for(world: World) {
    let gate = Gate::close(&world).await;
    let left = tokio::spawn(create_in_owned(&world, "left behind"));
    until_queued(&world, 1).await;
    left.abort();
    assert!(
        left.await.is_err_and(|end| end.is_cancelled()),
        "the caller is gone by now"
    );
    gate.open().await;
    world.epic("behind it").await;
    assert_eq!(titles(&world).await, ["behind it"]);
}

fn create_in_owned(
    world: &World,
    title: &str,
) -> impl Future<Output = spexus_store::Result<spexus_domain::item::Item>> + Send + 'static {
    let (store, actor, draft) = (
        world.store.clone(),
        actor_of(&world.user),
        world.draft(Kind::Epic, title),
    );
    async move { create_in(&store, actor, draft).await }
}

//= specs/spexus-store.md#writes
//= type=test
//# Writes that were accepted before the store was closed MUST be carried out.
async fn closing_does_what_was_accepted(world: World) {
    let gate = Gate::close(&world).await;
    let waiting: Vec<_> = (0..10)
        .map(|at| tokio::spawn(create_in_owned(&world, &format!("{at}"))))
        .collect();
    until_queued(&world, 10).await;
    let closing = tokio::spawn(world.store.clone().close());
    gate.open().await;
    for job in waiting {
        job.await.unwrap().unwrap();
    }
    closing.await.unwrap();
    assert_eq!(titles(&world).await.len(), 10);
}

async fn a_closed_store_refuses(world: World) {
    world.store.clone().close().await;
    let late = world.try_create(world.draft(Kind::Epic, "late")).await;
    assert_eq!(refused(late), Code::ServerShuttingDown);
    assert!(matches!(world.store.read().await, Err(Error::Unavailable(_))));
}

#[tokio::test]
async fn a_full_queue_refuses_sqlite() {
    a_full_queue_refuses(Place::sqlite()).await;
}

#[tokio::test]
async fn a_full_queue_refuses_postgres() {
    if let Some(place) = Place::postgres() {
        a_full_queue_refuses(place).await;
    }
}

//= specs/spexus-store.md#writes
//= type=test
//# Writes beyond the limit of the queue MUST be refused with QUEUE_CAP_EXCEEDED.
async fn a_full_queue_refuses(place: Place) {
    let options = StoreOptions {
        max_queued_writes: 2,
        ..StoreOptions::default()
    };
    let world = World::with(place, &options).await;
    let gate = Gate::close(&world).await;
    let (a, b, c) = (
        world.try_create(world.draft(Kind::Epic, "a")),
        world.try_create(world.draft(Kind::Epic, "b")),
        world.try_create(world.draft(Kind::Epic, "c")),
    );
    let (a, b, c, ()) = tokio::join!(a, b, c, gate.open());
    assert!(a.is_ok() && b.is_ok());
    let code = refused(c);
    assert_eq!((code, code.number()), (Code::QueueCapExceeded, 1001));
    assert_eq!(titles(&world).await, ["a", "b"]);
}
