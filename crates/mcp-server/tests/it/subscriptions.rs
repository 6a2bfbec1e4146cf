//! Who hears of changed resources and lists, and until when.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_server::{Change, Prompt};
use serde_json::{Value, json};

use crate::client::{Client, codes, refusal, server, server_with};
use crate::resources::text;

// proves 002 Req-Res-004
// proves 002 Req-Res-005
// proves 002 Req-Res-007
// proves 002 Req-Proto-013
//= specs/mcp-server.md#changes
//= type=test
//# A session MUST hear of a resource from the answer to its subscription until the answer to its unsubscription.
#[tokio::test]
async fn a_subscriber_hears_of_changes_until_it_unsubscribes() {
    let server = server();
    server
        .add_resources(vec![text("test:///a", "a"), text("test:///b", "b")])
        .unwrap();
    let mut client = Client::ready(&server).await;
    assert_eq!(
        client
            .request("resources/subscribe", json!({ "uri": "test:///a" }))
            .await["result"],
        json!({})
    );
    server.resource_changed("test:///b", Change::Updated);
    server.resource_changed("test:///a", Change::Updated);
    let notice = client.notice("notifications/resources/updated").await;
    let params = &notice["params"];
    assert_eq!(
        (&params["uri"], &params["resource_uri"]),
        (&json!("test:///a"), &json!("test:///a"))
    );
    assert_eq!(params["change_type"], "updated");
    params["timestamp"]
        .as_str()
        .unwrap()
        .parse::<jiff::Timestamp>()
        .expect("RFC 3339");
    server.remove_resource("test:///a");
    assert_eq!(
        client.notice("notifications/resources/updated").await["params"]["change_type"],
        "deleted"
    );
    client.notice("notifications/resources/list_changed").await;
    client
        .request("resources/unsubscribe", json!({ "uri": "test:///a" }))
        .await;
    server.resource_changed("test:///a", Change::Updated);
    assert!(client.heard_nothing_of("notifications/resources/updated").await);
    assert_eq!(
        refusal(
            &client
                .request("resources/subscribe", json!({ "uri": "test:///never" }))
                .await
        ),
        1046
    );
}

#[tokio::test]
async fn a_session_may_not_watch_everything() {
    let server = server_with(|s| s.limits.max_subscriptions_per_session = 1);
    server
        .add_resources(vec![text("test:///a", "a"), text("test:///b", "b")])
        .unwrap();
    let mut client = Client::ready(&server).await;
    assert!(
        client
            .request("resources/subscribe", json!({ "uri": "test:///a" }))
            .await["result"]
            .is_object()
    );
    assert_eq!(
        codes(
            &client
                .request("resources/subscribe", json!({ "uri": "test:///b" }))
                .await
        ),
        (1059, 1059)
    );
}

// proves 002 Req-Res-008
//= specs/mcp-server.md#changes
//= type=test
//# A changed resource MUST be told to every session and listener that watches it, with its address, the time and the kind of change.
#[tokio::test]
async fn ten_subscribers_and_a_listener_each_hear_of_a_change() {
    let server = server();
    server.add_resources(vec![text("test:///a", "a")]).unwrap();
    let mut clients = Vec::new();
    for _ in 0..10 {
        let mut client = Client::ready(&server).await;
        client
            .request("resources/subscribe", json!({ "uri": "test:///a" }))
            .await;
        clients.push(client);
    }
    let mut listener = Client::silent(&server);
    let filter =
        json!({ "notifications": { "resourceSubscriptions": ["test:///a"], "toolsListChanged": true } });
    let id = listener
        .start_stateless("subscriptions/listen", filter, json!({}))
        .await;
    let first = listener.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    server.resource_changed("test:///a", Change::Updated);
    for client in &mut clients {
        assert_eq!(
            client.notice("notifications/resources/updated").await["params"]["uri"],
            "test:///a"
        );
    }
    let notice = listener.notice("notifications/resources/updated").await;
    assert_eq!(
        notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(id)
    );
    assert_eq!(notice["params"]["change_type"], "updated");
}

//= specs/mcp-server.md#changes
//= type=test
//# A change of a list MUST be told to every active session and to every listener that asked for it, and to no other listener.
#[tokio::test]
async fn a_listener_hears_what_it_asked_for_and_ends_when_it_is_cancelled() {
    let server = server();
    let mut client = Client::silent(&server);
    let filter = json!({ "notifications": { "promptsListChanged": true } });
    let id = client
        .start_stateless("subscriptions/listen", filter, json!({}))
        .await;
    assert_eq!(
        client.next().await.unwrap()["params"]["notifications"],
        json!({ "promptsListChanged": true })
    );
    server.add_resources(vec![text("test:///a", "a")]).unwrap();
    server
        .add_prompts(vec![Prompt::template("p", "A prompt.", vec![])])
        .unwrap();
    let heard = client.next().await.unwrap();
    assert_eq!(heard["method"], "notifications/prompts/list_changed");
    client
        .notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    client.request("ping", json!({})).await;
    server.remove_prompt("p");
    let (rest, _) = client.finish().await;
    assert_eq!(rest, Vec::<Value>::new());
}

