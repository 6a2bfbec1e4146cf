//! Several reads at one moment, while others write.

use crate::world::{World, both, create_in};
use spexus_domain::{Kind, Refusal, Uuid};
use spexus_store::transfer::Snapshot;
use spexus_store::{Error, changes};

both![
    reads_together_see_one_moment_and_no_write_waits_for_them,
    what_only_reads_cannot_write,
    reading_that_is_given_up_frees_its_connection,
    half_of_the_connections_stay_for_everybody_else,
    reports_and_exports_leave_half_of_the_connections_too,
    one_user_never_holds_all_snapshots,
];

//= specs/spexus-store.md#reads
//= type=test
//# Reads that are done together MUST see one moment, and MUST NOT make a write wait.
async fn reads_together_see_one_moment_and_no_write_waits_for_them(world: World) {
    let outside = world.store.clone();
    let (actor, draft) = (world.actor(), world.draft(Kind::Epic, "meanwhile"));
    let read = world.store.snapshot(KIM, |inside| async move {
        let before = changes::head(&mut inside.read().await?).await?;
        // Done and durable before the reading goes on: the writer was free.
        create_in(&outside, actor, draft).await?;
        let now = changes::head(&mut outside.read().await?).await?;
        let after = changes::head(&mut inside.read().await?).await?;
        Ok((before, after, now))
    });
    let (before, after, now) = read.await.unwrap();
    assert_eq!((before, now), (after, before + 1));
    // No connection went back with its moment: whoever reads next, by whichever connection, sees what is there now.
    let mut conns = Vec::new();
    for _ in 0..4 {
        let mut conn = world.store.read().await.unwrap();
        assert_eq!(changes::head(&mut conn).await.unwrap(), now);
        conns.push(conn);
    }
}

async fn what_only_reads_cannot_write(world: World) {
    let (actor, draft) = (world.actor(), world.draft(Kind::Epic, "never"));
    let tried = world.store.snapshot(
        KIM,
        |inside| async move { create_in(&inside, actor, draft).await },
    );
    assert!(matches!(tried.await, Err(Error::Broken(_))));
    let refused = world.store.snapshot(KIM, |inside| async move {
        changes::head(&mut inside.read().await?).await?;
        Err::<(), _>(Error::Refused(Refusal::new(
            spexus_domain::Code::RuleViolated,
            "no",
        )))
    });
    assert!(matches!(refused.await, Err(Error::Refused(_))));
}

/// Two users who read.
const KIM: Uuid = Uuid::from_u128(1);
const LEE: Uuid = Uuid::from_u128(2);

/// As often as there are connections and more: each comes back.
async fn reading_that_is_given_up_frees_its_connection(world: World) {
    for _ in 0..6 {
        let (began, begun) = tokio::sync::oneshot::channel();
        let store = world.store.clone();
        let reading = tokio::spawn(async move {
            let work = |inside: spexus_store::Store| async move {
                changes::head(&mut inside.read().await?).await?;
                let _ = began.send(());
                std::future::pending::<Result<(), Error>>().await
            };
            store.snapshot(KIM, work).await
        });
        begun.await.unwrap();
        reading.abort();
        assert!(reading.await.is_err());
    }
    let head = world.store.snapshot(KIM, |inside| async move {
        changes::head(&mut inside.read().await?).await
    });
    assert!(head.await.is_ok());
}

async fn half_of_the_connections_stay_for_everybody_else(world: World) {
    let (release, _) = tokio::sync::broadcast::channel::<()>(1);
    let mut held = Vec::new();
    for owner in [KIM, LEE] {
        let (began, begun) = tokio::sync::oneshot::channel();
        let (store, mut released) = (world.store.clone(), release.subscribe());
        held.push(tokio::spawn(async move {
            let work = |inside: spexus_store::Store| async move {
                changes::head(&mut inside.read().await?).await?;
                let _ = began.send(());
                let _ = released.recv().await;
                Ok(())
            };
            store.snapshot(owner, work).await
        }));
        begun.await.unwrap();
    }
    // A third has to wait for its place, and whoever reads otherwise does not.
    let third = world.store.snapshot(KIM, |inside| async move {
        changes::head(&mut inside.read().await?).await
    });
    let mut third = Box::pin(third);
    assert!(futures_util::poll!(&mut third).is_pending());
    changes::head(&mut world.store.read().await.unwrap())
        .await
        .unwrap();
    release.send(()).unwrap();
    assert!(third.await.is_ok());
    for one in held {
        assert!(one.await.unwrap().is_ok());
    }
}

//= specs/spexus-store.md#reads
//= type=test
//# Reads of one moment, such as reports and exports, MUST leave half of the connections for reading to everybody else.
async fn reports_and_exports_leave_half_of_the_connections_too(world: World) {
    let first = Snapshot::begin(&world.store, KIM).await.unwrap();
    let second = Snapshot::begin(&world.store, LEE).await.unwrap();
    let mut third = Box::pin(Snapshot::begin(&world.store, KIM));
    assert!(futures_util::poll!(&mut third).is_pending());
    changes::head(&mut world.store.read().await.unwrap())
        .await
        .unwrap();
    drop(first);
    let third = third.await.unwrap();
    let Err(Error::Refused(refusal)) = Snapshot::begin(&world.store, KIM).await else {
        panic!("a third beside two");
    };
    assert_eq!(refusal.code, spexus_domain::Code::ConcurrentLimitExceeded);
    for snapshot in [second, third] {
        snapshot.end().await.unwrap();
    }
    assert!(Snapshot::begin(&world.store, KIM).await.is_ok());
}

//= specs/spexus-store.md#reads
//= type=test
//# One user MUST NOT hold more than half of what may be read at one moment, or one.
async fn one_user_never_holds_all_snapshots(world: World) {
    let first = Snapshot::begin(&world.store, KIM).await.unwrap();
    let mut again = Box::pin(Snapshot::begin(&world.store, KIM));
    assert!(
        futures_util::poll!(&mut again).is_pending(),
        "one of two is enough"
    );
    let other = Snapshot::begin(&world.store, LEE).await.unwrap();
    drop(other);
    let read = world.store.snapshot(LEE, |inside| async move {
        changes::head(&mut inside.read().await?).await
    });
    assert!(
        read.await.is_ok(),
        "who waits for an own place takes none of the others"
    );
    first.end().await.unwrap();
    again.await.unwrap().end().await.unwrap();
}
