//! Resources: listed, read, cached, streamed, guarded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_protocol::ResourceContents;
use mcp_server::{
    Access, Change, Context, Guard, Info, Listing, Prompt, ReadRequest, Resource, ResourceSource,
    ResourceTemplate, Server, Settings, Stop,
};
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use crate::client::{Client, codes, refusal, server, server_with};

pub(crate) fn text(uri: &str, content: &str) -> Resource {
    let content = content.to_owned();
    Resource::new(
        uri,
        uri,
        "A text.",
        "text/plain",
        move |_: Context, request: ReadRequest| {
            let contents = ResourceContents::text(request.uri, "text/plain", content.clone());
            async move { Ok::<_, Stop>(vec![contents]) }
        },
    )
}

// proves 002 Req-Res-001
// proves 002 Req-Res-006
#[tokio::test]
async fn resources_are_listed_with_name_description_type_and_address() {
    let server = server();
    let mut rich = text("test:///b", "b");
    rich.title = Some("B".into());
    rich.size = Some(1);
    server.add_resources(vec![text("test:///a", "a"), rich]).unwrap();
    let mut client = Client::ready(&server).await;
    let answer = client.request("resources/list", json!({})).await;
    let list = answer["result"]["resources"].as_array().unwrap();
    assert_eq!(list.len(), 2);
    for entry in list {
        for field in ["uri", "name", "description", "mimeType"] {
            assert!(entry[field].is_string(), "{field} in {entry}");
        }
    }
    assert_eq!((&list[1]["title"], &list[1]["size"]), (&json!("B"), &json!(1)));
    assert_eq!(
        server
            .add_resources(vec![text("test:///a", "again")])
            .unwrap_err()
            .code,
        Code::ResourceDuplicate
    );
    assert_eq!(
        server
            .add_resources(vec![text("test:///x/./y", "")])
            .unwrap_err()
            .code,
        Code::CanonicalPathViolation
    );
}

// proves 002 Req-Res-002
#[tokio::test]
async fn text_bytes_and_patterns_are_read() {
    let server = server();
    let bytes = Resource::new(
        "test:///bytes",
        "bytes",
        "Bytes.",
        "image/png",
        |_, request: ReadRequest| async move {
            Ok::<_, Stop>(vec![ResourceContents::blob(
                request.uri,
                "image/png",
                &[0, 255, 7],
            )])
        },
    );
    server
        .add_resources(vec![text("test:///a", "hello"), bytes])
        .unwrap();
    server
        .add_template(ResourceTemplate::new(
            "test:///items/{id}",
            "items",
            "Items.",
            |_, request: ReadRequest| async move {
                let id = request.variables["id"].clone();
                Ok::<_, Stop>(vec![ResourceContents::text(request.uri, "text/plain", id)])
            },
        ))
        .unwrap();
    let mut client = Client::ready(&server).await;
    let read = client
        .request("resources/read", json!({ "uri": "TEST:///./a" }))
        .await;
    let expect = json!([{ "uri": "test:///a", "mimeType": "text/plain", "text": "hello" }]);
    assert_eq!(
        read["result"]["contents"], expect,
        "the canonical address is found"
    );
    let read = client
        .request("resources/get", json!({ "uri": "test:///bytes" }))
        .await;
    assert_eq!(read["result"]["contents"][0]["blob"], "AP8H");
    let read = client
        .request("resources/read", json!({ "uri": "test:///items/%D1%8F" }))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "я");
    let listed = client.request("resources/templates/list", json!({})).await;
    assert_eq!(
        listed["result"]["resourceTemplates"][0]["uriTemplate"],
        "test:///items/{id}"
    );
    let gone = client
        .request("resources/read", json!({ "uri": "test:///none" }))
        .await;
    assert_eq!(
        (codes(&gone), &gone["error"]["data"]["uri"]),
        ((-32002, 1046), &json!("test:///none"))
    );
    let gone = client
        .stateless("resources/read", json!({ "uri": "test:///none" }), json!({}))
        .await;
    assert_eq!(codes(&gone), (-32602, 1046), "the number moved in 2026-07-28");
    let part = client
        .request("resources/read", json!({ "uri": "test:///a?offset=1&limit=3" }))
        .await;
    assert_eq!(part["result"]["contents"][0]["text"], "ell");
}

