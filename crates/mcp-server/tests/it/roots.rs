//! Roots as clients see them: listed, added, removed, told of, and kept by every file that is read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_server::{
    Context, CustomMethod, FileLimits, Files, FixedRoots, Info, Root, RootKeeper, RootSet, Server,
};
use refusal::Refusal;
use serde_json::{Value, json};

use crate::client::{Client, codes, refusal};

/// `specs` is configured, below `open` more may be added.
struct World {
    _scratch: tempfile::TempDir,
    base: PathBuf,
    server: Server,
}

/// Everybody may change the roots of a test.
pub(crate) struct Open;

impl RootKeeper for Open {
    fn may_change(&self, _cx: &Context) -> Result<(), Refusal> {
        Ok(())
    }

    fn add<'a>(&'a self, _cx: &'a Context, _root: &'a Root) -> BoxFuture<'a, Result<(), Refusal>> {
        async { Ok(()) }.boxed()
    }

    fn remove<'a>(&'a self, _cx: &'a Context, _root: &'a Root) -> BoxFuture<'a, Result<(), Refusal>> {
        async { Ok(()) }.boxed()
    }
}

fn world() -> World {
    world_with(Open, FileLimits::default())
}

fn world_with(keeper: impl RootKeeper, limits: FileLimits) -> World {
    let scratch = tempfile::tempdir().unwrap();
    let base = scratch.path().canonicalize().unwrap();
    for (path, text) in [
        ("specs/.env", "KEY=1"),
        ("specs/.gitignore", "build/\n"),
        ("specs/build/out.txt", "x"),
        ("specs/a.md", "# A"),
        ("specs/deep/b c.md", "# B"),
        ("specs/deep/picture.png", "\u{89}PNG\0"),
        ("specs/server.pem", "key"),
        ("specs/z.md", "# Z"),
        ("open/code/main.rs", "fn main() {}"),
        ("outside.md", "secret"),
    ] {
        std::fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
        std::fs::write(base.join(path), text).unwrap();
    }
    let roots = Arc::new(RootSet::new(&[base.join("specs")], &[base.join("open")]).unwrap());
    let files = Files::new(roots.clone(), limits);
    let server = Server::builder(Info::new("test", "1.0.0"))
        .resource_source(files.clone())
        .build();
    server.add_template(files.template()).unwrap();
    server.serve_roots(&roots, keeper);
    World {
        _scratch: scratch,
        base,
        server,
    }
}

impl World {
    fn uri(&self, path: &str) -> String {
        mcp_protocol::uri::of_path(&self.base.join(path))
    }
}

async fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({ "uri": uri })).await
}

