//! HTTPS in the server itself: a certificate and its key, which can be replaced while connections are served.
//!
//! Where the files are and when they are read again is the binary's business; here they are bytes.

use arc_swap::ArcSwap;
use std::fmt;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// What the protocols above TLS are called while it is agreed on, the better one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The certificate connections are served with. A clone is another handle to the same one.
#[derive(Clone)]
pub struct Tls(Arc<ArcSwap<ServerConfig>>);

//= specs/spexus-http.md#https
//# A certificate or key that cannot be used MUST be refused in a sentence that says which of the two it is.
/// Why a certificate and a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// It is with the certificate.
    Certificate(String),
    /// It is with the key.
    Key(String),
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(problem) | Self::Key(problem) => f.write_str(problem),
        }
    }
}

impl Tls {
    /// Of a chain of certificates, the server's own first, and the key of that one, both in PEM.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, TlsFault> {
        Ok(Self(Arc::new(ArcSwap::from_pointee(config(certificates, key)?))))
    }

    //= specs/spexus-http.md#https
    //# A certificate that is replaced MUST be shown to every connection that begins afterwards; those under way MUST go on.
    /// Serves with another certificate from now on. What cannot be used changes nothing.
    pub fn replace(&self, certificates: &[u8], key: &[u8]) -> Result<(), TlsFault> {
        self.0.store(Arc::new(config(certificates, key)?));
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.load_full())
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

fn config(certificates: &[u8], key: &[u8]) -> Result<ServerConfig, TlsFault> {
    let chain = chain(certificates)?;
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|_| TlsFault::Key("the file holds no private key in PEM".into()))?;
    let provider = Arc::new(ring::default_provider());
    let made = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = made.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            TlsFault::Key("the key is not that of the first certificate".into())
        }
        rustls::Error::InvalidCertificate(_) => {
            TlsFault::Certificate("the first certificate cannot be read".into())
        }
        other => TlsFault::Key(format!("the key cannot be used: {other}")),
    })?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

fn chain(certificates: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
    match read {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        _ => Err(TlsFault::Certificate(
            "the file holds no certificate in PEM".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    fn fault(certificate: &str, key: &str) -> TlsFault {
        Tls::new(certificate.as_bytes(), key.as_bytes()).unwrap_err()
    }

    //= specs/spexus-http.md#https
    //= type=test
    //# A certificate or key that cannot be used MUST be refused in a sentence that says which of the two it is.
    #[test]
    fn what_cannot_be_used_is_told_apart() {
        let ((certificate, key), (_, other)) = (made(), made());
        assert!(Tls::new(certificate.as_bytes(), key.as_bytes()).is_ok());
        let of_certificate = |fault: TlsFault| matches!(fault, TlsFault::Certificate(_));
        assert!(of_certificate(fault("", &key)));
        assert!(of_certificate(fault(&key, &key)), "a key is no certificate");
        let broken = certificate.replace("MII", "AAA");
        assert!(of_certificate(fault(&broken, &key)));
        assert!(matches!(fault(&certificate, ""), TlsFault::Key(_)));
        assert!(matches!(fault(&certificate, &certificate), TlsFault::Key(_)));
        let foreign = fault(&certificate, &other);
        assert!(foreign.to_string().contains("not that of the first"), "{foreign}");
    }

    #[test]
    fn a_bad_replacement_changes_nothing() {
        let (certificate, key) = made();
        let tls = Tls::new(certificate.as_bytes(), key.as_bytes()).unwrap();
        let before = tls.0.load_full();
        assert!(tls.replace(b"", b"").is_err());
        assert!(Arc::ptr_eq(&before, &tls.0.load_full()));
    }
}
