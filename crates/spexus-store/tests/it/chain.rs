//! The chain of changes: whole after any work, and every kind of tampering shows.

use crate::world::{World, both, create_in};
use spexus_domain::Kind;
use spexus_domain::change::Action;
use spexus_store::chain::{ChainFault, verify};
use spexus_store::{Store, StoreOptions, baselines, changes};

both![
    an_honest_chain_verifies,
    an_altered_field_is_found_in_every_column,
    a_removed_change_is_found,
    swapped_changes_are_found,
    an_appended_change_is_found,
    a_tail_cut_off_is_found_by_its_baseline,
    an_altered_baseline_is_found,
    the_history_of_an_item_is_told_newest_first,
    the_feed_is_told_oldest_first,
    what_a_stale_copy_missed_is_told,
    a_clock_that_lags_does_not_turn_the_history_back,
    times_that_go_back_are_told,
];

async fn five_changes(world: &World) {
    for title in ["one", "two", "three", "four", "five"] {
        world.epic(title).await;
    }
}

async fn fault(world: &World) -> Option<ChainFault> {
    verify(&mut world.read().await).await.unwrap().fault
}

async fn an_honest_chain_verifies(world: World) {
    let empty = verify(&mut world.read().await).await.unwrap();
    assert_eq!((empty.changes, empty.fault), (0, None));
    five_changes(&world).await;
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!((verdict.changes, verdict.fault), (5, None));
    let last = changes::since(&mut world.read().await, None, 4, 10)
        .await
        .unwrap();
    assert_eq!(verdict.head, last[0].hash);
}

//= specs/spexus-store.md#history
//= type=test
//# Verification MUST find a row that was altered, removed, moved or added, and a baseline that names another history.
async fn an_altered_field_is_found_in_every_column(world: World) {
    five_changes(&world).await;
    let id = if world.is_sqlite() {
        "randomblob(16)"
    } else {
        "gen_random_uuid()"
    };
    let columns = [
        ("at", "at + 1"),
        ("user_id", id),
        ("username", "'lee'"),
        ("token_id", id),
        ("client", "'another'"),
        ("project_id", id),
        ("entity", "'link'"),
        ("entity_id", id),
        ("item_id", id),
        ("other_item_id", id),
        ("label", "'EP-999'"),
        ("action", "'deleted'"),
        ("rev", "rev + 1"),
        ("before", "'{\"title\":\"x\"}'"),
        ("after", "'{}'"),
    ];
    world
        .place
        .meddle("CREATE TABLE honest AS SELECT * FROM change WHERE seq = 3")
        .await;
    for (column, value) in columns {
        let alter = format!("UPDATE change SET {column} = {value} WHERE seq = 3");
        world.place.meddle(&alter).await;
        assert_eq!(fault(&world).await.map(|fault| fault.seq), Some(3), "{column}");
        let back = "UPDATE change SET {column} = (SELECT {column} FROM honest) WHERE seq = 3";
        world.place.meddle(&back.replace("{column}", column)).await;
        assert_eq!(fault(&world).await, None, "{column} is as it was");
    }
}

async fn a_removed_change_is_found(world: World) {
    five_changes(&world).await;
    world.place.meddle("DELETE FROM change WHERE seq = 2").await;
    assert_eq!(fault(&world).await.unwrap().seq, 3);
}

async fn swapped_changes_are_found(world: World) {
    five_changes(&world).await;
    world
        .place
        .meddle(
            "UPDATE change SET seq = -2 WHERE seq = 2; UPDATE change SET seq = 2 WHERE seq = 3; \
             UPDATE change SET seq = 3 WHERE seq = -2",
        )
        .await;
    assert_eq!(fault(&world).await.unwrap().seq, 2);
}

async fn an_appended_change_is_found(world: World) {
    five_changes(&world).await;
    world
        .place
        .meddle(
            "INSERT INTO change (seq, at, user_id, username, client, entity, entity_id, label, action, rev, before, after, hash) \
             SELECT 6, at, user_id, username, client, entity, entity_id, label, 'deleted', rev, before, after, hash \
             FROM change WHERE seq = 5",
        )
        .await;
    assert_eq!(fault(&world).await.unwrap().seq, 6);
}

async fn baseline(world: &World, name: &'static str) {
    let project = world.project.id;
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let id = tx.new_id();
                baselines::insert(tx, id, project, name, "").await
            })
        })
        .await
        .unwrap();
}

async fn a_tail_cut_off_is_found_by_its_baseline(world: World) {
    five_changes(&world).await;
    baseline(&world, "release").await;
    assert_eq!(fault(&world).await, None);
    world.place.meddle("DELETE FROM change WHERE seq >= 4").await;
    assert_eq!(fault(&world).await.unwrap().seq, 5);
}

async fn an_altered_baseline_is_found(world: World) {
    baseline(&world, "empty").await;
    five_changes(&world).await;
    baseline(&world, "release").await;
    let mut conn = world.read().await;
    let kept = baselines::by_name(&mut conn, world.project.id, "release").await;
    let all = baselines::of_project(&mut conn, world.project.id).await.unwrap();
    assert_eq!(kept.unwrap().as_ref(), all.last());
    assert_eq!((all.len(), all[0].seq, all[1].seq), (2, 0, 5));
    world
        .place
        .meddle("UPDATE baseline SET seq = 4 WHERE name = 'release'")
        .await;
    assert!(fault(&world).await.unwrap().problem.contains("release"));
    world
        .place
        .meddle("UPDATE baseline SET seq = 5 WHERE name = 'release'; UPDATE baseline SET hash = (SELECT hash FROM change WHERE seq = 1)")
        .await;
    assert!(fault(&world).await.is_some());
}

