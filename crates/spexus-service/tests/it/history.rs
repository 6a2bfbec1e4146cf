//! The history: every change of every field, newest first.

use crate::client::page;
use crate::world::{World, both};
use serde_json::json;

both![history_tells_every_field];

//= specs/spexus-service.md#history
//= type=test
//# Every change MUST be told in the history with who made it and what each field was before and after.
async fn history_tells_every_field(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let patch = json!({"title": "Sign in fast", "assignee": "admin"});
    admin.update("EP-001", patch).await.unwrap();
    admin
        .update("EP-001", json!({"title": "Sign in very fast"}))
        .await
        .unwrap();
    let history = admin.history("EP-001").await.unwrap();
    assert_eq!(
        (&history["total_count"], &history["data"][0]["user"]),
        (&json!(3), &json!("admin"))
    );
    let fields = json!([{"field": "title", "before": "Sign in fast", "after": "Sign in very fast"}]);
    assert_eq!(history["data"][0]["fields"], fields);
    let first = admin.history_page("EP-001", page(Some(1), None)).await.unwrap();
    let next = first["next_cursor"].as_str();
    let second = admin.history_page("EP-001", page(Some(1), next)).await.unwrap();
    assert_eq!(second["data"][0]["rev"], 2);
}
