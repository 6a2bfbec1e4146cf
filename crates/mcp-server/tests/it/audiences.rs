//! What a guard shows to whom, over HTTP in both eras, and what a notification tells of its sender.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_protocol::{Arguments, Ask, ResourceContents, ToolResult};
use mcp_server::streamable_http::SessionOwner;
use mcp_server::{
    Access, Context, Entry, Guard, Info, List, Prompt, Resource, ResourceTemplate, Server, Stop, Tool,
};
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use crate::client::{Client, codes};
use crate::http_client::{Http, json_of};

/// Administrators see everything, guests what is not secret, and nobody knows what a broken guard says.
#[derive(Clone, Default)]
struct Roles {
    written: Arc<AtomicUsize>,
}

fn user(cx: &Context) -> &str {
    cx.extension::<SessionOwner>()
        .map_or("nobody", |owner| owner.0.as_str())
}

impl Guard for Roles {
    fn check(&self, cx: &Context, access: Access<'_>) -> Result<(), Refusal> {
        match access {
            Access::CallTool("secret") if user(cx) != "admin" => {
                Err(Refusal::new(Code::AuthzForbidden, "only administrators may"))
            }
            _ => Ok(()),
        }
    }

    fn audience(&self, cx: &Context) -> Option<String> {
        match user(cx) {
            "admin" => None,
            "broken" => panic!("the guard is broken"),
            other => Some(other.split('-').next().unwrap_or_default().to_owned()),
        }
    }

    fn shows(&self, audience: &str, entry: Entry<'_>) -> bool {
        self.written.fetch_add(1, Ordering::SeqCst);
        let (Entry::Tool(name)
        | Entry::Resource(name)
        | Entry::Template(name)
        | Entry::Prompt(name)
        | Entry::Family(name)) = entry;
        audience == "guest" && !name.contains("secret")
    }
}

fn guarded() -> (Server, Roles) {
    let roles = Roles::default();
    let server = Server::builder(Info::new("test", "1.0.0"))
        .guard(roles.clone())
        .build();
    let who = |name: &str| {
        Tool::new(name, "Says who asks.", |cx: Context, _: Arguments| async move {
            Ok::<_, Stop>(ToolResult::text(user(&cx)))
        })
    };
    server.add_tools(vec![who("open"), who("secret")]).unwrap();
    let resource = |uri: &str| {
        Resource::new(
            uri,
            "r",
            "r",
            "text/plain",
            |_, request: mcp_server::ReadRequest| async move {
                Ok::<_, Stop>(vec![ResourceContents::text(request.uri, "text/plain", "r")])
            },
        )
    };
    server
        .add_resources(vec![resource("test:///open"), resource("test:///secret")])
        .unwrap();
    for pattern in ["test:///open/{id}", "test:///secret/{id}"] {
        server
            .add_template(ResourceTemplate::new(
                pattern,
                "t",
                "t",
                |_, request: mcp_server::ReadRequest| async move {
                    Ok::<_, Stop>(vec![ResourceContents::text(request.uri, "text/plain", "t")])
                },
            ))
            .unwrap();
    }
    let prompt = |name: &str| Prompt::template(name, "p", vec![]);
    server
        .add_prompts(vec![prompt("open"), prompt("secret")])
        .unwrap();
    (server, roles)
}

/// What stands in the lists, by the member that names an entry.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];

async fn ask(http: &mut Http, stateless: bool, method: &str, params: Value) -> Value {
    if stateless {
        json_of(http.stateless(method, params, json!({})).await).await
    } else {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        http.post(message).await.json
    }
}

async fn http_as(server: &Server, name: &str, stateless: bool) -> Http {
    let mut http = Http::new(server);
    http.owner = Some(SessionOwner(name.to_owned()));
    if !stateless {
        http.session = Some(http.open().await);
    }
    http
}

//= specs/mcp-server.md#registry
//= type=test
//# A list MUST hold the entries the client's audience sees, and no others.
#[tokio::test]
async fn each_audience_sees_its_own_lists_in_both_eras() {
    let (server, _) = guarded();
    for stateless in [false, true] {
        for (name, seen) in [("admin", 2), ("guest-anna", 1), ("stranger", 0)] {
            let mut http = http_as(&server, name, stateless).await;
            for (method, member, key) in LISTS {
                let answer = ask(&mut http, stateless, method, json!({})).await;
                let entries = answer["result"][member].as_array().expect(method);
                assert_eq!(entries.len(), seen, "{name} {method} {answer}");
                if seen == 1 {
                    assert!(entries[0][key].as_str().unwrap().contains("open"), "{answer}");
                }
            }
        }
    }
}