async fn the_history_of_an_item_is_told_newest_first(world: World) {
    let (epic, other) = (world.epic("first").await, world.epic("other").await);
    world.edit(&epic, |item| item.title = "second".into()).await;
    world.edit(&other, |item| item.title = "beside".into()).await;
    world.edit(&epic, |item| item.title = "third".into()).await;
    let mut conn = world.read().await;
    let seqs = |changes: Vec<spexus_domain::change::Change>| -> Vec<i64> {
        changes.iter().map(|change| change.seq).collect()
    };
    let (all, more) = changes::of_item(&mut conn, epic.id, i64::MAX, 10).await.unwrap();
    assert!(!more);
    assert_eq!(all[2].action, Action::Created);
    assert_eq!((all[0].user.as_str(), all[0].client.as_str()), ("kim", "test"));
    assert_eq!(seqs(all), [5, 3, 1]);
    let (page, more) = changes::of_item(&mut conn, epic.id, i64::MAX, 2).await.unwrap();
    assert_eq!((seqs(page), more), (vec![5, 3], true));
    let (rest, more) = changes::of_item(&mut conn, epic.id, 3, 2).await.unwrap();
    assert_eq!((seqs(rest), more), (vec![1], false));
    assert_eq!(changes::count_of_item(&mut conn, epic.id).await.unwrap(), 3);
}

async fn the_feed_is_told_oldest_first(world: World) {
    five_changes(&world).await;
    let mut conn = world.read().await;
    for project in [None, Some(world.project.id)] {
        let mut seen = Vec::new();
        loop {
            let after = seen.last().copied().unwrap_or(0);
            let page = changes::since(&mut conn, project, after, 2).await.unwrap();
            if page.is_empty() {
                break;
            }
            seen.extend(page.iter().map(|change| change.seq));
        }
        assert_eq!(seen, [1, 2, 3, 4, 5]);
    }
}

async fn what_a_stale_copy_missed_is_told(world: World) {
    let epic = world.epic("first").await;
    world.edit(&epic, |item| item.title = "second".into()).await;
    world.edit(&epic, |item| item.title = "third".into()).await;
    let missed = changes::since_rev(&mut world.read().await, epic.id, epic.id, 1).await;
    let revs: Vec<i64> = missed.unwrap().iter().map(|change| change.rev).collect();
    assert_eq!(revs, [2, 3]);
}

fn clock_at(micros: i64) -> spexus_store::Clock {
    std::sync::Arc::new(move || spexus_domain::Timestamp(micros))
}

async fn times(world: &World) -> Vec<i64> {
    let changes = changes::since(&mut world.read().await, None, 0, 100)
        .await
        .unwrap();
    changes.iter().map(|change| change.at.0).collect()
}

//= specs/spexus-store.md#history
//= type=test
//# A change MUST NOT be told to have happened before the change in front of it, whatever the clocks of the nodes say.
async fn a_clock_that_lags_does_not_turn_the_history_back(world: World) {
    let options = StoreOptions::default();
    for micros in [1_800_000_000_000_000, 5, 1_800_000_000_000_001, 7] {
        let (node, _) = Store::open(&world.place.location, &options, clock_at(micros))
            .await
            .unwrap();
        create_in(&node, world.actor(), world.draft(Kind::Epic, "by a node"))
            .await
            .unwrap();
        node.close().await;
    }
    let end = 1_800_000_000_000_000;
    assert_eq!(times(&world).await, [end, end, end + 1, end + 1]);
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!((verdict.fault, verdict.earlier.count), (None, 0));
}

//= specs/spexus-store.md#history
//= type=test
//# Verification MUST say how many changes are told to have happened before the change in front of them.
/// Programs before this one wrote down whatever their clocks said; their chains are whole all the same.
async fn times_that_go_back_are_told(world: World) {
    five_changes(&world).await;
    let mut previous = spexus_domain::change::GENESIS;
    let all = changes::since(&mut world.read().await, None, 0, 100)
        .await
        .unwrap();
    for change in &all {
        let at = match change.seq {
            2 | 4 => spexus_domain::Timestamp(change.at.0 - 1_000_000),
            _ => change.at,
        };
        let column = async |name: &str| {
            let sql = format!("SELECT {name} FROM change WHERE seq = {}", change.seq);
            world.place.texts(&sql).await.remove(0)
        };
        let (before, after) = (column("before").await, column("after").await);
        let sealed = spexus_domain::change::Sealed {
            seq: change.seq,
            at,
            user_id: world.user.id,
            username: &change.user,
            token_id: change.token_id,
            client: &change.client,
            project_id: change.project_id,
            entity: change.entity.name(),
            entity_id: change.entity_id,
            item_id: change.item_id,
            other_item_id: change.other_item_id,
            label: &change.label,
            action: change.action.name(),
            rev: change.rev,
            before: &before,
            after: &after,
        };
        previous = sealed.hash(&previous);
        let hex = hex::encode(previous);
        let bytes = match world.is_sqlite() {
            true => format!("x'{hex}'"),
            false => format!("'\\x{hex}'"),
        };
        let seq = change.seq;
        world
            .place
            .meddle(&format!(
                "UPDATE change SET at = {}, hash = {bytes} WHERE seq = {seq}",
                at.0
            ))
            .await;
    }
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!(verdict.fault, None, "the chain itself is whole");
    assert_eq!((verdict.earlier.count, verdict.earlier.first_seq), (2, Some(2)));
}
