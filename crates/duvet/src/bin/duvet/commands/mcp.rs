//! `duvet mcp`

use crate::arguments::Mcp;
use crate::project;
use duvet::engine::Engine;
use duvet::mcp::{SnapshotHolder, changes, server};
use mcp_server::stdio;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

/// Serves standard input and output until the client leaves.
pub(crate) fn run(flags: &Mcp) -> Result<ExitCode, String> {
    if let Some(folder) = &flags.root {
        std::env::set_current_dir(folder)
            .map_err(|e| format!("cannot work in `{}`: {e}", folder.display()))?;
    }
    let holder = Arc::new(SnapshotHolder::new(engine(flags)?.watching()));
    let server = server(&holder).map_err(|refusal| refusal.to_string())?;
    let (snapshots, subscribers) = (Arc::clone(&holder), server.clone());
    // It lives as long as the process. Its first snapshot also makes the first answer ready.
    std::thread::spawn(move || changes::notify(&snapshots, &subscribers));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| format!("cannot start: {e}"))?;
    let ended = runtime.block_on(async {
        stop_on_signal(server.clone()).map_err(|e| format!("cannot listen for signals: {e}"))?;
        Ok::<_, String>(stdio::serve(&server, http::Extensions::new()).await)
    });
    // A thread may still be reading a file or standard input; nobody waits for its answer any more.
    runtime.shutdown_background();
    Ok(ExitCode::from(stdio::exit_status(ended?)))
}

/// Settings come from the configuration file and follow it; flags are laid over them.
fn engine(flags: &Mcp) -> Result<Engine, String> {
    let given = &flags.project;
    let is_described =
        !given.spec_pattern.is_empty() || !given.source_pattern.is_empty() || given.spec_path.is_some();
    let is_whole_project = is_described && given.config_path.is_none();
    let variables = |name: &str| std::env::var(name).ok();
    let engine = Engine::of_folder(project::root(), Box::new(variables), SystemTime::now)
        .overlaid_by(project::overlay(given)?, is_whole_project);
    Ok(match &given.config_path {
        Some(path) => engine.configured_by(path.clone()),
        None => engine,
    })
}

#[cfg(unix)]
fn stop_on_signal(server: mcp_server::Server) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        terminate.recv().await;
        server.stop();
    });
    Ok(())
}

#[cfg(not(unix))]
fn stop_on_signal(_server: mcp_server::Server) -> std::io::Result<()> {
    Ok(())
}
