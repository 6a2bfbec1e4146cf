//! `spexus mcp init`, without a terminal.

use super::host::{Backend, Host, bare};
use crate::world::{PASSWORD, World, read};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

const FILE: &str = ".requirements-mcp/config.json";

// proves 003 R17.2
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
