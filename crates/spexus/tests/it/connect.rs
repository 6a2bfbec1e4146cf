//! Connecting an AI host: the configuration of the stdio server, and those of the hosts.

use crate::world::{World, read};
use serde_json::{Value, json};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

const TOKEN: &str = "mcp_pat_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

/// A home without a database, in which commands name none.
fn home() -> World {
    let mut world = World::empty();
    world.database.clear();
    world
}

fn configured(config: &Value) -> World {
    let world = home();
    std::fs::create_dir(world.path(".requirements-mcp")).unwrap();
    world.file(".requirements-mcp/config.json", &config.to_string());
    world
}

/// Runs the stdio server without input; what it wrote to standard error.
fn refused(world: &World, variables: &[(&str, &str)]) -> String {
    let mut command = world.command(&["mcp", "--json"]);
    let output = command
        .envs(variables.iter().copied())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(
        output.stdout.is_empty(),
        "standard output belongs to the protocol: {output:?}"
    );
    String::from_utf8(output.stderr).unwrap()
}

// proves 003 R14.3, 003 R1.9
//= specs/spexus-bridge.md#configuration
//= type=test
//# A configuration that is missing MUST end the process with 78 and a sentence that names the three ways to get one.
#[test]
fn without_a_configuration_the_three_ways_to_one_are_named() {
    let told = refused(&home(), &[]);
    for way in [
        "spexus mcp init",
        "BACKEND_API_URL",
        "MCP_PAT_TOKEN",
        "--database sqlite:FILE",
    ] {
        assert!(told.contains(way), "{way} in {told}");
    }
    // What hosts pass on when their user left it blank is not there.
    assert_eq!(
        refused(&home(), &[("BACKEND_API_URL", ""), ("MCP_PAT_TOKEN", " ")]),
        told
    );
}

// proves 003 R14.8, 003 R1.9
//= specs/spexus-bridge.md#configuration
//= type=test
//# A value that is not allowed MUST end the process with 78, the name of the field and what is allowed; a token MUST NOT be shown.
#[test]
fn a_value_that_is_not_allowed_is_named_with_what_is() {
    let good = [
        ("BACKEND_API_URL", "http://127.0.0.1:9"),
        ("MCP_PAT_TOKEN", TOKEN),
    ];
    let cases = [
        ("BACKEND_API_URL", "ftp://x", "backend_api_url", "address"),
        (
            "MCP_PAT_TOKEN",
            "has blanks inside secret",
            "pat_token",
            "mcp_pat_",
        ),
        ("MCP_REQUEST_TIMEOUT", "soon", "request_timeout", "100ms to 10m"),
        (
            "LOG_LEVEL",
            "loud",
            "log_level",
            "error, warn, info, debug or trace",
        ),
        ("MCP_MAX_RETRIES", "-1", "max_retries", "0 to 10"),
    ];
    for (variable, value, field, allowed) in cases {
        let variables: Vec<_> = good
            .into_iter()
            .filter(|(name, _)| *name != variable)
            .chain([(variable, value)])
            .collect();
        let told = refused(&home(), &variables);
        assert!(
            told.contains(field) && told.contains(allowed) && told.contains(variable),
            "{told}"
        );
        assert!(!told.contains("secret") && !told.contains(TOKEN), "{told}");
    }
    let told = refused(&home(), &[good[0]]);
    assert!(
        told.contains("pat_token") && told.contains("is missing"),
        "{told}"
    );
    let told = refused(&configured(&json!({ "backend_api_urll": "http://x" })), &[]);
    assert!(
        told.contains("backend_api_url"),
        "the nearest name is told: {told}"
    );
    let world = configured(&json!([]));
    assert!(refused(&world, &[]).contains("not a JSON object"));
    world.file(".requirements-mcp/config.json", "{");
    assert!(refused(&world, &[]).contains("line 1"));
}

