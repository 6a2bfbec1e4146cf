//! Nothing leaves the project: every hole that was found, tried again.

use crate::command::{CONFIG, run, stderr};
use crate::scratch::Scratch;
use std::path::PathBuf;

/// A project one folder deep, so that there is something outside it to be reached.
struct World {
    scratch: Scratch,
}

impl World {
    fn new(specification: &str, source: &str) -> Self {
        let scratch = Scratch::new(&[
            ("project/.duvet/config.toml", CONFIG),
            ("project/specs/x.md", specification),
            ("project/src/a.rs", source),
            ("secret.md", "# Keys\n\nThe key MUST be hunter2.\n"),
        ]);
        Self { scratch }
    }

    fn run(&self, arguments: &[&str]) -> std::process::Output {
        crate::command::run_in(&self.scratch.path("project"), arguments, &[])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn everything_written(&self) -> String {
        let mut all = String::new();
        for name in ["v1.json", "v2.json", "page.html", ".duvet/snapshot.txt"] {
            let bytes = std::fs::read(self.path("project").join(name)).unwrap_or_default();
            all.push_str(&String::from_utf8_lossy(&bytes));
        }
        all
    }
}

const OUTPUTS: &[&str] = &[
    "report",
    "--json",
    "v1.json",
    "--json-v2",
    "v2.json",
    "--html",
    "page.html",
];

//= specs/duvet.md#inside-the-fence
//= type=test
//# A section's id MUST NOT become a path: a file named after it lies in its specification's folder.
#[test]
fn a_heading_id_with_dots_overwrites_no_file_of_the_project_or_above() {
    for id in [
        "../../../Cargo",
        "../../../../Cargo",
        "/tmp/duvet-evil/Cargo",
        "..",
        ".hidden",
    ] {
        let world = World::new(&format!("# X\n\n## Evil {{#{id}}}\n\nIt MUST be so.\n"), "");
        world.scratch.write("project/Cargo.toml", "[package]");
        world.scratch.write("Cargo.toml", "[package]");
        let output = world.run(&["report"]);
        for own in ["project/Cargo.toml", "Cargo.toml"] {
            assert_eq!(
                std::fs::read(world.path(own)).unwrap(),
                b"[package]",
                "{id} {own}"
            );
        }
        assert!(!PathBuf::from("/tmp/duvet-evil").exists());
        let folder = world.path("project/.duvet/requirements/specs/x");
        assert_eq!(
            std::fs::read_dir(folder).unwrap().count(),
            1,
            "{id}: {}",
            stderr(&output)
        );
        let output = world.run(&["extract", "specs/x.md", "-f", "markdown", "-o", "out"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(
            std::fs::read_dir(world.path("project/out/specs/x"))
                .unwrap()
                .count(),
            1
        );
        // A citation of the id, dots and all, still finds its section.
        world.scratch.write(
            "project/src/a.rs",
            format!("//= specs/x.md#{id}\n//# It MUST be so.\n"),
        );
        let output = world.run(&["report"]);
        assert!(output.status.success(), "{id}: {}", stderr(&output));
    }
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# A file that a specification, a citation or the configuration names MUST NOT be read or written when it lies
//# outside the project's folder, links resolved.
#[test]
fn a_citation_cannot_read_a_file_outside() {
    let absolute = |world: &World| world.path("secret.md").display().to_string();
    for target in [
        "../secret.md",
        "src/../../secret.md",
        "ABSOLUTE",
        "linked.md",
        "folder/secret.md",
    ] {
        let world = World::new("# X\n", "");
        let target = target.replace("ABSOLUTE", &absolute(&world));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(world.path("secret.md"), world.path("project/linked.md")).unwrap();
            std::os::unix::fs::symlink(world.scratch.root(), world.path("project/folder")).unwrap();
        }
        world.scratch.write(
            "project/src/a.rs",
            format!("//= {target}#keys\n//= type=spec\n//# The key MUST be hunter2.\n"),
        );
        let output = world.run(OUTPUTS);
        assert!(!output.status.success(), "{target}");
        let words = stderr(&output);
        assert!(words.contains("specification-outside"), "{target}: {words}");
        let all = world.everything_written();
        assert!(!all.contains("# Keys"), "{target}: {all}");
        let allowed = world.run(&["report", "--allow-read", "..", "--json", "allowed.json"]);
        assert!(!stderr(&allowed).contains("specification-outside"), "{target}");
    }
}

#[cfg(unix)]
#[test]
fn a_source_behind_a_link_that_leads_out_is_not_read() {
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", "");
    world
        .scratch
        .write("outside/b.rs", "//= specs/x.md#a\n//# It MUST be so.\n");
    std::os::unix::fs::symlink(world.path("outside"), world.path("project/src/out")).unwrap();
    std::os::unix::fs::symlink(world.path("outside/b.rs"), world.path("project/src/b.rs")).unwrap();
    world
        .scratch
        .write("project/inner/c.rs", "//= specs/x.md#a\n//# It MUST be so.\n");
    std::os::unix::fs::symlink(world.path("project/inner"), world.path("project/src/inner")).unwrap();
    std::os::unix::fs::symlink(world.path("project/src"), world.path("project/src/loop")).unwrap();
    let output = world.run(&["report", "--json", "v1.json"]);
    let json = std::fs::read_to_string(world.path("project/v1.json")).unwrap();
    assert!(!json.contains("src/b.rs") && !json.contains("src/out"), "{json}");
    assert!(
        json.contains("src/inner/c.rs"),
        "a link inside is followed: {}",
        stderr(&output)
    );
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# A link that leads out of the project and is not followed MUST be named.
#[cfg(unix)]
#[test]
fn a_link_that_leads_out_is_named_and_one_that_no_pattern_means_is_not() {
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", "");
    world
        .scratch
        .write("outside/b.rs", "//= specs/x.md#a\n//# It MUST be so.\n");
    world.scratch.write("outside/note.txt", "");
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(world.path(from), world.path(to)).unwrap();
    link("outside", "project/src/out");
    link("outside/b.rs", "project/src/b.rs");
    link("outside/note.txt", "project/src/note.txt");
    link("outside", "project/other");
    let output = world.run(&["report"]);
    let words = stderr(&output);
    assert!(output.status.success(), "it is a warning: {words}");
    assert_eq!(words.matches("source-outside").count(), 2, "{words}");
    for named in ["src/out:", "src/b.rs:", "--allow-read"] {
        assert!(words.contains(named), "{named}: {words}");
    }
    let allowed = world.run(&["report", "--allow-read", "../outside"]);
    assert!(
        !stderr(&allowed).contains("source-outside"),
        "{}",
        stderr(&allowed)
    );
}

/// A snapshot that the configuration puts outside was printed as a difference.
#[test]
fn a_snapshot_outside_is_neither_compared_nor_shown() {
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", "// nothing\n");
    world.scratch.write("secret.txt", "the key is hunter2\n");
    for path in ["../secret.txt", "linked.txt"] {
        #[cfg(unix)]
        if path == "linked.txt" {
            std::os::unix::fs::symlink(world.path("secret.txt"), world.path("project/linked.txt")).unwrap();
        }
        world.scratch.write(
            "project/.duvet/config.toml",
            format!("{CONFIG}path = \"{path}\"\n"),
        );
        let output = world.run(&["report", "--ci"]);
        let words = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{path}: {words}");
        assert!(!words.contains("hunter2"), "{path}: {words}");
        assert!(words.contains("snapshot-differs"), "{path}: {words}");
    }
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# The configuration and the lock file MUST NOT be read through a link that leads outside, unless the person named it.
#[cfg(unix)]
#[test]
fn a_configuration_or_a_lock_behind_a_link_that_leads_out_is_not_read() {
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", "// nothing\n");
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(world.path(from), world.path(to)).unwrap();
    world.scratch.write("secret.toml", "[hunter2]\n");
    link("secret.toml", "project/.duvet/specifications.lock");
    let output = world.run(&["report"]);
    let words = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("file-unreadable") && !words.contains("hunter2"),
        "{words}"
    );
    std::fs::remove_file(world.path("project/.duvet/specifications.lock")).unwrap();
    std::fs::remove_file(world.path("project/.duvet/config.toml")).unwrap();
    link("secret.toml", "project/.duvet/config.toml");
    let output = world.run(&["report"]);
    let words = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("config-unreadable") && !words.contains("hunter2"),
        "{words}"
    );
    let named = world.run(&["report", "--config-path", ".duvet/config.toml"]);
    assert!(stderr(&named).contains("hunter2"), "{}", stderr(&named));
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# A device or a pipe MUST NOT be written to unless the person named it.
#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_report_is_not_waited_for() {
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", "// nothing\n");
    world.scratch.write("project/.duvet/reports/x", "");
    let pipe = world.path("project/.duvet/reports/report.html");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    // A reader that never comes would be waited for without end; this one ends the wait, so that the test can fail.
    let reader = {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = std::fs::OpenOptions::new();
        options.read(true).custom_flags(0o4000).open(&pipe).unwrap()
    };
    let output = world.run(&["report"]);
    drop(reader);
    let words = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("report.html") && words.contains("not a regular file"),
        "{words}"
    );
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# A link of the page MUST be relative or begin with `http:` or `https:`.
#[test]
fn a_link_of_the_configuration_runs_no_script_on_the_page() {
    for (link, is_kept) in [
        ("javascript:alert(1)//", false),
        ("  JavaScript:alert(1)//", false),
        ("data:text/html,x", false),
        ("https://example.com/blob", true),
        ("../blob:x", true),
    ] {
        let world = World::new(
            "# X\n\n## A\n\nIt MUST be so.\n",
            "//= specs/x.md#a\n//# It MUST be so.\n",
        );
        world.scratch.write(
            "project/.duvet/config.toml",
            CONFIG.replace("[[spec", &format!("blob-link = \"{link}\"\n[[spec")),
        );
        let output = world.run(&["report", "--html", "page.html", "--blob-link", link]);
        assert!(output.status.success(), "{link}: {}", stderr(&output));
        let page = std::fs::read_to_string(world.path("project/page.html")).unwrap();
        assert_eq!(page.contains(link.trim()), is_kept, "{link}");
    }
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# A device, a pipe or a file over the limit MUST be reported and not read.
#[cfg(unix)]
#[test]
fn devices_and_pipes_are_neither_drained_nor_waited_for() {
    let world = World::new("# X\n", "//= pipe.md#x\n//# q\n");
    let made = std::process::Command::new("mkfifo")
        .arg(world.path("project/pipe.md"))
        .status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", world.path("project/zero.md")).unwrap();
    let output = world.run(&["report"]);
    assert!(
        stderr(&output).contains("not a regular file"),
        "{}",
        stderr(&output)
    );
    for target in ["/dev/zero", "zero.md"] {
        world
            .scratch
            .write("project/src/a.rs", format!("//= {target}#x\n//# q\n"));
        let words = stderr(&world.run(&["report"]));
        assert!(words.contains("specification-outside"), "{target}: {words}");
    }
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# The text of an address MUST be stored below the folder of downloads, whatever its path says.
#[test]
fn an_address_with_dots_writes_nowhere_else_and_nobody_unknown_is_asked() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let host = listener.local_addr().unwrap();
    let source = format!(
        "//= http://{host}/../../../../escaped#x\n//# q\n//= http://{host}/../../.git/hooks/pre-commit#x\n//# q\n"
    );
    let world = World::new("# X\n", &source);
    let output = world.run(&["fetch"]);
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("only https is asked"),
        "{}",
        stderr(&output)
    );
    assert!(listener.accept().is_err(), "nobody was asked");

    let served = crate::command::serve(b"1.  One\n\n   It MUST be so.\n");
    let address = served
        .0
        .trim_start_matches("http://")
        .trim_end_matches("/spec")
        .to_owned();
    let url = format!("http://{address}/../../../../escaped");
    world.scratch.write("project/src/a.rs", "");
    let output = world.run(&["fetch", "--insecure-host", &address, &url]);
    assert!(output.status.success(), "{}", stderr(&output));
    served.1.join().unwrap();
    let stored = world
        .path("project/.duvet/specifications")
        .join(&address)
        .join("escaped.txt");
    assert!(stored.exists());
    assert!(!world.path("escaped.txt").exists() && !world.path("project/escaped.txt").exists());
}

#[test]
fn a_report_that_the_configuration_puts_outside_is_not_written() {
    let world = World::new(
        "# X\n\n## A\n\nIt MUST be so.\n",
        "//= specs/x.md#a\n//# It MUST be so.\n",
    );
    let config = format!("{CONFIG}path = \"../victim.txt\"\n[report.html]\npath = \"../victim.html\"\n");
    world.scratch.write("project/.duvet/config.toml", config);
    let output = world.run(&["report"]);
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("leads outside the project"),
        "{}",
        stderr(&output)
    );
    assert!(!world.path("victim.txt").exists() && !world.path("victim.html").exists());
    let output = world.run(&["report", "--html", "../asked.html"]);
    assert!(
        world.path("asked.html").exists(),
        "what the person names is hers: {}",
        stderr(&output)
    );
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# Text of a project MUST NOT break out of the page's data or of a requirement file.
#[test]
fn a_title_of_several_lines_states_no_exception_and_no_script_swallows_the_page() {
    let evil = "# X\n\nInject\n[[exception]]\nquote = \"It MUST be so.\"\nreason = \"because\"\n====\n\nIt MUST be so. <!-- <script>\n";
    let world = World::new(evil, "");
    let output = world.run(&["report", "--json", "v1.json", "--html", "page.html"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json = std::fs::read_to_string(world.path("project/v1.json")).unwrap();
    assert!(
        json.contains("It MUST be so.") && !json.contains("EXCEPTION"),
        "{json}"
    );
    let page = std::fs::read_to_string(world.path("project/page.html")).unwrap();
    let data = page.split("type=\"application/json\">").nth(1).unwrap();
    let data = data.split("</script>").next().unwrap();
    assert!(!data.contains('<'), "{data}");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(
        data.to_string().contains("<!-- <script>"),
        "the text itself is kept"
    );
}

/// The contents of every element of a kind.
fn elements<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let starts = page.split(open.as_str()).skip(1);
    starts
        .map(|rest| {
            let (_, inside) = rest.split_once('>').unwrap();
            inside.split_once(close.as_str()).unwrap().0
        })
        .collect()
}

//= specs/duvet.md#reports
//= type=test
//# The HTML report MUST carry a policy by which a browser runs its own script and style only.
#[test]
fn the_policy_of_the_page_knows_its_script_and_its_style_by_hash_and_allows_nothing_else() {
    use base64::Engine as _;
    use sha2::Digest as _;
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", "");
    assert!(world.run(&["report", "--html", "page.html"]).status.success());
    let page = std::fs::read_to_string(world.path("project/page.html")).unwrap();
    let (_, policy) = page
        .split_once("http-equiv=\"Content-Security-Policy\" content=\"")
        .unwrap();
    let policy = policy.split_once('"').unwrap().0;
    let hash = |text: &str| {
        let digest = sha2::Sha256::digest(text.as_bytes());
        format!(
            "'sha256-{}'",
            base64::engine::general_purpose::STANDARD.encode(digest)
        )
    };
    let (scripts, styles) = (elements(&page, "script"), elements(&page, "style"));
    assert_eq!((scripts.len(), styles.len()), (2, 1), "data, script and style");
    let expected = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'; trusted-types",
        hash(scripts[1]),
        hash(styles[0])
    );
    assert_eq!(policy, expected);
    let before = page.split_once("http-equiv").unwrap().0;
    assert!(
        !before.contains("<script") && !before.contains("<style"),
        "it holds for all of them"
    );
    for attribute in [" style=", " onclick=", " onerror=", " onload="] {
        assert!(!page.contains(attribute), "{attribute} would be stopped by it");
    }
}

//= specs/duvet.md#inside-the-fence
//= type=test
//# Text of a project MUST NOT break out of the page's data or of a requirement file.
#[test]
fn markup_stays_text_wherever_a_project_can_put_it() {
    const EVIL: &str = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>";
    let specification = format!("# T {EVIL}\n\n## A {EVIL} {{#a}}\n\nIt MUST {EVIL} be so.\n\nIt MUST be.\n");
    let cited = |meta: &[&str]| {
        let lines: String = meta.iter().map(|line| format!("//= {line}\n")).collect();
        format!("//= specs/x.md#a\n{lines}//# It MUST be.\n\n")
    };
    let (feature, issue) = (format!("feature={EVIL}"), format!("tracking-issue={EVIL}"));
    let source =
        cited(&["type=todo", &feature, &issue]) + &cited(&["type=exception", &format!("reason={EVIL}")]);
    let world = World::new(&specification, &source);
    let link = format!("https://code.example/{EVIL}");
    let page_of = |folder: &str| {
        let project = world.path(folder);
        let flags = [
            "report",
            "--html",
            "page.html",
            "--blob-link",
            &link,
            "--issue-link",
            &link,
        ];
        let output = crate::command::run_in(&project, &flags, &[("CI", "false")]);
        let page = std::fs::read_to_string(project.join("page.html"));
        page.unwrap_or_else(|_| panic!("{}", stderr(&output)))
    };
    let page = page_of("project");
    assert_eq!(elements(&page, "script").len(), 2, "none was added");
    let data = elements(&page, "script")[0];
    assert!(!data.contains('<'), "{data}");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let places = data.to_string().matches("<script>alert(1)").count();
    assert!(places >= 8, "all of it is there as text: {places} in {data}");
    // The folder's name is the heading of the page.
    let evil = world.path("<script>alert(1)<&>");
    std::fs::rename(world.path("project"), &evil).unwrap();
    let page = page_of("<script>alert(1)<&>");
    assert_eq!(elements(&page, "script").len(), 2);
    assert!(page.contains("<title>&lt;script&gt;alert(1)&lt;&amp;&gt;</title>"));
}

#[test]
fn escape_sequences_of_a_quote_do_not_reach_the_terminal() {
    let source = "//= specs/x.md#a\n//# \u{1b}]0;owned\u{7}It\u{1b}[2J MUST be so, or so.\n";
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", source);
    for arguments in [
        &["report"][..],
        &["report", "--no-cache", "-v"],
        &["query", "-c", "implementation"],
    ] {
        let words = stderr(&world.run(arguments));
        assert!(!words.contains(['\u{1b}', '\u{7}']), "{words:?}");
    }
}

#[test]
fn what_programs_read_carries_no_escape_sequences_to_a_terminal() {
    let world = World::new(
        "# X\n\n## A\u{9b}2J\u{202e} {#a}\n\nIt MUST be \u{1b}]0;x\u{7}\u{9b}2J\u{202e} so.\n",
        "//= specs/x.md#n\u{9b}2J\u{202e}one\n//# q\u{1b}\n",
    );
    let asked: [&[&str]; 4] = [
        &["report", "--markdown", "-"],
        &["report", "--diagnostics", "json"],
        &["report", "--diagnostics", "sarif"],
        &["query", "-c", "implementation", "--json"],
    ];
    for arguments in asked {
        let output = world.run(arguments);
        for said in [&output.stdout, &output.stderr] {
            let said = String::from_utf8_lossy(said);
            assert!(
                !said.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}']),
                "{arguments:?}: {said:?}"
            );
        }
    }
    let json = world.run(&[
        "report",
        "--diagnostics",
        "json",
        "--quiet",
        "--diagnostics-file",
        "found.json",
    ]);
    assert_eq!(json.status.code(), Some(1));
    let found = std::fs::read(world.path("project/found.json")).unwrap();
    let found: serde_json::Value = serde_json::from_slice(&found).unwrap();
    let message = found["diagnostics"][0]["message"].as_str().unwrap();
    assert!(
        message.contains("n\u{9b}2J\u{202e}one"),
        "nothing is lost: {message:?}"
    );
}

#[test]
fn a_pattern_outside_is_refused_in_the_configuration_and_allowed_on_the_command_line() {
    let world = World::new("# X\n\n## A\n\nIt MUST be so.\n", "");
    world
        .scratch
        .write("other/b.rs", "//= specs/x.md#a\n//# It MUST be so.\n");
    let config = format!("{CONFIG}[[source]]\npattern = \"../other/*.rs\"\n");
    world.scratch.write("project/.duvet/config.toml", config);
    let words = stderr(&world.run(&["report"]));
    assert!(
        words.contains("pattern-invalid") && words.contains("--allow-read"),
        "{words}"
    );
    world.scratch.write("project/.duvet/config.toml", CONFIG);
    let output = world.run(&["report", "--source-pattern", "../other/*.rs", "--json", "v1.json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json = std::fs::read_to_string(world.path("project/v1.json")).unwrap();
    assert!(json.contains("../other/b.rs"), "{json}");
}

#[test]
fn an_absolute_pattern_finds_its_files() {
    let world = World::new(
        "# X\n\n## A\n\nIt MUST be so.\n",
        "//= specs/x.md#a\n//# It MUST be so.\n",
    );
    let folder = world.path("project").canonicalize().unwrap();
    let pattern = format!("{}/src/*.rs", folder.display());
    let config = CONFIG.replace("src/**/*.rs", &pattern);
    world.scratch.write("project/.duvet/config.toml", config);
    let output = world.run(&["report", "--json", "v1.json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json = std::fs::read_to_string(world.path("project/v1.json")).unwrap();
    assert!(json.contains(&format!("{}/src/a.rs", folder.display())), "{json}");
}

#[test]
fn a_broken_pipe_is_no_panic() {
    use std::process::{Command, Stdio};
    let scratch = Scratch::new(&[
        (".duvet/config.toml", CONFIG),
        ("specs/x.md", "# X\n"),
        ("src/a.rs", "//= nope.md#x\n//# q\n"),
    ]);
    for arguments in [
        &["report", "--markdown"][..],
        &["query", "-c", "test", "--json"],
        &["report"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duvet"))
            .current_dir(scratch.root())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(1), "{arguments:?}");
    }
    let _ = run(&scratch, &["report"], &[]);
}
