//! The whole system in the host's own process: no server, no network, no token.

use super::{Choice, World, bridge, config};
use crate::apps;
use crate::arguments::Global;
use crate::commands::serve::stop_signals;
use crate::config::{Config, Sources};
use crate::failure::{Failure, Outcome};
use crate::session::{self, Missing};
use crate::telemetry;
use mcp_runtime::lines::Ended;
use mcp_runtime::stdio;
use spexus_bridge::NAME;
use spexus_mcp::{Mcp, McpOptions, Sessions, Toolset};
use spexus_service::account::login;

pub(super) fn run(world: &World, choice: &Choice, global: &Global, sources: &Sources) -> Outcome {
    let config = sources.merge().map_err(Failure::configuration)?;
    telemetry::start_stdio(&config::log_level(world)?)?;
    let options = options(&config, choice)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let user = global.as_user.as_deref();
    let ended = runtime.block_on(Box::pin(serve(&config, sources, user, options)));
    runtime.shutdown_timeout(bridge::FAREWELL);
    bridge::exit(ended?)
}

/// One host asks for a few things at once; more threads only cost memory.
const WORKERS: usize = 2;

/// As the settings have it, and what the host's command line asks for. A read-only installation stays so.
fn options(config: &Config, choice: &Choice) -> Outcome<McpOptions> {
    let mut options = config.settings.http.mcp.clone();
    if !config.is_set("mcp.name") {
        options.name = NAME.to_owned();
    }
    if !config.is_set("mcp.title") {
        options.title = "Requirements".to_owned();
    }
    // The one session of a host is its connection.
    options.sessions = Sessions::Memory;
    options.read_only |= choice.read_only;
    if let Some(sets) = &choice.toolsets {
        options.toolsets = Toolset::parse_list("toolsets", sets)?;
    }
    Ok(options)
}

//= specs/spexus-bridge.md#the-system-in-the-process
//# With `--database` the whole system MUST run in the process, as the first administrator or as the user named with `--as`.
async fn serve(
    config: &Config,
    sources: &Sources,
    user: Option<&str>,
    mut options: McpOptions,
) -> Outcome<Ended> {
    let (service, first) = session::open(config, Missing::Create).await?;
    //= specs/spexus-bridge.md#the-system-in-the-process
    //# A database that does not exist MUST be made, and a password that was made up for it MUST NOT be printed to standard output.
    if let Some(first) = first {
        eprintln!("{}", session::made_up(&first));
    }
    let caller = login::local(&service, user, NAME).await?;
    options.apps = apps::offered(sources);
    let mcp = Mcp::new(&service, options)?;
    mcp.restore().await?;
    let apps = apps::start(&mcp, config, sources).await?;
    tracing::info!(user = caller.username, "serving the host in this process");
    let stop = stop_signals()?;
    let server = mcp.server().clone();
    let stopping = tokio::spawn(async move {
        stop.await;
        server.stop();
    });
    let ended = stdio::serve(mcp.server(), mcp.visit(caller)).await;
    stopping.abort();
    apps::stop(apps).await;
    drop(mcp);
    service.close().await;
    tracing::info!(?ended, "stopped");
    Ok(ended)
}
