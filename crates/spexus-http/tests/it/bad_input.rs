//! Whatever is sent: a refusal that names the field and what is allowed, nothing written, nothing of the inside shown.

use crate::harness::{Reply, Server, both, read_until};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_domain::limits;
use tokio::io::AsyncWriteExt;

/// Words that only someone inside would say.
const INSIDE: &[&str] = &[
    "sqlite",
    "postgres",
    "sqlx",
    "select ",
    "insert ",
    "panick",
    "src/",
    "struct ",
    ".rs:",
    "serde",
    "stack",
    "column \"",
    "syntax error",
    "spexus.db",
];

/// Texts that mean something to a database, a shell, a browser or a search engine, and nothing to us.
const NASTY: &[&str] = &[
    "'; DROP TABLE item; --",
    "\" OR 1=1 --",
    "')/**/UNION/**/SELECT/**/1--",
    "$1",
    "%s%n",
    "{{7*7}}",
    "${jndi:x}",
    "<script>alert(1)</script>",
    "a & b | c ! (d:*)",
    "\"unclosed",
    "NEAR(a b)",
    "col:x*",
    "../../etc/passwd",
    "\\",
    "`id`",
    "İıẞﬀ",
    "e\u{301}",
    "\u{202e}gnp.exe",
    "👩‍👩‍👧‍👦",
    "\u{feff}bom",
    "\u{fffd}",
    "\u{10ffff}",
    "NULL",
    "-1",
    "1e309",
    "truth",
];

/// A refusal in the one envelope that names the field, says what is allowed, and nothing of the inside.
fn refused(reply: &Reply, what: &str, field: &str) {
    assert!(
        (400..500).contains(&reply.status),
        "{what}: {} {}",
        reply.status,
        reply.body
    );
    let error = &reply.body["error"];
    let named = error["fields"].as_array().into_iter().flatten().any(|fault| {
        let text = |name: &str| fault[name].as_str().unwrap_or_default().to_owned();
        text("field") == field && !text("problem").is_empty() && !text("allowed").is_empty()
    });
    assert!(
        field.is_empty() || named,
        "{what} does not name {field:?} and what is allowed: {}",
        reply.body
    );
    shows_nothing(&reply.body, what);
}

fn shows_nothing(body: &Value, what: &str) {
    let text = body.to_string().to_lowercase();
    if let Some(word) = INSIDE.iter().find(|word| text.contains(*word)) {
        panic!("{what} shows {word:?}: {body}");
    }
}

