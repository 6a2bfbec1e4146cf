//! `batch/execute`: tools of all sorts in one transaction, all or nothing.

use super::{Agent, pair};
use crate::harness::{Server, on_both};
use serde_json::json;

/// An agent that sees all tools.
async fn author(server: &Server) -> Agent {
    Agent::with(
        server,
        &server.token,
        "2025-11-25",
        &[("x-spexus-toolsets", "all")],
    )
    .await
}

on_both![a_batch_that_makes_an_epic_in_one_project_never_writes_into_the_other];

//= specs/spexus-mcp.md#batches
//= type=test
//# A reference to a result MUST mean the very item the operation made or read, in whichever project it is.
async fn a_batch_that_makes_an_epic_in_one_project_never_writes_into_the_other(server: &mut Server) {
    pair::seed(server).await;
    for project in ["default", "web"] {
        server
            .post(
                "/api/v1/epics",
                json!({ "title": "Numbers alike", "project": project }),
            )
            .await
            .created();
    }
    server
        .post(
            "/api/v1/epics",
            json!({ "title": "Unrelated", "project": "default" }),
        )
        .await
        .created();
    let agent = author(server).await;
    let operations = json!([
        { "tool": "create_epic", "arguments": { "title": "W2", "project": "web" }, "ref": "epic" },
        { "tool": "create_user_story", "arguments": { "epic_id": "@epic", "title": "meant for web" }, "ref": "story" },
        { "tool": "add_comment", "arguments": { "id": "@epic", "content": "meant for web" } },
        { "tool": "update_epic", "arguments": { "epic_id": "@epic", "expect_rev": "@epic.rev", "priority": 1, "description": "@epic.reference_id" } },
        { "tool": "get_item", "arguments": { "id": "@story", "detail": "line" }, "ref": "read" },
        { "tool": "update_user_story", "arguments": { "user_story_id": "@read", "priority": 2 } },
    ]);
    agent
        .ask("batch/execute", json!({ "operations": operations }))
        .await;
    let epic = |project: &str| format!("/api/v1/epics/EP-003?project={project}");
    let (web, other) = (
        server.get(&epic("web")).await.ok(),
        server.get(&epic("default")).await.ok(),
    );
    assert_eq!(
        (&web["title"], &web["priority"], &web["description"]),
        (&json!("W2"), &json!(1), &json!("EP-003"))
    );
    assert_eq!(
        (&other["title"], &other["priority"], &other["rev"]),
        (&json!("Unrelated"), &json!(3), &json!(1))
    );
    for (project, count) in [("web", 1), ("default", 0)] {
        let of = |part: &str| format!("/api/v1/epics/EP-003/{part}?project={project}");
        let comments = server.get(&of("comments")).await.ok();
        let stories = server
            .get(&format!(
                "/api/v1/user-stories?epic_id={project}/EP-003&project={project}"
            ))
            .await
            .ok();
        let counts = [&comments, &stories].map(|page| page["data"].as_array().unwrap().len());
        assert_eq!(counts, [count, count], "{project}");
    }
}

/// A client that hangs up in the middle undoes its batch, and others go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_goes_away_takes_the_batch_along() {
    let server = Server::on_sqlite().await;
    let agent = author(&server).await;
    let operations = vec![json!({ "tool": "create_epic", "arguments": { "title": "Half" } }); 200];
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "batch/execute", "params": { "operations": operations } });
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    let (_, told) = tokio::join!(
        tokio::time::timeout(std::time::Duration::from_secs(30), agent.send(&message)),
        agent.send(&cancel)
    );
    assert_eq!(told.status, 202);
    let count = agent.call("list_epics", json!({})).await["total_count"]
        .as_i64()
        .unwrap();
    assert!(count == 0 || count == 200, "all or nothing, not {count}");
    agent.call("create_epic", json!({ "title": "Next" })).await;
    server.stop().await;
}
