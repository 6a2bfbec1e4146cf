//! The project's settings: `.duvet/config.toml`, or the flags of the time before it.

mod file;
mod legacy;
mod template;

pub use file::parse;
pub use legacy::source_pattern;
pub use template::expand;

use crate::citation::{CommentStyle, Kind};
use crate::diagnostic::{Code, Diagnostic};
use crate::fence::{self, Fence, MAX_SETTINGS_BYTES, Refused};
use crate::specification::Format;
use crate::specification::extract::Mode;
use crate::text::Position;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the configuration file is looked for.
pub const CONFIG_PATH: &str = ".duvet/config.toml";

/// All settings of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Files with citations in comments.
    pub sources: Vec<SourcePattern>,
    /// Specifications whose requirements are extracted before each report.
    pub specifications: Vec<SpecificationSource>,
    /// Globs of requirement files.
    pub requirements: Vec<String>,
    /// Folder of downloaded texts.
    pub downloads: PathBuf,
    /// Folders outside the project that may be read: those the person named on the command line.
    pub allowed: Vec<PathBuf>,
    /// Whether the public tool's way is gone where ours differs and nobody is harmed by theirs.
    pub strict_compat: bool,
    /// Hosts that texts are fetched from, beside those everybody knows.
    pub hosts: Vec<String>,
    /// Folder that extraction writes to.
    pub extracted: PathBuf,
    /// How requirements are found in specifications.
    pub extraction: Mode,
    /// The HTML report.
    pub html: Output,
    /// The version 1 JSON report.
    pub json: Output,
    /// The text snapshot.
    pub snapshot: Output,
    /// Template of links to source lines.
    pub blob_link: Option<String>,
    /// Template of links to issues.
    pub issue_link: Option<String>,
    /// Where all that stands.
    pub locations: Locations,
}

/// Where a configuration file names its patterns and texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locations {
    /// The file.
    pub file: String,
    /// The line of each name, and what stands there.
    pub lines: BTreeMap<String, (u32, Box<str>)>,
}

impl Locations {
    /// The file and the line that name something, and what stands there. What flags name stands nowhere.
    pub fn of(&self, name: &str) -> (&str, u32, &str) {
        match self.lines.get(name) {
            Some((line, text)) => (&self.file, *line, text),
            None => (&self.file, 1, ""),
        }
    }

    /// A finding about something, at the line that names it.
    pub fn finding(&self, code: Code, message: String, name: &str) -> Diagnostic {
        let (file, line, text) = self.of(name);
        Diagnostic::new(code, message, file, Position { line, column: 1 }).showing(text)
    }
}

/// One `[[source]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePattern {
    /// Glob relative to the root.
    pub pattern: String,
    /// Comment prefixes.
    pub style: CommentStyle,
    /// What annotations without a type are.
    pub default_kind: Kind,
    /// Template of links to source lines.
    pub blob_link: Option<Arc<str>>,
}

impl SourcePattern {
    /// A pattern with everything else as usual.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            style: CommentStyle::default(),
            default_kind: Kind::default(),
            blob_link: None,
        }
    }
}

/// One `[[specification]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecificationSource {
    /// Path or URL.
    pub source: String,
    /// Its form, when it is not to be guessed.
    pub format: Option<Format>,
}

/// One output of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Whether it is written without being asked for.
    pub enabled: bool,
    /// Where.
    pub path: PathBuf,
}

impl Config {
    /// The settings of a project with an empty configuration file.
    pub fn standard() -> Self {
        Self {
            sources: Vec::new(),
            specifications: Vec::new(),
            requirements: [
                ".duvet/requirements/**/*.toml",
                ".duvet/todos/**/*.toml",
                ".duvet/exceptions/**/*.toml",
            ]
            .map(str::to_owned)
            .to_vec(),
            downloads: PathBuf::from(".duvet/specifications"),
            allowed: Vec::new(),
            strict_compat: false,
            hosts: Vec::new(),
            extracted: PathBuf::from(".duvet/requirements"),
            extraction: Mode::Compat,
            html: Output {
                enabled: true,
                path: PathBuf::from(".duvet/reports/report.html"),
            },
            json: Output {
                enabled: false,
                path: PathBuf::from(".duvet/reports/report.json"),
            },
            snapshot: Output {
                enabled: false,
                path: PathBuf::from(".duvet/snapshot.txt"),
            },
            blob_link: None,
            issue_link: None,
            locations: Locations {
                file: CONFIG_PATH.to_owned(),
                lines: BTreeMap::new(),
            },
        }
    }

    /// What is downloaded and extracted lies beside the configuration, wherever that is.
    #[must_use]
    pub fn beside(mut self, file: &Path) -> Self {
        let folder = file.parent().unwrap_or(Path::new(""));
        self.downloads = folder.join("specifications");
        self.extracted = folder.join("requirements");
        self
    }

    /// Comment styles of the project, the most used first.
    pub fn styles(&self) -> Vec<CommentStyle> {
        let mut styles: Vec<CommentStyle> = Vec::new();
        for source in &self.sources {
            if !styles.contains(&source.style) {
                styles.push(source.style.clone());
            }
        }
        let uses = |style: &CommentStyle| {
            self.sources
                .iter()
                .filter(|source| source.style == *style)
                .count()
        };
        styles.sort_by_key(|style| std::cmp::Reverse(uses(style)));
        styles
    }

    /// The settings of a project that has no configuration file and is described by flags alone.
    pub fn legacy() -> Self {
        let mut config = Self::standard();
        config.requirements.clear();
        config.downloads = PathBuf::from("specs");
        config.html.enabled = false;
        config
    }
}

/// The bytes of the configuration that the person named, or of the usual one, which lies in the project.
//= specs/duvet.md#inside-the-fence
//# The configuration and the lock file MUST NOT be read through a link that leads outside, unless the person named it.
pub fn read(root: &Path, named: Option<&Path>) -> Result<Vec<u8>, Refused> {
    match named {
        Some(path) => fence::read(&root.join(path), MAX_SETTINGS_BYTES),
        None => Fence::new(root, &[]).read(&root.join(CONFIG_PATH), MAX_SETTINGS_BYTES),
    }
}

/// The finding about a configuration that was not read.
pub fn unreadable(name: &str, problem: &Refused) -> Diagnostic {
    let message = format!("the configuration cannot be read: {problem}");
    let found = Diagnostic::of_file(Code::ConfigUnreadable, message, name);
    match problem {
        Refused::Outside => found.help("name it with `--config-path` if it is meant"),
        _ => found,
    }
}

#[cfg(test)]
mod tests;
