//! Projects over REST: what a request says in two places. The rules are tested in the service.

use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::json;

both![what_is_said_twice_is_said_alike,];

//= specs/spexus-http.md#refusals
//= type=test
//# What a request says twice, in its address or a header and in its body, MUST be said alike, else it MUST be refused.
async fn what_is_said_twice_is_said_alike(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/projects", json!({"key": "web"}))
        .await
        .created();
    let web = [
        ("epics", json!({"title": "Web epic"})),
        ("user-stories", json!({"title": "Web story", "parent": "EP-001"})),
    ];
    for (path, body) in web {
        let path = format!("/api/v1/{path}?project=web");
        server.post(&path, body).await.created();
    }
    for title in ["Web requirement", "Web's second"] {
        let requirement = json!({"title": title, "parent": "US-001"});
        server
            .post("/api/v1/requirements?project=web", requirement)
            .await
            .created();
    }
    let epic = json!({"title": "x", "project": "web"});
    let error = server
        .post("/api/v1/epics?project=default", epic.clone())
        .await
        .refused(400, 1021);
    assert_eq!(error["fields"][0]["field"], "project");
    assert_eq!(
        server.post("/api/v1/epics?project=WEB", epic).await.created()["project"],
        "web"
    );
    let patch = Some(json!({"priority": 1, "expect_rev": 1}));
    let headers = [("If-Match", "\"2\"")];
    let path = "/api/v1/requirements/REQ-002";
    let error = server
        .send(&server.token, Method::PATCH, path, patch.clone(), &headers)
        .await
        .refused(400, 1021);
    assert_eq!(error["fields"][0]["field"], "expect_rev");
    server
        .send(
            &server.token,
            Method::PATCH,
            path,
            patch,
            &[("If-Match", "\"1\"")],
        )
        .await
        .ok();
    for query in ["history?only=x", "history?fields=id"] {
        server.get(&format!("{path}/{query}")).await.refused(400, 1021);
    }
    server
        .get("/api/v1/epics/web%2FEP-001/user-stories?only=epic")
        .await
        .refused(400, 1021);
    server
        .get("/api/v1/changes/stream?limit=5")
        .await
        .refused(400, 1021);
    server
        .get("/api/v1/search?query=sign&order_by=title")
        .await
        .refused(400, 1021);
    server
        .get("/api/v1/search?query=sign&fields=nonsense")
        .await
        .refused(400, 1021);
    let hits = server
        .get("/api/v1/search?query=sign&fields=reference_id,title")
        .await
        .ok();
    assert_eq!(
        hits["data"][0],
        json!({"reference_id": "EP-001", "title": "Sign in"})
    );
}
