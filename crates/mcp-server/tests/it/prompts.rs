//! Prompts: listed, filled in, created, completed.

use mcp_protocol::{Content, PromptArgument, PromptMessage, ResourceContents, Role};
use mcp_server::{Completer, Context, Prompt, Stop};
use refusal::Code;
use serde_json::{Map, Value, json};

use crate::client::{Client, codes, refusal, server, server_with};

fn greeting() -> Prompt {
    let embedded = ResourceContents::text("test:///{{name}}", "text/plain", "About {{name}}.");
    let mut prompt = Prompt::template(
        "greeting",
        "Greets somebody.",
        vec![
            PromptMessage::user(Content::text("Greet {{name}} {{times}} times.")),
            PromptMessage {
                role: Role::Assistant,
                content: Content::resource(embedded),
            },
        ],
    )
    .argument("name", "Who is greeted", true);
    prompt.arguments.push(PromptArgument {
        name: "times".into(),
        schema: Some(json!({ "type": "integer", "minimum": 1 })),
        ..PromptArgument::default()
    });
    prompt
}

// proves 002 Req-Prompt-001
// proves 002 Req-Prompt-004
#[tokio::test]
async fn prompts_are_listed_with_arguments_and_their_schema() {
    let server = server();
    server
        .add_prompts(vec![
            greeting(),
            Prompt::template("plain", "Nothing to fill in.", vec![]),
        ])
        .unwrap();
    let mut client = Client::ready(&server).await;
    let list = client.request("prompts/list", json!({})).await["result"]["prompts"].clone();
    assert_eq!(list.as_array().unwrap().len(), 2);
    for prompt in list.as_array().unwrap() {
        assert!(prompt["name"].is_string() && prompt["description"].is_string());
        assert!(jsonschema::meta::is_valid(&prompt["argumentSchema"]), "{prompt}");
    }
    let greeting = &list[0];
    assert_eq!(
        greeting["arguments"][0],
        json!({ "name": "name", "description": "Who is greeted", "required": true })
    );
    assert_eq!(greeting["argumentSchema"]["required"], json!(["name"]));
    assert_eq!(
        greeting["argumentSchema"]["properties"]["times"]["type"],
        "integer"
    );
    assert_eq!(
        server.add_prompts(vec![greeting_again()]).unwrap_err().code,
        Code::PromptDuplicate
    );
}

fn greeting_again() -> Prompt {
    greeting()
}

// proves 002 Req-Prompt-002
// proves 002 Req-Prompt-003
// proves 002 Req-Prompt-005
#[tokio::test]
async fn a_prompt_is_filled_in_text_and_resource_alike() {
    let server = server();
    server.add_prompts(vec![greeting()]).unwrap();
    let mut client = Client::ready(&server).await;
    // Clients send arguments of prompts as text; the schema says what they are.
    let arguments = json!({ "name": "Ada {{times}}", "times": "3" });
    let got = client
        .request(
            "prompts/get",
            json!({ "name": "greeting", "arguments": arguments }),
        )
        .await["result"]
        .clone();
    assert_eq!(got["description"], "Greets somebody.");
    assert_eq!(
        got["messages"][0],
        json!({ "role": "user", "content": { "type": "text", "text": "Greet Ada {{times}} 3 times." } })
    );
    let resource = &got["messages"][1]["content"]["resource"];
    assert_eq!(
        (&resource["uri"], &resource["text"]),
        (&json!("test:///Ada {{times}}"), &json!("About Ada {{times}}."))
    );
    let missing = client.request("prompts/get", json!({ "name": "greeting" })).await;
    assert_eq!(codes(&missing), (-32602, 1021));
    assert_eq!(missing["error"]["data"]["fields"][0]["field"], "name");
    let wrong = json!({ "name": "greeting", "arguments": { "name": "x", "times": "often" } });
    assert_eq!(codes(&client.request("prompts/get", wrong).await), (-32602, 1021));
    assert_eq!(
        codes(&client.request("prompts/get", json!({ "name": "none" })).await),
        (-32602, 1050)
    );
}

