//! Batches and idempotency keys: all or nothing, and once.

use crate::world::{Refused, World, both, fact};
use serde_json::{Value, json};
use spexus_service::item;
use spexus_store::StoreOptions;

both![
    a_batch_is_all_or_nothing_and_speaks_of_itself,
    every_operation_of_a_batch_is_the_use_case_it_is_alone,
    a_fault_of_a_batch_names_the_operation_and_the_field,
    an_operation_without_its_right_stops_the_batch_before_anything,
    a_batch_inside_a_transaction_stands_or_falls_with_it,
    five_hundred_operations_are_one_transaction,
    a_batch_gives_the_writer_back,
    an_idempotency_key_does_a_thing_once,
    a_trial_uses_up_no_idempotency_key,
    two_tokens_of_one_user_do_not_share_an_idempotency_key,
];

async fn epics(world: &World) -> Value {
    world.admin.list("epic", json!({})).await.unwrap()["total_count"].clone()
}

//= specs/spexus-service.md#writing-once
//= type=test
//# A batch MUST be carried out whole or not at all.
//= specs/spexus-service.md#writing-once
//= type=test
//# A trial MUST keep nothing.
async fn a_batch_is_all_or_nothing_and_speaks_of_itself(world: &World) {
    let admin = &world.admin;
    let good = json!([
        {"op": "create", "ref": "e", "kind": "epic", "title": "Reports"},
        {"op": "create", "ref": "s", "kind": "user_story", "parent": "@e", "title": "Export"},
        {"op": "create", "ref": "c", "kind": "acceptance_criterion", "parent": "@s", "description": "A file is downloaded."},
        {"op": "create", "ref": "r", "kind": "requirement", "parent": "@s", "title": "CSV", "acceptance_criterion": "@c"},
        {"op": "link", "source": "@c", "target": "@r", "type": "verifies"},
        {"op": "comment", "item": "@r", "content": "And Excel?"},
        {"op": "update", "id": "@e", "status": "In Progress"},
    ]);
    let head = world.chain_head().await;
    let trial = json!({"operations": good, "dry_run": true});
    let trial = admin.batch(trial).await.unwrap();
    assert_eq!(
        (&trial["dry_run"], trial["results"].as_array().unwrap().len()),
        (&json!(true), 7)
    );
    assert_eq!(
        (epics(world).await, world.chain_head().await),
        (json!(0), head),
        "a trial keeps nothing"
    );
    let done = admin.batch(json!({ "operations": good })).await.unwrap();
    assert_eq!(done["results"][3]["label"], "REQ-001");
    assert_eq!(admin.get("EP-001").await.unwrap()["status"], "In Progress");
    let bad = json!([
        {"op": "create", "ref": "e", "kind": "epic", "title": "Lost"},
        {"op": "create", "kind": "user_story", "parent": "@x", "title": "Never"},
    ]);
    let refusal = admin.batch(json!({ "operations": bad })).await.refused(1021);
    assert_eq!(refusal.faults[0].field, "operations[1].epic_id");
    assert_eq!(epics(world).await, 1, "nothing of it was kept");
    let next = admin.create("epic", json!({"title": "Next"})).await.unwrap();
    assert_eq!(next["reference_id"], "EP-002", "and no number was lost");
}

async fn every_operation_of_a_batch_is_the_use_case_it_is_alone(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let first = world.chain_head().await;
    let done = admin.batch(json!({"operations": [
        {"op": "create", "ref": "e", "kind": "epic", "title": "Second"},
        {"op": "create", "ref": "s", "kind": "user_story", "parent": "@e", "title": "Its story"},
        {"op": "move", "id": "@s", "parent": "EP-001", "before": "US-001"},
        {"op": "update", "id": "@e", "priority": 1, "expect_rev": 1},
        {"op": "link", "ref": "l", "source": "@e", "target": "EP-001", "type": "relates_to"},
        {"op": "comment", "id": "@s", "content": "Well"},
        {"op": "delete", "id": "@e", "force": true},
        {"op": "restore", "id": "@e"},
    ]}));
    let done = done.await.unwrap();
    let rows = done["results"].as_array().unwrap().iter();
    let rows: Vec<Value> = rows
        .map(|row| json!([row["op"], row["label"], row["rev"]]))
        .collect();
    assert_eq!(
        json!(rows),
        json!([
            ["create", "EP-002", 1],
            ["create", "US-002", 1],
            ["move", "US-002", 2],
            ["update", "EP-002", 2],
            ["link", "EP-002 relates_to EP-001", 1],
            ["comment", "comment on US-002", 1],
            ["delete", "EP-002", 3],
            ["restore", "EP-002", 4],
        ])
    );
    let unlink = json!({"operations": [{"op": "unlink", "id": done["results"][4]["id"]}]});
    assert_eq!(admin.batch(unlink).await.unwrap()["results"][0]["op"], "unlink");
    // The history tells them one by one, in the order they were done.
    let mut conn = world.service.store().read().await.unwrap();
    let all = spexus_store::changes::since(&mut conn, None, first, 200)
        .await
        .unwrap();
    drop(conn);
    let told: Vec<String> = all
        .iter()
        .map(|change| format!("{} {:?}", change.label, change.action))
        .collect();
    let link = "EP-002 relates_to EP-001";
    let expected = [
        "EP-002 Created".to_owned(),
        "US-002 Created".into(),
        "US-002 Updated".into(),
        "EP-002 Updated".into(),
        format!("{link} Created"),
        "comment on US-002 Created".into(),
        format!("{link} Deleted"),
        "EP-002 Deleted".into(),
        "EP-002 Restored".into(),
        format!("{link} Restored"),
        format!("{link} Deleted"),
    ];
    assert_eq!(told, expected);
}

