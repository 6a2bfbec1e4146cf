//! Statistics of a running bridge, logged from time to time: a process that grows or hangs can be seen from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::bridge::Bridge;

/// Counters of a bridge.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    /// Requests taken from the host.
    pub(crate) requests: AtomicU64,
    /// Requests tried again.
    pub(crate) retries: AtomicU64,
    /// Calls that came to nothing.
    pub(crate) failures: AtomicU64,
}

impl Stats {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

// Fulfils 003 R15.9
/// Logs until it is dropped.
//= specs/spexus-bridge.md#logs
//# The bridge MUST log from time to time how much memory it holds and how many requests run, were tried again and failed.
pub(crate) async fn report(bridge: Arc<Bridge>) {
    let every = Duration::from_millis(bridge.settings.limits.stats_every_ms);
    loop {
        tokio::time::sleep(every).await;
        log(&bridge);
    }
}

/// Logs once.
pub(crate) fn log(bridge: &Bridge) {
    let stats = &bridge.stats;
    tracing::info!(
        in_flight = bridge.in_flight.len(),
        requests = stats.requests.load(Ordering::Relaxed),
        retries = stats.retries.load(Ordering::Relaxed),
        failures = stats.failures.load(Ordering::Relaxed),
        resident_kb = resident_kb(),
        "vitals"
    );
}

/// Memory held by this process, where the system tells it.
fn resident_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
