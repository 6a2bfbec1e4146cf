//! Settings of a bridge: where its backend is, who it acts as, and its limits.

use std::fmt;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use mcp_client::Backoff;
use mcp_protocol::OfferedVersions;

/// Settings of a bridge.
#[derive(Clone, Debug)]
pub struct BridgeSettings {
    /// The address of the backend.
    pub backend: BackendUrl,
    /// Who the host acts as; nobody before a login.
    pub token: Option<BearerToken>,
    /// How long one request may take, retries included.
    pub request_timeout: Duration,
    /// How often a request is tried again.
    pub max_retries: u32,
    /// The name the bridge introduces itself with, in both eras.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// The version the bridge says it has.
    pub version: String,
    /// The versions of the protocol a host may ask for.
    pub versions: OfferedVersions,
    /// Headers for every request, such as the choice of tools.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Where the limits are.
    pub limits: BridgeLimits,
}

impl BridgeSettings {
    /// How the bridge introduces itself.
    pub(crate) fn introduction(&self) -> serde_json::Value {
        serde_json::json!({ "name": self.name, "title": self.title, "version": self.version })
    }
}

/// Every limit of a bridge, with its unit in its name.
#[derive(Clone, Debug)]
pub struct BridgeLimits {
    /// Largest message of the host.
    pub max_message_bytes: usize,
    /// Largest answer or event of the backend.
    pub max_answer_bytes: usize,
    /// Requests of the host that run at once.
    pub max_in_flight: usize,
    /// What those requests hold together.
    pub max_in_flight_bytes: usize,
    /// Messages in one batch.
    pub max_batch_messages: usize,
    /// Connections to the backend at once, beside those that only listen.
    pub max_connections: usize,
    /// Bytes waiting to be read by the host before it is no longer read from.
    pub max_outbox_bytes: usize,
    /// How long reading stops when too much runs before requests are refused.
    pub admission_wait_ms: u64,
    /// How long a host that says hello waits for the backend before the bridge answers alone.
    pub initialize_timeout_ms: u64,
    /// How long running requests may finish when input has ended.
    pub drain_timeout_ms: u64,
    /// How long the host may take to read the last answers.
    pub flush_timeout_ms: u64,
    /// The delay before the first retry; each further one is twice as long.
    pub backoff_first_ms: u64,
    /// The longest delay between two tries.
    pub backoff_max_ms: u64,
    /// How long the breaker stays open.
    pub breaker_open_ms: u64,
    /// How long cached tools count as fresh when arguments do not fit them.
    pub tool_cache_fresh_ms: u64,
    /// How long a call may take once the backend asked the host's person or model something; the backend's own limit is
    /// shorter.
    pub question_timeout_ms: u64,
    /// How often the bridge logs how it is.
    pub stats_every_ms: u64,
}

impl Default for BridgeLimits {
    fn default() -> Self {
        Self {
            max_message_bytes: 1 << 20,
            max_answer_bytes: 17 << 20,
            max_in_flight: 1_024,
            max_in_flight_bytes: 32 << 20,
            max_batch_messages: 1_000,
            max_connections: 64,
            max_outbox_bytes: 1 << 20,
            admission_wait_ms: 100,
            initialize_timeout_ms: 5_000,
            drain_timeout_ms: 10_000,
            flush_timeout_ms: 5_000,
            backoff_first_ms: 100,
            backoff_max_ms: 2_000,
            breaker_open_ms: 1_000,
            tool_cache_fresh_ms: 5_000,
            question_timeout_ms: 60 * 60 * 1_000,
            stats_every_ms: 60_000,
        }
    }
}

impl BridgeLimits {
    /// The backoff between tries.
    pub(crate) fn backoff(&self) -> Backoff {
        Backoff {
            first_ms: self.backoff_first_ms,
            max_ms: self.backoff_max_ms,
        }
    }
}

/// URL of a backend and of its MCP endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct BackendUrl {
    base: String,
    mcp: Uri,
}

impl BackendUrl {
    /// Reads the address of a server, or of its API, or of its MCP endpoint. `None` when it is no such address.
    //= specs/spexus-bridge.md#configuration
    //# The backend's address MUST be accepted as the server's own, with `/api/v1`, and with the whole path of the endpoint.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches('/');
        let uri: Uri = text.parse().ok()?;
        let authority = uri.authority()?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            return None;
        }
        // A name and a password in an address end up in logs.
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return None;
        }
        let base = text.strip_suffix("/mcp").unwrap_or(text).trim_end_matches('/');
        let base = base.strip_suffix("/api/v1").unwrap_or(base);
        let mcp = format!("{base}/api/v1/mcp").parse().ok()?;
        Some(Self {
            base: base.to_owned(),
            mcp,
        })
    }

    /// The address of the server.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The address messages are sent to.
    pub fn mcp(&self) -> &Uri {
        &self.mcp
    }

    /// Whether what is sent there can be read on the way: plain HTTP to another machine.
    pub fn is_exposed(&self) -> bool {
        let host = self.mcp.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host
            .parse::<std::net::IpAddr>()
            .map(|address| address.to_canonical());
        let is_local =
            host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback());
        self.mcp.scheme_str() == Some("http") && !is_local
    }

    /// An address below the server's own.
    pub fn at(&self, path: &str) -> Option<Uri> {
        format!("{}{path}", self.base).parse().ok()
    }
}

