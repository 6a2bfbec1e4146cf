//! The faults of the system this one takes the place of, each with a test that shows us free of it. The numbers are the
//! sections of the survey of that system; what is no matter of HTTP is tested in the service, what concerns MCP and the stdio
//! bridge where those live.

use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

both![
    every_id_form_works_on_every_route,
    an_item_has_one_shape_everywhere,
    lists_refuse_what_they_do_not_understand,
    every_refusal_has_the_one_envelope,
    an_unknown_role_is_told,
    a_requirement_needs_only_what_is_new,
    nobody_writes_in_another_name,
    a_link_is_not_removed_by_a_stranger,
    every_list_works_without_parameters,
    prompts_are_made_over_rest,
    types_are_read_and_named_by_everyone,
    a_token_opens_rest_and_its_scope_counts,
    no_other_site_is_let_in,
    an_unknown_kind_in_a_search_is_told,
    duplicate_steering_link_is_a_conflict,
    order_by_is_never_sql,
];

// 1.1: look-up by reference id was case-sensitive, and many routes took a UUID only (2, "u").
async fn every_id_form_works_on_every_route(server: &mut Server) {
    server.seed().await;
    let id = text(&server.get("/api/v1/epics/EP-001").await.ok()["id"]);
    for form in ["EP-001", "ep-1", "Ep-0001", &id, &id.to_uppercase()] {
        for tail in [
            "",
            "/children",
            "/links",
            "/comments",
            "/history",
            "/deletion-preview",
            "/user-stories",
            "/steering-documents",
        ] {
            server.get(&format!("/api/v1/epics/{form}{tail}")).await.ok();
        }
        server.get(&format!("/api/v1/hierarchy/{form}")).await.ok();
        server
            .patch(&format!("/api/v1/epics/{form}"), json!({"description": form}))
            .await
            .ok();
        server
            .post(
                &format!("/api/v1/epics/{form}/user-stories"),
                json!({"title": form}),
            )
            .await
            .created();
    }
}

// 1.5, 7.1.4: creates, gets and lists showed different shapes, and lists never the people and the parent.
//= specs/spexus-http.md#answers
//= type=test
//# An item MUST have the same shape in every answer that holds it.
async fn an_item_has_one_shape_everywhere(server: &mut Server) {
    server
        .post("/api/v1/epics", json!({"title": "Sign in"}))
        .await
        .created();
    let story = json!({"epic_id": "EP-001", "title": "Story", "assignee": "me"});
    let made = server.post("/api/v1/user-stories", story).await.created();
    assert_eq!(
        (&made["creator"], &made["assignee"], &made["parent"]),
        (&json!("admin"), &json!("admin"), &json!("EP-001"))
    );
    assert_eq!(server.get("/api/v1/user-stories/US-001").await.ok(), made);
    assert_eq!(server.get("/api/v1/user-stories").await.ok()["data"][0], made);
    assert_eq!(
        server.get("/api/v1/epics/EP-001/children").await.ok()["data"][0],
        made
    );
    assert_eq!(
        server.get("/api/v1/epics/EP-001/user-stories").await.ok()["data"][0],
        made
    );
    assert_eq!(
        server
            .patch("/api/v1/user-stories/US-001", json!({"title": "Story"}))
            .await
            .ok(),
        made
    );
}

// 2.1: `limit` had no upper bound, and bad filter values were ignored in silence.
//= specs/spexus-http.md#refusals
//= type=test
//# An unknown field of a body and an unknown parameter of a query MUST be refused, not ignored.
async fn lists_refuse_what_they_do_not_understand(server: &mut Server) {
    for query in [
        "limit=100000",
        "limit=0",
        "priority=9",
        "status=Nope",
        "creator=nobody",
        "type=Nope",
        "created_from=soon",
        "colour=red",
        "parent=x",
    ] {
        let reply = server.get(&format!("/api/v1/epics?{query}")).await;
        assert!(reply.status == 400, "{query}: {} {}", reply.status, reply.body);
        let field = query.split('=').next().unwrap();
        assert_eq!(reply.body["error"]["fields"][0]["field"], field, "{}", reply.body);
    }
}

