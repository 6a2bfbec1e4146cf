//! Apps come and go: over MCP, and by a command in another process.

use mcp_apps::AppSource;
use serde_json::{Value, json};
use test_support::mcp::McpClient;

use crate::host::{Host, manifest, refusal, request_for, until};

async fn listed(client: &mut McpClient) -> Vec<Value> {
    let answer = client.request("apps/list", json!({})).await;
    answer["result"]["apps"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .clone()
}

// proves 002 Req-App-001, 002 Req-App-002, 002 Req-App-003, 002 Req-App-004, 002 Req-App-006, 002 Req-Tool-010
//= specs/mcp-apps.md#methods
//= type=test
//# `apps/list` MUST list every installed app with its name, version, description, capabilities and state.
//= specs/mcp-apps.md#lists
//= type=test
//# What an app has MUST be listed as soon as it has it and no longer than it has it, and every change MUST be told.
#[tokio::test]
async fn an_app_is_installed_listed_used_and_removed_over_mcp() {
    let host = Host::new().await;
    let mut admin = host.admin().await;
    let mut other = host.user().await;
    assert!(listed(&mut other).await.is_empty());

    let answer = admin
        .request("apps/install", json!({ "manifest": manifest("trouble", &[]) }))
        .await;
    assert_eq!(answer["result"]["app"]["name"], "trouble", "{answer}");
    for list in ["tools", "resources", "prompts"] {
        other.notice(&format!("notifications/{list}/list_changed")).await;
    }
    let apps = listed(&mut other).await;
    assert_eq!(apps.len(), 1);
    assert_eq!(apps[0]["version"], "1.2.3");
    assert_eq!(apps[0]["description"], "Makes trouble.");
    assert_eq!(apps[0]["source"], "manifest");
    let capabilities = &apps[0]["capabilities"];
    assert!(
        capabilities["tools"]
            .as_array()
            .unwrap()
            .contains(&json!("trouble_echo"))
    );
    assert_eq!(capabilities["prompts"], json!(["trouble_greet"]));
    assert_eq!(
        capabilities["resources"],
        json!(["app://trouble/trouble/notes/one", "app://trouble/trouble:/two"])
    );

    assert!(other.tools().await.contains(&"trouble_echo".to_owned()));
    assert_eq!(
        other.text_of("trouble_echo", json!({ "text": "hello" })).await,
        "hello"
    );
    let prompts = other.names("prompts/list", "prompts", "name").await;
    assert_eq!(prompts, ["trouble_greet"]);

    let removed = admin
        .request("apps/uninstall", json!({ "name": "trouble" }))
        .await;
    assert_eq!(removed["result"]["removed"]["version"], "1.2.3", "{removed}");
    for list in ["tools", "resources", "prompts"] {
        other.notice(&format!("notifications/{list}/list_changed")).await;
    }
    assert!(other.tools().await.is_empty());
    assert!(other.names("resources/list", "resources", "uri").await.is_empty());
    assert!(
        other
            .names("resources/templates/list", "resourceTemplates", "uriTemplate")
            .await
            .is_empty()
    );
    assert!(listed(&mut other).await.is_empty() && host.shelf().is_empty());
    assert_eq!(
        refusal(
            &admin
                .request("apps/uninstall", json!({ "name": "trouble" }))
                .await
        ),
        1046
    );
}

// proves 002 Req-Tool-010: what apps bring and take is told in the stateless era too
#[tokio::test]
async fn a_listener_of_the_stateless_era_hears_of_apps() {
    let host = Host::new().await;
    let mut listener = crate::host::silent(&host.server, http::Extensions::new());
    let wish = json!({
        "notifications": { "toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let id = listener.start("subscriptions/listen", wish).await;
    listener.notice("notifications/subscriptions/acknowledged").await;
    host.install("trouble", &[]).await;
    for list in ["tools", "resources", "prompts"] {
        let told = listener
            .notice(&format!("notifications/{list}/list_changed"))
            .await;
        assert_eq!(
            told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
            id
        );
    }
    host.apps.uninstall("trouble").await.unwrap();
    listener.notice("notifications/tools/list_changed").await;
}

//= specs/mcp-apps.md#methods
//= type=test
//# `apps/install` and `apps/uninstall` MUST be refused with 1014 to whoever may not manage apps, and to everyone unless the server allows it.
#[tokio::test]
async fn only_administrators_install_and_only_where_it_is_allowed() {
    let host = Host::new().await;
    let mut user = host.user().await;
    let wish = json!({ "manifest": manifest("trouble", &[]) });
    assert_eq!(refusal(&user.request("apps/install", wish.clone()).await), 1014);
    assert_eq!(
        refusal(&user.request("apps/uninstall", json!({ "name": "trouble" })).await),
        1014
    );
    let host = Host::with(|options| options.install_over_mcp = false).await;
    let answer = host.admin().await.request("apps/install", wish).await;
    assert_eq!(refusal(&answer), 1014);
    assert!(
        answer["error"]["data"]["refusal"]["hint"]
            .as_str()
            .unwrap()
            .contains("apps.install_over_mcp")
    );
    assert!(host.shelf().is_empty());
}

//= specs/mcp-apps.md#installing
//= type=test
//# A refused installation MUST leave nothing behind, on disk or in a list.
//= specs/mcp-apps.md#installing
//= type=test
//# An app MUST be started once before it is installed, and be refused when it does not start.
//= specs/mcp-apps.md#manifests
//= type=test
//# An app that lacks something its manifest declares MUST be refused with what was declared and what is there.
//= specs/mcp-apps.md#names
//= type=test
//# An app whose names would be those of the server itself MUST be refused with 1049.
#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    let host = Host::with(|options| {
        options.limits.start_timeout_ms = 1_000;
        options.reserved.insert("create_echo".to_owned());
    })
    .await;
    let mut admin = host.admin().await;
    let with = |member: &str, value: Value| {
        let mut manifest = manifest("trouble", &[]);
        manifest[member] = value;
        json!({ "manifest": manifest })
    };
    let command = |text: &str| json!({ "type": "binary", "mcp_config": { "command": text } });
    for (wish, code, words) in [
        (with("name", json!("Trouble Maker")), 1021, "Trouble Maker"),
        (with("version", json!("one")), 1021, "one"),
        (
            with(
                "server",
                json!({ "type": "node", "entry_point": "../../etc/x.js" }),
            ),
            1036,
            "../../etc/x.js",
        ),
        (
            with("tools", json!([{ "name": "a" }, { "name": "a" }])),
            1049,
            "trouble_a",
        ),
        (
            with("tools", json!([{ "name": "echo" }, { "name": "fly" }])),
            1054,
            "fly",
        ),
        (
            with("prompts", json!([{ "name": "sing" }])),
            1054,
            "declared sing, but there is greet",
        ),
        (
            with("server", command("no-such-program-anywhere")),
            1080,
            "trouble",
        ),
        (with("server", command("true")), 1080, "trouble"),
        (
            json!({ "manifest": manifest("trouble", &["crash-at-start"]) }),
            1080,
            "exit code 3",
        ),
        (
            json!({ "manifest": manifest("trouble", &["silent"]) }),
            1069,
            "1000 ms",
        ),
        (
            json!({ "manifest": manifest("trouble", &["endless-line"]) }),
            1069,
            "1000 ms",
        ),
        (
            json!({ "manifest": manifest("trouble", &["duplicate"]) }),
            1049,
            "trouble_echo",
        ),
        (
            json!({ "manifest": manifest("create", &[]) }),
            1049,
            "create_echo",
        ),
        (json!({ "url": "ftp://example.org" }), 1023, "ftp://example.org"),
        (json!({ "url": "http://127.0.0.1:1/mcp" }), 1080, "app"),
        (json!({ "bundle": "%%%" }), 1021, "base64"),
        (
            json!({ "manifest": manifest("trouble", &[]), "url": "http://x" }),
            1021,
            "more than once",
        ),
        (json!({ "nothing": 1 }), 1021, "nothing"),
        (
            json!({ "manifest": manifest("trouble", &[]), "env": { "A=B": "c" } }),
            1021,
            "A=B",
        ),
        (
            json!({ "manifest": manifest("trouble", &[]), "settings": { "unheard": "of" } }),
            1028,
            "settings.unheard",
        ),
    ] {
        let answer = admin.request("apps/install", wish).await;
        assert_eq!(refusal(&answer), code, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{words:?} in {message:?}");
        assert!(
            !answer
                .to_string()
                .contains(&host.options.folder.display().to_string()),
            "{answer}"
        );
        assert!(host.shelf().is_empty(), "{:?}", host.shelf());
        assert!(admin.tools().await.is_empty() && listed(&mut admin).await.is_empty());
    }
    host.install("trouble", &[]).await;
    let again = admin
        .request("apps/install", json!({ "manifest": manifest("trouble", &[]) }))
        .await;
    assert_eq!(refusal(&again), 1052);
    assert_eq!(host.shelf(), ["trouble"]);
}

//= specs/mcp-apps.md#installing
//= type=test
//# A server MUST notice when another process installs or removes an app.
#[tokio::test]
async fn a_running_server_notices_what_a_command_does() {
    let host = Host::new().await;
    let mut client = host.user().await;
    let source = AppSource::Manifest(manifest("trouble", &[]));
    mcp_apps::install(&host.options, request_for(source))
        .await
        .unwrap();
    client.notice("notifications/tools/list_changed").await;
    assert_eq!(
        client.text_of("trouble_echo", json!({ "text": "noticed" })).await,
        "noticed"
    );
    let notices = mcp_apps::statuses(&host.options).unwrap();
    assert_eq!(
        (notices.len(), notices[0].state.as_str(), notices[0].server),
        (1, "running", std::process::id())
    );
    let process = notices[0].process.unwrap();
    mcp_apps::remove(&host.options, "trouble").unwrap();
    client.notice("notifications/tools/list_changed").await;
    assert!(client.tools().await.is_empty());
    until(|| mcp_apps::statuses(&host.options).unwrap().is_empty()).await;
    assert!(
        !std::path::Path::new(&format!("/proc/{process}")).exists(),
        "its process is gone"
    );
}

//= specs/mcp-apps.md#lists
//= type=test
//# What an app had when it was last seen MUST be listed while it starts.
//= specs/mcp-apps.md#supervision
//= type=test
//# Every installed app MUST be started with the server.
#[tokio::test]
async fn apps_survive_the_server_and_are_listed_from_its_first_moment() {
    let first = Host::new().await;
    first.install("trouble", &[]).await;
    first.apps.close().await;
    let second = Host::on(first.options.clone()).await;
    let mut client = second.user().await;
    assert!(client.tools().await.contains(&"trouble_echo".to_owned()));
    // It may still be starting: the call waits for it.
    assert_eq!(
        client.text_of("trouble_echo", json!({ "text": "back" })).await,
        "back"
    );
    second.apps.close().await;
}

//= specs/mcp-apps.md#methods
//= type=test
//# Nothing that was decided for an app at its installation MUST be told over MCP: no command, variable, setting, header or path.
#[tokio::test]
async fn secrets_of_an_installation_stay_on_the_shelf() {
    let host = Host::new().await;
    let mut admin = host.admin().await;
    let wish = json!({ "manifest": manifest("trouble", &[]), "env": { "API_KEY": "sesame" } });
    let answer = admin.request("apps/install", wish).await;
    let all = format!("{answer} {:?}", listed(&mut admin).await);
    assert!(
        !all.contains("sesame") && !all.contains("examples/troublemaker"),
        "{all}"
    );
    assert!(
        admin
            .text_of("trouble_environment", json!({}))
            .await
            .contains("API_KEY=sesame")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(host.options.folder.clone()), 0o700);
        assert_eq!(mode(host.options.folder.join("trouble")), 0o700);
        assert_eq!(mode(host.options.folder.join("trouble/app.json")), 0o600);
    }
}

//= specs/mcp-apps.md#installing
//= type=test
//# An app whose record cannot be read any more MUST be removable, and another of its name installable.
#[tokio::test]
async fn an_app_whose_record_was_torn_can_be_removed_or_installed_again() {
    let host = Host::new().await;
    let mut admin = host.admin().await;
    for (name, half) in [("torn", &b"{\"name\":\"to"[..]), ("empty", b"")] {
        host.install(name, &[]).await;
        let record = host.options.folder.join(name).join("app.json");
        std::fs::write(&record, half).unwrap();
        let removed = admin.request("apps/uninstall", json!({ "name": name })).await;
        assert_eq!(removed["result"]["removed"]["name"], name, "{removed}");
        assert!(!host.options.folder.join(name).exists());
        host.install(name, &[]).await;
        std::fs::write(&record, half).unwrap();
        host.install(name, &[]).await;
        assert!(listed(&mut admin).await.iter().any(|app| app["name"] == name));
        let again = admin
            .request("apps/install", json!({ "manifest": manifest(name, &[]) }))
            .await;
        assert_eq!(
            refusal(&again),
            1052,
            "one that can be read is not replaced: {again}"
        );
    }
    let never = admin.request("apps/uninstall", json!({ "name": "never" })).await;
    assert_eq!(refusal(&never), 1046, "{never}");
}

/// Notes what the apps say of their tools.
#[derive(Clone, Default)]
struct Admitted(std::sync::Arc<std::sync::Mutex<std::collections::BTreeMap<String, bool>>>);

impl mcp_apps::HostPolicy for Admitted {
    fn check(&self, _: &mcp_server::Context, _: mcp_apps::AppOperation) -> Result<(), refusal::Refusal> {
        Ok(())
    }

    fn tool_added(&self, tool: &str, only_reads: bool) {
        self.0.lock().unwrap().insert(tool.to_owned(), only_reads);
    }
}

//= specs/mcp-apps.md#lists
//= type=test
//# What an app says of its own tools MUST NOT give anyone a right, unless the operator trusts the app for it.
#[tokio::test]
async fn an_app_does_not_open_its_tools_to_readers_by_its_own_word() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = mcp_apps::AppOptions::new(folder.path().join("apps"));
    crate::host::quick(&mut options);
    options.trusted_readers.insert("trusted".to_owned());
    let server = mcp_server::Server::builder(mcp_server::Info::new("host", "1.0.0")).build();
    let admitted = Admitted::default();
    let apps = mcp_apps::Apps::start(&server, admitted.clone(), options)
        .await
        .unwrap();
    for name in ["trusted", "other"] {
        apps.install(request_for(AppSource::Manifest(manifest(name, &[]))))
            .await
            .unwrap();
    }
    let said = admitted.0.lock().unwrap().clone();
    assert!(
        said.iter()
            .any(|(tool, reads)| tool.starts_with("trusted_") && *reads),
        "{said:?}"
    );
    assert!(
        said.iter()
            .any(|(tool, reads)| tool.starts_with("trusted_") && !*reads),
        "{said:?}"
    );
    assert!(
        said.iter()
            .all(|(tool, reads)| !tool.starts_with("other_") || !*reads),
        "{said:?}"
    );
    apps.close().await;
}
