//! What a person agrees to: this item, in this revision, once, and only when they were asked.

use crate::agent::Agent;
use crate::pair::{self, SECRET, WEB, stateless};
use crate::world::{World, both};
use serde_json::{Value, json};

fn yes() -> Value {
    json!({ "action": "accept", "content": { "delete": true } })
}

/// An agent whose client can ask.
async fn able(world: &World) -> Agent {
    Agent::able(
        world,
        &world.token,
        "2025-11-25",
        &[],
        json!({ "elicitation": {} }),
    )
    .await
}

/// A deletion in the stateless era, with what the client brings along.
async fn delete(world: &World, id: &str, state: Option<&Value>, answers: Value) -> Value {
    let mut params = json!({ "name": "delete_item", "arguments": { "id": id }, "inputResponses": answers });
    if let Some(state) = state {
        params["requestState"] = state.clone();
    }
    stateless(world, &world.token, "tools/call", params).await
}

/// The name of the one question in an answer.
fn question(answer: &Value) -> String {
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let asked = answer["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(asked.len(), 1, "{answer}");
    asked.keys().next().unwrap().clone()
}

/// How often the audit trail says that a person agreed.
async fn agreed(world: &World) -> u64 {
    let events = world.events().await;
    let events = events["data"].as_array().unwrap();
    let of_person = |event: &&Value| {
        let text = event.to_string();
        text.contains("elicitation/create") && text.contains("accept")
    };
    events
        .iter()
        .filter(of_person)
        .map(|event| event["count"].as_u64().unwrap_or(1))
        .sum()
}

both![
    a_yes_to_one_projects_item_never_deletes_the_other_projects,
    a_yes_nobody_gave_or_gave_before_deletes_nothing,
    a_yes_to_what_was_shown_before_a_change_is_asked_for_anew,
    an_answer_counts_for_its_own_question_only,
];

//= specs/spexus-mcp.md#asking
//= type=test
//# The question whether to delete MUST name the title, the reference and the project, and its answer MUST be bound to that item in that revision.
async fn a_yes_to_one_projects_item_never_deletes_the_other_projects(world: &World) {
    pair::seed(world).await;
    // Both have the same number of links and comments, and nothing below them.
    let target = pair::uuid(world, "web", "REQ-001").await;
    let agent = able(world).await;
    let mut asked = Vec::new();
    let answer = agent
        .converse(
            "tools/call",
            json!({ "name": "delete_item", "arguments": { "id": target } }),
            |_, question| {
                asked.push(question["message"].as_str().unwrap().to_owned());
                yes()
            },
        )
        .await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(
        asked,
        [format!(
            "REQ-001 \"{WEB} requirement\" in the project web ends 1 link. Delete?"
        )]
    );
    assert!(!world.is_there("web/REQ-001").await);
    let other = world.item("default/REQ-001").await;
    assert_eq!(other["title"], format!("{SECRET} requirement"));
}

//= specs/spexus-service.md#writing-once
//= type=test
//# The answer of a person to a question MUST be taken once, whichever node it is brought to.
//= specs/spexus-mcp.md#asking
//= type=test
//# An answer MUST count once and only for the question that was put, at every node; one that was not asked for, or was used before, MUST be asked for anew.
async fn a_yes_nobody_gave_or_gave_before_deletes_nothing(world: &World) {
    pair::seed(world).await;
    let two = world.second_node().await;
    let is_there = || world.is_there("web/REQ-001");
    let unasked = delete(world, "web/REQ-001", None, json!({})).await;
    let key = question(&unasked);
    // An answer without the question, which the client may have seen elsewhere.
    let again = delete(world, "web/REQ-001", None, json!({ &key: yes() })).await;
    assert_eq!(question(&again), key);
    assert!(is_there().await && agreed(world).await == 0, "nobody agreed");
    // A state of somebody else's, or of another call.
    let other = world.user("ann", "Administrator").await;
    let params = json!({ "name": "delete_item", "arguments": { "id": "web/REQ-001" }, "requestState": again["result"]["requestState"], "inputResponses": { &key: yes() } });
    let foreign = stateless(world, &other, "tools/call", params).await;
    assert_eq!(foreign["error"]["code"], -32602, "{foreign}");
    let state = again["result"]["requestState"].clone();
    let done = delete(world, "web/REQ-001", Some(&state), json!({ &key: yes() })).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert!(!is_there().await && agreed(world).await == 1);
    // Brought back, it is not deleted by the same yes, here or at another node.
    let back = json!({ "name": "restore_item", "arguments": { "id": "web/REQ-001" } });
    able(world).await.ask("tools/call", back).await;
    for node in [world, &two] {
        let mut params = json!({ "name": "delete_item", "arguments": { "id": "web/REQ-001" }, "inputResponses": { &key: yes() } });
        params["requestState"] = state.clone();
        let replayed = stateless(node, &world.token, "tools/call", params).await;
        question(&replayed);
    }
    assert!(
        is_there().await && agreed(world).await == 1,
        "one yes was given and used"
    );
}

/// Another revision is another question.
async fn a_yes_to_what_was_shown_before_a_change_is_asked_for_anew(world: &World) {
    pair::seed(world).await;
    let asked = delete(world, "web/REQ-001", None, json!({})).await;
    let key = question(&asked);
    let change = json!({ "description": "Something else" });
    world.update("web/REQ-001", change).await;
    let answer = delete(
        world,
        "web/REQ-001",
        Some(&asked["result"]["requestState"]),
        json!({ &key: yes() }),
    )
    .await;
    assert_ne!(question(&answer), key);
    assert!(world.is_there("web/REQ-001").await);
    assert_eq!(agreed(world).await, 0);
}

/// The other questions: which one was meant, and what was left out.
async fn an_answer_counts_for_its_own_question_only(world: &World) {
    pair::seed(world).await;
    let call = async |tool: &str, arguments: Value, state: &Value, answers: Value| {
        let mut params = json!({ "name": tool, "arguments": arguments, "inputResponses": answers });
        if state.is_string() {
            params["requestState"] = state.clone();
        }
        stateless(world, &world.token, "tools/call", params).await
    };
    let head = world.chain_head().await;
    // What was left out, which nobody was asked for.
    let title = json!({ "create_epic.missing": { "action": "accept", "content": { "title": "Made up" } } });
    let unasked = call("create_epic", json!({}), &Value::Null, title.clone()).await;
    assert_eq!(question(&unasked), "create_epic.missing");
    assert_eq!(world.chain_head().await, head, "nothing was made");
    let done = call(
        "create_epic",
        json!({}),
        &unasked["result"]["requestState"],
        title,
    )
    .await;
    assert_eq!(done["result"]["isError"], false, "{done}");
    // Which one was meant by one reference is no answer for another.
    let change = |id: &str| json!({ "requirement_id": id, "priority": 1, "project": "web" });
    let asked = call("update_requirement", change("REQ-011"), &Value::Null, json!({})).await;
    let key = question(&asked);
    assert!(key.starts_with("which.requirement_id."), "{key}");
    let id = pair::uuid(world, "web", "REQ-001").await;
    let meant = json!({ &key: { "action": "accept", "content": { "requirement_id": id } } });
    let state = asked["result"]["requestState"].clone();
    let moved = call("update_requirement", change("REQ-01"), &state, meant.clone()).await;
    assert!(
        moved["result"]["structuredContent"]["item"].is_object(),
        "REQ-01 is REQ-001: {moved}"
    );
    let other = call("update_requirement", change("REQ-012"), &state, meant).await;
    assert!(question(&other).starts_with("which.requirement_id."), "{other}");
}
