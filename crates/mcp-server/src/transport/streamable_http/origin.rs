//! Who may talk to this server at all: by the host a request names and the page it comes from.

use http::request::Parts;
use http::{HeaderMap, header};
use refusal::{Code, Refusal};

use super::HttpSettings;

/// Refuses a request that names a foreign host or comes from a foreign page.
//= specs/mcp-server.md#http-transport
//# A request whose `Host` or `Origin` is not allowed MUST be refused with status 403.
pub(super) fn check(parts: &Parts, settings: &HttpSettings) -> Result<(), Refusal> {
    let Some(allowed) = &settings.allowed_hosts else {
        return Ok(());
    };
    let host = text(&parts.headers, header::HOST).or_else(|| parts.uri.authority().map(|a| a.as_str()));
    if !host.is_some_and(|host| is_allowed(host, allowed)) {
        return Err(forbidden("host", host.unwrap_or("none")));
    }
    match text(&parts.headers, header::ORIGIN) {
        None => Ok(()),
        Some(origin)
            if settings
                .allowed_origins
                .iter()
                .any(|own| own.eq_ignore_ascii_case(origin)) =>
        {
            Ok(())
        }
        Some(origin) => match origin.split_once("://") {
            Some(("http" | "https", host)) if is_allowed(host, allowed) => Ok(()),
            _ => Err(forbidden("origin", origin)),
        },
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// An allowed host without a port allows all ports.
fn is_allowed(host: &str, allowed: &[String]) -> bool {
    let name = match host.rfind(':') {
        Some(at) if host[at + 1..].bytes().all(|b| b.is_ascii_digit()) && !host[..at].is_empty() => {
            &host[..at]
        }
        _ => host,
    };
    allowed
        .iter()
        .any(|own| own.eq_ignore_ascii_case(host) || own.eq_ignore_ascii_case(name))
}

fn forbidden(what: &str, value: &str) -> Refusal {
    Refusal::new(
        Code::AuthzForbidden,
        format!("requests from the {what} {value:?} are not served"),
    )
    .hint("Use an allowed host, or add this one to the server's settings.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(host: &str, origin: Option<&str>) -> bool {
        let mut request = http::Request::builder().uri("/mcp").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        check(
            &request.body(()).unwrap().into_parts().0,
            &HttpSettings::default(),
        )
        .is_ok()
    }

    #[test]
    fn only_local_names_are_served_by_default() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:9"] {
            assert!(verdict(host, None), "{host}");
            assert!(verdict(host, Some(&format!("http://{host}"))), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:80",
            "",
            ":80",
            "[::2]",
        ] {
            assert!(!verdict(host, None), "{host}");
            assert!(!verdict("localhost", Some(&format!("http://{host}"))), "{host}");
        }
        assert!(!verdict("localhost", Some("null")));
        assert!(!verdict("localhost", Some("file://localhost")));
    }
}
