//! Several reads and writes in one transaction, by code that knows nothing of it.

use crate::world::{World, both, create_in, make};
use spexus_domain::{Code, Kind, Refusal};
use spexus_store::{Error, items};
use std::time::Duration;

both![
    what_is_done_together_stands_or_falls_together,
    a_failed_write_inside_is_undone_alone,
    a_trial_inside_a_transaction_keeps_nothing_and_disturbs_nothing,
    work_that_is_given_up_frees_the_writer,
];

//= specs/spexus-store.md#writes
//= type=test
//# Reads and writes that are done together MUST see each other and MUST stand or fall together.
async fn what_is_done_together_stands_or_falls_together(world: World) {
    let count = async || world.place.number("SELECT count(*) FROM change").await;
    let before = count().await;
    for (keep, fail) in [(false, false), (true, true), (true, false)] {
        let (actor, draft) = (world.actor(), world.draft(Kind::Epic, "together"));
        let done = world.store.together(world.actor(), keep, |inside| async move {
            let first = create_in(&inside, actor.clone(), draft.clone()).await?;
            let second = create_in(&inside, actor, draft).await?;
            let mut conn = inside.read().await?;
            assert!(items::by_id(&mut conn, first.id).await?.is_some(), "seen inside");
            match fail {
                true => Err(Error::Refused(Refusal::new(Code::RuleViolated, "no"))),
                false => Ok((first, second)),
            }
        });
        let done = done.await;
        assert_eq!(done.is_err(), fail);
        let stands = keep && !fail;
        assert_eq!(count().await, before + if stands { 2 } else { 0 });
        if let (true, Ok((first, _))) = (stands, done) {
            let found = items::by_id(&mut world.read().await, first.id).await.unwrap();
            assert_eq!(
                found.unwrap().reference_id.to_string(),
                "EP-001",
                "no number was lost"
            );
        }
    }
}

async fn a_failed_write_inside_is_undone_alone(world: World) {
    let (actor, draft) = (world.actor(), world.draft(Kind::Epic, "kept"));
    let kept = world.store.together(world.actor(), true, |inside| async move {
        let refused = inside
            .write(actor.clone(), {
                let draft = draft.clone();
                |tx| {
                    Box::pin(async move {
                        make(tx, &draft).await?;
                        Err::<(), _>(Error::Refused(Refusal::new(Code::RuleViolated, "no")))
                    })
                }
            })
            .await;
        assert!(refused.is_err());
        create_in(&inside, actor, draft).await
    });
    assert_eq!(kept.await.unwrap().reference_id.to_string(), "EP-001");
}

async fn a_trial_inside_a_transaction_keeps_nothing_and_disturbs_nothing(world: World) {
    let (actor, draft) = (world.actor(), world.draft(Kind::Epic, "kept"));
    let kept = world.store.together(world.actor(), true, |inside| async move {
        let trial = draft.clone();
        inside
            .write(actor.clone(), |tx| {
                Box::pin(async move {
                    tx.discard();
                    make(tx, &trial).await
                })
            })
            .await?;
        create_in(&inside, actor, draft).await
    });
    let kept = kept.await.unwrap();
    assert_eq!(kept.reference_id.to_string(), "EP-001");
    let found = items::by_id(&mut world.read().await, kept.id).await.unwrap();
    assert!(found.is_some(), "the last write was no trial");
}

async fn work_that_is_given_up_frees_the_writer(world: World) {
    let (actor, draft) = (world.actor(), world.draft(Kind::Epic, "half"));
    let given_up = world.store.together(world.actor(), true, |inside| async move {
        create_in(&inside, actor, draft).await?;
        let conn = inside.read().await?;
        std::future::pending::<()>().await;
        drop(conn);
        Ok(())
    });
    let given_up = tokio::time::timeout(Duration::from_millis(500), given_up).await;
    assert!(given_up.is_err(), "it would wait for ever");
    let next = tokio::time::timeout(Duration::from_secs(30), world.epic("next")).await;
    assert_eq!(
        next.expect("the writer is free").reference_id.to_string(),
        "EP-001"
    );
}