fn names(answer: &Value) -> Vec<&str> {
    let entries = answer["result"]["resources"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"));
    entries
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

// proves 002 Req-Root-001
// proves 002 Req-Root-002
//= specs/mcp-server.md#roots
//= type=test
//# `roots/list` MUST name every root with its address, its name, its description when it has one, and whether it is managed.
#[tokio::test]
async fn roots_are_listed_with_what_is_known_of_them() {
    let world = world();
    let mut client = Client::ready(&world.server).await;
    let wanted = json!({ "uri": world.uri("open/code"), "name": "The code", "description": "What runs." });
    let added = client.request("roots/add", wanted).await;
    assert_eq!(added["result"]["root"]["managed"], false, "{added}");
    let listed = client.request("roots/list", json!({})).await;
    assert_eq!(
        listed["result"]["roots"],
        json!([
            { "uri": world.uri("open/code"), "name": "The code", "description": "What runs.", "managed": false },
            { "uri": world.uri("specs"), "name": "specs", "managed": true },
        ])
    );
}

// proves 002 Req-Root-003
// proves 002 Req-Root-004
// proves 002 Req-Root-005
//= specs/mcp-server.md#roots
//= type=test
//# A file MUST be refused with 1039 that lies outside the server's roots or, when the client declares roots, outside the client's.
#[tokio::test]
async fn what_a_root_holds_can_be_read_from_its_addition_to_its_removal() {
    let world = world();
    let mut client = Client::ready(&world.server).await;
    let code = world.uri("open/code/main.rs");
    assert_eq!(codes(&read(&mut client, &code).await), (1039, 1039));
    client
        .request("roots/add", json!({ "uri": world.uri("open/code") }))
        .await;
    let contents = &read(&mut client, &code).await["result"]["contents"][0];
    assert_eq!(contents["text"], "fn main() {}");
    assert_eq!(contents["mimeType"], "text/x-rust");
    assert_eq!(contents["_meta"]["size"], 12);
    let removed = client
        .request("roots/remove", json!({ "uri": world.uri("open/code/") }))
        .await;
    assert_eq!(
        removed["result"]["root"]["uri"],
        world.uri("open/code"),
        "{removed}"
    );
    assert_eq!(refusal(&read(&mut client, &code).await), 1039);
    assert_eq!(refusal(&read(&mut client, &world.uri("outside.md")).await), 1039);
    assert_eq!(refusal(&read(&mut client, "file:///etc/passwd").await), 1039);
    let climbing = format!("{}/../outside.md", world.uri("specs"));
    assert_eq!(codes(&read(&mut client, &climbing).await), (1036, 1036));
    assert_eq!(
        refusal(&read(&mut client, &world.uri("specs/never.md")).await),
        1046
    );
    assert_eq!(refusal(&read(&mut client, &world.uri("specs/deep")).await), 1046);
    for wrong in [json!({}), json!({ "uri": 7 }), json!({ "uri": "x", "name": [] })] {
        let answer = client.request("roots/add", wrong).await;
        assert!((1028..=1029).contains(&refusal(&answer)), "{answer}");
    }
    assert_eq!(
        refusal(
            &client
                .request("roots/remove", json!({ "uri": world.uri("specs") }))
                .await
        ),
        1014
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_out_of_the_roots_is_not_followed_and_one_inside_is() {
    let world = world();
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(world.base.join(target), world.base.join("specs").join(name)).unwrap();
    };
    link("outside.md", "way-out.md");
    link("specs/a.md", "way-in.md");
    link(".", "up");
    let mut client = Client::ready(&world.server).await;
    for path in ["specs/way-out.md", "specs/up/outside.md"] {
        assert_eq!(
            codes(&read(&mut client, &world.uri(path)).await),
            (1038, 1038),
            "{path}"
        );
    }
    let inside = read(&mut client, &world.uri("specs/way-in.md")).await;
    assert_eq!(inside["result"]["contents"][0]["text"], "# A");
}

//= specs/mcp-server.md#roots
//= type=test
//# Hidden files and files named like keys or credentials MUST be neither listed nor read.
//= specs/mcp-server.md#roots
//= type=test
//# The list of files MUST come in pages, in order, and leave out what the ignore files of a folder name.
#[tokio::test]
async fn files_are_listed_in_pages_without_what_nobody_means_to_show() {
    let limits = FileLimits {
        page_entries: 2,
        ..FileLimits::default()
    };
    let world = world_with(Open, limits);
    let mut client = Client::ready(&world.server).await;
    let first = client.request("resources/list", json!({})).await;
    assert_eq!(names(&first), ["a.md", "deep/b c.md"]);
    let entry = &first["result"]["resources"][1];
    assert_eq!(entry["uri"], world.uri("specs/deep/b c.md"));
    assert_eq!(
        (&entry["mimeType"], &entry["size"]),
        (&json!("text/markdown"), &json!(3))
    );
    entry["annotations"]["lastModified"]
        .as_str()
        .unwrap()
        .parse::<jiff::Timestamp>()
        .unwrap();
    let more = json!({ "cursor": first["result"]["nextCursor"] });
    let second = client.request("resources/list", more).await;
    assert_eq!(names(&second), ["z.md"]);
    assert!(second["result"].get("nextCursor").is_none());
    let below = client
        .request("resources/list", json!({ "path": world.uri("specs/deep") }))
        .await;
    assert_eq!(names(&below), ["deep/b c.md"]);
    let above = client
        .request("resources/list", json!({ "path": world.uri("open") }))
        .await;
    assert_eq!(refusal(&above), 1039);
    for hidden in ["specs/.env", "specs/.gitignore", "specs/server.pem"] {
        assert_eq!(
            refusal(&read(&mut client, &world.uri(hidden)).await),
            1014,
            "{hidden}"
        );
    }
    let template = json!({ "type": "ref/resource", "uri": "file:///{+path}" });
    let argument = json!({ "name": "path", "value": "bcmd" });
    let found = client
        .request(
            "completion/complete",
            json!({ "ref": template, "argument": argument }),
        )
        .await;
    let suggested = found["result"]["completion"]["values"].as_array().unwrap();
    assert!(
        suggested[0].as_str().unwrap().ends_with("specs/deep/b c.md"),
        "{found}"
    );
}

#[tokio::test]
async fn a_file_is_read_in_parts_and_as_bytes_when_it_is_no_text() {
    let limits = FileLimits {
        max_read_bytes: 8,
        ..FileLimits::default()
    };
    let world = world_with(Open, limits);
    std::fs::write(world.base.join("specs/long.txt"), "äbcdefghijkl").unwrap();
    let mut client = Client::ready(&world.server).await;
    let long = world.uri("specs/long.txt");
    let refused = read(&mut client, &long).await;
    assert_eq!(refusal(&refused), 1068);
    assert!(
        refused["error"]["data"]["refusal"]["hint"]
            .as_str()
            .unwrap()
            .contains("?offset=")
    );
    let part = read(&mut client, &format!("{long}?offset=1&limit=4")).await;
    assert_eq!(part["result"]["contents"][0]["text"], "bcd");
    assert_eq!(part["result"]["contents"][0]["_meta"]["size"], 13);
    assert_eq!(refusal(&read(&mut client, &format!("{long}?line=4")).await), 1021);
    let picture = read(&mut client, &world.uri("specs/deep/picture.png")).await;
    let contents = &picture["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "image/png");
    assert!(contents["blob"].is_string() && contents["text"].is_null());
}

/// Answers the server's question for roots.
async fn declare(client: &mut Client, uris: &[String]) {
    let question = client.notice("roots/list").await;
    let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
    client
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": roots } }))
        .await;
}

//= specs/mcp-server.md#roots
//= type=test
//# A client that declares roots MUST be asked for them before a file is read for it.
//= specs/mcp-server.md#roots
//= type=test
//# After the client told that its roots changed, they MUST be asked for again before they are used.
#[tokio::test]
async fn a_client_reaches_only_what_lies_in_its_own_roots_too() {
    let world = world();
    let (inside, outside) = (world.uri("specs/deep/b c.md"), world.uri("specs/a.md"));
    let mut client = Client::ready_with(
        &world.server,
        "2025-11-25",
        json!({ "roots": { "listChanged": true } }),
    )
    .await;
    let id = client.start("resources/read", json!({ "uri": inside })).await;
    declare(&mut client, &[world.uri("specs/deep")]).await;
    assert_eq!(
        client.answer(&json!(id)).await["result"]["contents"][0]["text"],
        "# B"
    );
    // Asked once, the answer holds for the session, for lists as well.
    assert_eq!(refusal(&read(&mut client, &outside).await), 1039);
    assert_eq!(
        names(&client.request("resources/list", json!({})).await),
        ["deep/b c.md"]
    );
    assert_eq!(
        refusal(
            &client
                .request("resources/subscribe", json!({ "uri": outside }))
                .await
        ),
        1039
    );
    client.notify("notifications/roots/list_changed", json!({})).await;
    let id = client.start("resources/read", json!({ "uri": outside })).await;
    // A client that names no folder limits nothing.
    declare(&mut client, &[]).await;
    assert_eq!(
        client.answer(&json!(id)).await["result"]["contents"][0]["text"],
        "# A"
    );
}

#[tokio::test]
async fn in_the_stateless_era_the_question_for_roots_comes_as_a_result() {
    let world = world();
    let mut client = Client::silent(&world.server);
    let uri = world.uri("specs/a.md");
    let asked = client
        .stateless("resources/read", json!({ "uri": uri }), json!({ "roots": {} }))
        .await;
    assert_eq!(
        asked["result"]["inputRequests"]["roots"]["method"], "roots/list",
        "{asked}"
    );
    let answer = |round: &serde_json::Value, folder: &str| json!({ "uri": uri, "requestState": round["result"]["requestState"], "inputResponses": { "roots": { "roots": [{ "uri": world.uri(folder) }] } } });
    let read = client
        .stateless("resources/read", answer(&asked, "specs"), json!({ "roots": {} }))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "# A");
    let asked = client
        .stateless("resources/read", json!({ "uri": uri }), json!({ "roots": {} }))
        .await;
    let refused = client
        .stateless(
            "resources/read",
            answer(&asked, "specs/deep"),
            json!({ "roots": {} }),
        )
        .await;
    assert_eq!(refusal(&refused), 1039);
}

// proves 002 Req-Root-006
//= specs/mcp-server.md#roots
//= type=test
//# A change of the roots MUST be told to every session that asked for them and every listener that asked to hear of it, and the list of resources MUST be told to have changed.
#[tokio::test]
async fn a_changed_root_is_told_in_both_eras() {
    let world = world();
    let mut follower = Client::ready(&world.server).await;
    follower.request("roots/list", json!({})).await;
    let mut other = Client::ready(&world.server).await;
    let mut listener = Client::silent(&world.server);
    let filter = json!({ "notifications": { "rootsListChanged": true, "resourcesListChanged": true } });
    listener
        .start_stateless("subscriptions/listen", filter.clone(), json!({}))
        .await;
    let granted = listener.notice("notifications/subscriptions/acknowledged").await;
    assert_eq!(granted["params"]["notifications"], filter["notifications"]);
    let add = json!({ "uri": world.uri("open/code") });
    other.request("roots/add", add.clone()).await;
    for client in [&mut follower, &mut listener] {
        client.notice("notifications/roots/list_changed").await;
        client.notice("notifications/resources/list_changed").await;
    }
    other.notice("notifications/resources/list_changed").await;
    assert!(other.heard_nothing_of("notifications/roots/list_changed").await);
    let watched = world.uri("open/code/main.rs");
    follower
        .request("resources/subscribe", json!({ "uri": watched }))
        .await;
    other.request("roots/remove", add).await;
    let gone = follower.notice("notifications/resources/updated").await;
    assert_eq!(
        (&gone["params"]["uri"], &gone["params"]["change_type"]),
        (&json!(watched), &json!("deleted"))
    );
    follower.notice("notifications/roots/list_changed").await;
    listener.notice("notifications/roots/list_changed").await;
}

#[tokio::test]
async fn fixed_roots_stay_as_they_are() {
    let world = world_with(FixedRoots, FileLimits::default());
    let mut client = Client::ready(&world.server).await;
    let uri = json!({ "uri": world.uri("open/code") });
    for method in ["roots/add", "roots/remove"] {
        assert_eq!(
            codes(&client.request(method, uri.clone()).await),
            (1014, 1014),
            "{method}"
        );
    }
}

/// The next notice of a file with this change.
async fn next_change(client: &mut Client, change: &str) {
    while client.notice("notifications/resources/updated").await["params"]["change_type"] != change {}
}

//= specs/mcp-server.md#roots
//= type=test
//# A watched file that is written, replaced or removed MUST be told to those who watch it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watched_file_is_told_of_however_it_changes() {
    let world = world_with(
        Open,
        FileLimits {
            max_watched_files: 1,
            ..FileLimits::default()
        },
    );
    let mut client = Client::ready(&world.server).await;
    let (path, uri) = (world.base.join("specs/a.md"), world.uri("specs/a.md"));
    client.request("resources/subscribe", json!({ "uri": uri })).await;
    std::fs::write(&path, "# A, longer").unwrap();
    next_change(&mut client, "updated").await;
    replace(&path, "# A, replaced by another file");
    next_change(&mut client, "updated").await;
    std::fs::remove_file(&path).unwrap();
    next_change(&mut client, "deleted").await;
    std::fs::write(&path, "# back").unwrap();
    next_change(&mut client, "updated").await;
    let second = json!({ "uri": world.uri("specs/z.md") });
    assert_eq!(
        refusal(&client.request("resources/subscribe", second).await),
        1059
    );
}

/// As editors save: a new file takes the place of the old one.
fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, text).unwrap();
    std::fs::rename(&fresh, path).unwrap();
}

// Found by the mutation probe: nobody asked which methods a record is kept of.
#[tokio::test]
async fn a_record_is_kept_of_the_roots_and_not_of_methods_that_keep_their_own() {
    let scratch = tempfile::tempdir().unwrap();
    let base = scratch.path().canonicalize().unwrap();
    let roots = Arc::new(RootSet::new(&[base], &[]).unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let record = heard.clone();
    let server = Server::builder(Info::new("test", "1.0.0"))
        .on_answered(move |answered| record.lock().unwrap().push(answered.method.to_owned()))
        .build();
    server.serve_roots(&roots, FixedRoots);
    server.add_method(CustomMethod::new("test/own", |_: Context, _: Value| async {
        Ok::<_, Refusal>(json!({}))
    }));
    let mut client = Client::ready(&server).await;
    for method in ["test/own", "roots/list"] {
        let answer = client.request(method, json!({})).await;
        assert!(answer["result"].is_object(), "{answer}");
    }
    client.finish().await;
    let heard = heard.lock().unwrap();
    assert!(heard.contains(&"roots/list".to_owned()), "{heard:?}");
    assert!(!heard.contains(&"test/own".to_owned()), "{heard:?}");
}
