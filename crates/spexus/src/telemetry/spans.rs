//! Spans for OpenTelemetry, sent by OTLP over HTTP from a thread of their own. A collector that does not answer costs
//! the spans and nothing else.

use super::redact::redacted_text;
use crate::config::refused;
use crate::failure::{Failure, Outcome};
use async_trait::async_trait;
use mcp_client::{HttpPool, PoolOptions, read_body};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{KeyValue, Value};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanData, SpanExporter as Exports};
use std::time::Duration;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// How long a collector may take.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer of a collector that is read.
const MAX_ANSWER_BYTES: usize = 1 << 20;

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
    let unusable =
        |problem: String| Failure::configuration(refused("otlp.endpoint", problem, "an http:// URL"));
    let address = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(CollectorClient::new(&address).map_err(|error| unusable(error.to_string()))?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(address)
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| unusable(error.to_string()))?;
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("spexus").build())
        .with_batch_exporter(Redacted(exporter))
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("spexus"));
    Ok((Export(provider), layer))
}

/// HTTP client of the exporter. It is asked from the exporter's own thread, which waits for the answer.
#[derive(Debug)]
struct CollectorClient {
    pool: HttpPool,
    runtime: tokio::runtime::Runtime,
}

impl CollectorClient {
    fn new(address: &str) -> std::io::Result<Self> {
        let address: http::Uri = address.parse().map_err(std::io::Error::other)?;
        // Nobody looks after a connection between two exports.
        let options = PoolOptions {
            max_idle: 0,
            ..PoolOptions::default()
        };
        Ok(Self {
            pool: HttpPool::new(&address, options)?,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
        })
    }
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let exchange = async {
            let (head, body) = self.pool.send(request).await?.into_parts();
            let body = read_body(body, MAX_ANSWER_BYTES).await?;
            Ok(Response::from_parts(head, body))
        };
        self.runtime
            .block_on(async { tokio::time::timeout(EXPORT_TIMEOUT, exchange).await })?
    }
}

/// An exporter that lets no token through: spans leave the machine like log lines do.
#[derive(Debug)]
struct Redacted<E>(E);

impl<E: Exports> Exports for Redacted<E> {
    //= specs/spexus.md#secrets
    //# Spans that are sent to a collector MUST NOT contain a token or the secret of a session.
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for span in &mut batch {
            redact(&mut span.attributes);
            for event in &mut span.events.events {
                redact(&mut event.attributes);
            }
        }
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn redact(attributes: &mut [KeyValue]) {
    for attribute in attributes {
        if let Value::String(text) = &attribute.value
            && let Some(clean) = redacted_text(text.as_str())
        {
            attribute.value = Value::String(clean.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves 002 Req-Sec-003
    //= specs/spexus.md#secrets
    //= type=test
    //# Spans that are sent to a collector MUST NOT contain a token or the secret of a session.
    #[test]
    fn secrets_in_spans_are_replaced() {
        let mut attributes = [
            KeyValue::new("a", "Bearer mcp_pat_Ab-9_x"),
            KeyValue::new("b", "spexus_session_x"),
            KeyValue::new("c", 7_i64),
            KeyValue::new("d", "plain"),
        ];
        redact(&mut attributes);
        let values = attributes.map(|attribute| attribute.value.to_string());
        assert_eq!(values, ["Bearer [token]", "[token]", "7", "plain"]);
    }
}