// proves 003 R1.2, 003 R14.1
//= specs/spexus-bridge.md#configuration
//= type=test
//# A value MUST be taken from its environment variable, else from the file, else from its default.
#[test]
fn the_file_is_read_and_the_environment_wins() {
    let world = configured(&json!({
        "backend_api_url": "http://127.0.0.1:9", "pat_token": TOKEN, "request_timeout": "5s", "max_retries": 1, "log_level": "info",
    }));
    let log = |variables: &[(&str, &str)]| {
        let mut command = world.command(&["mcp"]);
        let output = command
            .envs(variables.iter().copied())
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        log(&[]).contains("backend=\"http://127.0.0.1:9\""),
        "{}",
        log(&[])
    );
    assert!(log(&[("BACKEND_API_URL", "http://127.0.0.1:10/api/v1")]).contains("http://127.0.0.1:10\""));
    assert_eq!(
        log(&[("LOG_LEVEL", "error")]),
        "",
        "the variable silences what the file would log"
    );
    assert!(refused(&world, &[("MCP_MAX_RETRIES", "99")]).contains("environment MCP_MAX_RETRIES"));
}

fn installed(world: &World, host: &str, variables: &[(&str, &str)], more: &[&str]) -> Value {
    let mut command = world.command(&[&["mcp", "install", host, "--json"], more].concat());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

// proves 003 R14.7
#[test]
fn every_host_gets_its_own_file_and_shape() {
    let world = configured(&json!({ "backend_api_url": "http://127.0.0.1:9", "pat_token": TOKEN }));
    let program = env!("CARGO_BIN_EXE_spexus");
    let hosts = [
        (
            "claude-desktop",
            ".config/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
        ("claude-code", ".claude.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".config/Code/User/mcp.json", "servers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
    ];
    for (host, file, key) in hosts {
        assert_eq!(installed(&world, host, &[], &[])["changed"], true);
        let text = read(world.path(file));
        let server = serde_json::from_str::<Value>(&text).unwrap()[key]["requirements"].clone();
        assert_eq!(server["command"], program, "{host}");
        assert_eq!(server["args"], json!(["mcp", "--toolsets", "agent"]), "{host}");
        assert_eq!(
            server["env"],
            json!({ "BACKEND_API_URL": "http://127.0.0.1:9" }),
            "{host}: the token stays in its own file"
        );
        assert_eq!(
            server["type"] == "stdio",
            matches!(host, "claude-code" | "vscode"),
            "{host}"
        );
        let mode = std::fs::metadata(world.path(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{host}: only its owner reads it");
        assert_eq!(
            installed(&world, host, &[], &[])["changed"],
            false,
            "{host}: twice is once"
        );
    }
    //= specs/spexus-bridge.md#connecting-a-host
    //= type=test
    //# `spexus mcp install` MUST write the skills of the product into the folder from which the host reads skills, where it has one, and
    //# MUST leave a file alone that somebody else wrote there.
    let skill = world.path(".claude/skills/review-change/SKILL.md");
    assert!(read(&skill).starts_with("---\nname: review-change\n"));
    std::fs::write(&skill, "mine").unwrap();
    installed(&world, "claude-code", &[], &[]);
    assert_eq!(read(&skill), "mine");
    //= specs/spexus-bridge.md#connecting-a-host
    //= type=test
    //# `spexus mcp install` MUST choose the toolset of agents unless another one is named.
    installed(&world, "cursor", &[], &["--toolsets", "core"]);
    assert!(read(world.path(".cursor/mcp.json")).contains("\"core\""));
    installed(&world, "codex", &[], &[]);
    let codex = read(world.path(".codex/config.toml"));
    assert!(
        codex.contains("[mcp_servers.requirements]") && codex.contains(program),
        "{codex}"
    );
    // A token that is given in the environment is passed on in the environment.
    installed(&world, "claude-desktop", &[("MCP_PAT_TOKEN", TOKEN)], &[]);
    let text = read(world.path(".config/Claude/claude_desktop_config.json"));
    assert!(
        text.contains(&format!("\"MCP_PAT_TOKEN\": \"{TOKEN}\"")),
        "{text}"
    );
}

//= specs/spexus-bridge.md#connecting-a-host
//= type=test
//# `spexus mcp install` MUST keep everything in the host's configuration that it does not know.
#[test]
fn what_a_host_had_stays_and_is_kept_beside() {
    let world = configured(&json!({ "backend_api_url": "http://127.0.0.1:9", "pat_token": TOKEN }));
    std::fs::create_dir(world.path(".gemini")).unwrap();
    let before = "{\n  // my theme\n  \"theme\": \"dark\",\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } }\n}\n";
    world.file(".gemini/settings.json", before);
    let dry = installed(&world, "gemini", &[("MCP_PAT_TOKEN", TOKEN)], &["--dry-run"]);
    assert_eq!(
        read(world.path(".gemini/settings.json")),
        before,
        "a dry run writes nothing"
    );
    let shown = dry["text"].as_str().unwrap();
    assert!(
        shown.contains("requirements") && !shown.contains(TOKEN),
        "{shown}"
    );
    let done = installed(&world, "gemini", &[], &[]);
    let after = read(world.path(".gemini/settings.json"));
    assert!(
        after.contains("// my theme") && after.contains("\"theme\": \"dark\"") && after.contains("\"other\""),
        "{after}"
    );
    assert_eq!(read(done["backup"].as_str().unwrap()), before);
}

//= specs/spexus-bridge.md#connecting-a-host
//= type=test
//# A configuration that cannot be understood MUST be refused and left as it is.
#[test]
fn a_broken_file_is_refused_and_not_touched() {
    let world = configured(&json!({ "backend_api_url": "http://127.0.0.1:9", "pat_token": TOKEN }));
    for (host, file, text) in [
        ("claude-code", ".claude.json", "{ \"a\": "),
        ("codex", ".codex/config.toml", "a = ["),
    ] {
        let path = world.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let answer = world.run(&["mcp", "install", host]);
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(
            answer.err.contains(file) && answer.err.contains("was not touched"),
            "{answer:?}"
        );
        assert_eq!(read(&path), text);
        let beside = std::fs::read_dir(path.parent().unwrap()).unwrap();
        assert!(
            beside
                .flatten()
                .all(|entry| !entry.file_name().to_string_lossy().contains("backup"))
        );
    }
}

//= specs/spexus-bridge.md#connecting-a-host
//= type=test
//# A token MUST NOT be written to a file of a project, which others read.
#[test]
fn a_project_s_file_has_no_token_and_a_database_needs_no_server() {
    let world = home();
    let variables = [
        ("BACKEND_API_URL", "http://127.0.0.1:9"),
        ("MCP_PAT_TOKEN", TOKEN),
    ];
    installed(&world, "claude-code", &variables, &["--scope", "project"]);
    let text = read(world.path(".mcp.json"));
    assert!(
        text.contains("BACKEND_API_URL") && !text.contains(TOKEN),
        "{text}"
    );
    installed(
        &world,
        "cursor",
        &[],
        &["--database", "sqlite:here.db", "--as", "maria"],
    );
    let text = read(world.path(".cursor/mcp.json"));
    let args = &serde_json::from_str::<Value>(&text).unwrap()["mcpServers"]["requirements"]["args"];
    assert_eq!(args[0], "mcp");
    let database = args[2].as_str().unwrap();
    assert!(
        database.starts_with("sqlite:/") && database.ends_with("/here.db"),
        "{database}"
    );
    assert_eq!(args[4], "maria");
    assert_eq!(
        home().run(&["mcp", "install", "gemini"]).code,
        78,
        "nothing is configured"
    );
    assert_eq!(
        world
            .run(&[
                "mcp",
                "install",
                "claude-desktop",
                "--scope",
                "project",
                "--database",
                "sqlite:x"
            ])
            .code,
        1
    );
}

#[test]
fn a_bundle_holds_the_program_and_what_a_host_must_ask() {
    let world = home();
    let program = world.file("program", "not really a program");
    let done = world.json(&["mcp", "pack", "--output", "out.mcpb", "--binary", &program]);
    let bundle = std::fs::File::open(world.path("out.mcpb")).unwrap();
    let mut bundle = zip::ZipArchive::new(bundle).unwrap();
    let mut text = String::new();
    bundle
        .by_name("manifest.json")
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["manifest_version"], "0.3");
    assert_eq!(manifest["server"]["type"], "binary");
    assert_eq!(manifest["user_config"]["pat_token"]["sensitive"], true);
    let mut packed = bundle
        .by_name(manifest["server"]["entry_point"].as_str().unwrap())
        .unwrap();
    assert_eq!(packed.unix_mode().unwrap() & 0o777, 0o755);
    let mut content = String::new();
    packed.read_to_string(&mut content).unwrap();
    assert_eq!(content, "not really a program");
    let entry: Value = serde_json::from_str(&read(world.path("server.json"))).unwrap();
    assert_eq!(entry["packages"][0]["fileSha256"], done["sha256"]);
    assert_eq!(entry["packages"][0]["registryType"], "mcpb");
}
