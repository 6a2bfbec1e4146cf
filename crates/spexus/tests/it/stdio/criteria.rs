//! What the source documents ask of the stdio server, from its standard input to the database and back.

use super::everywhere::{Place, everywhere};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PROMPTS: [(&str, &str, &str); 6] = [
    ("analyze_requirement_quality", "requirement_id", "REQ-001"),
    ("suggest_acceptance_criteria", "user_story_id", "US-001"),
    ("identify_dependencies", "requirement_id", "REQ-001"),
    ("generate_user_story", "epic_id", "EP-001"),
    ("decompose_epic", "epic_id", "EP-001"),
    ("suggest_test_scenarios", "user_story_id", "US-001"),
];

// proves 003 R1.4, 003 R1.5, 003 R2.1, 003 R2.2, 003 R2.3, 003 R2.4, 003 R2.6, 003 R3.1, 003 R3.2, 003 R3.3, 003 R3.4
// proves 003 R3.5, 000 R4.1, 000 R4.2, 002 Req-Cap-001
#[test]
fn every_version_is_greeted_with_what_works() {
    everywhere(|place| {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            let mut host = match &place.backend {
                Some(backend) => backend.bridge(&place.world),
                None => super::host::Host::start(place.world.command(&["mcp", "--scope", "admin"])),
            };
            let hello = host.greet(version);
            assert_eq!(hello["protocolVersion"], version, "{}", place.name);
            assert_eq!(
                hello["serverInfo"]["name"], "requirements-mcp-server",
                "{}",
                place.name
            );
            let offers = &hello["capabilities"];
            assert_eq!(
                offers["resources"],
                json!({ "subscribe": true, "listChanged": true }),
                "{}",
                place.name
            );
            for family in ["tools", "prompts"] {
                assert_eq!(offers[family]["listChanged"], true, "{}: {family}", place.name);
            }
            assert!(
                hello["instructions"].as_str().unwrap().contains("create_epic"),
                "{}",
                place.name
            );
            assert_eq!(host.end().code, Some(0), "{}", place.name);
        }
    });
}

// proves 003 R4.1, 003 R4.2, 003 R4.3, 003 R4.4, 003 R4.6, 003 R4.7, 003 R4.8, 003 R9.7, 003 R10.1, 003 R10.6, 003 R16.5
// proves 002 Req-Res-001, 002 Req-Res-002, 002 Req-Res-003, 002 Req-Res-006, 002 Req-Sec-002
#[test]
fn everything_can_be_read_by_its_address() {
    everywhere(|place| {
        let listed = place.asks("resources/list", json!({}));
        for resource in listed["resources"].as_array().unwrap() {
            for field in ["uri", "name", "description", "mimeType"] {
                assert!(resource[field].is_string(), "{}: {resource}", place.name);
            }
        }
        for (uri, id) in [
            ("epic://EP-001", "EP-001"),
            ("user-story://US-001", "US-001"),
            ("requirement://REQ-001", "REQ-001"),
            ("acceptance-criteria://AC-001", "AC-001"),
        ] {
            let read = place.reads(uri);
            assert_eq!(read["reference_id"], id, "{}", place.name);
            let scheme = uri.split_once("://").unwrap().0;
            let by_uuid = place.reads(&format!("{scheme}://{}", read["id"].as_str().unwrap()));
            assert_eq!(by_uuid["reference_id"], id, "{}", place.name);
        }
        let tree = place.reads("epic://EP-001/hierarchy");
        assert_eq!(tree["total_count"], 4, "{}: {tree}", place.name);
        let missing = place.refuses("resources/read", json!({ "uri": "requirement://REQ-999" }));
        assert_eq!(missing["code"], -32002, "{}: {missing}", place.name);
        let climbing = place.refuses(
            "resources/read",
            json!({ "uri": "epic://EP-001/../../etc/passwd" }),
        );
        assert_eq!(
            climbing["data"]["refusal"]["code"], 1036,
            "{}: {climbing}",
            place.name
        );
    });
}

