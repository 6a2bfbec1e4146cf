//! Pages of other sites that the operator lets in: which origins may call REST and MCP from a browser. Cookies are never among what they
//! may send; a page has to bring a token.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// What pages may ask with.
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
/// Headers that pages may send.
const SENT: &str = "authorization, content-type, accept, if-match, if-none-match, idempotency-key, last-event-id, mcp-session-id, \
                    mcp-protocol-version, mcp-method, mcp-name, x-request-id, x-spexus-toolsets, x-spexus-read-only, x-spexus-content";
/// Headers of answers that pages may read.
const READ: &str =
    "mcp-session-id, mcp-protocol-version, etag, location, retry-after, www-authenticate, x-request-id";
/// How long a browser remembers what it may do, in seconds.
const REMEMBERED: &str = "600";

/// The origin of a request, where the operator named it and it asks for REST or MCP.
//= specs/spexus-http.md#pages-of-other-sites
//# A page MUST be let in only where its origin is one that the operator named, and MUST NOT be let in with a cookie.
pub(crate) fn admitted(request: &Request, origins: &[String]) -> Option<HeaderValue> {
    let path = request.uri().path();
    let is_ours = path.starts_with("/api/") || path == "/mcp";
    let origin = request.headers().get(header::ORIGIN)?;
    let named = origins.iter().any(|known| known.as_bytes() == origin.as_bytes());
    (is_ours && named).then(|| origin.clone())
}

/// The answer to a browser that asks what a page may do, where that is what it asks.
pub(crate) fn preflight(request: &Request) -> Option<Response> {
    let asks = request
        .headers()
        .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    (request.method() == Method::OPTIONS && asks).then(|| {
        let told = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
            (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
        ];
        (StatusCode::NO_CONTENT, told).into_response()
    })
}

/// Lets the page read the answer.
pub(crate) fn open(headers: &mut HeaderMap, origin: HeaderValue) {
    let set = |headers: &mut HeaderMap, name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    set(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

/// Whether a text is an origin: a scheme, a name and perhaps a port, and nothing behind them.
pub fn is_origin(text: &str) -> bool {
    let named = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-._:[]".contains(c);
    named.is_some_and(|host| !host.is_empty() && host.chars().all(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn asked(path: &str, origin: &str) -> bool {
        let request = Request::builder()
            .uri(path)
            .header("origin", origin)
            .body(Body::empty())
            .unwrap();
        admitted(&request, &["https://app.example.org".to_owned()]).is_some()
    }

    #[test]
    fn only_named_origins_are_let_in_and_only_to_rest_and_mcp() {
        assert!(asked("/api/v1/mcp", "https://app.example.org") && asked("/mcp", "https://app.example.org"));
        for origin in [
            "https://app.example.org.evil.example",
            "http://app.example.org",
            "https://app.example.org:444",
            "null",
            "",
        ] {
            assert!(!asked("/api/v1/mcp", origin), "{origin}");
        }
        assert!(!asked("/", "https://app.example.org") && !asked("/login", "https://app.example.org"));
        for (text, fits) in [
            ("https://a.example:8443", true),
            ("http://localhost:6274", true),
            ("*", false),
            ("https://", false),
            ("https://a/", false),
        ] {
            assert_eq!(is_origin(text), fits, "{text}");
        }
    }
}
