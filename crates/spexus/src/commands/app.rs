//! `spexus app …`: which apps there are, and what running servers make of them.

use super::CommandContext;
use crate::apps;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use mcp_apps::{ABSENT, AppOptions, AppRecord, AppSource, AppStatus, InstallRequest};
use serde_json::{Value, json};
use spexus_domain::app::InstalledApp;
use spexus_domain::{Code, Refusal};
use spexus_service::app;
use std::collections::BTreeMap;

/// What can be done with apps.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Lists the installed apps
    List,
    /// Starts an app once, compares what it has with what it declares, and installs it; running servers notice
    Install(Install),
    /// Removes an app; running servers end it
    Remove {
        /// The app
        name: String,
    },
    /// Shows what the servers running on this machine make of the apps
    Status {
        /// Only this one
        name: Option<String>,
    },
}

/// A new app.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// A bundle (.mcpb), a manifest.json or its folder, or the http(s):// address of a server
    source: String,
    /// What it is to be called, when it is not what it calls itself
    #[arg(long)]
    name: Option<String>,
    /// A variable for its process; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A value for a setting of its manifest; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A header for every request to its address; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
}

pub(super) async fn run(context: &CommandContext, command: Command) -> Outcome {
    let options = apps::options(&context.config, &context.sources);
    let session = context.open().await?;
    let outcome = in_session(&session, &options, context.output, command).await;
    session.close().await;
    outcome
}

async fn in_session(session: &Session, options: &AppOptions, output: Output, command: Command) -> Outcome {
    match command {
        Command::List => list(session, options, output).await,
        Command::Install(wanted) => install(session, options, output, wanted).await,
        Command::Remove { name } => remove(session, options, output, &name).await,
        Command::Status { name } => status(session, options, output, name.as_deref()),
    }
}

async fn list(session: &Session, options: &AppOptions, output: Output) -> Outcome {
    app::check_manage(&session.caller)?;
    let installed = mcp_apps::installed(options)?;
    let mut absent = app::recorded(&session.service).await?;
    absent.retain(|app| !installed.iter().any(|record| record.name == app.name));
    let values: Vec<Value> = installed
        .iter()
        .map(shown)
        .chain(absent.iter().map(shown_absent))
        .collect();
    let value = json!({ "total_count": values.len(), "data": values });
    output.show(&value, |_| {
        let rows = installed.iter().map(row).chain(absent.iter().map(row_of_absent));
        table(&rows.collect::<Vec<_>>())
    })
}

async fn install(session: &Session, options: &AppOptions, output: Output, wanted: Install) -> Outcome {
    // Before a file of this machine is looked at.
    app::check_manage(&session.caller)?;
    let source = match AppSource::named(&wanted.source)? {
        AppSource::Url { url, .. } => AppSource::Url {
            url,
            headers: pairs("header", &wanted.header)?,
        },
        _ if !wanted.header.is_empty() => {
            return Err(Failure::argument(
                "header",
                "this app has no address",
                "no headers",
            ));
        }
        source => source,
    };
    let request = InstallRequest {
        source,
        name: wanted.name,
        environment: pairs("env", &wanted.env)?,
        settings: pairs("set", &wanted.set)?,
    };
    let installing = mcp_apps::install(options, request);
    let undo = |record: &AppRecord| {
        if let Err(refusal) = mcp_apps::remove(options, &record.name) {
            tracing::warn!(%refusal, "an app that could not be recorded is left on disk");
        }
    };
    let record = app::install(
        &session.service,
        &session.caller,
        installing,
        apps::described,
        undo,
    )
    .await?;
    output.show(&shown(&record), |_| {
        let had = &record.listing;
        format!(
            "Installed {} {}: {} tools, {} resources, {} prompts.",
            record.name,
            record.manifest.version,
            had.tools.len(),
            had.resources.len() + had.templates.len(),
            had.prompts.len()
        )
    })
}

async fn remove(session: &Session, options: &AppOptions, output: Output, name: &str) -> Outcome {
    let removed = app::remove(&session.service, &session.caller, name, || {
        mcp_apps::remove(options, name)
    });
    let value = match removed.await? {
        Some(record) => shown(&record),
        // Nothing but its name was left of it.
        None => json!({ "name": name }),
    };
    output.show(&value, |_| format!("Removed {name}."))
}

