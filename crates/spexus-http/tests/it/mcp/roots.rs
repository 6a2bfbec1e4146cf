//! Files of the server's machine as resources: inside the roots, for those who may read, and kept over a restart.

use super::Agent;
use crate::harness::Server;
use serde_json::{Value, json};
use spexus_domain::change::Action;
use spexus_http::{HttpOptions, McpOptions};
use spexus_store::Location;
use std::path::{Path, PathBuf};

/// `specs` is configured, below `open` an administrator may add more.
struct Folders {
    scratch: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("specs/login.md", "# Login"),
            ("specs/.env", "KEY=1"),
            ("open/code/main.rs", "fn main() {}"),
            ("outside.md", "not for agents"),
        ] {
            let path = scratch.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { scratch }
    }

    fn base(&self) -> PathBuf {
        self.scratch.path().canonicalize().unwrap()
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}", self.base().join(path).display())
    }

    fn options(&self) -> McpOptions {
        McpOptions {
            roots: vec![self.base().join("specs")],
            roots_allow: vec![self.base().join("open")],
            ..McpOptions::default()
        }
    }
}

/// Every page of the list.
async fn listed(agent: &Agent) -> Vec<String> {
    let (mut uris, mut params) = (Vec::new(), json!({}));
    loop {
        let page = agent.ask("resources/list", params).await;
        let uri = |entry: &Value| entry["uri"].as_str().unwrap().to_owned();
        uris.extend(page["resources"].as_array().unwrap().iter().map(uri));
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return uris,
        }
    }
}

fn refusal(error: &Value) -> u64 {
    error["data"]["refusal"]["code"]
        .as_u64()
        .unwrap_or_else(|| panic!("{error}"))
}

// proves 002 Req-Root-001
// proves 002 Req-Root-005
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_roots_stand_beside_the_items() {
    let folders = Folders::new();
    let server = Server::with(folders.options()).await;
    server.seed().await;
    let agent = Agent::connect(&server).await;
    assert_eq!(
        agent.hello["result"]["capabilities"]["experimental"]["roots"]["version"],
        "1.0.0"
    );
    let uris = listed(&agent).await;
    assert!(uris.contains(&"requirement://REQ-001".to_owned()));
    let files: Vec<&String> = uris.iter().filter(|uri| uri.starts_with("file:")).collect();
    assert_eq!(files, [&folders.uri("specs/login.md")]);
    let read = agent
        .ask("resources/read", json!({ "uri": folders.uri("specs/login.md") }))
        .await;
    assert_eq!(read["contents"][0]["text"], "# Login");
    for (code, path) in [
        (1039, "outside.md"),
        (1039, "open/code/main.rs"),
        (1014, "specs/.env"),
        (1036, "specs/../outside.md"),
    ] {
        let error = agent
            .refused("resources/read", json!({ "uri": folders.uri(path) }))
            .await;
        assert_eq!(refusal(&error), code, "{path}");
    }
    let templates = agent.ask("resources/templates/list", json!({})).await.to_string();
    assert!(templates.contains("file:///{+path}"));
    let outside = agent
        .refused("resources/subscribe", json!({ "uri": folders.uri("outside.md") }))
        .await;
    assert_eq!(refusal(&outside), 1039);
    server.stop().await;
}

//= specs/spexus-mcp.md#roots
//= type=test
//# Without a configured folder no file MUST be served, and the methods of roots MUST be neither declared nor served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_configured_folder_there_are_no_files() {
    let folders = Folders::new();
    let server = Server::on_sqlite().await;
    let agent = Agent::connect(&server).await;
    let declared = &agent.hello["result"]["capabilities"]["experimental"];
    assert!(declared.get("roots").is_none(), "{declared}");
    let folder = json!({ "uri": folders.uri("open/code") });
    for method in ["roots/list", "roots/add", "roots/remove"] {
        let error = agent.refused(method, folder.clone()).await;
        assert_eq!(error["code"], -32601, "{method}: {error}");
    }
    let error = agent
        .refused("resources/read", json!({ "uri": folders.uri("outside.md") }))
        .await;
    assert_eq!(refusal(&error), 1039);
    let templates = agent.ask("resources/templates/list", json!({})).await.to_string();
    assert!(!templates.contains("file:"));
    server.stop().await;
}

