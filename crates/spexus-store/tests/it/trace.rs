//! Evidence: kept as it was pushed, and missed where it was altered.

use crate::world::{World, both, push_evidence};
use spexus_domain::trace::record::PartKind;
use spexus_domain::trace::{ItemTrace, Rung, TraceFlag};
use spexus_domain::{Kind, Uuid};
use spexus_store::trace;

both![
    a_push_is_found_by_its_digest_and_read_in_order,
    a_state_is_kept_and_told_beside_its_item
];

async fn a_push_is_found_by_its_digest_and_read_in_order(world: World) {
    let project = world.project.id;
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { push_evidence(tx, project, Uuid::nil()).await })
    });
    job.await.unwrap();
    let mut conn = world.store.read().await.unwrap();
    let pushes = trace::recent_pushes(&mut conn, project).await.unwrap();
    assert_eq!((pushes.len(), pushes[0].number), (1, 1));
    let again = trace::push_by_digest(&mut conn, project, &pushes[0].digest)
        .await
        .unwrap();
    assert_eq!(again.as_ref(), Some(&pushes[0]));
    assert_eq!(
        trace::push_by_digest(&mut conn, project, &[0; 32]).await.unwrap(),
        None
    );
    assert_eq!(
        trace::push_by_digest(&mut conn, Uuid::nil(), &pushes[0].digest)
            .await
            .unwrap(),
        None
    );
    let of = (project, pushes[0].id);
    let part = trace::part_after(&mut conn, of, PartKind::Tests, -1)
        .await
        .unwrap();
    assert_eq!(part, Some((1, "{}\n{}\n".to_owned())));
    assert_eq!(
        trace::part_after(&mut conn, of, PartKind::Tests, 1)
            .await
            .unwrap(),
        None
    );
}

async fn a_state_is_kept_and_told_beside_its_item(world: World) {
    let epic = world.epic("Sums").await;
    let story = world
        .create(world.draft(Kind::UserStory, "by hand").under(&epic))
        .await;
    let (known, unknown) = (
        world.requirement(&story, "known").await,
        world.requirement(&story, "unknown").await,
    );
    let (project, id, hash) = (world.project.id, known.id, known.content_hash.clone());
    let row = trace::StateRow {
        item_id: id,
        trace: ItemTrace {
            state: Rung::Passed,
            flags: vec![TraceFlag::Covered],
            weakest: "x".into(),
            ..ItemTrace::default()
        },
        content_hash: hash,
        confirmed_hash: String::new(),
    };
    let kept = row.clone();
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { trace::put_state(tx, project, &kept).await })
    });
    job.await.unwrap();
    let mut conn = world.store.read().await.unwrap();
    assert_eq!(
        trace::state(&mut conn, project, id).await.unwrap(),
        Some(row.clone())
    );
    assert_eq!(trace::states(&mut conn, project).await.unwrap(), [row]);
    let brief = trace::brief(&mut conn, project, Kind::Requirement).await.unwrap();
    let told: Vec<_> = brief
        .iter()
        .map(|row| (row.item_id, row.state, row.flags.clone(), row.is_moved))
        .collect();
    assert_eq!(
        told,
        [
            (id, Rung::Passed, vec![TraceFlag::Covered], false),
            (unknown.id, Rung::None, vec![], false)
        ]
    );
    drop(conn);
    world.edit(&known, |item| item.title = "Changed".into()).await;
    let mut conn = world.store.read().await.unwrap();
    assert!(trace::brief(&mut conn, project, Kind::Requirement).await.unwrap()[0].is_moved);
}
