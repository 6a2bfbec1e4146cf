//! HTTPS in the server itself: the same answers over every version of HTTP, certificates that change, peers that dawdle.

use crate::harness::{Server, both};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use spexus_http::{HttpOptions, McpOptions, Tls};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

type Bytes = bytes::Bytes;

/// A certificate of its own authority, and its key.
struct Made {
    cert: String,
    key: String,
}

impl Made {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        Self {
            cert: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
        }
    }

    fn tls(&self) -> Tls {
        Tls::new(self.cert.as_bytes(), self.key.as_bytes()).unwrap()
    }

    /// A connection that trusts this certificate and nothing else.
    async fn connect(&self, address: SocketAddr, protocol: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.cert.as_bytes()).unwrap())
            .unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TcpStream::connect(address).await?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }
}

/// A second node that speaks HTTPS, on the database of the first, which speaks in clear.
struct Secure {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    done: JoinHandle<std::io::Result<()>>,
}

impl Secure {
    async fn beside(server: &Server, options: HttpOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = spexus_http::serve(
            listener,
            server.service.clone(),
            options,
            McpOptions::default(),
            async {
                let _ = stopped.await;
            },
        );
        let done = tokio::spawn(serving);
        Self { address, stop, done }
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        self.done.await.unwrap().unwrap();
    }
}

fn serving(tls: Tls) -> HttpOptions {
    HttpOptions {
        tls: Some(tls),
        max_anonymous_requests_per_minute: 10_000,
        ..HttpOptions::default()
    }
}

/// What a request says: method, path, token, body.
type Asked<'a> = (&'a str, &'a str, &'a str, &'a str);

fn request((method, path, token, body): Asked<'_>, origin: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("{origin}{path}"))
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::HOST, "localhost")
        .body(Full::new(Bytes::from(body.to_owned())))
        .unwrap()
}

/// Over HTTP/2, which names the host in its address alone.
fn request_of_http2(asked: Asked<'_>) -> Request<Full<Bytes>> {
    let mut request = request(asked, "https://localhost");
    request.headers_mut().remove(header::HOST);
    request
}

async fn over_http1<S>(stream: S, asked: Asked<'_>) -> Response<hyper::body::Incoming>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request(asked, "")).await.unwrap()
}

async fn over_http2(stream: TlsStream<TcpStream>, asked: Asked<'_>) -> Response<hyper::body::Incoming> {
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request_of_http2(asked)).await.unwrap()
}

/// What has to be alike: the status, what the headers say, the body without what is new each time.
async fn told(response: Response<hyper::body::Incoming>) -> (StatusCode, BTreeMap<String, String>, String) {
    let status = response.status();
    // The connection is not what is asked about, and times and counts go on from one request to the next.
    let own = ["connection", "date", "x-request-id", "strict-transport-security"];
    let headers = response.headers().iter().filter(|(name, _)| {
        !own.contains(&name.as_str())
            && !name.as_str().starts_with("x-ratelimit")
            && !name.as_str().starts_with("ratelimit")
    });
    let headers = headers
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    let body = match serde_json::from_str::<serde_json::Value>(&body) {
        Ok(mut value) => {
            if let Some(error) = value.get_mut("error").and_then(|error| error.as_object_mut()) {
                error.remove("request_id");
                error.remove("correlation_id");
            }
            value.to_string()
        }
        Err(_) => body,
    };
    (status, headers, body)
}

both![a_request_is_answered_alike_over_every_version];

