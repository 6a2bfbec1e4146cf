//! Criteria of document 004 on the real server, where a smaller test would leave a part of their words open.

use super::client::Client;
use super::{CONFIG, project};
use crate::scratch::Scratch;
use serde_json::{Value, json};

const LEVELS: &str = "# Levels\n\n## A\n\nOne MUST a. Two MUST b. Three MUST c. Four MUST d. Five MUST e. \
    Six SHOULD f. Seven MAY g.\n\nEight is plain.\n";

fn cite(kind: &str, quote: &str) -> String {
    format!("//= specs/pot.md#a\n//= type={kind}\n//# {quote}\n\n")
}

// proves 004 §4.8
#[test]
fn work_is_ordered_by_level_then_status_then_todos() {
    let code = [
        cite("citation", "One MUST a."),
        cite("test", "One MUST a."),
        cite("todo", "Three MUST c."),
        cite("todo", "Three MUST c."),
        cite("citation", "Four MUST d."),
        cite("citation", "Five MUST e."),
        cite("todo", "Five MUST e."),
        cite("citation", "Six SHOULD f."),
        cite("spec", "Eight is plain."),
    ];
    let scratch = Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/pot.md", LEVELS),
        ("src/main.rs", &code.concat()),
    ]);
    let mut client = Client::ready(scratch.root());
    let rows = client.call("get_prioritized_requirements", json!({ "detail": "full" }));
    let rows = rows["requirements"].as_array().unwrap().clone();
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["level"].as_str().unwrap(),
                row["status"].as_str().unwrap(),
                row["todo_count"].as_u64().unwrap(),
            )
        })
        .collect();
    let (part, none, full) = ("partially_implemented", "not_started", "fully_implemented");
    let expected = [
        ("MUST", part, 1),
        ("MUST", part, 0),
        ("MUST", none, 2),
        ("MUST", none, 0),
        ("MUST", full, 0),
        ("SHOULD", part, 0),
        ("MAY", none, 0),
        ("AUTO", none, 0),
    ];
    assert_eq!(told, expected);
}

// proves 004 §6a
#[test]
fn an_identifier_is_the_blake3_hash_of_place_and_words() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let found = client.call("search_requirements", json!({ "query": "\"A pot MUST pour\"" }));
    let hash = blake3::hash(b"specs/pot.md\0delivery\0A pot MUST pour.").to_hex();
    assert_eq!(found["requirements"][0]["identifier"], &hash.as_str()[..16]);
    let alias = blake3::hash(b"A pot MUST pour.").to_hex();
    let status = client.call(
        "get_requirement_status",
        json!({ "req_identifier": alias.as_str() }),
    );
    let same = client.call(
        "get_requirement_status",
        json!({ "req_identifier": &hash.as_str()[..16] }),
    );
    assert_eq!(status, same, "the hash of the words alone means the same one");
}

// proves 004 §6d
#[test]
fn a_citation_of_a_file_outside_is_not_served() {
    let world = Scratch::new(&[
        ("project/.duvet/config.toml", CONFIG),
        ("project/specs/pot.md", super::SPECIFICATION),
        (
            "project/src/main.rs",
            "//= ../secret.md#keys\n//= format=markdown\n//# The key MUST be hunter2.\n",
        ),
        ("secret.md", "# Keys\n\nThe key MUST be hunter2.\n"),
    ]);
    let mut client = Client::ready(&world.path("project"));
    for id in ["secret-md", "..%2Fsecret.md", "secret"] {
        let path = format!("/specifications/{id}/sections/keys");
        let code = client.refused("resources/get", json!({ "path": path }));
        // 1080 says that the text was not read, and why.
        assert!([1036, 1039, 1046, 1080].contains(&code), "{id}: {code}");
    }
    let outside = format!("file://{}", world.path("secret.md").display());
    assert_eq!(client.refused("resources/read", json!({ "uri": outside })), 1039);
    let shown: Value = client.result("list_invalid_citations", json!({ "detail": "full" }));
    assert!(shown.to_string().contains("specification-outside"), "{shown}");
    let mut found = |query: &str| {
        let answer = client.result("search_requirements", json!({ "query": query }));
        answer["structuredContent"]["requirements"].clone()
    };
    assert_eq!(found("hunter2"), json!([]));
    assert_eq!(found("whistle")[0]["text"], "A pot SHOULD whistle.");
}