async fn raw_body(server: &Server, body: impl Into<reqwest::Body>, content_type: &str) -> Reply {
    let request = server
        .client
        .post(format!("{}/api/v1/epics", server.url))
        .bearer_auth(&server.token);
    let response = request
        .header("content-type", content_type)
        .body(body)
        .send()
        .await
        .unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    Reply {
        status,
        headers,
        body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

/// Every text field that is written: where, the body around it, its name, and how many characters fit.
fn text_fields() -> Vec<(Method, &'static str, Value, &'static str, usize)> {
    let (post, patch, put) = (Method::POST, Method::PATCH, Method::PUT);
    vec![
        (
            post.clone(),
            "/api/v1/epics",
            json!({"description": "x"}),
            "title",
            limits::MAX_TITLE_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/epics",
            json!({"title": "x"}),
            "description",
            limits::MAX_DESCRIPTION_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/acceptance-criteria",
            json!({"parent": "US-001"}),
            "description",
            limits::MAX_DESCRIPTION_CHARS,
        ),
        (
            patch.clone(),
            "/api/v1/requirements/REQ-001",
            json!({}),
            "title",
            limits::MAX_TITLE_CHARS,
        ),
        (
            patch.clone(),
            "/api/v1/requirements/REQ-001",
            json!({}),
            "description",
            limits::MAX_DESCRIPTION_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/epics/EP-001/comments",
            json!({}),
            "content",
            limits::MAX_COMMENT_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/baselines",
            json!({}),
            "name",
            limits::MAX_NAME_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/baselines",
            json!({"name": "unique"}),
            "description",
            limits::MAX_DESCRIPTION_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/tokens",
            json!({}),
            "name",
            limits::MAX_NAME_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/projects",
            json!({"key": "fresh"}),
            "name",
            limits::MAX_TITLE_CHARS,
        ),
        (
            post.clone(),
            "/api/v1/prompts",
            json!({"messages": [{"role": "user", "text": "x"}]}),
            "name",
            limits::MAX_NAME_CHARS,
        ),
        (
            patch,
            "/api/v1/prompts/PROMPT-001",
            json!({}),
            "title",
            limits::MAX_TITLE_CHARS,
        ),
        (
            post,
            "/api/v1/users",
            json!({"username": "new", "role": "User"}),
            "password",
            limits::MAX_PASSWORD_CHARS,
        ),
        (
            put,
            "/api/v1/requirement-types/Quality",
            json!({}),
            "description",
            limits::MAX_DESCRIPTION_CHARS,
        ),
    ]
}

fn with(body: &Value, field: &str, value: impl Into<Value>) -> Value {
    let mut body = body.clone();
    body[field] = value.into();
    body
}

both![
    bodies_that_do_not_fit_are_refused_by_field,
    every_text_fits_up_to_its_limit_and_not_beyond,
    nasty_texts_are_only_texts,
    queries_that_do_not_fit_are_refused_by_name,
    ids_that_are_none_are_not_found_or_refused,
    headers_that_do_not_fit_are_refused,
    random_json_is_answered_and_writes_all_or_nothing,
];

//= specs/spexus-http.md#refusals
//= type=test
//# Input that does not fit MUST be refused with the name of the field and what is allowed.
async fn bodies_that_do_not_fit_are_refused_by_field(server: &mut Server) {
    server.seed().await;
    let before = server.chain_head().await;
    let comment = "/api/v1/epics/EP-001/comments";
    let cases = [
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "colour": "red"}),
            "colour",
        ),
        ("POST", "/api/v1/epics", json!({"title": 5}), "title"),
        ("POST", "/api/v1/epics", json!({"title": null}), "title"),
        ("POST", "/api/v1/epics", json!({"title": ["x"]}), "title"),
        ("POST", "/api/v1/epics", json!({"title": ""}), "title"),
        ("POST", "/api/v1/epics", json!({}), "title"),
        ("POST", "/api/v1/epics", json!([]), ""),
        ("POST", "/api/v1/epics", json!("title"), "body"),
        ("POST", "/api/v1/epics", json!(null), "body"),
        ("POST", "/api/v1/epics", json!({"title": "a\nb"}), "title"),
        ("POST", "/api/v1/epics", json!({"title": "a\u{0}b"}), "title"),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "description": "a\u{0}b"}),
            "description",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "description": "a\u{1b}[2J"}),
            "description",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "attributes": {"a": "b\u{0}"}}),
            "attributes.a",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "attributes": []}),
            "attributes",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "attributes": {"a": {"b": {"c": 1}}}}),
            "attributes.a",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "priority": 0}),
            "priority",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "priority": 1e300}),
            "priority",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "priority": "urgent"}),
            "priority",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "priority": {}}),
            "priority",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "status": "Nope"}),
            "status",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "status": "a\u{0}"}),
            "status",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "assignee": "nobody"}),
            "assignee",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "project": "NO SUCH"}),
            "project",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "type": "Functional"}),
            "type",
        ),
        (
            "POST",
            "/api/v1/epics",
            json!({"title": "x", "parent": "EP-001"}),
            "parent",
        ),
        ("POST", "/api/v1/user-stories", json!({"title": "x"}), "parent"),
        (
            "POST",
            "/api/v1/user-stories",
            json!({"title": "x", "epic_id": "everything"}),
            "parent",
        ),
        (
            "POST",
            "/api/v1/requirements",
            json!({"title": "x", "parent": "US-001", "type": "Nope"}),
            "type",
        ),
        (
            "POST",
            "/api/v1/requirements",
            json!({"title": "x", "parent": "EP-001"}),
            "parent",
        ),
        (
            "PATCH",
            "/api/v1/epics/EP-001",
            json!({"expect_rev": "1"}),
            "expect_rev",
        ),
        (
            "PATCH",
            "/api/v1/epics/EP-001",
            json!({"expect_rev": 1e30}),
            "expect_rev",
        ),
        (
            "PATCH",
            "/api/v1/epics/EP-001",
            json!({"reference_id": "EP-777"}),
            "reference_id",
        ),
        (
            "PATCH",
            "/api/v1/epics/EP-001",
            json!({"title": null, "rev": 7}),
            "rev",
        ),
        ("PATCH", "/api/v1/epics/EP-001/status", json!({}), "status"),
        (
            "PATCH",
            "/api/v1/epics/EP-001/assign",
            json!({"assignee": 7}),
            "assignee",
        ),
        (
            "POST",
            "/api/v1/epics/EP-001/move",
            json!({"after": "EP-001", "before": "x"}),
            "before",
        ),
        ("POST", comment, json!({"content": " \n "}), "content"),
        (
            "POST",
            comment,
            json!({"content": "x", "parent_id": "x"}),
            "parent_id",
        ),
        (
            "POST",
            comment,
            json!({"content": "x", "anchor": {"quote": "not there"}}),
            "anchor.quote",
        ),
        (
            "POST",
            comment,
            json!({"content": "x", "anchor": {"quote": "x", "start": -1}}),
            "anchor.start",
        ),
        (
            "POST",
            comment,
            json!({"content": "x", "anchor": {"colour": "red"}}),
            "anchor.colour",
        ),
        (
            "POST",
            "/api/v1/links",
            json!({"source": "REQ-001", "target": "REQ-001"}),
            "type",
        ),
        (
            "POST",
            "/api/v1/links",
            json!({"source": "REQ-001", "target": "AC-001", "type": "likes"}),
            "type",
        ),
        (
            "POST",
            "/api/v1/links",
            json!({"source": "??", "target": "AC-001", "type": "verifies"}),
            "source",
        ),
        ("POST", "/api/v1/batch", json!({"operations": []}), "operations"),
        ("POST", "/api/v1/batch", json!({"operations": 5}), "operations"),
        (
            "POST",
            "/api/v1/batch",
            json!({"operations": [5]}),
            "operations[0]",
        ),
        (
            "POST",
            "/api/v1/batch",
            json!({"operations": [{"op": "explode"}]}),
            "operations[0].op",
        ),
        (
            "POST",
            "/api/v1/batch",
            json!({"operations": [{"op": "create", "kind": "epic", "title": 5}]}),
            "operations[0].title",
        ),
        (
            "POST",
            "/api/v1/batch",
            json!({"operations": [{"op": "create", "kind": "epic", "titel": "x"}]}),
            "operations[0].titel",
        ),
        (
            "POST",
            "/api/v1/batch",
            json!({"operations": [{"op": "create", "kind": "epic", "title": "ok"}, {"op": "delete", "id": "a\u{0}"}]}),
            "operations[1].id",
        ),
        ("POST", "/api/v1/projects", json!({"key": "Not A Key"}), "key"),
        (
            "POST",
            "/api/v1/projects",
            json!({"key": "p", "attributes": [{"name": "a", "type": "colour"}]}),
            "attributes[0].type",
        ),
        (
            "POST",
            "/api/v1/users",
            json!({"username": "a", "password": "long enough"}),
            "role",
        ),
        (
            "POST",
            "/api/v1/users",
            json!({"username": "a", "password": "long enough", "role": "User", "email": "x"}),
            "email",
        ),
        (
            "POST",
            "/api/v1/tokens",
            json!({"name": "t", "scopes": ["root"]}),
            "scopes",
        ),
        (
            "POST",
            "/api/v1/tokens",
            json!({"name": "t", "expires": "99999999999999999999d"}),
            "expires",
        ),
        (
            "POST",
            "/api/v1/tokens",
            json!({"name": "t", "project": "none"}),
            "project",
        ),
        (
            "POST",
            "/api/v1/prompts",
            json!({"name": "p", "messages": []}),
            "messages",
        ),
        (
            "POST",
            "/api/v1/prompts",
            json!({"name": "p", "messages": [{"role": "system", "text": "x"}]}),
            "messages[0].role",
        ),
        (
            "PUT",
            "/api/v1/workflows/epic",
            json!({"statuses": [], "transitions": []}),
            "statuses",
        ),
        ("PUT", "/api/v1/link-types/x", json!({}), "inverse"),
        (
            "PUT",
            "/api/v1/link-types/x",
            json!({"inverse": "y", "sources": ["planet"]}),
            "sources[0]",
        ),
    ];
    for (method, path, body, field) in cases {
        let what = format!("{method} {path} {body}");
        let reply = server
            .send(&server.token, method.parse().unwrap(), path, Some(body), &[])
            .await;
        refused(&reply, &what, field);
    }
    assert_eq!(server.chain_head().await, before, "nothing of it was written");
}