// proves 002 Req-Root-003
// proves 002 Req-Root-004
// proves 002 Req-Root-006
//= specs/spexus-mcp.md#roots
//= type=test
//# Roots and their files MUST be shown to those who may read, and changed by administrators alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_opens_a_folder_and_everybody_hears_of_it() {
    let folders = Folders::new();
    let server = Server::with(folders.options()).await;
    let admin = Agent::connect(&server).await;
    let ann = Agent::with(&server, &server.user("ann", "Commenter").await, "2025-06-18", &[]).await;
    let idle = Agent::with(
        &server,
        &server.token,
        "2025-06-18",
        &[("x-spexus-read-only", "true")],
    )
    .await;
    let (code, wanted) = (
        folders.uri("open/code/main.rs"),
        json!({ "uri": folders.uri("open/code"), "name": "Code" }),
    );
    for (agent, method) in [(&ann, "roots/add"), (&ann, "roots/remove"), (&idle, "roots/add")] {
        assert_eq!(
            refusal(&agent.refused(method, wanted.clone()).await),
            1014,
            "{method}"
        );
    }
    assert_eq!(
        ann.ask("roots/list", json!({})).await["roots"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let mut notices = ann.listen().await;
    admin.ask("roots/add", wanted.clone()).await;
    assert!(notices.next("notifications/roots/list_changed").await.is_some());
    assert!(
        notices
            .next("notifications/resources/list_changed")
            .await
            .is_some()
    );
    assert!(listed(&ann).await.contains(&code));
    assert_eq!(
        ann.ask("resources/read", json!({ "uri": code })).await["contents"][0]["text"],
        "fn main() {}"
    );
    // What was added and removed is in the history, by whom.
    admin.ask("roots/remove", wanted).await;
    assert!(notices.next("notifications/roots/list_changed").await.is_some());
    assert!(!listed(&ann).await.contains(&code));
    let news = spexus_service::changes::news(&server.service, 0, 500, false)
        .await
        .unwrap();
    let of_roots = news
        .iter()
        .map(|news| &news.change)
        .filter(|change| change.label == "root");
    let told: Vec<_> = of_roots
        .map(|change| (change.user.as_str(), change.action))
        .collect();
    assert_eq!(told, [("admin", Action::Created), ("admin", Action::Deleted)]);
    server.stop().await;
}

/// Reads until it succeeds: another node learns of a change by the feed, a moment later.
async fn readable(agent: &Agent, uri: &str, notices: &mut super::Notices) {
    while agent
        .request("resources/read", json!({ "uri": uri }))
        .await
        .get("error")
        .is_some()
    {
        notices
            .next("notifications/resources/list_changed")
            .await
            .expect("the other node tells");
    }
}

async fn lasts(first: Server, folders: &Folders) {
    let agent = Agent::connect(&first).await;
    let second = Server::second_node(&first, folders.options()).await;
    let there = Agent::connect(&second).await;
    let mut notices = there.listen().await;
    let code = folders.uri("open/code/main.rs");
    agent
        .ask(
            "roots/add",
            json!({ "uri": folders.uri("open/code"), "description": "What runs." }),
        )
        .await;
    readable(&there, &code, &mut notices).await;
    second.stop().await;
    let third = Server::second_node(&first, folders.options()).await;
    let agent = Agent::connect(&third).await;
    let roots = agent.ask("roots/list", json!({})).await;
    assert_eq!(roots["roots"][0]["description"], "What runs.", "{roots}");
    assert_eq!(
        agent.ask("resources/read", json!({ "uri": code })).await["contents"][0]["text"],
        "fn main() {}"
    );
    third.stop().await;
    first.stop().await;
}

//= specs/spexus-mcp.md#roots
//= type=test
//# A root that was added MUST be there after a restart and on every node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_outlives_the_server_that_added_it() {
    let folders = Folders::new();
    Box::pin(lasts(Server::with(folders.options()).await, &folders)).await;
    if let Some(server) = Server::on_postgres_with(folders.options()).await {
        Box::pin(lasts(server, &folders)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_does_not_exist_keeps_the_server_from_starting() {
    let folders = Folders::new();
    let mut options = folders.options();
    options.roots.push(Path::new("/never/there").to_owned());
    let location = Location::File(folders.base().join("spexus.db"));
    let now = std::sync::Arc::new(|| spexus_domain::Timestamp(1_790_000_000_000_000));
    let (service, _) =
        spexus_service::Service::open(&location, spexus_service::ServiceOptions::for_testing(), now)
            .await
            .unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = spexus_http::serve(
        listener,
        service,
        HttpOptions::default(),
        options,
        std::future::pending(),
    )
    .await
    .unwrap_err();
    assert!(refused.to_string().contains("/never/there"), "{refused}");
}

//= specs/mcp-server.md#roots
//= type=test
//# A file that a session watches MUST be watched again where the session goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watched_file_is_told_of_where_the_session_goes_on() {
    let folders = Folders::new();
    let first = Server::with(folders.options()).await;
    let agent = Agent::connect(&first).await;
    let uri = folders.uri("specs/login.md");
    agent.ask("resources/subscribe", json!({ "uri": uri })).await;
    let second = Server::second_node(&first, folders.options()).await;
    first.stop().await;
    let there = agent.at(&second);
    let mut notices = there.listen().await;
    // The file is looked at a moment after the session came: write until it is told.
    let path = folders.base().join("specs/login.md");
    let writing = tokio::spawn(async move {
        for round in 0.. {
            std::fs::write(&path, format!("# Login, {round}")).unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    });
    let told = notices.next("notifications/resources/updated").await;
    writing.abort();
    assert_eq!(told.unwrap()["uri"], uri.as_str());
    second.stop().await;
}
