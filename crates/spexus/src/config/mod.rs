//! Settings: a default, a file, the environment, a flag; the later one wins.
//!
//! There is one table of settings ([`table::TABLE`]). Reading the file, the environment and the flags, `config show` and
//! the flags of `serve` all walk it, so a setting is one row and nothing can be configurable in one place only.

mod read;
mod rows;
mod settings;
mod show;
mod table;
mod values;

pub(crate) use read::{Sources, unknown_variables};
pub(crate) use settings::{AuditSettings, LogFormat, Settings, TlsFiles};
pub(crate) use show::{lines, markdown, redacted_url};
pub(crate) use table::TABLE;

use spexus_domain::{Code, Refusal};
use std::path::PathBuf;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nobody said anything.
    Default,
    /// The file.
    File(PathBuf),
    /// This variable.
    Environment(String),
    /// This flag.
    Flag(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// The settings of this run, and where each one comes from.
#[derive(Clone)]
pub(crate) struct Config {
    /// The values.
    pub(crate) settings: Settings,
    /// One source for each row of the table.
    pub(crate) sources: Vec<Source>,
    /// The file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
}

impl Config {
    /// Whether someone said what this setting is to be.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        let at = TABLE.iter().position(|setting| setting.name == name);
        at.is_some_and(|at| self.sources[at] != Source::Default)
    }
}

/// A refusal of a setting; it ends the program with the exit code for configuration.
pub(crate) fn refused(name: &str, problem: impl Into<String>, allowed: impl Into<String>) -> Refusal {
    Refusal::field(Code::InvalidParams, name, problem, allowed)
        .hint("`spexus config show` lists every setting and where its value comes from.")
}