//= specs/spexus-http.md#refusals
//= type=test
//# Every text MUST be accepted up to its limit in characters and refused beyond it.
async fn every_text_fits_up_to_its_limit_and_not_beyond(server: &mut Server) {
    server.seed().await;
    for (method, path, body, field, most) in text_fields() {
        let what = format!("{method} {path} {field} of {most}");
        // Different letters, because a password has some.
        let letters = |count: usize| "жуки".chars().cycle().take(count).collect::<String>();
        let beyond = with(&body, field, letters(most + 1));
        refused(
            &server
                .send(&server.token, method.clone(), path, Some(beyond), &[])
                .await,
            &what,
            field,
        );
        let reply = server
            .send(
                &server.token,
                method,
                path,
                Some(with(&body, field, letters(most))),
                &[],
            )
            .await;
        assert!(reply.status < 300, "{what}: {} {}", reply.status, reply.body);
    }
}

async fn nasty_texts_are_only_texts(server: &mut Server) {
    server.seed().await;
    for text in NASTY {
        let path = |tail: &str| {
            let mut url = reqwest::Url::parse("http://x/api/v1/").unwrap();
            url.path_segments_mut()
                .unwrap()
                .pop_if_empty()
                .extend(tail.split('|').map(|part| if part == "?" { text } else { part }));
            url.path().to_owned()
        };
        for place in [
            "epics|?",
            "epics|?|history",
            "items|?",
            "hierarchy|?",
            "comments|?",
            "prompts|?",
            "projects|?",
            "users|?",
            "workflows|?",
            "epics|EP-001|steering-documents|?",
        ] {
            let reply = server.get(&path(place)).await;
            refused(&reply, &format!("GET {}", path(place)), "");
        }
        let query = |name: &str| {
            let url = reqwest::Url::parse_with_params("http://x/", [(name, *text)]).unwrap();
            url.query().unwrap().to_owned()
        };
        for name in [
            "project",
            "status",
            "priority",
            "type",
            "assignee",
            "creator",
            "parent",
            "under",
            "acceptance_criterion",
            "created_from",
            "updated_to",
            "deleted",
            "order_by",
            "limit",
            "cursor",
            "fields",
        ] {
            let reply = server.get(&format!("/api/v1/epics?{}", query(name))).await;
            refused(&reply, &format!("?{}", query(name)), name);
        }
    }
    for (method, path, body, field, _) in text_fields() {
        for (at, text) in NASTY.iter().enumerate() {
            let what = format!("{method} {path} {field}={text}");
            let body = match field {
                "name" => with(&body, "key", format!("key-{at}")),
                "password" => with(&body, "username", format!("user{at}")),
                _ => body.clone(),
            };
            let keyed = body.get("key").is_none() || path == "/api/v1/projects";
            let body = if keyed {
                body
            } else {
                with(&body, "key", Value::Null)
            };
            let body = with(&strip_null(body), field, *text);
            let reply = server
                .send(&server.token, method.clone(), path, Some(body), &[])
                .await;
            assert!(
                reply.status < 300 || [400, 409].contains(&reply.status),
                "{what}: {} {}",
                reply.status,
                reply.body
            );
            if reply.status < 300 && reply.body[field].is_string() {
                assert_eq!(reply.body[field], *text, "{what}");
            }
        }
    }
    assert_eq!(server.get("/api/v1/audit/verify").await.ok()["intact"], true);
}

