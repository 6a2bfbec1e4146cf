//! Prompts: numbered, named, and at most one active.

use crate::world::{Refused, World, both};
use serde_json::json;

both![prompts_are_numbered_and_one_is_active];

async fn prompts_are_numbered_and_one_is_active(world: &World) {
    let admin = &world.admin;
    let shipped = admin.active_prompt().await.unwrap();
    let named = (&shipped["name"], &shipped["reference_id"]);
    assert_eq!(named, (&json!("requirements-analyst"), &json!("PROMPT-001")));
    let prompt = json!({"name": "reviewer", "messages": [{"role": "user", "text": "Review {{item}}."}], "arguments": [{"name": "item"}]});
    admin.create_prompt(prompt.clone()).await.unwrap();
    admin.create_prompt(prompt).await.refused(1051);
    admin.activate_prompt("reviewer", true).await.unwrap();
    assert_eq!(admin.active_prompt().await.unwrap()["name"], "reviewer");
    assert_eq!(admin.get_prompt("PROMPT-001").await.unwrap()["active"], false);
    admin.activate_prompt("prompt-2", false).await.unwrap();
    assert_eq!(admin.active_prompt().await.unwrap(), json!(null));
    admin.delete_prompt("reviewer").await.unwrap();
    admin.get_prompt("reviewer").await.refused(1050);
}