#[tokio::test]
async fn a_path_stands_for_an_address_where_the_server_says_so() {
    let server = server_with(|s| s.path_base = Some("spec://".into()));
    server
        .add_resources(vec![
            text("spec:///a/b", "b"),
            text("spec:///a/c", "c"),
            text("spec:///ab", "ab"),
        ])
        .unwrap();
    let mut client = Client::ready(&server).await;
    let read = client.request("resources/get", json!({ "path": "/a/b" })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "b");
    let list = client.request("resources/list", json!({ "path": "/a" })).await;
    let uris: Vec<&str> = list["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris, ["spec:///a/b", "spec:///a/c"]);
    assert_eq!(
        refusal(
            &client
                .request("resources/get", json!({ "path": "/a/../ab" }))
                .await
        ),
        1036
    );
}

// proves 002 Req-Res-003
#[tokio::test]
async fn climbing_addresses_are_refused_over_the_wire() {
    let mut client = Client::ready(&server()).await;
    for uri in [
        "file:///a/../b",
        "file:///a/%2e%2e/b",
        "file:///a\\..\\b",
        "file:///a%00",
    ] {
        for method in ["resources/read", "resources/subscribe", "resources/unsubscribe"] {
            assert_eq!(
                codes(&client.request(method, json!({ "uri": uri })).await),
                (1036, 1036),
                "{method} {uri}"
            );
        }
    }
}

// proves 002 Req-Res-009
//= specs/mcp-server.md#resources
//= type=test
//# What was cached of a resource MUST be forgotten when a change of it is told, before anyone is notified.
#[tokio::test]
async fn a_cached_resource_is_read_again_after_a_change() {
    let (server, reads) = (server(), Arc::new(AtomicUsize::new(0)));
    let counting = reads.clone();
    let resource = Resource::new(
        "test:///a",
        "a",
        "Counts.",
        "text/plain",
        move |_: Context, request: ReadRequest| {
            let count = counting.fetch_add(1, Ordering::SeqCst);
            async move {
                Ok::<_, Stop>(vec![ResourceContents::text(
                    request.uri,
                    "text/plain",
                    format!("reading {count}"),
                )])
            }
        },
    );
    server.add_resources(vec![resource.cached()]).unwrap();
    let mut client = Client::ready(&server).await;
    client
        .request("resources/subscribe", json!({ "uri": "test:///a" }))
        .await;
    for _ in 0..3 {
        let read = client
            .request("resources/read", json!({ "uri": "test:///a" }))
            .await;
        assert_eq!(read["result"]["contents"][0]["text"], "reading 0");
    }
    server.resource_changed("test:///a", Change::Updated);
    client.notice("notifications/resources/updated").await;
    let read = client
        .request("resources/read", json!({ "uri": "test:///a" }))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "reading 1");
    assert_eq!(reads.load(Ordering::SeqCst), 2);
}

// proves 002 Req-Res-010
//= specs/mcp-server.md#resources
//= type=test
//# A resource above the streaming limit MUST be sent in pieces under the client's progress token, and its answer MUST carry its size and hash.
#[tokio::test]
async fn ten_megabytes_come_in_pieces() {
    let server = server_with(|s| s.chunk_key = "test/chunk".into());
    // Two-byte letters, so that pieces must not end in the middle of one.
    let long = format!("x{}", "я".repeat(5 << 20));
    server.add_resources(vec![text("test:///long", &long)]).unwrap();
    let mut client = Client::ready(&server).await;
    let params = json!({ "uri": "test:///long", "_meta": { "progressToken": 7 } });
    let id = client.start("resources/read", params).await;
    let (mut whole, mut chunks, mut last) = (String::new(), 0, 0.0);
    let answer = loop {
        let message = client.next().await.unwrap();
        if message["id"] == json!(id) {
            break message;
        }
        let (params, chunk) = (&message["params"], &message["params"]["_meta"]["test/chunk"]);
        assert_eq!(
            (&params["progressToken"], &chunk["index"], &chunk["offset"]),
            (&json!(7), &json!(chunks), &json!(whole.len()))
        );
        assert!(
            params["progress"].as_f64().unwrap() > last
                && params["total"].as_f64() == Some(long.len() as f64)
        );
        last = params["progress"].as_f64().unwrap();
        let piece = chunk["text"].as_str().unwrap();
        assert!(piece.len() <= 256 << 10);
        whole.push_str(piece);
        chunks += 1;
    };
    assert!(whole == long, "the pieces make the whole");
    let head = &answer["result"]["contents"][0];
    assert_eq!(head["text"], "");
    let expect = json!({ "size": long.len(), "blake3": blake3::hash(long.as_bytes()).to_hex().to_string(), "chunks": chunks });
    assert_eq!(head["_meta"], expect);
    assert!(chunks >= 40);
}

