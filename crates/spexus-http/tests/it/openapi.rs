//! The description of the surface: stable, complete, true, and readable by people.

use crate::harness::Server;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn document() -> Value {
    spexus_http::openapi()
}

/// Every operation of the document: method, path, and what is said of it.
fn operations(document: &Value) -> Vec<(Method, String, Value)> {
    let mut all = vec![];
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            all.push((
                method.to_uppercase().parse().unwrap(),
                path.clone(),
                operation.clone(),
            ));
        }
    }
    all
}

/// One line for each operation, then the document itself.
#[test]
fn the_document_changes_only_on_purpose() {
    let document = document();
    let lines: Vec<String> = operations(&document)
        .into_iter()
        .map(|(method, path, operation)| {
            format!(
                "{method} {path}: {}",
                operation["summary"].as_str().unwrap_or_default()
            )
        })
        .collect();
    insta::assert_snapshot!("operations", lines.join("\n"));
    insta::assert_snapshot!("document", serde_json::to_string_pretty(&document).unwrap());
}

//= specs/spexus-http.md#description
//= type=test
//# The document MUST be valid OpenAPI 3.1, with a description of every answer, the headers that are read and written, and the
//# operations of a batch by their types.
#[test]
fn the_document_describes_answers_headers_limits_and_batches() {
    let document = document();
    assert_eq!(
        document["openapi"].as_str().map(|version| &version[..3]),
        Some("3.1")
    );
    assert!(document["servers"][0]["url"].is_string());
    for (method, path, operation) in operations(&document) {
        let what = format!("{method} {path}");
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let described = answer["description"].as_str().is_some_and(|text| text.len() > 5);
            assert!(described, "{what} says nothing of {status}");
        }
        assert_eq!(
            operation["responses"]["5XX"].is_object(),
            path.starts_with("/api/"),
            "{what}"
        );
        assert!(operation.get("parameters").is_none_or(Value::is_array), "{what}");
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        for parameter in parameters.filter(|parameter| parameter["name"] == "limit") {
            assert_eq!(
                (&parameter["schema"]["minimum"], &parameter["schema"]["maximum"]),
                (&json!(1), &json!(200)),
                "{what}"
            );
        }
    }
    let read = &document["paths"]["/api/v1/epics/{id}"]["get"];
    assert!(read["parameters"].to_string().contains("If-None-Match"));
    assert!(read["responses"]["200"]["headers"]["ETag"].is_object());
    let made = &document["paths"]["/api/v1/epics"]["post"]["responses"]["201"];
    assert!(made["headers"]["Location"].is_object());
    let schemas = &document["components"]["schemas"];
    let batch = &schemas["BatchOperation"];
    assert_eq!(batch["oneOf"].as_array().map(Vec::len), Some(8));
    assert_eq!(batch["discriminator"]["propertyName"], "op");
    assert_eq!(
        schemas["BatchCreate"]["properties"]["title"],
        schemas["NewItem"]["properties"]["title"]
    );
    assert_eq!(schemas["BatchInput"]["properties"]["operations"]["maxItems"], 500);
}

#[test]
fn every_operation_is_told_in_words_and_named_once() {
    let document = document();
    let mut names = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let what = format!("{method} {path}");
        assert!(
            operation["summary"].as_str().is_some_and(|text| text.len() > 5),
            "{what} says nothing"
        );
        assert!(
            names.insert(operation["operationId"].to_string()),
            "{what} shares its name"
        );
        assert_eq!(
            operation["tags"].as_array().map(Vec::len),
            Some(1),
            "{what} belongs to one group"
        );
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(
                parameter["description"].is_string(),
                "{what}: {} says nothing",
                parameter["name"]
            );
        }
        let open = operation["security"] == json!([{}]);
        assert_eq!(
            open,
            ["/health/live", "/health/ready", "/metrics", "/api/v1/auth/login"].contains(&path.as_str()),
            "{what}"
        );
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    let document = document();
    let mut waiting = vec![&document];
    while let Some(value) = waiting.pop() {
        if let Some(reference) = value["$ref"].as_str() {
            assert!(
                document.pointer(reference.trim_start_matches('#')).is_some(),
                "{reference} leads nowhere"
            );
        }
        waiting.extend(value.as_object().into_iter().flat_map(|fields| fields.values()));
        waiting.extend(value.as_array().into_iter().flatten());
    }
}

//= specs/spexus-http.md#description
//= type=test
//# Every operation of the OpenAPI document MUST be answered by the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_of_the_document_is_answered() {
    let server = Server::on_sqlite().await;
    let served = server.send("", Method::GET, "/openapi.json", None, &[]).await;
    assert_eq!(served.headers["content-type"], "application/json");
    assert_eq!(served.ok(), document());
    let made = server
        .post("/api/v1/tokens", json!({"name": "all", "scopes": ["admin"]}))
        .await
        .created();
    let token = made["token"].as_str().unwrap();
    for (method, path, _) in operations(&document()) {
        // An id that cannot be: told apart from a route that is not there by the words.
        let path = path.replace(['{', '}'], "");
        let response = server
            .client
            .request(method.clone(), format!("{}{path}", server.url))
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        let status = response.status();
        if path.ends_with("/stream") {
            assert_eq!(status, 200);
            continue;
        }
        let text = response.text().await.unwrap();
        assert!(
            status != 405 && !text.contains("there is nothing at") && status.as_u16() < 500,
            "{method} {path}: {status} {text}"
        );
    }
    server.get("/api/v1/nothing").await.refused(404, 1046);
    let reply = server.put("/api/v1/epics", json!({})).await;
    assert!(reply.headers.contains_key("allow"));
    reply.refused(405, 1071);
    server.stop().await;
}