async fn queries_that_do_not_fit_are_refused_by_name(server: &mut Server) {
    server.seed().await;
    let cases = [
        ("/api/v1/epics?limit=0", "limit"),
        ("/api/v1/epics?limit=201", "limit"),
        ("/api/v1/epics?limit=abc", "limit"),
        ("/api/v1/epics?limit=-1", "limit"),
        ("/api/v1/epics?limit=1e9", "limit"),
        ("/api/v1/epics?limit=", "limit"),
        ("/api/v1/epics?limit=99999999999999999999", "limit"),
        ("/api/v1/epics?limit=1&limit=2", "limit"),
        ("/api/v1/epics?status=Draft&status=Done", "status"),
        ("/api/v1/epics?deleted=maybe", "deleted"),
        ("/api/v1/epics?cursor=abc", "cursor"),
        ("/api/v1/epics?cursor=%00", "cursor"),
        ("/api/v1/epics?cursor=", "cursor"),
        ("/api/v1/epics?created_from=yesterday", "created_from"),
        ("/api/v1/epics?created_to=2026-13-40", "created_to"),
        ("/api/v1/epics?updated_from=99999-01-01", "updated_from"),
        ("/api/v1/epics?project=%00", "project"),
        ("/api/v1/epics?status=%00", "status"),
        ("/api/v1/epics?assignee=a%00b", "assignee"),
        ("/api/v1/epics?fields=password_hash", "fields"),
        ("/api/v1/epics?fields=%FF%FE", "fields"),
        ("/api/v1/epics?fields=", "fields"),
        ("/api/v1/epics/EP-001?fields=,", "fields"),
        ("/api/v1/epics?nothing=1", "nothing"),
        ("/api/v1/epics?%00=1", "\u{0}"),
        ("/api/v1/search?query=x&limit=0", "limit"),
        ("/api/v1/search?query=x&cursor=zzz", "cursor"),
        ("/api/v1/search?query=x&kinds=%00", "kinds"),
        ("/api/v1/search?query=x&query=y", "query"),
        ("/api/v1/epics/EP-001/history?cursor=x", "cursor"),
        ("/api/v1/epics/EP-001/comments?cursor=x", "cursor"),
        ("/api/v1/epics/EP-001/comments?only=half", "only"),
        ("/api/v1/epics/EP-001/children?only=planet", "only"),
        ("/api/v1/epics/EP-001/links?type=likes", "type"),
        ("/api/v1/hierarchy/EP-001?depth=-1", "depth"),
        ("/api/v1/hierarchy/EP-001?depth=abc", "depth"),
        ("/api/v1/changes?since=abc", "since"),
        ("/api/v1/changes?limit=201", "limit"),
        ("/api/v1/baselines/diff", "from"),
        ("/api/v1/audit/events?cursor=x", "cursor"),
        ("/api/v1/audit/events?limit=201", "limit"),
        ("/api/v1/tokens?user=a%00", "user"),
    ];
    for (path, field) in cases {
        refused(
            &server.get(path).await,
            path,
            if field == "\u{0}" { "" } else { field },
        );
    }
    assert_eq!(
        server
            .get("/api/v1/hierarchy/EP-001?depth=4294967295")
            .await
            .status,
        200,
        "deeper than any tree is the whole tree"
    );
}

