//! Deleting: what falls with an item is told before, and comes back with it.

use crate::client::references;
use crate::world::{Refused, World, both};
use serde_json::{Value, json};
use spexus_domain::limits::MAX_DESCRIPTION_CHARS;
use spexus_store::StoreOptions;

both![
    deletion_is_told_before_needs_force_and_can_be_undone,
    the_last_criterion_of_a_story_cannot_go,
    a_deletion_agreed_to_takes_exactly_what_was_shown,
    a_tree_of_long_texts_is_told_and_deleted,
    a_deletion_that_takes_too_long_gives_the_writer_back,
];

//= specs/spexus-service.md#rules
//= type=test
//# An item that others depend on MUST be deleted only with `force`, after a preview that tells what falls with it.
//= specs/spexus-service.md#rules
//= type=test
//# What was deleted together MUST come back together.
async fn deletion_is_told_before_needs_force_and_can_be_undone(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin
        .comment("EP-001", json!({"content": "Why passkeys?"}))
        .await
        .unwrap();
    let preview = admin.preview("EP-001").await.unwrap();
    let falling = preview["items"].as_array().unwrap().len();
    assert_eq!(
        (&preview["can_delete"], falling, &preview["comments"]),
        (&json!(false), 3, &json!(1))
    );
    admin.delete("EP-001", false).await.refused(1055);
    let deleted = admin.delete("EP-001", true).await.unwrap();
    assert_eq!(deleted["items"].as_array().unwrap().len(), 3);
    let refusal = admin.get("REQ-001").await.refused(1046);
    assert_eq!(refusal.hint, "Restore it first.");
    let gone = admin.list("user_story", json!({"deleted": true})).await.unwrap();
    assert_eq!(references(&gone), ["US-001"]);
    let back = admin.restore("US-001").await.unwrap();
    assert_eq!(
        back["reference_id"], "US-001",
        "what fell together comes back together"
    );
    assert_eq!(admin.hierarchy("EP-001", None).await.unwrap()["total_count"], 4);
    assert_eq!(admin.comments("EP-001", None).await.unwrap()["total_count"], 1);
    assert_eq!(
        admin.get("REQ-001").await.unwrap()["acceptance_criterion"],
        "AC-001"
    );
    admin.restore("EP-001").await.refused(1054);
}

//= specs/spexus-service.md#rules
//= type=test
//# The last criterion of a story MUST stay as long as the story does.
async fn the_last_criterion_of_a_story_cannot_go(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin.delete("AC-001", true).await.refused(1054);
    let another = json!({"parent": "US-001", "description": "It works offline."});
    admin.create("acceptance_criterion", another).await.unwrap();
    let preview = admin.preview("AC-001").await.unwrap();
    assert_eq!(preview["unpointed"], json!(["REQ-001"]));
    admin.delete("AC-001", false).await.refused(1055);
    admin.delete("AC-001", true).await.unwrap();
    assert!(
        admin
            .get("REQ-001")
            .await
            .unwrap()
            .get("acceptance_criterion")
            .is_none()
    );
}

//= specs/spexus-service.md#rules
//= type=test
//# A deletion somebody agreed to MUST take with it exactly what they were shown, else nothing MUST be deleted.
async fn a_deletion_agreed_to_takes_exactly_what_was_shown(world: &World) {
    use spexus_service::item;
    world.seed().await;
    let (service, caller) = (&world.service, &world.admin.caller);
    let shown = item::preview(service, caller, None, None, "EP-001")
        .await
        .unwrap();
    world
        .admin
        .create("user_story", json!({"parent": "EP-001", "title": "One more"}))
        .await
        .unwrap();
    let head = world.chain_head().await;
    let refused = item::delete_agreed(service, caller, None, shown, None).await;
    refused.refused(1053);
    assert_eq!(world.chain_head().await, head, "nothing was deleted");
    let shown = item::preview(service, caller, None, None, "EP-001")
        .await
        .unwrap();
    item::delete_agreed(service, caller, None, shown, None)
        .await
        .unwrap();
    world.admin.get("EP-001").await.refused(1046);
}

//= specs/spexus-service.md#rules
//= type=test
//# A deletion that takes longer than a transaction may MUST be undone, and MUST be refused with the advice to delete its parts first.
//= specs/spexus-service.md#rules
//= type=test
//# What could be deleted MUST be able to come back, although that takes longer.
async fn a_deletion_that_takes_too_long_gives_the_writer_back(world: &World) {
    world.seed().await;
    let requirement =
        json!({"op": "create", "kind": "requirement", "user_story_id": "US-001", "title": "Many"});
    for _ in 0..4 {
        let operations = vec![requirement.clone(); 500];
        let made = world.admin.batch(json!({ "operations": operations })).await;
        made.unwrap();
    }
    let hasty = StoreOptions {
        max_transaction_ms: 20,
        ..StoreOptions::default()
    };
    let node = world.node_with(hasty).await;
    let head = world.chain_head().await;
    let refusal = node.admin.delete("EP-001", true).await.refused(1069);
    assert!(
        refusal.message.contains("EP-001 was not deleted"),
        "{}",
        refusal.message
    );
    assert!(
        refusal.hint.contains("Delete its parts first"),
        "{}",
        refusal.hint
    );
    assert_eq!(world.chain_head().await, head);
    // What is small enough goes, and all of it comes back, also where a deletion of that size would take too long.
    let gone = world.admin.delete("EP-001", true).await.unwrap();
    assert_eq!(gone["items"].as_array().unwrap().len(), 2_003);
    node.admin.restore("EP-001").await.unwrap();
    node.end().await;
    assert_eq!(
        world.admin.preview("EP-001").await.unwrap()["items"],
        gone["items"]
    );
}

/// Links within the tree count once, pointers from within do not count, and long texts are told by their beginnings.
async fn a_tree_of_long_texts_is_told_and_deleted(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let text = "я".repeat(MAX_DESCRIPTION_CHARS);
    for _ in 0..20 {
        let criterion = json!({"user_story_id": "US-001", "description": text});
        admin.create("acceptance_criterion", criterion).await.unwrap();
        let requirement = json!({"parent": "US-001", "title": "Long", "description": text});
        admin.create("requirement", requirement).await.unwrap();
    }
    admin.create("epic", json!({"title": "Outside"})).await.unwrap();
    admin.link("REQ-001", "depends_on", "REQ-002").await.unwrap();
    admin.link("REQ-003", "relates_to", "EP-002").await.unwrap();
    for on in ["AC-002", "REQ-004"] {
        admin.comment(on, json!({"content": "Long."})).await.unwrap();
    }
    let preview = admin.preview("EP-001").await.unwrap();
    let items = preview["items"].as_array().unwrap();
    let told = json!([
        items.len(),
        preview["links"],
        preview["comments"],
        preview["unpointed"]
    ]);
    assert_eq!(told, json!([43, 2, 2, []]));
    let criterion = items
        .iter()
        .find(|item| item["reference_id"] == "AC-002")
        .unwrap();
    assert_eq!(criterion["title"], format!("{}…", "я".repeat(79)));
    let gone = admin.delete("EP-001", true).await.unwrap();
    assert_eq!(gone, preview);
    admin.get("REQ-020").await.refused(1046);
    assert_eq!(admin.links("EP-002", None).await.unwrap()["total_count"], 0);
    admin.restore("EP-001").await.unwrap();
    let back: Value = admin.preview("EP-001").await.unwrap();
    assert_eq!(
        (&back["items"], &back["links"]),
        (&preview["items"], &preview["links"])
    );
}