#[tokio::test]
async fn bytes_come_in_pieces_too_and_too_much_without_a_token_is_refused() {
    let server = server_with(|s| {
        s.limits.stream_above_bytes = 100;
        s.limits.stream_chunk_bytes = 64;
        s.limits.max_answer_bytes = 1_000;
    });
    let bytes: Vec<u8> = (0..=255).cycle().take(2_000).collect();
    let content = bytes.clone();
    let resource = Resource::new(
        "test:///bytes",
        "b",
        "Bytes.",
        "application/x",
        move |_: Context, request: ReadRequest| {
            let contents = ResourceContents::blob(request.uri, "application/x", &content);
            async move { Ok::<_, Stop>(vec![contents]) }
        },
    );
    server.add_resources(vec![resource]).unwrap();
    let mut client = Client::ready(&server).await;
    let refused = client
        .request("resources/read", json!({ "uri": "test:///bytes" }))
        .await;
    assert_eq!(codes(&refused), (1068, 1068));
    let hint = refused["error"]["data"]["refusal"]["hint"].as_str().unwrap();
    assert!(hint.contains("progressToken") && hint.contains("?offset=&limit="));
    let id = client
        .start(
            "resources/read",
            json!({ "uri": "test:///bytes", "_meta": { "progressToken": 1 } }),
        )
        .await;
    let mut whole = Vec::new();
    let answer = loop {
        let message = client.next().await.unwrap();
        if message["id"] == json!(id) {
            break message;
        }
        use base64::Engine as _;
        let piece = message["params"]["_meta"]["mcp-runtime/chunk"]["blob"]
            .as_str()
            .unwrap();
        whole.extend(base64::engine::general_purpose::STANDARD.decode(piece).unwrap());
    };
    assert_eq!(
        (whole, &answer["result"]["contents"][0]["_meta"]["size"]),
        (bytes, &json!(2_000))
    );
}

#[tokio::test]
async fn what_is_as_large_as_the_streaming_limit_still_comes_whole() {
    let server = server_with(|s| s.limits.stream_above_bytes = 100);
    let resource = |bytes: usize| text(&format!("test:///{bytes}"), &"a".repeat(bytes));
    server.add_resources([100, 101].map(resource).into()).unwrap();
    let mut client = Client::ready(&server).await;
    for (bytes, shown) in [(100, 100), (101, 0)] {
        let read = json!({ "uri": format!("test:///{bytes}"), "_meta": { "progressToken": bytes } });
        let answer = client.request("resources/read", read).await;
        let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), shown, "the rest comes in pieces");
    }
}

