//! The tools on a small project.

use super::client::Client;
use super::project;
use crate::scratch::Scratch;
use serde_json::{Value, json};

fn text(result: &Value) -> Value {
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

//= specs/duvet.md#mcp-server
//= type=test
//# A tool MUST NOT change anything, and its annotations MUST say so.
#[test]
fn there_are_ten_tools_and_all_only_read() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let listed = client.request("tools/list", json!({}));
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "get_citation_context",
            "get_prioritized_requirements",
            "get_requirement_status",
            "get_section",
            "list_invalid_citations",
            "list_uncited_requirements",
            "propose_fixes",
            "resolve_spec_id",
            "search_requirements",
            "validate_citation",
        ]
    );
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        assert!(
            tool["outputSchema"].is_object() && tool["description"].as_str().unwrap().len() > 20,
            "{tool}"
        );
        assert_eq!(
            client.failed(
                tool["name"].as_str().unwrap(),
                json!({ "query": "x", "url": "x", "colour": "red" })
            ),
            1021,
            "an argument nobody knows is refused"
        );
    }
    let before: Vec<_> = files(scratch.root());
    for name in [
        "list_uncited_requirements",
        "list_invalid_citations",
        "get_prioritized_requirements",
    ] {
        client.call(name, json!({}));
    }
    assert_eq!(files(scratch.root()), before);
}

/// What lies in a folder, cookies of the server's watch aside: they are gone at once.
fn files(root: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        }
        found.push(entry.path());
    }
    found.retain(|path| !path.to_string_lossy().contains("/.cookie-"));
    found.sort();
    found
}

// proves 004 §4.1
// proves 004 §6b
#[test]
fn citations_are_validated_in_any_style() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    for citation in [
        "//= specs/pot.md#brewing",
        "specs/pot.md#brewing",
        "/// //= specs/pot.md#brewing",
        "##= specs/pot.md#brewing\n##% A pot MUST brew.",
        "    //= specs/pot.md#brewing\n    //= type=test\n    //# A pot MUST brew.",
    ] {
        let answer = client.call("validate_citation", json!({ "citation": citation }));
        assert_eq!(answer["valid"], true, "{citation}: {answer}");
    }
    let mut invalid = |citation: &str| {
        let answer = client.call("validate_citation", json!({ "citation": citation }));
        assert_eq!(answer["valid"], false, "{citation}: {answer}");
        assert!(answer["error"].is_string(), "{answer}");
        answer
    };
    let section = invalid("//= specs/pot.md#brewin");
    assert!(
        section["error"].as_str().unwrap().contains("no section"),
        "{section}"
    );
    invalid("//= https://www.rfc-editor.org/rfc/rfc2324#section-2.1.1");
    let drifted = invalid("//= specs/pot.md#brewing\n//# A pot MUST NOT brew.");
    assert_eq!(drifted["grade"], "drifted");
    assert_eq!(drifted["suggestion"], "A pot MUST brew.");
    let moved = invalid("//= specs/pot.md#delivery\n//# A pot MUST brew.");
    assert_eq!(moved["grade"], "moved");
    let unknown = invalid("//= specs/pot.md#brewing\n//# Water is wet and the sea is deep.");
    assert_eq!(unknown["grade"], "missing");
}

