//! Answers have a size an agent can read: what does not fit says so, and how to get the rest.

use crate::agent::Agent;
use crate::world::{World, both};
use serde_json::{Value, json};
use std::collections::BTreeSet;

both![
    whole_answers_have_this_shape,
    an_outline_needs_no_texts_and_is_not_cut_for_them,
    a_full_list_of_long_texts_comes_in_answers_an_agent_can_read,
];

async fn story_with_requirements(world: &World, many: usize, text: &str) {
    world.seed().await;
    for at in 0..many {
        let requirement = json!({ "title": format!("Long {at}"), "description": text, "parent": "US-001" });
        world.create("requirement", requirement).await;
    }
}

async fn whole_answers_have_this_shape(world: &World) {
    let agent = Agent::connect(world).await;
    let mut hello = agent.hello["result"].clone();
    assert!(hello["instructions"].as_str().unwrap().len() > 100);
    hello["instructions"] = json!("…");
    insta::assert_json_snapshot!("initialize", hello);
    let made = json!({ "name": "create_epic", "arguments": { "title": "Sign in" } });
    let mut made = agent.ask("tools/call", made).await;
    // The clock of the tests stands still, but no two of its readings are the same.
    let updated_at = &mut made["structuredContent"]["item"]["updated_at"];
    assert!(
        updated_at
            .as_str()
            .unwrap()
            .starts_with("2026-09-21T14:13:20.0000")
    );
    *updated_at = json!("…");
    insta::assert_json_snapshot!("tool_result", made);
    let listed = agent
        .ask("tools/call", json!({ "name": "list_epics", "arguments": {} }))
        .await;
    insta::assert_json_snapshot!("tool_list", listed);
    let failed = json!({ "name": "update_epic", "arguments": { "epic_id": "EP-001", "status": "Done" } });
    let failed = agent.ask("tools/call", failed).await;
    insta::assert_json_snapshot!("tool_failure", failed);
    let refused = json!({ "name": "create_epic", "arguments": { "titel": "x" } });
    let refused = agent.refused("tools/call", refused).await;
    insta::assert_json_snapshot!("refusal", refused);
}

async fn an_outline_needs_no_texts_and_is_not_cut_for_them(world: &World) {
    story_with_requirements(world, 50, &"я".repeat(50_000)).await;
    let agent = Agent::connect(world).await;
    let outline = agent.call("epic_hierarchy", json!({ "epic": "EP-001" })).await;
    assert_eq!(
        (&outline["total_count"], &outline["truncated"]),
        (&json!(54), &json!(false))
    );
    assert_eq!(outline["outline"].as_str().unwrap().lines().count(), 54);
}

//= specs/spexus-mcp.md#answers
//= type=test
//# A list MUST end before its answer exceeds the bytes an answer may have, and MUST then say that it was cut and how to go on.
async fn a_full_list_of_long_texts_comes_in_answers_an_agent_can_read(world: &World) {
    story_with_requirements(world, 12, &"x".repeat(20_000)).await;
    let agent = Agent::connect(world).await;
    let mut seen = BTreeSet::new();
    let mut cursor = Value::Null;
    loop {
        let mut wanted = json!({ "detail": "full", "limit": 200 });
        if cursor.is_string() {
            wanted["cursor"] = cursor;
        }
        let page = agent.call("list_requirements", wanted).await;
        assert!(page.to_string().len() <= 48_000, "{}", page.to_string().len());
        assert_eq!(page["total_count"], 13);
        for row in page["rows"].as_array().unwrap() {
            assert!(seen.insert(row["reference_id"].to_string()), "{row} twice");
        }
        cursor = page["next_cursor"].clone();
        assert_eq!(page["truncated"], cursor.is_string());
        if !cursor.is_string() {
            break;
        }
    }
    assert_eq!(seen.len(), 13);
}
