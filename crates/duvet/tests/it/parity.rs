//! Where the review found another answer than the public tool's, each on its own.

use crate::command::{CITED, project, run, stderr};
use crate::scratch::Scratch;

const CONFIG: &str = "'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n[[source]]\npattern = \"src/**/*.rs\"\n[report.snapshot]\nenabled = true\n";
const TEXT: &str = "# JA4\n\n## Hash\n\nThe hash MUST be short.\n";

/// D1: `--spec-path X` means the folder `X/specs`.
#[test]
fn a_spec_path_means_the_folder_specs_below_it() {
    let source = "//= https://example.com/ja4#hash\n//# The hash MUST be short.\n";
    let files = [
        (".duvet/config.toml", CONFIG),
        ("src/a.rs", source),
        ("store/specs/example.com/ja4.txt", TEXT),
    ];
    let scratch = Scratch::new(&files);
    let output = run(&scratch, &["report", "--spec-path", "store"], &[("CI", "false")]);
    assert!(output.status.success(), "{}", stderr(&output));
    let scratch = Scratch::new(&files[..2]);
    scratch.write("store/example.com/ja4.txt", TEXT);
    let output = run(&scratch, &["report", "--spec-path", "store"], &[("CI", "false")]);
    assert!(!output.status.success(), "the folder itself is not searched");
}

/// D2: a stored text has `.txt` in place of the address's extension, so `JA4.md` is `JA4.txt`.
#[test]
fn a_stored_markdown_text_is_found_under_the_name_the_public_tool_gave_it() {
    let source = "//= https://example.com/docs/JA4.md#hash\n//# The hash MUST be short.\n";
    let scratch = Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("src/a.rs", source),
        (".duvet/specifications/example.com/docs/JA4.txt", TEXT),
    ]);
    let output = run(&scratch, &["report"], &[("CI", "false")]);
    assert!(output.status.success(), "{}", stderr(&output));
    let snapshot = std::fs::read_to_string(scratch.path(".duvet/snapshot.txt")).unwrap();
    assert!(snapshot.contains("The hash MUST be short."), "{snapshot}");
}

/// D5g: a run that another build kept is not replayed, though both call themselves by one version. Another build is one
/// whose sources differ; its name is part of the key.
#[test]
fn two_builds_of_one_version_do_not_believe_each_other() {
    use duvet::analysis::Project;
    use duvet::config::{Config, source_pattern};
    use duvet::memo::Memo;
    use duvet::pipeline::read_inputs;
    use duvet::run_cache::key;
    let scratch = project(CITED);
    let mut config = Config::legacy();
    config.sources = vec![source_pattern("src/*.rs").unwrap()];
    let asked = Project {
        root: scratch.root().to_owned(),
        config,
        strict: false,
    };
    let inputs = read_inputs(&asked, &mut Memo::default());
    let of = |build: &str| key(build, "report", &inputs);
    assert_eq!(of("0123456789abcdef"), of("0123456789abcdef"));
    assert_ne!(of("0123456789abcdef"), of("0123456789abcdee"));
}

