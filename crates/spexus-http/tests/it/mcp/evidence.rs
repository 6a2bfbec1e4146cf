//! Where items stand, as whoever asks is told.

use super::Agent;
use crate::harness::{Server, both};
use serde_json::{Value, json};
use spexus_service::evidence::{self, CheckQuery};

both![everybody_reads_the_same_table];

const REPORT: &str = r#"<testsuite name="s">
<testcase classname="s" name="good"><properties><property name="requirement" value="REQ-001"/></properties></testcase>
<testcase classname="s" name="bad"><properties><property name="requirement" value="REQ-002"/></properties><failure message="no"/></testcase>
<testcase classname="s" name="off"><properties><property name="requirement" value="REQ-003"/></properties><skipped/></testcase>
</testsuite>"#;

//= specs/spexus-service.md#evidence
//= type=test
//# Whoever asks where an item stands, by whatever surface, MUST be told the same.
async fn everybody_reads_the_same_table(server: &mut Server) {
    server.seed().await;
    for title in ["It MUST fail", "It MUST be left out", "It MUST be unknown"] {
        let new = json!({"user_story_id": "US-001", "title": title});
        server.post("/api/v1/requirements", new).await.created();
    }
    let agent = Agent::connect(server).await;
    let report = json!({"format": "junit", "text": REPORT});
    let marks = json!([{"id": "REQ-001", "role": "code", "path": "src/a.rs", "line": 1, "end_line": 9, "hash": "h", "by": "citation"}]);
    let first = json!({"commit": "abcdef1", "reports": [report], "marks": marks});
    server.post("/api/v1/trace/push", first).await.created();
    agree(server, &agent).await;
    // An edit, a waiver and a later push each change the table for everybody at once.
    let edit = json!({"title": "Passkeys MUST open"});
    server.patch("/api/v1/requirements/REQ-001", edit).await.ok();
    agree(server, &agent).await;
    let waiver = json!({"kind": "waived", "why": "Later.", "expires": "30d"});
    server
        .post("/api/v1/requirements/REQ-002/trace/reviews", waiver)
        .await
        .ok();
    agree(server, &agent).await;
    let later = json!({"commit": "abcdef2", "marks": marks});
    server.post("/api/v1/trace/push", later).await.created();
    agree(server, &agent).await;
}

async fn agree(server: &Server, agent: &Agent) {
    let service = &server.service;
    let caller = spexus_service::account::login::local(service, None, "test")
        .await
        .unwrap();
    let query = CheckQuery::default();
    let check = json!(evidence::check(service, &caller, &query).await.unwrap());
    let gaps = check["gaps"].as_array().unwrap();
    for (kind, id) in [
        ("requirements", "REQ-001"),
        ("requirements", "REQ-002"),
        ("requirements", "REQ-003"),
        ("requirements", "REQ-004"),
        ("user-stories", "US-001"),
        ("epics", "EP-001"),
    ] {
        // What the command line prints.
        let read = json!(evidence::trace(service, &caller, None, None, id).await.unwrap());
        let rest = server.get(&format!("/api/v1/{kind}/{id}/trace")).await.ok();
        assert_eq!(rest, read, "{id}");
        let tool = agent.call("get_trace", json!({"id": id})).await;
        assert_eq!(tool, read, "{id}");
        let explained = agent.call("explain_state", json!({"id": id})).await;
        let told = |value: &Value| {
            [
                value["state"].clone(),
                value["flags"].clone(),
                value["weakest"].clone(),
            ]
        };
        assert_eq!(told(&explained), told(&read), "{id}");
        if let Some(gap) = gaps.iter().find(|gap| gap["reference_id"] == id) {
            assert_eq!(told(gap), told(&read), "{id}");
        }
    }
    let rest = server.get("/api/v1/trace/check").await.ok();
    assert_eq!(rest, check);
    let listed = server.get("/api/v1/trace/gaps").await.ok();
    assert_eq!(listed["data"], check["gaps"]);
    let tool = agent.call("list_gaps", json!({})).await;
    assert_eq!(tool["rows"], check["gaps"]);
}
