//! Files of the project, and the folders a client works in.

use super::client::Client;
use super::{Scratch, project};
use serde_json::{Value, json};

fn uri(scratch: &Scratch, path: &str) -> String {
    format!(
        "file://{}/{path}",
        scratch.root().canonicalize().unwrap().display()
    )
}

// proves 002 Req-Root-001
// proves 002 Req-Root-005
//= specs/duvet.md#mcp-server
//= type=test
//# The project's folder MUST be the one root of the server, and files inside it MUST be readable as `file://` resources.
#[test]
fn the_project_is_the_one_root_and_its_files_can_be_read() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let roots = client.request("roots/list", json!({}));
    let root = &roots["roots"][0];
    assert_eq!(
        (
            root["managed"].as_bool(),
            roots["roots"].as_array().unwrap().len()
        ),
        (Some(true), 1)
    );
    let project = uri(&scratch, "");
    assert_eq!(root["uri"].as_str(), project.strip_suffix('/'));
    let file = json!({ "uri": uri(&scratch, "specs/pot.md") });
    let contents = client.request("resources/read", file);
    assert_eq!(contents["contents"][0]["text"], super::SPECIFICATION);
    let listed = client.request("resources/list", json!({ "path": uri(&scratch, "src") }));
    assert_eq!(listed["resources"][0]["name"], "src/main.rs");
    for (code, path) in [
        (1036, "../x"),
        (1046, "specs/none.md"),
        (1014, ".duvet/config.toml"),
    ] {
        assert_eq!(
            client.refused("resources/read", json!({ "uri": uri(&scratch, path) })),
            code,
            "{path}"
        );
    }
    assert_eq!(
        client.refused("resources/read", json!({ "uri": "file:///etc/passwd" })),
        1039
    );
    for method in ["roots/add", "roots/remove"] {
        assert_eq!(client.refused(method, json!({ "uri": "file:///tmp" })), 1014);
    }
}

#[cfg(unix)]
#[test]
fn a_source_that_is_a_link_out_of_the_project_is_not_shown() {
    let elsewhere = Scratch::new(&[("out.rs", super::CODE)]);
    let scratch = project();
    std::os::unix::fs::symlink(elsewhere.path("out.rs"), scratch.path("src/link.rs")).unwrap();
    // Not even a pattern that names it: what lies outside the project is no source of it.
    let config = format!("{}[[source]]\npattern = \"src/link.rs\"\n", super::CONFIG);
    scratch.write(".duvet/config.toml", config);
    let mut client = Client::ready(scratch.root());
    let citation = json!({ "citation_id": "src/link.rs:2" });
    assert_eq!(client.failed("get_citation_context", citation), 1039);
    assert_eq!(
        client.refused("resources/get", json!({ "path": "/citations/src/link.rs:2" })),
        1039
    );
    let invalid = client.call("list_invalid_citations", json!({}));
    let of_link = |row: &&Value| row["file_path"] == "src/link.rs";
    let rows = invalid
        .as_object()
        .unwrap()
        .values()
        .find_map(Value::as_array)
        .unwrap();
    assert!(
        rows.iter().filter(of_link).all(|row| row["comment_text"] == ""),
        "{invalid}"
    );
}

//= specs/duvet.md#mcp-server
//= type=test
//# Lines of a file outside the roots the client declares MUST be refused with 1039.
#[test]
fn lines_are_shown_only_from_folders_the_client_works_in() {
    let scratch = project();
    let mut client = Client::silent(scratch.root(), &[]);
    client.initialize_with("2025-11-25", json!({ "roots": {} }));
    let tool = json!({ "name": "get_citation_context", "arguments": { "citation_id": "src/main.rs:2" } });
    let id = client.start("tools/call", tool);
    let question = client.notice(|line| line["method"] == "roots/list");
    let roots = json!({ "roots": [{ "uri": uri(&scratch, "specs") }] });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": roots }));
    let answer = client.answer(id);
    assert_eq!(
        answer["result"]["structuredContent"]["error"]["refusal"]["code"], 1039,
        "{answer}"
    );
    assert_eq!(
        client.refused("resources/get", json!({ "path": "/citations/src/main.rs:2" })),
        1039
    );
    assert_eq!(
        client.refused("resources/read", json!({ "uri": uri(&scratch, "src/main.rs") })),
        1039
    );
    let inside = json!({ "uri": uri(&scratch, "specs/pot.md") });
    assert_eq!(
        client.request("resources/read", inside)["contents"][0]["text"],
        super::SPECIFICATION
    );
}
