//! What each role of a project may do by each tool: a member of every role calls every tool on things of the project, and
//! is refused exactly where the role is below the least one. The tools are those the server lists, so that one without a
//! row fails here.

use crate::agent::Agent;
use crate::pair::{self, WEB};
use crate::rows::{Target, in_order, row, with_project};
use crate::world::{World, both};
use serde_json::{Value, json};

/// From the least to the most.
const ROLES: [&str; 6] = ["none", "reader", "commenter", "reviewer", "author", "owner"];

/// The least role a tool needs; none where every account may use it, or only administrators.
fn least(tool: &str) -> Least {
    match tool {
        "search_global"
        | "search_requirements"
        | "epic_hierarchy"
        | "preview_deletion"
        | "changes_since"
        | "status_report"
        | "analyze_hierarchy"
        | "diff_baselines"
        | "explain_state"
        | "next_work"
        | "run_prompt" => Least::Role("reader"),
        "list_users" | "list_tokens" | "list_groups" | "list_projects" | "list_prompts" | "get_prompt"
        | "get_active_prompt" | "revoke_token" | "list_vocabulary" | "whoami" => Least::Account,
        "add_comment" => Least::Role("commenter"),
        "confirm_relationship" => Least::Role("reviewer"),
        // They are about a comment of somebody else's here.
        "update_comment" | "delete_comment" => Least::Role("owner"),
        "update_project" | "put_member" | "remove_member" => Least::Role("owner"),
        "create_prompt"
        | "update_prompt"
        | "activate_prompt"
        | "delete_prompt"
        | "update_user"
        | "create_project"
        | "create_group"
        | "delete_group"
        | "add_to_group"
        | "remove_from_group"
        | "put_requirement_type"
        | "delete_requirement_type"
        | "put_relationship_type"
        | "delete_relationship_type"
        | "put_workflow"
        | "list_audit_events"
        | "verify_history" => Least::Administrator,
        "move_item"
        | "push_evidence"
        | "claim_item"
        | "import_plan"
        | "release_item"
        | "delete_item"
        | "restore_item"
        | "apply_changes"
        | "link_steering_to_epic"
        | "unlink_steering_from_epic"
        | "delete_relationship" => Least::Role("author"),
        _ if tool.starts_with("get_") || tool.starts_with("list_") => Least::Role("reader"),
        _ if tool.starts_with("create_") || tool.starts_with("update_") => Least::Role("author"),
        other => panic!("the tool {other} has no row: say which role it needs"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Least {
    Account,
    Role(&'static str),
    Administrator,
}

impl Least {
    fn allows(self, role: usize) -> bool {
        match self {
            Least::Account => true,
            Least::Role(least) => ROLES.iter().position(|own| *own == least).unwrap() <= role,
            Least::Administrator => false,
        }
    }
}

/// An agent of a new user who is this in `web` and nothing anywhere else.
async fn agent_of(world: &World, role: &str) -> Agent {
    let name = format!("who-is-{role}");
    world.belong(&name, "web", "default").await;
    world.make(&name, "web", role).await;
    let token = world
        .token_of(&name, json!({ "name": role, "scopes": ["admin"] }))
        .await;
    Agent::with(world, &token, "2025-11-25", &[("x-spexus-toolsets", "all")]).await
}

fn is_refused(answer: &Value) -> bool {
    answer.get("error").is_some() || answer["result"]["isError"] == true
}

/// Refused for want of a right: plainly, or as if there were no such tool or thing.
fn is_forbidden(answer: &Value) -> bool {
    is_refused(answer) && answer.to_string().contains("1014")
}

both![every_tool_asks_for_its_role_in_the_project];

//= specs/spexus-service.md#members
//= type=test
//# What happens in a project MUST be refused to a member whose role there is below the least one of the operation.
async fn every_tool_asks_for_its_role_in_the_project(world: &World) {
    pair::seed(world).await;
    let all = pair::agent(world, None).await.ask("tools/list", json!({})).await;
    let all = in_order(all["tools"].as_array().unwrap());
    let web = Target::bare(world, "web", true).await;
    // From the least role on, so that whoever may not finds everything still there.
    for (rank, role) in ROLES.into_iter().enumerate() {
        let agent = agent_of(world, role).await;
        for tool in &all {
            let name = tool["name"].as_str().unwrap();
            let arguments = with_project(tool, row(name, &web).0, &web);
            let before = world.changes("web").await;
            let params = json!({ "name": name, "arguments": arguments });
            let answer = agent.request("tools/call", params).await;
            let said = format!("{role} {name} {arguments}: {answer}");
            match least(name).allows(rank) {
                true => assert!(!is_forbidden(&answer), "may: {said}"),
                false => {
                    assert!(is_refused(&answer), "may not: {said}");
                    assert!(
                        role == "none" || is_forbidden(&answer),
                        "not for want of a right: {said}"
                    );
                    assert_eq!(world.changes("web").await, before, "{said}");
                }
            }
            let shown = answer.to_string().replace(&format!("{WEB}-base"), "");
            assert!(role != "none" || !shown.contains(WEB), "shown: {said}");
        }
    }
}