async fn ids_that_are_none_are_not_found_or_refused(server: &mut Server) {
    server.seed().await;
    let long = "x".repeat(3_000);
    for id in [
        "EP-999",
        "EP-0",
        "EP--1",
        "EP-99999999999999999999",
        "EP",
        "-",
        "%00",
        "EP-001%00",
        "%FF",
        "%E2%82",
        "..",
        "%2e%2e%2f",
        "US-001",
        "web/EP-1",
        "%20",
        "0191d5e5-0000-7000-8000-000000000000",
        "٣",
        &long,
    ] {
        for tail in [
            "",
            "/history",
            "/comments",
            "/children",
            "/links",
            "/deletion-preview",
        ] {
            let path = format!("/api/v1/epics/{id}{tail}");
            refused(&server.get(&path).await, &path, "");
        }
        for path in [
            format!("/api/v1/comments/{id}"),
            format!("/api/v1/hierarchy/{id}x"),
            format!("/api/v1/prompts/{id}"),
            format!("/api/v1/users/{id}"),
            format!("/api/v1/projects/{id}"),
        ] {
            refused(&server.get(&path).await, &path, "");
        }
    }
}

async fn headers_that_do_not_fit_are_refused(server: &mut Server) {
    server.seed().await;
    for tag in [
        "1",
        "\"x\"",
        "\"\"",
        "W/1",
        "\"1",
        "\"99999999999999999999\"",
        "\"1\", \"2\"",
        "é",
    ] {
        let reply = server
            .send(
                &server.token,
                Method::PATCH,
                "/api/v1/epics/EP-001",
                Some(json!({"title": "x"})),
                &[("If-Match", tag)],
            )
            .await;
        refused(&reply, &format!("If-Match: {tag}"), "If-Match");
    }
    let long = "k".repeat(limits::MAX_IDEMPOTENCY_KEY_CHARS + 1);
    for key in ["", &long, "é"] {
        let reply = server
            .send(
                &server.token,
                Method::POST,
                "/api/v1/epics",
                Some(json!({"title": "x"})),
                &[("Idempotency-Key", key)],
            )
            .await;
        refused(&reply, &format!("Idempotency-Key: {key}"), "Idempotency-Key");
    }
    assert_eq!(server.get("/api/v1/epics").await.ok()["total_count"], 1);
}

