//! The whole system in the host's own process: no server, no network, no token.

use super::{Choice, World, bridge, config};
use crate::apps;
use crate::arguments::Global;
use crate::commands::serve::stop_signals;
use crate::config::{Config, Sources};
use crate::failure::{Failure, Outcome};
use crate::session::{self, Missing};
use crate::telemetry;
use mcp_server::lines::Ended;
use mcp_server::stdio;
use spexus_bridge::NAME;
use spexus_domain::account::{Caller, Scope};
use spexus_domain::{Code, Ruled};
use spexus_mcp::{Mcp, McpOptions, Sessions, Toolset};
use spexus_service::Service;
use spexus_service::account::login;

pub(super) fn run(world: &World, choice: &Choice, global: &Global, sources: &Sources) -> Outcome {
    let config = sources.merge().map_err(Failure::configuration)?;
    telemetry::start_stdio(&config::log_level(world)?)?;
    let options = options(&config, choice)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let agent = Agent {
        user: global.as_user.clone(),
        scope: Scope::parse("scope", &choice.scope)?,
        is_marked: choice.agent,
    };
    let ended = runtime.block_on(Box::pin(serve(&config, sources, agent, options)));
    runtime.shutdown_timeout(bridge::SHUTDOWN_TIMEOUT);
    bridge::exit(ended?)
}

/// What is said of a new database. Its password is nowhere: whoever wants to log in sets one.
const NEW_DATABASE: &str = "A new database was made. To log in to it with a browser or over HTTP, set a password first: \
                            spexus user password admin";

/// One host asks for a few things at once; more threads only cost memory.
const WORKERS: usize = 2;

/// As the settings have it, and what the host's command line asks for. A read-only installation stays so.
fn options(config: &Config, choice: &Choice) -> Outcome<McpOptions> {
    let mut options = config.settings.mcp.clone();
    if !config.is_set("mcp.name") {
        options.name = NAME.to_owned();
    }
    if !config.is_set("mcp.title") {
        options.title = "Requirements".to_owned();
    }
    // The one session of a host is its connection.
    options.sessions = Sessions::Memory;
    options.read_only |= choice.read_only;
    options.mirrors_content = choice.content != "structured";
    if let Some(sets) = &choice.toolsets {
        options.toolsets = Toolset::parse_list("toolsets", sets)?;
    }
    Ok(options)
}

/// For whom the host acts, and how far.
struct Agent {
    user: Option<String>,
    scope: Scope,
    is_marked: bool,
}

impl Agent {
    /// The caller, with the rights as they are now.
    //= specs/spexus-bridge.md#the-system-in-the-process
    //# The agent MUST have the scope `write` unless another one is named with `--scope`, so that it cannot administer by default.
    //= specs/spexus-bridge.md#the-system-in-the-process
    //# With `--agent` the caller in the process MUST count as an agent.
    async fn caller(&self, service: &Service) -> Ruled<Caller> {
        login::local_agent(service, self.user.as_deref(), (self.scope, self.is_marked), NAME).await
    }

    /// Done when the rights of the caller are no longer what they were, or the account is gone.
    async fn changed(&self, service: &Service, before: &Caller) {
        let mut news = service.follow();
        while news.changed().await.is_ok() {
            match self.caller(service).await {
                Ok(now)
                    if now.role == before.role
                        && now.user_id == before.user_id
                        && now.memberships == before.memberships => {}
                // A database that does not answer has changed nobody's rights.
                Err(refusal) if refusal.code != Code::ResourceNotFound => {}
                _ => return,
            }
        }
    }
}

//= specs/spexus-bridge.md#the-system-in-the-process
//# With `--database` the whole system MUST run in the process, as the first administrator or as the user named with `--as`.
async fn serve(config: &Config, sources: &Sources, agent: Agent, options: McpOptions) -> Outcome<Ended> {
    let (service, first) = session::open(config, Missing::Create).await?;
    //= specs/spexus-bridge.md#the-system-in-the-process
    //# A database that does not exist MUST be made, and a password that was made up for it MUST NOT be printed, because hosts keep what is.
    if first.is_some_and(|first| first.password.is_some()) {
        eprintln!("{NEW_DATABASE}");
    }
    let caller = agent.caller(&service).await?;
    let mcp = Mcp::new(&service, options)?;
    mcp.restore().await?;
    let apps = apps::start(&mcp, config, sources).await?;
    tracing::info!(user = caller.username, "serving the host in this process");
    let stop = stop_signals()?;
    let (server, watched, before) = (mcp.server().clone(), service.clone(), caller.clone());
    let stopping = tokio::spawn(async move {
        //= specs/spexus-bridge.md#the-system-in-the-process
        //# When the role of its user changes or the account is disabled, the server in the process MUST stop, so that the host starts it with the rights as they are.
        tokio::select! {
            () = stop => {}
            () = agent.changed(&watched, &before) => {
                tracing::warn!(user = before.username, "the rights changed; start again to go on with the new ones");
            }
        }
        server.stop();
    });
    let reporting = tokio::spawn(telemetry::memory::report(mcp.server().clone()));
    let ended = stdio::serve(mcp.server(), mcp.visit(caller)).await;
    reporting.abort();
    telemetry::memory::log(mcp.server());
    stopping.abort();
    apps::stop(apps).await;
    drop(mcp);
    service.close().await;
    tracing::info!(?ended, "stopped");
    Ok(ended)
}
