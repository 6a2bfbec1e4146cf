//! Metrics in Prometheus' text form.

use metrics_exporter_prometheus::PrometheusBuilder;
use std::sync::Arc;

/// Collects metrics from now on; answers the function that writes them.
pub(crate) fn install() -> Arc<dyn Fn() -> String + Send + Sync> {
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
    Arc::new(move || handle.render())
}
