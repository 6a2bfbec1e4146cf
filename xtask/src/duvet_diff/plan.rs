//! What is done with a generated project: which commands, with which flags, one after the other.

use super::project::{Project, Style};
use super::text::Dice;

/// A project and what is done with it.
pub(super) struct Plan {
    /// What it tries, for whoever reads of a difference.
    pub(super) name: &'static str,
    pub(super) files: Vec<(String, String)>,
    pub(super) steps: Vec<Step>,
    /// Whether ours goes the public tool's way where the two part; then even a run that stops has to leave the same files.
    pub(super) is_strict: bool,
}

/// One command, and a file that is written before it.
pub(super) struct Step {
    pub(super) arguments: Vec<String>,
    pub(super) before: Option<(String, String)>,
}

const CONFIG: &str = ".duvet/config.toml";

pub(super) fn of(number: u64) -> Plan {
    let project = super::project::generate(number);
    // Other dice than the project's: a plan that comes later leaves the projects as they are.
    let mut dice = Dice::new(number ^ 0x5eed_0000_0000);
    let kinds: &[(&'static str, Make)] = &[
        ("report", report),
        ("report", report),
        ("ci", ci),
        ("gates", gates),
        ("links", links),
        ("config-path", config_path),
        ("extract", extract),
        ("legacy", legacy),
        ("spec-path", spec_path),
        ("stored", stored),
        ("merge", merge),
        ("init", init),
        ("query", query),
    ];
    let (name, make) = kinds[dice.roll(kinds.len())];
    // Gates and verdicts of the two ask for different things, see the table in docs/duvet.md.
    let is_strict =
        matches!(name, "gates" | "query") || matches!(name, "report" | "ci" | "links") && dice.one_in(2);
    let (files, steps) = make(&mut dice, project);
    Plan {
        name,
        files,
        steps,
        is_strict,
    }
}

type Made = (Vec<(String, String)>, Vec<Step>);
type Make = fn(&mut Dice, Project) -> Made;

fn step(line: &str) -> Step {
    Step {
        arguments: line.split(' ').map(str::to_owned).collect(),
        before: None,
    }
}

fn report(_dice: &mut Dice, project: Project) -> Made {
    (project.files, vec![step(REPORT)])
}

const REPORT: &str = "report --json v1.json --json-v2 v2.json";

/// The snapshot is written, compared, and compared again after a citation came.
fn ci(dice: &mut Dice, project: Project) -> Made {
    let mut changed = step("report --ci --json late.json");
    if let Some((name, text)) = project.files.iter().find(|(name, _)| name.starts_with("src/")) {
        let without = text.lines().take(dice.roll(text.lines().count()));
        let without: Vec<&str> = without.collect();
        changed.before = Some((name.clone(), without.join("\n")));
    }
    let steps = vec![step(REPORT), step("report --ci --json ci.json"), changed];
    (project.files, steps)
}

/// Without a snapshot, `--ci` asks for citations and tests.
fn gates(dice: &mut Dice, mut project: Project) -> Made {
    edit(&mut project.files, CONFIG, |text| {
        text.replace("[report.snapshot]\nenabled = true\n", "")
    });
    let flags = [
        "--ci",
        "--ci --require-citations false",
        "--ci --require-tests false",
        "--ci --require-citations false --require-tests false",
        "--require-citations true",
        "--ci false --require-tests true",
    ];
    let gate = format!("report --json gate.json {}", dice.pick(&flags));
    (project.files, vec![step(REPORT), step(&gate)])
}

/// Links by flag and JSON by configuration.
fn links(dice: &mut Dice, mut project: Project) -> Made {
    let path = *dice.pick(&["", "path = \"out/deep/report.json\"\n"]);
    edit(&mut project.files, CONFIG, |text| {
        format!(
            "{text}\n[report.json]\nenabled = true\n{path}\n[report.html]\nblob-link = \"https://code.example/${{{{ NOT_SET || 'main' }}}}\"\nissue-link = \"https://code.example/issues\"\n"
        )
        .replacen("[report.html]\nenabled = false\n\n", "", 1)
    });
    let flags = *dice.pick(&[
        "",
        " --blob-link https://flag.example/blob",
        " --issue-link https://flag.example/issues",
        " --blob-link https://flag.example/b --issue-link https://flag.example/i",
    ]);
    let mut steps = vec![step(&format!("report --json-v2 v2.json{flags}"))];
    steps.push(step(&format!("report --json v1.json{flags}")));
    (project.files, steps)
}

/// The configuration lies in another folder.
fn config_path(dice: &mut Dice, mut project: Project) -> Made {
    let folder = *dice.pick(&["conf/.duvet", "conf", "a/b"]);
    for (name, _) in &mut project.files {
        if let Some(rest) = name.strip_prefix(".duvet/") {
            let is_settings = rest == "config.toml";
            if is_settings || dice.one_in(2) {
                *name = format!("{folder}/{rest}");
            }
        }
    }
    let line = format!("{REPORT} --config-path {folder}/config.toml");
    (project.files, vec![step(&line)])
}

/// Every specification, in one form and language or another.
fn extract(dice: &mut Dice, project: Project) -> Made {
    let mut steps = Vec::new();
    for name in &project.specifications {
        let format = match name.ends_with(".md") {
            true => *dice.pick(&["-f markdown", "-f auto", "--format markdown"]),
            false => *dice.pick(&["", "-f ietf", "-f auto", "-f IETF"]),
        };
        let extension = *dice.pick(&["", "-e toml", "-e rs", "--extension rs"]);
        let out = *dice.pick(&["-o out", "-o out/deep", "--out out", ""]);
        let words = ["extract", name.as_str(), format, extension, out];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        steps.push(step(&words.join(" ")));
    }
    (project.files, steps)
}

/// Flags of the time before the configuration.
fn legacy(dice: &mut Dice, mut project: Project) -> Made {
    project.files.retain(|(name, _)| name != CONFIG);
    let mut steps = Vec::new();
    for name in &project.specifications {
        let format = if name.ends_with(".md") { "markdown" } else { "ietf" };
        if !dice.one_in(5) {
            steps.push(step(&format!("extract {name} -f {format} -o reqs")));
        }
    }
    let mut line = step(REPORT);
    for pattern in [
        "reqs/**/*.toml",
        ".duvet/exceptions/*.toml",
        ".duvet/todos/*.toml",
    ] {
        line.arguments.extend(["--spec-pattern".into(), pattern.into()]);
    }
    sources(&mut line, &project.styles);
    if dice.one_in(3) {
        line.arguments.extend(["--no-cargo".into(), "--workspace".into()]);
    }
    steps.push(line);
    (project.files, steps)
}

fn sources(step: &mut Step, styles: &[Style]) {
    for (extension, meta, content) in styles {
        let pattern = format!("({meta},{content})src/**/*.{extension}");
        step.arguments.extend(["--source-pattern".into(), pattern]);
    }
}

/// Specifications have addresses, and their texts were downloaded to a folder that a flag names.
fn spec_path(dice: &mut Dice, mut project: Project) -> Made {
    let folder = *dice.pick(&["texts", "a/texts", "."]);
    relocate(&mut project, &format!("{folder}/specs/"));
    project.files.retain(|(name, _)| name != CONFIG);
    let mut line = step(&format!("{REPORT} --spec-path {folder}"));
    line.arguments
        .extend(["--spec-pattern".into(), ".duvet/**/*.toml".into()]);
    sources(&mut line, &project.styles);
    (project.files, vec![line])
}

/// The same with a configuration.
fn stored(_dice: &mut Dice, mut project: Project) -> Made {
    relocate(&mut project, ".duvet/specifications/");
    (project.files, vec![step(REPORT)])
}

/// Gives every specification an address and puts its text where a download of it is kept.
fn relocate(project: &mut Project, folder: &str) {
    let addresses: Vec<(String, String)> = project
        .specifications
        .iter()
        .map(|name| (name.clone(), format!("https://texts.example/{name}")))
        .collect();
    for (name, text) in &mut project.files {
        if let Some((_, address)) = addresses.iter().find(|(known, _)| known == name) {
            let path = address.trim_start_matches("https://");
            let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
            // The public tool guesses what a stored text is by its first letter, see the table in docs/duvet.md.
            if name.ends_with(".md") && !text.starts_with('#') {
                text.insert_str(0, "# Top\n\n");
            }
            *name = format!("{folder}{stem}.txt");
            continue;
        }
        for (known, address) in &addresses {
            *text = text.replace(known, address);
        }
    }
    // A stored text does not show by its name what it is.
    edit(&mut project.files, CONFIG, |text| {
        text.replace("format = \"ietf\"\n", "")
    });
}

/// Two reports of one project at two times, as one.
fn merge(dice: &mut Dice, project: Project) -> Made {
    let mut second = step("report --json-v2 b.json --blob-link https://two.example/blob");
    let sources: Vec<&(String, String)> = project
        .files
        .iter()
        .filter(|(name, _)| name.starts_with("src/") || name.starts_with("specs/"))
        .collect();
    let (name, text) = *dice.pick(&sources);
    if !dice.one_in(3) {
        second.before = Some((name.clone(), format!("{text}\nmore\n")));
    }
    let steps = vec![
        step("report --json-v2 a.json --blob-link https://one.example/blob"),
        second,
        step("merge --input a.json --input b.json --output ab.json"),
        step("merge --input b.json --input a.json --output ba.json"),
        step("merge --input ab.json --input a.json --output aba.json"),
    ];
    (project.files, steps)
}

fn init(dice: &mut Dice, mut project: Project) -> Made {
    if !dice.one_in(4) {
        project.files.retain(|(name, _)| name != CONFIG);
    }
    for name in [
        "CMakeLists.txt",
        "go.mod",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "package.json",
        "requirements.txt",
        "pyproject.toml",
        "setup.py",
        "tsconfig.json",
        "Gemfile",
        "Cargo.toml",
    ] {
        if dice.one_in(5) {
            project.files.push((name.to_owned(), String::new()));
        }
    }
    let mut line = String::from("init");
    for name in &project.specifications {
        if dice.one_in(2) {
            line.push_str(&format!(" --specification {name}"));
        }
    }
    for language in [
        "c",
        "go",
        "java",
        "javascript",
        "proverif",
        "cryptoverif",
        "python",
        "typescript",
        "ruby",
        "rust",
    ] {
        if dice.one_in(8) {
            line.push_str(&format!(" --lang-{language}"));
        }
    }
    (project.files, vec![step(&line), step(&line)])
}

/// Verdicts are exit codes.
fn query(dice: &mut Dice, project: Project) -> Made {
    let check = *dice.pick(&["implementation", "test", "implementation,test"]);
    let section = match dice.one_in(2) {
        true => format!(" -s {}", dice.pick(&project.specifications)),
        false => String::new(),
    };
    let line = format!("query -c {check}{section}");
    (project.files, vec![step(REPORT), step(&line)])
}

fn edit(files: &mut [(String, String)], name: &str, change: impl Fn(&str) -> String) {
    for (_, text) in files.iter_mut().filter(|(known, _)| known == name) {
        *text = change(text);
    }
}
