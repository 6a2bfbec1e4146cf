//! How much memory the process holds, so that one that leaks can be seen from outside.

use std::time::Duration;

/// How often a process that serves one host logs how it is.
pub(crate) const VITALS_EVERY: Duration = Duration::from_secs(60);

/// Puts what is held now among the metrics; where the system does not tell, there is nothing to see.
//= specs/spexus.md#serving
//# `/metrics` MUST tell how much memory the process holds and how many requests of agents run.
pub(crate) fn measure(server: &mcp_server::Server) {
    if let Some(bytes) = resident_bytes() {
        metrics::gauge!("process_resident_memory_bytes").set(bytes as f64);
    }
    metrics::gauge!("spexus_mcp_in_flight").set(server.in_flight() as f64);
    metrics::gauge!("spexus_mcp_sessions").set(server.sessions() as f64);
}

/// Logs how the process is until it is dropped.
pub(crate) async fn report(server: mcp_server::Server) {
    loop {
        tokio::time::sleep(VITALS_EVERY).await;
        log(&server);
    }
}

// Fulfils 003 R15.9
/// Logs it once.
//= specs/spexus-bridge.md#logs
//# The system in the process MUST log from time to time, and when it ends, how much memory it holds and how many requests run.
pub(crate) fn log(server: &mcp_server::Server) {
    let resident_kb = resident_bytes().map(|bytes| bytes / 1_024);
    tracing::info!(in_flight = server.in_flight(), resident_kb, "vitals");
}

/// What the system counts as held by this process.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::tests::Kept;
    use mcp_server::{Info, Server};
    use tracing_subscriber::fmt;
    use tracing_subscriber::layer::SubscriberExt as _;

    // proves 003 R15.9
    //= specs/spexus-bridge.md#logs
    //= type=test
    //# The system in the process MUST log from time to time, and when it ends, how much memory it holds and how many requests run.
    #[tokio::test(start_paused = true)]
    async fn how_the_process_is_is_logged_every_minute() {
        let kept = Kept::default();
        let writer = kept.clone();
        let lines = fmt::layer().with_writer(move || writer.clone()).with_ansi(false);
        let _logging = tracing::subscriber::set_default(tracing_subscriber::registry().with(lines));
        let reporting = tokio::spawn(report(Server::builder(Info::new("test", "1.0.0")).build()));
        tokio::task::yield_now().await;
        for minute in 1..=2 {
            tokio::time::advance(VITALS_EVERY + Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
            let log = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
            let vitals: Vec<&str> = log.lines().filter(|line| line.contains("vitals")).collect();
            assert_eq!(vitals.len(), minute, "{log}");
            assert!(vitals[minute - 1].contains("in_flight=0"), "{log}");
        }
        reporting.abort();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_that_is_held_is_counted() {
        const MORE: usize = 64 << 20;
        let before = resident_bytes().unwrap();
        let held = vec![1_u8; MORE];
        let after = resident_bytes().unwrap();
        assert!(after >= before + (MORE as u64) / 2, "{before} to {after}");
        assert_eq!(held[MORE / 2], 1);
    }
}
