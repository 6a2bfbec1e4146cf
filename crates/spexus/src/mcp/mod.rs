//! `spexus mcp`: the stdio server for AI hosts, and what connects a host with it.
//!
//! Without a database it is a bridge to a server elsewhere; with `--database` the whole system runs in this process.
//! Standard output belongs to the protocol in both.

mod bridge;
mod config;
mod embedded;
mod init;
mod install;
mod pack;

use crate::arguments::Global;
use crate::config::Sources;
use crate::failure::{Failure, Outcome};
use crate::folders;
use crate::output::Output;
use clap::{Args, Subcommand};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The stdio server, or one of the commands around it.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    choice: Choice,
}

/// What the host is shown.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Choice {
    /// Which tools the host is shown: agent, core, author, admin, all
    #[arg(long, value_name = "NAMES")]
    toolsets: Option<String>,
    /// Lets the host change nothing
    #[arg(long)]
    read_only: bool,
    /// What answers hold: text, which is structured content and the same as text, or structured alone
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = ["text", "structured"])]
    content: String,
    /// With --database, what the host may do at most: read, comment, write, admin
    #[arg(long, value_name = "SCOPE", default_value = "write")]
    scope: String,
    /// With --database, counts as an agent: it names the revision it read, heeds leases, and its word is no evidence
    #[arg(long)]
    agent: bool,
}

/// What can be done around the stdio server.
#[derive(Debug, Subcommand)]
enum Command {
    /// Asks for the server and a login, makes a token, and tries the connection
    Init(init::Init),
    /// Adds the server to the configuration of an AI host
    Install(install::Install),
    /// Makes a bundle (.mcpb) for hosts, and server.json for the registry
    Pack(pack::Pack),
}

impl Mcp {
    /// Whether standard output belongs to the protocol.
    pub(crate) fn serves(&self) -> bool {
        self.command.is_none()
    }
}

/// The world around the process, read once.
pub(crate) struct World {
    /// The person's own folder.
    pub(crate) home: PathBuf,
    /// The environment, without what is empty: hosts pass on what was left blank.
    pub(crate) variables: BTreeMap<String, String>,
}

impl World {
    fn of_process() -> Outcome<Self> {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .filter(|(_, value)| !value.trim().is_empty())
            .collect();
        let home = folders::home().ok_or_else(|| {
            Failure::configuration(config::refused(
                "HOME",
                "is not set",
                "the path of your own folder",
            ))
        })?;
        Ok(Self { home, variables })
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

// Fulfils 003 R1.1, 003 R1.3
/// Runs the command that was given.
pub(crate) fn run(wanted: Mcp, global: &Global, sources: &Sources, output: Output) -> Outcome {
    let world = World::of_process()?;
    match wanted.command {
        None if global.database.is_some() => embedded::run(&world, &wanted.choice, global, sources),
        None => bridge::run(&world, &wanted.choice),
        Some(Command::Init(wanted)) => init::run(&world, &wanted, output),
        Some(Command::Install(wanted)) => install::run(&world, &wanted, global, output),
        Some(Command::Pack(wanted)) => pack::run(&wanted, output),
    }
}
