//! Every tool on a project of long texts and many rows: each answer stays below its limit, and what was left out can be had.

use crate::agent::Agent;
use crate::world::World;
use serde_json::{Value, json};
use spexus_domain::limits::MAX_DESCRIPTION_CHARS;
use spexus_mcp::McpOptions;
use spexus_service::account::{token, user};
use spexus_service::{baseline, group, member, project};
use std::collections::BTreeSet;

/// What an answer may have here: the least that can be set.
const MAX_BYTES: usize = 4_000;
/// How many there are of everything that comes in lists.
const MANY: usize = 120;

/// What becomes of the answer of a tool here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answered {
    /// It is short.
    Whole,
    /// It ends early and goes on with its cursor; all pages together have this many rows, or as many as they say.
    Pages,
    /// It has no pages: it is cut, and says where and how to get the rest.
    Cut,
}
use Answered::{Cut, Pages, Whole};

fn rows(world: &Ids) -> Vec<(&'static str, Value, Answered)> {
    let long = "Long. ".repeat(1_000);
    vec![
        ("search_global", json!({ "query": "wordy", "limit": 200 }), Pages),
        (
            "search_requirements",
            json!({ "query": "wordy", "limit": 200 }),
            Pages,
        ),
        ("whoami", json!({}), Whole),
        (
            "get_context",
            json!({ "id": "REQ-001", "max_tokens": 800 }),
            Whole,
        ),
        ("get_items", json!({ "ids": ["REQ-001", "REQ-002"] }), Cut),
        (
            "update_item",
            json!({ "id": "REQ-002", "description": long }),
            Whole,
        ),
        ("get_item", json!({ "id": "REQ-001" }), Cut),
        ("get_epic", json!({ "epic_id": "EP-001" }), Cut),
        ("list_epics", json!({ "detail": "full", "limit": 200 }), Pages),
        (
            "create_epic",
            json!({ "title": "New", "description": long }),
            Whole,
        ),
        (
            "update_epic",
            json!({ "epic_id": "EP-002", "description": long }),
            Whole,
        ),
        ("get_user_story", json!({ "user_story_id": "US-001" }), Cut),
        ("list_user_stories", json!({ "limit": 200 }), Whole),
        (
            "create_user_story",
            json!({ "epic_id": "EP-002", "title": "New", "description": long }),
            Whole,
        ),
        (
            "update_user_story",
            json!({ "user_story_id": "US-001", "priority": 1 }),
            Whole,
        ),
        (
            "get_acceptance_criteria",
            json!({ "acceptance_criteria_id": "AC-001" }),
            Cut,
        ),
        ("list_acceptance_criteria", json!({ "limit": 200 }), Pages),
        (
            "create_acceptance_criteria",
            json!({ "user_story_id": "US-001", "description": "Short." }),
            Whole,
        ),
        (
            "update_acceptance_criteria",
            json!({ "acceptance_criteria_id": "AC-002", "description": "Shorter." }),
            Whole,
        ),
        ("get_requirement", json!({ "requirement_id": "REQ-001" }), Cut),
        (
            "list_requirements",
            json!({ "detail": "full", "limit": 200 }),
            Pages,
        ),
        (
            "create_requirement",
            json!({ "user_story_id": "US-001", "title": "New", "description": long }),
            Whole,
        ),
        (
            "update_requirement",
            json!({ "requirement_id": "REQ-002", "description": long }),
            Whole,
        ),
        (
            "get_steering_document",
            json!({ "steering_document_id": "STD-001" }),
            Cut,
        ),
        ("list_steering_documents", json!({ "limit": 200 }), Pages),
        (
            "create_steering_document",
            json!({ "title": "New", "description": long }),
            Whole,
        ),
        (
            "update_steering_document",
            json!({ "steering_document_id": "STD-002", "description": long }),
            Whole,
        ),
        ("epic_hierarchy", json!({ "epic": "EP-001" }), Cut),
        (
            "get_user_story_requirements",
            json!({ "user_story": "US-001", "limit": 200 }),
            Pages,
        ),
        ("get_history", json!({ "id": "REQ-001", "limit": 200 }), Pages),
        ("move_item", json!({ "id": "REQ-003", "after": "REQ-004" }), Whole),
        ("preview_deletion", json!({ "id": "EP-001" }), Cut),
        (
            "list_relationships",
            json!({ "id": "REQ-001", "limit": 200 }),
            Pages,
        ),
        (
            "create_relationship",
            json!({ "source": "REQ-004", "target": "REQ-005", "type": "blocks" }),
            Whole,
        ),
        (
            "confirm_relationship",
            json!({ "relationship_id": world.link }),
            Whole,
        ),
        (
            "delete_relationship",
            json!({ "relationship_id": world.link }),
            Whole,
        ),
        (
            "get_epic_steering_documents",
            json!({ "epic_id": "EP-001", "limit": 200 }),
            Pages,
        ),
        (
            "unlink_steering_from_epic",
            json!({ "steering_document_id": "STD-001", "epic_id": "EP-001" }),
            Whole,
        ),
        (
            "link_steering_to_epic",
            json!({ "steering_document_id": "STD-001", "epic_id": "EP-001" }),
            Whole,
        ),
        ("list_comments", json!({ "id": "REQ-001", "limit": 200 }), Pages),
        ("add_comment", json!({ "id": "REQ-002", "content": long }), Cut),
        (
            "update_comment",
            json!({ "comment_id": world.comment, "content": long }),
            Cut,
        ),
        ("delete_comment", json!({ "comment_id": world.comment }), Cut),
        ("changes_since", json!({ "since": "0", "limit": 200 }), Pages),
        ("status_report", json!({}), Cut),
        ("analyze_hierarchy", json!({ "limit": 200 }), Pages),
        ("apply_changes", json!({ "operations": world.comments() }), Cut),
        ("list_vocabulary", json!({}), Cut),
        ("get_trace", json!({ "id": "REQ-001" }), Whole),
        ("explain_state", json!({ "id": "REQ-001" }), Whole),
        ("list_gaps", json!({ "limit": 200 }), Pages),
        (
            "push_evidence",
            json!({ "commit": "abcdef1", "format": "tap", "text": "1..1\nok 1" }),
            Whole,
        ),
        ("list_baselines", json!({ "limit": 200 }), Pages),
        (
            "create_baseline",
            json!({ "name": "last", "description": long }),
            Cut,
        ),
        (
            "diff_baselines",
            json!({ "from": "baseline-000", "limit": 200 }),
            Pages,
        ),
        ("list_prompts", json!({ "limit": 200 }), Pages),
        ("get_prompt", json!({ "prompt_id": "routine-000" }), Cut),
        ("create_prompt", json!({ "name": "new", "content": long }), Cut),
        (
            "update_prompt",
            json!({ "prompt_id": "new", "title": "New" }),
            Cut,
        ),
        ("activate_prompt", json!({ "prompt_id": "new" }), Cut),
        ("get_active_prompt", json!({}), Cut),
        ("delete_prompt", json!({ "prompt_id": "routine-001" }), Cut),
        ("run_prompt", json!({ "name": "new" }), Cut),
        ("list_users", json!({ "limit": 200 }), Pages),
        (
            "update_user",
            json!({ "user": "admin", "email": "admin@example.com" }),
            Whole,
        ),
        ("list_tokens", json!({ "limit": 200 }), Pages),
        ("revoke_token", json!({ "token_id": world.token }), Whole),
        ("list_projects", json!({ "limit": 200 }), Pages),
        (
            "create_project",
            json!({ "key": "new", "description": long }),
            Cut,
        ),
        ("update_project", json!({ "key": "new", "name": "New" }), Cut),
        ("list_members", json!({ "limit": 200 }), Pages),
        ("put_member", json!({ "member": "admin", "role": "owner" }), Whole),
        ("remove_member", json!({ "member": "admin" }), Whole),
        ("list_groups", json!({ "limit": 200 }), Pages),
        ("create_group", json!({ "name": "new" }), Whole),
        ("add_to_group", json!({ "name": "new", "user": "admin" }), Whole),
        (
            "remove_from_group",
            json!({ "name": "new", "user": "admin" }),
            Whole,
        ),
        ("delete_group", json!({ "name": "new" }), Whole),
        (
            "put_requirement_type",
            json!({ "name": "Odd", "description": long }),
            Cut,
        ),
        ("delete_requirement_type", json!({ "name": "Odd" }), Cut),
        (
            "put_relationship_type",
            json!({ "name": "mirrors", "inverse": "mirrors", "description": long }),
            Cut,
        ),
        ("delete_relationship_type", json!({ "name": "mirrors" }), Cut),
        ("put_workflow", world.workflow(), Cut),
        ("list_audit_events", json!({ "limit": 200 }), Pages),
        ("verify_history", json!({}), Whole),
        (
            "create_item",
            json!({ "kind": "epic", "title": "New", "description": long }),
            Whole,
        ),
        ("next_work", json!({ "kind": "requirement", "limit": 50 }), Cut),
        (
            "claim_item",
            json!({ "id": "REQ-003", "intent": "Short." }),
            Whole,
        ),
        ("release_item", json!({ "id": "REQ-003" }), Whole),
        (
            "import_plan",
            json!({ "under": "US-001", "markdown": format!("# Gates\n{}", "- It MUST open by a key that fits\n".repeat(MANY)) }),
            Cut,
        ),
        ("delete_item", json!({ "id": "EP-001", "force": true }), Cut),
        ("restore_item", json!({ "id": "EP-001" }), Whole),
    ]
}

