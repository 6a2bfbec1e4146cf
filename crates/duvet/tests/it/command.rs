//! The command as a user runs it.

use crate::scratch::Scratch;
use std::process::{Command, Output};

pub(crate) const CONFIG: &str = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n\
    [[source]]\npattern = \"src/**/*.rs\"\n[[specification]]\nsource = \"specs/x.md\"\n[report.snapshot]\nenabled = true\n";
const SPECIFICATION: &str =
    "# X\n\n## A\n\nThe server MUST do a. It MAY do b.\n\n## B\n\nThe client SHOULD wait 10 seconds.\n";

pub(crate) fn project(source: &str) -> Scratch {
    Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/x.md", SPECIFICATION),
        ("src/a.rs", source),
    ])
}

pub(crate) fn run(scratch: &Scratch, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    run_in(scratch.root(), arguments, variables)
}

pub(crate) fn run_in(folder: &std::path::Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duvet"));
    command.current_dir(folder).args(arguments).env_remove("CI");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("DUVET_INTERNAL")) {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) const CITED: &str = "//= specs/x.md#a\n//# The server MUST do a.\nfn a() {}\n";

#[test]
fn version_and_help_exist() {
    let scratch = Scratch::new(&[]);
    let output = run(&scratch, &["--version"], &[]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("duvet {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = String::from_utf8(run(&scratch, &["--help"], &[]).stdout).unwrap();
    for command in ["init", "extract", "report", "query", "merge", "fix", "fetch"] {
        assert!(help.contains(command), "{help}");
    }
    assert_eq!(
        run(&scratch, &["report", "--nonsense"], &[]).status.code(),
        Some(2)
    );
}

#[test]
fn init_detects_languages_and_overwrites_nothing() {
    let scratch = Scratch::new(&[("Cargo.toml", ""), ("pyproject.toml", "")]);
    assert!(
        run(
            &scratch,
            &[
                "init",
                "--specification",
                "https://www.rfc-editor.org/rfc/rfc2324"
            ],
            &[]
        )
        .status
        .success()
    );
    let config = std::fs::read_to_string(scratch.path(".duvet/config.toml")).unwrap();
    for part in [
        "src/**/*.rs",
        "src/**/*.py",
        "\"##=\"",
        "rfc2324",
        "[report.snapshot]",
    ] {
        assert!(config.contains(part), "{part} in {config}");
    }
    let (_, diagnostics) = duvet::config::parse("c", &config, &|_| None);
    assert_eq!(diagnostics, []);
    assert!(
        std::fs::read_to_string(scratch.path(".duvet/.gitignore"))
            .unwrap()
            .contains("reports/")
    );
    scratch.write(".duvet/config.toml", "mine");
    assert!(run(&scratch, &["init", "--lang-ruby"], &[]).status.success());
    assert_eq!(
        std::fs::read_to_string(scratch.path(".duvet/config.toml")).unwrap(),
        "mine"
    );
}

#[test]
fn extract_writes_one_file_per_section() {
    let scratch = project("");
    assert!(
        run(
            &scratch,
            &["extract", "specs/x.md", "-f", "markdown", "-o", "out"],
            &[]
        )
        .status
        .success()
    );
    let text = std::fs::read_to_string(scratch.path("out/specs/x/a.toml")).unwrap();
    let expected = "target = \"specs/x.md#a\"\n\n# A\n#\n# The server MUST do a. It MAY do b.\n\n[[spec]]\nlevel = \"MUST\"\n\
        quote = '''\nThe server MUST do a.\n'''\n\n[[spec]]\nlevel = \"MAY\"\nquote = '''\nIt MAY do b.\n'''\n\n";
    assert_eq!(text, expected);
    assert!(
        run(
            &scratch,
            &["extract", "specs/x.md", "-f", "auto", "-e", "rs", "-o", "out"],
            &[]
        )
        .status
        .success()
    );
    assert!(
        std::fs::read_to_string(scratch.path("out/specs/x/b.rs"))
            .unwrap()
            .contains("//= level=SHOULD\n//# The client")
    );
}

#[test]
fn a_report_writes_requirements_snapshot_and_page() {
    let scratch = project(CITED);
    let output = run(
        &scratch,
        &[
            "report",
            "--json",
            "o/1.json",
            "--json-v2",
            "o/2.json",
            "--lcov",
            "o/lcov",
        ],
        &[],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let snapshot = std::fs::read_to_string(scratch.path(".duvet/snapshot.txt")).unwrap();
    assert_eq!(
        snapshot,
        "SPECIFICATION: [X](specs/x.md)\n  SECTION: [A](#a)\n    TEXT[!MUST,implementation]: The server MUST do a.\n    \
         TEXT[!MAY]: It MAY do b.\n\n  SECTION: [B](#b)\n    TEXT[!SHOULD]: The client SHOULD wait 10 seconds.\n"
    );
    for file in [
        ".duvet/requirements/specs/x/a.toml",
        ".duvet/reports/report.html",
        "o/1.json",
        "o/2.json",
    ] {
        assert!(scratch.path(file).exists(), "{file}");
    }
    let lcov = std::fs::read_to_string(scratch.path("o/lcov/compliance.0.lcov")).unwrap();
    for line in [
        "SF:specs/x.md",
        "FN:3,A",
        "FNDA:1,A",
        "BRDA:5,0,0,1",
        "BRDA:5,1,0,0",
        "DA:9,0",
        "end_of_record",
    ] {
        assert!(lcov.lines().any(|l| l == line), "{line} in {lcov}");
    }
}

//= specs/duvet.md#reports
//= type=test
//# The HTML report MUST be one file that loads nothing else.
#[test]
fn the_page_loads_nothing() {
    let scratch = project(CITED);
    assert!(run(&scratch, &["report"], &[]).status.success());
    let page = std::fs::read_to_string(scratch.path(".duvet/reports/report.html")).unwrap();
    for loader in ["<link", " src=", "@import", "url(", "import("] {
        assert!(!page.contains(loader), "{loader}");
    }
    assert!(
        page.len() < 100_000,
        "{} bytes around very little data",
        page.len()
    );
}

#[test]
fn ci_mode_compares_the_snapshot() {
    let scratch = project(CITED);
    let missing = run(&scratch, &["report"], &[("CI", "true")]);
    assert!(!missing.status.success() && stderr(&missing).contains("snapshot-differs"));
    assert!(run(&scratch, &["report"], &[("CI", "false")]).status.success());
    assert!(run(&scratch, &["report"], &[("CI", "true")]).status.success());
    scratch.write("src/a.rs", "");
    let output = run(&scratch, &["report", "--ci"], &[]);
    assert!(!output.status.success());
    let words = stderr(&output);
    assert!(
        words.contains("-    TEXT[!MUST,implementation]: The server MUST do a."),
        "{words}"
    );
    assert!(
        run(&scratch, &["report", "--ci=false"], &[("CI", "true")])
            .status
            .success()
    );
}

//= specs/duvet.md#exit-codes
//= type=test
//# A gate MUST name every requirement that fails it.
//= specs/duvet.md#compatibility
//= type=test
//# The flags of the time before the configuration file MUST be accepted.
#[test]
fn the_old_gate_names_what_fails_it() {
    let scratch = Scratch::new(&[("specs/x.md", SPECIFICATION), ("src/a.rs", CITED)]);
    assert!(
        run(&scratch, &["extract", "specs/x.md", "-f", "markdown"], &[])
            .status
            .success()
    );
    let old = [
        "report",
        "--spec-pattern",
        "specs/**/*.toml",
        "--source-pattern",
        "src/*.rs",
        "--no-cargo",
        "--workspace",
    ];
    let with = |more: &[&str]| run(&scratch, &[&old, more].concat(), &[]);
    assert!(with(&[]).status.success());
    assert!(with(&["--require-tests", "true"]).status.success());
    let output = with(&["--ci", "--require-tests", "false"]);
    assert!(!output.status.success());
    let words = stderr(&output);
    assert!(
        words.contains("\"It MAY do b.\" is not cited") && words.contains("\"The client SHOULD wait"),
        "{words}"
    );
    assert!(!words.contains("\"The server MUST do a.\""), "{words}");
    assert!(
        with(&["--ci", "--require-tests", "false", "--require-citations", "false"])
            .status
            .success()
    );
    assert!(stderr(&with(&["--ci"])).contains("\"The server MUST do a.\" is not tested"));
}

//= specs/duvet.md#exit-codes
//= type=test
//# A run MUST fail when a finding is an error, and in strict mode when it is a warning.
//= specs/duvet.md#matching
//= type=test
//# In strict mode a quote that differs from the specification by more than blanks MUST NOT match.
#[test]
fn strict_mode_refuses_drift() {
    let scratch = project("//= specs/x.md#b\n//# The client SHOULD wait 16 seconds.\n");
    let output = run(&scratch, &["report"], &[]);
    assert!(
        output.status.success() && stderr(&output).contains("quote-meaning-changed"),
        "{}",
        stderr(&output)
    );
    let snapshot = || std::fs::read_to_string(scratch.path(".duvet/snapshot.txt")).unwrap();
    assert!(snapshot().contains("TEXT[!SHOULD,implementation]"));
    assert!(!run(&scratch, &["report", "--strict"], &[]).status.success());
    assert!(snapshot().contains("TEXT[!SHOULD]: The client"));
}

//= specs/duvet.md#fix
//= type=test
//# A drifted citation MUST be rewritten with the specification's words, in the comment prefixes and the indent the
//# file already has.
//= specs/duvet.md#fix
//= type=test
//# Unless told to write, the command MUST show the difference and not write any file.
#[test]
fn fix_requotes_in_the_files_own_style() {
    // Lines are joined here so that no line of this file begins as a citation would.
    let before = [
        "fn a() {",
        "    //= specs/x.md#b",
        "    //= type=test",
        "    //#   The client SHOULD wait",
        "    //#   16 seconds.",
    ];
    let after = [
        "    x();",
        "}",
        "//= specs/x.md#b",
        "//# The server MUST do a.",
        "",
    ];
    let source = &[before.as_slice(), &after].concat().join("\n");
    let scratch = project(source);
    let shown = run(&scratch, &["fix"], &[]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("+    //#   10 seconds."));
    assert_eq!(
        &std::fs::read_to_string(scratch.path("src/a.rs")).unwrap(),
        source
    );
    assert!(run(&scratch, &["fix", "--write"], &[]).status.success());
    let fixed = std::fs::read_to_string(scratch.path("src/a.rs")).unwrap();
    let before = [
        "fn a() {",
        "    //= specs/x.md#b",
        "    //= type=test",
        "    //#   The client SHOULD wait",
        "    //#   10 seconds.",
    ];
    let after = [
        "    x();",
        "}",
        "//= specs/x.md#a",
        "//# The server MUST do a.",
        "",
    ];
    let expected = [before.as_slice(), &after].concat().join("\n");
    assert_eq!(fixed, expected);
    assert!(run(&scratch, &["report", "--strict"], &[]).status.success());
}

//= specs/duvet.md#fix
//= type=test
//# Lines of a quote MUST stay lines: only the words that differ are changed.
#[test]
fn fix_neither_flattens_code_nor_cuts_sentences() {
    let specification = "# X\n\n## A\n\n    loop_forever:\n        wait for 10 seconds\n        send a frame MUST\n\n\
        Done. [CNSA] specifies a client MUST wait. End.\n";
    let before = [
        "    //= specs/x.md#a",
        "    //# loop_forever:",
        "    //#     wait for 16 seconds",
        "    //#     send a frame MUST",
        "    //= specs/x.md#a",
        "    //# CNSA specifies a client",
        "    //# MUST wait.",
        "",
    ];
    let scratch = project(&before.join("\n"));
    scratch.write("specs/x.md", specification);
    assert!(run(&scratch, &["fix", "--write"], &[]).status.success());
    let fixed = std::fs::read_to_string(scratch.path("src/a.rs")).unwrap();
    let expected = before
        .join("\n")
        .replace("16 seconds", "10 seconds")
        .replace("CNSA specifies", "[CNSA] specifies");
    assert_eq!(fixed, expected);
}

#[test]
fn queries_reach_a_verdict() {
    let more = [
        "",
        "//= specs/x.md#a\n//= type=test\n//# The server MUST do a.\n",
        "//= specs/x.md#a\n//# The server MUST do a.\n",
        "//= specs/x.md#b\n//= type=todo\n//# The client SHOULD wait 10 seconds.\n",
        "//= specs/x.md#a\n//# It MAY do\n",
    ]
    .join("\n");
    let scratch = project(&format!("{CITED}{more}"));
    let verdict = |arguments: &[&str]| {
        let output = run(&scratch, &[&["query", "--json"], arguments].concat(), &[]);
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.success(), answer["passed"].as_bool().unwrap());
        answer["verdicts"][0]["counts"].to_string()
    };
    assert_eq!(
        verdict(&["-c", "implementation"]),
        "[[\"Total requirements\",3],[\"Fully implemented\",1],[\"Incomplete implementation\",1],[\"Mixed implementation\",0],[\"TODO\",1],[\"Not implemented\",0]]"
    );
    assert_eq!(
        verdict(&["-c", "test"]),
        "[[\"Total requirements\",3],[\"Fully tested\",2],[\"Incomplete tests\",0],[\"Not tested\",1]]"
    );
    assert_eq!(verdict(&["-c", "duplicates"]), "[[\"Duplicated\",1]]");
    assert!(
        run(&scratch, &["query", "-c", "test", "-q", "DO A"], &[])
            .status
            .success()
    );
    assert!(
        !run(
            &scratch,
            &["query", "-c", "implementation", "-s", "specs/x.md#b"],
            &[]
        )
        .status
        .success()
    );
    scratch.write("cov.info", "SF:src/a.rs\nDA:3,1\nend_of_record\n");
    let executed = [
        "query", "-c", "coverage", "-r", "*.info", "-f", "lcov", "-q", "do a",
    ];
    assert!(!run(&scratch, &executed, &[]).status.success());
}

#[test]
fn findings_are_json_and_sarif_too() {
    let scratch = project("//= specs/x.md#nowhere\n//# q\n");
    let output = run(&scratch, &["report", "--diagnostics", "json"], &[]);
    let words = stderr(&output);
    let json: serde_json::Value =
        serde_json::from_str(&words[words.find('{').unwrap()..words.rfind('}').unwrap() + 1]).unwrap();
    assert_eq!(json["diagnostics"][0]["code"], "section-unknown");
    assert_eq!(json["diagnostics"][0]["start"]["line"], 1);
    assert!(
        !run(
            &scratch,
            &[
                "report",
                "--diagnostics",
                "sarif",
                "--diagnostics-file",
                "f.sarif"
            ],
            &[]
        )
        .status
        .success()
    );
    let sarif: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scratch.path("f.sarif")).unwrap()).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "section-unknown");
    assert_eq!(
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
        "src/a.rs"
    );
}