// Found by review: a template that was not listed could be completed, and told so that it was there.
//= specs/mcp-server.md#registry
//= type=test
//# What the lists of a request do not hold MUST NOT be completed, and MUST be refused like what is not there.
#[tokio::test]
async fn what_is_not_listed_is_not_completed() {
    let (server, _) = guarded();
    for stateless in [false, true] {
        for name in ["admin", "guest-anna", "stranger"] {
            let mut http = http_as(&server, name, stateless).await;
            for (kind, member, secret, open, nothing) in [
                (
                    "ref/resource",
                    "uri",
                    "test:///secret/{id}",
                    "test:///open/{id}",
                    "test:///none/{id}",
                ),
                (
                    "ref/resource",
                    "uri",
                    "test:///secret",
                    "test:///open",
                    "test:///none",
                ),
                ("ref/prompt", "name", "secret", "open", "none"),
            ] {
                let mut answers = Vec::new();
                for about in [secret, open, nothing] {
                    let reference = json!({ "type": kind, member: about });
                    let wish = json!({ "ref": reference, "argument": { "name": "id", "value": "" } });
                    let mut answer = ask(&mut http, stateless, "completion/complete", wish).await;
                    answer["id"].take();
                    answers.push(answer.to_string().replace(about, "THIS"));
                }
                let is_like_nothing = [0, 1].map(|at| answers[at] == answers[2]);
                let wanted = match name {
                    "admin" => [false, false],
                    "guest-anna" => [true, false],
                    _ => [true, true],
                };
                assert_eq!(is_like_nothing, wanted, "{name} {kind}: {answers:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_list_is_written_once_for_each_audience_and_again_when_the_rule_changes() {
    let (server, roles) = guarded();
    let mut anna = http_as(&server, "guest-anna", true).await;
    let mut boris = http_as(&server, "guest-boris", true).await;
    for _ in 0..3 {
        ask(&mut anna, true, "tools/list", json!({})).await;
        ask(&mut boris, true, "tools/list", json!({})).await;
    }
    assert_eq!(
        roles.written.load(Ordering::SeqCst),
        2,
        "one question for each tool"
    );
    server.list_changed(List::Tools);
    ask(&mut anna, true, "tools/list", json!({})).await;
    assert_eq!(roles.written.load(Ordering::SeqCst), 4);
    server.remove_tool("open");
    let answer = ask(&mut boris, true, "tools/list", json!({})).await;
    assert_eq!(
        answer["result"]["tools"],
        json!([]),
        "a change reaches every audience"
    );
}

#[tokio::test]
async fn what_the_transport_attached_reaches_the_tool_and_the_guard_in_both_eras() {
    let (server, _) = guarded();
    for stateless in [false, true] {
        let mut admin = http_as(&server, "admin", stateless).await;
        let mut guest = http_as(&server, "guest-anna", stateless).await;
        for (http, name) in [(&mut admin, "admin"), (&mut guest, "guest-anna")] {
            let answer = ask(http, stateless, "tools/call", json!({ "name": "open" })).await;
            assert_eq!(answer["result"]["content"][0]["text"], name);
        }
        let secret = json!({ "name": "secret" });
        let answer = ask(&mut admin, stateless, "tools/call", secret.clone()).await;
        assert!(answer["result"].is_object(), "{answer}");
        let answer = ask(&mut guest, stateless, "tools/call", secret).await;
        assert_eq!(codes(&answer), (1014, 1014), "{answer}");
    }
}

#[tokio::test]
async fn a_guard_that_panics_costs_one_answer() {
    let (server, _) = guarded();
    let mut http = http_as(&server, "broken", true).await;
    let answer = ask(&mut http, true, "tools/list", json!({})).await;
    assert_eq!(codes(&answer), (-32603, 1079), "{answer}");
    let answer = ask(&mut http, true, "server/discover", json!({})).await;
    assert!(answer["result"].is_object(), "{answer}");
}

#[tokio::test]
async fn a_notification_is_heard_with_its_sender_who_can_be_asked_back() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let hear = move |cx: Context, method: &str, params: Value| {
        assert_ne!(method, "notifications/nonsense", "this panic is part of the test");
        let (tell, heard) = (tell.clone(), (method.to_owned(), params));
        tokio::spawn(async move {
            let roots = cx.ask("roots", Ask::roots()).await.unwrap();
            tell.send((heard, cx.client().name.clone(), roots)).unwrap();
        });
    };
    let server = Server::builder(Info::new("test", "1.0.0"))
        .on_notification(hear)
        .build();
    let mut client = Client::ready_with(&server, "2025-11-25", json!({ "roots": {} })).await;
    client.notify("notifications/nonsense", json!({})).await;
    client
        .notify("notifications/roots/list_changed", json!({ "n": 1 }))
        .await;
    let question = client.notice("roots/list").await;
    let roots = json!({ "roots": [{ "uri": "file:///a" }] });
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": roots }))
        .await;
    let told = tokio::time::timeout(Duration::from_secs(60), told.recv()).await;
    let heard = ("notifications/roots/list_changed".to_owned(), json!({ "n": 1 }));
    assert_eq!(told.unwrap().unwrap(), (heard, "test-client".to_owned(), roots));
}

// Found by a test of apps: arguments that do not fit told what a hidden tool wants, and a wrong name what it is called.
//= specs/mcp-server.md#tools
//= type=test
//# What is wrong with the arguments of a tool MUST be told only to those who may call it.
//= specs/mcp-server.md#tools
//= type=test
//# A name that is suggested for one that no tool has MUST be among those that are listed to the client.
#[tokio::test]
async fn a_tool_that_may_not_be_called_tells_nothing_of_itself() {
    let (server, _) = guarded();
    for stateless in [false, true] {
        for (name, is_told) in [("admin", true), ("guest-anna", false)] {
            let mut http = http_as(&server, name, stateless).await;
            let odd = json!({ "name": "secret", "arguments": [] });
            let refused = ask(&mut http, stateless, "tools/call", odd).await.to_string();
            assert_eq!(refused.contains("only administrators may"), !is_told, "{refused}");
            assert_eq!(refused.contains("arguments"), is_told, "{refused}");
            for (wrong, meant) in [("SECRET", "secret"), ("Open", "open")] {
                let wish = json!({ "name": wrong, "arguments": {} });
                let answer = ask(&mut http, stateless, "tools/call", wish).await;
                let hint = answer["error"]["data"]["refusal"]["hint"].as_str().unwrap();
                let is_named = hint.contains(&format!("{meant:?}"));
                assert_eq!(is_named, is_told || meant == "open", "{name} {wrong}: {hint}");
            }
        }
    }
}