//= specs/spexus-http.md#refusals
//= type=test
//# A refused request MUST leave no trace in the data.
async fn random_json_is_answered_and_writes_all_or_nothing(server: &mut Server) {
    server.seed().await;
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]),
    );
    let (value, words) = (any_json(), field_names());
    for _ in 0..300 {
        let (a, b) = (
            value.new_tree(&mut runner).unwrap().current(),
            value.new_tree(&mut runner).unwrap().current(),
        );
        let (one, two) = (
            words.new_tree(&mut runner).unwrap().current(),
            words.new_tree(&mut runner).unwrap().current(),
        );
        let mut fields = json!({"title": "x"});
        fields[one] = a.clone();
        fields[two] = b;
        let mut operation = fields.clone();
        operation["op"] = json!("create");
        operation["kind"] = json!("epic");
        for (method, path, body) in [
            (Method::POST, "/api/v1/epics", fields.clone()),
            (Method::PATCH, "/api/v1/requirements/REQ-001", fields),
            (
                Method::POST,
                "/api/v1/batch",
                json!({"operations": [operation, a.clone()]}),
            ),
            (Method::POST, "/api/v1/links", a),
        ] {
            let before = server.chain_head().await;
            let what = format!("{method} {path} {body}");
            let reply = server.send(&server.token, method, path, Some(body), &[]).await;
            assert!(reply.status < 500, "{what}: {}", reply.body);
            shows_nothing(&reply.body["error"], &what);
            assert!(
                reply.status < 400 || server.chain_head().await == before,
                "{what} was refused and left a trace"
            );
        }
    }
    assert_eq!(server.get("/api/v1/audit/verify").await.ok()["intact"], true);
}