// proves 004 §4.2
// proves 004 §4.4
#[test]
fn requirements_are_searched_and_those_without_citations_listed() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let result = client.result("search_requirements", json!({ "query": "pot must" }));
    let rows = text(&result);
    assert_eq!(
        rows.as_array().unwrap().len(),
        2,
        "the text is the bare array: {rows}"
    );
    let members: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    assert_eq!(members, ["full_path", "identifier", "text"]);
    assert_eq!(result["structuredContent"]["requirements"], rows);
    let uncited = client.result("list_uncited_requirements", json!({}));
    let rows = text(&uncited);
    assert_eq!(
        (rows.as_array().unwrap().len(), &rows[0]["text"]),
        (1, &json!("A pot SHOULD whistle."))
    );

    let mut search = |more: Value| {
        let mut arguments = json!({ "query": "pot" });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        client.call("search_requirements", arguments)
    };
    assert_eq!(search(json!({}))["total"], 3);
    assert_eq!(search(json!({ "level": "SHOULD" }))["total"], 1);
    assert_eq!(search(json!({ "status": "not_started" }))["total"], 2);
    assert_eq!(
        search(json!({ "spec_id": "specs/pot.md", "section_id": "delivery" }))["total"],
        1
    );
    let full = search(json!({ "detail": "full", "limit": 1 }));
    assert_eq!(
        (&full["requirements"][0]["level"], &full["next_cursor"]),
        (&json!("MUST"), &json!("1"))
    );
    assert_eq!(
        search(json!({ "cursor": "1" }))["requirements"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    for wrong in [
        json!({ "query": "pot", "spec_id": "tea" }),
        json!({ "query": "pot", "spec_id": "specs-pot-md", "section_id": "brewin" }),
        json!({ "query": "pot", "section_id": "brewing" }),
        json!({ "query": "pot", "limit": 0 }),
        json!({ "query": "pot", "cursor": "next" }),
    ] {
        assert_eq!(
            client.failed("search_requirements", wrong.clone()),
            1021,
            "{wrong}"
        );
    }
}

// proves 004 §4.3
//= specs/duvet.md#mcp-server
//= type=test
//# Every answer MUST name the snapshot it comes from and how long building that took.
#[test]
fn a_status_is_told_by_id_prefix_path_and_text_hash() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let (brew, pour, whistle) = (
        client.requirement("brew"),
        client.requirement("pour"),
        client.requirement("whistle"),
    );
    for (id, status, machine) in [
        (brew.as_str(), "needs tests", "partially_implemented"),
        (&brew[..12], "needs tests", "partially_implemented"),
        (
            &duvet::identity::text_hash("A pot MUST brew."),
            "needs tests",
            "partially_implemented",
        ),
        (&pour, "not started", "not_started"),
        (&whistle, "not started", "not_started"),
    ] {
        let answer = client.call("get_requirement_status", json!({ "req_identifier": id }));
        assert_eq!(
            answer,
            json!({ "status": status, "machine_status": machine }),
            "{id}"
        );
    }
    scratch.write(
        "src/tests.rs",
        "//= specs/pot.md#brewing\n//= type=test\n//# A pot MUST brew.\n",
    );
    scratch.write(
        "src/excuse.rs",
        "//= specs/pot.md#brewing\n//= type=exception\n//= reason=no whistle\n//# A pot SHOULD whistle.\n",
    );
    let arguments = json!({ "req_identifier": brew, "detail": "full" });
    let result = client.result("get_requirement_status", arguments);
    let told = &result["structuredContent"];
    assert_eq!(
        (&told["status"], &told["citations"]),
        (&json!("done"), &json!(["src/main.rs:2", "src/tests.rs:1"]))
    );
    let snapshot = &result["_meta"]["duvet/snapshot"];
    assert!(
        snapshot["id"].as_str().unwrap().len() >= 16 && snapshot["build_time_ms"].as_f64().unwrap() > 0.0,
        "{snapshot}"
    );
    let excused = client.call("get_requirement_status", json!({ "req_identifier": whistle }));
    assert_eq!(excused["status"], "excused");
    scratch.write("specs/pot.md", "# A\n\nIt MUST a.\n\n# B\n\nIt MUST a.\n");
    let twice = duvet::identity::text_hash("It MUST a.");
    let several = client.call("get_requirement_status", json!({ "req_identifier": twice }));
    assert_eq!(
        (
            &several["status"],
            several["requirements"].as_array().unwrap().len()
        ),
        (&json!("several"), 2)
    );
    assert_eq!(
        client.failed("get_requirement_status", json!({ "req_identifier": brew })),
        1046
    );
}

