//! The whole server on a real project: every tool with its numbers, every resource read.

use super::client::Client;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use test_support::corpora;

const FLAGS: [&str; 4] = [
    "--spec-pattern",
    "specs/**/*.toml",
    "--source-pattern",
    "quic/**/*.rs",
];

fn rows(answer: &Value, member: &str) -> usize {
    let count = answer[member].as_array().unwrap().len();
    assert_eq!(answer["total"], count, "nothing is left out unasked");
    count
}

#[test]
fn the_tools_have_the_numbers_of_the_corpus() {
    let Some(corpora) = corpora() else { return };
    let mut client = Client::with(&corpora.join("s2n-quic"), &FLAGS);
    let order = client.call("get_prioritized_requirements", json!({ "limit": 10_000 }));
    // 834 statements; the corpus states 23 sentences twice.
    assert_eq!(rows(&order, "requirements"), 811);
    let first = &order["requirements"][0];
    assert_eq!(
        (&first["level"], &first["status"]),
        (&json!("MUST"), &json!("partially_implemented"))
    );
    let begun = |row: &&Value| row["level"] == "MUST" && row["status"] == "partially_implemented";
    let all = order["requirements"].as_array().unwrap();
    let most = all
        .iter()
        .filter(begun)
        .map(|row| row["todo_count"].as_u64())
        .max()
        .unwrap();
    assert!(most > Some(0) && first["todo_count"].as_u64() == most);

    let uncited = client.call("list_uncited_requirements", json!({ "limit": 10_000 }));
    assert_eq!(rows(&uncited, "requirements"), 213);
    let found = client.call("search_requirements", json!({ "query": "stream ID reuse" }));
    let text = found["requirements"][0]["text"].as_str().unwrap();
    assert!(text.contains("reuse a stream ID"), "{found}");
    let invalid = client.call("list_invalid_citations", json!({ "limit": 10_000 }));
    assert_eq!(rows(&invalid, "citations"), 136);
    let url = "https://datatracker.ietf.org/doc/html/rfc9000";
    let id = client.call("resolve_spec_id", json!({ "url": url }));
    assert_eq!(id, json!({ "spec_id": "rfc9000" }));
    let citation = "//= https://www.rfc-editor.org/rfc/rfc9000#section-2.1\n//# A QUIC endpoint MUST NOT reuse a stream ID within a connection.";
    let valid = client.call("validate_citation", json!({ "citation": citation }));
    assert_eq!(
        (&valid["valid"], &valid["grade"]),
        (&json!(true), &json!("exact"))
    );
    let path = &valid["requirements"][0];
    let status = client.call(
        "get_requirement_status",
        json!({ "req_identifier": path, "detail": "full" }),
    );
    assert_eq!(status["full_path"], *path);
    let place = client.read("/citations")[0]["id"].clone();
    let arguments = json!({ "citation_id": place, "context_lines": 2 });
    let context = client.call("get_citation_context", arguments);
    assert!(context["context"].as_array().unwrap().len() >= 5, "{context}");
}

#[test]
fn every_resource_of_the_corpus_is_reached_and_read() {
    let Some(corpora) = corpora() else { return };
    let mut client = Client::with(&corpora.join("s2n-quic"), &FLAGS);
    let specifications = client.list("/specifications");
    assert_eq!(specifications.len(), 43);
    assert_eq!(client.list("/requirements").len(), 811);
    for specification in specifications.iter().map(|s| s["id"].as_str().unwrap()) {
        let path = format!("/specifications/{specification}");
        assert_eq!(client.read(&path)["id"], specification);
        let sections = client.read(&format!("{path}/sections"));
        // Every section of one, the first of all.
        let count = if specification == "rfc8312" { usize::MAX } else { 1 };
        for section in sections.as_array().unwrap().iter().take(count) {
            let path = format!("{path}/sections/{}", section["id"].as_str().unwrap());
            assert_eq!(client.read(&path)["title"], section["title"], "{path}");
            assert!(client.read(&format!("{path}/requirements")).is_array());
        }
    }
    // The corpus states 23 sentences twice; both are one row.
    let requirements = client.read("/requirements");
    let paths: BTreeSet<&str> = requirements
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["full_path"].as_str().unwrap())
        .collect();
    assert_eq!(paths.len(), 811);
    for path in paths.into_iter().step_by(40) {
        let told = client.read(path);
        assert_eq!(told["full_path"], path);
        let (list, id) = path.rsplit_once('/').unwrap();
        let listed = client.read(list);
        assert!(
            listed
                .as_array()
                .unwrap()
                .iter()
                .any(|row| row["identifier"] == id)
        );
        let citations = client.read(&format!("{path}/citations"));
        assert_eq!(
            citations.as_array().unwrap().len(),
            told["citations"].as_array().unwrap().len()
        );
    }
    for citation in client.read("/citations").as_array().unwrap().iter().step_by(100) {
        let read = client.read(citation["full_path"].as_str().unwrap());
        let place = format!("{}:{}", read["file_path"].as_str().unwrap(), read["line_number"]);
        assert_eq!(citation["id"], place.as_str());
    }
}
