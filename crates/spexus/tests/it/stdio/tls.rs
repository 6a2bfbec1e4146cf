//! A backend behind TLS, as it stands on the internet: the bridge checks who it talks to.

use super::host::{Backend, Host, bare};
use crate::world::World;
use serde_json::json;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// Takes TLS off and passes the rest on to a port of this machine; its own port, and its certificate.
struct Terminator {
    port: u16,
    certificate: String,
    _runtime: tokio::runtime::Runtime,
}

impl Terminator {
    fn before(backend: u16) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(
            tokio_rustls::rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let mut outside = acceptor.accept(stream).await?;
                    let mut inside = TcpStream::connect(("127.0.0.1", backend)).await?;
                    tokio::io::copy_bidirectional(&mut outside, &mut inside).await
                });
            }
        });
        Self {
            port,
            certificate: made.cert.pem(),
            _runtime: runtime,
        }
    }
}

//= specs/spexus-bridge.md#calling-the-backend
//= type=test
//# A backend at an `https` address MUST show a certificate the machine trusts, or nothing is sent to it.
#[test]
fn a_backend_behind_tls_is_spoken_to_when_it_is_trusted() {
    let world = World::new();
    let backend = Backend::start(&world);
    let terminator = Terminator::before(backend.port);
    let bridge = |trusted: &str| {
        let mut command = bare(&world);
        command
            .env(
                "BACKEND_API_URL",
                format!("https://localhost:{}", terminator.port),
            )
            .env("MCP_PAT_TOKEN", &backend.token)
            .env("MCP_MAX_RETRIES", "0")
            .env("SSL_CERT_FILE", trusted);
        Host::start(command)
    };
    let own = world.file("own.pem", &terminator.certificate);
    let mut host = bridge(&own);
    host.greet("2025-11-25");
    let made = host.tool("create_epic", json!({ "title": "Over TLS" }));
    assert!(made["result"].is_object(), "{made}");
    assert_eq!(world.json(&["item", "get", "EP-001"])["title"], "Over TLS");
    assert_eq!(host.end().code, Some(0));

    let other = Terminator::before(backend.port);
    let foreign = world.file("foreign.pem", &other.certificate);
    let mut host = bridge(&foreign);
    let refused = host.call(
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test host", "version": "1" } }),
    );
    let refused = match refused.get("error") {
        Some(_) => refused,
        // The bridge greets by itself when it must; the first call tells.
        None => host.tool("create_epic", json!({ "title": "To a stranger" })),
    };
    assert_eq!(refused["error"]["code"], 1080, "{refused}");
    let ended = host.end();
    assert!(ended.log.contains("certificate"), "{}", ended.log);
    assert!(!ended.log.contains(&backend.token), "{}", ended.log);
    assert_eq!(world.run(&["item", "get", "EP-002"]).code, 4);
}
