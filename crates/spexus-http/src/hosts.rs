//! Which names this server is reached by. A page of another site that points a name of its own at this machine (DNS
//! rebinding) is told apart by the name its requests carry.

use crate::sender::Sender;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use spexus_domain::{Code, Refusal, Ruled, text};
use std::net::IpAddr;

/// The names of this very machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The names this server is reached by.
pub(crate) struct OwnHosts {
    names: Vec<String>,
    /// Origins of other sites whose pages the operator lets in.
    pages: Vec<String>,
}

impl OwnHosts {
    /// The names the operator gave, and those of this machine.
    pub(crate) fn new(public: &[String], pages: &[String]) -> Self {
        let own = LOOPBACK.iter().map(|name| (*name).to_owned());
        Self {
            names: own.chain(public.iter().map(|name| name.to_lowercase())).collect(),
            pages: pages.to_vec(),
        }
    }

    //= specs/spexus-mcp.md#endpoint
    //# A request whose `Host` or `Origin` is neither an address of this server nor one of its names MUST be answered 403, before its token is looked at.
    /// Refuses a request that names a foreign host or comes from a page of one.
    pub(crate) fn check(&self, parts: &Parts) -> Ruled<()> {
        let local = parts.extensions.get::<Sender>().map(|sender| sender.local);
        let host =
            value(&parts.headers, header::HOST).or_else(|| parts.uri.authority().map(|at| at.as_str()));
        if !host.is_some_and(|host| self.is_own(host, local)) {
            return Err(foreign("host", host.unwrap_or_default()));
        }
        let Some(origin) = parts.headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or_default();
        if self.pages.iter().any(|page| page == origin) {
            return Ok(());
        }
        match origin.split_once("://") {
            Some(("http" | "https", host)) if self.is_own(host, local) => Ok(()),
            _ => Err(foreign("origin", origin)),
        }
    }

    fn is_own(&self, host: &str, local: Option<IpAddr>) -> bool {
        let name = without_port(host).to_lowercase();
        // A page whose address is a bare number was loaded from that machine: nobody can point a number elsewhere.
        let reached = name.parse::<IpAddr>().ok().map(|address| address.to_canonical());
        self.names.contains(&name) || (reached.is_some() && reached == local)
    }
}

/// The name in a host, without brackets and without its port.
fn without_port(host: &str) -> &str {
    if let Some((inside, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return inside;
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.contains(':') => name,
        _ => host,
    }
}

fn value(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn foreign(what: &str, given: &str) -> Refusal {
    let message = format!(
        "requests with the {what} {:?} are not served",
        text::excerpt(given, 100)
    );
    Refusal::new(Code::AuthzForbidden, message)
        .hint("Use a name of this server; its operator adds names with the setting http.public_hosts.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn verdict(host: &str, origin: Option<&str>) -> bool {
        let hosts = OwnHosts::new(
            &["Spexus.example.org".to_owned()],
            &["https://app.example.org".to_owned()],
        );
        let mut request = Request::builder().uri("/mcp").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let sockets = ["192.0.2.9:4711", "192.0.2.1:8080"].map(|text| text.parse().unwrap());
        parts.extensions.insert(Sender::new(
            sockets[0],
            sockets[1],
            &parts.headers,
            &crate::TrustedProxies::default(),
        ));
        hosts.check(&parts).is_ok()
    }

    #[test]
    fn only_own_names_and_the_address_connected_to_are_served() {
        let own = [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:9",
            "spexus.example.org",
            "SPEXUS.example.org:443",
            "192.0.2.1:8080",
            "[::ffff:192.0.2.1]:8080",
        ];
        for host in own {
            assert!(verdict(host, None), "{host}");
            assert!(verdict(host, Some(&format!("https://{host}"))), "{host}");
        }
        let foreign = [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "",
            ":80",
            "[::2]",
            "192.0.2.2",
            "evilspexus.example.org",
            "x@localhost",
        ];
        for host in foreign {
            assert!(!verdict(host, None), "{host}");
            assert!(!verdict("localhost", Some(&format!("http://{host}"))), "{host}");
        }
        assert!(verdict("localhost", Some("https://app.example.org")));
        assert!(!verdict("localhost", Some("http://app.example.org")) && !verdict("app.example.org", None));
        assert!(!verdict("localhost", Some("null")) && !verdict("localhost", Some("file://localhost")));
        assert!(!verdict("localhost", Some("")) && !verdict("localhost", Some("localhost")));
    }
}