//= specs/duvet.md#freshness
//= type=test
//# A run that is replayed from the cache MUST leave the same files and the same verdict as the run itself.
#[test]
fn an_unchanged_run_is_replayed() {
    let scratch = project(&format!("{CITED}//= specs/x.md#gone\n//# q\n"));
    let first = run(&scratch, &["report"], &[]);
    let page = std::fs::read(scratch.path(".duvet/reports/report.html")).unwrap();
    std::fs::remove_file(scratch.path(".duvet/reports/report.html")).unwrap();
    let second = run(&scratch, &["report"], &[]);
    assert!(stderr(&second).contains("Unchanged"), "{}", stderr(&second));
    assert_eq!(first.status.code(), second.status.code());
    assert!(stderr(&second).contains("section-unknown"));
    assert_eq!(
        std::fs::read(scratch.path(".duvet/reports/report.html")).unwrap(),
        page
    );
    scratch.write("specs/x.md", format!("{SPECIFICATION}\nIt MUST also.\n"));
    let third = run(&scratch, &["report"], &[]);
    assert!(!stderr(&third).contains("Unchanged"));
    scratch.write("src/new.rs", "//= specs/x.md#b\n//# It MUST also.\n");
    assert!(!stderr(&run(&scratch, &["report"], &[])).contains("Unchanged"));
}

