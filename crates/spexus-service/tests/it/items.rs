//! Items: making them, changing them, moving them, and the workflow of their kinds.

use crate::client::references;
use crate::world::{Refused, World, both, fact};
use serde_json::{Value, json};

both![
    a_project_is_written_read_and_changed,
    a_stale_write_is_refused_with_who_changed_what,
    the_workflow_is_enforced_and_can_be_changed,
    items_move_between_containers_and_places,
    numbers_have_no_gaps_and_are_never_given_twice,
    the_hierarchy_is_the_whole_tree,
    a_hierarchy_of_long_texts_is_cut_and_says_so,
    a_child_belongs_to_a_container_of_the_right_kind,
];

//= specs/spexus-service.md#history
//= type=test
//# A write that changes nothing SHOULD make no new revision.
async fn a_project_is_written_read_and_changed(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let requirement = admin.get("req-1").await.unwrap();
    let expected = json!({
        "reference_id": "REQ-001", "project": "default", "kind": "requirement", "title": "Passkeys MUST work",
        "status": "Draft", "priority": 3, "type": "Functional", "parent": "US-001", "acceptance_criterion": "AC-001",
        "creator": "admin", "rev": 1,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&requirement[name], value, "{name}");
    }
    let by_uuid = admin.get(requirement["id"].as_str().unwrap()).await.unwrap();
    assert_eq!(by_uuid, requirement);
    let patch = json!({"title": "Passkeys MUST work everywhere", "priority": "high"});
    let changed = admin.update("REQ-001", patch).await.unwrap();
    assert_eq!((&changed["rev"], &changed["priority"]), (&json!(2), &json!(2)));
    let cleared = admin
        .update("REQ-001", json!({"acceptance_criterion": null}))
        .await
        .unwrap();
    assert!(cleared.get("acceptance_criterion").is_none());
    let head = world.chain_head().await;
    let same = admin.update("REQ-001", json!({"priority": 2})).await.unwrap();
    assert_eq!(same["rev"], 3, "nothing changed, so no new revision");
    assert_eq!(world.chain_head().await, head, "and nothing to tell");
}

async fn a_stale_write_is_refused_with_who_changed_what(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin
        .update("EP-001", json!({"title": "Sign in fast"}))
        .await
        .unwrap();
    let stale = admin
        .update("EP-001", json!({"title": "Mine", "expect_rev": 1}))
        .await;
    let refusal = stale.refused(1053);
    assert_eq!(fact(&refusal, "current_rev"), "2");
    assert_eq!(refusal.faults[0].field, "title");
    let problem = &refusal.faults[0].problem;
    assert!(
        problem.starts_with("changed to \"Sign in fast\" by admin at "),
        "{problem}"
    );
    let moved = admin.move_to("EP-001", json!({"expect_rev": 1})).await;
    moved.refused(1053);
    let fresh = admin
        .update("EP-001", json!({"title": "Mine", "expect_rev": 2}))
        .await;
    assert_eq!(fresh.unwrap()["title"], "Mine");
}

//= specs/spexus-service.md#rules
//= type=test
//# A status MUST change only along the workflow of the kind.
async fn the_workflow_is_enforced_and_can_be_changed(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let become_ = async |status: &str| admin.update("EP-001", json!({ "status": status })).await;
    let refusal = become_("Done").await.refused(1054);
    assert_eq!(refusal.faults[0].allowed, "one of: Draft, In Progress, Cancelled");
    assert_eq!(become_("in progress").await.unwrap()["status"], "In Progress");
    become_("Nonsense").await.refused(1021);

    let mut workflow = admin.workflow("epic").await.unwrap();
    workflow["statuses"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "In Review"}));
    let step = json!({"from": "In Progress", "to": "In Review"});
    workflow["transitions"].as_array_mut().unwrap().push(step);
    let input = json!({"statuses": workflow["statuses"], "transitions": workflow["transitions"]});
    admin.put_workflow("epic", input).await.unwrap();
    assert_eq!(become_("In Review").await.unwrap()["status"], "In Review");
    let without = json!({"statuses": [{"name": "Backlog", "initial": true}], "transitions": []});
    let refusal = admin.put_workflow("epic", without).await.refused(1054);
    let told = "\"In Review\" is missing, but items have it";
    assert!(refusal.message.contains(told), "{refusal:?}");
}