// proves 004 §4.5
// proves 004 §4.6
// proves 004 §4.7
#[test]
fn broken_citations_their_places_and_specifications_are_found() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let rows = text(&client.result("list_invalid_citations", json!({})));
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    assert_eq!(
        (
            &rows[0]["file_path"],
            &rows[0]["line_number"],
            &rows[0]["comment_text"]
        ),
        (
            &json!("src/main.rs"),
            &json!(9),
            &json!("//= specs/pot.md#nowhere")
        )
    );
    assert!(rows[0]["error"].as_str().unwrap().contains("nowhere"), "{rows}");
    let full = client.call("list_invalid_citations", json!({ "detail": "full" }));
    let code = full["citations"][0]["code"].as_str().unwrap().to_owned();
    for (filter, count) in [
        (json!({ "code": code }), 1),
        (json!({ "code": "other" }), 0),
        (json!({ "file_path": "src" }), 1),
        (json!({ "file_path": "sr" }), 0),
    ] {
        assert_eq!(
            client.call("list_invalid_citations", filter.clone())["total"],
            count,
            "{filter}"
        );
    }

    let resolved = client.call("resolve_spec_id", json!({ "url": "pot.md" }));
    let problem = resolved["error"].as_str().unwrap();
    assert!(problem.contains("did you mean `specs/pot.md`?"), "{problem}");

    let usual = client.call(
        "get_citation_context",
        json!({ "citation_id": "src/main.rs:2", "context_lines": 5 }),
    );
    let by_path = [
        "src/main.rs:2",
        "/citations/src/main.rs:2",
        "duvet:///citations/src/main.rs:2",
    ];
    for citation in by_path {
        let context = client.call("get_citation_context", json!({ "citation_id": citation }));
        assert_eq!(context, usual, "{citation}");
    }
    let around = json!({ "citation_id": "src/main.rs:2", "context_lines": 1 });
    let context = client.call("get_citation_context", around);
    let expect = [
        "fn brew() {",
        "    //= specs/pot.md#brewing",
        "    //# A pot MUST brew.",
        "    println!(\"brewing\");",
    ];
    assert_eq!(
        (
            &context["file_path"],
            &context["line_number"],
            &context["context"]
        ),
        (&json!("src/main.rs"), &json!(2), &json!(expect))
    );

    scratch.write(
        ".duvet/specifications/www.rfc-editor.org/rfc/rfc8446.txt",
        "\n1.  Introduction\n\n   It MUST be so.\n",
    );
    scratch.write(
        "src/tls.rs",
        "//= https://www.rfc-editor.org/rfc/rfc8446#section-1\n//# It MUST be so.\n",
    );
    for spoken in ["RFC 8446", "rfc8446", "rfc-8446"] {
        assert_eq!(
            client.call("resolve_spec_id", json!({ "url": spoken }))["spec_id"],
            "rfc8446",
            "{spoken}"
        );
    }
    let resolved = client.call("resolve_spec_id", json!({ "url": "specs/pot.md" }));
    assert_eq!(resolved, json!({ "spec_id": "specs-pot-md" }));
    let by_title = client.call("resolve_spec_id", json!({ "url": "coffee" }));
    assert_eq!(by_title, resolved, "lists call it so");
    let unknown = client.call("resolve_spec_id", json!({ "url": "specs/pat.md" }));
    assert!(unknown["spec_id"].is_null());
    assert!(
        unknown["error"].as_str().unwrap().contains("specs/pot.md"),
        "{unknown}"
    );
}

// proves 004 §4.8
#[test]
fn work_comes_in_the_order_of_priority() {
    let scratch = project();
    scratch.write(
        "src/more.rs",
        "//= specs/pot.md#brewing\n//# A pot SHOULD whistle.\n",
    );
    let mut client = Client::ready(scratch.root());
    let result = client.result("get_prioritized_requirements", json!({}));
    let rows = text(&result);
    let told: Vec<(&str, &str, u64)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            assert_eq!(
                row.as_object().unwrap().len(),
                5,
                "only what the index names: {row}"
            );
            let word = |name: &str| row[name].as_str().unwrap();
            (word("level"), word("status"), row["todo_count"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("MUST", "partially_implemented", 0),
            ("MUST", "not_started", 1),
            ("SHOULD", "partially_implemented", 0)
        ]
    );
    let first = client.call(
        "get_prioritized_requirements",
        json!({ "limit": 1, "detail": "full" }),
    );
    assert_eq!(first["requirements"][0]["text"], "A pot MUST brew.");
    assert_eq!(first["total"], 3);
}

