//! Never a wrong "fine": the cache and the resident engine against the answer of `--no-cache`.

use crate::command::{CITED, CONFIG, project, run, stderr};
use crate::scratch::Scratch;
use duvet::engine::Engine;
use duvet::file_watcher::FileWatcher;
use std::io::Read as _;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Exit code, words, and files with their names.
pub(crate) type Outcome = (Option<i32>, String, Vec<(String, Vec<u8>)>);
/// A way to break a file.
type Damage<'a> = (&'a str, &'a dyn Fn(&std::path::Path));

/// What a run leaves behind and says, times aside.
pub(crate) fn outcome(scratch: &Scratch, output: &Output) -> Outcome {
    (
        output.status.code(),
        untimed(&stderr(output)),
        outputs(scratch.root()),
    )
}

/// What a run said, without the lines that say how long it took.
pub(crate) fn untimed(words: &str) -> String {
    let is_timed = |line: &&str| {
        let verb = line.trim_start().split(' ').next().unwrap_or_default();
        !matches!(verb, "Wrote" | "Kept" | "Analysed" | "Unchanged")
    };
    let words: Vec<&str> = words.lines().filter(is_timed).collect();
    words.join("\n")
}

/// The files that `REPORT` writes, with their names; empty where there is none.
pub(crate) fn outputs(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let files = [".duvet/snapshot.txt", ".duvet/reports/report.html", "v1.json"];
    let file = |name: &str| {
        (
            name.to_owned(),
            std::fs::read(folder.join(name)).unwrap_or_default(),
        )
    };
    files.map(file).to_vec()
}

/// The same project without a cache.
pub(crate) fn truth(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    let copy = Scratch::copy_of(scratch.root());
    let mut arguments = arguments.to_vec();
    arguments.push("--no-cache");
    let output = crate::command::run_in(copy.root(), &arguments, &[]);
    let (code, words, files) = outcome(&copy, &output);
    (code, words, renamed(files, &copy, scratch))
}

/// The page is called after its folder, and a copy has another name.
fn renamed(mut files: Vec<(String, Vec<u8>)>, from: &Scratch, to: &Scratch) -> Vec<(String, Vec<u8>)> {
    let name = |scratch: &Scratch| scratch.root().file_name().unwrap().to_string_lossy().into_owned();
    for (_, bytes) in &mut files {
        let text = String::from_utf8_lossy(bytes).replace(&name(from), &name(to));
        *bytes = text.into_bytes();
    }
    files
}

pub(crate) fn check(scratch: &Scratch, arguments: &[&str], what: &str) {
    let expected = truth(scratch, arguments);
    let output = run(scratch, arguments, &[]);
    assert!(
        outcome(scratch, &output) == expected,
        "{what}: {:?}\n{:?}",
        outcome(scratch, &output).1,
        expected.1
    );
}

pub(crate) const REPORT: &[&str] = &["report", "--json", "v1.json"];

fn freeze(scratch: &Scratch, name: &str, time: SystemTime) {
    let file = std::fs::File::options()
        .write(true)
        .open(scratch.path(name))
        .unwrap();
    file.set_modified(time).unwrap();
}

//= specs/duvet.md#freshness
//= type=test
//# The key of a run MUST be made of the very bytes that were analysed and of the build that analysed them.
#[test]
fn a_file_of_the_same_size_and_time_is_another_file() {
    for time in [
        SystemTime::UNIX_EPOCH + Duration::from_secs(1),
        SystemTime::UNIX_EPOCH - Duration::from_secs(9),
    ] {
        for (name, from, to) in [
            ("src/a.rs", "MUST do a", "MUST do z"),
            ("specs/x.md", "MUST do a", "MUST do y"),
        ] {
            let scratch = project(CITED);
            freeze(&scratch, name, time);
            assert!(run(&scratch, REPORT, &[]).status.success());
            assert!(
                stderr(&run(&scratch, REPORT, &[])).contains("Unchanged"),
                "the cache is used at all"
            );
            let text = std::fs::read_to_string(scratch.path(name)).unwrap();
            scratch.write(name, text.replace(from, to));
            freeze(&scratch, name, time);
            let output = run(&scratch, &["report", "--strict"], &[]);
            assert_eq!(output.status.code(), Some(1), "{name}");
            check(&scratch, REPORT, name);
        }
    }
}

