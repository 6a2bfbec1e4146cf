//! Metrics in Prometheus' text form.

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::sync::Arc;

/// The metrics of this process.
#[derive(Clone)]
pub(crate) struct Metrics(PrometheusHandle);

impl Metrics {
    /// The function that writes them.
    pub(crate) fn writer(&self) -> Arc<dyn Fn() -> String + Send + Sync> {
        let handle = self.0.clone();
        Arc::new(move || handle.render())
    }

    /// Puts what was measured into its buckets, which otherwise only happens when someone asks.
    pub(crate) fn tidy(&self) {
        self.0.run_upkeep();
    }
}

/// Collects metrics from now on.
pub(crate) fn install() -> Metrics {
    // Seconds; the same steps for everything that takes time, so that charts can be compared.
    let steps = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    ];
    let builder = PrometheusBuilder::new();
    let builder = match builder.set_buckets(&steps) {
        Ok(builder) => builder,
        Err(_) => PrometheusBuilder::new(),
    };
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    // Only the first recorder of a process counts.
    let _ = metrics::set_global_recorder(recorder);
    Metrics(handle)
}
