//! Retention of the history: what went, what is still known, and who is told that something is gone.

use crate::client::uuid;
use crate::world::{Refused, World, both};
use serde_json::{Value, json};
use spexus_domain::audit::EventFilter;
use spexus_domain::query::PageRequest;
use spexus_service::history_retention::{DroppedSegment, drop_before};
use spexus_service::transfer::lines;
use spexus_service::{audit, changes};
use std::sync::Arc;

both![
    what_is_below_a_checkpoint_goes_and_all_that_is_left_is_verified,
    what_a_baseline_or_no_checkpoint_seals_stays,
    whoever_knows_less_than_was_dropped_is_told,
    only_an_administrator_drops_and_is_named,
];

async fn checkpoint(world: &World) {
    audit::checkpoint(&world.service, &world.admin.caller, "a key", false)
        .await
        .unwrap();
    world.jump(60);
}

async fn dropped(world: &World) -> Vec<DroppedSegment> {
    let (service, caller) = (&world.service, &world.admin.caller);
    drop_before(service, caller, None, service.store().now())
        .await
        .unwrap()
}

async fn is_whole(world: &World) {
    let verdict = audit::verify(&world.service, &world.admin.caller, &[])
        .await
        .unwrap();
    assert!(verdict.is_whole(), "{verdict:#?}");
}

/// Items with edits, comments, links and something deleted.
async fn furnish(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    world.user("kim", "User").await;
    let text = "What is longer than a ledger keeps as it is. ".repeat(9);
    admin
        .update("REQ-001", json!({"assignee": "kim", "description": text}))
        .await
        .unwrap();
    for title in ["Gone", "Stays"] {
        let epic = json!({"title": title, "priority": 2});
        admin.create("epic", epic).await.unwrap();
    }
    let link = admin.link("REQ-001", "relates_to", "EP-003").await.unwrap();
    admin.confirm(uuid(&link["id"])).await.unwrap();
    let said = admin.comment("EP-002", json!({"content": "Why?"})).await.unwrap();
    let answer = json!({"content": "Because", "parent_id": said["id"]});
    admin.comment("EP-002", answer).await.unwrap();
    admin.delete("EP-002", true).await.unwrap();
}

async fn numbers(world: &World) -> Vec<i64> {
    let feed = world.admin.changes().await.unwrap();
    let of = |change: &Value| change["number"].as_i64().unwrap();
    feed.as_array().unwrap().iter().map(of).collect()
}

//= specs/spexus-store.md#retention
//= type=test
//# What dropped changes had made of items, comments, links and other rows MUST be told in the ledger of the installation before
//# they go, with who dropped them.
async fn what_is_below_a_checkpoint_goes_and_all_that_is_left_is_verified(world: &World) {
    furnish(world).await;
    let last = *numbers(world).await.last().unwrap();
    checkpoint(world).await;
    let admin = &world.admin;
    admin
        .update("EP-003", json!({"title": "Changed since"}))
        .await
        .unwrap();
    let segments = dropped(world).await;
    let of: Vec<(&str, i64)> = segments
        .iter()
        .map(|segment| (segment.project.as_str(), segment.until))
        .collect();
    assert_eq!(of, [("default", last)]);
    assert_eq!(numbers(world).await, [last + 1]);
    is_whole(world).await;
    // Everything goes on: what was deleted comes back, what was told stays, numbers go on.
    admin.restore("EP-002").await.unwrap();
    let comments = admin.comments("EP-002", None).await.unwrap();
    assert_eq!(comments["total_count"], 2);
    admin
        .update("REQ-001", json!({"assignee": null, "title": "Renamed"}))
        .await
        .unwrap();
    admin.move_to("EP-003", json!({"before": "EP-001"})).await.ok();
    is_whole(world).await;
    // A second time, and once more where nothing is new.
    assert_eq!(dropped(world).await, []);
    checkpoint(world).await;
    assert_eq!(dropped(world).await.len(), 1);
    assert_eq!(numbers(world).await, Vec::<i64>::new());
    is_whole(world).await;
    admin
        .create("epic", json!({"title": "Later", "priority": 1}))
        .await
        .unwrap();
    assert_eq!(admin.get("EP-004").await.unwrap()["title"], "Later");
    let node = world.second_node().await;
    is_whole(&node).await;
    node.service.close().await;
}

