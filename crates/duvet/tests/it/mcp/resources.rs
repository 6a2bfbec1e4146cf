//! The tree of resources, by path and by URI.

use super::client::Client;
use super::project;
use serde_json::{Value, json};

fn names<'a>(entries: &'a [Value], member: &str) -> Vec<&'a str> {
    entries
        .iter()
        .map(|e| e[member].as_str().unwrap_or_default())
        .collect()
}

// proves 004 §3.1a
// proves 004 §3.1b
// proves 004 §3.2a
// proves 004 §3.2b
//= specs/duvet.md#mcp-server
//= type=test
//# Every list and every object of the tree MUST be readable by its path and by its URI.
#[test]
fn specifications_and_sections_are_listed_and_read() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let entry = json!({ "id": "specs-pot-md", "name": "Coffee", "url": "specs/pot.md", "description": "How pots behave." });
    let listed = client.list("/specifications");
    assert_eq!(listed.len(), 1);
    for (name, value) in entry.as_object().unwrap() {
        assert_eq!(&listed[0][name], value, "{listed:?}");
    }
    assert_eq!(listed[0]["uri"], "duvet:///specifications/specs-pot-md");
    assert_eq!(client.read("/specifications"), json!([entry]));
    assert_eq!(client.read("/specifications/specs-pot-md"), entry);
    let by_uri = client.request(
        "resources/read",
        json!({ "uri": "duvet:///specifications/specs-pot-md" }),
    );
    assert_eq!(by_uri["contents"][0]["text"], entry.to_string());

    let sections = "/specifications/specs-pot-md/sections";
    let expect = json!([
        { "id": "coffee", "title": "Coffee" },
        { "id": "brewing", "title": "Brewing" },
        { "id": "delivery", "title": "Delivery" },
    ]);
    assert_eq!(client.read(sections), expect);
    let listed = client.list(sections);
    assert_eq!(names(&listed, "id"), ["coffee", "brewing", "delivery"]);
    assert_eq!(names(&listed, "title"), ["Coffee", "Brewing", "Delivery"]);
    assert_eq!(
        client.read(&format!("{sections}/brewing")),
        json!({ "id": "brewing", "title": "Brewing", "content": "A pot MUST brew. A pot SHOULD whistle." })
    );
}

// proves 004 §3.3a
// proves 004 §3.3b
// proves 004 §3.5a
#[test]
fn requirements_are_listed_and_read() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let brewing = "/specifications/specs-pot-md/sections/brewing/requirements";
    let listed = client.list(brewing);
    assert_eq!(
        names(&listed, "text"),
        ["A pot MUST brew.", "A pot SHOULD whistle."]
    );
    let id = listed[0]["identifier"].as_str().unwrap().to_owned();
    assert_eq!((id.len(), &listed[0]["name"]), (16, &json!(id)));
    let read = client.read(brewing);
    assert_eq!(
        (&read[0]["identifier"], &read[1]["text"]),
        (&json!(id), &json!("A pot SHOULD whistle."))
    );
    let one = client.read(&format!("{brewing}/{id}"));
    assert_eq!(
        (&one["identifier"], &one["text"], &one["status"]),
        (&json!(id), &json!("A pot MUST brew."), &json!("needs tests"))
    );
    assert_eq!(
        client.read(&format!("/requirements/{id}")),
        one,
        "the id alone is enough"
    );
    let elsewhere = format!("/specifications/specs-pot-md/sections/delivery/requirements/{id}");
    assert_eq!(
        client.refused("resources/get", json!({ "path": elsewhere })),
        1046
    );

    let all = client.read("/requirements");
    assert_eq!(all.as_array().unwrap().len(), 3);
    assert_eq!(
        all[0],
        json!({ "full_path": format!("{brewing}/{id}"), "identifier": id, "text": "A pot MUST brew." })
    );
    let listed = client.list("/requirements");
    assert_eq!((listed.len(), &listed[0]["full_path"]), (3, &all[0]["full_path"]));
}

// proves 004 §3.4a
// proves 004 §3.4b
// proves 004 §3.5b
#[test]
fn citations_are_listed_and_read() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let requirement = client.read("/requirements")[0]["full_path"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("{requirement}/citations");
    let full_path = format!("{path}/src/main.rs:2");
    assert_eq!(
        client.read(&path),
        json!([{ "id": "src/main.rs:2", "full_path": full_path }])
    );
    assert_eq!(names(&client.list(&path), "id"), ["src/main.rs:2"]);
    let one = client.read(&full_path);
    let expect = json!({
        "file_path": "src/main.rs",
        "line_number": 2,
        "comment_text": "//= specs/pot.md#brewing\n//# A pot MUST brew.",
        "context_lines": [
            "fn brew() {",
            "    //= specs/pot.md#brewing",
            "    //# A pot MUST brew.",
            "    println!(\"brewing\");",
            "}",
            "//= specs/pot.md#delivery",
        ],
    });
    assert_eq!(one, expect);
    let all = client.list("/citations");
    assert_eq!(
        names(&all, "id"),
        ["src/main.rs:2", "src/main.rs:6", "src/main.rs:9"]
    );
    assert_eq!(all[0]["full_path"], full_path.as_str());
    for citation in client.read("/citations").as_array().unwrap() {
        let read = client.read(citation["full_path"].as_str().unwrap());
        assert_eq!(
            format!("{}:{}", read["file_path"].as_str().unwrap(), read["line_number"]),
            citation["id"]
        );
    }
}