//= specs/duvet.md#mcp-server
//= type=test
//# An answer that lacks something because an input is missing MUST be an error and say which.
#[test]
fn a_broken_configuration_or_a_missing_text_is_never_zero_requirements() {
    const LISTS: &[&str] = &[
        "list_uncited_requirements",
        "list_invalid_citations",
        "get_prioritized_requirements",
    ];
    for (break_it, reason) in [
        (".duvet/config.toml", "configuration"),
        ("specs/pot.md", "pot.md"),
    ] {
        let scratch = project();
        let mut client = Client::ready(scratch.root());
        match break_it {
            ".duvet/config.toml" => scratch.write(break_it, "[[broken"),
            text => std::fs::remove_file(scratch.path(text)).unwrap(),
        }
        for tool in LISTS.iter().chain(&["search_requirements"]) {
            let arguments = if *tool == "search_requirements" {
                json!({ "query": "MUST" })
            } else {
                json!({})
            };
            let answer = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
            assert_eq!(answer["isError"], true, "{tool}: {answer}");
            let first = answer["content"][0]["text"].as_str().unwrap();
            assert!(first.contains("not complete"), "{tool}: {first}");
            assert!(
                first.contains(reason) || first.contains(".duvet/config.toml"),
                "{tool}: {first}"
            );
        }
        let rows = client.request(
            "tools/call",
            json!({ "name": "list_invalid_citations", "arguments": {} }),
        );
        let rows = rows["structuredContent"]["citations"].as_array().unwrap().len();
        assert!(rows > 0, "what is wrong is a row too");
        assert_eq!(
            client.refused("resources/get", json!({ "path": "/requirements" })),
            1080
        );
    }
}

//= specs/duvet.md#mcp-server
//= type=test
//# An answer that lacks something because an input is missing MUST be an error and say which.
#[test]
fn every_answer_that_lacks_something_says_so() {
    for broken in [".duvet/config.toml", "specs/pot.md"] {
        let scratch = project();
        // What was extracted stays on disk, so that requirements are known whose text is gone.
        let report = crate::command::run(&scratch, &["report", "--quiet"], &[]);
        assert!(
            scratch.path(".duvet/requirements/specs/pot").exists(),
            "{report:?}"
        );
        let mut client = Client::ready(scratch.root());
        let id = client.requirement("brew");
        match broken {
            ".duvet/config.toml" => scratch.write(broken, "[[broken"),
            text => std::fs::remove_file(scratch.path(text)).unwrap(),
        }
        let cited = "//= specs/pot.md#brewing\n//# A pot MUST brew.\n";
        let asked = [
            ("validate_citation", json!({ "citation": cited })),
            ("search_requirements", json!({ "query": "MUST" })),
            (
                "search_requirements",
                json!({ "query": "MUST", "spec_id": "specs/pot.md" }),
            ),
            ("get_requirement_status", json!({ "req_identifier": id })),
            ("list_uncited_requirements", json!({})),
            ("list_invalid_citations", json!({})),
            ("get_citation_context", json!({ "citation_id": "src/main.rs:2" })),
            ("resolve_spec_id", json!({ "url": "specs/pot.md" })),
            ("get_prioritized_requirements", json!({})),
            (
                "get_section",
                json!({ "spec_id": "specs/pot.md", "section_id": "brewing" }),
            ),
            ("propose_fixes", json!({})),
        ];
        for (tool, arguments) in asked {
            let answer = client.result(tool, arguments);
            // The lines of a file and the id of a name are the same, whatever the text says.
            if broken == "specs/pot.md" && matches!(tool, "get_citation_context" | "resolve_spec_id") {
                assert_eq!(answer["isError"], false, "{broken} {tool}: {answer}");
                continue;
            }
            assert_eq!(answer["isError"], true, "{broken} {tool}: {answer}");
            let first = answer["content"][0]["text"].as_str().unwrap();
            assert!(
                first.contains("not complete") && first.contains(".duvet/config.toml"),
                "{broken} {tool}: {first}"
            );
        }
        let mut paths = vec![
            "/specifications".to_owned(),
            "/specifications/specs-pot-md".to_owned(),
            "/specifications/specs-pot-md/sections".to_owned(),
            "/specifications/specs-pot-md/sections/brewing".to_owned(),
            "/specifications/specs-pot-md/sections/brewing/requirements".to_owned(),
            "/requirements".to_owned(),
            format!("/requirements/{id}"),
            format!("/requirements/{id}/citations"),
            "/citations".to_owned(),
        ];
        if broken == ".duvet/config.toml" {
            paths.extend(["/".to_owned(), "/citations/src/main.rs:2".to_owned()]);
        }
        for path in paths {
            let code = client.refused("resources/get", json!({ "path": path }));
            assert_eq!(code, 1080, "{broken} {path}");
        }
        let prompt = json!({ "name": "implement_requirement", "arguments": { "req_identifier": id } });
        assert_eq!(client.refused("prompts/get", prompt), 1080, "{broken}");
        let complete = json!({
            "ref": { "type": "ref/prompt", "name": "implement_requirement" },
            "argument": { "name": "req_identifier", "value": "" },
        });
        assert_eq!(client.refused("completion/complete", complete), 1080, "{broken}");
    }
}