// proves 002 Req-Prompt-006
#[tokio::test]
async fn a_client_creates_a_prompt_where_that_is_allowed() {
    let server = server_with(|s| s.offers.prompt_creation = true);
    let mut client = Client::ready(&server).await;
    let new = json!({
        "name": "review",
        "description": "Reviews a change.",
        "template": "Review {{change}} for {{aspect}}.",
        "arguments": [{ "name": "change", "description": "The change", "required": true }],
    });
    let created = client.request("prompts/create", new.clone()).await;
    assert_eq!(
        created["result"]["prompt"]["argumentSchema"]["required"],
        json!(["change"])
    );
    client.notice("notifications/prompts/list_changed").await;
    assert_eq!(
        client.request("prompts/list", json!({})).await["result"]["prompts"][0]["name"],
        "review"
    );
    let got = client
        .request(
            "prompts/get",
            json!({ "name": "review", "arguments": { "change": "#5", "aspect": "style" } }),
        )
        .await;
    assert_eq!(
        got["result"]["messages"][0]["content"]["text"],
        "Review #5 for style."
    );
    assert_eq!(refusal(&client.request("prompts/create", new).await), 1051);
    assert_eq!(
        refusal(
            &client
                .request("prompts/create", json!({ "name": "x", "template": "{{" }))
                .await
        ),
        1021
    );
    assert_eq!(
        refusal(&client.request("prompts/create", json!({ "template": "x" })).await),
        1021
    );
}

// proves 002 Req-Prompt-007
#[tokio::test]
async fn clients_hear_that_prompts_changed() {
    let server = server();
    let mut client = Client::ready(&server).await;
    server.add_prompts(vec![greeting()]).unwrap();
    client.notice("notifications/prompts/list_changed").await;
    server
        .replace_prompt(Prompt::template("greeting", "Another one.", vec![]))
        .unwrap();
    client.notice("notifications/prompts/list_changed").await;
    assert_eq!(
        client.request("prompts/list", json!({})).await["result"]["prompts"][0]["description"],
        "Another one."
    );
    assert!(server.remove_prompt("greeting") && !server.remove_prompt("greeting"));
    client.notice("notifications/prompts/list_changed").await;
}

// proves 002 Req-Prompt-008
//= specs/mcp-server.md#registry
//= type=test
//# A list with more entries than a page holds MUST be given page by page, and the pages together MUST hold each entry once.
#[tokio::test]
async fn prompts_come_page_by_page_even_while_they_change() {
    let server = server_with(|s| s.limits.page_entries = 4);
    let plain = |n: usize| Prompt::template(format!("p{n:02}"), "One of many.", vec![]);
    server.add_prompts((0..10).map(plain).collect()).unwrap();
    let mut client = Client::ready(&server).await;
    let (mut names, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.request("prompts/list", params).await["result"].clone();
        names.extend(
            page["prompts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| p["name"].as_str().unwrap().to_owned()),
        );
        // The entry the cursor stands on disappears; the next page goes on after it.
        if names.len() == 4 {
            server.remove_prompt("p03");
        }
        match page["nextCursor"].as_str() {
            Some(next) => params = json!({ "cursor": next }),
            None => break,
        }
    }
    assert_eq!(names, (0..10).map(|n| format!("p{n:02}")).collect::<Vec<_>>());
    let foreign = client
        .request(
            "prompts/list",
            json!({ "cursor": "AAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
        )
        .await;
    assert_eq!(codes(&foreign), (-32602, 1021));
}

#[tokio::test]
async fn code_makes_prompts_and_suggests_arguments() {
    let server = server();
    let mut prompt = Prompt::new(
        "made",
        "Made by code.",
        |_: Context, arguments: Map<String, Value>| async move {
            Ok::<_, Stop>(vec![PromptMessage::user(Content::text(
                arguments["city"].to_string(),
            ))])
        },
    )
    .argument("city", "A city", true);
    prompt.completer = Some(Completer::new(|_, typed| async move {
        let many = (0..150).map(|n| format!("{}{n}", typed.value));
        Ok::<_, Stop>(many.chain(typed.context.into_values()).collect())
    }));
    server.add_prompts(vec![prompt]).unwrap();
    let mut client = Client::ready(&server).await;
    let got = client
        .request(
            "prompts/get",
            json!({ "name": "made", "arguments": { "city": "Bern" } }),
        )
        .await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "\"Bern\"");
    let params = json!({
        "ref": { "type": "ref/prompt", "name": "made" },
        "argument": { "name": "city", "value": "B" },
        "context": { "arguments": { "land": "CH" } },
    });
    let completion = client.request("completion/complete", params).await["result"]["completion"].clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&completion["total"], &completion["hasMore"]),
        (&json!(151), &json!(true))
    );
    assert_eq!(completion["values"][0], "B0");
    let unknown =
        json!({ "ref": { "type": "ref/prompt", "name": "no" }, "argument": { "name": "a", "value": "" } });
    assert_eq!(
        refusal(&client.request("completion/complete", unknown).await),
        1050
    );
    assert_eq!(
        codes(
            &client
                .request("completion/complete", json!({ "text": "Once upon" }))
                .await
        )
        .0,
        -32601
    );
}