async fn a_fault_of_a_batch_names_the_operation_and_the_field(world: &World) {
    world.seed().await;
    let head = world.chain_head().await;
    for (operation, code, field) in [
        (
            json!({"op": "create", "kind": "epic", "title": ""}),
            1021,
            "operations[1].title",
        ),
        (
            json!({"op": "create", "kind": "user_story", "title": "x"}),
            1028,
            "operations[1].epic_id",
        ),
        (
            json!({"op": "update", "id": "EP-001", "status": "Done"}),
            1054,
            "operations[1].status",
        ),
        (
            json!({"op": "update", "id": "@nobody", "priority": 1}),
            1021,
            "operations[1].id",
        ),
        (
            json!({"op": "move", "id": "US-001", "after": "@nobody"}),
            1021,
            "operations[1].after",
        ),
        (
            json!({"op": "link", "source": "EP-001", "target": "@nobody", "type": "relates_to"}),
            1021,
            "operations[1].target",
        ),
        (
            json!({"op": "create", "kind": "epic", "title": "x", "ref": "e"}),
            1021,
            "operations[1].ref",
        ),
    ] {
        let operations = json!([{"op": "create", "kind": "epic", "title": "x", "ref": "e"}, operation]);
        let refusal = world
            .admin
            .batch(json!({ "operations": operations }))
            .await
            .refused(code);
        assert_eq!(refusal.faults[0].field, field, "{operations}");
    }
    assert_eq!(world.chain_head().await, head);
}

async fn an_operation_without_its_right_stops_the_batch_before_anything(world: &World) {
    world.seed().await;
    let carl = world.user("carl", "Commenter").await;
    let carl = world.client(&carl).await.unwrap();
    let head = world.chain_head().await;
    let comment = json!({"operations": [{"op": "comment", "item": "EP-001", "content": "x"}]});
    carl.batch(comment).await.refused(1014);
    assert_eq!(world.chain_head().await, head);
}

//= specs/spexus-service.md#writing-once
//= type=test
//# What is done together MUST be carried out whole or not at all.
async fn a_batch_inside_a_transaction_stands_or_falls_with_it(world: &World) {
    let (service, caller) = (&world.service, &world.admin.caller);
    let input = |title: &str, dry_run: bool| {
        let operations = json!([{"op": "create", "kind": "epic", "title": title}]);
        serde_json::from_value(json!({"operations": operations, "dry_run": dry_run})).unwrap()
    };
    for (keep, epics_after) in [(false, 0), (true, 3)] {
        let done = service.together(caller, keep, |inside| async move {
            let new = |title: &str| serde_json::from_value(json!({ "title": title })).unwrap();
            item::create(&inside, caller, spexus_domain::Kind::Epic, new("before"), None).await?;
            spexus_service::batch::run(&inside, caller, input("kept", false), None).await?;
            // A trial within it keeps nothing, and what is refused is undone alone.
            spexus_service::batch::run(&inside, caller, input("tried", true), None).await?;
            let refused = spexus_service::batch::run(&inside, caller, input("", false), None).await;
            refused.refused(1021);
            item::create(&inside, caller, spexus_domain::Kind::Epic, new("after"), None).await
        });
        assert_eq!(
            done.await.unwrap().reference_id.to_string(),
            "EP-003",
            "no number was lost"
        );
        assert_eq!(epics(world).await, epics_after);
    }
}

/// A batch that makes epics.
fn making(count: usize) -> Value {
    let one = |at: usize| json!({"op": "create", "kind": "epic", "title": format!("Epic {at}")});
    json!({"operations": (0..count).map(one).collect::<Vec<_>>()})
}