fn strip_null(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    body
}

fn field_names() -> impl Strategy<Value = String> {
    let known = [
        "title",
        "description",
        "status",
        "priority",
        "type",
        "parent",
        "acceptance_criterion",
        "assignee",
        "attributes",
        "expect_rev",
        "project",
        "ref",
        "op",
        "kind",
        "id",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,40}".prop_map(Value::from),
        proptest::sample::select(NASTY.to_vec()).prop_map(Value::from),
        proptest::sample::select(vec![
            "EP-001", "US-001", "REQ-001", "AC-001", "admin", "me", "Draft", "@e"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((field_names(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_are_not_json_are_refused() {
    let server = Server::on_sqlite().await;
    let before = server.chain_head().await;
    let deep = format!(
        "{{\"title\": \"x\", \"attributes\": {}1{}}}",
        "{\"a\":".repeat(100_000),
        "}".repeat(100_000)
    );
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", vec![]),
        ("spaces", b"  \n ".to_vec()),
        ("half", b"{\"title\": \"x\"".to_vec()),
        ("two values", b"{\"title\": \"x\"} {\"title\": \"y\"}".to_vec()),
        ("a trailing comma", b"{\"title\": \"x\",}".to_vec()),
        ("single quotes", b"{'title': 'x'}".to_vec()),
        ("a bare word", b"{\"title\": undefined}".to_vec()),
        ("a raw NUL", b"{\"title\": \"a\0b\"}".to_vec()),
        ("a raw line break", b"{\"title\": \"a\nb\"}".to_vec()),
        ("invalid UTF-8", b"{\"title\": \"\xff\xfe\"}".to_vec()),
        ("a cut character", b"{\"title\": \"\xd0\"}".to_vec()),
        ("half a surrogate pair", b"{\"title\": \"\\ud800\"}".to_vec()),
        (
            "a number beyond all",
            b"{\"title\": \"x\", \"priority\": 1e999}".to_vec(),
        ),
        (
            "the same field twice",
            b"{\"title\": \"x\", \"title\": \"y\"}".to_vec(),
        ),
        (
            "one field under two names",
            b"{\"title\": \"x\", \"parent\": \"EP-1\", \"epic_id\": \"EP-2\"}".to_vec(),
        ),
        ("a nesting bomb", deep.into_bytes()),
        ("many brackets", b"[".repeat(500_000)),
        ("a byte order mark", b"\xef\xbb\xbf{\"title\": \"x\"}".to_vec()),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec()),
        ("not JSON at all", b"title=x".to_vec()),
    ];
    for (what, body) in cases {
        let reply = raw_body(&server, body, "application/json").await;
        assert_eq!(reply.status, 400, "{what}: {}", reply.body);
        refused(&reply, what, "");
    }
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
        "application/jsonp",
        "text/json",
    ] {
        raw_body(&server, r#"{"title": "x"}"#, content_type)
            .await
            .refused(415, 1024);
    }
    assert_eq!(server.chain_head().await, before);
    for content_type in [
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/merge-patch+json",
    ] {
        raw_body(&server, r#"{"title": "x"}"#, content_type)
            .await
            .created();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_are_not_http_are_refused() {
    let server = Server::on_sqlite().await;
    let token = &server.token;
    for (what, request) in [
        (
            "two lengths",
            format!(
                "POST /api/v1/epics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{{}}"
            ),
        ),
        (
            "a length that is none",
            "POST /api/v1/epics HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n".to_owned(),
        ),
        (
            "a broken chunk",
            format!(
                "POST /api/v1/epics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n"
            ),
        ),
        (
            "a path with spaces",
            "GET /api/v1/epics and more HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        ),
    ] {
        let mut stream = server.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_until(&mut stream, "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{what}: {answer}");
    }
    assert_eq!(server.get("/api/v1/epics").await.ok()["total_count"], 0);
    server.stop().await;
}
