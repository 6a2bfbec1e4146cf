//! A disk that is full: a run that finds no room fails, loses nothing, and leaves nothing behind that a later run believes.
//!
//! Twice over. A limit on the size of files, which everybody may set, cuts any write off at any byte. A small file system
//! of its own, which needs a namespace, refuses new files and folders too.

use crate::command::{project, run, stderr};
use crate::scratch::Scratch;
use crate::stale::{Outcome, REPORT, check, outcome, outputs, small, truth, untimed};
use std::path::Path;
use std::process::{Command, Output};

/// A file may be so many blocks of 512 bytes long. The snapshot needs one, the page about sixty.
const BLOCKS: &[u32] = &[0, 1, 2, 3, 4, 8, 20, 40, 60, 80];

/// Runs the command where no file may grow longer. A signal would end it at once; without one the write fails as on a
/// full disk.
fn run_cramped(scratch: &Scratch, blocks: u32, arguments: &[&str]) -> Output {
    let home = scratch.path("home").display().to_string();
    Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh"])
        .args([&blocks.to_string(), env!("CARGO_BIN_EXE_duvet")])
        .args(arguments)
        .current_dir(scratch.root())
        .env("XDG_CACHE_HOME", home)
        .env_remove("CI")
        .output()
        .unwrap()
}

/// Files that a run makes before it gives them their names.
fn half_written(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            found.extend(half_written(&entry.path()));
        } else if name.ends_with(".tmp") {
            found.push(name);
        }
    }
    found
}

/// Every output is what it was before or what it should be now, and what was not written is named; whether that was so.
fn check_full(old: &[(String, Vec<u8>)], new: &Outcome, found: &Outcome, what: &str) -> bool {
    let (code, words, files) = found;
    for (((name, old), (_, new)), (_, found)) in old.iter().zip(&new.2).zip(files) {
        assert!(found == old || found == new, "{what}: `{name}` is neither");
    }
    let is_named = words.contains("cannot write");
    assert_eq!(*code == Some(1), is_named, "{what}: {words}");
    assert!(
        is_named || *files == new.2,
        "{what}: a file is missing and nothing is said"
    );
    is_named
}

//= specs/duvet.md#nothing-lost
//= type=test
//# A disk that is full MUST leave each file as it was or as it is to be, fail the run, and change no later answer.
#[test]
fn a_write_that_is_cut_off_anywhere_loses_nothing_and_is_not_believed_later() {
    let mut failed = 0;
    for &blocks in BLOCKS {
        for is_first in [true, false] {
            let what = format!("{blocks} blocks, first run: {is_first}");
            let scratch = small();
            if !is_first {
                assert!(run(&scratch, REPORT, &[]).status.success());
                scratch.write("src/b.rs", "//= specs/x.md#a\n//# It MUST do 1.\n");
            }
            let (old, new) = (outputs(scratch.root()), truth(&scratch, REPORT));
            let output = run_cramped(&scratch, blocks, REPORT);
            failed += usize::from(check_full(&old, &new, &outcome(&scratch, &output), &what));
            assert_eq!(half_written(scratch.root()), [""; 0], "{what}");
            // With room again, by the same person and by another one.
            let again = run_cramped(&scratch, 1 << 20, REPORT);
            assert_eq!(outcome(&scratch, &again), truth(&scratch, REPORT), "{what}");
            check(&scratch, REPORT, &what);
        }
    }
    assert!(failed > BLOCKS.len(), "only {failed} runs found no room");
}

