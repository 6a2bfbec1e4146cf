//! What the MCP surface can be told.

use crate::predict::CompletionOptions;
use mcp_runtime::{SamplingSettings, VersionMismatch};
use spexus_domain::{Ruled, nearest};
use std::path::PathBuf;

/// How the MCP surface works. Every limit has its unit in its name.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// The server's name for programs.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its version.
    pub version: String,
    /// Whether the instructions end with a guide to tools, resources and prompts.
    pub guide: bool,
    /// What to do when a client asks for a version nobody knows.
    pub version_mismatch: VersionMismatch,
    /// Which tools are listed when the client does not say.
    pub toolsets: Vec<Toolset>,
    /// Whether nothing can be changed, whatever the token may do and the client asks for.
    pub read_only: bool,
    /// Folders of this machine whose files agents may read.
    pub roots: Vec<PathBuf>,
    /// Folders under which administrators may add such folders while the server runs.
    pub roots_allow: Vec<PathBuf>,
    /// How texts are completed.
    pub completion: CompletionOptions,
    /// Whether whoever makes the server adds the methods `apps/*`.
    pub apps: bool,
    /// How long a request may be served.
    pub serve_timeout_ms: u64,
    /// How long running requests may finish when the server stops.
    pub drain_timeout_ms: u64,
    /// Where sessions of HTTP clients are kept.
    pub sessions: Sessions,
    /// How long a person may take to answer a question an agent's work raised.
    pub elicitation_timeout_ms: u64,
    /// How often a person is asked again when the answer does not fit.
    pub elicitation_attempts: usize,
    /// How the models of clients are asked.
    pub sampling: SamplingSettings,
}

/// Where sessions of HTTP clients are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// In the process; they end with it.
    Memory,
    /// In the database; they outlive the process and are shared by nodes.
    Database,
}

impl Sessions {
    /// As it stands in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Sessions::Memory => "memory",
            Sessions::Database => "database",
        }
    }
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            name: "spexus mcp".to_owned(),
            title: "MCP server for requirements management system".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            guide: true,
            version_mismatch: VersionMismatch::Reject,
            toolsets: vec![Toolset::Core],
            read_only: false,
            roots: Vec::new(),
            roots_allow: Vec::new(),
            completion: CompletionOptions::default(),
            apps: false,
            serve_timeout_ms: 30_000,
            drain_timeout_ms: 10_000,
            sessions: Sessions::Database,
            elicitation_timeout_ms: 120_000,
            elicitation_attempts: 3,
            sampling: SamplingSettings::default(),
        }
    }
}

/// A group of tools. Every group brings the core along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Toolset {
    /// What everyday work needs: at most 25 tools.
    Core,
    /// For those who shape the whole tree: moving, deleting, steering documents, baselines.
    Author,
    /// For those who run the installation: users, projects, types, workflows, prompts, audit.
    Admin,
    /// Everything.
    All,
}

impl Toolset {
    /// All groups.
    pub const ALL: [Toolset; 4] = [Toolset::Core, Toolset::Author, Toolset::Admin, Toolset::All];

    /// As it stands in settings and headers.
    pub const fn name(self) -> &'static str {
        match self {
            Toolset::Core => "core",
            Toolset::Author => "author",
            Toolset::Admin => "admin",
            Toolset::All => "all",
        }
    }

    /// Reads group names separated by commas, in any letter case.
    pub fn parse_list(field: &str, text: &str) -> Ruled<Vec<Self>> {
        let one = |name: &str| {
            nearest::find(&Toolset::ALL, |set| set.name(), name)
                .copied()
                .ok_or_else(|| nearest::miss(field, name, Toolset::ALL.iter().map(|set| set.name())))
        };
        let mut sets = text
            .split(',')
            .map(|name| one(name.trim()))
            .collect::<Ruled<Vec<_>>>()?;
        sets.sort_unstable();
        sets.dedup();
        Ok(sets)
    }

    /// Whether a choice of groups includes a tool of this group.
    pub(crate) fn is_in(self, chosen: &[Toolset]) -> bool {
        self == Toolset::Core || chosen.iter().any(|set| *set == self || *set == Toolset::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_by_name_and_bring_the_core_along() {
        let chosen = Toolset::parse_list("toolset", "Admin, author,admin").unwrap();
        assert_eq!(chosen, [Toolset::Author, Toolset::Admin]);
        assert!(Toolset::Core.is_in(&chosen) && Toolset::Admin.is_in(&chosen));
        assert!(!Toolset::Admin.is_in(&[Toolset::Core]) && Toolset::Admin.is_in(&[Toolset::All]));
        let miss = Toolset::parse_list("toolset", "auther").unwrap_err();
        assert!(miss.hint.contains("author"), "{}", miss.hint);
    }
}
