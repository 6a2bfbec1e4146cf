//! Projects over REST: what a request says in two places. The rules are tested in the service.

use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::json;

both![
    what_is_said_twice_is_said_alike,
    a_reference_behind_its_project_means_that_item_on_every_route,
];

/// How a reference can name its project, in an address.
const FORMS: [&str; 4] = ["web%2F", "WEB%2f", "WEB-", "web-"];

//= specs/spexus-service.md#projects
//= type=test
//# A reference id with the key of a project before it, after a slash or a dash and in any letter case, MUST mean that
//# project's item wherever an id is taken.
//= specs/spexus-service.md#projects
//= type=test
//# A reference id with the key of a project that the caller does not see MUST be refused with the nearest key the caller sees.
async fn a_reference_behind_its_project_means_that_item_on_every_route(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/projects", json!({"key": "web"}))
        .await
        .created();
    for (path, body) in [
        ("epics", json!({"title": "Web epic"})),
        ("user-stories", json!({"title": "Web story", "parent": "EP-001"})),
        (
            "acceptance-criteria",
            json!({"description": "Web criterion", "parent": "US-001"}),
        ),
        (
            "requirements",
            json!({"title": "Web requirement", "parent": "US-001"}),
        ),
        ("steering-documents", json!({"title": "Web document"})),
    ] {
        let path = format!("/api/v1/{path}?project=web");
        server.post(&path, body).await.created();
    }
    let before = server.get("/api/v1/changes?project=default").await.ok();
    let kinds = [
        ("epics", "EP-001"),
        ("user-stories", "US-001"),
        ("acceptance-criteria", "AC-001"),
        ("requirements", "REQ-001"),
        ("steering-documents", "STD-001"),
        ("items", "REQ-001"),
        ("hierarchy", "EP-001"),
    ];
    let document = spexus_http::openapi();
    let mut walked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let of = path.trim_start_matches("/api/v1/").split('/').next().unwrap();
        let known = kinds.iter().find(|(kind, _)| *kind == of);
        let (Some((_, reference)), true) = (known, path.contains("{id}")) else {
            continue;
        };
        if methods.get("get").is_none() {
            continue;
        }
        walked += 1;
        let named = path.replace("{id}", reference) + "?project=web";
        let expected = server.get(&named).await.ok();
        for form in FORMS {
            let path = path.replace("{id}", &format!("{form}{reference}"));
            assert_eq!(server.get(&path).await.ok(), expected, "{path}");
        }
    }
    assert!(walked > 30, "{walked} routes");
    for query in [
        "user-stories?epic_id=",
        "requirements?under=",
        "requirements?parent=",
    ] {
        let reference = if query.contains("parent") {
            "US-001"
        } else {
            "EP-001"
        };
        let expected = server
            .get(&format!("/api/v1/{query}{reference}&project=web"))
            .await
            .ok();
        for form in FORMS {
            let path = format!("/api/v1/{query}{form}{reference}");
            assert_eq!(server.get(&path).await.ok(), expected, "{path}");
        }
    }
    for form in FORMS {
        let said = form.replace("%2F", "/").replace("%2f", "/");
        let (story, epic) = (format!("{said}US-001"), format!("{said}EP-001"));
        for (method, path, body) in [
            (Method::PATCH, "requirements/{}REQ-001", json!({"title": form})),
            (
                Method::PATCH,
                "requirements/{}REQ-001/assign",
                json!({"assignee": "admin"}),
            ),
            (
                Method::PATCH,
                "requirements/{}REQ-001/status",
                json!({"status": "Draft"}),
            ),
            (
                Method::POST,
                "requirements/{}REQ-001/move",
                json!({"parent": story}),
            ),
            (
                Method::POST,
                "requirements/{}REQ-001/comments",
                json!({"content": form}),
            ),
            (
                Method::POST,
                "epics/{}EP-001/user-stories",
                json!({"title": form}),
            ),
            (
                Method::POST,
                "requirements",
                json!({"title": form, "user_story_id": story}),
            ),
            (
                Method::POST,
                "epics/{}EP-001/steering-documents/{}STD-001",
                json!({}),
            ),
            (
                Method::DELETE,
                "epics/{}EP-001/steering-documents/{}STD-001",
                json!({}),
            ),
            (
                Method::POST,
                "links",
                json!({"source": story, "target": epic, "type": "relates_to"}),
            ),
            (Method::DELETE, "requirements/{}REQ-001?force=true", json!({})),
            (Method::POST, "requirements/{}REQ-001/restore", json!({})),
        ] {
            // One link of a sort is enough.
            if path == "links" && form != FORMS[0] {
                continue;
            }
            let path = format!("/api/v1/{}", path.replace("{}", form));
            let body = (method != Method::DELETE).then_some(body);
            let reply = server.send(&server.token, method.clone(), &path, body, &[]).await;
            assert!(
                (200..300).contains(&reply.status),
                "{method} {path}: {}",
                reply.body
            );
        }
    }
    let after = server.get("/api/v1/changes?project=default").await.ok();
    assert_eq!(
        after["data"], before["data"],
        "nothing happened in the other project"
    );
    let refused = server
        .get("/api/v1/requirements/WBE-REQ-001")
        .await
        .refused(404, 1046);
    assert!(refused["hint"].as_str().unwrap().contains("\"web\""), "{refused}");
}

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
