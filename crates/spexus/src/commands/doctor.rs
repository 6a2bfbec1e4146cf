//! `spexus doctor`: looks at everything an installation needs, and says what to do about what is not right.

use super::CommandContext;
use crate::config::{redacted_url, unknown_variables};
use crate::failure::{Failure, Outcome, message_and_hint};
use crate::session::{self, Missing};
use serde::Serialize;
use spexus_service::Service;
use spexus_store::server::{self, ServerFacts};
use spexus_store::staging::{self, StagedCounts};
use spexus_store::{Durability, Location, chain, transfer};
use std::path::Path;

/// Below this much free space, someone should act soon.
const LOW_SPACE_BYTES: u64 = 1 << 30;
/// Below this much, writes are about to fail.
const NO_SPACE_BYTES: u64 = 100 << 20;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    message: String,
    /// What to do; empty when it is fine.
    advice: String,
}

pub(super) async fn run(context: &CommandContext) -> Outcome {
    let mut checks = vec![configuration(context)];
    match session::open(&context.config, Missing::Refuse).await {
        Err(failure) => {
            let (message, advice) = message_and_hint(&failure);
            checks.push(check("database", State::Fail, message, advice));
        }
        Ok((service, _)) => {
            checks.push(ok(
                "database",
                format!("{} answers", redacted_url(&context.config.settings.database)),
            ));
            checks.extend(database(context, &service).await);
            service.close().await;
        }
    }
    checks.extend(file(&context.config.settings.database));
    let failed = checks.iter().any(|check| check.state == State::Fail);
    context
        .output
        .show(&serde_json::json!({"healthy": !failed, "checks": checks}), |_| {
            checks.iter().map(line).collect::<Vec<_>>().join("\n")
        })?;
    if failed {
        Err(Failure::already_shown(1))
    } else {
        Ok(())
    }
}

fn configuration(context: &CommandContext) -> Check {
    let unknown = unknown_variables(&context.sources.variables);
    if !unknown.is_empty() {
        let message = format!("no setting has the variable {}", unknown.join(", "));
        return check(
            "configuration",
            State::Warn,
            message,
            "Correct or remove it; see `spexus config show`.",
        );
    }
    let file = context
        .config
        .file
        .as_ref()
        .map(|path| path.display().to_string());
    ok(
        "configuration",
        file.map_or_else(
            || "no file, which is fine".to_owned(),
            |file| format!("read from {file}"),
        ),
    )
}

/// What an acknowledged write survives; on PostgreSQL that is for the server to say.
//= specs/spexus.md#answers
//# `doctor` MUST tell what an acknowledged write survives as the database itself says it.
fn durability(context: &CommandContext, server: Option<&ServerFacts>) -> Check {
    if let Some(server) = server {
        return durability_of_server(server);
    }
    match context.config.settings.service.store.durability {
        Durability::PowerLoss => ok("durability", "acknowledged writes survive a power loss".into()),
        Durability::ProcessCrash => check(
            "durability",
            State::Warn,
            "the last writes before a power loss may be lost",
            "Set store.durability = \"full\" unless that is what you want.",
        ),
    }
}

fn durability_of_server(server: &ServerFacts) -> Check {
    let lost = |what: &str, advice: &str| check("durability", State::Warn, what, advice);
    match server {
        ServerFacts { fsync: false, .. } => lost(
            "a power loss may damage the whole database: the server has fsync = off",
            "Set fsync = on in postgresql.conf.",
        ),
        ServerFacts {
            full_page_writes: false,
            ..
        } => lost(
            "a power loss may damage pages of the database: the server has full_page_writes = off",
            "Set full_page_writes = on in postgresql.conf.",
        ),
        server if !server.survives_power_loss() => lost(
            "the last writes before a power loss may be lost: the server has synchronous_commit = off",
            "Set synchronous_commit = on for this database.",
        ),
        _ => ok(
            "durability",
            format!(
                "acknowledged writes survive a power loss: the server has fsync = on, synchronous_commit = {}",
                server.synchronous_commit
            ),
        ),
    }
}

/// Whether others can read along on the way to the database.
fn encryption(context: &CommandContext, server: Option<&ServerFacts>) -> Option<Check> {
    let is_remote =
        Location::parse(&context.config.settings.database).is_ok_and(|location| location.is_remote());
    let server = server?;
    Some(match (server.encrypted, is_remote) {
        (true, _) => ok("encryption", "the connection to the database is encrypted".into()),
        (false, false) => ok(
            "encryption",
            "none, and the connection does not leave this machine".into(),
        ),
        (false, true) => check(
            "encryption",
            State::Warn,
            "the connection to the database is not encrypted, and it leaves this machine",
            "Add sslmode=verify-full (or require) to the URL of the database.",
        ),
    })
}