/// Every command that writes says so when it cannot, and leaves what was there.
#[test]
fn commands_that_find_no_room_fail_and_keep_what_was_there() {
    let drifted = "//= specs/x.md#a\n//# The server MUST do aa.\nfn a() {}\n";
    let cases: &[(&[&str], &str, &str)] = &[
        (&["fix", "--write"], "src/a.rs", drifted),
        (&["report", "--quiet", "--markdown", "out.md"], "out.md", "old"),
        (
            &["report", "--quiet", "--lcov", "out"],
            "out/compliance.x.lcov",
            "old",
        ),
        (&["report", "--diagnostics-file", "out.json"], "out.json", "old"),
        (
            &["extract", "-f", "markdown", "specs/x.md"],
            "specs/x/a.toml",
            "old",
        ),
        (
            &["merge", "--input", "v2.json", "--output", "merged.json"],
            "merged.json",
            "old",
        ),
    ];
    for (arguments, file, old) in cases {
        let scratch = project(drifted);
        assert!(
            run(&scratch, &["report", "--json-v2", "v2.json"], &[])
                .status
                .success()
        );
        scratch.write(file, old);
        let output = run_cramped(&scratch, 0, arguments);
        let words = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {words}");
        assert!(words.contains("cannot write"), "{arguments:?}: {words}");
        assert_eq!(
            std::fs::read_to_string(scratch.path(file)).unwrap(),
            *old,
            "{arguments:?}"
        );
        assert_eq!(half_written(scratch.root()), [""; 0], "{arguments:?}");
    }
    let empty = Scratch::new(&[("src/a.rs", "")]);
    assert_eq!(run_cramped(&empty, 0, &["init"]).status.code(), Some(1));
    assert!(!empty.path(".duvet/config.toml").exists());
    assert!(run(&empty, &["init"], &[]).status.success());
}

/// Runs a project on a file system with so much room beside it, and twice more with room for all. Its folder keeps its
/// name, since the page is called after it.
#[cfg(target_os = "linux")]
const ON_A_SMALL_DISK: &str = r#"
set -e
project=$1 world=$2 room=$3 duvet=$4 disk=$2/disk
mkdir "$disk"
mount -t tmpfs -o size=64m tmpfs "$disk"
cp -a "$project" "$disk"
cd "$disk/${project##*/}"
export XDG_CACHE_HOME=$disk/cache
used=$(df --output=used "$disk" | tail -1) files=$(df --output=iused "$disk" | tail -1)
eval "mount -o remount,$room tmpfs \"$disk\""
for stage in full after again; do
  code=0
  "$duvet" report --json v1.json 2>"$world/$stage.words" || code=$?
  echo "$code" >"$world/$stage.code"
  cp -a . "$world/$stage"
  mount -o remount,size=64m,nr_inodes=0 tmpfs "$disk"
done
"#;

/// What the script found after one of the runs.
#[cfg(target_os = "linux")]
fn found(world: &Scratch, stage: &str) -> Outcome {
    let read = |kind: &str| std::fs::read_to_string(world.path(&format!("{stage}.{kind}"))).unwrap();
    let folder = world.path(stage);
    assert_eq!(half_written(&folder), [""; 0], "{stage}");
    let code = read("code").trim().parse().unwrap();
    (Some(code), untimed(&read("words")), outputs(&folder))
}

//= specs/duvet.md#nothing-lost
//= type=test
//# A disk that is full MUST leave each file as it was or as it is to be, fail the run, and change no later answer.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_without_room_loses_nothing_and_is_not_believed_later() {
    let mount = ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"];
    let mounted = Command::new("unshare").args(mount).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: nobody may mount a small file system here (`unshare -rm`)");
        return;
    }
    let mut failed = 0;
    let by_size = [0, 4, 8, 16, 32, 48, 64, 80].map(|more| format!("size=$((used + {more}))k"));
    let by_files = [0, 1, 3, 6, 9, 12].map(|more| format!("nr_inodes=$((files + {more}))"));
    for room in by_size.iter().chain(&by_files) {
        for is_first in [true, false] {
            let what = format!("{room}, first run: {is_first}");
            let (scratch, world) = (small(), Scratch::new(&[]));
            if !is_first {
                assert!(run(&scratch, REPORT, &[]).status.success());
                scratch.write("src/b.rs", "//= specs/x.md#a\n//# It MUST do 1.\n");
            }
            let script = Command::new("unshare")
                .args(["-rm", "sh", "-c", ON_A_SMALL_DISK, "sh"])
                .args([scratch.root(), world.root()])
                .args([room, env!("CARGO_BIN_EXE_duvet")])
                .env_remove("CI")
                .output()
                .unwrap();
            assert!(script.status.success(), "{what}: {}", stderr(&script));
            let (old, new) = (outputs(scratch.root()), truth(&scratch, REPORT));
            failed += usize::from(check_full(&old, &new, &found(&world, "full"), &what));
            for stage in ["after", "again"] {
                assert_eq!(found(&world, stage), new, "{what}: {stage}");
            }
        }
    }
    assert!(failed > 12, "only {failed} runs found no room");
}
