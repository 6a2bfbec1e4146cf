//! One row for every tool: how it is called on something, and what comes of it for a token bound to one project. A tool
//! without a row fails the tests that walk the table.

use crate::pair::{self, SECRET};
use crate::world::World;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a tool is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Items that are named: those of another project are refused.
    Items,
    /// Items that are named, of which this one cannot be done here, whoever asks.
    Hopeless,
    /// A project as a whole: another one is refused.
    Project,
    /// Something every token may see.
    Everybody,
    /// The installation, of which a bound token changes nothing.
    Installation,
}

/// How the things a tool is called on are named.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The key of the project the things are in, said or not.
    key: String,
    pub(crate) project: Option<String>,
    prefix: String,
    uuids: Option<Vec<(&'static str, String)>>,
    pub(crate) comment: String,
    pub(crate) link: String,
    pub(crate) baseline: String,
}

impl Target {
    /// Things of a project by their bare references, with the project beside them or not.
    pub(crate) async fn bare(world: &World, project: &str, named: bool) -> Self {
        let comments = world.comments(&format!("{project}/REQ-001")).await;
        let links = world.links(&format!("{project}/EP-001")).await;
        let inside = |link: &&Value| link.to_string().contains("relates_to");
        let link = links["data"].as_array().unwrap().iter().find(inside).unwrap();
        let mark = if project == "web" { pair::WEB } else { SECRET };
        Self {
            key: project.to_owned(),
            project: named.then(|| project.to_owned()),
            prefix: String::new(),
            uuids: None,
            comment: comments["data"][0]["id"].as_str().unwrap().to_owned(),
            link: link["id"].as_str().unwrap().to_owned(),
            baseline: format!("{mark}-base"),
        }
    }

    /// The same by `project/REF`.
    pub(crate) async fn qualified(world: &World, project: &str) -> Self {
        Self {
            prefix: format!("{project}/"),
            ..Self::bare(world, project, false).await
        }
    }

    /// The same by references with whatever names their project before them.
    pub(crate) async fn after(world: &World, project: &str, prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
            ..Self::bare(world, project, false).await
        }
    }

    /// The same by UUID.
    pub(crate) async fn by_uuid(world: &World, project: &str) -> Self {
        let mut uuids = Vec::new();
        for reference in ["EP-001", "US-001", "AC-001", "REQ-001", "STD-001"] {
            uuids.push((reference, pair::uuid(world, project, reference).await));
        }
        Self {
            uuids: Some(uuids),
            ..Self::bare(world, project, false).await
        }
    }

    pub(crate) fn id(&self, reference: &str) -> String {
        let known = self.uuids.iter().flatten().find(|(own, _)| *own == reference);
        known.map_or_else(|| format!("{}{reference}", self.prefix), |(_, uuid)| uuid.clone())
    }
}

/// Names that may not be given twice.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Tools that take away what others need, in the order in which each still finds what it needs.
const LAST: [&str; 6] = [
    "unlink_steering_from_epic",
    "link_steering_to_epic",
    "delete_relationship",
    "delete_comment",
    "delete_item",
    "restore_item",
];

/// The tools in an order in which all of them can be called.
pub(crate) fn in_order(tools: &[Value]) -> Vec<Value> {
    let mut tools = tools.to_vec();
    let place = |tool: &Value| LAST.iter().position(|name| tool["name"] == *name);
    tools.sort_by_key(|tool| place(tool).map_or(0, |at| at + 1));
    tools
}

