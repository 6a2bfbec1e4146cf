//! The bridge as a process: its configuration, its log, its streams, its exit code.

use super::{Choice, World, config};
use crate::commands::serve::stop_signals;
use crate::failure::{Failure, Outcome};
use crate::telemetry;
use mcp_server::lines::Ended;
use mcp_server::stdio;
use spexus_bridge::BridgeSettings;
use std::time::Duration;

/// How long a helper thread that still reads is waited for.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(50);

pub(super) fn run(world: &World, choice: &Choice) -> Outcome {
    let config = config::read(world)?;
    telemetry::start_stdio(&config.log_level)?;
    let mut settings = config.settings();
    settings.headers = headers(choice)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(Box::pin(serve(settings)));
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    exit(ended?)
}

// Fulfils 003 R1.6
/// The exit code of a stdio server.
pub(super) fn exit(ended: Ended) -> Outcome {
    match stdio::exit_status(ended) {
        0 => Ok(()),
        status => Err(Failure::already_shown(status)),
    }
}

async fn serve(settings: BridgeSettings) -> Outcome<Ended> {
    tracing::info!(
        backend = settings.backend.base(),
        version = settings.version,
        "bridging"
    );
    //= specs/spexus-bridge.md#connecting-a-host
    //# `spexus mcp init` MUST refuse to send a password or a token over plain HTTP to another machine unless `--allow-http` is given, and `spexus mcp` MUST warn of it.
    if settings.backend.is_exposed() {
        tracing::warn!(
            backend = settings.backend.base(),
            "the token travels over plain HTTP, where others can read it; use https://"
        );
    }
    let stop = stop_signals()?;
    let ended = match stdio::pipes() {
        Ok((reader, writer)) => spexus_bridge::serve(settings, reader, writer, stop).await,
        Err(_not_pipes) => {
            spexus_bridge::serve(settings, tokio::io::stdin(), tokio::io::stdout(), stop).await
        }
    };
    let ended = ended.map_err(|error| {
        tracing::error!(%error, "the bridge could not be started");
        Failure::unavailable("the bridge could not be started", "See the log for why.")
    })?;
    tracing::info!(?ended, "stopped");
    Ok(ended)
}

/// The choice of tools as the backend reads it.
fn headers(choice: &Choice) -> Outcome<Vec<(http::HeaderName, http::HeaderValue)>> {
    let mut headers = Vec::new();
    if let Some(sets) = &choice.toolsets {
        let value = http::HeaderValue::from_str(sets).map_err(|_| {
            Failure::argument(
                "toolsets",
                "has letters no name has",
                "agent, core, author, admin, all",
            )
        })?;
        headers.push((http::HeaderName::from_static("x-spexus-toolsets"), value));
    }
    if choice.content == "structured" {
        headers.push((
            http::HeaderName::from_static("x-spexus-content"),
            http::HeaderValue::from_static("structured"),
        ));
    }
    if choice.read_only {
        headers.push((
            http::HeaderName::from_static("x-spexus-read-only"),
            http::HeaderValue::from_static("true"),
        ));
    }
    Ok(headers)
}
