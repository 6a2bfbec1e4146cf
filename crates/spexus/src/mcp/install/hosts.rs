//! The hosts: where each keeps its servers, and in which shape.

use super::super::World;
use super::Scope;
use crate::failure::{Failure, Outcome};
use clap::ValueEnum;
use std::path::PathBuf;

/// A program that runs MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Codex,
    Gemini,
}

/// The shape of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// An object under this key; `typed` entries say that they are `stdio`.
    Json { key: &'static str, typed: bool },
    /// Tables under `mcp_servers`.
    Toml,
}

/// The configuration file of a host, and its shape.
#[derive(Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) form: Form,
}

impl Host {
    /// As it is typed.
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// What makes the host see it.
    pub(super) fn next_step(self) -> &'static str {
        match self {
            Host::ClaudeDesktop => "Quit Claude Desktop and start it again.",
            Host::ClaudeCode => "Start a new session; `/mcp` shows the server.",
            Host::Cursor => "Cursor takes it up by itself; see Settings, MCP.",
            Host::Vscode => "Run `MCP: List Servers` in VS Code and start it there.",
            Host::Codex => "Start Codex again; `/mcp` shows the server.",
            Host::Gemini => "Start Gemini CLI again; `/mcp` shows the server.",
        }
    }
}

/// Where a host keeps its servers.
pub(super) fn config_file(world: &World, host: Host, scope: Scope) -> Outcome<ConfigFile> {
    let servers = Form::Json {
        key: "mcpServers",
        typed: false,
    };
    let typed = |key| Form::Json { key, typed: true };
    let home = |path: &str| world.home.join(path);
    let here = |path: &str| std::env::current_dir().map(|folder| folder.join(path));
    let (path, form) = match (host, scope) {
        (Host::ClaudeDesktop, Scope::User) => (
            settings_folder(world).join("Claude/claude_desktop_config.json"),
            servers,
        ),
        (Host::ClaudeDesktop, Scope::Project) => {
            return Err(Failure::argument(
                "scope",
                "Claude Desktop knows no projects",
                "user",
            ));
        }
        (Host::ClaudeCode, Scope::User) => (home(".claude.json"), typed("mcpServers")),
        (Host::ClaudeCode, Scope::Project) => (here(".mcp.json")?, typed("mcpServers")),
        (Host::Cursor, Scope::User) => (home(".cursor/mcp.json"), servers),
        (Host::Cursor, Scope::Project) => (here(".cursor/mcp.json")?, servers),
        (Host::Vscode, Scope::User) => (
            settings_folder(world).join("Code/User/mcp.json"),
            typed("servers"),
        ),
        (Host::Vscode, Scope::Project) => (here(".vscode/mcp.json")?, typed("servers")),
        (Host::Codex, Scope::User) => {
            let folder = world
                .variable("CODEX_HOME")
                .map_or_else(|| home(".codex"), PathBuf::from);
            (folder.join("config.toml"), Form::Toml)
        }
        (Host::Codex, Scope::Project) => (here(".codex/config.toml")?, Form::Toml),
        (Host::Gemini, Scope::User) => (home(".gemini/settings.json"), servers),
        (Host::Gemini, Scope::Project) => (here(".gemini/settings.json")?, servers),
    };
    Ok(ConfigFile { path, form })
}

/// Where a host reads skills from, when it does.
pub(super) fn skills_folder(world: &World, host: Host, scope: Scope) -> Outcome<Option<PathBuf>> {
    let folder = match host {
        Host::ClaudeCode => ".claude/skills",
        Host::Codex => ".codex/skills",
        Host::Gemini => ".gemini/skills",
        Host::ClaudeDesktop | Host::Cursor | Host::Vscode => return Ok(None),
    };
    Ok(Some(match scope {
        Scope::User => world.home.join(folder),
        Scope::Project => std::env::current_dir()?.join(folder),
    }))
}

/// The folder in which desktop programs keep their settings.
fn settings_folder(world: &World) -> PathBuf {
    if cfg!(target_os = "macos") {
        return world.home.join("Library/Application Support");
    }
    let folder = if cfg!(windows) {
        "APPDATA"
    } else {
        "XDG_CONFIG_HOME"
    };
    world
        .variable(folder)
        .map_or_else(|| world.home.join(".config"), PathBuf::from)
}