/// What can only be called by its UUID.
struct Ids {
    link: Value,
    comment: Value,
    token: Value,
}

impl Ids {
    fn comments(&self) -> Vec<Value> {
        vec![json!({ "op": "comment", "item": "REQ-003", "content": "Short." }); MANY]
    }

    fn workflow(&self) -> Value {
        let name = |at: usize| format!("{at:02} {}", "Status ".repeat(12).trim());
        let statuses: Vec<Value> = std::iter::once(json!({ "name": "Backlog", "initial": true }))
            .chain((0..40).map(|at| json!({ "name": name(at) })))
            .collect();
        json!({ "kind": "epic", "statuses": statuses, "transitions": [] })
    }
}

/// A project of long texts and many rows, and an installation of many people and projects.
async fn fill(world: &World) -> Ids {
    world.seed().await;
    let long = "wordy ".repeat(MAX_DESCRIPTION_CHARS / 6);
    for id in ["EP-001", "US-001", "AC-001", "REQ-001"] {
        world.update(id, json!({ "description": long.trim() })).await;
    }
    for at in 0..MANY {
        let username = format!("somebody-with-a-long-name-{at:03}");
        let wanted = json!({ "username": username, "password": "long enough", "role": "User" });
        let wanted = serde_json::from_value(wanted).unwrap();
        user::create(&world.service, &world.admin, wanted).await.unwrap();
        let reader = serde_json::from_value(json!({ "role": "reader" })).unwrap();
        member::put(&world.service, &world.admin, None, &username, reader)
            .await
            .unwrap();
        let wanted = serde_json::from_value(json!({ "name": format!("group-{at:03}") })).unwrap();
        group::create(&world.service, &world.admin, wanted).await.unwrap();
        let wanted = json!({ "key": format!("project-{at:03}"), "name": "A project among others" });
        let wanted = serde_json::from_value(wanted).unwrap();
        project::create(&world.service, &world.admin, wanted)
            .await
            .unwrap();
        let content = "Do this. ".repeat(1_000);
        world
            .prompt(json!({ "name": format!("routine-{at:03}"), "title": "A prompt", "messages": [{ "role": "user", "text": content }] }))
            .await;
        let wanted = json!({ "name": format!("baseline-{at:03}"), "description": "As it was." });
        let wanted = serde_json::from_value(wanted).unwrap();
        baseline::create(&world.service, &world.admin, wanted)
            .await
            .unwrap();
    }
    let mut tokens = Vec::new();
    for at in 0..40 {
        let wanted =
            serde_json::from_value(json!({ "name": format!("token-{at}"), "scopes": ["read"] })).unwrap();
        tokens.push(
            token::create(&world.service, &world.admin, None, wanted)
                .await
                .unwrap(),
        );
    }
    let title = format!("A wordy title {}", "that goes on and on ".repeat(12));
    let mut operations = Vec::new();
    for at in 0..MANY {
        let number = at + 2;
        let assignee = format!("somebody-with-a-long-name-{at:03}");
        operations.extend([
            json!({ "op": "create", "kind": "requirement", "user_story_id": "US-001", "title": title, "assignee": assignee }),
            json!({ "op": "link", "source": "REQ-001", "target": format!("REQ-{number:03}"), "type": "depends_on" }),
            json!({ "op": "create", "kind": "steering_document", "title": title, "description": "Short.", "ref": format!("d{at}") }),
            json!({ "op": "link", "source": format!("@d{at}"), "target": "EP-001", "type": "guides" }),
        ]);
    }
    for some in operations.chunks(400) {
        world.batch(some.to_vec()).await;
    }
    let criterion = json!({ "op": "create", "kind": "acceptance_criterion", "user_story_id": "US-001", "description": "It is short." });
    world.batch(vec![criterion; 450]).await;
    world
        .update("STD-001", json!({ "description": long.trim() }))
        .await;
    let mut operations = vec![json!({ "op": "create", "kind": "epic", "title": title }); MANY];
    operations.extend(vec![
        json!({ "op": "comment", "item": "REQ-001", "content": "Said before. ".repeat(20) });
        MANY
    ]);
    world.batch(operations).await;
    let agent = all_tools(world).await;
    let links = agent.call("list_relationships", json!({ "id": "REQ-002" })).await;
    let comment = agent
        .call("add_comment", json!({ "id": "REQ-002", "content": "Short." }))
        .await;
    Ids {
        link: links["rows"][0]["id"].clone(),
        comment: comment["comment"]["id"].clone(),
        token: json!(tokens[0])["id"].clone(),
    }
}