// proves 003 R15.6, 002 Req-Res-012
#[test]
fn long_lists_come_in_pages() {
    everywhere(|place| {
        let operations: Vec<Value> = (0..230)
            .map(|n| json!({ "op": "create", "kind": "epic", "title": format!("Epic {n}") }))
            .collect();
        place.calls("apply_changes", json!({ "operations": operations }));
        let (mut seen, mut pages, mut params) = (BTreeSet::new(), 0, json!({}));
        loop {
            let page = place.asks("resources/list", params);
            pages += 1;
            for resource in page["resources"].as_array().unwrap() {
                let uri = resource["uri"].as_str().unwrap().to_owned();
                assert!(seen.insert(uri), "{}: twice: {resource}", place.name);
            }
            match &page["nextCursor"] {
                Value::Null => break,
                cursor => params = json!({ "cursor": cursor }),
            }
        }
        assert!(
            pages >= 3 && seen.contains("epic://EP-231"),
            "{}: {pages}",
            place.name
        );
    });
}

// proves 003 R5.1, 003 R5.2, 003 R5.3, 003 R5.4, 003 R5.5, 003 R5.6, 003 R5.7, 003 R5.8
#[test]
fn templates_find_by_their_parameters() {
    everywhere(|place| {
        let listed = place.asks("resources/templates/list", json!({}));
        let templates = listed["resourceTemplates"].as_array().unwrap();
        for template in templates {
            for field in ["uriTemplate", "name", "description", "mimeType"] {
                assert!(template[field].is_string(), "{}: {template}", place.name);
            }
        }
        for wanted in [
            "epics://list?status={status}&priority={priority}",
            "user-stories://list?epic_id={epic_id}&status={status}",
            "requirements://search?query={query}&type={type}",
        ] {
            assert!(
                templates.iter().any(|template| template["uriTemplate"] == wanted),
                "{}: {wanted}",
                place.name
            );
        }
        for (uri, count) in [
            ("epics://list?status=Backlog&priority=1", 1),
            ("user-stories://list?epic_id=EP-001&status=Backlog", 1),
            ("requirements://search?query=passkeys&type=Functional", 1),
        ] {
            assert_eq!(place.reads(uri)["total_count"], count, "{}: {uri}", place.name);
        }
        let empty = place.reads("epics://list?status=Done&priority=4");
        assert_eq!(
            (&empty["data"], &empty["message"]),
            (&json!([]), &json!("No epics found.")),
            "{}",
            place.name
        );
        let wrong = place.refuses(
            "resources/read",
            json!({ "uri": "epics://list?status=Gone&priority=1" }),
        );
        assert_eq!(
            (&wrong["code"], &wrong["data"]["fields"][0]["field"]),
            (&json!(-32602), &json!("status")),
            "{}: {wrong}",
            place.name
        );
    });
}