//= specs/spexus-store.md#retention
//= type=test
//# Retention of a ledger MUST end at a change that a checkpoint names, MUST NOT go beyond the change a baseline was made at, and MUST
//# be refused where the ledger is not whole up to there.
async fn what_a_baseline_or_no_checkpoint_seals_stays(world: &World) {
    furnish(world).await;
    let all = numbers(world).await;
    assert_eq!(dropped(world).await, [], "there is no checkpoint");
    checkpoint(world).await;
    let admin = &world.admin;
    admin.update("EP-001", json!({"title": "More"})).await.unwrap();
    admin.baseline("release").await.unwrap();
    admin.update("EP-001", json!({"title": "Most"})).await.unwrap();
    checkpoint(world).await;
    let segments = dropped(world).await;
    let until = segments.first().map(|segment| segment.until);
    assert_eq!(
        until,
        all.last().copied(),
        "the second checkpoint is behind the baseline"
    );
    let query = json!({"from": "release"});
    let difference = admin.difference(query).await.unwrap();
    assert_eq!(difference["data"].as_array().unwrap().len(), 1, "{difference}");
    is_whole(world).await;
}

//= specs/spexus-http.md#feed
//= type=test
//# A cursor MUST be refused when changes behind it were dropped by retention.
//= specs/spexus-service.md#carrying
//= type=test
//# An export with the history MUST be refused where a part of that was dropped by retention.
async fn whoever_knows_less_than_was_dropped_is_told(world: &World) {
    let (service, caller) = (&world.service, &world.admin.caller);
    world.seed().await;
    let early = changes::now(service, caller, None).await.unwrap();
    let all = changes::since_of_all(service, caller, changes::START, Some(200))
        .await
        .unwrap();
    let early_of_all = changes::behind_of_all(&all.last().unwrap().change);
    world
        .admin
        .update("EP-001", json!({"title": "More"}))
        .await
        .unwrap();
    let at_the_end = changes::now(service, caller, None).await.unwrap();
    checkpoint(world).await;
    world
        .admin
        .update("EP-001", json!({"title": "Most"}))
        .await
        .unwrap();
    assert_eq!(dropped(world).await.len(), 1);
    let refused = changes::since(service, caller, None, &early, None)
        .await
        .unwrap_err();
    assert!(refused.message.contains("retention"), "{refused:?}");
    let refused = changes::since_of_all(service, caller, &early_of_all, None)
        .await
        .unwrap_err();
    assert!(refused.message.contains("retention"), "{refused:?}");
    for known in [at_the_end.as_str(), changes::START] {
        let news = changes::since(service, caller, None, known, None).await.unwrap();
        assert_eq!(news.len(), 1, "{known}");
    }
    let quiet = Arc::new(|_| ()) as spexus_service::transfer::Progress;
    let mut out = Vec::new();
    let whole = lines::export(service, caller, None, true, &mut out, &quiet).await;
    assert!(whole.unwrap_err().hint.contains("--no-history"));
    out.clear();
    lines::export(service, caller, None, false, &mut out, &quiet)
        .await
        .unwrap();
    assert!(!out.is_empty());
}

//= specs/spexus-service.md#audit
//= type=test
//# Whoever drops a part of the history MUST be named in the trail and in the history.
async fn only_an_administrator_drops_and_is_named(world: &World) {
    furnish(world).await;
    checkpoint(world).await;
    let kim = world
        .token_of("kim", json!({"name": "second", "scopes": ["admin"]}))
        .await;
    let kim = world.client(&kim).await.unwrap();
    let now = world.service.store().now();
    drop_before(&world.service, &kim.caller, None, now)
        .await
        .refused(1014);
    let unknown = drop_before(&world.service, &world.admin.caller, Some("nowhere"), now).await;
    assert!(unknown.is_err());
    assert_eq!(dropped(world).await.len(), 1);
    let filter = EventFilter {
        event: Some("history_dropped".into()),
        ..EventFilter::default()
    };
    let page = PageRequest::default();
    let events = audit::list(&world.service, &world.admin.caller, &filter, page)
        .await
        .unwrap();
    assert_eq!(events.data.len(), 1);
    assert_eq!(events.data[0].username, "admin");
    assert!(events.data[0].detail.starts_with("default up to change"));
}