async fn items_move_between_containers_and_places(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin.create("epic", json!({"title": "Other"})).await.unwrap();
    for title in ["Second", "Third"] {
        let story = json!({"parent": "EP-001", "title": title});
        admin.create("user_story", story).await.unwrap();
    }
    let inside = async || admin.children("EP-001").await.unwrap();
    admin
        .move_to("US-003", json!({"before": "US-001"}))
        .await
        .unwrap();
    assert_eq!(references(&inside().await), ["US-003", "US-001", "US-002"]);
    for _ in 0..60 {
        admin.move_to("US-002", json!({"after": "US-003"})).await.unwrap();
        admin.move_to("US-001", json!({"after": "US-003"})).await.unwrap();
    }
    assert_eq!(references(&inside().await), ["US-003", "US-001", "US-002"]);
    let moved = admin
        .move_to("US-002", json!({"parent": "EP-002"}))
        .await
        .unwrap();
    assert_eq!(moved["parent"], "EP-002");
    admin
        .move_to("US-002", json!({"parent": "US-001"}))
        .await
        .refused(1021);
    let refusal = admin
        .move_to("REQ-001", json!({"parent": "US-002"}))
        .await
        .refused(1054);
    let told = "it serves AC-001, which stays behind";
    assert!(refusal.message.contains(told), "{refusal:?}");
    admin
        .move_to("AC-001", json!({"parent": "US-002"}))
        .await
        .refused(1054);
    let both = json!({"before": "US-001", "after": "US-003"});
    admin.move_to("US-001", both).await.refused(1021);
}

async fn numbers_have_no_gaps_and_are_never_given_twice(world: &World) {
    let admin = &world.admin;
    admin.create("epic", json!({"title": ""})).await.refused(1021);
    let nobodys = json!({"title": "x", "assignee": "nobody"});
    admin.create("epic", nobodys).await.refused(1021);
    let first = admin.create("epic", json!({"title": "x"})).await.unwrap();
    assert_eq!(first["reference_id"], "EP-001");
    admin.delete("EP-001", false).await.unwrap();
    let second = admin.create("epic", json!({"title": "y"})).await.unwrap();
    assert_eq!(second["reference_id"], "EP-002");
}

async fn the_hierarchy_is_the_whole_tree(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let tree = admin.hierarchy("EP-001", None).await.unwrap();
    assert_eq!(
        (&tree["total_count"], &tree["truncated"]),
        (&json!(4), &json!(false))
    );
    let story = &tree["root"]["children"][0];
    assert_eq!(story["reference_id"], "US-001");
    let below = story["children"].as_array().unwrap().iter();
    let below: Vec<&Value> = below.map(|child| &child["reference_id"]).collect();
    assert_eq!(below, ["AC-001", "REQ-001"]);
    let shallow = admin.hierarchy("EP-001", Some(1)).await.unwrap();
    assert_eq!(
        (&shallow["total_count"], &shallow["truncated"]),
        (&json!(2), &json!(true))
    );
    let way = admin.path("REQ-001").await.unwrap();
    assert_eq!(references(&way), ["EP-001", "US-001", "REQ-001"]);
}

//= specs/spexus-service.md#trees
//= type=test
//# A hierarchy that does not fit into one answer MUST say so, with the number of items in all and how to get the rest.
async fn a_hierarchy_of_long_texts_is_cut_and_says_so(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    // The longest description there is, two bytes a letter.
    let long = "я".repeat(50_000);
    for at in 0..50 {
        let requirement = json!({"title": format!("Long {at}"), "description": long, "parent": "US-001"});
        admin.create("requirement", requirement).await.unwrap();
    }
    let tree = admin.hierarchy("EP-001", None).await.unwrap();
    assert_eq!(
        (&tree["total_count"], &tree["truncated"]),
        (&json!(54), &json!(true))
    );
    let shown = tree["shown_count"].as_i64().unwrap();
    assert!((20..54).contains(&shown), "{shown}");
    assert!(
        tree["rest"].as_str().unwrap().contains("under=EP-001"),
        "{}",
        tree["rest"]
    );
    assert!(tree.to_string().len() < 5_000_000);
    let whole = admin.hierarchy("US-001", Some(0)).await.unwrap();
    let counts = (&whole["total_count"], &whole["shown_count"], whole.get("rest"));
    assert_eq!(counts, (&json!(1), &json!(1), None));
}

async fn a_child_belongs_to_a_container_of_the_right_kind(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    for (kind, parent, field) in [
        ("user_story", json!(null), "epic_id"),
        ("user_story", json!("US-001"), "epic_id"),
        ("requirement", json!("EP-001"), "user_story_id"),
        ("epic", json!("EP-001"), "parent"),
    ] {
        let mut input = json!({"title": "x"});
        if parent.is_string() {
            input["parent"] = parent;
        }
        let refusal = admin.create(kind, input).await.expect_err("a wrong container");
        assert_eq!(refusal.faults[0].field, field, "{refusal:?}");
    }
    let elsewhere = json!({"title": "Other", "parent": "EP-001"});
    admin.create("user_story", elsewhere).await.unwrap();
    //= specs/spexus-service.md#rules
    //= type=test
    //# The criterion a requirement serves MUST belong to the requirement's own story.
    let foreign = json!({"title": "x", "parent": "US-002", "acceptance_criterion": "AC-001"});
    let refusal = admin.create("requirement", foreign).await.refused(1054);
    assert_eq!(refusal.faults[0].field, "acceptance_criterion");
}
