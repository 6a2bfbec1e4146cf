//! `spexus mcp install`: puts the server into the configuration of an AI host, and leaves everything else there as it is.

mod hosts;
mod json;
mod toml;

use super::{World, config};
use crate::arguments::Global;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use clap::{Args, ValueEnum};
use hosts::{Form, Host};
use serde_json::json;
use spexus_domain::{Code, Refusal};
use spexus_mcp::{Toolset, skills};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What to install, and where.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The host
    host: Host,
    /// Shows what would be written and writes nothing
    #[arg(long)]
    dry_run: bool,
    /// Where: for you everywhere, or for this folder's project
    #[arg(long, default_value = "user")]
    scope: Scope,
    /// What the host calls the server
    #[arg(long, value_name = "NAME", default_value = "requirements")]
    name: String,
    /// Which tools the host shows its model: agent, core, author, admin or all; several separated by commas
    #[arg(long, value_name = "NAMES", default_value = "agent")]
    toolsets: String,
    /// Writes no skills, where the host reads them from a folder
    #[arg(long)]
    no_skills: bool,
}

/// For whom a server is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    User,
    Project,
}

/// How a host starts the server.
#[derive(Debug)]
struct Entry {
    name: String,
    command: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

// Fulfils 003 R14.7, 003 R17.1
pub(super) fn run(world: &World, wanted: &Install, global: &Global, output: Output) -> Outcome {
    if wanted.name.is_empty()
        || !wanted
            .name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    {
        let problem = format!("{:?} is no name", wanted.name);
        return Err(Failure::argument("name", problem, "letters, digits, - and _"));
    }
    Toolset::parse_list("toolsets", &wanted.toolsets)?;
    let config_file = hosts::config_file(world, wanted.host, wanted.scope)?;
    let entry = entry(world, wanted, global)?;
    // A link is followed, so that the file it leads to is changed and the link stays.
    let path = std::fs::canonicalize(&config_file.path).unwrap_or_else(|_| config_file.path.clone());
    let before = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(broken(&path, &format!("cannot be read: {error}"))),
    };
    let text = before.as_deref().unwrap_or_default();
    let after = match config_file.form {
        Form::Json { key, typed } => json::with_entry(text, key, typed, &entry),
        Form::Toml => toml::with_entry(text, &entry),
    };
    //= specs/spexus-bridge.md#connecting-a-host
    //# A configuration that cannot be understood MUST be refused and left as it is.
    let after = after.map_err(|problem| broken(&path, &problem))?;
    let changed = before.as_deref() != Some(after.as_str());
    let mut backup = None;
    if changed && !wanted.dry_run {
        backup = back_up(&path, before.as_deref())?;
        write_private(&path, &after)?;
    }
    let skills = match wanted.no_skills {
        true => Vec::new(),
        false => skills(world, wanted)?,
    };
    let done = json!({
        "skills": skills, "host": wanted.host.name(), "file": path, "changed": changed, "dry_run": wanted.dry_run, "backup": backup,
        "text": wanted.dry_run.then(|| hide_token(&after, &entry)),
    });
    output.show(&done, |_| {
        summary(
            wanted,
            &path,
            changed,
            backup.as_deref(),
            &hide_token(&after, &entry),
        ) + &skills_summary(&skills, wanted.dry_run)
    })
}

/// Writes the skills where the host reads them; tells the files that are new or other than before.
//= specs/spexus-bridge.md#connecting-a-host
//# `spexus mcp install` MUST write the skills of the product into the folder from which the host reads skills, where it has one, and
//# MUST leave a file alone that somebody else wrote there.
fn skills(world: &World, wanted: &Install) -> Outcome<Vec<PathBuf>> {
    let Some(folder) = hosts::skills_folder(world, wanted.host, wanted.scope)? else {
        return Ok(Vec::new());
    };
    let mut written = Vec::new();
    for skill in skills::ALL {
        let path = folder.join(skill.name).join("SKILL.md");
        let text = format!("{}\n{MARK}\n", skill.text.trim_end());
        match std::fs::read_to_string(&path) {
            Ok(before) if before == text || !before.contains(MARK) => continue,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(broken(&path, &format!("cannot be read: {error}"))),
        }
        if !wanted.dry_run {
            write_private(&path, &text)?;
        }
        written.push(path);
    }
    Ok(written)
}