// 2.1: three formats of errors were in use.
//= specs/spexus-http.md#refusals
//= type=test
//# Every refusal MUST come in one envelope with the code, the name, a message and a hint of the table of refusals.
async fn every_refusal_has_the_one_envelope(server: &mut Server) {
    server.seed().await;
    let replies = [
        server.get("/api/v1/epics/EP-999").await,
        server.get("/api/v1/nothing").await,
        server.put("/api/v1/epics/EP-001", json!({})).await,
        server.post("/api/v1/epics", json!({"title": 1})).await,
        server.delete("/api/v1/epics/EP-001").await,
        server.get("/api/v1/search?query=x&kinds=nope").await,
        server.send("", Method::GET, "/api/v1/epics", None, &[]).await,
        server
            .send("mcp_pat_wrong", Method::GET, "/api/v1/epics", None, &[])
            .await,
        server
            .send(
                "",
                Method::POST,
                "/api/v1/auth/login",
                Some(json!({"username": "x", "password": "y"})),
                &[],
            )
            .await,
    ];
    for reply in replies {
        let (status, code) = (reply.status, reply.body["error"]["code"].as_u64().unwrap_or(0));
        assert!(
            (400..500).contains(&status) && reply.body["error"]["name"].is_string(),
            "{status} {}",
            reply.body
        );
        reply.refused(status, u16::try_from(code).unwrap());
    }
}

// 2.2: any database error on making a user was a 409.
async fn an_unknown_role_is_told(server: &mut Server) {
    let king = json!({"username": "sam", "password": "long enough", "role": "King"});
    let error = server.post("/api/v1/users", king).await.refused(400, 1021);
    assert_eq!(error["fields"][0]["field"], "role");
}

// 2.7: a requirement had to carry `creator_id`, and the nested route still demanded the story in the body.
async fn a_requirement_needs_only_what_is_new(server: &mut Server) {
    server.seed().await;
    let made = server
        .post(
            "/api/v1/user-stories/US-001/requirements",
            json!({"title": "Just this"}),
        )
        .await
        .created();
    assert_eq!(
        (&made["creator"], &made["type"], &made["parent"]),
        (&json!("admin"), &json!("Functional"), &json!("US-001"))
    );
}

// 2.7, 7.3: `created_by` of a link, and thus the author, could be made up by the client.
async fn nobody_writes_in_another_name(server: &mut Server) {
    server.seed().await;
    server.user("kim", "User").await;
    server
        .post(
            "/api/v1/requirements",
            json!({"user_story_id": "US-001", "title": "Second"}),
        )
        .await
        .created();
    let link = json!({"source": "REQ-001", "target": "REQ-002", "type": "blocks"});
    for (path, body, field) in [
        ("/api/v1/links", link, "created_by"),
        ("/api/v1/epics", json!({"title": "x"}), "creator"),
        ("/api/v1/epics", json!({"title": "x"}), "creator_id"),
        ("/api/v1/epics/EP-001/comments", json!({"content": "x"}), "author"),
    ] {
        let mut forged = body;
        forged[field] = json!("kim");
        let error = server.post(path, forged).await.refused(400, 1021);
        assert_eq!(error["fields"][0]["field"], field);
    }
}

// 2.7, 7.3: a link could be deleted by anyone, without a token.
async fn a_link_is_not_removed_by_a_stranger(server: &mut Server) {
    server.seed().await;
    server
        .post(
            "/api/v1/requirements",
            json!({"user_story_id": "US-001", "title": "Second"}),
        )
        .await
        .created();
    let link = server
        .post(
            "/api/v1/links",
            json!({"source": "REQ-001", "target": "REQ-002", "type": "blocks"}),
        )
        .await
        .created();
    let path = format!("/api/v1/links/{}", text(&link["id"]));
    server
        .send("", Method::DELETE, &path, None, &[])
        .await
        .refused(401, 1015);
    assert_eq!(
        server.get("/api/v1/requirements/REQ-001/links").await.ok()["total_count"],
        1
    );
}

// 2.8: a list demanded `limit`.
//= specs/spexus-http.md#answers
//= type=test
//# Every list MUST come in one envelope with `data`, `total_count` and, where there is a next page, `next_cursor`.
async fn every_list_works_without_parameters(server: &mut Server) {
    server.seed().await;
    let lists = [
        "epics",
        "user-stories",
        "acceptance-criteria",
        "requirements",
        "steering-documents",
        "prompts",
        "projects",
        "users",
        "tokens",
        "requirement-types",
        "link-types",
        "workflows",
        "baselines",
        "audit/events",
        "epics/EP-001/comments",
        "epics/EP-001/history",
        "epics/EP-001/links",
        "epics/EP-001/children",
        "search?query=x",
        "search",
    ];
    for list in lists {
        let page = server.get(&format!("/api/v1/{list}")).await.ok();
        assert!(
            page["data"].is_array() && page["total_count"].is_i64(),
            "{list}: {page}"
        );
    }
}