#[path = "../../build/build_name.rs"]
mod build_name;

//= specs/duvet.md#freshness
//= type=test
//# The key of a run MUST be made of the very bytes that were analysed and of the build that analysed them.
#[test]
fn two_builds_of_one_version_have_two_names_and_two_keys() {
    use build_name::build_name;
    let crate_folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(
        build_name(crate_folder),
        env!("DUVET_BUILD"),
        "the name is that of what was built"
    );
    let files = [
        ("a/b/src/lib.rs", "fn one() {}\n"),
        ("a/b/assets/report.js", "x"),
        ("a/b/Cargo.toml", "version = \"1.0.0\"\n"),
        ("Cargo.lock", "lock"),
    ];
    let name = |changed: &str| {
        let scratch = Scratch::new(&files);
        if !changed.is_empty() {
            scratch.write(changed, "something else");
        }
        build_name(&scratch.path("a/b"))
    };
    let same = name("");
    assert_eq!(same, name(""), "the place does not matter");
    for changed in [
        "a/b/src/lib.rs",
        "a/b/src/new.rs",
        "a/b/assets/report.js",
        "Cargo.lock",
    ] {
        assert_ne!(same, name(changed), "{changed}");
    }
    let scratch = project(CITED);
    let engine = engine(&scratch);
    let inputs = duvet::pipeline::read_inputs(engine.project(), &mut duvet::memo::Memo::default());
    let key = |build: &str| duvet::run_cache::key(build, "report", &inputs);
    assert_ne!(key(&same), key(&name("a/b/src/lib.rs")));
    assert_eq!(key(&same), key(&same));
}

#[test]
fn an_edit_during_a_run_is_not_called_unchanged() {
    let scratch = project(CITED);
    for index in 0..400 {
        scratch.write(&format!("src/m{index}.rs"), CITED.repeat(20));
    }
    for round in 0..6_u64 {
        let good = scratch.path("src/a.rs");
        std::fs::write(&good, CITED).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_duvet"))
            .current_dir(scratch.root())
            .args(REPORT)
            .env_remove("CI")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Anywhere in the run; where exactly does not matter to what must hold.
        std::thread::sleep(Duration::from_millis(5 + round * 15));
        std::fs::write(&good, CITED.replace("do a", "do Z")).unwrap();
        child.wait().unwrap();
        check(&scratch, REPORT, "edited during the run");
    }
}

#[test]
fn two_runs_at_once_leave_each_other_alone() {
    let scratch = project(CITED);
    let arguments = |link: &'static str| ["report", "--json", "v1.json", "--blob-link", link];
    for _ in 0..10 {
        let start = |link| {
            Command::new(env!("CARGO_BIN_EXE_duvet"))
                .current_dir(scratch.root())
                .args(arguments(link))
                .env_remove("CI")
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let (mut one, mut two) = (start("https://one.example"), start("https://two.example"));
        one.wait().unwrap();
        two.wait().unwrap();
        for link in ["https://one.example", "https://two.example"] {
            assert!(run(&scratch, &arguments(link), &[]).status.success());
            let json = std::fs::read_to_string(scratch.path("v1.json")).unwrap();
            assert!(json.contains(link), "{link}");
        }
    }
}

#[test]
fn a_damaged_cache_is_no_cache() {
    let damages: &[Damage<'_>] = &[
        ("cut", &|path| std::fs::write(path, "short").unwrap()),
        ("empty", &|path| std::fs::write(path, "").unwrap()),
        ("gone", &|path| std::fs::remove_file(path).unwrap()),
        ("a folder", &|path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }),
    ];
    for (name, damage) in damages {
        for part in ["blobs", "runs"] {
            let scratch = project(CITED);
            run(&scratch, REPORT, &[]);
            for entry in std::fs::read_dir(scratch.path(".duvet/cache").join(part)).unwrap() {
                damage(&entry.unwrap().path());
            }
            std::fs::remove_dir_all(scratch.path(".duvet/reports")).unwrap();
            std::fs::remove_file(scratch.path("v1.json")).unwrap();
            check(&scratch, REPORT, name);
            check(&scratch, REPORT, name);
        }
    }
}

