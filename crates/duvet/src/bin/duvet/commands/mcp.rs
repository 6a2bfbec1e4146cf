//! `duvet mcp`

use crate::arguments::Mcp;
use crate::project;
use duvet::mcp::{SnapshotHolder, changes, server};
use mcp_server::stdio;
use std::process::ExitCode;
use std::sync::Arc;

/// Serves standard input and output until the client leaves.
pub(crate) fn run(flags: &Mcp) -> Result<ExitCode, String> {
    if let Some(folder) = &flags.root {
        std::env::set_current_dir(folder)
            .map_err(|e| format!("cannot work in `{}`: {e}", folder.display()))?;
    }
    let holder = Arc::new(SnapshotHolder::new(project::engine(&flags.project)?.watching()));
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
