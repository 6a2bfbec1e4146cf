//! Spans for OpenTelemetry, sent by OTLP over HTTP from a thread of their own. A collector that does not answer costs
//! the spans and nothing else.

use crate::config::refused;
use crate::failure::{Failure, Outcome};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::time::Duration;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// How long a collector may take.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends what is left when it is dropped.
pub(super) struct Export(SdkTracerProvider);

impl Drop for Export {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(EXPORT_TIMEOUT) {
            tracing::warn!(%error, "the last spans could not be sent");
        }
    }
}

/// The exporter, and the layer that feeds it.
pub(super) fn export<S>(endpoint: &str) -> Outcome<(Export, OpenTelemetryLayer<S, SdkTracer>)>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    //= specs/spexus.md#serving
    //# A collector of spans that does not answer MUST NOT disturb the server.
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| {
            Failure::configuration(refused("otlp.endpoint", error.to_string(), "an http:// URL"))
        })?;
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("spexus").build())
        .with_batch_exporter(exporter)
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("spexus"));
    Ok((Export(provider), layer))
}