//= specs/duvet.md#freshness
//= type=test
//# A cache that another person made MUST NOT be believed.
#[test]
fn a_cache_that_somebody_else_committed_forges_nothing_and_writes_nothing() {
    let homes = Scratch::new(&[("theirs/x", ""), ("ours/x", "")]);
    let home = |name: &str| homes.path(name).display().to_string();
    let scratch = Scratch::new(&[
        ("project/.duvet/config.toml", CONFIG),
        ("project/specs/x.md", "# X\n\n## A\n\nIt MUST a.\n"),
        ("project/src/a.rs", "//= specs/x.md#a\n//# It MUST b.\n"),
    ]);
    let folder = scratch.path("project");
    let run = |who: &str| {
        crate::command::run_in(
            &folder,
            &["report", "--strict"],
            &[("XDG_CACHE_HOME", &home(who))],
        )
    };
    assert_eq!(run("theirs").status.code(), Some(1));
    // The attacker has the record of the true run and turns it into a good one that writes outside.
    let records: Vec<_> = std::fs::read_dir(folder.join(".duvet/cache/runs"))
        .unwrap()
        .collect();
    assert_eq!(records.len(), 1);
    for record in records {
        let path = record.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let forged = text
            .replace("\"passed\":false", "\"passed\":true")
            .replace(".duvet/snapshot.txt", "../victim.txt");
        assert_ne!(text, forged);
        std::fs::write(path, forged).unwrap();
    }
    for who in ["ours", "theirs"] {
        let output = run(who);
        assert_eq!(output.status.code(), Some(1), "{who}: {}", stderr(&output));
        assert!(!stderr(&output).contains("Unchanged"), "{who}");
        assert!(!scratch.path("victim.txt").exists());
    }
    assert!(
        stderr(&run("theirs")).contains("Unchanged"),
        "her own record is believed"
    );
    assert!(
        !stderr(&run("ours")).contains("Unchanged"),
        "another person's is not"
    );
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# The cache MUST NOT be kept behind a link, and only files that it made itself are removed from it.
#[cfg(unix)]
#[test]
fn a_cache_behind_a_link_removes_and_writes_nothing_outside() {
    for (link, target) in [
        (".duvet/cache/blobs", "../../../victim"),
        (".duvet/cache/runs", "../../../victim"),
        (".duvet/cache", "../../victim"),
    ] {
        let world = Scratch::new(&[
            ("project/.duvet/config.toml", CONFIG),
            ("project/specs/x.md", "# X\n\n## A\n\nThe server MUST do a.\n"),
            ("project/src/a.rs", CITED),
            ("victim/letter", "dear"),
            ("victim/runs/letter", "dear"),
            ("victim/blobs/letter", "dear"),
        ]);
        let project = world.path("project");
        std::fs::create_dir_all(project.join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, project.join(link)).unwrap();
        // More runs than are kept, so that the oldest have to go.
        for round in 0..14 {
            world.write("project/src/b.rs", format!("// {round}\n"));
            let output = crate::command::run_in(&project, REPORT, &[]);
            assert!(output.status.success(), "{link}: {}", stderr(&output));
        }
        let mut left: Vec<String> = Vec::new();
        for folder in ["victim", "victim/runs", "victim/blobs"] {
            let entries = std::fs::read_dir(world.path(folder)).unwrap();
            left.extend(entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
        }
        left.sort_unstable();
        assert_eq!(left, ["blobs", "letter", "letter", "letter", "runs"], "{link}");
    }
}

#[test]
fn files_of_somebody_else_in_the_cache_are_left_alone() {
    let scratch = project(CITED);
    for name in [".duvet/cache/blobs/letter", ".duvet/cache/runs/letter"] {
        scratch.write(name, "dear");
    }
    for round in 0..14 {
        scratch.write("src/b.rs", format!("// {round}\n"));
        assert!(run(&scratch, REPORT, &[]).status.success());
    }
    let kept = std::fs::read_dir(scratch.path(".duvet/cache/runs"))
        .unwrap()
        .count();
    assert_eq!(kept, 13, "twelve runs and the letter");
    for name in [".duvet/cache/blobs/letter", ".duvet/cache/runs/letter"] {
        assert!(scratch.path(name).exists(), "{name}");
    }
}

#[test]
fn a_file_that_somebody_changed_after_the_run_is_put_right() {
    let scratch = project(CITED);
    run(&scratch, REPORT, &[]);
    scratch.write(".duvet/snapshot.txt", "edited by hand");
    scratch.write(
        ".duvet/requirements/specs/x/a.toml",
        "target = \"specs/x.md#a\"\n",
    );
    check(&scratch, REPORT, "outputs edited");
    scratch.write(
        ".duvet/requirements/extra.toml",
        "[[spec]]\ntarget = \"specs/x.md#a\"\nquote = \"do a\"\n",
    );
    check(&scratch, REPORT, "a requirement file came");
}

/// Small numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// One change of a project, chosen by dice: edits of equal size with frozen times, files that come and go, a
/// configuration that breaks.
pub(crate) fn change(scratch: &Scratch, dice: &mut Dice) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let (file, quote) = (dice.roll(3), dice.roll(4));
    let name = format!("src/d{}/m{file}.rs", dice.roll(2));
    let citation = format!("//= specs/x.md#a\n//# It MUST do {quote}.\n");
    match dice.roll(9) {
        0..=3 => {
            scratch.write(&name, citation);
            freeze(scratch, &name, time);
        }
        4 => drop(std::fs::remove_file(scratch.path(&name))),
        5 => {
            scratch.write(
                "specs/x.md",
                format!("# X\n\n## A\n\nIt MUST do {quote}. It MAY.\n"),
            );
            freeze(scratch, "specs/x.md", time);
        }
        6 => drop(std::fs::remove_dir_all(scratch.path("src/d1"))),
        7 => scratch.write(".duvet/config.toml", if quote == 0 { "broken" } else { CONFIG }),
        _ => scratch.write(".gitignore", if quote < 2 { "src/d0\n" } else { "" }),
    }
    format!("{name} {quote}")
}

pub(crate) fn small() -> Scratch {
    let scratch = Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/x.md", "# X\n\n## A\n\nIt MUST do 1. It MAY.\n"),
        ("src/a.rs", "//= specs/x.md#a\n//# It MAY.\n"),
    ]);
    std::fs::create_dir(scratch.path(".git")).unwrap();
    scratch
}

