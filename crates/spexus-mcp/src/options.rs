//! What the MCP surface can be told.

use mcp_protocol::OfferedVersions;
use mcp_server::{SamplingSettings, VersionMismatch};
use spexus_complete::CompletionOptions;
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
    /// The revisions of the protocol it offers.
    pub versions: OfferedVersions,
    /// Whether the instructions end with a guide to tools, resources and prompts.
    pub guide: bool,
    /// What to do when a client asks for a version nobody knows.
    pub version_mismatch: VersionMismatch,
    /// Which tools are listed when the client does not say.
    pub toolsets: Vec<Toolset>,
    /// Whether nothing can be changed, whatever the token may do and the client asks for.
    pub read_only: bool,
    /// Whether structured results are given as text, too, unless the client asks for structured content alone.
    pub mirrors_content: bool,
    /// Folders of this machine whose files agents may read.
    pub roots: Vec<PathBuf>,
    /// Folders under which administrators may add such folders while the server runs.
    pub roots_allow: Vec<PathBuf>,
    /// How texts are completed.
    pub completion: CompletionOptions,
    /// Whether tokens bound to a project may see and use what belongs to no project: file roots and apps.
    pub share_with_bound_tokens: bool,
    /// Whether whoever makes the server adds the methods `apps/*`.
    pub apps: bool,
    /// Bytes of an answer of a tool or a batch: a page that would have more ends earlier, and what has no pages is cut.
    pub max_answer_bytes: usize,
    /// How long a request may be served.
    pub serve_timeout_ms: u64,
    /// How long a client may take to answer what a program answers by itself, such as `roots/list`.
    pub ask_timeout_ms: u64,
    /// How long running requests may finish when the server stops.
    pub drain_timeout_ms: u64,
    /// Where sessions of HTTP clients are kept.
    pub sessions: Sessions,
    /// Sessions opened with one token that live at once.
    pub max_sessions_per_token: usize,
    /// Sessions of one user that live at once, whatever tokens they were opened with.
    pub max_sessions_per_user: usize,
    /// Streams of events one user may have open at once.
    pub max_streams_per_user: usize,
    /// Resources one session may watch.
    pub max_subscriptions_per_session: usize,
    /// What the addresses of those resources may have together.
    pub max_subscription_bytes_per_session: usize,
    /// Messages of a user's JSON-RPC arrays that are served at once.
    pub max_array_running_per_user: usize,
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
            versions: OfferedVersions::default(),
            guide: true,
            version_mismatch: VersionMismatch::Reject,
            toolsets: vec![Toolset::Core],
            read_only: false,
            mirrors_content: true,
            roots: Vec::new(),
            roots_allow: Vec::new(),
            completion: CompletionOptions::default(),
            share_with_bound_tokens: false,
            apps: false,
            max_answer_bytes: 48_000,
            serve_timeout_ms: 30_000,
            ask_timeout_ms: 5_000,
            drain_timeout_ms: 10_000,
            sessions: Sessions::Database,
            max_sessions_per_token: 1_000,
            max_sessions_per_user: 2_000,
            max_streams_per_user: 256,
            max_subscriptions_per_session: 1_000,
            max_subscription_bytes_per_session: 64 << 10,
            max_array_running_per_user: 4,
            elicitation_timeout_ms: 120_000,
            elicitation_attempts: 3,
            sampling: SamplingSettings::default(),
        }
    }
}

/// A group of tools. Every group brings the core along, but for the lean one of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Toolset {
    /// What an agent needs that implements and tests: at most 12 tools, and nothing else unless another group is chosen, too.
    Agent,
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
    pub const ALL: [Toolset; 5] = [
        Toolset::Agent,
        Toolset::Core,
        Toolset::Author,
        Toolset::Admin,
        Toolset::All,
    ];

    /// As it stands in settings and headers.
    pub const fn name(self) -> &'static str {
        match self {
            Toolset::Agent => "agent",
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

    /// Whether a choice of groups includes a tool of this group; `lean` ones are in the group of agents, too.
    pub(crate) fn is_in(self, lean: bool, chosen: &[Toolset]) -> bool {
        let of_core = || self == Toolset::Core && chosen.iter().any(|set| *set != Toolset::Agent);
        (lean && chosen.contains(&Toolset::Agent))
            || chosen.iter().any(|set| *set == self || *set == Toolset::All)
            || of_core()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five seconds hold for what programs answer; people and models have more (ruling 35), and requests are served for
    /// thirty.
    // proves 002 Req-Proto-003, 003 R15.1
    #[test]
    fn programs_have_five_seconds_people_two_minutes_models_one_and_requests_thirty_seconds() {
        let options = McpOptions::default();
        assert_eq!(options.ask_timeout_ms, 5_000);
        assert_eq!(options.elicitation_timeout_ms, 120_000);
        assert_eq!(options.sampling.timeout_ms, 60_000);
        assert_eq!(options.serve_timeout_ms, 30_000);
    }

    #[test]
    fn groups_are_read_by_name_and_bring_the_core_along() {
        let chosen = Toolset::parse_list("toolset", "Admin, author,admin").unwrap();
        assert_eq!(chosen, [Toolset::Author, Toolset::Admin]);
        assert!(Toolset::Core.is_in(false, &chosen) && Toolset::Admin.is_in(false, &chosen));
        assert!(
            !Toolset::Admin.is_in(false, &[Toolset::Core]) && Toolset::Admin.is_in(false, &[Toolset::All])
        );
        let agent = [Toolset::Agent];
        assert!(Toolset::Core.is_in(true, &agent) && !Toolset::Core.is_in(false, &agent));
        let miss = Toolset::parse_list("toolset", "auther").unwrap_err();
        assert!(miss.hint.contains("author"), "{}", miss.hint);
    }
}
