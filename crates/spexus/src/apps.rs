//! The wiring of apps: where they are kept, what they see of us, and who may do what with them.

use crate::config::{Config, Sources};
use futures_util::future::BoxFuture;
use mcp_apps::{ABSENT, AppOperation, AppOptions, AppRecord, Apps, HostPolicy, RecordedApp};
use mcp_server::Context;
use spexus_domain::app::InstalledApp;
use spexus_domain::{Refusal, Ruled, Timestamp};
use spexus_mcp::{AppTools, Mcp, reference};
use std::path::PathBuf;
use std::time::Duration;

/// The variable by which a process learns that it is an app of ours.
pub(crate) const INSIDE: &str = "SPEXUS_INSIDE_APP";
/// The family of methods and its version.
const FAMILY: (&str, &str) = ("apps", "1.0.0");

/// How apps work, as the settings have it.
pub(crate) fn options(config: &Config, sources: &Sources) -> AppOptions {
    let settings = &config.settings.apps;
    let folder = match settings.folder.as_str() {
        "" => sources.data_folder.join("apps"),
        folder => PathBuf::from(folder),
    };
    let tools = reference::tools().into_iter().map(|tool| tool.name.to_owned());
    let prompts = reference::prompts()
        .into_iter()
        .map(|prompt| prompt.name.to_owned());
    let mut environment = sources.passed_on.clone();
    environment.insert(INSIDE.to_owned(), "1".to_owned());
    AppOptions {
        environment,
        install_over_mcp: settings.install_over_mcp,
        trusted_readers: settings
            .trusted_readers
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
        reserved: tools.chain(prompts).collect(),
        host: ("spexus".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        restarts_metric: "spexus_app_restarts_total".to_owned(),
        meta_key: "spexus/app".to_owned(),
        no_install_hint: "Use `spexus app`, or let an administrator set apps.install_over_mcp.".to_owned(),
        limits: settings.limits.clone(),
        ..AppOptions::new(folder)
    }
}

/// Starts all installed apps as part of a server. A server that is itself an app has none: two that are apps of each
/// other would start each other for ever.
pub(crate) async fn start(mcp: &Mcp, config: &Config, sources: &Sources) -> Ruled<Option<Apps>> {
    if !offered(sources) {
        return Ok(None);
    }
    let policy = ProductPolicy(mcp.app_tools().clone());
    let apps = Apps::start(mcp.server(), policy, options(config, sources)).await?;
    let here = apps.list()?;
    for app in mcp.app_tools().recorded().await? {
        if !here.iter().any(|listed| listed.name == app.name) {
            tracing::warn!(
                app = app.name,
                version = app.version,
                "an app is absent: {ABSENT}"
            );
        }
    }
    mcp.server().declare(FAMILY.0, FAMILY.1);
    Ok(Some(apps))
}

/// Whether this process has apps.
fn offered(sources: &Sources) -> bool {
    !sources.variables.contains_key(INSIDE)
}

/// Ends all apps.
pub(crate) async fn stop(apps: Option<Apps>) {
    if let Some(apps) = apps {
        apps.close().await;
    }
}

/// An app as the database records it.
pub(crate) fn described(record: &AppRecord) -> InstalledApp {
    InstalledApp {
        name: record.name.clone(),
        installation: record.id.clone(),
        version: record.manifest.version.clone(),
        source: record.location.name().to_owned(),
        installed_at: Timestamp::parse("installed_at", &record.installed_at).unwrap_or_default(),
    }
}

fn to_recorded(app: InstalledApp) -> RecordedApp {
    RecordedApp {
        installed_at: app.installed_at.to_string(),
        name: app.name,
        version: app.version,
        source: app.source,
    }
}

/// The product's policy for apps: the rights and the audit trail of everything else over MCP.
struct ProductPolicy(AppTools);

impl HostPolicy for ProductPolicy {
    fn check(&self, cx: &Context, operation: AppOperation) -> Result<(), Refusal> {
        match operation {
            AppOperation::List => self.0.check_list(cx),
            AppOperation::Manage => self.0.check_manage(cx),
        }
    }

    fn tool_added(&self, tool: &str, only_reads: bool) {
        self.0.admit(tool, only_reads);
    }

    fn tool_removed(&self, tool: &str) {
        self.0.dismiss(tool);
    }

    fn record<'a>(&'a self, cx: &'a Context, app: &'a AppRecord) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(self.0.record(cx, described(app)))
    }

    fn forget<'a>(&'a self, cx: &'a Context, app: &'a str) -> BoxFuture<'a, Result<bool, Refusal>> {
        Box::pin(self.0.forget(cx, app))
    }

    fn recorded(&self) -> BoxFuture<'_, Result<Vec<RecordedApp>, Refusal>> {
        Box::pin(async {
            let recorded = self.0.recorded().await?.into_iter();
            Ok(recorded.map(to_recorded).collect())
        })
    }

    fn audit(
        &self,
        cx: &Context,
        method: &'static str,
        name: &str,
        took: Duration,
        outcome: Result<(), &Refusal>,
    ) {
        self.0.note(cx, method, name, took, outcome);
    }
}
