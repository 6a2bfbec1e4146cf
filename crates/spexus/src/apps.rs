//! The wiring of apps: where they are kept, what they see of us, and who may do what with them.

use crate::config::{Config, Sources};
use mcp_apps::{AppOperation, AppOptions, Apps, HostPolicy};
use mcp_server::Context;
use spexus_domain::{Refusal, Ruled};
use spexus_mcp::{Guests, Mcp, reference};
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
    let policy = ProductPolicy(mcp.guests().clone());
    let apps = Apps::start(mcp.server(), policy, options(config, sources)).await?;
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

/// The product's policy for apps: the rights and the audit trail of everything else over MCP.
struct ProductPolicy(Guests);

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