// proves 004 §6c
//= specs/duvet.md#freshness
//= type=test
//# A run that is replayed from the cache MUST leave the same files and the same verdict as the run itself.
#[test]
fn random_edits_runs_and_kills_always_end_in_the_answer_without_a_cache() {
    let mut replayed = 0;
    for seed in 1..=6 {
        let (scratch, mut dice) = (small(), Dice(seed * 7_919));
        for step in 0..14 {
            let what = change(&scratch, &mut dice);
            if dice.roll(3) == 0 {
                let mut child = Command::new(env!("CARGO_BIN_EXE_duvet"))
                    .current_dir(scratch.root())
                    .args(REPORT)
                    .env_remove("CI")
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                std::thread::sleep(Duration::from_millis(dice.roll(40)));
                child.kill().unwrap();
                child.wait().unwrap();
            }
            check(&scratch, REPORT, &format!("seed {seed}, step {step}: {what}"));
            if stderr(&run(&scratch, REPORT, &[])).contains("Unchanged") {
                replayed += 1;
            }
            check(
                &scratch,
                REPORT,
                &format!("again: seed {seed}, step {step}: {what}"),
            );
        }
    }
    assert!(replayed > 20, "the cache was used {replayed} times");
}

/// `duvet report --watch` in a project, and what it says.
struct Watching {
    child: std::process::Child,
    words: Arc<Mutex<String>>,
}