#[tokio::test]
async fn a_listener_whose_input_ends_is_answered() {
    let mut client = Client::silent(&server());
    let id = client
        .start_stateless("subscriptions/listen", json!({ "notifications": {} }), json!({}))
        .await;
    client.notice("notifications/subscriptions/acknowledged").await;
    let (rest, _) = client.finish().await;
    assert_eq!(rest[0]["id"], json!(id));
    assert_eq!(
        rest[0]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(id)
    );
}

/// Two people call different things by one name, and one thing by two.
struct Named;

/// Whose a request is.
#[derive(Clone)]
struct Tenant(&'static str);

impl mcp_server::Guard for Named {
    fn check(&self, _: &mcp_server::Context, _: mcp_server::Access<'_>) -> Result<(), refusal::Refusal> {
        Ok(())
    }

    fn tenant(&self, cx: &mcp_server::Context) -> Option<String> {
        cx.extension::<Tenant>().map(|tenant| tenant.0.to_owned())
    }
}

impl mcp_server::ResourceSource for Named {
    fn list<'a>(
        &'a self,
        _: &'a mcp_server::Context,
        _: &'a str,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Result<mcp_server::Listing<mcp_server::Resource>, refusal::Refusal>> {
        async {
            Ok(mcp_server::Listing {
                entries: Vec::new(),
                next: None,
            })
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        _: &'a mcp_server::Context,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<mcp_protocol::ResourceContents>>, mcp_server::Stop>> {
        async { Ok(None) }.boxed()
    }

    fn subscribe<'a>(
        &'a self,
        cx: &'a mcp_server::Context,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, mcp_server::Stop>> {
        let whose = cx.extension::<Tenant>().map_or("nobody", |tenant| tenant.0);
        let topic = uri.rsplit('/').next().map(|name| format!("{whose} {name}"));
        async { Ok(topic) }.boxed()
    }
}

/// ChangeSet are told by what is meant, under the name each uses, and lists to those whose they are.
//= specs/mcp-server.md#changes
//= type=test
//# News of a resource MUST be told under the topic it is watched by, each with the address its watcher wrote.
//= specs/mcp-server.md#changes
//= type=test
//# A change of one tenant's list MUST NOT be told to another tenant.
#[tokio::test]
async fn one_name_for_two_things_gives_no_false_news() {
    let server = mcp_server::Server::builder(mcp_server::Info::new("test", "1.0.0"))
        .guard(Named)
        .resource_source(Named)
        .build();
    let mut extensions = [http::Extensions::new(), http::Extensions::new()];
    extensions[0].insert(Tenant("ann"));
    extensions[1].insert(Tenant("bob"));
    let [ann, bob] = extensions;
    let (mut ann, mut bob) = (
        Client::ready_as(&server, ann).await,
        Client::ready_as(&server, bob).await,
    );
    for uri in ["test:///x", "test:///other/x"] {
        ann.request("resources/subscribe", json!({ "uri": uri })).await;
    }
    bob.request("resources/subscribe", json!({ "uri": "test:///x" }))
        .await;
    let news = |topic: &str, tenant: Option<&str>| mcp_server::ChangeSet {
        resources: vec![(topic.to_owned(), Change::Updated, None)],
        lists: vec![(mcp_server::List::Resources, tenant.map(str::to_owned))],
        ..mcp_server::ChangeSet::default()
    };
    server.publish(news("ann x", Some("ann")));
    server.publish(news("bob x", Some("nobody")));
    let mut heard = Vec::new();
    for _ in 0..2 {
        heard.push(ann.notice("notifications/resources/updated").await["params"]["uri"].clone());
    }
    heard.sort_by_key(Value::to_string);
    assert_eq!(heard, ["test:///other/x", "test:///x"]);
    ann.notice("notifications/resources/list_changed").await;
    assert_eq!(
        bob.notice("notifications/resources/updated").await["params"]["uri"],
        "test:///x"
    );
    assert!(ann.heard_nothing_of("notifications/resources/updated").await);
    assert!(bob.heard_nothing_of("notifications/resources/updated").await);
    assert!(bob.heard_nothing_of("notifications/resources/list_changed").await);
    server.publish(news("else", None));
    bob.notice("notifications/resources/list_changed").await;
    //= specs/mcp-server.md#changes
    //= type=test
    //# A change of one tenant's resource MUST NOT be told to a session or listener that does not see that tenant at that time.
    let owned = |tenant: &str| mcp_server::ChangeSet {
        resources: vec![("bob x".to_owned(), Change::Updated, Some(tenant.to_owned()))],
        ..mcp_server::ChangeSet::default()
    };
    server.publish(owned("ann"));
    assert!(bob.heard_nothing_of("notifications/resources/updated").await);
    server.publish(owned("bob"));
    bob.notice("notifications/resources/updated").await;
}