fn status(session: &Session, options: &AppOptions, output: Output, name: Option<&str>) -> Outcome {
    app::check_manage(&session.caller)?;
    let installed = mcp_apps::installed(options)?;
    let wanted = |app: &str| name.is_none_or(|name| name == app);
    if let Some(name) = name.filter(|name| !installed.iter().any(|record| record.name == *name)) {
        return Err(
            Refusal::new(Code::ResourceNotFound, format!("there is no app {name:?}"))
                .hint("`spexus app list` shows which there are.")
                .into(),
        );
    }
    let statuses = mcp_apps::statuses(options)?;
    let of = |record: &AppRecord| {
        statuses
            .iter()
            .filter(|status| status.app == record.name)
            .cloned()
            .collect()
    };
    let states: Vec<(String, Vec<AppStatus>)> = installed
        .iter()
        .filter(|record| wanted(&record.name))
        .map(|record| (record.name.clone(), of(record)))
        .collect();
    let value: Vec<Value> = states
        .iter()
        .map(|(name, servers)| json!({ "name": name, "servers": servers }))
        .collect();
    output.show(&json!({ "data": value }), |_| {
        table(
            &states
                .iter()
                .flat_map(|(name, servers)| lines(name, servers))
                .collect::<Vec<_>>(),
        )
    })
}

/// An app without what may be a secret: names of variables, settings and headers, never their values.
fn shown(record: &AppRecord) -> Value {
    let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>();
    let had = &record.listing;
    json!({
        "name": record.name,
        "version": record.manifest.version,
        "description": record.manifest.description,
        "source": record.location.name(),
        "installed_at": record.installed_at,
        "env": names(&record.environment),
        "settings": names(&record.settings),
        "capabilities": {
            "tools": had.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            "resources": had.resources.iter().map(|resource| &resource.uri).collect::<Vec<_>>(),
            "resource_templates": had.templates.iter().map(|template| &template.uri_template).collect::<Vec<_>>(),
            "prompts": had.prompts.iter().map(|prompt| &prompt.name).collect::<Vec<_>>(),
        },
    })
}

/// An app that is recorded and whose files are not here.
fn shown_absent(app: &InstalledApp) -> Value {
    json!({
        "name": app.name,
        "version": app.version,
        "source": app.source,
        "installed_at": app.installed_at,
        "problem": ABSENT,
    })
}

fn row_of_absent(app: &InstalledApp) -> [String; 5] {
    let of_record = [&app.name, &app.version, &app.source].map(Clone::clone);
    let [name, version, source] = of_record;
    [name, version, source, "absent".to_owned(), ABSENT.to_owned()]
}

fn row(record: &AppRecord) -> [String; 5] {
    let had = &record.listing;
    let count = |count: usize, what: &str| format!("{count} {what}");
    [
        record.name.clone(),
        record.manifest.version.clone(),
        record.location.name().to_owned(),
        count(had.tools.len(), "tools"),
        record
            .manifest
            .description
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    ]
}

fn lines(name: &str, servers: &[AppStatus]) -> Vec<[String; 4]> {
    if servers.is_empty() {
        let none = "no server of this machine runs it".to_owned();
        return vec![[name.to_owned(), "-".to_owned(), none, String::new()]];
    }
    let line = |status: &AppStatus| {
        let mut problem = status.problem.clone().unwrap_or_default();
        if !problem.is_empty() && !status.last_words.is_empty() {
            let last = status.last_words.lines().last().unwrap_or_default();
            problem = format!("{problem}; it said last: {last}");
        }
        [
            name.to_owned(),
            status.state.clone(),
            format!(
                "server {}, restarts {}, since {}",
                status.server, status.restarts, status.since
            ),
            problem,
        ]
    };
    servers.iter().map(line).collect()
}

fn pairs(flag: &str, given: &[String]) -> Outcome<BTreeMap<String, String>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        // The rest of it may be a secret.
        _ => Err(Failure::argument(flag, "one has no name or no `=`", "NAME=VALUE")),
    };
    given.iter().map(pair).collect()
}