impl Watching {
    fn start(scratch: &Scratch) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duvet"))
            .current_dir(scratch.root())
            .args(REPORT)
            .arg("--watch")
            .env_remove("CI")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (words, mut stderr) = (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let heard = Arc::clone(&words);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut part) {
                heard
                    .lock()
                    .unwrap()
                    .push_str(&String::from_utf8_lossy(&part[..length]));
            }
        });
        Self { child, words }
    }

    /// What its last run said and what lies there now.
    fn outcome(&self, scratch: &Scratch) -> Outcome {
        let words = self.words.lock().unwrap().clone();
        let starts = ["Analysed", "Unchanged"].map(|verb| words.rfind(verb));
        let last = starts.into_iter().flatten().max().map_or("", |at| &words[at..]);
        outcome(
            scratch,
            &Output {
                status: std::process::ExitStatus::default(),
                stdout: Vec::new(),
                stderr: last.as_bytes().to_vec(),
            },
        )
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Only a state that is never reached takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

//= specs/duvet.md#freshness
//= type=test
//# A report that watches MUST leave, once the project is at rest, what a run without a cache leaves.
#[test]
fn random_edits_and_kills_under_a_watch_end_in_the_answer_without_a_cache() {
    for seed in 1..=3 {
        let (scratch, oracle) = (small(), small());
        let (mut dice, mut same_dice) = (Dice(seed * 15_485_863), Dice(seed * 15_485_863));
        let mut watching = Watching::start(&scratch);
        for step in 0..12 {
            let what = change(&scratch, &mut dice);
            change(&oracle, &mut same_dice);
            if step % 5 == 4 {
                watching.kill();
                watching = Watching::start(&scratch);
            }
            // The oracle keeps the files of its earlier runs, as the watched project does.
            let output = run(&oracle, &["report", "--json", "v1.json", "--no-cache"], &[]);
            let (_, words, files) = outcome(&oracle, &output);
            let expected = renamed(files, &oracle, &scratch);
            let start = Instant::now();
            loop {
                let (_, said, found) = watching.outcome(&scratch);
                if (&said, &found) == (&words, &expected) {
                    break;
                }
                assert!(
                    start.elapsed() < PATIENCE,
                    "seed {seed}, step {step}: {what}\n{said}\nbut\n{words}"
                );
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        watching.kill();
    }
}

/// What a snapshot says, as far as two engines must agree.
fn said(engine: &mut Engine) -> (String, usize, usize, usize) {
    let snapshot = engine.snapshot();
    let analysis = &snapshot.analysis;
    (
        snapshot.id.clone(),
        analysis.requirements.len(),
        analysis.citations().count(),
        analysis.diagnostics.len(),
    )
}

/// Whatever the temporary folder lies on, nobody else writes to it.
fn watched(engine: Engine) -> Engine {
    let watcher = FileWatcher::new(&engine.project().root).unwrap();
    engine.watched_by(Some(watcher))
}

fn watching(scratch: &Scratch) -> Engine {
    watched(engine(scratch))
}

fn engine(scratch: &Scratch) -> Engine {
    Engine::of_folder(scratch.root().to_owned(), Box::new(|_| None), SystemTime::now)
}

//= specs/duvet.md#freshness
//= type=test
//# A resident program MUST know of every change up to a cookie file that it wrote for the answer, and read
//# everything again where it cannot.
#[test]
fn a_resident_engine_says_what_a_new_one_says_after_any_edit() {
    for is_watching in [true, false] {
        for seed in 1..=8 {
            let (scratch, mut dice) = (small(), Dice(seed * 104_729));
            let mut resident = match is_watching {
                true => watching(&scratch),
                false => engine(&scratch),
            };
            for step in 0..40 {
                let what = change(&scratch, &mut dice);
                assert_eq!(
                    said(&mut resident),
                    said(&mut engine(&scratch)),
                    "{is_watching} {seed} {step} {what}"
                );
            }
            assert!(resident.watcher().is_some() == is_watching);
        }
    }
}

#[test]
fn a_file_written_into_a_folder_that_just_came_is_not_missed() {
    let scratch = small();
    let mut resident = watching(&scratch);
    resident.snapshot();
    for round in 0..60 {
        let name = format!("src/new{round}/deep/m.rs");
        scratch.write(&name, "//= specs/x.md#a\n//# It MUST do 1.\n");
        if round % 2 == 0 {
            resident.snapshot();
        }
        scratch.write(&name, "//= specs/x.md#a\n//# It MUST do 9.\n");
        assert_eq!(said(&mut resident), said(&mut engine(&scratch)), "{round}");
    }
}

#[cfg(unix)]
#[test]
fn a_change_behind_a_link_is_seen() {
    let scratch = small();
    scratch.write("real/m.rs", "//= specs/x.md#a\n//# It MUST do 1.\n");
    scratch.write("real/spec.md", "# Y\n\n## A\n\nIt MUST y.\n");
    std::os::unix::fs::symlink(scratch.path("real"), scratch.path("src/linked")).unwrap();
    std::os::unix::fs::symlink(scratch.path("real/spec.md"), scratch.path("specs/y.md")).unwrap();
    scratch.write("src/b.rs", "//= specs/y.md#a\n//# It MUST y.\n");
    let mut resident = watching(&scratch);
    let first = said(&mut resident);
    scratch.write("real/m.rs", "//= specs/x.md#a\n//# It MUST do 7.\n");
    assert_ne!(said(&mut resident), first);
    assert_eq!(said(&mut resident), said(&mut engine(&scratch)));
    scratch.write("real/spec.md", "# Y\n\n## A\n\nIt MUST z.\n");
    assert_eq!(said(&mut resident), said(&mut engine(&scratch)));
}

//= specs/duvet.md#freshness
//= type=test
//# A file of which a watcher cannot see every change MUST be read for each answer.
#[test]
fn a_file_with_two_names_is_seen_to_change_under_the_other() {
    let (scratch, store) = (small(), Scratch::new(&[]));
    store.write("h.rs", "//= specs/x.md#a\n//# It MUST do 1.\n");
    store.write("y.md", "# Y\n\n## A\n\nIt MUST y.\n");
    std::fs::hard_link(store.path("h.rs"), scratch.path("src/h.rs")).unwrap();
    std::fs::hard_link(store.path("y.md"), scratch.path("specs/y.md")).unwrap();
    scratch.write("src/b.rs", "//= specs/y.md#a\n//# It MUST y.\n");
    let mut resident = watching(&scratch);
    let first = said(&mut resident);
    store.write(
        "h.rs",
        "//= specs/x.md#a\n//# Nobody wrote these strange words.\n",
    );
    assert_ne!(said(&mut resident), first);
    assert_eq!(said(&mut resident), said(&mut engine(&scratch)));
    store.write("y.md", "# Y\n\n## A\n\nIt MUST z.\n");
    assert_eq!(said(&mut resident), said(&mut engine(&scratch)));
}

#[test]
fn texts_among_our_own_outputs_and_in_version_control_are_seen_to_change() {
    let scratch = small();
    for folder in [".duvet/reports", ".duvet/cache", ".git"] {
        let text = format!("{folder}/y.md");
        scratch.write(&text, "# Y\n\n## A\n\nIt MUST y.\n");
        scratch.write("src/b.rs", format!("//= {text}#a\n//# It MUST y.\n"));
        let mut resident = watching(&scratch);
        let first = said(&mut resident);
        scratch.write(&text, "# Y\n\n## A\n\nWhatever else it is.\n");
        assert_ne!(said(&mut resident), first, "{folder}");
        assert_eq!(said(&mut resident), said(&mut engine(&scratch)), "{folder}");
    }
}

#[test]
fn version_control_that_comes_and_what_it_excludes_above_are_seen() {
    let bad = "//= specs/x.md#a\n//# Nobody wrote these strange words.\n";
    let scratch = small();
    std::fs::remove_dir_all(scratch.path(".git")).unwrap();
    scratch.write(".gitignore", "src/gen\n");
    scratch.write("src/gen/g.rs", bad);
    let mut resident = watching(&scratch);
    let first = said(&mut resident);
    std::fs::create_dir(scratch.path(".git")).unwrap();
    assert_ne!(said(&mut resident), first);
    assert_eq!(said(&mut resident), said(&mut engine(&scratch)));
    std::fs::remove_dir(scratch.path(".git")).unwrap();
    assert_eq!(said(&mut resident), first);

    let world = Scratch::new(&[
        ("p/.duvet/config.toml", CONFIG),
        ("p/specs/x.md", "# X\n\n## A\n\nIt MUST do 1.\n"),
        ("p/src/gen/g.rs", bad),
        ("p/src/a.rs", "// nothing\n"),
        (".git/info/exclude", ""),
    ]);
    let new = || Engine::of_folder(world.path("p"), Box::new(|_| None), SystemTime::now);
    let mut resident = watched(new());
    let first = said(&mut resident);
    world.write(".git/info/exclude", "p/src/gen\n");
    assert_ne!(said(&mut resident), first);
    assert_eq!(said(&mut resident), said(&mut new()));
}

#[test]
fn a_configuration_outside_the_project_is_seen_to_change() {
    let (scratch, elsewhere) = (small(), Scratch::new(&[("config.toml", CONFIG)]));
    let new = || engine(&scratch).configured_by(elsewhere.path("config.toml"));
    let mut resident = watched(new());
    let first = said(&mut resident);
    elsewhere.write("config.toml", "[[broken");
    assert_ne!(said(&mut resident), first);
    assert_eq!(said(&mut resident), said(&mut new()));
}

// proves 004 §6c
#[test]
fn one_edit_among_thousands_of_files_reads_one_file() {
    let scratch = small();
    for index in 0..3_000 {
        scratch.write(
            &format!("src/p{}/m{index}.rs", index % 40),
            "//= specs/x.md#a\n//# It MAY.\n",
        );
    }
    let mut resident = watching(&scratch);
    let first = resident.snapshot();
    assert!(first.files_read > 3_000);
    for round in 0..5 {
        scratch.write("src/p7/m7.rs", format!("// {round}\n"));
        assert_eq!(resident.snapshot().files_read, 1, "{round}");
    }
    assert_eq!(said(&mut resident), said(&mut engine(&scratch)));
}

// proves 004 §6c
#[test]
fn nothing_is_walked_or_read_while_nothing_changes() {
    let scratch = small();
    let mut resident = watching(&scratch);
    let first = resident.snapshot();
    let watch = FileWatcher::new(scratch.root()).unwrap();
    assert!(watch.drain().is_empty());
    for _ in 0..20 {
        assert!(Arc::ptr_eq(&first, &resident.snapshot()));
    }
    assert!(watch.drain().is_empty(), "cookies of another watch are no change");
    std::fs::remove_dir_all(scratch.path(".duvet")).unwrap();
    assert!(
        watch.drain().all,
        "where no cookie can be written, everything may have changed"
    );
}
