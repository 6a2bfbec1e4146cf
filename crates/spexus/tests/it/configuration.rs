//! Settings: where they come from, what is refused, and what is never shown.

use crate::world::{PASSWORD, World};

#[test]
fn each_value_tells_where_it_comes_from() {
    //= specs/spexus.md#settings
    //= type=test
    //# `spexus config show` MUST list every setting with its value and where it comes from.
    let world = World::empty();
    let file = world.file(
        "c.toml",
        "listen = \"127.0.0.1:1\"\n[http]\nmax_body_bytes = 2_048\n[log]\nlevel = \"debug\"\n",
    );
    let mut command = world.command(&["config", "show", "--json", "--config", &file]);
    let answer = command.env("SPEXUS_LOG_LEVEL", "warn").output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&answer.stdout).unwrap();
    let source = |name: &str| {
        format!(
            "{} {}",
            shown["settings"][name]["value"].as_str().unwrap(),
            shown["settings"][name]["source"]["kind"].as_str().unwrap()
        )
    };
    assert_eq!(source("listen"), "127.0.0.1:1 file");
    assert_eq!(source("http.max_body_bytes"), "2048 file");
    assert_eq!(source("log.level"), "warn environment");
    assert_eq!(source("store.durability"), "full default");
    assert!(source("database").ends_with("flag"));
    assert_eq!(shown["settings"].as_object().unwrap().len(), 91);
}

#[test]
fn the_usual_file_is_found_in_the_home() {
    let mut world = World::empty();
    world.database.clear();
    std::fs::create_dir_all(world.path(".config/spexus")).unwrap();
    world.file(".config/spexus/config.toml", "listen = \"127.0.0.1:9\"");
    let shown = world.run(&["config", "show"]).ok();
    assert!(shown.contains("127.0.0.1:9"), "{shown}");
    assert!(shown.contains(".local/share/spexus/spexus.db"), "{shown}");
}

#[test]
fn a_bad_value_is_one_sentence_and_78() {
    //= specs/spexus.md#settings
    //= type=test
    //# A value that is not allowed MUST end the program with exit code 78 and a sentence that names the value, where it comes
    //# from and what is allowed.
    let world = World::empty();
    let mut command = world.command(&["item", "list"]);
    let answer = command
        .env("SPEXUS_HTTP_READ_TIMEOUT_MS", "soon")
        .output()
        .unwrap();
    assert_eq!(answer.status.code(), Some(78));
    insta::assert_snapshot!(String::from_utf8_lossy(&answer.stderr), @r#"
    error: http.read_timeout_ms: "soon" (environment SPEXUS_HTTP_READ_TIMEOUT_MS) is not allowed
      allowed: a number from 100 to 3_600_000
    hint: `spexus config show` lists every setting and where its value comes from.
    "#);
    let bad = world.run(&["serve", "--listen", "nowhere"]).expect(78);
    assert!(
        bad.err
            .starts_with("error: listen: \"nowhere\" (flag --listen) is not allowed"),
        "{}",
        bad.err
    );
    let file = world.file("bad.toml", "lisen = 1");
    assert!(
        world
            .run(&["item", "list", "--config", &file])
            .expect(78)
            .err
            .contains("hint: Did you mean \"listen\"?")
    );
    assert!(
        world
            .run(&["item", "list", "--config", "missing.toml"])
            .expect(78)
            .err
            .contains("missing.toml cannot be read")
    );
    let broken = world.file("broken.toml", "a = 1\nlisten = ");
    assert!(
        world
            .run(&["item", "list", "--config", &broken])
            .expect(78)
            .err
            .contains("line 2")
    );
    assert_eq!(
        world.refused(78, &["serve", "--log-format", "xml"])["fields"][0]["allowed"],
        "auto, text or json"
    );
}

#[test]
fn secrets_are_never_shown() {
    let mut world = World::empty();
    world.database = "postgres://kim:hunter22@127.0.0.1:1/db".into();
    let key = "ab".repeat(32);
    let shown = |arguments: &[&str]| {
        let answer = world
            .command(arguments)
            .env("SPEXUS_TOKEN_KEY", &key)
            .output()
            .unwrap();
        format!(
            "{}{}",
            String::from_utf8_lossy(&answer.stdout),
            String::from_utf8_lossy(&answer.stderr)
        )
    };
    for arguments in [
        ["config", "show"].as_slice(),
        &["config", "show", "--json"],
        &["doctor"],
        &["item", "list"],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let text = shown(arguments);
        assert!(!text.is_empty());
        for secret in ["hunter22", PASSWORD, &key] {
            assert!(!text.contains(secret), "{arguments:?}: {text}");
        }
    }
    assert!(shown(&["config", "show"]).contains("postgres://kim:[redacted]@127.0.0.1:1/db"));
}

#[test]
fn only_what_is_meant_to_makes_a_database() {
    //= specs/spexus.md#answers
    //= type=test
    //# Only `init`, `serve`, `migrate` in its target and `mcp --database` MUST make a database; every other command MUST
    //# refuse one that is empty or not there, leave it as it is, and say how to make it.
    let world = World::empty();
    for arguments in [
        ["item", "list"].as_slice(),
        &["search", "x"],
        &["export"],
        &["backup", "b.db"],
        &["doctor"],
        &["demo"],
        &["import", "a.csv"],
        &["user", "create", "kim", "--password-stdin"],
        &["token", "create", "--name", "t"],
        &["project", "create", "web", "--name", "Web"],
        &["item", "create", "epic", "--title", "x"],
        &["prompt", "create", "p", "--text", "x"],
    ] {
        world.file("a.csv", "kind,title\nepic,x\n");
        let answer = world.run_with_input(arguments, "a long password");
        assert_ne!(answer.code, 0);
        assert!(!world.path("test.db").exists(), "{arguments:?}");
        let told = format!("{}{}", answer.out, answer.err);
        assert!(
            told.contains("Make it with `spexus init`"),
            "{arguments:?}: {told}"
        );
    }
    world.run(&["demo"]).expect(78);
    world.run(&["init"]).ok();
    let copy = format!("sqlite:{}", world.path("copy.db").display());
    world
        .run(&["migrate", "--from", &world.database, "--to", &copy])
        .ok();
    assert!(world.path("copy.db").exists(), "a copy needs somewhere to go");
}

#[test]
fn what_is_no_database_of_ours_is_refused() {
    let mut world = World::empty();
    world.file("test.db", "hello, this is a diary\n");
    assert!(
        world
            .run(&["item", "list"])
            .expect(78)
            .err
            .contains("is no SQLite database")
    );
    std::fs::create_dir(world.path("folder")).unwrap();
    world.database = format!("sqlite:{}", world.path("folder").display());
    assert!(world.run(&["init"]).expect(78).err.contains("is a folder"));
    world.database = "sqlite:/proc/nowhere/x.db".into();
    assert!(world.run(&["init"]).expect(78).err.contains("cannot be made"));
    world.database = "postgres://nobody@127.0.0.1:1/none".into();
    assert!(
        world
            .run(&["item", "list"])
            .expect(69)
            .err
            .contains("127.0.0.1:1 refused the connection")
    );
    if let Some(database) = test_support::fresh_database() {
        world.database = database;
        world.run(&["init"]).ok();
    }
}

#[cfg(unix)]
#[test]
fn the_default_folder_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = World::empty();
    world.database.clear();
    world.run(&["init"]).ok();
    let mode = |name: &str| std::fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(".local/share/spexus"), 0o700);
    assert_eq!(mode(".local/share/spexus/spexus.db"), 0o600);
}