async fn five_hundred_operations_are_one_transaction(world: &World) {
    world.admin.batch(making(501)).await.refused(1021);
    let done = world.admin.batch(making(500)).await.unwrap();
    assert_eq!(done["results"][499]["label"], "EP-500");
    assert_eq!(epics(world).await, 500);
}

// A batch of known operations had the time of a single write, seven times as long as others of many steps.
//= specs/spexus-service.md#writing-once
//= type=test
//# A batch that takes longer than a transaction may MUST be undone, refused with the limit, and MUST free the writer.
async fn a_batch_gives_the_writer_back(world: &World) {
    let hasty = StoreOptions {
        max_transaction_ms: 20,
        ..StoreOptions::default()
    };
    let node = world.node_with(hasty).await;
    let head = world.chain_head().await;
    for dry_run in [true, false] {
        let mut batch = making(500);
        batch["dry_run"] = json!(dry_run);
        let refusal = node.admin.batch(batch).await.refused(1069);
        assert!(refusal.message.contains("20 ms"), "{}", refusal.message);
        assert_eq!(fact(&refusal, "outcome"), "nothing_done");
        assert_eq!(world.chain_head().await, head);
    }
    let next = world.admin.create("epic", json!({"title": "Next"})).await;
    assert_eq!(next.unwrap()["reference_id"], "EP-001");
    node.end().await;
}

//= specs/spexus-service.md#writing-once
//= type=test
//# A request with an idempotency key MUST be carried out once and answered alike every time.
async fn an_idempotency_key_does_a_thing_once(world: &World) {
    let admin = &world.admin;
    let once = async |title: &str| {
        admin
            .create_once("epic", json!({ "title": title }), Some("once-1"))
            .await
    };
    let first = once("Once").await.unwrap();
    assert_eq!(once("Once").await.unwrap(), first);
    assert_eq!(epics(world).await, 1);
    once("Other").await.refused(1054);
    let batch = json!({"operations": [{"op": "create", "kind": "epic", "title": "Twice", "ref": "e"}]});
    let first = admin.batch_once(batch.clone(), Some("batch-1")).await.unwrap();
    assert_eq!(admin.batch_once(batch, Some("batch-1")).await.unwrap(), first);
    assert_eq!(epics(world).await, 2);
    let other = json!({"operations": [{"op": "delete", "id": "EP-001"}]});
    admin.batch_once(other, Some("batch-1")).await.refused(1054);
}

async fn a_trial_uses_up_no_idempotency_key(world: &World) {
    let batch = |dry_run: bool| {
        let operations = json!([{"op": "create", "kind": "epic", "title": "x"}]);
        json!({"operations": operations, "dry_run": dry_run})
    };
    world.admin.batch_once(batch(true), Some("key")).await.unwrap();
    let done = world.admin.batch_once(batch(false), Some("key")).await.unwrap();
    assert_eq!((&done["dry_run"], epics(world).await), (&json!(false), json!(1)));
}

// The review's H7: a key was answered whichever project its token was bound to.
//= specs/spexus-service.md#writing-once
//= type=test
//# A key MUST count only among requests with the same binding to a project that name the same project.
async fn two_tokens_of_one_user_do_not_share_an_idempotency_key(world: &World) {
    world.admin.create_project(json!({"key": "web"})).await.unwrap();
    world.user("kim", "User").await;
    let web = world.bound("kim", "w", "web").await;
    let default = world.bound("kim", "d", "default").await;
    let epic = || json!({"title": "Once"});
    let mut made = Vec::new();
    for kim in [&web, &default] {
        let first = kim.create_once("epic", epic(), Some("once")).await.unwrap();
        let again = kim.create_once("epic", epic(), Some("once")).await.unwrap();
        assert_eq!(first, again);
        made.push(first["project"].clone());
    }
    assert_eq!(made, ["web", "default"]);
    let batch = || json!({"operations": [{"op": "create", "kind": "epic", "title": "Once more"}]});
    let first = web.batch_once(batch(), Some("more")).await.unwrap();
    let other = default.batch_once(batch(), Some("more")).await.unwrap();
    assert_ne!(first["results"][0]["id"], other["results"][0]["id"]);
    // The same key in two projects of one token does not clash either.
    let mut ids = Vec::new();
    for project in ["web", "default", "web"] {
        let made = world
            .admin
            .naming(project)
            .create_once("epic", epic(), Some("third"))
            .await;
        ids.push(made.unwrap()["id"].clone());
    }
    assert!(ids[0] != ids[1] && ids[0] == ids[2], "{ids:?}");
}