//= specs/spexus-http.md#refusals
//= type=test
//# An unknown field of a body and an unknown parameter of a query MUST be refused, not ignored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_operation_ignores_a_parameter_it_does_not_know() {
    let server = Server::on_sqlite().await;
    let made = server
        .post("/api/v1/tokens", json!({"name": "all", "scopes": ["admin"]}))
        .await
        .created();
    let token = made["token"].as_str().unwrap();
    for (method, path, operation) in operations(&document()) {
        let has_body = operation["requestBody"].is_object();
        let path = path.replace(['{', '}'], "");
        let reply = server
            .send(
                token,
                method.clone(),
                &format!("{path}?nonsense=1"),
                has_body.then(|| json!({})),
                &[],
            )
            .await;
        assert_eq!(reply.status, 400, "{method} {path}: {:?}", reply.body);
        let fault = &reply.body["error"]["fields"][0];
        assert_eq!(fault["field"], "nonsense", "{method} {path}: {:?}", reply.body);
    }
    let named = json!({"name": "v1", "project": "default"});
    let reply = server.post("/api/v1/baselines?project=web", named).await;
    reply.refused(400, 1021);
    assert_eq!(server.get("/api/v1/baselines").await.ok()["data"], json!([]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_every_operation() {
    let server = Server::on_sqlite().await;
    let reply = server.send("", Method::GET, "/docs", None, &[]).await;
    assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8");
    let page = reply.body.as_str().unwrap().to_owned();
    for (method, path, operation) in operations(&document()) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(
            page.contains(&format!("id=\"{id}\"")) && page.contains(&path),
            "{method} {path} is not on the page"
        );
    }
    server.stop().await;
}

//= specs/spexus-http.md#description
//= type=test
//# The document MUST accept every operation of a batch that the server accepts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_accepts_the_operations_of_a_batch_the_server_accepts() {
    let server = Server::on_sqlite().await;
    server.seed().await;
    let document = document();
    let schemas = &document["components"]["schemas"];
    let batch = json!([
        {"op": "create", "ref": "e", "kind": "epic", "title": "New", "project": "default"},
        {"op": "update", "id": "@e", "priority": 1, "expect_rev": 1, "project": "default"},
        {"op": "move", "id": "REQ-001", "parent": "US-001", "project": "default"},
        {"op": "link", "ref": "l", "source": "@e", "target": "EP-001", "type": "relates_to", "project": "default"},
        {"op": "comment", "item": "@e", "content": "By item", "project": "default"},
        {"op": "comment", "id": "@e", "content": "By id", "project": null},
        {"op": "delete", "id": "@e", "force": true, "project": "default"},
        {"op": "restore", "id": "@e", "project": "default"},
    ]);
    let mut seen = BTreeSet::new();
    for operation in batch.as_array().unwrap() {
        let op = operation["op"].as_str().unwrap();
        seen.insert(op);
        let schema = &schemas[format!("Batch{}{}", op[..1].to_uppercase(), &op[1..])];
        for (name, value) in operation.as_object().unwrap() {
            let known = &schema["properties"][name];
            assert!(known.is_object(), "{op} has no {name}");
            assert!(
                !value.is_null() || known["type"].to_string().contains("null"),
                "{op} {name}"
            );
        }
        for name in schema["required"].as_array().unwrap() {
            assert!(
                operation.get(name.as_str().unwrap()).is_some(),
                "{op} needs {name}"
            );
        }
    }
    let of_project = |op: &str| schemas[op]["properties"]["project"].is_object();
    assert!(!of_project("BatchUnlink"), "a link is found by its own id");
    assert_eq!(seen.len(), 7, "all but unlink");
    server
        .post("/api/v1/batch", json!({ "operations": batch }))
        .await
        .ok();
    server.stop().await;
}

//= specs/spexus-http.md#refusals
//= type=test
//# `Idempotency-Key` and `If-Match` MUST be refused by an operation that does not read them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_that_promise_something_are_read_or_refused() {
    let server = Server::on_sqlite().await;
    let document = document();
    let mut reading = [0, 0];
    for (method, path, operation) in operations(&document) {
        let address = path.replace(['{', '}'], "");
        for (at, (header, value)) in [("Idempotency-Key", "k"), ("If-Match", "\"1\"")]
            .into_iter()
            .enumerate()
        {
            let mut parameters = operation["parameters"].as_array().into_iter().flatten();
            if parameters.any(|one| one["name"] == header && one["in"] == "header") {
                reading[at] += 1;
                continue;
            }
            let reply = server
                .send(&server.token, method.clone(), &address, None, &[(header, value)])
                .await;
            let error = reply.refused(400, 1025);
            assert_eq!(error["fields"][0]["field"], header, "{method} {path}");
        }
    }
    assert!(reading[0] >= 3 && reading[1] >= 9, "{reading:?}");
    // What reads them still does.
    let epic = json!({"title": "Once"});
    let once = [("Idempotency-Key", "once")];
    let make = async || {
        let made = server.send(
            &server.token,
            Method::POST,
            "/api/v1/epics",
            Some(epic.clone()),
            &once,
        );
        made.await.created()["id"].clone()
    };
    assert_eq!(make().await, make().await);
    server.stop().await;
}
