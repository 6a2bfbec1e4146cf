//! Evidence: kept as it was pushed, and missed where it was altered.

use crate::world::{World, both, evidence_digest, push_evidence};
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
    let [Some(deciding), ..] = trace::deciding_pushes(&mut conn, project).await.unwrap() else {
        panic!("no push counts");
    };
    let pushes = trace::pushes_at(&mut conn, project, &deciding.commit)
        .await
        .unwrap();
    assert_eq!((pushes.len(), pushes[0].number), (1, 1));
    assert_eq!(pushes[0], deciding);
    assert_eq!(trace::pushes_at(&mut conn, project, "0123456").await.unwrap(), []);
    let digest = evidence_digest();
    let again = trace::push_by_digest(&mut conn, project, &digest).await.unwrap();
    assert_eq!(again.map(|push| push.id), Some(pushes[0].id));
    assert_eq!(
        trace::push_by_digest(&mut conn, project, &[0; 32]).await.unwrap(),
        None
    );
    assert_eq!(
        trace::push_by_digest(&mut conn, Uuid::nil(), &digest)
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
        ground: "{}".into(),
    };
    let kept = row.clone();
    let job = world.store.write(world.actor(), move |tx| {
        Box::pin(async move { trace::put_states(tx, project, &[kept]).await })
    });
    job.await.unwrap();
    let mut conn = world.store.read().await.unwrap();
    assert_eq!(
        trace::state(&mut conn, project, id).await.unwrap(),
        Some(row.clone())
    );
    let number = known.reference_id.number();
    assert_eq!(
        trace::stated_items(&mut conn, project).await.unwrap(),
        [(Kind::Requirement, number)]
    );
    let found = trace::traced_items(&mut conn, project, Kind::Requirement, &[number, 99]).await;
    let found = found.unwrap();
    assert_eq!((found.len(), found[0].state.as_ref()), (1, Some(&row)));
    assert_eq!((found[0].item.id, found[0].is_deleted), (id, false));
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