/// D14: a file that git ignores but tracks is left out of a pattern with wildcards, unless the pattern names its folder or
/// `--compat strict` is given; both ways are in the table of differences.
#[test]
fn ignored_files_are_read_by_name_and_in_strict_compatibility() {
    let files = [
        (".duvet/config.toml", CONFIG),
        ("specs/x.md", "# A\n\nThe server MUST do a.\n"),
        ("src/a.rs", CITED),
        ("src/gen/b.rs", CITED),
        (".gitignore", "gen/\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
    ];
    let scratch = Scratch::new(&files);
    let citations = |arguments: &[&str]| {
        let mut all = vec!["report", "--json", "out.json"];
        all.extend(arguments);
        let output = run(&scratch, &all, &[("CI", "false")]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = std::fs::read_to_string(scratch.path("out.json")).unwrap();
        text.matches("\"source\":\"src/").count()
    };
    assert_eq!(citations(&[]), 1);
    assert_eq!(citations(&["--compat", "strict"]), 2);
    assert_eq!(citations(&["--source-pattern", "src/gen/*.rs"]), 2);
}

const TWO_WAYS: &str = "[[source]]\npattern = \"src/*.rs\"\ncomment-style = { meta = \"//=\", content = \"//\" }\n\
[[source]]\npattern = \"src/a.rs\"\ntype = \"test\"\nblob-link = \"https://b\"\n[[source]]\npattern = \"src/?.rs\"\ntype = \"test\"\n[[source]]\npattern = \"*/a.rs\"\n";

/// A file that several patterns find: annotations of one line are in the public tool's order, and equal ones are one.
#[test]
fn a_file_of_several_patterns_is_read_in_the_public_tools_order() {
    let scratch = project(CITED);
    let config = std::fs::read_to_string(scratch.path(".duvet/config.toml")).unwrap();
    scratch.write(".duvet/config.toml", format!("{config}\n{TWO_WAYS}"));
    let output = run(&scratch, &["report", "--json", "out.json"], &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read(scratch.path("out.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let annotations = report["annotations"].as_array().unwrap().iter();
    let of_source: Vec<String> = annotations
        .filter(|annotation| annotation["source"] == "src/a.rs")
        .map(|a| format!("{} {} {}", a["line"], a["type"], a["blob_link"]))
        .collect();
    // The other prefix of quotes gives another quote; the two patterns of the same prefixes and type give one citation.
    let expected = [
        "1 \"TEST\" null",
        "1 \"TEST\" \"https://b\"",
        "1 null null",
        "1 null null",
    ];
    assert_eq!(of_source, expected);
}

/// Spellings of one path are one specification; each citation keeps its own. (Two of them in one project once were a
/// panic.)
#[test]
fn spellings_of_a_path_are_one_specification() {
    let quote = "//# The server MUST do a.\n";
    let source = format!(
        "//= specs//x.md#a\n{quote}\n//= specs/./x.md#a\n//= type=test\n{quote}\n//= ./specs/x.md#a\n//= type=todo\n{quote}"
    );
    let scratch = project(&source);
    let outputs = ["report", "--json", "out.json", "--json-v2", "v2.json"];
    let output = run(&scratch, &outputs, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = std::fs::read(scratch.path("out.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let specifications: Vec<&String> = report["specifications"].as_object().unwrap().keys().collect();
    assert_eq!(specifications, ["./specs/x.md", "specs/x.md"]);
    assert_eq!(report["annotations"][3]["target_path"], "specs//x.md");
    let status = &report["statuses"]["0"];
    let bytes = |name: &str| status[name].as_u64();
    assert_eq!(
        (bytes("citation"), bytes("test")),
        (Some(21), Some(21)),
        "{status}"
    );
    let output = run(
        &scratch,
        &["query", "-c", "implementation", "-s", "specs/x.md#a"],
        &[],
    );
    assert!(stderr(&output).contains("Total"), "{}", stderr(&output));
}

/// The rows of the table of differences that strict compatibility turns, beside those about patterns.
#[test]
fn strict_compatibility_goes_the_public_tools_way() {
    let strict = ["report", "--json", "out.json", "--compat", "strict"];
    // A fault: requirement files are written, nothing else is.
    let scratch = project("//= specs/x.md#gone\n//# q\n");
    let output = run(&scratch, &strict, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(scratch.path(".duvet/requirements/specs/x/a.toml").exists());
    for name in ["out.json", ".duvet/snapshot.txt", ".duvet/reports/report.html"] {
        assert!(!scratch.path(name).exists(), "{name}");
    }
    assert_eq!(run(&scratch, &strict[..3], &[]).status.code(), Some(1));
    assert!(scratch.path("out.json").exists(), "ours goes on");
    // One array by two names.
    let scratch = project(CITED);
    let todo = "quote = \"x\"\ntarget = \"specs/x.md#a\"\n";
    scratch.write(".duvet/todos/a.toml", format!("[[todo]]\n{todo}[[TODO]]\n{todo}"));
    let output = run(&scratch, &strict, &[]);
    assert!(stderr(&output).contains("by two names"), "{}", stderr(&output));
    // A requirement without a quote is its section's title, and citations without one cover it.
    let scratch = project("//= specs/x.md#a\n//= type=spec\n\n//= specs/x.md#a\n//= type=test\n");
    let status = |arguments: &[&str]| {
        let output = run(&scratch, arguments, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = std::fs::read(scratch.path("out.json")).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let annotations = report["annotations"].as_array().unwrap().iter();
        let at = annotations
            .clone()
            .position(|a| a["source"] == "src/a.rs" && a["type"] == "SPEC")
            .unwrap();
        report["statuses"][at.to_string()].clone()
    };
    assert_eq!(status(&strict[..3]), serde_json::json!({}));
    let covered = status(&strict);
    let bytes = |name: &str| covered[name].as_u64();
    assert_eq!((bytes("spec"), bytes("test")), (Some(1), Some(1)), "{covered}");
    assert!(covered["incomplete"].is_null(), "{covered}");
    // Drifted quotes leave a query without a verdict.
    let scratch = project("//= specs/x.md#a\n//# The server MUST do b.\n");
    let output = run(
        &scratch,
        &["query", "-c", "implementation", "--compat", "strict"],
        &[],
    );
    assert!(stderr(&output).contains("no verdict"), "{}", stderr(&output));
}

//= specs/duvet.md#hook
//= type=test
//# A hook MUST stop a commit whose citations do not hold, and MUST NOT replace one that is there.
//= specs/duvet.md#hook
//= type=test
//# A commit that is stopped MUST be told why.
#[cfg(unix)]
#[test]
fn a_hook_stops_a_commit_and_replaces_none() {
    use std::process::Command;
    let scratch = project(CITED);
    let output = run(&scratch, &["init", "--hook"], &[]);
    assert!(
        !output.status.success(),
        "there is no repository: {}",
        stderr(&output)
    );
    scratch.write(".git/HEAD", "ref: refs/heads/main\n");
    assert!(run(&scratch, &["init", "--hook"], &[]).status.success());
    let commit = || {
        let folder = std::path::Path::new(env!("CARGO_BIN_EXE_duvet"))
            .parent()
            .unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        let mut hook = Command::new(scratch.path(".git/hooks/pre-commit"));
        hook.current_dir(scratch.root())
            .env("PATH", path)
            .output()
            .unwrap()
    };
    run(&scratch, &["report"], &[("CI", "false")]);
    let fine = commit();
    assert!(fine.status.success(), "{}", stderr(&fine));
    assert_eq!(stderr(&fine), "", "nothing is said while all is well");
    scratch.write("src/b.rs", "//= specs/x.md#a\n//# The server MUST dance.\n");
    let stopped = commit();
    assert!(!stopped.status.success());
    assert!(
        stderr(&stopped).contains("src/b.rs:1"),
        "it is said why: {}",
        stderr(&stopped)
    );
    scratch.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    assert!(run(&scratch, &["init", "--hook"], &[]).status.success());
    let kept = std::fs::read_to_string(scratch.path(".git/hooks/pre-commit")).unwrap();
    assert_eq!(kept, "#!/bin/sh\nexit 0\n");
}

/// Kind, section and quote.
type Annotated = (&'static str, &'static str, &'static str);

/// A project with one sentence that demands nothing and one that does, and annotations by kind and sentence.
fn annotated(annotations: &[Annotated]) -> Scratch {
    let mut source = String::new();
    for (kind, section, quote) in annotations {
        source.push_str(&format!("//= specs/x.md#{section}\n//= type={kind}\n"));
        if *kind == "exception" {
            source.push_str("//= reason=x\n");
        }
        source.push_str(&format!("//# {quote}\nfn x() {{}}\n"));
    }
    let config = crate::command::CONFIG.replace("[report.snapshot]\nenabled = true\n", "");
    Scratch::new(&[
        (".duvet/config.toml", &config),
        (
            "specs/x.md",
            "# C\n\n## A\n\nA pot is found round.\n\n## B\n\nA pot MUST brew.\n",
        ),
        ("src/a.rs", &source),
    ])
}

const ROUND: &str = "A pot is found round.";
const BREW: &str = "A pot MUST brew.";

/// What the public tool 0.4.3 said of these projects.
#[test]
fn the_strict_gate_goes_by_lines_as_the_public_tool_does() {
    let cases: &[(&[Annotated], bool, bool)] = &[
        (&[("citation", "a", ROUND)], false, false),
        (&[("test", "a", ROUND)], false, true),
        (&[("citation", "a", ROUND), ("test", "a", ROUND)], false, true),
        (&[("citation", "b", BREW)], true, false),
        (&[("citation", "b", BREW), ("test", "b", BREW)], true, true),
        (&[("exception", "b", BREW)], true, true),
        (&[("exception", "b", BREW), ("citation", "a", ROUND)], true, false),
        (&[("citation", "b", BREW), ("test", "a", ROUND)], false, false),
        (
            &[("citation", "b", BREW), ("test", "b", BREW), ("test", "a", ROUND)],
            false,
            true,
        ),
        (
            &[
                ("citation", "b", BREW),
                ("test", "b", BREW),
                ("citation", "a", ROUND),
            ],
            true,
            false,
        ),
    ];
    for (annotations, is_cited, is_tested) in cases {
        let scratch = annotated(annotations);
        let gate = |flag: &str| {
            let flags = ["report", "--compat", "strict", "--ci", flag, "false"];
            run(&scratch, &flags, &[]).status.success()
        };
        let found = (gate("--require-tests"), gate("--require-citations"));
        assert_eq!(found, (*is_cited, *is_tested), "{annotations:?}");
    }
}

/// The same for queries: which drifted quotes keep it from a verdict.
#[test]
fn a_strict_query_stops_where_the_public_tool_does() {
    let sound = [("citation", "b", BREW), ("test", "b", BREW)];
    for (kind, section, implementation, test, duplicates) in [
        ("citation", "a", true, false, false),
        ("test", "a", true, true, false),
        ("todo", "a", true, true, false),
        ("spec", "a", false, true, false),
        ("citation", "b", false, false, false),
        ("test", "b", true, false, false),
        ("todo", "b", false, true, false),
        ("exception", "b", false, true, false),
        ("implication", "b", false, true, false),
    ] {
        let quote = if section == "a" {
            "A pot is fond round."
        } else {
            "A pot MUST brw."
        };
        let mut annotations = sound.to_vec();
        annotations.push((kind, section, quote));
        let scratch = annotated(&annotations);
        let asked = |check: &str| {
            let output = run(&scratch, &["query", "--compat", "strict", "-c", check], &[]);
            stderr(&output).contains("Overall")
        };
        let found = (asked("implementation"), asked("test"), asked("duplicates"));
        assert_eq!(found, (implementation, test, duplicates), "{kind} {section}");
    }
}

#[test]
fn a_project_names_its_repository_also_when_no_file_is_linked_to_it() {
    let scratch = annotated(&[]);
    let flags = [
        "report",
        "--json-v2",
        "v2.json",
        "--blob-link",
        "https://host.example/blob",
    ];
    assert!(run(&scratch, &flags, &[]).status.success());
    let report = std::fs::read_to_string(scratch.path("v2.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let repositories: Vec<_> = report["repositories"].as_object().unwrap().values().collect();
    assert_eq!(
        repositories,
        [&serde_json::json!({ "blob_link": "https://host.example/blob" })]
    );
}

//= specs/duvet.md#reports
//= type=test
//# A link into the HTML report MUST name specification, section and requirement, so that it holds after others came or went.
/// The page's own function is run, where there is something to run it with.
#[test]
fn links_into_the_page_go_by_name() {
    let page = duvet::report::html::render(&duvet::analysis::Analysis::default(), &Default::default());
    let page = String::from_utf8(page).unwrap();
    let cut = |from: &str, to: &str| {
        let start = page.find(from).unwrap();
        let end = page[start..].find(to).unwrap();
        &page[start..start + end]
    };
    let (link, find) = (
        cut("const link =", "\n"),
        cut("function find(", "\nfunction route"),
    );
    let script = format!(
        "const D = {{ specs: [{{ n: 'other', s: [] }}, {{ n: 'https://x/rfc1', s: [{{ i: 'a/b' }}] }}], \
         reqs: [{{ s: 1, c: 0, id: 'ff' }}] }}; const spec = i => D.specs[i];\n{link}\n{find}\n\
         const l = link(1, 0, 'ff'), f = find(l); D.specs.shift(); D.reqs[0].s = 0; const g = find(l);\n\
         console.log(l, JSON.stringify(f), JSON.stringify(g), JSON.stringify(find('#/%')), JSON.stringify(find('#/0/a%2Fb')));"
    );
    let Ok(output) = std::process::Command::new("node").arg("-e").arg(&script).output() else {
        // Without an engine the words have to do.
        assert!(link.contains("spec(s).n") && find.contains("s.n === a"));
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "#/https%3A%2F%2Fx%2Frfc1/a%2Fb/ff {\"i\":1,\"k\":0,\"r\":0} {\"i\":0,\"k\":0,\"r\":0} {\"i\":-1,\"k\":-1,\"r\":-1} {\"i\":0,\"k\":0,\"r\":-1}",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
