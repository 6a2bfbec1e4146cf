//! The certificate a server is reached by: its two files, read when the server starts and again when they change.
//!
//! Whoever renews a certificate replaces two files one after the other, or the folder they are linked from. So the files are
//! looked at every few seconds instead of being watched, and a pair that does not fit yet leaves what is served as it is.

use crate::config::{TlsFiles, refused};
use crate::failure::{Failure, Outcome};
use spexus_http::{Tls, TlsFault};
use std::io;
use std::time::Duration;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The largest file that is read: a chain of certificates has a few thousand bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A certificate that is served, and where it came from.
pub(crate) struct Certificate {
    pub(crate) tls: Tls,
    files: TlsFiles,
    read: Pair,
}

/// What the two files held.
#[derive(PartialEq, Eq)]
struct Pair {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Certificate {
    /// The one the settings name; `None` where they name none.
    pub(crate) fn of(files: &TlsFiles) -> Outcome<Option<Self>> {
        match (files.cert.is_empty(), files.key.is_empty()) {
            (true, true) => return Ok(None),
            (false, true) => return Err(fault("tls.key", "a certificate is named and no key".into())),
            (true, false) => return Err(fault("tls.cert", "a key is named and no certificate".into())),
            (false, false) => {}
        }
        let read = Pair {
            cert: file(&files.cert).map_err(|error| unreadable("tls.cert", &files.cert, &error))?,
            key: file(&files.key).map_err(|error| unreadable("tls.key", &files.key, &error))?,
        };
        let tls = Tls::new(&read.cert, &read.key).map_err(|found| match found {
            TlsFault::Certificate(problem) => fault("tls.cert", problem),
            TlsFault::Key(problem) => fault("tls.key", problem),
        })?;
        let files = files.clone();
        Ok(Some(Self { tls, files, read }))
    }

    /// Follows the files for as long as the server runs.
    pub(crate) async fn follow(mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if self.look() {
                tracing::info!("the new certificate is served");
            }
        }
    }

    //= specs/spexus.md#serving
    //# A certificate that was replaced MUST be served without a restart; one that cannot be used MUST be logged and leave the former one.
    /// Whether another certificate is served from now on.
    fn look(&mut self) -> bool {
        let read = match (file(&self.files.cert), file(&self.files.key)) {
            (Ok(cert), Ok(key)) => Pair { cert, key },
            // Between two files of a renewal there may be none for a moment.
            (Err(error), _) | (_, Err(error)) => {
                tracing::debug!(%error, "the files of the certificate cannot be read at present");
                return false;
            }
        };
        if read == self.read {
            return false;
        }
        let replaced = self.tls.replace(&read.cert, &read.key);
        self.read = read;
        if let Err(problem) = &replaced {
            tracing::warn!(%problem, "the new certificate cannot be used; the former one is still served");
        }
        replaced.is_ok()
    }
}

fn file(path: &str) -> io::Result<Vec<u8>> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_FILE_BYTES {
        let problem = format!("{size} bytes are more than a certificate has");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    std::fs::read(path)
}

//= specs/spexus.md#serving
//# A certificate or key that cannot be read or used MUST end the program with exit code 78 before anything is served.
fn unreadable(name: &str, path: &str, error: &io::Error) -> Failure {
    fault(name, format!("{path:?} cannot be read: {error}"))
}

fn fault(name: &str, problem: String) -> Failure {
    let allowed = "`--tls-cert FILE` and `--tls-key FILE`, both in PEM and made for each other";
    Failure::configuration(refused(name, problem, allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(folder: &Path, cert: &str, key: &str) {
        std::fs::write(folder.join("cert.pem"), cert).unwrap();
        std::fs::write(folder.join("key.pem"), key).unwrap();
    }

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    //= specs/spexus.md#serving
    //= type=test
    //# A certificate that was replaced MUST be served without a restart; one that cannot be used MUST be logged and leave the former one.
    #[test]
    fn a_renewal_that_is_half_done_leaves_the_former_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let (first, second) = (made(), made());
        write(folder.path(), &first.0, &first.1);
        let files = TlsFiles {
            cert: at("cert.pem"),
            key: at("key.pem"),
        };
        let mut certificate = Certificate::of(&files).unwrap().unwrap();
        let mut changes = |cert: &str, key: &str| {
            write(folder.path(), cert, key);
            certificate.look()
        };
        assert!(!changes(&first.0, &first.1), "the same again");
        assert!(!changes(&second.0, &first.1), "the key is yet to come");
        assert!(!changes("", ""), "written anew at this moment");
        assert!(changes(&second.0, &second.1));
        std::fs::remove_file(folder.path().join("key.pem")).unwrap();
        assert!(!certificate.look(), "gone for a moment");
        write(folder.path(), &first.0, &first.1);
        assert!(certificate.look(), "back again");
    }
}
