//! Apps of the product: a second installation is an app of the first.

use super::host::{Backend, Host, bare};
use crate::serving::Server;
use crate::world::World;
use serde_json::{Value, json};
use test_support::eventually_blocking;

/// A manifest whose app is the whole product on a database of its own.
fn inner(world: &World) -> String {
    let database = format!("sqlite:{}", world.path("inner.db").display());
    let part = json!({ "command": env!("CARGO_BIN_EXE_spexus"), "args": ["mcp", "--database", database] });
    let manifest = json!({
        "manifest_version": "0.3", "name": "inner", "version": "1.0.0", "description": "Another installation.",
        "author": { "name": "Nobody" },
        "server": { "type": "binary", "entry_point": "x", "mcp_config": part },
        "tools": [{ "name": "create_epic" }], "capabilities": ["tools", "resources", "prompts"],
    });
    world.file("manifest.json", &manifest.to_string())
}

fn tools(host: &mut Host) -> Vec<String> {
    let listed = host.call("tools/list", json!({}));
    let names = listed["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("{listed}"));
    names
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

fn state(world: &World) -> Option<String> {
    let status = world.json(&["app", "status", "inner"]);
    Some(status["data"][0]["servers"][0]["state"].as_str()?.to_owned())
}

// proves 002 Req-App-001, 002 Req-App-003, 002 Req-App-004
#[test]
fn an_app_is_installed_by_command_served_and_removed() {
    let world = World::new();
    let made = world.json(&["app", "install", &inner(&world), "--env", "KEY=sesame"]);
    assert_eq!(
        (&made["name"], &made["source"]),
        (&json!("inner"), &json!("manifest"))
    );
    assert!(!made.to_string().contains("sesame"), "{made}");
    let listed = world.json(&["app", "list"]);
    assert_eq!(
        (&listed["total_count"], &listed["data"][0]["version"]),
        (&json!(1), &json!("1.0.0"))
    );
    assert_eq!(state(&world), None, "nobody runs it");

    let mut host = Host::start(world.command(&["mcp", "--scope", "admin"]));
    let hello = host.greet("2025-11-25");
    assert_eq!(
        hello["capabilities"]["experimental"]["apps"]["version"], "1.0.0",
        "{hello}"
    );
    assert!(tools(&mut host).contains(&"inner_create_epic".to_owned()));
    let made = host.tool("inner_create_epic", json!({ "title": "In the other one" }));
    assert_eq!(made["result"]["isError"], false, "{made}");
    let read = host.call("resources/read", json!({ "uri": "app://inner/epic/EP-001" }));
    assert!(read.to_string().contains("In the other one"), "{read}");
    let apps = host.call("apps/list", json!({}));
    assert_eq!(apps["result"]["apps"][0]["state"], "running", "{apps}");
    let refused = host.call("apps/uninstall", json!({ "name": "inner" }));
    assert_eq!(refused["error"]["code"], 1014, "{refused}");
    drop(host);

    let server = Server::start(world.command(&["serve", "--listen", "127.0.0.1:0"]));
    eventually_blocking("it becomes so", || state(&world).as_deref() == Some("running"));
    world.json(&["app", "remove", "inner"]);
    assert_eq!(world.json(&["app", "list"])["total_count"], 0);
    assert_eq!(world.refused(4, &["app", "status", "inner"])["code"], 1046);
    drop(server);
}

// proves 004 §6d
//= specs/mcp-apps.md#lists
//= type=test
//# A tool of an app MUST be listed and allowed to those who may write, and to those who may only read when it only reads and the operator trusts the app to say so.
//= specs/mcp-apps.md#installing
//= type=test
//# Only administrators MUST be able to install or remove apps, over MCP and by command.
#[test]
fn rights_hold_for_apps_too() {
    let world = World::new();
    world.json(&["app", "install", &inner(&world)]);
    for (name, role) in [("ursula", "User"), ("carl", "Commenter")] {
        world
            .run_with_input(
                &["user", "create", name, "--role", role, "--password-stdin"],
                "correct horse battery\n",
            )
            .ok();
        for command in [
            vec!["app", "list"],
            vec!["app", "remove", "inner"],
            vec!["app", "install", "x.mcpb"],
        ] {
            let refused = world.refused(3, &[command, vec!["--as", name]].concat());
            assert_eq!(refused["code"], 1014, "{refused}");
        }
    }
    let open_trusting = |trusted: &str, arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("SPEXUS_APPS_INSTALL_OVER_MCP", "true");
        command.env("SPEXUS_APPS_TRUSTED_READERS", trusted);
        let mut host = Host::start(command);
        host.greet("2025-11-25");
        host
    };
    let open = |arguments: &[&str]| open_trusting("inner", arguments);
    let writes = "inner_create_epic".to_owned();
    let reads = "inner_search_global".to_owned();
    let mut user = open(&["mcp", "--as", "ursula"]);
    let seen = tools(&mut user);
    assert!(seen.contains(&writes) && seen.contains(&reads));
    assert_eq!(
        user.call("apps/uninstall", json!({ "name": "inner" }))["error"]["code"],
        1014
    );
    for arguments in [vec!["mcp", "--as", "carl"], vec!["mcp", "--read-only"]] {
        let mut reader = open(&arguments);
        let seen = tools(&mut reader);
        assert!(!seen.contains(&writes) && seen.contains(&reads), "{seen:?}");
        assert_eq!(
            reader.tool(&writes, json!({ "title": "No" }))["error"]["code"],
            1014
        );
        let found = reader.tool(&reads, json!({ "query": "epic" }));
        assert_eq!(found["result"]["isError"], false, "{found}");
        assert_eq!(
            reader.call("apps/uninstall", json!({ "name": "inner" }))["error"]["code"],
            1014
        );
    }
    // An app nobody vouched for gives no rights by what it says of itself.
    for arguments in [vec!["mcp", "--as", "carl"], vec!["mcp", "--read-only"]] {
        let mut reader = open_trusting("another", &arguments);
        let seen = tools(&mut reader);
        assert!(!seen.contains(&writes) && !seen.contains(&reads), "{seen:?}");
        let refused = reader.tool(&reads, json!({ "query": "epic" }));
        assert_eq!(refused["error"]["code"], 1014, "{refused}");
    }
    let mut admin = open(&["mcp", "--scope", "admin"]);
    let removed = admin.call("apps/uninstall", json!({ "name": "inner" }));
    assert_eq!(removed["result"]["removed"]["name"], "inner", "{removed}");
    assert!(!tools(&mut admin).contains(&writes));
}

/// What an app has is refused to a token that is bound to a project in the words for what is not there.
#[test]
fn a_token_bound_to_a_project_cannot_tell_an_app_from_none() {
    let world = World::new();
    world.json(&["app", "install", &inner(&world)]);
    world.json(&["project", "create", "web", "--name", "Web"]);
    let bound = [
        "token",
        "create",
        "--name",
        "bound",
        "--project",
        "web",
        "--scope",
        "write",
    ];
    let bound = world.json(&bound)["token"].as_str().unwrap().to_owned();
    let backend = Backend::start(&world);
    let connect = |token: &str| {
        let mut command = bare(&world);
        command
            .env("BACKEND_API_URL", format!("http://127.0.0.1:{}", backend.port))
            .env("MCP_PAT_TOKEN", token);
        let mut host = Host::start(command);
        host.greet("2025-11-25");
        host
    };
    let is_of_the_app = |name: &Value| {
        let name = name.as_str().unwrap();
        name.starts_with("inner_") || name.starts_with("app://inner/")
    };
    let lists = [
        ("tools/list", "tools", "name"),
        ("prompts/list", "prompts", "name"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ];
    let (mut owner, mut guest) = (connect(&backend.token), connect(&bound));
    let mut hidden = Vec::new();
    for (method, list, key) in lists {
        let named = |host: &mut Host| {
            let listed = host.call(method, json!({}));
            let entries = listed["result"][list].as_array().unwrap().clone();
            entries
                .into_iter()
                .map(|entry| entry[key].clone())
                .find(is_of_the_app)
        };
        hidden.push(named(&mut owner).unwrap_or_else(|| panic!("{method} shows the app")));
        assert_eq!(named(&mut guest), None, "{method}");
    }
    let [tool, prompt, template] = <[Value; 3]>::try_from(hidden).unwrap();
    let uri = json!("app://inner/epic/EP-001");
    let complete = |uri: &Value| {
        let template = json!({ "type": "ref/resource", "uri": uri });
        json!({ "ref": template, "argument": { "name": "id", "value": "" } })
    };
    for (method, name, params) in [
        ("tools/call", &tool, json!({ "name": tool, "arguments": {} })),
        ("prompts/get", &prompt, json!({ "name": prompt })),
        ("resources/read", &uri, json!({ "uri": uri })),
        ("resources/subscribe", &uri, json!({ "uri": uri })),
        ("completion/complete", &template, complete(&template)),
    ] {
        let absent = |text: &str| {
            text.replace("inner_", "other_")
                .replace("app://inner/", "app://other/")
        };
        let none = guest.call(
            method,
            serde_json::from_str(&absent(&params.to_string())).unwrap(),
        );
        let refused = guest.call(method, params);
        assert!(
            refused.to_string().contains("there is no"),
            "{method} {name}: {refused}"
        );
        for part in ["error", "result"] {
            assert_eq!(
                absent(&refused[part].to_string()),
                none[part].to_string(),
                "{method}"
            );
        }
    }
    assert_eq!(guest.call("apps/list", json!({}))["error"]["code"], 1014);
}

#[test]
fn what_cannot_be_installed_is_refused_in_words_and_leaves_nothing() {
    let world = World::new();
    let bad = world.file(
        "bad.json",
        &json!({ "name": "Bad Name", "version": "1" , "description": "x" }).to_string(),
    );
    let junk = world.file("junk.mcpb", "this is no zip");
    for (source, code, words) in [
        ("nowhere.mcpb", 1021, "neither a file nor an address"),
        (bad.as_str(), 1021, "Bad Name"),
        (junk.as_str(), 1021, "bundle"),
        ("http://127.0.0.1:1/mcp", 1080, "app"),
    ] {
        let answer = world.run(&["app", "install", source, "--json"]);
        let refused = answer.json()["error"].clone();
        assert_eq!(refused["code"], code, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(words), "{refused}");
        assert_eq!(world.json(&["app", "list"])["total_count"], 0);
    }
}

//= specs/mcp-apps.md#methods
//= type=test
//# An app that is recorded and whose files are not on the node that is asked MUST be listed as absent, and the node MUST say so when it starts.
#[test]
fn a_node_without_the_files_of_an_app_says_so() {
    let world = World::new();
    world.json(&["app", "install", &inner(&world)]);
    let elsewhere = world.path("another-node");
    let on_the_other_node = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("SPEXUS_APPS_FOLDER", &elsewhere);
        command.env("LOG_LEVEL", "warn");
        command
    };
    let mut host = Host::start(on_the_other_node(&["mcp", "--scope", "admin"]));
    host.greet("2025-11-25");
    assert!(!tools(&mut host).contains(&"inner_create_epic".to_owned()));
    let listed = host.call("apps/list", json!({}))["result"]["apps"].clone();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["state"], &listed[1]),
        (&json!("inner"), &json!("absent"), &json!(null))
    );
    drop(host);
    let output = on_the_other_node(&["app", "list"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("inner") && shown.contains("its files are not on this node"),
        "{shown}"
    );
    // Removed there it is gone for the whole installation.
    assert!(
        on_the_other_node(&["app", "remove", "inner"])
            .status()
            .unwrap()
            .success()
    );
    let again = on_the_other_node(&["app", "remove", "inner"]).output().unwrap();
    assert_eq!(again.status.code(), Some(4));
}
