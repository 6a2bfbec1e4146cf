//! The sockets: limits before a request is even read, and a shutdown that leaves nothing unanswered.

use crate::HttpOptions;
use crate::app::{App, Surface};
use crate::connection::Connection;
use crate::health::Readiness;
use crate::hosts::OwnHosts;
use crate::limits::{OwnerPermit, OwnerSemaphore, RateLimits};
use crate::mcp as mcp_endpoint;
use crate::router::router;
use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use spexus_domain::{Refusal, network};
use spexus_mcp::{Mcp, McpOptions};
use spexus_service::{Origin, Service, audit};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Serves until `shutdown` is done, then answers what was accepted and returns.
pub async fn serve(
    listener: TcpListener,
    service: Service,
    options: HttpOptions,
    mcp_options: McpOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let mcp = mcp(&service, &options, mcp_options)?;
    serve_with(listener, service, mcp, options, Router::new(), shutdown).await
}

/// The MCP server that [`serve_with`] mounts, for those who add to it first.
pub fn mcp(service: &Service, http: &HttpOptions, options: McpOptions) -> std::io::Result<Mcp> {
    Mcp::new(service, behind_http(options, http)).map_err(unready)
}

fn unready(refusal: Refusal) -> std::io::Error {
    std::io::Error::other(refusal.message)
}

/// Serves like [`serve`], with an MCP server that was made before and with pages for people.
pub async fn serve_with(
    listener: TcpListener,
    service: Service,
    mcp: Mcp,
    options: HttpOptions,
    pages: Router<App>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let (stop, stopping) = watch::channel(false);
    let options = Arc::new(options);
    let limits = Arc::new(RateLimits::new(
        options.max_requests_per_minute,
        options.max_user_requests_per_minute,
        options.max_anonymous_requests_per_minute,
    ));
    mcp.restore().await.map_err(unready)?;
    let app = App::new(Surface {
        service: service.clone(),
        streams: OwnerSemaphore::new(options.max_streams_per_user),
        hosts: OwnHosts::new(&options.public_hosts, &options.cors_origins),
        readiness: Readiness::default(),
        mcp_service: mcp_endpoint::service(&mcp, options.request_timeout_ms),
        mcp: mcp.clone(),
        options: options.clone(),
        limits,
        running: Arc::default(),
        stopping,
    });
    let router = router(app, pages);
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(options.max_connections));
    let addresses = OwnerSemaphore::new(options.max_connections_per_address);
    tokio::pin!(shutdown);
    loop {
        let accepted = async {
            // Without a free permit nobody is accepted: the kernel's queue holds them, and then refuses.
            let permit = permits.clone().acquire_owned().await.ok()?;
            Some((listener.accept().await, permit))
        };
        tokio::select! {
            Some((accepted, permit)) = accepted => match accepted {
                Ok((stream, peer)) => match addresses.of_peer(peer, &options) {
                    Ok(own) => Connection {
                        stream,
                        peer,
                        permits: (permit, own),
                        router: router.clone(),
                        options: options.clone(),
                        watcher: graceful.watcher(),
                    }
                    .spawn(),
                    Err(refusal) => turn_away(&service, peer, &refusal),
                },
                // Out of file handles and the like: give the rest of the system time to recover.
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            () = &mut shutdown => break,
        }
    }
    drop(listener);
    // The server stops only once; nobody may be listening.
    let _ = stop.send(true);
    //= specs/spexus-http.md#stopping
    //# A server that is told to stop MUST answer every request it accepted before it ends.
    let drained = tokio::time::timeout(Duration::from_millis(options.drain_timeout_ms), async {
        // Streams of MCP wait for news; they end when their server does.
        tokio::join!(mcp.server().drain(), graceful.shutdown());
    })
    .await;
    //= specs/spexus-http.md#stopping
    //# A server that is told to stop SHOULD end after the drain limit, whatever its clients do.
    if drained.is_err() {
        tracing::warn!(
            drain_timeout_ms = options.drain_timeout_ms,
            "some requests did not finish in time"
        );
    }
    Ok(())
}

/// The MCP server answers what takes too long itself, in its own protocol, just before the middleware would.
fn behind_http(options: McpOptions, http: &HttpOptions) -> McpOptions {
    McpOptions {
        serve_timeout_ms: options.serve_timeout_ms.min(http.request_timeout_ms / 10 * 9),
        drain_timeout_ms: options.drain_timeout_ms.min(http.drain_timeout_ms),
        ..options
    }
}

impl OwnerSemaphore<IpAddr> {
    //= specs/spexus-http.md#limits
    //# A connection beyond the number one address may have open MUST be closed at once; trusted proxies have no such number.
    /// A connection of a peer, unless it has the most already.
    fn of_peer(
        &self,
        peer: SocketAddr,
        options: &HttpOptions,
    ) -> Result<Option<OwnerPermit<IpAddr>>, Refusal> {
        if options.trusted_proxies.contains(peer.ip()) {
            return Ok(None);
        }
        let permit = self.acquire(network::network(peer.ip()));
        permit.map(Some).ok_or_else(|| self.refusal("connections"))
    }
}

/// Notes a connection that is closed unheard.
fn turn_away(service: &Service, peer: SocketAddr, refusal: &Refusal) {
    let origin = Origin {
        address: peer.ip().to_canonical().to_string(),
        client: String::new(),
    };
    metrics::counter!("spexus_connections_refused_total").increment(1);
    audit::note_turned_away(service, &origin, refusal);
}
