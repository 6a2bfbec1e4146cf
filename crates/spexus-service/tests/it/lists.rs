//! Lists, reports and baselines: what is counted, in which order, page by page.

use crate::client::references;
use crate::world::{Refused, World, both};
use serde_json::json;

both![
    lists_filter_order_and_page,
    baselines_compare,
    reports_count_and_name_gaps
];

async fn lists_filter_order_and_page(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    for (title, priority) in [("Beta", 2), ("Alpha", 4), ("Gamma", 1)] {
        let epic = json!({"title": title, "priority": priority});
        admin.create("epic", epic).await.unwrap();
    }
    let page = admin
        .list("epic", json!({"order_by": "title", "limit": 2}))
        .await
        .unwrap();
    assert_eq!(
        (references(&page), &page["total_count"]),
        (vec!["EP-003", "EP-002"], &json!(4))
    );
    let next = &page["next_cursor"];
    let rest = json!({"order_by": "title", "limit": 2, "cursor": next});
    let rest = admin.list("epic", rest).await.unwrap();
    assert_eq!(references(&rest), ["EP-004", "EP-001"]);
    assert!(rest.get("next_cursor").is_none());
    for (kind, query, expected) in [
        (
            "epic",
            json!({"priority": "critical,low", "order_by": "-created_at"}),
            vec!["EP-004", "EP-003", "EP-001"],
        ),
        (
            "epic",
            json!({"status": "backlog", "assignee": "none", "creator": "me"}),
            vec!["EP-001", "EP-002", "EP-003", "EP-004"],
        ),
        ("requirement", json!({"under": "EP-001"}), vec!["REQ-001"]),
        ("user_story", json!({"parent": "EP-001"}), vec!["US-001"]),
    ] {
        let found = admin.list(kind, query.clone()).await.unwrap();
        assert_eq!(references(&found), expected, "{query}");
    }
    let other_order = json!({"order_by": "-priority", "cursor": next});
    admin.list("epic", other_order).await.refused(1021);
}

async fn baselines_compare(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin.baseline("v1").await.unwrap();
    let patch = json!({"title": "Sign in fast", "assignee": "admin"});
    admin.update("EP-001", patch).await.unwrap();
    admin
        .update("EP-001", json!({"title": "Sign in very fast"}))
        .await
        .unwrap();
    admin.create("epic", json!({"title": "New"})).await.unwrap();
    admin.baseline("v2").await.unwrap();
    admin.baseline("v2").await.refused(1052);
    let diff = admin.difference(json!({"from": "v1", "to": "v2"})).await.unwrap();
    assert_eq!(references(&diff), ["EP-001", "EP-002"]);
    assert_eq!(diff["data"][0]["difference"], "changed");
    let title = json!({"field": "title", "before": "Sign in", "after": "Sign in very fast"});
    assert_eq!(diff["data"][0]["fields"][1], title);
    assert_eq!(diff["data"][1]["difference"], "added");
    admin
        .difference(json!({"from": "v2", "to": "v1"}))
        .await
        .refused(1021);
    let first = admin.difference(json!({"from": "v1", "limit": 1})).await.unwrap();
    assert_eq!(
        (references(&first), &first["total_count"]),
        (vec!["EP-001"], &json!(2))
    );
    let next = &first["next_cursor"];
    // What happens between two pages belongs to the next question.
    admin.create("epic", json!({"title": "Later"})).await.unwrap();
    let second = json!({"from": "v1", "limit": 1, "cursor": next});
    let second = admin.difference(second).await.unwrap();
    assert_eq!(
        (references(&second), second.get("next_cursor")),
        (vec!["EP-002"], None)
    );
    admin
        .difference(json!({"from": "v2", "cursor": next}))
        .await
        .refused(1021);
    let verdict = spexus_service::audit::verify(&world.service, &admin.caller, &[])
        .await
        .unwrap();
    assert!(verdict.fault.is_none(), "{verdict:?}");
}

//= specs/spexus-service.md#reports
//= type=test
//# The total of each section of a report MUST be counted to its end, and its rows MUST come in pages.
async fn reports_count_and_name_gaps(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin.create("epic", json!({"title": "Empty"})).await.unwrap();
    let counted = admin.status(None).await.unwrap();
    assert_eq!(
        (&counted["total_count"], &counted["kinds"]["epic"]["total"]),
        (&json!(5), &json!(2))
    );
    let gaps = admin.gaps(json!({})).await.unwrap();
    assert_eq!(
        gaps["sections"]["epics_without_stories"],
        json!({"data": ["EP-002"], "total_count": 1})
    );
    let below = admin.gaps(json!({"under": "US-001"})).await.unwrap();
    assert_eq!(
        below["sections"]["epics_without_stories"],
        json!({"data": [], "total_count": 0})
    );
    admin
        .create("epic", json!({"title": "Empty, too"}))
        .await
        .unwrap();
    let page = json!({"section": "epics_without_stories", "limit": 1});
    let page = admin.gaps(page).await.unwrap();
    let sections = page["sections"].as_object().unwrap();
    assert_eq!((&page["total_count"], sections.len()), (&json!(2), 1));
    let next = &page["sections"]["epics_without_stories"]["next_cursor"];
    let rest = admin.gaps(json!({"limit": 1, "cursor": next})).await.unwrap();
    let last = json!({"epics_without_stories": {"data": ["EP-003"], "total_count": 2}});
    assert_eq!(rest["sections"], last);
    admin
        .gaps(json!({"section": "cycles", "cursor": next}))
        .await
        .refused(1021);
    admin.gaps(json!({"section": "epics"})).await.refused(1021);
    admin.status(Some("EP-999")).await.refused(1046);
}