async fn all_tools(world: &World) -> Agent {
    let toolsets = [("x-spexus-toolsets", "all")];
    Agent::with(world, &world.token, "2025-11-25", &toolsets).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_answers_below_its_limit_on_sqlite() {
    every_tool_answers_below_its_limit(&World::with(options()).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_answers_below_its_limit_on_postgres() {
    if let Some(world) = World::on_postgres_with(options()).await {
        every_tool_answers_below_its_limit(&world).await;
    }
}

fn options() -> McpOptions {
    McpOptions {
        max_answer_bytes: MAX_BYTES,
        ..McpOptions::default()
    }
}

//= specs/spexus-mcp.md#answers
//= type=test
//# Every answer of a tool MUST stay below the bytes an answer may have; what was cut MUST be said, and how to get the rest.
async fn every_tool_answers_below_its_limit(world: &World) {
    let ids = fill(world).await;
    let agent = all_tools(world).await;
    let rows = rows(&ids);
    let named: BTreeSet<String> = rows.iter().map(|(tool, ..)| (*tool).to_owned()).collect();
    let listed: BTreeSet<String> = agent.tools().await.into_iter().collect();
    assert_eq!(
        named, listed,
        "a tool without a row here, or a row without a tool"
    );
    let mut odd = Vec::new();
    for (tool, arguments, answered) in rows {
        let answer = agent.call(tool, arguments.clone()).await;
        check_size(tool, &answer);
        match answered {
            Whole if answer.get("cut").is_none() => {}
            Cut if says_what_was_cut(tool, &answer) => {}
            Pages if answer["truncated"] == true => walk(&agent, tool, arguments, answer).await,
            _ => odd.push(format!("{tool} is not {answered:?}: {answer}")),
        }
    }
    assert!(odd.is_empty(), "{}", odd.join("\n"));
    a_long_text_is_read_piece_by_piece(&agent).await;
    a_batch_has_the_same_limit(&agent).await;
}

fn check_size(tool: &str, answer: &Value) {
    let bytes = answer.to_string().len();
    assert!(bytes <= MAX_BYTES, "{tool} answers {bytes} bytes: {answer}");
}

fn says_what_was_cut(tool: &str, answer: &Value) -> bool {
    let has_cuts = answer["cut"].is_object() || tool == "epic_hierarchy";
    answer["truncated"] == true && answer["rest"].is_string() && has_cuts
}

/// Follows a list to its end: every row comes once, and there are as many as the list says.
async fn walk(agent: &Agent, tool: &str, arguments: Value, first: Value) {
    if tool == "analyze_hierarchy" {
        return walk_findings(agent, &first).await;
    }
    let (mut answer, mut rows) = (first, 0);
    loop {
        let list = answer.get("rows").or(answer.get("changes"));
        let list = list.and_then(Value::as_array).unwrap();
        rows += list.len();
        if answer["truncated"] == false {
            break;
        }
        assert!(!list.is_empty(), "{tool} does not go on: {answer}");
        let mut next = arguments.clone();
        match answer.get("next_since") {
            Some(since) => next["since"] = since.clone(),
            None => next["cursor"] = answer["next_cursor"].clone(),
        }
        answer = agent.call(tool, next).await;
        check_size(tool, &answer);
    }
    if let Some(total) = answer["total_count"].as_u64() {
        // What is asked meanwhile is noted as well.
        let grows = tool == "list_audit_events";
        assert!(rows as u64 == total || grows, "{tool}: {rows} of {total}");
    }
}

async fn walk_findings(agent: &Agent, first: &Value) {
    assert!(first["truncated"] == true && first["rest"].is_string(), "{first}");
    for (section, finding) in first["findings"].as_object().unwrap() {
        let mut rows = finding["items"].as_array().unwrap().len();
        let (total, mut cursor) = (
            finding["total_count"].as_u64().unwrap(),
            finding.get("next_cursor").cloned(),
        );
        while let Some(next) = cursor {
            let wanted = json!({ "section": section, "cursor": next, "limit": 200 });
            let answer = agent.call("analyze_hierarchy", wanted).await;
            check_size("analyze_hierarchy", &answer);
            let finding = &answer["findings"][section];
            rows += finding["items"].as_array().unwrap().len();
            cursor = finding.get("next_cursor").cloned();
        }
        assert_eq!(rows as u64, total, "{section}");
    }
}

async fn a_long_text_is_read_piece_by_piece(agent: &Agent) {
    let (mut text, mut offset) = (String::new(), json!(0));
    while offset.is_number() {
        let answer = agent
            .call("get_item", json!({ "id": "REQ-001", "offset": offset }))
            .await;
        check_size("get_item", &answer);
        text.push_str(answer["item"]["description"].as_str().unwrap());
        offset = answer["next_offset"].clone();
    }
    assert_eq!(text, "wordy ".repeat(MAX_DESCRIPTION_CHARS / 6).trim());
    let beyond = json!({ "id": "REQ-001", "offset": MAX_DESCRIPTION_CHARS + 1 });
    assert_eq!(
        agent.fails("get_item", beyond).await["fields"][0]["field"],
        "offset"
    );
}

//= specs/spexus-mcp.md#batches
//= type=test
//# The results of a batch MUST stay below the bytes an answer may have together; a call whose result was left out MUST say so.
async fn a_batch_has_the_same_limit(agent: &Agent) {
    let get = json!({ "tool": "get_item", "arguments": { "id": "REQ-001" }, "ref": "long" });
    // A part of a result that was cut is used whole.
    let copy = json!({ "tool": "create_epic", "arguments": { "title": "Copy", "description": "@long.description" }, "ref": "copy" });
    let list = json!({ "tool": "list_requirements", "arguments": { "limit": 200 } });
    let operations = vec![get, copy, list.clone(), list];
    let answer = agent
        .ask("batch/execute", json!({ "operations": operations }))
        .await;
    check_size("batch/execute", &answer);
    assert!(
        answer["truncated"] == true && answer["rest"].is_string(),
        "{answer}"
    );
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        assert!(result["text"].is_string());
        assert_ne!(
            result.get("result").is_some(),
            result["truncated"] == true,
            "{result}"
        );
    }
    let made = results[1]["text"].as_str().unwrap().split(' ').nth(1).unwrap();
    let copied = agent.call("get_item", json!({ "id": made })).await;
    assert!(
        copied["cut"]["item.description"]
            .as_str()
            .unwrap()
            .ends_with(" of 49,997"),
        "{copied}"
    );
}
