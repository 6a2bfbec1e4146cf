//! `spexus mcp init`, without a terminal.

use super::host::{Backend, Host, bare};
use crate::world::{PASSWORD, World, read};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

const FILE: &str = ".requirements-mcp/config.json";

//= specs/spexus-bridge.md#connecting-a-host
//= type=test
//# `spexus mcp init` MUST make a token with the scope `write` that lasts 90 days unless something else is asked for, and say so.
//= specs/spexus-bridge.md#connecting-a-host
//= type=test
//# `spexus mcp init` MUST write the configuration only after a handshake with it succeeded, readable by its owner only.
#[test]
fn a_login_becomes_a_connection_that_works() {
    let mut world = World::new();
    let backend = Backend::start(&world);
    world.database.clear();
    let url = format!("http://127.0.0.1:{}/", backend.port);
    let login = |password: &str| {
        let arguments = [
            "mcp",
            "init",
            "--url",
            &url,
            "--username",
            "admin",
            "--password-stdin",
            "--json",
        ];
        world.run_with_input(&arguments, &format!("{password}\n"))
    };
    let wrong = login("wrong").expect(3);
    assert_eq!(
        wrong.json()["error"]["name"],
        "AUTH_INVALID_CREDENTIALS",
        "{wrong:?}"
    );
    assert!(!world.path(FILE).exists(), "nothing is written before it works");
    let done = login(PASSWORD).expect(0).json();
    assert!(done["tools"].as_u64().unwrap() > 5, "{done}");
    assert_eq!(
        (&done["user"], &done["scopes"]),
        (&json!("admin"), &json!("write")),
        "{done}"
    );
    assert!(done["expires_at"].is_string(), "{done}");
    let config: Value = serde_json::from_str(&read(world.path(FILE))).unwrap();
    assert!(config["pat_token"].as_str().unwrap().starts_with("mcp_pat_"));
    assert!(
        !done.to_string().contains(config["pat_token"].as_str().unwrap()),
        "the token is not shown"
    );
    let mode = |path: &str| std::fs::metadata(world.path(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(FILE), mode(".requirements-mcp")), (0o600, 0o700));
    let mut host = Host::start(bare(&world));
    host.greet("2025-11-25");
    assert!(host.call("tools/list", json!({}))["result"]["tools"].is_array());
    assert_eq!(host.end().code, Some(0));
    // A token that is there already is taken as well, after it was tried.
    let arguments = ["mcp", "init", "--url", &url, "--token-stdin"];
    world
        .run_with_input(&arguments, "mcp_pat_that_does_not_exist\n")
        .expect(69);
    world
        .run_with_input(&arguments, &format!("{}\n", backend.token))
        .expect(0);
    assert!(read(world.path(FILE)).contains(&backend.token));
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let mut world = World::empty();
    world.database.clear();
    let missing = world.run(&["mcp", "init"]).expect(1);
    assert!(missing.err.contains("--url"), "{missing:?}");
    let nobody = world
        .run(&["mcp", "init", "--url", "http://127.0.0.1:1", "--username", "x"])
        .expect(69);
    assert!(
        nobody.err.contains("cannot be reached") && nobody.err.contains("spexus serve"),
        "{nobody:?}"
    );
    world.run(&["mcp", "init", "--url", "nonsense"]).expect(1);
}

// Found by review (S-L6): passwords and tokens went over plain HTTP to other machines without a word.
//= specs/spexus-bridge.md#connecting-a-host
//= type=test
//# `spexus mcp init` MUST refuse to send a password or a token over plain HTTP to another machine unless `--allow-http` is given, and `spexus mcp` MUST warn of it.
#[test]
fn a_secret_is_not_sent_in_clear_to_another_machine() {
    let mut world = World::empty();
    world.database.clear();
    // An address of the documentation's own network: nobody is there, and nobody is asked.
    let arguments = [
        "mcp",
        "init",
        "--url",
        "http://192.0.2.1:8080",
        "--username",
        "x",
        "--password-stdin",
    ];
    let refused = world.run_with_input(&arguments, "secret\n").expect(1);
    assert!(
        refused.err.contains("--allow-http") && refused.err.contains("https://"),
        "{refused:?}"
    );
    let mut command = bare(&world);
    command
        .env("BACKEND_API_URL", "http://192.0.2.1:8080")
        .env("MCP_PAT_TOKEN", "mcp_pat_secret_that_is_not_shown");
    let ended = Host::start(command).end();
    assert!(ended.log.contains("plain HTTP"), "{}", ended.log);
}
