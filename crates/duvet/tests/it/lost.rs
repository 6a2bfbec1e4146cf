//! Nothing is lost and nothing is called fine when an input is missing.

use crate::command::{CITED, CONFIG, project, run, stderr};
use crate::scratch::Scratch;

const REPORTS: &[&str] = &["report", "--json", "v1.json", "--json-v2", "v2.json"];

/// A way to break a project.
type Breakage<'a> = (&'a str, &'a dyn Fn(&Scratch));

fn contents(scratch: &Scratch) -> Vec<Vec<u8>> {
    [
        ".duvet/snapshot.txt",
        ".duvet/reports/report.html",
        "v1.json",
        "v2.json",
        ".duvet/requirements/specs/x/a.toml",
    ]
    .map(|name| std::fs::read(scratch.path(name)).unwrap_or_else(|_| panic!("{name}")))
    .to_vec()
}

//= specs/duvet.md#nothing-lost
//= type=test
//# While an input is missing, a file of an earlier run MUST NOT be overwritten.
#[test]
fn a_missing_specification_does_not_empty_the_snapshot_or_a_report() {
    let breakages: &[Breakage<'_>] = &[
        ("the text is gone", &|s| {
            std::fs::remove_file(s.path("specs/x.md")).unwrap()
        }),
        ("the configuration is broken", &|s| {
            s.write(".duvet/config.toml", format!("{CONFIG}[[[\n"))
        }),
        ("a key is misspelt", &|s| {
            s.write(".duvet/config.toml", format!("{CONFIG}[reprot]\n"))
        }),
        ("a requirement file is broken", &|s| {
            s.write(".duvet/todos/a.toml", "[[todo")
        }),
        ("an array is misspelt", &|s| {
            s.write(
                ".duvet/exceptions/a.toml",
                "[[excepton]]\ntarget = \"specs/x.md#a\"\nquote = \"It MAY do b.\"\nreason = \"no\"\n",
            )
        }),
        ("a key is missing", &|s| {
            s.write(".duvet/todos/a.toml", "[[todo]]\nquote = \"It MAY do b.\"\n")
        }),
        ("the lock is a folder", &|s| {
            s.write(".duvet/specifications.lock/x", "")
        }),
        #[cfg(unix)]
        ("a folder cannot be opened", &too_deep),
        ("a cited text is missing", &|s| {
            s.write("src/b.rs", "//= https://example.com/spec#a\n//# q\n")
        }),
        ("all sources are gone", &|s| {
            s.write(".duvet/config.toml", CONFIG.replace("src/**", "source/**"))
        }),
    ];
    for (name, break_it) in breakages {
        let scratch = project(CITED);
        assert!(run(&scratch, REPORTS, &[]).status.success());
        let before = contents(&scratch);
        break_it(&scratch);
        for _ in 0..2 {
            let output = run(&scratch, REPORTS, &[]);
            assert_eq!(output.status.code(), Some(1), "{name}: {}", stderr(&output));
            assert!(
                stderr(&output).contains("left as they are"),
                "{name}: {}",
                stderr(&output)
            );
            assert!(contents(&scratch) == before, "{name}");
        }
    }
}

//= specs/duvet.md#nothing-lost
//= type=test
//# A folder that cannot be searched MUST be a missing input.
//= specs/duvet.md#nothing-lost
//= type=test
//# A lock file that is there and cannot be read MUST be a missing input.
/// Makes folders whose path is longer than the system takes: nobody can open the innermost, whatever his rights.
#[cfg(unix)]
fn too_deep(scratch: &Scratch) {
    let name = "d".repeat(200);
    let script = format!("for i in $(seq 25); do mkdir {name} && cd -P {name} || exit 1; done");
    let made = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(scratch.path("src"))
        .status();
    assert!(made.unwrap().success());
}

#[test]
fn a_snapshot_that_lacks_a_text_is_not_made_either() {
    let scratch = project(CITED);
    std::fs::remove_file(scratch.path("specs/x.md")).unwrap();
    assert_eq!(run(&scratch, &["report"], &[]).status.code(), Some(1));
    assert!(!scratch.path(".duvet/snapshot.txt").exists());
}

//= specs/duvet.md#nothing-lost
//= type=test
//# A project in which no file is found to read MUST be an error.
#[test]
fn the_wrong_folder_is_an_error_and_not_zero_requirements() {
    let scratch = Scratch::new(&[("readme", "")]);
    let output = run(&scratch, &["report"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("inputs-empty") && stderr(&output).contains("duvet init"),
        "{}",
        stderr(&output)
    );
    let scratch = Scratch::new(&[(".duvet/config.toml", CONFIG)]);
    let output = run(&scratch, &["report"], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("inputs-empty"), "{}", stderr(&output));
}

//= specs/duvet.md#nothing-lost
//= type=test
//# Findings MUST be shown when nothing can be written.
#[test]
fn findings_are_shown_when_nothing_can_be_written() {
    let scratch = project("//= specs/x.md#gone\n//# q\n");
    // A file where folders are needed: as unwritable as a read-only folder, for every user.
    scratch.write(".duvet/reports", "");
    scratch.write(".duvet/requirements", "");
    let output = run(&scratch, &["report"], &[]);
    let words = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        words.contains("section-unknown") && words.contains("specification  "),
        "{words}"
    );
    assert!(words.contains("cannot write"), "{words}");
}

