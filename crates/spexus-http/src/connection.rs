//! One connection, from the first byte to the last: in clear or behind TLS, HTTP/1.1 or, where TLS agreed on it, HTTP/2.

use crate::HttpOptions;
use crate::limits::OwnerPermit;
use crate::sender::Sender;
use crate::write_timeout::WriteTimeout;
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tower::ServiceExt;
use tower::util::Oneshot;

/// How often a connection of HTTP/2 that says nothing is asked whether it is still there.
const ASK_AGAIN: Duration = Duration::from_secs(20);

/// What a connection holds while it is open: one of all, and one of its address.
pub(crate) type Permits = (OwnedSemaphorePermit, Option<OwnerPermit<IpAddr>>);

/// A connection that was accepted.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) permits: Permits,
    pub(crate) router: Router,
    pub(crate) options: Arc<HttpOptions>,
    pub(crate) watcher: Watcher,
}

impl Connection {
    /// Serves it in a task of its own.
    pub(crate) fn spawn(self) {
        tokio::spawn(async move {
            // A peer that breaks off is its own business.
            if let Err(error) = self.serve().await {
                tracing::debug!(error, "a connection ended early");
            }
        });
    }

    async fn serve(self) -> Result<(), String> {
        // Answers are small; waiting to fill a packet only delays them.
        if let Err(error) = self.stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
        let local = self.stream.local_addr().unwrap_or(self.peer);
        let requests = Requests {
            peer: self.peer,
            local,
            router: self.router,
            options: self.options.clone(),
        };
        let limit = Duration::from_millis(self.options.write_timeout_ms);
        let stream = WriteTimeout::new(self.stream, limit);
        // Given back when the connection has ended, however that was.
        let _permits = self.permits;
        let Some(tls) = &self.options.tls else {
            return http1(stream, requests, self.watcher).await;
        };
        //= specs/spexus-http.md#https
        //# A peer that does not agree on TLS within the read timeout MUST be let go.
        let limit = Duration::from_millis(self.options.read_timeout_ms);
        let agreed = tokio::time::timeout(limit, tls.acceptor().accept(stream)).await;
        let stream = agreed
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|error| error.to_string())?;
        match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => http2(stream, requests, self.watcher).await,
            _ => http1(stream, requests, self.watcher).await,
        }
    }
}

async fn http1<S>(stream: S, requests: Requests, watcher: Watcher) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let options = requests.options.clone();
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(options.read_timeout_ms))
        //= specs/spexus-http.md#limits
        //# A head larger than the limit MUST be answered 431.
        .max_buf_size(options.max_header_bytes.max(8_192))
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| requests.answer(request)),
        );
    let ended = watcher.watch(connection).await;
    ended.map_err(|error| error.to_string())
}

async fn http2<S>(stream: S, requests: Requests, watcher: Watcher) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let options = requests.options.clone();
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(ASK_AGAIN)
        .keep_alive_timeout(Duration::from_millis(options.write_timeout_ms))
        //= specs/spexus-http.md#https
        //# An HTTP/2 connection MUST be told how many requests it may run at once.
        .max_concurrent_streams(options.max_requests_per_connection)
        .max_header_list_size(u32::try_from(options.max_header_bytes).unwrap_or(u32::MAX))
        .serve_connection(
            TokioIo::new(stream),
            service_fn(move |request| requests.answer(request)),
        );
    let ended = watcher.watch(connection).await;
    ended.map_err(|error| error.to_string())
}

/// What the requests of one connection have in common.
struct Requests {
    peer: SocketAddr,
    local: SocketAddr,
    router: Router,
    options: Arc<HttpOptions>,
}

impl Requests {
    //= specs/spexus-http.md#https
    //# A request MUST be answered alike over HTTP/1.1, over HTTP/2, and with or without TLS.
    fn answer(&self, request: Request<Incoming>) -> Oneshot<Router, Request> {
        let mut request = request.map(Body::new);
        name_host(&mut request);
        let proxies = &self.options.trusted_proxies;
        let sender = Sender::new(self.peer, self.local, request.headers(), proxies);
        request.extensions_mut().insert(sender);
        self.router.clone().oneshot(request)
    }
}

/// HTTP/2 names the host beside the headers; everybody above looks for it among them.
fn name_host(request: &mut Request) {
    if request.version() != Version::HTTP_2 || request.headers().contains_key(header::HOST) {
        return;
    }
    let host = request
        .uri()
        .authority()
        .map(|host| HeaderValue::from_str(host.as_str()));
    if let Some(Ok(host)) = host {
        request.headers_mut().insert(header::HOST, host);
    }
}
