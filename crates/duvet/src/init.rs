//! A new project's configuration.

use std::fmt::Write;
use std::path::Path;

/// A language with its usual sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language {
    /// Name, as in `--lang-rust`.
    pub name: &'static str,
    pattern: &'static str,
    style: Option<(&'static str, &'static str)>,
    /// Files that show that a project uses it.
    signs: &'static [&'static str],
}

const BLOCK: Option<(&str, &str)> = Some(("*=", "*#"));
const HASH: Option<(&str, &str)> = Some(("##=", "##%"));

/// A hook of git: `CI=true` compares the snapshot instead of writing it. Nothing is said while all is well; what stops a
/// commit is shown.
pub const HOOK: &str = "#!/bin/sh\n\
    # Written by `duvet init --hook`: a commit whose citations do not hold, or whose snapshot is old, is stopped.\n\
    # `git commit --no-verify` goes around it.\n\
    CI=true duvet report --quiet >/dev/null 2>&1 || CI=true exec duvet report\n";

/// All languages, in the order they are written.
pub const LANGUAGES: &[Language] = &[
    Language {
        name: "c",
        pattern: "src/**/*.c",
        style: BLOCK,
        signs: &["CMakeLists.txt"],
    },
    Language {
        name: "cryptoverif",
        pattern: "**/*.cv",
        style: BLOCK,
        signs: &[],
    },
    Language {
        name: "go",
        pattern: "src/**/*.go",
        style: None,
        signs: &["go.mod"],
    },
    Language {
        name: "java",
        pattern: "src/**/*.java",
        style: None,
        signs: &["pom.xml", "build.gradle", "build.gradle.kts"],
    },
    Language {
        name: "javascript",
        pattern: "src/**/*.js",
        style: None,
        signs: &["package.json"],
    },
    Language {
        name: "proverif",
        pattern: "**/*.pv",
        style: BLOCK,
        signs: &[],
    },
    Language {
        name: "python",
        pattern: "src/**/*.py",
        style: HASH,
        signs: &["requirements.txt", "pyproject.toml", "setup.py"],
    },
    Language {
        name: "typescript",
        pattern: "src/**/*.ts",
        style: None,
        signs: &["tsconfig.json"],
    },
    Language {
        name: "ruby",
        pattern: "lib/**/*.rb",
        style: HASH,
        signs: &["Gemfile"],
    },
    Language {
        name: "rust",
        pattern: "src/**/*.rs",
        style: None,
        signs: &["Cargo.toml"],
    },
];

/// The languages a project shows signs of.
pub fn detect(root: &Path) -> Vec<&'static Language> {
    LANGUAGES
        .iter()
        .filter(|language| language.signs.iter().any(|sign| root.join(sign).exists()))
        .collect()
}

/// The text of a new configuration.
pub fn render(languages: &[&Language], specifications: &[String]) -> String {
    let mut out = String::from("'$schema' = \"https://awslabs.github.io/duvet/config/v0.4.0.json\"\n\n");
    for language in languages {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "[[source]]\npattern = \"{}\"", language.pattern);
        if let Some((meta, content)) = language.style {
            let _ = writeln!(
                out,
                "comment-style = {{ meta = \"{meta}\", content = \"{content}\" }}"
            );
        }
        out.push('\n');
    }
    if languages.is_empty() {
        out.push_str("# Name the sources that hold citations\n# [[source]]\n# pattern = \"src/**/*.rs\"\n\n");
    }
    for source in specifications {
        let _ = writeln!(
            out,
            "[[specification]]\nsource = {}\n",
            toml::Value::from(source.as_str())
        );
    }
    if specifications.is_empty() {
        out.push_str("# Name the specifications that are to be met\n# [[specification]]\n");
        out.push_str("# source = \"https://www.rfc-editor.org/rfc/rfc2324\"\n\n");
    }
    out.push_str("[report.html]\nenabled = true\n\n");
    out.push_str("# The snapshot is checked in: a lost citation shows up in its diff\n[report.snapshot]\nenabled = true\n");
    out
}

/// What version control is to leave out of `.duvet`.
pub const IGNORED: &str = "reports/\ncache/\n";
