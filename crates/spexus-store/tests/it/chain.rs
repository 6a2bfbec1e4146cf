//! The ledgers of changes: whole after any work, and every kind of tampering shows.

use crate::world::{World, both, create_in};
use spexus_domain::Kind;
use spexus_domain::change::{Action, Change, Entity, FormerHead, NewChange, Payload, Sealed};
use spexus_domain::checkpoint::Checkpoint;
use spexus_store::chain::{ChainFault, verify, verify_against};
use spexus_store::{Store, StoreOptions, baselines, changes, checkpoints};

both![
    an_honest_chain_verifies,
    each_project_has_a_ledger_of_its_own,
    a_statement_can_only_add_to_the_history,
    words_that_were_taken_out_leave_a_ledger_that_verifies,
    an_altered_field_is_found_in_every_column,
    a_removed_change_is_found,
    swapped_changes_are_found,
    an_appended_change_is_found,
    a_tail_cut_off_is_found_by_its_baseline,
    what_came_with_a_ledger_is_held_against_where_it_began,
    an_altered_baseline_is_found,
    the_history_of_an_item_is_told_newest_first,
    the_feed_is_told_oldest_first,
    what_a_stale_copy_missed_is_told,
    a_clock_that_lags_does_not_turn_the_history_back,
    times_that_go_back_are_told,
    a_checkpoint_holds_where_every_ledger_ends,
    a_ledger_computed_anew_is_found_by_a_checkpoint,
    a_tail_that_was_cut_off_is_found_by_a_checkpoint,
    a_checkpoint_of_another_installation_is_told_from_tampering,
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
    let ledger = &verdict.ledgers[0];
    assert_eq!((verdict.ledgers.len(), ledger.ledger), (1, world.project.id));
    assert_eq!((ledger.trusted, &ledger.hash), (5, &last[0].hash));
}

//= specs/spexus-store.md#history
//= type=test
//# Each project MUST have a ledger of its own, numbered from 1 without gaps, and what belongs to no project one of the
//# installation.
async fn each_project_has_a_ledger_of_its_own(world: World) {
    let other = world.another_project("web").await;
    for title in ["one", "two"] {
        world.epic(title).await;
        world.epic_in(&other, title).await;
        record_setting(&world).await;
    }
    let all = changes::since(&mut world.read().await, None, 0, 100)
        .await
        .unwrap();
    let places: Vec<_> = all
        .iter()
        .map(|change| (change.project_id, change.number))
        .collect();
    let (own, other) = (Some(world.project.id), Some(other.id));
    assert_eq!(
        places,
        [(own, 1), (other, 1), (None, 1), (own, 2), (other, 2), (None, 2)]
    );
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!((verdict.fault, verdict.ledgers.len()), (None, 3));
    // What happens to one ledger says nothing about the others.
    world.place.drop_triggers().await;
    let alter = "UPDATE change SET rev = rev + 1 WHERE seq = 2";
    world.place.meddle(alter).await;
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!(verdict.fault.unwrap().seq, 2);
    for ledger in verdict.ledgers {
        let expected = if Some(ledger.ledger) == other { 0 } else { 2 };
        assert_eq!(ledger.trusted, expected, "{ledger:?}");
        assert_eq!(ledger.fault.is_some(), Some(ledger.ledger) == other);
    }
}

/// A change of something that belongs to no project.
async fn record_setting(world: &World) {
    let job = world.store.write(world.actor(), |tx| {
        Box::pin(async move {
            let id = tx.new_id();
            tx.record(NewChange::new(
                Entity::Setting,
                id,
                "workflow",
                Action::Updated,
                1,
            ))
            .await
        })
    });
    job.await.unwrap();
}

//= specs/spexus-store.md#history
//= type=test
//# Nothing of the history MUST be changed or removed by a statement, but for the words of a person, which can be taken out.
async fn a_statement_can_only_add_to_the_history(world: World) {
    five_changes(&world).await;
    let mut refused = vec![
        "UPDATE change SET label = 'EP-009' WHERE seq = 2",
        "UPDATE change SET hash = payload_hash WHERE seq = 2",
        "DELETE FROM change WHERE seq = 5",
        "DELETE FROM change",
    ];
    let rest = format!("{}, rev = 9 WHERE seq = 2", erase(&world));
    refused.push(&rest);
    if !world.is_sqlite() {
        refused.push("TRUNCATE change");
    }
    for sql in refused {
        let told = world.place.try_to_meddle(sql).await.unwrap_err();
        assert!(told.contains("the history is only added to"), "{sql}: {told}");
    }
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!((verdict.changes, verdict.fault), (5, None));
}

