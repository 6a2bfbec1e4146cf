//! Signed checkpoints: made by hand and by a server, and held against the history by `audit verify`.

use crate::serving::Server;
use crate::world::{World, read};
use serde_json::Value;

/// A key, and the file checkpoints are added to.
fn with_key(world: &World) -> (String, String) {
    let path = |name: &str| world.path(name).to_string_lossy().into_owned();
    let (key, file) = (path("audit.key"), path("checkpoints.jsonl"));
    world.json(&["audit", "key", &key]);
    (key, file)
}

fn checkpoint(world: &World, key: &str, file: &str) -> Value {
    world.json(&["audit", "checkpoint", "--key", key, "--to", file])
}

fn epic(world: &World, title: &str) {
    world.json(&["item", "create", "epic", "--title", title]);
}

//= specs/spexus.md#checkpoints
//= type=test
//# `audit verify` MUST hold the history against the checkpoints of a file it is given, and say from where on it cannot be
//# trusted.
#[test]
fn the_history_is_held_against_checkpoints() {
    for world in World::both() {
        let (key, file) = with_key(&world);
        epic(&world, "one");
        let first = checkpoint(&world, &key, &file);
        epic(&world, "two");
        checkpoint(&world, &key, &file);
        let public = first["key"].as_str().unwrap();
        let whole = world.json(&["audit", "verify", "--checkpoint", &file, "--public-key", public]);
        assert_eq!(
            (&whole["fault"], &whole["checkpoints"]),
            (&Value::Null, &2.into())
        );
        assert_eq!(whole["signed_by"][0], public);
    }
}

#[test]
fn a_restored_backup_is_told_by_a_later_checkpoint() {
    let world = World::new();
    let (key, file) = with_key(&world);
    epic(&world, "one");
    let backup = world.path("kept.db");
    world.json(&["backup", &backup.to_string_lossy()]);
    epic(&world, "two");
    checkpoint(&world, &key, &file);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(world.path(&format!("test.db{suffix}")));
    }
    std::fs::copy(&backup, world.path("test.db")).unwrap();
    assert_eq!(world.json(&["audit", "verify"])["fault"], Value::Null);
    let arguments = ["audit", "verify", "--checkpoint", &file];
    let told = world.run(&arguments).expect(1).out;
    assert!(told.contains("an older backup was restored"), "{told}");
    assert!(told.contains("can be trusted up to its change"), "{told}");
}

//= specs/spexus.md#checkpoints
//= type=test
//# A key file that is not there, that others can read or that holds no key MUST be refused before anything is written.
#[cfg(unix)]
#[test]
fn a_bad_key_is_refused_before_anything_is_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let (key, file) = with_key(&world);
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let before = world.json(&["audit", "verify"])["changes"].clone();
    world.refused(78, &["audit", "key", &key]);
    let refused = |key: &str, why: &str| {
        let told = world.refused(78, &["audit", "checkpoint", "--key", key, "--to", &file]);
        assert!(told.to_string().contains(why), "{told}");
    };
    refused("nowhere.key", "cannot be read");
    let told = world.refused(78, &["audit", "checkpoint", "--to", &file]);
    assert!(told.to_string().contains("no file is named"), "{told}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    refused(&key, "by others");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let other = world.file("other.key", "not a key");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o600)).unwrap();
    refused(&other, "holds no key");
    assert_eq!(world.json(&["audit", "verify"])["changes"], before);
    assert!(!std::path::Path::new(&file).exists());
}

//= specs/spexus-service.md#audit
//= type=test
//# A checkpoint MUST be refused where the one before it was signed with another key, unless a new key is meant.
#[test]
fn a_key_of_another_installation_is_refused() {
    let world = World::new();
    let (key, file) = with_key(&world);
    let other = world.path("other.key").to_string_lossy().into_owned();
    world.json(&["audit", "key", &other]);
    checkpoint(&world, &key, &file);
    let arguments = ["audit", "checkpoint", "--key", &other, "--to", &file];
    let told = world.refused(1, &arguments);
    assert!(told.to_string().contains("another key"), "{told}");
    assert_eq!(read(&file).lines().count(), 1);
    world.json(&[&arguments[..], &["--new-key"]].concat());
    assert_eq!(read(&file).lines().count(), 2);
}

//= specs/spexus.md#checkpoints
//= type=test
//# A checkpoint whose signature is not right, or not of the key that was named, MUST be refused with its line.
#[test]
fn a_forged_checkpoint_is_refused() {
    let world = World::new();
    let (key, file) = with_key(&world);
    checkpoint(&world, &key, &file);
    let line = read(&file);
    let mut forged: Value = serde_json::from_str(&line).unwrap();
    forged["checkpoint"]["ledgers"][0]["number"] = 1.into();
    let refused = |text: &str, why: &str| {
        let file = world.file("forged.jsonl", text);
        let told = world.refused(1, &["audit", "verify", "--checkpoint", &file]);
        assert!(told.to_string().contains(why), "{told}");
    };
    refused(
        &format!("{line}{forged}\n"),
        "the signature of line 2 is not right",
    );
    refused(&line[..line.len() / 2], "line 1 is no checkpoint");
    refused("\n", "holds no checkpoint");
    let other = "00".repeat(32);
    let arguments = ["audit", "verify", "--checkpoint", &file, "--public-key", &other];
    let told = world.refused(1, &arguments);
    assert!(told.to_string().contains("signed with another key"), "{told}");
}