// proves 003 R6.1, 003 R6.2, 003 R6.3, 003 R6.4, 003 R6.5, 003 R6.6, 003 R6.7, 003 R6.8, 003 R6.9, 003 R6.10, 003 R9.8
// proves 003 R10.2, 003 R10.5, 003 R10.7, 003 R13.6, 003 R16.4, 002 Req-Tool-001, 002 Req-Tool-002, 002 Req-Tool-003
// proves 002 Req-Tool-006, 002 Req-Tool-007, 002 Req-Sec-001
#[test]
fn tools_build_change_and_link() {
    everywhere(|place| {
        let listed = place.asks("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap();
        for tool in tools {
            assert!(
                tool["description"].is_string() && tool["inputSchema"]["type"] == "object",
                "{}: {tool}",
                place.name
            );
        }
        for name in [
            "create_epic",
            "update_epic",
            "create_user_story",
            "update_user_story",
            "create_requirement",
            "update_requirement",
            "create_relationship",
            "search_global",
            "search_requirements",
        ] {
            assert!(
                tools.iter().any(|tool| tool["name"] == name),
                "{}: {name}",
                place.name
            );
        }
        let made = place.asks(
            "tools/call",
            json!({ "name": "create_epic", "arguments": { "title": "Payments", "priority": 2 } }),
        );
        assert!(made["content"][0]["text"].is_string(), "{}: {made}", place.name);
        place.calls(
            "create_user_story",
            json!({ "epic_id": "EP-002", "title": "By card" }),
        );
        place.calls(
            "create_requirement",
            json!({ "user_story_id": "US-002", "title": "Receipts are sent", "type": "functional" }),
        );
        place.calls(
            "create_relationship",
            json!({ "source": "REQ-002", "target": "REQ-001", "type": "depends_on" }),
        );
        place.calls("update_epic", json!({ "epic_id": "EP-002", "title": "Paying" }));
        place.calls(
            "update_user_story",
            json!({ "user_story_id": "US-002", "status": "Draft" }),
        );
        place.calls(
            "update_requirement",
            json!({ "requirement_id": "REQ-002", "status": "Active" }),
        );
        // Another process reads what is in the database.
        for (id, field, value) in [
            ("EP-002", "title", "Paying"),
            ("US-002", "status", "Draft"),
            ("REQ-002", "status", "Active"),
        ] {
            assert_eq!(
                place.world.json(&["item", "get", id])[field],
                value,
                "{}",
                place.name
            );
        }
        what_tools_refuse(place);
    });
}

fn what_tools_refuse(place: &mut Place) {
    let arguments = json!({ "priority": 2 });
    let wrong = place.refuses(
        "tools/call",
        json!({ "name": "create_epic", "arguments": arguments }),
    );
    assert_eq!(
        (
            &wrong["code"],
            &wrong["data"]["refusal"]["code"],
            &wrong["data"]["fields"][0]["field"]
        ),
        (&json!(-32602), &json!(1021), &json!("title")),
        "{}: {wrong}",
        place.name
    );
    let missing = place.fails("update_epic", json!({ "epic_id": "EP-999", "title": "Nothing" }));
    assert_eq!(missing["refusal"]["name"], "RESOURCE_NOT_FOUND", "{}", place.name);
    let status = place.fails(
        "update_epic",
        json!({ "epic_id": "EP-001", "status": "Finished" }),
    );
    assert!(
        status["fields"][0]["allowed"]
            .as_str()
            .unwrap()
            .contains("Backlog"),
        "{}: {status}",
        place.name
    );
    let unknown = place.refuses("tools/call", json!({ "name": "make_coffee", "arguments": {} }));
    assert_eq!(unknown["code"], -32602, "{}: {unknown}", place.name);
}

// proves 003 R7.1, 003 R7.2, 003 R7.4, 003 R7.5, 003 R7.6, 003 R7.7, 003 R7.8, 003 R7.9
#[test]
fn words_find_and_reports_count() {
    everywhere(|place| {
        let found = place.calls("search_global", json!({ "query": "passkey" }));
        assert!(
            found["rows"].to_string().contains("US-001"),
            "{}: {found}",
            place.name
        );
        let targeted = place.calls(
            "search_requirements",
            json!({ "status": "Draft", "type": "functional" }),
        );
        assert_eq!(targeted["total_count"], 1, "{}: {targeted}", place.name);
        let none = place.asks(
            "tools/call",
            json!({ "name": "search_requirements", "arguments": { "query": "zebra" } }),
        );
        assert_eq!(none["structuredContent"]["rows"], json!([]), "{}", place.name);
        assert_eq!(none["content"][0]["text"], "No matches found.", "{}", place.name);
        let empty = place.fails("search_global", json!({ "query": "  " }));
        assert_eq!(empty["fields"][0]["field"], "query", "{}: {empty}", place.name);
        let report = place.calls("status_report", json!({}));
        assert_eq!(
            (&report["total_count"], &report["kinds"]["epic"]["by_status"]),
            (&json!(4), &json!({ "Backlog": 1 })),
            "{}: {report}",
            place.name
        );
        place.calls("create_epic", json!({ "title": "Empty" }));
        let gaps = place.calls("analyze_hierarchy", json!({}));
        assert_eq!(
            gaps["findings"]["epics_without_stories"]["items"],
            json!(["EP-002"]),
            "{}: {gaps}",
            place.name
        );
    });
}

// proves 003 R8.1, 003 R8.2, 003 R8.3, 003 R8.4, 003 R8.5, 003 R8.6, 003 R8.7, 003 R8.8, 003 R8.9, 003 R8.10, 003 R9.9
// proves 003 R10.3, 003 R10.8, 003 R16.6, 002 Req-Prompt-001, 002 Req-Prompt-002
#[test]
fn prompts_bring_their_context() {
    everywhere(|place| {
        let listed = place.asks("prompts/list", json!({}));
        for (name, argument, id) in PROMPTS {
            let prompt = listed["prompts"]
                .as_array()
                .unwrap()
                .iter()
                .find(|prompt| prompt["name"] == name)
                .unwrap_or_else(|| panic!("{}: {name}", place.name));
            assert!(
                prompt["description"].is_string() && prompt["arguments"][0]["name"].is_string(),
                "{}: {prompt}",
                place.name
            );
            let arguments = json!({ argument: id, "need": "log in without a phone" });
            let arguments = match name {
                "generate_user_story" => arguments,
                _ => json!({ argument: id }),
            };
            let got = place.asks("prompts/get", json!({ "name": name, "arguments": arguments }));
            assert!(got["description"].is_string(), "{}: {got}", place.name);
            let text = got["messages"][0]["content"]["text"].as_str().unwrap();
            for part in [id, "Sign in", "Answer in this form"] {
                assert!(text.contains(part), "{}: {name} lacks {part}: {text}", place.name);
            }
        }
        let missing = place.refuses(
            "prompts/get",
            json!({ "name": "generate_user_story", "arguments": { "epic_id": "EP-001" } }),
        );
        assert_eq!(missing["code"], -32602, "{}", place.name);
        assert!(
            missing["data"]["fields"].to_string().contains("need"),
            "{}: {missing}",
            place.name
        );
        let failed = place.refuses(
            "prompts/get",
            json!({ "name": "decompose_epic", "arguments": { "epic_id": "EP-999" } }),
        );
        assert!(
            failed["message"].as_str().unwrap().contains("EP-999"),
            "{}: {failed}",
            place.name
        );
    });
}

// proves 003 R1.7, 003 R3.6, 002 Req-Res-004, 002 Req-Res-005, 002 Req-Res-007, 002 Req-Res-009, 002 Req-Proto-013
// proves 002 Req-Prompt-007
#[test]
fn changes_are_told_until_they_are_not_wanted() {
    everywhere(|place| {
        let uri = "requirement://REQ-001";
        place.asks("resources/subscribe", json!({ "uri": uri }));
        assert_eq!(place.reads(uri)["title"], "Passkeys MUST work", "{}", place.name);
        let update = |place: &Place, title: &str| {
            place
                .world
                .run(&["item", "update", "REQ-001", "--title", title])
                .ok();
        };
        update(place, "Changed by another process");
        let told = place
            .host
            .until(|message| message["method"] == "notifications/resources/updated");
        let params = &told["params"];
        assert!(
            params["timestamp"].is_string() && params["change_type"] == "updated",
            "{}: {told}",
            place.name
        );
        assert_eq!(
            place.reads(uri)["title"],
            "Changed by another process",
            "{}",
            place.name
        );
        place.asks("resources/unsubscribe", json!({ "uri": uri }));
        let before = place.host.kept().count();
        update(place, "Nobody listens");
        // A change of the list of prompts is told to all, and after what came before it; maybe before the answer.
        place.host.ask(
            "tools/call",
            json!({ "name": "create_prompt", "arguments": { "name": "greet", "messages": [{ "role": "user", "text": "Hello {{who}}" }] } }),
        );
        let told = place
            .host
            .until(|message| message["method"] == "notifications/capabilities/changed");
        assert_eq!(told["params"]["changed"], json!(["prompts"]), "{}", place.name);
        let later: Vec<&Value> = place.host.kept().skip(before).collect();
        assert!(
            !later.iter().any(|message| message["params"]["uri"] == uri),
            "{}: {later:?}",
            place.name
        );
    });
}

// proves 003 R9.10, 003 R10.9, 003 R11.1, 003 R11.2, 003 R11.3, 003 R11.4, 003 R11.5, 003 R11.6, 003 R11.7
// proves 003 R11.9, 003 R13.7, 002 Req-Proto-001, 002 Req-Proto-006
#[test]
fn every_message_is_json_rpc_to_the_letter() {
    everywhere(|place| {
        for (line, code, id) in [
            ("{\"jsonrpc\":\"2.0\",\"id\":", -32700, Value::Null),
            ("[]", -32600, Value::Null),
            ("{\"id\":71,\"method\":\"ping\"}", -32600, json!(71)),
            (
                "{\"jsonrpc\":\"1.0\",\"id\":72,\"method\":\"ping\"}",
                -32600,
                json!(72),
            ),
            ("{\"jsonrpc\":\"2.0\",\"id\":75,\"params\":{}}", -32600, json!(75)),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":76,\"method\":\"tools/call\"}",
                -32602,
                json!(76),
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":73,\"method\":\"no/such\"}",
                -32601,
                json!(73),
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":74,\"method\":\"tools/call\",\"params\":{}}",
                -32602,
                json!(74),
            ),
            (
                "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"resources/read\",\"params\":{\"uri\":\"epic://EP-9\"}}",
                -32002,
                json!("a"),
            ),
        ] {
            place.host.write(line);
            let answer = place.host.until(|message| message.get("error").is_some());
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(code), &id),
                "{}: {line}: {answer}",
                place.name
            );
            let hint = &answer["error"]["data"]["refusal"]["hint"];
            assert!(
                !hint.as_str().unwrap_or_default().is_empty(),
                "{}: {answer}",
                place.name
            );
        }
        // A notification nobody knows is answered by nobody, and neither is a method without an id.
        let before = place.host.kept().count();
        for method in ["notifications/made_up", "tools/list"] {
            let note = json!({ "jsonrpc": "2.0", "method": method });
            place.host.write(&note.to_string());
        }
        assert_eq!(place.asks("ping", json!({})), json!({}), "{}", place.name);
        // Whatever takes longer than a ping has been answered when a read from the database has.
        place.asks("tools/call", json!({ "name": "list_epics", "arguments": {} }));
        let mut later = place.host.kept().skip(before);
        let answer = later.find(|message| message.get("method").is_none());
        assert_eq!(answer, None, "{}", place.name);
    });
}