async fn database(context: &CommandContext, service: &Service) -> Vec<Check> {
    let broken = |name, error: spexus_store::Error| {
        check(
            name,
            State::Fail,
            error.to_string(),
            "Restore a backup, or ask for help with this text.",
        )
    };
    let mut conn = match service.store().read().await {
        Ok(conn) => conn,
        Err(error) => return vec![broken("database", error)],
    };
    let server = match server::facts(&mut conn).await {
        Ok(facts) => facts,
        Err(error) => return vec![broken("server", error)],
    };
    let mut checks = vec![durability(context, server.as_ref())];
    checks.extend(encryption(context, server.as_ref()));
    checks.extend(match transfer::facts(&mut conn).await {
        Err(error) => vec![broken("tables", error)],
        Ok(facts) => vec![
            ok("engine", facts.engine),
            ok(
                "tables",
                format!(
                    "version {}, made by spexus {}",
                    facts.schema_version, facts.made_by
                ),
            ),
            ok(
                "content",
                format!(
                    "{} users, {} projects, {} items, {} changes",
                    facts.users, facts.projects, facts.items, facts.changes
                ),
            ),
        ],
    });
    checks.push(match staging::waiting(&mut conn).await {
        Err(error) => broken("imports", error),
        Ok(StagedCounts { imports: 0, .. }) => ok("imports", "none is under way".to_owned()),
        Ok(StagedCounts { imports, changes }) => ok(
            "imports",
            format!("{imports} under way or to be swept, with {changes} changes that nobody sees yet"),
        ),
    });
    checks.push(match chain::verify(&mut conn).await {
        Err(error) => broken("history", error),
        Ok(verdict) => match verdict.fault {
            None if verdict.earlier.count > 0 => check(
                "history",
                State::Warn,
                format!(
                    "whole: {} changes, head {}; {} of them are told to have happened before the one in front of them, the first is {}",
                    verdict.changes,
                    verdict.head,
                    verdict.earlier.count,
                    verdict.earlier.first_seq.unwrap_or_default(),
                ),
                "The clock of a node was wrong. Keep the clocks of all nodes right.",
            ),
            None => ok(
                "history",
                format!("whole: {} changes, head {}", verdict.changes, verdict.head),
            ),
            Some(fault) => {
                let message = format!("tampered with at change {}: {}", fault.seq, fault.problem);
                check(
                    "history",
                    State::Fail,
                    message,
                    "Compare with a backup from before that change.",
                )
            }
        },
    });
    let key = if context.config.is_set("token_key") {
        "given as a setting"
    } else {
        "kept in the database"
    };
    checks.push(ok("token key", key.into()));
    checks
}

/// The file and the disk it is on.
fn file(database: &str) -> Vec<Check> {
    let Ok(Location::File(path)) = Location::parse(database) else {
        return vec![];
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => ".".into(),
    };
    let mut checks = Vec::new();
    if let Some(check) = readers(&path) {
        checks.push(check);
    }
    if let Some(free) = free_bytes(&folder) {
        let message = format!("{} MiB free", free >> 20);
        let advice = "Make room on the disk, or move the database.";
        checks.push(match free {
            free if free < NO_SPACE_BYTES => check("disk", State::Fail, message, advice),
            free if free < LOW_SPACE_BYTES => check("disk", State::Warn, message, advice),
            _ => ok("disk", message),
        });
    }
    checks
}

#[cfg(unix)]
fn readers(path: &Path) -> Option<Check> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| Some(std::fs::metadata(path).ok()?.permissions().mode());
    let hidden = path.parent().and_then(mode).is_some_and(|mode| mode & 0o077 == 0);
    if hidden || mode(path)? & 0o077 == 0 {
        return Some(ok("file", "only its owner can read it".into()));
    }
    let advice = format!("chmod 600 {}", path.display());
    Some(check(
        "file",
        State::Warn,
        "other users of this machine can read it",
        advice,
    ))
}

#[cfg(not(unix))]
fn readers(_: &Path) -> Option<Check> {
    None
}

#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

fn ok(name: &'static str, message: String) -> Check {
    check(name, State::Ok, message, "")
}

fn check(name: &'static str, state: State, message: impl Into<String>, advice: impl Into<String>) -> Check {
    Check {
        name,
        state,
        message: message.into(),
        advice: advice.into(),
    }
}

fn line(check: &Check) -> String {
    let state = match check.state {
        State::Ok => "ok  ",
        State::Warn => "warn",
        State::Fail => "FAIL",
    };
    let advice = if check.advice.is_empty() {
        String::new()
    } else {
        format!("\n      → {}", check.advice)
    };
    format!("{state}  {}: {}{advice}", check.name, check.message)
}