#[derive(Clone)]
struct User(&'static str);

struct OnlyAnna;

impl Guard for OnlyAnna {
    fn check(&self, cx: &Context, access: Access<'_>) -> Result<(), Refusal> {
        let anna = cx.extension::<User>().is_some_and(|user| user.0 == "anna");
        match access {
            Access::ReadResource("test:///secret")
            | Access::SubscribeResource("test:///secret")
            | Access::CallTool("secret")
            | Access::GetPrompt("secret")
                if !anna =>
            {
                Err(Refusal::new(Code::AuthzForbidden, "only Anna may"))
            }
            _ => Ok(()),
        }
    }
}

// proves 002 Req-Res-011
//= specs/mcp-server.md#resources
//= type=test
//# A resource the client may not read MUST be refused with 1014 before it is looked up.
#[tokio::test]
async fn a_guard_decides_who_reads_what() {
    let server = Server::builder(Info::new("test", "1.0.0"))
        .guard(OnlyAnna)
        .build();
    server
        .add_resources(vec![
            text("test:///open", "o"),
            text("test:///secret", "s").cached(),
        ])
        .unwrap();
    server
        .add_tool(mcp_server::Tool::ready("secret", "x", |_| {
            Ok(mcp_protocol::ToolResult::text("s"))
        }))
        .unwrap();
    server
        .add_prompts(vec![Prompt::template("secret", "x", vec![])])
        .unwrap();
    for (user, allowed) in [("anna", true), ("boris", false)] {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let mut extensions = ::http::Extensions::new();
        extensions.insert(User(user));
        let serving = server.clone();
        tokio::spawn(async move { mcp_server::lines::serve(&serving, reader, writer, extensions).await });
        let (reader, mut writer) = tokio::io::split(ours);
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
        let mut lines = BufReader::new(reader).lines();
        let mut ask = async |method: &str, mut params: Value| {
            params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            serde_json::from_str::<Value>(&lines.next_line().await.unwrap().unwrap()).unwrap()
        };
        assert!(ask("resources/read", json!({ "uri": "test:///open" })).await["result"].is_object());
        for (method, params) in [
            ("resources/read", json!({ "uri": "test:///secret" })),
            ("tools/call", json!({ "name": "secret" })),
            ("prompts/get", json!({ "name": "secret" })),
        ] {
            let answer = ask(method, params).await;
            match allowed {
                true => assert!(answer["result"].is_object(), "{method} {answer}"),
                false => assert_eq!(codes(&answer), (1014, 1014), "{method} {answer}"),
            }
        }
    }
}

// proves 002 Req-Res-012
#[tokio::test]
async fn a_long_list_comes_page_by_page() {
    let server = server_with(|s| s.limits.page_entries = 10);
    server
        .add_resources((0..25).map(|n| text(&format!("test:///{n:02}"), "x")).collect())
        .unwrap();
    let mut client = Client::ready(&server).await;
    let (mut uris, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let page = client.request("resources/list", params).await["result"].clone();
        uris.extend(
            page["resources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|r| r["uri"].as_str().unwrap().to_owned()),
        );
        pages += 1;
        match page["nextCursor"].as_str() {
            // Both spellings of the field are read.
            Some(next) if pages == 1 => params = json!({ "next_cursor": next }),
            Some(next) => params = json!({ "cursor": next }),
            None => break,
        }
    }
    assert_eq!(pages, 3);
    let expect: Vec<String> = (0..25).map(|n| format!("test:///{n:02}")).collect();
    assert_eq!(uris, expect);
}

struct Numbers;

impl ResourceSource for Numbers {
    fn list<'a>(
        &'a self,
        _cx: &'a Context,
        from: &'a str,
        _under: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Listing<Resource>, Refusal>> {
        let start: usize = from.parse().unwrap_or(0);
        let page = (start..start + 2)
            .map(|n| text(&format!("number:///{n}"), ""))
            .collect();
        std::future::ready(Ok(Listing {
            entries: page,
            next: (start + 2 < 5).then(|| (start + 2).to_string()),
        }))
        .boxed()
    }

    fn read<'a>(
        &'a self,
        _cx: &'a Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<ResourceContents>>, Stop>> {
        let found = uri
            .strip_prefix("number:///")
            .map(|n| vec![ResourceContents::text(uri, "text/plain", n)]);
        std::future::ready(Ok(found)).boxed()
    }
}

//= specs/mcp-server.md#registry
//= type=test
//# What a source holds MUST begin on the page on which the registered entries end.
#[tokio::test]
async fn a_source_is_listed_after_the_registered_ones() {
    let server = Server::builder(Info::new("test", "1.0.0"))
        .settings(Settings::default())
        .resource_source(Numbers)
        .build();
    server.add_resources(vec![text("test:///a", "a")]).unwrap();
    let mut client = Client::ready(&server).await;
    let (mut pages, mut params) = (Vec::new(), json!({}));
    loop {
        let page = client.request("resources/list", params).await["result"].clone();
        pages.push(page["resources"].as_array().unwrap().len());
        match page["nextCursor"].as_str() {
            Some(next) => params = json!({ "cursor": next }),
            None => break,
        }
    }
    assert_eq!(pages, [1 + 2, 2, 2]);
    let read = client
        .request("resources/read", json!({ "uri": "number:///4" }))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "4");
    assert_eq!(
        refusal(
            &client
                .request("resources/read", json!({ "uri": "other:///4" }))
                .await
        ),
        1046
    );
}