// proves 002 Req-Proto-012
#[test]
fn many_calls_at_once_are_each_answered_once() {
    everywhere(|place| {
        let asked: BTreeSet<u64> = (0..60)
            .map(|n| {
                let arguments = json!({ "title": format!("At once {n}") });
                place.host.ask(
                    "tools/call",
                    json!({ "name": "create_epic", "arguments": arguments }),
                )
            })
            .collect();
        let mut answered = BTreeSet::new();
        while answered.len() < asked.len() {
            let message = place.host.line().unwrap();
            if let Some(id) = message["id"].as_u64() {
                assert!(message["result"].is_object(), "{}: {message}", place.name);
                assert!(
                    asked.contains(&id) && answered.insert(id),
                    "{}: {message}",
                    place.name
                );
            }
        }
        let report = place.calls("status_report", json!({}));
        assert_eq!(report["kinds"]["epic"]["total"], 61, "{}", place.name);
    });
}

// proves 003 R12.3, 003 R9.5, 003 R10.4
#[test]
fn every_change_names_who_made_it() {
    everywhere(|place| {
        place.calls("create_epic", json!({ "title": "Noted" }));
        let history = place.world.json(&["item", "history", "EP-002"]);
        let first = &history["data"][0];
        assert_eq!(first["user"], "admin", "{}: {history}", place.name);
        assert!(
            first["client"].as_str().unwrap().starts_with("test-client"),
            "{}: {history}",
            place.name
        );
    });
}