//= specs/spexus.md#checkpoints
//= type=test
//# With a key, a server MUST write a signed checkpoint when it starts, as often as is configured, and after every baseline.
#[test]
fn a_server_writes_checkpoints_at_its_start_and_at_every_baseline() {
    for world in World::both() {
        let (key, file) = with_key(&world);
        world.json(&["init"]);
        let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("SPEXUS_AUDIT_KEY_FILE", &key);
        command.env("SPEXUS_AUDIT_CHECKPOINT_FILE", &file);
        let server = Server::start(command);
        wait_for_lines(&file, 1);
        world.json(&["baseline", "create", "release"]);
        wait_for_lines(&file, 2);
        server.stop();
        let whole = world.json(&["audit", "verify", "--checkpoint", &file]);
        assert_eq!(
            (&whole["fault"], &whole["checkpoints"]),
            (&Value::Null, &2.into())
        );
        let command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
        refuse_without_file(command, &key);
    }
}

/// Waits until a file that another process writes has so many lines.
fn wait_for_lines(file: &str, wanted: usize) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while std::fs::read_to_string(file).map_or(0, |text| text.lines().count()) < wanted {
        assert!(std::time::Instant::now() < end, "{wanted} checkpoints never came");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

fn refuse_without_file(mut command: std::process::Command, key: &str) {
    let answer = command.env("SPEXUS_AUDIT_KEY_FILE", key).output().unwrap();
    assert_eq!(answer.status.code(), Some(78));
}

/// The example of a key store, which `cargo test` builds; built here when only this test binary was asked for.
#[cfg(unix)]
fn key_store() -> String {
    let beside = std::env::current_exe().unwrap();
    let path = beside
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/key_store");
    if !path.exists() {
        let built = std::process::Command::new(env!("CARGO"))
            .args(["build", "-p", "spexus", "--example", "key_store"])
            .status();
        assert!(built.unwrap().success());
    }
    path.to_string_lossy().into_owned()
}

/// A command of the configuration that is a small script.
#[cfg(unix)]
fn script(text: &str) -> String {
    serde_json::json!(["/bin/sh", "-c", text]).to_string()
}

//= specs/spexus.md#checkpoints
//= type=test
//# A key store that does not answer, or answers what is no key or no signature of the checkpoint, MUST be refused in plain
//# words before a checkpoint is kept.
#[cfg(unix)]
#[test]
fn a_key_store_signs_without_showing_its_key() {
    let world = World::new();
    let (key, file) = with_key(&world);
    let store = serde_json::json!([key_store(), key]).to_string();
    epic(&world, "one");
    let command = |store: &str, more: &[&str]| {
        let mut command = world.command(&[&["audit", "checkpoint", "--to", &file, "--json"], more].concat());
        command.env("SPEXUS_AUDIT_KEY_COMMAND", store);
        command.output().unwrap()
    };
    let made = command(&store, &[]);
    assert!(made.status.success(), "{made:?}");
    let whole = world.json(&["audit", "verify", "--checkpoint", &file]);
    assert_eq!(
        (&whole["fault"], &whole["checkpoints"]),
        (&Value::Null, &1.into())
    );
    let refused = |store: &str, why: &str| {
        let told = command(store, &["--new-key"]);
        assert_eq!(told.status.code(), Some(78), "{told:?}");
        assert!(String::from_utf8_lossy(&told.stdout).contains(why), "{told:?}");
    };
    refused("[]", "is not allowed");
    refused("/usr/bin/sign it", "is not allowed");
    refused("[\"/nowhere/at/all\"]", "cannot be run");
    refused(&script("echo the slot is empty >&2; exit 4"), "the slot is empty");
    refused(&script("echo hello"), "answered no public key");
    let public = "00".repeat(32);
    refused(&script(&format!("echo {public}")), "answered no right signature");
    assert_eq!(read(&file).lines().count(), 1, "nothing more was kept");
}

//= specs/spexus.md#checkpoints
//= type=test
//# A checkpoint that could not be signed or kept MUST be tried again with the next one.
#[cfg(unix)]
#[test]
fn a_server_gives_checkpoints_to_a_command_and_tries_again() {
    let world = World::new();
    let (key, _) = with_key(&world);
    world.json(&["init"]);
    let (kept, gate) = (world.path("kept.jsonl"), world.path("gate"));
    let (kept, gate) = (kept.to_string_lossy(), gate.to_string_lossy());
    let mut command = world.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("SPEXUS_AUDIT_KEY_FILE", &key);
    let keep = format!("test -e '{gate}' && cat >> '{kept}'");
    command.env("SPEXUS_AUDIT_CHECKPOINT_COMMAND", script(&keep));
    let server = Server::start(command);
    // The one made at the start finds no place. It comes with the next.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(!std::path::Path::new(&*kept).exists());
    std::fs::write(&*gate, "").unwrap();
    world.json(&["baseline", "create", "release"]);
    wait_for_lines(&kept, 2);
    server.stop();
    let whole = world.json(&["audit", "verify", "--checkpoint", &kept]);
    assert_eq!(
        (&whole["fault"], &whole["checkpoints"]),
        (&Value::Null, &2.into())
    );
}