// 2.10, 7.1.2: prompts could not be made over REST; 7.1.7: a duplicate name was a 500; 1.3: a fresh installation had none.
async fn prompts_are_made_over_rest(server: &mut Server) {
    server.get("/api/v1/prompts/active").await.ok();
    let prompt = json!({"name": "reviewer", "messages": [{"role": "user", "text": "Review."}]});
    server.post("/api/v1/prompts", prompt.clone()).await.created();
    server.post("/api/v1/prompts", prompt).await.refused(409, 1051);
}

// 2.11: people who may write could not list the types they had to name, and had to name them by UUID.
async fn types_are_read_and_named_by_everyone(server: &mut Server) {
    server.seed().await;
    let kim = server.user("kim", "User").await;
    for list in ["requirement-types", "link-types", "workflows", "users"] {
        assert_eq!(
            server
                .as_token(&kim, Method::GET, &format!("/api/v1/{list}"), None)
                .await
                .0,
            200
        );
    }
    let body = Some(json!({"user_story_id": "US-001", "title": "x", "type": "business rule"}));
    assert_eq!(
        server
            .send(&kim, Method::POST, "/api/v1/requirements", body, &[])
            .await
            .created()["type"],
        "Business Rule"
    );
}

// 4: tokens opened the MCP endpoint only; scopes were never looked at.
async fn a_token_opens_rest_and_its_scope_counts(server: &mut Server) {
    let made = server
        .post("/api/v1/tokens", json!({"name": "reader", "scopes": ["read"]}))
        .await
        .created();
    let token = text(&made["token"]);
    assert!(token.starts_with("mcp_pat_") && token.len() == 51);
    assert_eq!(
        server
            .as_token(&token, Method::GET, "/api/v1/epics", None)
            .await
            .0,
        200
    );
    let reply = server
        .send(
            &token,
            Method::POST,
            "/api/v1/epics",
            Some(json!({"title": "x"})),
            &[],
        )
        .await;
    reply.refused(403, 1014);
}

// 4: any origin was reflected with credentials allowed.
async fn no_other_site_is_let_in(server: &mut Server) {
    let headers = [("Origin", "https://evil.example")];
    let reply = server
        .send(&server.token, Method::GET, "/api/v1/epics", None, &headers)
        .await;
    assert!(
        reply
            .headers
            .keys()
            .all(|name| !name.as_str().starts_with("access-control-")),
        "{:?}",
        reply.headers
    );
}

// 5: an unknown kind in a search was a 500.
async fn an_unknown_kind_in_a_search_is_told(server: &mut Server) {
    let error = server
        .get("/api/v1/search?query=x&kinds=epos")
        .await
        .refused(400, 1021);
    assert_eq!(error["fields"][0]["field"], "kinds");
    assert!(text(&error["fields"][0]["allowed"]).contains("epic"), "{error}");
}

// 7.1.7: a steering document linked twice was a 500.
async fn duplicate_steering_link_is_a_conflict(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/steering-documents", json!({"title": "Security"}))
        .await
        .created();
    server
        .post("/api/v1/epics/EP-001/steering-documents/STD-001", json!({}))
        .await
        .created();
    server
        .post("/api/v1/epics/EP-001/steering-documents/STD-001", json!({}))
        .await
        .refused(409, 1052);
}

// 7.3: `order_by` reached the database as SQL; pg_sleep ran.
async fn order_by_is_never_sql(server: &mut Server) {
    for order in [
        "(SELECT pg_sleep(9))",
        "title; DROP TABLE item",
        "title,(select 1)",
        "1",
        "title--",
        "\"title\"",
        "-",
        "title desc nulls first",
        "project_id",
    ] {
        let query = [("order_by", order)];
        let query = reqwest::Url::parse_with_params("http://x/", &query).unwrap();
        for list in [
            "epics",
            "user-stories",
            "acceptance-criteria",
            "requirements",
            "steering-documents",
            "search",
        ] {
            let error = server
                .get(&format!("/api/v1/{list}?{}", query.query().unwrap()))
                .await
                .refused(400, 1021);
            assert_eq!(error["fields"][0]["field"], "order_by");
        }
    }
}