/// How the words of a person are taken out, as `docs/operate.md` has it.
fn erase(world: &World) -> String {
    let salt = if world.is_sqlite() { "x''" } else { "''" };
    format!(
        "UPDATE change SET salt = {salt}, username = '', client = '', label = '', before = '{{}}', after = '{{}}'"
    )
}

//= specs/spexus-store.md#history
//= type=test
//# Where a person's words were taken out of a change, the ledger MUST still verify, and verification MUST say how many
//# changes that happened to.
async fn words_that_were_taken_out_leave_a_ledger_that_verifies(world: World) {
    five_changes(&world).await;
    let erase = format!("{} WHERE seq IN (2, 4)", erase(&world));
    world.place.meddle(&erase).await;
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!((verdict.fault, verdict.erased), (None, 2));
    world.epic("six").await;
    let all = changes::since(&mut world.read().await, None, 0, 100)
        .await
        .unwrap();
    assert_eq!((all[1].user.as_str(), all[1].fields.len()), ("", 0));
    assert_eq!(fault(&world).await, None, "and it goes on");
    // What was taken out cannot be made up again.
    world.place.drop_triggers().await;
    let forge = "UPDATE change SET username = 'lee' WHERE seq = 2";
    world.place.meddle(forge).await;
    assert_eq!(fault(&world).await.unwrap().seq, 2);
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
    world.place.drop_triggers().await;
    let columns = [
        ("number", "number + 100"),
        ("at", "at + 1"),
        ("user_id", id),
        ("username", "'lee'"),
        ("token_id", id),
        ("client", "'another'"),
        ("ledger", id),
        ("entity", "'link'"),
        ("entity_id", id),
        ("item_id", id),
        ("other_item_id", id),
        ("label", "'EP-999'"),
        ("action", "'deleted'"),
        ("rev", "rev + 1"),
        ("before", "'{\"title\":\"x\"}'"),
        ("after", "'{}'"),
        ("salt", "payload_hash"),
        ("payload_hash", "hash"),
        ("hash", "payload_hash"),
        ("hash", "salt"),
    ];
    world
        .place
        .meddle("CREATE TABLE honest AS SELECT * FROM change WHERE seq = 3")
        .await;
    for (column, value) in columns {
        let alter = format!("UPDATE change SET {column} = {value} WHERE seq = 3");
        world.place.meddle(&alter).await;
        // A row that says another number is missed by the one behind it.
        let told_at = if column == "number" { 4 } else { 3 };
        assert_eq!(
            fault(&world).await.map(|fault| fault.seq),
            Some(told_at),
            "{column}"
        );
        let back = "UPDATE change SET {column} = (SELECT {column} FROM honest) WHERE seq = 3";
        world.place.meddle(&back.replace("{column}", column)).await;
        assert_eq!(fault(&world).await, None, "{column} is as it was");
    }
}

//= specs/spexus-store.md#history
//= type=test
//# What follows a fault in its ledger MUST NOT be trusted.
async fn a_removed_change_is_found(world: World) {
    five_changes(&world).await;
    world.place.drop_triggers().await;
    world.place.meddle("DELETE FROM change WHERE seq = 2").await;
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!(verdict.fault.unwrap().seq, 3);
    assert_eq!(verdict.ledgers[0].trusted, 1);
}