//= specs/duvet.md#configuration
//= type=test
//# What the person says on the command line MUST hold for a resident program too, whenever the file changes.
#[test]
fn flags_are_laid_over_a_configuration_that_changes_and_hide_no_fault_of_it() {
    let scratch = project();
    scratch.write("more/b.rs", "//= specs/pot.md#delivery\n//# A pot MUST pour.\n");
    let mut client = Client::with(scratch.root(), &["--source-pattern", "more/**/*.rs"]);
    let files = |client: &mut Client| {
        let rows = client.list("/citations");
        let of = |name: &str| {
            rows.iter()
                .any(|row| row["name"].as_str().unwrap().starts_with(name))
        };
        (of("src/main.rs"), of("more/b.rs"))
    };
    assert_eq!(files(&mut client), (true, true));
    scratch.write(
        ".duvet/config.toml",
        super::CONFIG.replace("src/**", "nowhere/**"),
    );
    assert_eq!(
        files(&mut client),
        (false, true),
        "the file is read again, the flag holds"
    );
    scratch.write(".duvet/config.toml", "[[broken");
    for tool in ["list_uncited_requirements", "list_invalid_citations"] {
        let answer = client.result(tool, json!({}));
        assert_eq!(answer["isError"], true, "{tool}: {answer}");
    }
    // A project that flags describe needs no file.
    std::fs::remove_file(scratch.path(".duvet/config.toml")).unwrap();
    assert_eq!(files(&mut client), (false, true));

    let (scratch, elsewhere) = (project(), Scratch::new(&[("far.md", "# Far\n\nIt MUST go.\n")]));
    let far = elsewhere.path("far.md").display().to_string();
    scratch.write("src/far.rs", format!("//= {far}#far\n//# It MUST go.\n"));
    let outside = |flags: &[&str]| {
        let mut client = Client::with(scratch.root(), flags);
        client.result("list_uncited_requirements", json!({}))["isError"].clone()
    };
    assert_eq!(outside(&[]), true);
    let folder = elsewhere.root().display().to_string();
    assert_eq!(outside(&["--allow-read", &folder]), false);
}

#[test]
fn an_answer_about_another_specification_does_not_depend_on_the_missing_one() {
    let scratch = project();
    scratch.write("src/far.rs", "//= https://example.com/far.md#x\n//# q\n");
    let mut client = Client::ready(scratch.root());
    let ask = |client: &mut Client, arguments: Value| {
        let call = json!({ "name": "list_uncited_requirements", "arguments": arguments });
        client.request("tools/call", call)["isError"].clone()
    };
    assert_eq!(ask(&mut client, json!({})), true);
    assert_eq!(
        ask(&mut client, json!({ "spec_id": "specs/pot.md", "level": "must" })),
        false
    );
}

//= specs/duvet.md#mcp-server
//= type=test
//# A list MUST come in pages, the first of them short unless another length is asked for, and name the cursor of the next.
//= specs/duvet.md#identity
//= type=test
//# A requirement that is stated in several places MUST be one row with all of them.
#[test]
fn lists_are_short_pages_with_text_and_one_row_for_each_requirement() {
    let scratch = project();
    let many: Vec<String> = (0..120).map(|n| format!("A pot MUST hold {n} cups.")).collect();
    scratch.write("specs/pot.md", format!("# Cups\n\n{}\n", many.join("\n\n")));
    let again =
        "target = \"specs/pot.md#cups\"\n[[spec]]\nlevel = \"MUST\"\nquote = \"A pot MUST hold 7 cups.\"\n";
    scratch.write(
        ".duvet/config.toml",
        format!("{}[[requirement]]\npattern = \"more/*.toml\"\n", super::CONFIG),
    );
    scratch.write("more/again.toml", again);
    let mut client = Client::ready(scratch.root());
    for tool in ["list_uncited_requirements", "get_prioritized_requirements"] {
        let first = client.call(tool, json!({}));
        let rows = first["requirements"].as_array().unwrap();
        assert_eq!((rows.len(), &first["total"]), (50, &json!(120)), "{tool}");
        assert!(rows.iter().all(|row| row["text"].is_string()), "{tool}");
        let mut seen: Vec<Value> = rows.clone();
        let mut cursor = first["next_cursor"].clone();
        while cursor.is_string() {
            let page = client.call(tool, json!({ "cursor": cursor }));
            seen.extend(page["requirements"].as_array().unwrap().iter().cloned());
            cursor = page["next_cursor"].clone();
        }
        let paths: std::collections::BTreeSet<_> =
            seen.iter().map(|row| row["full_path"].to_string()).collect();
        assert_eq!((seen.len(), paths.len()), (120, 120), "{tool}: each once");
    }
    let found = client.call("search_requirements", json!({ "query": "\"hold 7 cups\"" }));
    assert_eq!(found["total"], 1);
    let places = found["requirements"][0]["places"].as_array().unwrap();
    assert_eq!(places.len(), 2, "{found}");
    assert!(places.contains(&json!("more/again.toml:2")), "{found}");
    let whole = client.call("list_uncited_requirements", json!({ "limit": 500 }));
    assert!(whole["next_cursor"].is_null() && whole["requirements"].as_array().unwrap().len() == 120);
}