//= specs/spexus-http.md#https
//= type=test
//# A request MUST be answered alike over HTTP/1.1, over HTTP/2, and with or without TLS.
async fn a_request_is_answered_alike_over_every_version(server: &Server) {
    server
        .post("/api/v1/epics", json!({"title": "Sign in"}))
        .await
        .created();
    let made = Made::new();
    let secure = Secure::beside(server, serving(made.tls())).await;
    let plain: SocketAddr = server.url.trim_start_matches("http://").parse().unwrap();
    let token = server.token.as_str();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for asked in [
        ("GET", "/api/v1/epics/EP-001", token, ""),
        ("GET", "/api/v1/epics", token, ""),
        ("GET", "/api/v1/epics/EP-404", token, ""),
        ("GET", "/api/v1/epics", "mcp_pat_wrong", ""),
        ("POST", "/api/v1/epics", token, r#"{"title": ""}"#),
        ("POST", "/api/v1/epics", token, "{"),
        ("POST", "/api/v1/mcp", token, hello),
        ("GET", "/nowhere", token, ""),
        ("GET", "/health/live", "", ""),
    ] {
        let expected = told(over_http1(TcpStream::connect(plain).await.unwrap(), asked).await).await;
        let stream = made.connect(secure.address, b"http/1.1").await.unwrap();
        assert_eq!(
            told(over_http1(stream, asked).await).await,
            expected,
            "{asked:?} over HTTP/1.1"
        );
        let stream = made.connect(secure.address, b"h2").await.unwrap();
        assert_eq!(
            told(over_http2(stream, asked).await).await,
            expected,
            "{asked:?} over HTTP/2"
        );
    }
    secure.stop().await;
}

//= specs/spexus-http.md#https
//= type=test
//# A certificate that is replaced MUST be shown to every connection that begins afterwards; those under way MUST go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_replaced_under_connections() {
    let server = Server::on_sqlite().await;
    let (first, second) = (Made::new(), Made::new());
    let tls = first.tls();
    let secure = Secure::beside(&server, serving(tls.clone())).await;
    let stream = first.connect(secure.address, b"h2").await.unwrap();
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut under_way, connection) = handshake.await.unwrap();
    tokio::spawn(connection);

    tls.replace(second.cert.as_bytes(), second.key.as_bytes())
        .unwrap();
    assert!(
        first.connect(secure.address, b"h2").await.is_err(),
        "no longer shown"
    );
    assert!(second.connect(secure.address, b"h2").await.is_ok());
    let asked = ("GET", "/api/v1/epics", server.token.as_str(), "");
    let answer = under_way.send_request(request_of_http2(asked)).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    secure.stop().await;
    server.stop().await;
}

//= specs/spexus-http.md#https
//= type=test
//# A peer that does not agree on TLS within the read timeout MUST be let go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_never_says_hello_is_let_go() {
    let server = Server::on_sqlite().await;
    let made = Made::new();
    let options = HttpOptions {
        read_timeout_ms: 100,
        max_connections: 1,
        ..serving(made.tls())
    };
    let secure = Secure::beside(&server, options).await;
    let mut silent = TcpStream::connect(secure.address).await.unwrap();
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap(), 0, "closed");
    // Its place is free again, and who speaks in clear is no better off.
    let mut clear = TcpStream::connect(secure.address).await.unwrap();
    clear
        .write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = clear.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    assert!(made.connect(secure.address, b"h2").await.is_ok());
    secure.stop().await;
    server.stop().await;
}

//= specs/spexus-http.md#https
//= type=test
//# An HTTP/2 connection MUST be told how many requests it may run at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_told_how_many_requests_it_may_run() {
    let server = Server::on_sqlite().await;
    let made = Made::new();
    let options = HttpOptions {
        max_requests_per_connection: 7,
        ..serving(made.tls())
    };
    let secure = Secure::beside(&server, options).await;
    let mut stream = made.connect(secure.address, b"h2").await.unwrap();
    // The preface, and settings of which there are none (RFC 9113, 3.4 and 6.5).
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 4, "settings come first");
    let mut settings = vec![0; usize::from(head[2])];
    stream.read_exact(&mut settings).await.unwrap();
    let at_once = settings
        .chunks(6)
        .find(|setting| setting[..2] == [0, 3])
        .map(|setting| u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]));
    assert_eq!(at_once, Some(7));
    drop(stream);
    secure.stop().await;
    server.stop().await;
}
