//! Items over REST: what only the wire shows. Their rules are tested in the service.

use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_service::account::login;
use spexus_service::report;

both![
    whole_answers_have_this_shape,
    an_entity_tag_is_the_revision,
    fields_are_chosen_by_query,
    a_slash_in_an_id_is_encoded,
    a_report_is_the_services_own,
    a_prompt_that_is_not_there_is_told_so,
    a_stale_write_is_refused_with_who_changed_what,
    an_idempotency_key_does_a_thing_once,
    steering_documents_guide_epics,
];

//= specs/spexus-http.md#answers
//= type=test
//# A write with a stale `If-Match` MUST be refused with who changed what.
async fn a_stale_write_is_refused_with_who_changed_what(server: &mut Server) {
    server.seed().await;
    server
        .patch("/api/v1/epics/EP-001", json!({"title": "Sign in fast"}))
        .await
        .ok();
    let headers = [("If-Match", "\"1\"")];
    let reply = server
        .send(
            &server.token,
            Method::PATCH,
            "/api/v1/epics/EP-001",
            Some(json!({"title": "Mine"})),
            &headers,
        )
        .await;
    let error = reply.refused(412, 1053);
    assert_eq!(error["facts"]["current_rev"], "2");
    assert_eq!(error["fields"][0]["field"], "title");
    let problem = error["fields"][0]["problem"].as_str().unwrap();
    assert!(
        problem.starts_with("changed to \"Sign in fast\" by admin at "),
        "{problem}"
    );
    let body = json!({"title": "Mine", "expect_rev": 1});
    server
        .patch("/api/v1/epics/EP-001", body)
        .await
        .refused(412, 1053);
    let headers = [("If-Match", "\"2\"")];
    let reply = server
        .send(
            &server.token,
            Method::PATCH,
            "/api/v1/epics/EP-001",
            Some(json!({"title": "Mine"})),
            &headers,
        )
        .await;
    assert_eq!(reply.ok()["title"], "Mine");
    let unchanged = server
        .send(
            &server.token,
            Method::GET,
            "/api/v1/epics/EP-001",
            None,
            &[("If-None-Match", "\"3\"")],
        )
        .await;
    assert_eq!(unchanged.status, 304);
}

//= specs/spexus-service.md#writing-once
//= type=test
//# A request with an idempotency key MUST be carried out once and answered alike every time.
async fn an_idempotency_key_does_a_thing_once(server: &mut Server) {
    let headers = [("Idempotency-Key", "once-1")];
    let body = Some(json!({"title": "Once"}));
    let first = server
        .send(
            &server.token,
            Method::POST,
            "/api/v1/epics",
            body.clone(),
            &headers,
        )
        .await
        .created();
    let again = server
        .send(&server.token, Method::POST, "/api/v1/epics", body, &headers)
        .await
        .created();
    assert_eq!(first, again);
    assert_eq!(server.get("/api/v1/epics").await.ok()["total_count"], 1);
    let other = server
        .send(
            &server.token,
            Method::POST,
            "/api/v1/epics",
            Some(json!({"title": "Other"})),
            &headers,
        )
        .await;
    other.refused(409, 1054);
}

async fn steering_documents_guide_epics(server: &mut Server) {
    server.seed().await;
    server
        .post(
            "/api/v1/steering-documents",
            json!({"title": "Security", "description": "No passwords."}),
        )
        .await
        .created();
    server
        .post("/api/v1/epics/EP-001/steering-documents/STD-001", json!({}))
        .await
        .created();
    server
        .post("/api/v1/epics/ep-1/steering-documents/std-1", json!({}))
        .await
        .refused(409, 1052);
    let guides = server.get("/api/v1/epics/EP-001/steering-documents").await.ok();
    assert_eq!(guides["data"][0]["source"]["reference_id"], "STD-001");
    server
        .delete("/api/v1/epics/EP-001/steering-documents/STD-001")
        .await
        .ok();
    server
        .delete("/api/v1/epics/EP-001/steering-documents/STD-001")
        .await
        .refused(404, 1046);
}

/// An answer without what differs from run to run.
fn scrubbed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let scrub = |(name, value): (&String, &Value)| {
                let value = match name.as_str() {
                    "id" | "project_id" | "item_id" | "content_hash" | "request_id" => json!("…"),
                    name if name.ends_with("_at") => json!("…"),
                    _ => scrubbed(value),
                };
                (name.clone(), value)
            };
            fields.iter().map(scrub).collect()
        }
        Value::Array(list) => list.iter().map(scrubbed).collect(),
        Value::String(text) if text.starts_with("changed to") => json!("changed to …"),
        other => other.clone(),
    }
}