//= specs/duvet.md#mcp-server
//= type=test
//# A search that finds nothing MUST be tried with the nearest words the requirements have, and say so.
#[test]
fn misspelt_words_find_what_was_meant() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let found = client.call("search_requirements", json!({ "query": "wistle" }));
    assert_eq!(
        found["requirements"][0]["text"], "A pot SHOULD whistle.",
        "{found}"
    );
    assert_eq!(found["searched_for"], "whistle");
    let exact = client.call("search_requirements", json!({ "query": "whistle" }));
    assert!(exact["searched_for"].is_null(), "{exact}");
    let nothing = client.call("search_requirements", json!({ "query": "xylophone quartet" }));
    assert_eq!(
        (&nothing["total"], &nothing["searched_for"]),
        (&json!(0), &Value::Null)
    );
}

//= specs/duvet.md#mcp-server
//= type=test
//# The text of a section and the changes that `duvet fix` would make MUST be tools.
#[test]
fn sections_and_fixes_are_read_with_tools() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    let arguments = json!({ "spec_id": "specs/pot.md", "section_id": "brewing" });
    let section = client.call("get_section", arguments);
    assert_eq!(
        (&section["target"], &section["content"]),
        (
            &json!("specs/pot.md#brewing"),
            &json!("A pot MUST brew. A pot SHOULD whistle.")
        )
    );
    let states: Vec<&str> = section["requirements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["status"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["needs tests", "not started"]);
    let wrong = json!({ "spec_id": "specs/pot.md", "section_id": "brewin" });
    assert_eq!(client.failed("get_section", wrong), 1021);

    let none = client.call("propose_fixes", json!({}));
    assert_eq!(none["total"], 0);
    let drifted = "//= specs/pot.md#delivery\n//# A pot MUST poor.\n";
    scratch.write("src/drift.rs", drifted);
    let fixes = client.call("propose_fixes", json!({ "file_path": "src" }));
    let fix = &fixes["fixes"][0];
    assert_eq!(
        (&fix["file_path"], &fix["citations"]),
        (&json!("src/drift.rs"), &json!(1))
    );
    let diff = fix["diff"].as_str().unwrap();
    assert!(
        diff.contains("-//# A pot MUST poor.\n") && diff.contains("+//# A pot MUST pour.\n"),
        "{diff}"
    );
    let kept = std::fs::read_to_string(scratch.path("src/drift.rs")).unwrap();
    assert_eq!(kept, drifted, "nothing is written");
}

//= specs/duvet.md#mcp-server
//= type=test
//# Calls that wait for a snapshot MUST share the next one.
#[test]
fn a_hundred_calls_at_once_are_all_answered_from_the_state_they_came_in() {
    let scratch = project();
    let mut client = Client::ready(scratch.root());
    client.call("list_uncited_requirements", json!({}));
    scratch.write(
        "src/more.rs",
        "//= specs/pot.md#brewing\n//# A pot SHOULD whistle.\n",
    );
    let call = json!({ "name": "list_uncited_requirements", "arguments": {} });
    let answers = client.at_once("tools/call", &vec![call; 100]);
    assert_eq!(answers.len(), 100);
    for answer in answers {
        assert_eq!(answer["structuredContent"]["total"], 0, "{answer}");
    }
}