//= specs/duvet.md#nothing-lost
//= type=test
//# A run MUST fail when what was asked for could not be written, standard output included.
#[test]
fn findings_that_could_not_be_written_are_a_failure_each_time() {
    let scratch = project(CITED);
    scratch.write("file", "");
    let arguments = ["report", "--diagnostics-file", "file/found.json"];
    for _ in 0..2 {
        let output = run(&scratch, &arguments, &[]);
        let words = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("cannot write `file/found.json`"), "{words}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_a_failure() {
    let scratch = project(CITED);
    let asked: [&[&str]; 3] = [
        &["report", "--markdown", "-"],
        &["query", "-c", "duplicates", "--json"],
        &["unmapped", "--json"],
    ];
    for arguments in asked {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_duvet"))
            .current_dir(scratch.root())
            .args(arguments)
            .env_remove("CI")
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let words = stderr(&output);
        assert!(words.contains("standard output"), "{arguments:?}: {words}");
    }
}

//= specs/duvet.md#nothing-lost
//= type=test
//# A query, a fix or a list over a project with missing inputs MUST fail and name them.
#[test]
fn a_query_a_fix_and_a_list_over_a_missing_text_do_not_pass() {
    let scratch = project(CITED);
    let asked: [&[&str]; 5] = [
        &["query", "-c", "implementation"],
        &["fix"],
        &["fix", "--side-by-side"],
        &["unmapped"],
        &["unmapped", "--json"],
    ];
    let check = |reason: &str| {
        for arguments in asked {
            let output = run(&scratch, arguments, &[]);
            let words = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {words}");
            assert!(words.contains(reason), "{arguments:?}: {words}");
        }
    };
    std::fs::remove_file(scratch.path("specs/x.md")).unwrap();
    check("specification-missing");
    scratch.write(".duvet/config.toml", format!("{CONFIG}[[[\n"));
    check("config-invalid");
}

/// A run that spared files says nothing of what the next one may write.
#[test]
fn a_run_with_a_missing_input_is_not_replayed() {
    let scratch = project(CITED);
    assert!(run(&scratch, REPORTS, &[]).status.success());
    scratch.write("src/b.rs", "//= https://example.com/spec#a\n//# q\n");
    for _ in 0..2 {
        assert_eq!(run(&scratch, REPORTS, &[]).status.code(), Some(1));
    }
    std::fs::remove_file(scratch.path("v1.json")).unwrap();
    assert_eq!(run(&scratch, REPORTS, &[]).status.code(), Some(1));
    assert!(
        scratch.path("v1.json").exists(),
        "as `--no-cache` would have written it"
    );
}

#[test]
fn strict_compatibility_reads_patterns_as_the_public_tool_does() {
    let scratch = project("");
    std::fs::create_dir(scratch.path(".git")).unwrap();
    scratch.write(".gitignore", "src/built.rs\n");
    scratch.write("src/built.rs", CITED);
    let cited = |arguments: &[&str]| {
        run(&scratch, arguments, &[]);
        std::fs::read_to_string(scratch.path("v1.json"))
            .unwrap()
            .contains("src/built.rs")
    };
    assert!(!cited(&["report", "--json", "v1.json"]));
    assert!(cited(&["report", "--json", "v1.json", "--compat", "strict"]));
    scratch.write(".duvet/config.toml", CONFIG.replace("src/**", "{src,lib}/**"));
    assert!(run(&scratch, &["report"], &[]).status.success());
    let strict = run(&scratch, &["report", "--compat", "strict"], &[]);
    assert!(
        stderr(&strict).contains("pattern-empty") && strict.status.success(),
        "{}",
        stderr(&strict)
    );
}

//= specs/duvet.md#citations
//= type=test
//# A citation of `spexus:` MUST be left to `spexus trace`: it is neither counted nor faulted for what it names.
#[test]
fn citations_of_managed_requirements_change_nothing() {
    let plain = "//= specs/x.md#a\n//# The server MUST do a.\nfn a() {}\n";
    let managed = [
        "//= spexus:REQ-012\n//# A login without a passkey MUST be refused.\nfn b() {}\n",
        "\n//= spexus:WEB-REQ-7#whatever\n//= type=test\n//# Words.\n",
    ];
    let managed = managed.concat();
    let outputs = [plain.to_owned(), format!("{plain}{managed}")].map(|text| {
        let scratch = project(&text);
        let done = run(&scratch, &["report"], &[]);
        let snapshot = std::fs::read_to_string(scratch.path(".duvet/snapshot.txt")).unwrap_or_default();
        // Some lines tell how long something took.
        let is_timed = |line: &&str| line.contains(" Wrote ") || line.contains(" Analysed ");
        let told = stderr(&done);
        let told: Vec<String> = told
            .lines()
            .filter(|line| !is_timed(line))
            .map(str::to_owned)
            .collect();
        assert!(snapshot.contains("The server MUST do a."), "{snapshot}");
        (done.status.code(), told, snapshot)
    });
    assert_eq!(outputs[0], outputs[1]);
    // What is wrong with the comment itself is told all the same.
    let misspelt = run(&project("//= spexus:REQ-012\n//= typ=test\n"), &["report"], &[]);
    assert!(
        stderr(&misspelt).contains("meta-unknown-key"),
        "{}",
        stderr(&misspelt)
    );
}