async fn whole_answers_have_this_shape(server: &mut Server) {
    server.seed().await;
    let item = server.get("/api/v1/requirements/REQ-001").await.ok();
    insta::assert_json_snapshot!("item", scrubbed(&item));
    let page = server.get("/api/v1/user-stories?limit=1").await.ok();
    insta::assert_json_snapshot!("page", scrubbed(&page));
    let link = json!({"source": "AC-001", "target": "REQ-001", "type": "verifies"});
    let link = server.post("/api/v1/links", link).await.created();
    insta::assert_json_snapshot!("link", scrubbed(&link));
    let comment = json!({"content": "Why?"});
    let comment = server.post("/api/v1/epics/EP-001/comments", comment).await;
    insta::assert_json_snapshot!("comment", scrubbed(&comment.created()));
    let preview = server.get("/api/v1/epics/EP-001/deletion-preview").await.ok();
    insta::assert_json_snapshot!("deletion_preview", scrubbed(&preview));
    server
        .patch("/api/v1/epics/EP-001", json!({"title": "Sign in fast"}))
        .await
        .ok();
    let stale = json!({"title": "Mine", "expect_rev": 1});
    let refusal = server.patch("/api/v1/epics/EP-001", stale).await;
    assert_eq!(refusal.status, 412);
    insta::assert_json_snapshot!("refusal", scrubbed(&refusal.body));
    let batch = json!({"operations": [{"op": "create", "kind": "epic", "title": "x", "ref": "e"}, {"op": "comment", "item": "@e", "content": "y"}]});
    let batch = server.post("/api/v1/batch", batch).await.ok();
    insta::assert_json_snapshot!("batch", scrubbed(&batch));
}

async fn an_entity_tag_is_the_revision(server: &mut Server) {
    server.seed().await;
    let first = server.get("/api/v1/requirements/req-1").await;
    assert_eq!(first.headers["etag"], "\"1\"");
    let patch = json!({"priority": "high"});
    let second = server.patch("/api/v1/requirements/REQ-001", patch).await;
    assert_eq!(second.headers["etag"], "\"2\"");
}

async fn fields_are_chosen_by_query(server: &mut Server) {
    server.seed().await;
    let slim = server
        .get("/api/v1/epics?fields=reference_id,title&limit=1")
        .await
        .ok();
    let expected = json!({"reference_id": "EP-001", "title": "Sign in"});
    assert_eq!(slim["data"][0], expected);
}

async fn a_slash_in_an_id_is_encoded(server: &mut Server) {
    server.seed().await;
    assert_eq!(server.get("/api/v1/epics/default/EP-001").await.status, 404);
    let found = server.get("/api/v1/epics/default%2FEP-001").await.ok();
    assert_eq!(found["title"], "Sign in");
}

//= specs/spexus-service.md#reports
//= type=test
//# A report of status and of gaps MUST be the same to agents, by REST and on the command line.
async fn a_report_is_the_services_own(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/epics", json!({"title": "Empty"}))
        .await
        .created();
    let service = &server.service;
    let caller = login::local(service, None, "exam").await.unwrap();
    for under in [None, Some("US-001")] {
        let query = under.map(|id| format!("?under={id}")).unwrap_or_default();
        let status = report::status(service, &caller, None, under).await.unwrap();
        let told = server.get(&format!("/api/v1/reports/status{query}")).await.ok();
        assert_eq!(told, json!(status), "{query}");
        let wanted = report::GapQuery {
            under: under.map(str::to_owned),
            ..report::GapQuery::default()
        };
        let gaps = report::gaps(service, &caller, &wanted).await.unwrap();
        let told = server.get(&format!("/api/v1/reports/gaps{query}")).await.ok();
        assert_eq!(told, json!(gaps), "{query}");
    }
    let unknown = "/api/v1/reports/status?below=EP-001";
    server.get(unknown).await.refused(400, 1021);
}

async fn a_prompt_that_is_not_there_is_told_so(server: &mut Server) {
    let off = json!({"active": false});
    server.post("/api/v1/prompts/PROMPT-001/activate", off).await.ok();
    server.get("/api/v1/prompts/active").await.refused(404, 1050);
}