//= specs/duvet.md#specifications-offline
//= type=test
//# A specification whose text is missing MUST be reported once, with the command that fetches it.
//= specs/duvet.md#specifications-offline
//= type=test
//# A report MUST NOT use the network.
#[test]
fn missing_texts_are_fetched_by_their_own_command() {
    let (url, server) = serve(b"1.  One\n\n   It MUST be so.\n");
    let citation = format!("//= {url}#section-1\n//# It MUST be so.\n");
    let scratch = project(&format!("{citation}\n{citation}"));
    let output = run(&scratch, &["report"], &[]);
    let words = stderr(&output);
    assert!(!output.status.success());
    assert_eq!(words.matches("specification-missing").count(), 1, "{words}");
    assert!(words.contains(&format!("duvet fetch {url}")), "{words}");
    let host = url.trim_start_matches("http://").trim_end_matches("/spec");
    let fetched = run(&scratch, &["fetch", "--insecure-host", host], &[]);
    assert!(fetched.status.success(), "{}", stderr(&fetched));
    server.join().unwrap();
    assert!(run(&scratch, &["report"], &[]).status.success());
    let lock = std::fs::read_to_string(scratch.path(".duvet/specifications.lock")).unwrap();
    assert!(lock.contains(&url) && lock.contains("blake3 = "), "{lock}");
}