#[test]
fn the_first_list_is_a_table_of_contents_and_every_entry_can_be_read() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let top = client.request("resources/list", json!({}));
    let uris = names(top["resources"].as_array().unwrap(), "uri")
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>();
    assert_eq!(
        uris,
        [
            "duvet:///specifications",
            "duvet:///requirements",
            "duvet:///citations",
            "duvet:///specifications/specs-pot-md"
        ]
    );
    for uri in uris {
        let read = client.request("resources/read", json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["mimeType"], "application/json");
    }
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 13);
    let inner = client.list("/specifications/specs-pot-md");
    assert_eq!(
        names(&inner, "uri"),
        ["duvet:///specifications/specs-pot-md/sections"]
    );
}

#[test]
fn lists_are_read_in_pages() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let mut read = |uri: &str| client.request("resources/read", json!({ "uri": uri }))["contents"][0].take();
    let whole: Value = serde_json::from_str(read("duvet:///requirements")["text"].as_str().unwrap()).unwrap();
    let first = read("duvet:///requirements?limit=2");
    assert_eq!(first["_meta"]["duvet/total"], 3);
    let next = first["_meta"]["duvet/next"].as_str().unwrap().to_owned();
    let (first, second) = (
        first["text"].as_str().unwrap().to_owned(),
        read(&next)["text"].take(),
    );
    let mut both: Vec<Value> = serde_json::from_str(&first).unwrap();
    both.extend(serde_json::from_str::<Vec<Value>>(second.as_str().unwrap()).unwrap());
    assert_eq!(Value::Array(both), whole);
    assert_eq!(
        client.refused(
            "resources/read",
            json!({ "uri": "duvet:///requirements?limit=many" })
        ),
        1021
    );
}

//= specs/duvet.md#mcp-server
//= type=test
//# A path that climbs MUST be refused with 1036, and a file that is not a source of the project with 1039.
#[test]
fn nothing_outside_the_project_is_read() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    for (code, path) in [
        (1036, "/citations/../secret.txt:1"),
        (1036, "/citations/src/%2e%2e/secret.txt:1"),
        (1036, "/specifications/../../etc/passwd"),
        (1036, "/citations/src\\main.rs:2"),
        (1039, "/citations/secret.txt:1"),
        (1039, "/citations//etc/passwd:1"),
        (1039, "file:///etc/passwd"),
        (1046, "/citations/src/main.rs:3"),
        (1046, "/specifications/nothing"),
        (1046, "/elsewhere"),
    ] {
        assert_eq!(
            client.refused("resources/get", json!({ "path": path })),
            code,
            "{path}"
        );
        assert_eq!(
            client.refused("resources/list", json!({ "path": path })),
            code,
            "{path}"
        );
    }
    for (code, id) in [
        (1036, "../secret.txt:1"),
        (1039, "secret.txt:1"),
        (1039, "/etc/passwd:1"),
        (1046, "src/main.rs:1"),
    ] {
        assert_eq!(
            client.failed("get_citation_context", json!({ "citation_id": id })),
            code,
            "{id}"
        );
    }
}

//= specs/duvet.md#mcp-server
//= type=test
//# Ids of specifications, sections and requirements MUST be completed from their beginning.
#[test]
fn ids_are_completed() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let id = client.requirement("whistle");
    let template = "duvet:///specifications/{spec_id}/sections/{section_id}/requirements/{req_identifier}";
    let mut complete = |argument: &str, value: &str, filled: Value| {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": template },
            "argument": { "name": argument, "value": value },
            "context": { "arguments": filled },
        });
        client.request("completion/complete", params)["completion"]["values"].take()
    };
    assert_eq!(complete("spec_id", "spe", json!({})), json!(["specs-pot-md"]));
    assert_eq!(
        complete("spec_id", "coff", json!({})),
        json!(["specs-pot-md"]),
        "by name too"
    );
    let filled = json!({ "spec_id": "specs-pot-md" });
    assert_eq!(complete("section_id", "b", filled.clone()), json!(["brewing"]));
    assert_eq!(complete("section_id", "x", filled), json!([]));
    assert_eq!(complete("req_identifier", &id[..6], json!({})), json!([id]));
    let filled = json!({ "spec_id": "specs-pot-md", "section_id": "brewing" });
    assert_eq!(complete("req_identifier", "whist", filled), json!([id]));
    assert_eq!(
        complete("citation_id", "src/main.rs:9", json!({})),
        json!(["src/main.rs:9"])
    );
    let prompt = json!({
        "ref": { "type": "ref/prompt", "name": "implement_requirement" },
        "argument": { "name": "req_identifier", "value": &id[..5] },
    });
    assert_eq!(
        client.request("completion/complete", prompt)["completion"]["values"],
        json!([id])
    );
}

//= specs/duvet.md#mcp-server
//= type=test
//# A path MUST be accepted wherever an address is.
#[test]
fn a_path_is_read_where_an_address_is_asked_for() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    for path in ["/specifications", "/specifications/specs-pot-md/sections/brewing"] {
        let by_path = client.request("resources/read", json!({ "uri": path }));
        let by_address = client.request("resources/read", json!({ "uri": format!("duvet://{path}") }));
        assert_eq!(by_path["contents"], by_address["contents"], "{path}");
    }
    client.request("resources/subscribe", json!({ "uri": "/requirements" }));
}