impl fmt::Debug for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

/// Personal access token, sent as a bearer token. It is never shown, not even by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(String);

impl BearerToken {
    /// Reads a token; `None` when it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | '+' | '/' | '=');
        (text.len() >= 8 && text.len() <= 512 && text.chars().all(fits)).then(|| Self(text.to_owned()))
    }

    /// As it stands in a request. Marked as secret, so that nothing writes it down.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[token]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_to_another_machine_is_exposed() {
        let exposed = |url: &str| BackendUrl::parse(url).unwrap().is_exposed();
        for local in [
            "http://127.0.0.1:8080",
            "http://localhost",
            "http://[::1]:8080",
            "https://example.org",
        ] {
            assert!(!exposed(local), "{local}");
        }
        for far in [
            "http://example.org",
            "http://192.0.2.1:8080",
            "http://localhost.example.org",
            "http://[2001:db8::1]",
        ] {
            assert!(exposed(far), "{far}");
        }
    }

    //= specs/spexus-bridge.md#configuration
    //= type=test
    //# The backend's address MUST be accepted as the server's own, with `/api/v1`, and with the whole path of the endpoint.
    #[test]
    fn an_address_may_be_written_in_three_ways() {
        for text in [
            "http://localhost:8080",
            "http://localhost:8080/",
            "http://localhost:8080/api/v1",
            "http://localhost:8080/api/v1/mcp",
            "http://localhost:8080/mcp",
        ] {
            let endpoint = BackendUrl::parse(text).unwrap();
            assert_eq!(
                endpoint.mcp().to_string(),
                "http://localhost:8080/api/v1/mcp",
                "{text}"
            );
            assert_eq!(endpoint.at("/health/live").unwrap().path(), "/health/live");
        }
        let below = BackendUrl::parse("https://example.org/spexus/api/v1/").unwrap();
        assert_eq!(below.mcp().to_string(), "https://example.org/spexus/api/v1/mcp");
        for text in [
            "",
            "localhost:8080",
            "ftp://x",
            "http://",
            "http://a:b@c",
            "http://c?d=e",
            "not a url",
        ] {
            assert_eq!(BackendUrl::parse(text), None, "{text}");
        }
    }

    // proves 003 R13.4
    #[test]
    fn delays_double_up_to_the_longest_and_vary_by_half() {
        let backoff = BridgeLimits::default().backoff();
        let longest: Vec<u128> = (0..7)
            .map(|tries| backoff.delay_with(tries, u32::MAX).as_millis())
            .collect();
        assert_eq!(longest, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
        let shortest: Vec<u128> = (0..7)
            .map(|tries| backoff.delay_with(tries, 0).as_millis())
            .collect();
        assert_eq!(shortest, [50, 100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(backoff.delay_with(u32::MAX, u32::MAX).as_millis(), 2_000);
    }

    /// Once a fault is gone, whoever waits is served within five seconds: no pause is longer than four (ruling 37).
    // proves 002 Resil-002
    //= specs/spexus-bridge.md#faults
    //= type=test
    //# A backend that is back MUST be found within five seconds by whoever waits for it: no pause between two tries MUST be longer than four.
    #[test]
    fn no_pause_keeps_a_waiting_host_longer_than_four_seconds() {
        let limits = BridgeLimits::default();
        assert!(limits.backoff().delay_with(u32::MAX, u32::MAX) <= Duration::from_secs(4));
        assert!(limits.breaker_open_ms <= 4_000);
        assert!(crate::listener::MAX_DELAY <= Duration::from_secs(4));
    }

    // proves 003 R13.3: a token cannot be written down by accident
    #[test]
    fn a_token_does_not_show() {
        let token = BearerToken::parse("mcp_pat_secretsecret").unwrap();
        let header = token.header().unwrap();
        assert!(!format!("{token:?} {header:?}").contains("secretsecret"));
        for text in ["", "short", "with blank in it", "line\nend123"] {
            assert_eq!(BearerToken::parse(text), None, "{text:?}");
        }
    }
}