//= specs/duvet.md#tolerance
//= type=test
//# A citation that calls an RFC by its number MUST be reported with its address.
#[test]
fn an_rfc_that_is_cited_as_people_say_it_comes_with_its_address() {
    for spoken in ["RFC 8446", "rfc8446"] {
        let scratch = project(&format!("//= {spoken}#section-4.1\n//# q\n"));
        let words = stderr(&run(&scratch, &["report"], &[]));
        let address = "did you mean `https://www.rfc-editor.org/rfc/rfc8446`?";
        assert!(words.contains(address), "{words}");
    }
}

//= specs/duvet.md#tolerance
//= type=test
//# A citation of a text that is not here MUST be reported with the nearest name of one that is.
#[test]
fn a_misspelt_text_comes_with_the_nearest_one() {
    let scratch = project(&format!("{CITED}//= spec/x.md#a\n//# The server MUST do a.\n"));
    let words = stderr(&run(&scratch, &["report"], &[]));
    assert!(words.contains("did you mean `specs/x.md`?"), "{words}");
    let scratch = project(&format!("{CITED}//= elsewhere/entirely.md#a\n//# q\n"));
    let words = stderr(&run(&scratch, &["report"], &[]));
    assert!(words.contains("specification-missing"), "{words}");
    assert!(!words.contains("did you mean"), "{words}");
}

