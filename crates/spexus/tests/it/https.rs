//! `spexus serve` with a certificate: over real sockets, with files that are wrong, and with files that change.

use crate::serving::Server;
use crate::world::World;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use test_support::eventually_blocking;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// A certificate and its key in files of a home.
struct Files {
    cert: String,
    key: String,
    pem: String,
}

impl Files {
    fn write(world: &World) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let pem = made.cert.pem();
        Self {
            cert: world.file("cert.pem", &pem),
            key: world.file("key.pem", &made.signing_key.serialize_pem()),
            pem,
        }
    }

    /// What the server answers to whoever trusts this certificate alone.
    fn get(&self, address: &str, path: &str) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap())
            .unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
        let mut stream = StreamOwned::new(connection, TcpStream::connect(address)?);
        stream.sock.set_read_timeout(Some(Duration::from_secs(20)))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        match stream.read_to_string(&mut answer) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(answer),
        }
    }
}

//= specs/spexus.md#serving
//= type=test
//# With a certificate and its key the server MUST speak HTTPS, and its cookies and answers MUST ask browsers to stay with it.
//= specs/spexus.md#serving
//= type=test
//# A certificate that was replaced MUST be served without a restart; one that cannot be used MUST be logged and leave the former one.
#[test]
fn a_certificate_is_served_and_followed() {
    let world = World::new();
    let first = Files::write(&world);
    let listen = [
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--tls-cert",
        &first.cert,
        "--tls-key",
        &first.key,
    ];
    let server = Server::start(world.command(&listen));
    assert!(
        server.printed.contains("Spexus serves https://127.0.0.1:"),
        "{}",
        server.printed
    );
    let address = server.address().to_owned();
    let answer = first.get(&address, "/health/live").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.to_lowercase().contains("strict-transport-security"),
        "{answer}"
    );

    let second = Files::write(&world);
    eventually_blocking("the new certificate is served", || {
        second.get(&address, "/health/live").is_ok()
    });
    assert!(first.get(&address, "/health/live").is_err());
    let (code, log) = server.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("travel in clear"), "{log}");
}

//= specs/spexus.md#serving
//= type=test
//# A certificate or key that cannot be read or used MUST end the program with exit code 78 before anything is served.
#[test]
fn what_is_wrong_with_a_certificate_is_said_before_anything_is_made() {
    let world = World::empty();
    let made = Files::write(&world);
    let absent = world.path("absent.pem").display().to_string();
    let folder = world.path("").display().to_string();
    let wrong = world.file(
        "wrong.pem",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    for (cert, key, named) in [
        (absent.as_str(), made.key.as_str(), "tls.cert"),
        (&made.cert, &absent, "tls.key"),
        (&made.cert, "", "tls.key"),
        ("", &made.key, "tls.cert"),
        (&folder, &made.key, "tls.cert"),
        (&made.key, &made.key, "tls.cert"),
        (&wrong, &made.key, "tls.cert"),
        (&made.cert, &made.cert, "tls.key"),
    ] {
        let answer = world.run(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            cert,
            "--tls-key",
            key,
        ]);
        assert_eq!(answer.code, 78, "{cert} {key}: {answer:?}");
        assert!(answer.err.contains(named), "{cert} {key}: {answer:?}");
    }
    assert!(!world.path("test.db").exists(), "nothing was made");
}