/// The arguments of a tool for a target, and what it is about; `project` is added where the tool takes it.
pub(crate) fn row(tool: &str, on: &Target) -> (Value, Scope) {
    use Scope::{Everybody, Hopeless, Installation, Items, Project};
    let id = |reference: &str| on.id(reference);
    let (epic, story, criterion) = (id("EP-001"), id("US-001"), id("AC-001"));
    let (requirement, document) = (id("REQ-001"), id("STD-001"));
    match tool {
        "search_global" => (json!({ "query": "requirement" }), Project),
        "search_requirements" => (json!({ "query": "requirement" }), Project),
        "whoami" => (json!({}), Everybody),
        "next_work" => (json!({}), Project),
        "import_plan" => (json!({ "under": epic, "markdown": "# Gates" }), Items),
        "claim_item" | "release_item" => (json!({ "id": requirement }), Items),
        "get_item" | "get_context" => (json!({ "id": requirement }), Items),
        "get_items" => (json!({ "ids": [requirement, epic] }), Items),
        "create_item" => (
            json!({ "kind": "requirement", "parent": story, "title": "Made" }),
            Items,
        ),
        "update_item" => (json!({ "id": requirement, "priority": 1 }), Items),
        "get_epic" => (json!({ "epic_id": epic }), Items),
        "get_user_story" => (json!({ "user_story_id": story }), Items),
        "get_acceptance_criteria" => (json!({ "acceptance_criteria_id": criterion }), Items),
        "get_requirement" => (json!({ "requirement_id": requirement }), Items),
        "get_steering_document" => (json!({ "steering_document_id": document }), Items),
        "list_epics" | "list_steering_documents" => (json!({ "detail": "full" }), Project),
        "list_user_stories" => (json!({ "detail": "full", "epic_id": epic }), Items),
        "list_acceptance_criteria" => (json!({ "detail": "full", "user_story_id": story }), Items),
        "list_requirements" => (json!({ "detail": "full", "under": epic }), Items),
        "create_epic" | "create_steering_document" => (json!({ "title": "Made" }), Project),
        "create_user_story" => (json!({ "epic_id": epic, "title": "Made" }), Items),
        "create_acceptance_criteria" => (json!({ "user_story_id": story, "description": "Made" }), Items),
        "create_requirement" => (json!({ "user_story_id": story, "title": "Made" }), Items),
        "update_epic" => (json!({ "epic_id": epic, "priority": 1 }), Items),
        "update_user_story" => (json!({ "user_story_id": story, "priority": 1 }), Items),
        "update_acceptance_criteria" => (
            json!({ "acceptance_criteria_id": criterion, "description": "Put" }),
            Items,
        ),
        "update_requirement" => (json!({ "requirement_id": requirement, "priority": 1 }), Items),
        "update_steering_document" => (
            json!({ "steering_document_id": document, "description": "Put" }),
            Items,
        ),
        "epic_hierarchy" => (json!({ "epic": epic }), Items),
        "get_user_story_requirements" => (json!({ "user_story": story }), Items),
        "get_history" => (json!({ "id": requirement }), Items),
        "move_item" => (json!({ "id": requirement, "parent": story }), Items),
        "preview_deletion" => (json!({ "id": epic }), Items),
        "delete_item" => (json!({ "id": criterion, "force": true }), Items),
        "restore_item" => (json!({ "id": criterion }), Items),
        "create_relationship" => (
            json!({ "source": requirement, "target": story, "type": "relates_to" }),
            Items,
        ),
        "list_relationships" => (json!({ "id": requirement }), Items),
        "confirm_relationship" => (json!({ "relationship_id": on.link }), Items),
        "get_epic_steering_documents" => (json!({ "epic_id": epic }), Items),
        "unlink_steering_from_epic" | "link_steering_to_epic" => (
            json!({ "steering_document_id": document, "epic_id": epic }),
            Items,
        ),
        "delete_relationship" => (json!({ "relationship_id": on.link }), Items),
        "list_comments" => (json!({ "id": requirement }), Items),
        "add_comment" => (json!({ "id": requirement, "content": "Said" }), Items),
        "update_comment" => (json!({ "comment_id": on.comment, "content": "Put" }), Items),
        "delete_comment" => (json!({ "comment_id": on.comment }), Items),
        "apply_changes" => (
            json!({ "operations": [{ "op": "update", "id": requirement, "priority": 2 }] }),
            Items,
        ),
        "changes_since" => (json!({ "since": "0", "limit": 200 }), Project),
        "status_report" | "analyze_hierarchy" => (json!({ "under": epic }), Items),
        "get_trace" | "explain_state" => (json!({ "id": requirement }), Items),
        "list_gaps" => (json!({}), Project),
        "push_evidence" => (
            json!({ "commit": "abcdef1", "format": "tap", "text": "1..1\nok 1 - made" }),
            Project,
        ),
        "list_baselines" => (json!({}), Project),
        "create_baseline" => (
            json!({ "name": format!("made {}", MADE.fetch_add(1, Ordering::Relaxed)) }),
            Project,
        ),
        "diff_baselines" => (json!({ "from": on.baseline }), Items),
        "run_prompt" => (
            json!({ "name": "identify_dependencies", "arguments": { "requirement_id": requirement } }),
            Items,
        ),
        "list_vocabulary" | "list_prompts" | "get_active_prompt" | "list_users" | "list_projects"
        | "list_tokens" | "list_groups" => (json!({}), Everybody),
        "get_prompt" => (json!({ "prompt_id": "PROMPT-001" }), Everybody),
        "revoke_token" => (
            json!({ "token_id": "01890000-0000-7000-8000-000000000000" }),
            Hopeless,
        ),
        "create_prompt" => (json!({ "name": "made", "content": "x" }), Installation),
        "update_prompt" | "activate_prompt" | "delete_prompt" => {
            (json!({ "prompt_id": "PROMPT-001" }), Installation)
        }
        "update_user" => (json!({ "user": "admin", "email": "a@b.example" }), Installation),
        "create_project" => (json!({ "key": "made" }), Installation),
        "update_project" => (json!({ "key": on.key, "description": "Mine" }), Items),
        "list_members" => (json!({}), Project),
        "put_member" => (json!({ "member": "admin", "role": "author" }), Project),
        "remove_member" => (json!({ "member": "nobody" }), Hopeless),
        "create_group" | "delete_group" => (json!({ "name": "made" }), Installation),
        "add_to_group" | "remove_from_group" => (json!({ "name": "made", "user": "admin" }), Installation),
        "put_requirement_type" => (json!({ "name": "Made" }), Installation),
        "delete_requirement_type" | "delete_relationship_type" => (json!({ "name": "Made" }), Installation),
        "put_relationship_type" => (json!({ "name": "made", "inverse": "is_made" }), Installation),
        "put_workflow" => (
            json!({ "kind": "epic", "statuses": [], "transitions": [] }),
            Installation,
        ),
        "list_audit_events" | "verify_history" => (json!({}), Installation),
        other => panic!("the tool {other} has no row: say how it is called and what it is about"),
    }
}

/// The arguments with the project, where the tool takes one and the target names it.
pub(crate) fn with_project(tool: &Value, mut arguments: Value, on: &Target) -> Value {
    if let (true, Some(project)) = (takes_project(tool), &on.project) {
        arguments["project"] = json!(project);
    }
    if let (Some(inner), Some(project)) = (arguments.get_mut("arguments"), &on.project) {
        inner["project"] = json!(project);
    }
    arguments
}

/// Whether a tool takes a project.
pub(crate) fn takes_project(tool: &Value) -> bool {
    tool["inputSchema"]["properties"].get("project").is_some()
}