/// By this a later `install` knows that a file is its own.
const MARK: &str = "<!-- written by spexus mcp install; remove this line to keep your changes -->";

fn skills_summary(skills: &[PathBuf], dry_run: bool) -> String {
    let Some(first) = skills.first().and_then(|path| path.parent()?.parent()) else {
        return String::new();
    };
    let would = if dry_run { "would be" } else { "were" };
    format!(
        "\n{} skills {would} written to {}.",
        skills.len(),
        first.display()
    )
}

fn summary(wanted: &Install, path: &Path, changed: bool, backup: Option<&Path>, after: &str) -> String {
    let path = path.display();
    match (wanted.dry_run, changed) {
        (true, _) => format!("{path} would become:\n{after}"),
        (false, false) => format!("{path} has it already."),
        (false, true) => {
            let kept = backup
                .map(|file| format!("\nWhat was there is in {}.", file.display()))
                .unwrap_or_default();
            format!("Written to {path}.{kept}\n{}", wanted.host.next_step())
        }
    }
}

/// What a dry run shows goes to a terminal or a log.
fn hide_token(text: &str, entry: &Entry) -> String {
    match entry.env.iter().find(|(name, _)| *name == "MCP_PAT_TOKEN") {
        Some((_, token)) => text.replace(token.as_str(), "mcp_pat_…"),
        None => text.to_owned(),
    }
}

/// The entry: a bridge as it is configured here, or the system itself on a database.
fn entry(world: &World, wanted: &Install, global: &Global) -> Outcome<Entry> {
    let command = std::env::current_exe()?.display().to_string();
    let (mut args, mut env) = (vec!["mcp".to_owned()], Vec::new());
    if let Some(database) = &global.database {
        args.extend(["--database".to_owned(), absolute(database)?]);
        if let Some(user) = &global.as_user {
            args.extend(["--as".to_owned(), user.clone()]);
        }
        args.push("--agent".to_owned());
    } else {
        let config = config::read(world)?;
        env.push(("BACKEND_API_URL", config.endpoint.base().to_owned()));
        //= specs/spexus-bridge.md#connecting-a-host
        //# A token MUST NOT be written to a file of a project, which others read.
        if let (Some(token), Scope::User) = (world.variable("MCP_PAT_TOKEN"), wanted.scope) {
            env.push(("MCP_PAT_TOKEN", token.trim().to_owned()));
        }
        if let Some(level) = world.variable("LOG_LEVEL") {
            env.push(("LOG_LEVEL", level.to_owned()));
        }
    }
    //= specs/spexus-bridge.md#connecting-a-host
    //# `spexus mcp install` MUST choose the toolset of agents unless another one is named.
    args.extend(["--toolsets".to_owned(), wanted.toolsets.clone()]);
    Ok(Entry {
        name: wanted.name.clone(),
        command,
        args,
        env,
    })
}

/// A host starts the server in a folder of its own.
fn absolute(database: &str) -> Outcome<String> {
    match database.strip_prefix("sqlite:") {
        Some(file) => {
            let path = std::path::absolute(file.trim_start_matches("//"))?;
            Ok(format!("sqlite:{}", path.display()))
        }
        None => Ok(database.to_owned()),
    }
}

fn broken(path: &Path, problem: &str) -> Failure {
    let message = format!("{} {problem}", path.display());
    Refusal::new(Code::InvalidParams, message)
        .hint("It was not touched. Repair it, or move it away and run the command again.")
        .into()
}

/// Keeps what was there beside it.
fn back_up(path: &Path, before: Option<&str>) -> Outcome<Option<PathBuf>> {
    let Some(before) = before else { return Ok(None) };
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".backup-{seconds}"));
    let backup = PathBuf::from(name);
    write_private(&backup, before)?;
    Ok(Some(backup))
}

/// Writes a file whole or not at all. What is new can be read by its owner only: it may hold a token.
pub(super) fn write_private(path: &Path, text: &str) -> Outcome {
    let folder = path.parent().unwrap_or(Path::new("."));
    if !folder.exists() {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut file = tempfile::Builder::new().prefix(".spexus-").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
