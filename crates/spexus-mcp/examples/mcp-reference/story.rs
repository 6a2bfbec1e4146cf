//! One call of every tool, in an order in which each can succeed.

use super::agent::Agent;
use serde_json::{Value, json};

/// The calls. Those that need an id only a database knows are made after asking for it.
pub(crate) async fn calls(agent: &mut Agent) -> Vec<(&'static str, Value)> {
    let tree = json!([
        { "op": "create", "kind": "epic", "title": "Sign in", "ref": "e" },
        { "op": "create", "kind": "user_story", "epic_id": "@e", "title": "With a passkey", "ref": "s" },
        { "op": "create", "kind": "acceptance_criterion", "user_story_id": "@s", "description": "The prompt opens within a second." },
        { "op": "create", "kind": "requirement", "user_story_id": "@s", "title": "Passkeys MUST work on phones" },
        { "op": "create", "kind": "requirement", "user_story_id": "@s", "title": "Keys MUST be kept encrypted" },
    ]);
    let prepared = json!({ "operations": [
        { "op": "create", "kind": "steering_document", "title": "House style", "description": "Say MUST." },
    ] });
    agent
        .ask(
            "tools/call",
            json!({ "name": "apply_changes", "arguments": prepared }),
        )
        .await;
    let built = ask(agent, "apply_changes", json!({ "operations": tree })).await;
    assert_eq!(built["results"][0]["label"], "EP-001");
    let comment = ask(
        agent,
        "add_comment",
        json!({ "id": "REQ-001", "content": "Which phones?" }),
    )
    .await["comment"]["id"]
        .clone();
    let gone = ask(
        agent,
        "add_comment",
        json!({ "id": "REQ-001", "content": "Never mind." }),
    )
    .await["comment"]["id"]
        .clone();
    let link = json!({ "source": "REQ-001", "target": "REQ-002", "type": "depends_on" });
    let first = ask(agent, "create_relationship", link).await["id"].clone();
    let other = json!({ "source": "REQ-002", "target": "REQ-001", "type": "relates_to" });
    let second = ask(agent, "create_relationship", other).await["id"].clone();
    let token = ask(agent, "list_tokens", json!({})).await["rows"][0]["id"].clone();
    vec![
        ("search_global", json!({ "query": "passkey" })),
        (
            "search_requirements",
            json!({ "query": "encrypted", "status": "Draft" }),
        ),
        ("whoami", json!({})),
        ("next_work", json!({ "under": "EP-001" })),
        (
            "claim_item",
            json!({ "id": "REQ-001", "minutes": 45, "intent": "Implement passkeys on phones" }),
        ),
        ("get_context", json!({ "id": "REQ-001", "purpose": "implement" })),
        ("release_item", json!({ "id": "REQ-001" })),
        (
            "get_items",
            json!({ "ids": ["REQ-001", "AC-001"], "detail": "line" }),
        ),
        (
            "import_plan",
            json!({ "markdown": "# Sign out\n## From every device\n- WHEN somebody signs out THEN every session SHALL end\n", "dry_run": true }),
        ),
        (
            "push_evidence",
            json!({
                "commit": "0123456789abcdef0123456789abcdef01234567",
                "format": "junit",
                "name": "junit.xml",
                "text": "<testsuite name=\"phones\"><testcase classname=\"phones\" name=\"signs_in\"><properties><property name=\"requirement\" value=\"REQ-001\"/></properties></testcase></testsuite>",
            }),
        ),
        ("get_trace", json!({ "id": "REQ-001" })),
        ("explain_state", json!({ "id": "REQ-001" })),
        ("list_gaps", json!({ "level": "passed", "limit": 2 })),
        ("get_item", json!({ "id": "REQ-001" })),
        ("create_epic", json!({ "title": "Payments", "priority": "high" })),
        (
            "create_user_story",
            json!({ "epic_id": "EP-002", "title": "By card", "assignee": "me" }),
        ),
        (
            "create_acceptance_criteria",
            json!({ "user_story_id": "US-002", "description": "A receipt is sent." }),
        ),
        (
            "create_requirement",
            json!({ "user_story_id": "US-002", "title": "Cards MUST be checked", "type": "Functional", "acceptance_criterion": "AC-002" }),
        ),
        (
            "create_steering_document",
            json!({ "title": "Security", "description": "Nothing in plain text." }),
        ),
        (
            "update_epic",
            json!({ "epic_id": "EP-002", "status": "Draft", "expect_rev": 1 }),
        ),
        (
            "update_user_story",
            json!({ "user_story_id": "US-002", "priority": 1 }),
        ),
        (
            "create_item",
            json!({ "kind": "requirement", "parent": "US-001", "title": "Keys MUST be revocable", "priority": "P2" }),
        ),
        (
            "update_item",
            json!({ "id": "REQ-001", "expect_rev": 1, "priority": "high", "intent": "Phones come first" }),
        ),
        (
            "update_acceptance_criteria",
            json!({ "acceptance_criteria_id": "AC-002", "description": "A receipt is sent within a minute." }),
        ),
        (
            "update_requirement",
            json!({ "requirement_id": "REQ-003", "status": "Active" }),
        ),
        (
            "update_steering_document",
            json!({ "steering_document_id": "STD-002", "title": "Security rules" }),
        ),
        ("get_epic", json!({ "epic_id": "EP-001", "detail": "summary" })),
        ("get_user_story", json!({ "user_story_id": "US-001" })),
        (
            "get_acceptance_criteria",
            json!({ "acceptance_criteria_id": "AC-001" }),
        ),
        ("get_requirement", json!({ "requirement_id": "REQ-001" })),
        (
            "get_steering_document",
            json!({ "steering_document_id": "STD-001" }),
        ),
        ("list_epics", json!({ "status": "Backlog,Draft" })),
        ("list_user_stories", json!({ "epic_id": "EP-001" })),
        ("list_acceptance_criteria", json!({ "user_story_id": "US-001" })),
        ("list_requirements", json!({ "under": "EP-001", "limit": 1 })),
        ("list_steering_documents", json!({})),
        ("epic_hierarchy", json!({ "epic": "EP-001" })),
        ("get_user_story_requirements", json!({ "user_story": "US-001" })),
        ("get_history", json!({ "id": "EP-002" })),
        (
            "create_relationship",
            json!({ "source": "REQ-003", "target": "REQ-002", "type": "depends_on" }),
        ),
        ("list_relationships", json!({ "id": "REQ-001" })),
        ("confirm_relationship", json!({ "relationship_id": first })),
        ("delete_relationship", json!({ "relationship_id": second })),
        (
            "link_steering_to_epic",
            json!({ "steering_document_id": "STD-001", "epic_id": "EP-001" }),
        ),
        ("get_epic_steering_documents", json!({ "epic_id": "EP-001" })),
        (
            "unlink_steering_from_epic",
            json!({ "steering_document_id": "STD-001", "epic_id": "EP-001" }),
        ),
        (
            "add_comment",
            json!({ "id": "US-001", "content": "Who asked for this?" }),
        ),
        ("list_comments", json!({ "id": "REQ-001", "resolved": false })),
        (
            "update_comment",
            json!({ "comment_id": comment, "resolved": true }),
        ),
        ("delete_comment", json!({ "comment_id": gone })),
        (
            "apply_changes",
            json!({ "operations": [
            { "op": "create", "kind": "epic", "title": "Reports", "ref": "e" },
            { "op": "create", "kind": "user_story", "epic_id": "@e", "title": "Monthly" },
        ], "dry_run": true }),
        ),
        ("changes_since", json!({ "since": "0", "limit": 1 })),
        ("status_report", json!({ "under": "EP-001" })),
        ("analyze_hierarchy", json!({})),
        ("list_vocabulary", json!({})),
        ("create_baseline", json!({ "name": "first" })),
        ("list_baselines", json!({})),
        ("move_item", json!({ "id": "REQ-002", "before": "REQ-001" })),
        ("diff_baselines", json!({ "from": "first" })),
        ("preview_deletion", json!({ "id": "EP-002" })),
        ("delete_item", json!({ "id": "EP-002", "force": true })),
        ("restore_item", json!({ "id": "EP-002" })),
        ("list_prompts", json!({})),
        ("get_active_prompt", json!({})),
        (
            "create_prompt",
            json!({ "name": "reviewer", "title": "Reviewer", "content": "Review {{what}}." }),
        ),
        ("get_prompt", json!({ "prompt_id": "reviewer" })),
        (
            "update_prompt",
            json!({ "prompt_id": "reviewer", "description": "For reviews." }),
        ),
        ("activate_prompt", json!({ "prompt_id": "reviewer" })),
        ("delete_prompt", json!({ "prompt_id": "reviewer" })),
        (
            "run_prompt",
            json!({ "name": "suggest_test_scenarios", "arguments": { "user_story_id": "US-001" } }),
        ),
        ("list_users", json!({})),
        (
            "update_user",
            json!({ "user": "admin", "email": "admin@example.org" }),
        ),
        ("list_tokens", json!({})),
        ("revoke_token", json!({ "token_id": token })),
        ("list_projects", json!({})),
        ("create_project", json!({ "key": "web", "name": "Web shop" })),
        (
            "update_project",
            json!({ "key": "web", "description": "Everything customers see." }),
        ),
        ("create_group", json!({ "name": "backend" })),
        ("add_to_group", json!({ "name": "backend", "user": "admin" })),
        (
            "put_member",
            json!({ "project": "web", "member": "group:backend", "role": "reader" }),
        ),
        ("list_members", json!({ "project": "web" })),
        (
            "remove_member",
            json!({ "project": "web", "member": "group:backend" }),
        ),
        ("list_groups", json!({})),
        ("remove_from_group", json!({ "name": "backend", "user": "admin" })),
        ("delete_group", json!({ "name": "backend" })),
        (
            "put_requirement_type",
            json!({ "name": "Safety", "description": "Keeps people from harm." }),
        ),
        ("delete_requirement_type", json!({ "name": "Safety" })),
        (
            "put_relationship_type",
            json!({ "name": "mitigates", "inverse": "is_mitigated_by" }),
        ),
        ("delete_relationship_type", json!({ "name": "mitigates" })),
        (
            "put_workflow",
            json!({
                "kind": "requirement",
                "statuses": [{ "name": "Draft", "initial": true }, { "name": "Active" }, { "name": "Obsolete", "final": true }],
                "transitions": [{ "from": "Draft", "to": "Active" }, { "from": "Active", "to": "Obsolete" }],
            }),
        ),
        ("verify_history", json!({})),
    ]
}

async fn ask(agent: &mut Agent, tool: &str, arguments: Value) -> Value {
    let mut result = agent
        .ask("tools/call", json!({ "name": tool, "arguments": arguments }))
        .await;
    result["structuredContent"].take()
}