#[test]
fn a_report_fetches_what_is_missing_only_when_asked() {
    let (url, server) = serve(b"1.  One\n\n   It MUST be so.\n");
    let scratch = project(&format!("//= {url}#section-1\n//# It MUST be so.\n"));
    let host = url
        .trim_start_matches("http://")
        .trim_end_matches("/spec")
        .to_owned();
    let hosts = ["--insecure-host", &host];
    let output = run(&scratch, &["report", hosts[0], hosts[1]], &[]);
    assert!(!output.status.success(), "a host that may be asked is not asked");
    let output = run(&scratch, &["report", "--fetch", hosts[0], hosts[1]], &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    server.join().unwrap();
    // The server is gone: what is here is not fetched again.
    let output = run(&scratch, &["report", "--fetch", hosts[0], hosts[1]], &[]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// As with the public tool.
#[test]
fn what_is_extracted_and_fetched_lies_beside_a_configuration_in_another_folder() {
    let (url, server) = serve(b"1.  One\n\n   It MUST be so.\n");
    let scratch = Scratch::new(&[
        ("deep/.duvet/config.toml", CONFIG),
        ("specs/x.md", SPECIFICATION),
        (
            "src/a.rs",
            &format!("{CITED}//= {url}#section-1\n//# It MUST be so.\n"),
        ),
    ]);
    let host = url
        .trim_start_matches("http://")
        .trim_end_matches("/spec")
        .to_owned();
    let arguments = [
        "report",
        "--fetch",
        "--config-path",
        "deep/.duvet/config.toml",
        "--insecure-host",
        &host,
    ];
    let output = run(&scratch, &arguments, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    server.join().unwrap();
    assert!(scratch.path("deep/.duvet/requirements/specs/x/a.toml").exists());
    let stored = std::fs::read_dir(scratch.path("deep/.duvet/specifications")).unwrap();
    assert_eq!(stored.count(), 1);
    for folder in [".duvet/requirements", ".duvet/specifications"] {
        assert!(!scratch.path(folder).exists(), "{folder}");
    }
}

/// Answers one request with a text.
pub(crate) fn serve(text: &'static [u8]) -> (String, std::thread::JoinHandle<()>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/spec", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            text.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(text).unwrap();
    });
    (url, server)
}

#[test]
fn markdown_is_a_summary_for_pull_requests() {
    let scratch = project(CITED);
    let output = run(&scratch, &["report", "--markdown"], &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("## Traceability: 0 of 3 requirements done\n"),
        "{text}"
    );
    assert!(
        text.contains("| X | 3 | 0 | 1 | 0 | 0 | 0 | 2 |") && text.contains("1 open MUST"),
        "{text}"
    );
}

//= specs/duvet.md#merge
//= type=test
//# A merge MUST give the same report whatever the order of its inputs.
#[test]
fn merges_do_not_depend_on_order() {
    let scratch = project(CITED);
    let report = |out: &str, link: &str| {
        assert!(
            run(&scratch, &["report", "--json-v2", out, "--blob-link", link], &[])
                .status
                .success()
        );
    };
    report("a.json", "https://h/a");
    report("b.json", "https://h/b");
    report("plain.json", "");
    let merge = |inputs: &[&str], out: &str| {
        let inputs: Vec<&str> = inputs.iter().flat_map(|input| ["--input", input]).collect();
        run(
            &scratch,
            &[&["merge"], inputs.as_slice(), &["--output", out]].concat(),
            &[],
        )
    };
    assert!(merge(&["a.json", "b.json"], "ab.json").status.success());
    assert!(merge(&["b.json", "a.json"], "ba.json").status.success());
    assert!(merge(&["a.json", "a.json"], "aa.json").status.success());
    let read = |file: &str| std::fs::read(scratch.path(file)).unwrap();
    assert_eq!(read("ab.json"), read("ba.json"));
    assert_eq!(read("aa.json"), read("a.json"));
    scratch.write("old.json", "{\"version\":\"1.0\"}");
    assert!(stderr(&merge(&["old.json"], "x.json")).contains("only 2.0"));
}

#[test]
fn a_configuration_that_was_named_has_to_exist() {
    let scratch = project(CITED);
    let output = run(&scratch, &["report", "--config-path", "nowhere.toml"], &[]);
    assert!(
        !output.status.success() && stderr(&output).contains("config-unreadable"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_long_specification_is_reported_whole_and_in_its_order() {
    let mut text = String::from("# X\n");
    let ids: Vec<String> = (0..700).map(|number| format!("part-{number}")).collect();
    for number in 0..700 {
        text.push_str(&format!("\n## Part {number}\n\nLine.\nIt MUST do {number}.\n"));
    }
    let scratch = Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/x.md", &text),
        ("specs/y.md", "# Y\n\n## Part 0\n\nIt MUST do b.\n"),
        (
            "src/a.rs",
            "//= specs/x.md#part-699\n//# It MUST do 699.\n//= specs/y.md#part-0\n//# It MUST do b.\n",
        ),
    ]);
    assert!(
        run(&scratch, &["report", "--json", "v1.json"], &[])
            .status
            .success()
    );
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(scratch.path("v1.json")).unwrap()).unwrap();
    let page = std::fs::read_to_string(scratch.path(".duvet/reports/report.html")).unwrap();
    let data = page.split("type=\"application/json\">").nth(1).unwrap();
    let page: serde_json::Value = serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    let listed = |sections: &serde_json::Value, id: &str| -> Vec<String> {
        let sections = sections.as_array().unwrap().iter();
        sections
            .map(|section| section[id].as_str().unwrap().to_owned())
            .collect()
    };
    for (sections, id) in [
        (&json["specifications"]["specs/x.md"]["sections"], "id"),
        (&page["specs"][0]["s"], "i"),
    ] {
        assert_eq!(listed(sections, id)[1..], ids);
    }
    assert_eq!(
        listed(&json["specifications"]["specs/y.md"]["sections"], "id"),
        ["y", "part-0"]
    );
    assert_eq!(listed(&page["specs"][1]["s"], "i"), ["y", "part-0"]);
}