async fn swapped_changes_are_found(world: World) {
    five_changes(&world).await;
    world.place.drop_triggers().await;
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
    world.place.drop_triggers().await;
    world
        .place
        .meddle(
            "INSERT INTO change (seq, ledger, number, at, user_id, username, client, entity, entity_id, label, action, rev, \
             before, after, salt, payload_hash, hash) \
             SELECT 6, ledger, 6, at, user_id, username, client, entity, entity_id, label, 'deleted', rev, \
             before, after, salt, payload_hash, hash FROM change WHERE seq = 5",
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
    world.place.drop_triggers().await;
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
        let (mut seen, mut after) = (Vec::new(), 0);
        loop {
            let page = changes::since(&mut conn, project, after, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            after = match project {
                Some(_) => last.number,
                None => last.seq,
            };
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
//# A change MUST NOT be told to have happened before the change in front of it in its ledger, whatever the clocks of the nodes say.
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
//# Verification MUST say how many changes are told to have happened before the change in front of them in
//# their ledger.
/// Programs before this one wrote down whatever their clocks said; their chains are whole all the same.
async fn times_that_go_back_are_told(world: World) {
    five_changes(&world).await;
    write_anew(&world, |change| {
        if [2, 4].contains(&change.seq) {
            change.at.0 -= 1_000_000;
        }
    })
    .await;
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!(verdict.fault, None, "the ledger itself is whole");
    assert_eq!((verdict.earlier.count, verdict.earlier.first_seq), (2, Some(2)));
}

/// Alters the project's ledger and computes all its hashes anew, as whoever owns the database can.
async fn write_anew(world: &World, alter: impl Fn(&mut Change)) {
    world.place.drop_triggers().await;
    let ledger = world.project.id;
    let mut previous = FormerHead::NONE.genesis(ledger);
    let all = changes::since(&mut world.read().await, Some(ledger), 0, 100)
        .await
        .unwrap();
    let bytes = |bytes: &[u8]| match world.is_sqlite() {
        true => format!("x'{}'", hex::encode(bytes)),
        false => format!("'\\x{}'", hex::encode(bytes)),
    };
    for mut change in all {
        alter(&mut change);
        let seq = change.seq;
        let column = async |name: &str| {
            let sql = format!("SELECT {name} FROM change WHERE seq = {seq}");
            world.place.texts(&sql).await.remove(0)
        };
        let payload = Payload {
            username: &change.user,
            client: &change.client,
            label: &change.label,
            before: &column("before").await,
            after: &column("after").await,
        };
        let salt = [7; 16];
        let sealed = Sealed {
            ledger,
            number: change.number,
            at: change.at,
            user_id: world.user.id,
            token_id: change.token_id,
            entity: change.entity.name(),
            entity_id: change.entity_id,
            item_id: change.item_id,
            other_item_id: change.other_item_id,
            action: change.action.name(),
            rev: change.rev,
            payload: payload.hash(&salt),
        };
        previous = sealed.hash(&previous);
        let alter = format!(
            "UPDATE change SET at = {}, label = '{}', salt = {}, payload_hash = {}, hash = {} WHERE seq = {seq}",
            change.at.0,
            change.label,
            bytes(&salt),
            bytes(&sealed.payload),
            bytes(&previous)
        );
        world.place.meddle(&alter).await;
    }
}

async fn checkpoint(world: &World) -> Checkpoint {
    let job = world.store.write(world.actor(), |tx| {
        Box::pin(async move { checkpoints::take(tx, "a key").await })
    });
    job.await.unwrap()
}

//= specs/spexus-store.md#history
//= type=test
//# Verification MUST say which ledgers began at another installation, and how many of their changes came from there.
//= specs/spexus-store.md#history
//= type=test
//# Verification MUST find a ledger that ends before the last change that came with it, or has another in its place.
async fn what_came_with_a_ledger_is_held_against_where_it_began(world: World) {
    five_changes(&world).await;
    let zeros = match world.is_sqlite() {
        true => "zeroblob(32)",
        false => "decode(repeat('00', 32), 'hex')",
    };
    // A ledger begins like this where no history was before it; so this one may have begun elsewhere.
    let came = format!(
        "INSERT INTO ledger_origin (ledger, installation, former_changes, former_head, number, hash, arrived_at) \
         SELECT ledger, 'elsewhere', 0, {zeros}, number, hash, at FROM change WHERE seq = 5"
    );
    world.place.meddle(&came).await;
    world.epic("six").await;
    let verdict = verify(&mut world.read().await).await.unwrap();
    assert_eq!(verdict.fault, None);
    let origin = verdict.ledgers[0].origin.clone().unwrap();
    assert_eq!((origin.installation.as_str(), origin.changes), ("elsewhere", 5));
    let refused = world
        .place
        .try_to_meddle("DELETE FROM ledger_origin")
        .await
        .unwrap_err();
    assert!(refused.contains("only added to"), "{refused}");
    world.place.drop_triggers().await;
    for (what, undo, problem) in [
        (
            "former_changes = 1",
            "former_changes = 0",
            "its hash does not fit",
        ),
        (
            "number = 3",
            "number = 5",
            "not the change that came from the installation",
        ),
    ] {
        let set = |to: &str| format!("UPDATE ledger_origin SET {to}");
        world.place.meddle(&set(what)).await;
        let found = fault(&world).await.unwrap().problem;
        assert!(found.contains(problem), "{what}: {found}");
        world.place.meddle(&set(undo)).await;
        assert_eq!(fault(&world).await, None);
    }
    world.place.meddle("DELETE FROM change WHERE seq > 3").await;
    let found = fault(&world).await.unwrap().problem;
    assert_eq!(found, "the ledger came here with 5 changes, and ends with 3");
}

//= specs/spexus-store.md#checkpoints
//= type=test
//# A checkpoint MUST hold the number and the hash of the last change of every ledger, and MUST itself be in the ledger of the
//# installation.
async fn a_checkpoint_holds_where_every_ledger_ends(world: World) {
    five_changes(&world).await;
    let web = world.another_project("web").await;
    world.epic_in(&web, "there").await;
    let taken = checkpoint(&world).await;
    let verdict = verify_against(&mut world.read().await, std::slice::from_ref(&taken))
        .await
        .unwrap();
    assert_eq!(verdict.fault, None);
    let ends: Vec<_> = taken
        .ledgers
        .iter()
        .map(|end| (end.ledger, end.number, end.hash.clone()))
        .collect();
    let found: Vec<_> = verdict
        .ledgers
        .iter()
        .map(|found| (found.ledger, found.trusted, found.hash.clone()))
        .collect();
    assert_eq!(
        ends, found,
        "by ledger: the installation's with the checkpoint in it"
    );
    let last = changes::since(&mut world.read().await, None, 6, 9).await.unwrap();
    assert_eq!((last.len(), last[0].label.as_str()), (1, "checkpoint"));
    let told = last[0].fields.iter().map(|field| field.field.as_str());
    assert!(told.clone().any(|field| field == web.id.to_string()), "{last:?}");
    let mut conn = world.read().await;
    let known = checkpoints::last(&mut conn).await.unwrap();
    assert_eq!(known, Some(("a key".to_owned(), true)));
    world.epic("after").await;
    let known = checkpoints::last(&mut conn).await.unwrap();
    assert_eq!(known, Some(("a key".to_owned(), false)));
}

//= specs/spexus-store.md#checkpoints
//= type=test
//# Held against a checkpoint, verification MUST find a tail that was cut off and a ledger that was computed anew, and MUST
//# say that an older backup may have been restored.
async fn a_ledger_computed_anew_is_found_by_a_checkpoint(world: World) {
    five_changes(&world).await;
    let early = checkpoint(&world).await;
    five_changes(&world).await;
    let late = checkpoint(&world).await;
    five_changes(&world).await;
    let kept = [early, late];
    let verdict = verify_against(&mut world.read().await, &kept).await.unwrap();
    assert_eq!(verdict.fault, None, "an honest one fits");
    write_anew(&world, |change| {
        if change.number == 8 {
            change.label = "EP-999".into();
        }
    })
    .await;
    let mut conn = world.read().await;
    assert_eq!(verify(&mut conn).await.unwrap().fault, None, "it fits itself");
    let verdict = verify_against(&mut conn, &kept).await.unwrap();
    let ledger = &verdict.ledgers[1];
    // The salts are all others, so even the early checkpoint disagrees.
    assert_eq!((ledger.ledger, ledger.trusted), (world.project.id, 0));
    assert!(verdict.fault.unwrap().problem.contains("written anew"));
}

async fn a_tail_that_was_cut_off_is_found_by_a_checkpoint(world: World) {
    five_changes(&world).await;
    let early = checkpoint(&world).await;
    five_changes(&world).await;
    let late = checkpoint(&world).await;
    world.place.drop_triggers().await;
    world.place.meddle("DELETE FROM change WHERE seq > 8").await;
    let mut conn = world.read().await;
    assert_eq!(verify(&mut conn).await.unwrap().fault, None, "it fits itself");
    let verdict = verify_against(&mut conn, &[early.clone(), late.clone()])
        .await
        .unwrap();
    let problem = verdict.fault.unwrap().problem;
    assert!(problem.contains("older backup"), "{problem}");
    let verdict = verify_against(&mut conn, &[early]).await.unwrap();
    assert_eq!(verdict.fault, None, "the early one knows nothing of it");
    world.place.meddle("DELETE FROM change").await;
    let verdict = verify_against(&mut conn, &[late]).await.unwrap();
    assert!(verdict.fault.is_some());
}

async fn a_checkpoint_of_another_installation_is_told_from_tampering(world: World) {
    five_changes(&world).await;
    let mut other = checkpoint(&world).await;
    other.installation = "00".repeat(32);
    let verdict = verify_against(&mut world.read().await, &[other]).await.unwrap();
    let problem = verdict.fault.unwrap().problem;
    assert!(problem.contains("another installation"), "{problem}");
}
