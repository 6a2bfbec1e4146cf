//! Where a request comes from: the peer of the connection, or whom a trusted proxy speaks for.
//!
//! A proxy appends the address it heard a request from; everything left of that is what the sender claims. So headers are
//! read from right to left, and only as long as the hop that wrote them is one the operator trusts. A proxy writes one
//! of two headers and may pass the other on as the sender made it up; when both are there and disagree, neither is
//! believed.

use axum::http::HeaderMap;
use axum::http::header::FORWARDED;
use ipnet::IpNet;
use spexus_domain::network;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

const X_FORWARDED_FOR: &str = "x-forwarded-for";

/// The networks whose machines are believed when they say for whom they speak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Whether nobody is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a machine is one of them.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|trusted| trusted.contains(&address))
    }
}

/// Networks such as `10.0.0.0/8` and single addresses, separated by commas.
impl FromStr for TrustedProxies {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let one = |part: &str| {
            let single = part.parse::<IpAddr>().map(IpNet::from);
            part.parse::<IpNet>().or(single).map_err(drop)
        };
        Ok(Self(parts.map(one).collect::<Result<_, ()>>()?))
    }
}

impl fmt::Display for TrustedProxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&parts.join(","))
    }
}

/// Who sent a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// The address that limits, lockouts and the audit trail go by.
    pub(crate) address: IpAddr,
    /// The address of this machine that was connected to.
    pub(crate) local: IpAddr,
    /// Whether the request came from this very machine, and for nobody else.
    pub(crate) is_local: bool,
}

impl Sender {
    pub(crate) fn new(
        peer: SocketAddr,
        local: SocketAddr,
        headers: &HeaderMap,
        trusted: &TrustedProxies,
    ) -> Self {
        let peer = peer.ip().to_canonical();
        let was_forwarded = headers.contains_key(FORWARDED) || headers.contains_key(X_FORWARDED_FOR);
        Self {
            address: client(peer, headers, trusted),
            local: local.ip().to_canonical(),
            is_local: peer.is_loopback() && !was_forwarded,
        }
    }

    /// The network that is counted.
    pub(crate) fn network(&self) -> IpAddr {
        network::network(self.address)
    }
}

//= specs/spexus-http.md#proxies
//# `Forwarded` and `X-Forwarded-For` MUST be read from right to left, only from peers and over hops that are trusted, and MUST be ignored when they disagree.
fn client(peer: IpAddr, headers: &HeaderMap, trusted: &TrustedProxies) -> IpAddr {
    if !trusted.contains(peer) {
        return peer;
    }
    let told = [
        elements(headers, FORWARDED.as_str()),
        elements(headers, X_FORWARDED_FOR),
    ];
    let [forwarded, x_forwarded_for] = told;
    let forwarded = forwarded.map(|all| walk(peer, &all, forwarded_for, trusted));
    let x_forwarded_for = x_forwarded_for.map(|all| walk(peer, &all, hop, trusted));
    match (forwarded, x_forwarded_for) {
        (Some(one), Some(other)) if one != other => peer,
        (Some(address), _) | (None, Some(address)) => address,
        (None, None) => peer,
    }
}

/// The elements of a list header, all its lines together; `None` when there is no such header.
fn elements(headers: &HeaderMap, name: &str) -> Option<Vec<String>> {
    let lines: Vec<&str> = headers
        .get_all(name)
        .into_iter()
        .map(|line| line.to_str().unwrap_or_default())
        .collect();
    (!lines.is_empty()).then(|| split_unquoted(&lines.join(","), ','))
}

/// Goes from the peer to the left as long as the hop reached is trusted; stops at what cannot be read.
fn walk(
    peer: IpAddr,
    elements: &[String],
    read: fn(&str) -> Option<IpAddr>,
    trusted: &TrustedProxies,
) -> IpAddr {
    let mut reached = peer;
    for element in elements.iter().rev() {
        if !trusted.contains(reached) {
            break;
        }
        match read(element) {
            Some(address) => reached = address,
            None => break,
        }
    }
    reached
}

/// The `for` of one element of `Forwarded` (RFC 7239); names that stand for nobody known are `None`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pairs = split_unquoted(element, ';');
    let named = pairs.iter().find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| value.trim())
    });
    hop(named?.trim_matches('"'))
}

/// An address with or without a port, IPv6 in brackets or not.
fn hop(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let address = match bare {
        Some((inside, _)) => inside.parse().ok(),
        None => text
            .parse()
            .ok()
            .or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip())),
    };
    address.map(|address: IpAddr| address.to_canonical())
}

/// The parts of a text between separators that do not stand in quotes.
fn split_unquoted(text: &str, separator: char) -> Vec<String> {
    let (mut parts, mut part, mut quoted) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        quoted ^= letter == '"';
        if letter == separator && !quoted {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn address(peer: &str, headers: &[(&str, &str)]) -> String {
        let trusted: TrustedProxies = "10.0.0.0/8, 2001:db8:ffff::/48,127.0.0.1".parse().unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        client(peer.parse().unwrap(), &map, &trusted).to_string()
    }

    //= specs/spexus-http.md#proxies
    //= type=test
    //# `Forwarded` and `X-Forwarded-For` MUST be read from right to left, only from peers and over hops that are trusted, and MUST be ignored when they disagree.
    #[test]
    fn only_trusted_hops_are_believed_and_only_from_the_right() {
        let xff = |value| [("x-forwarded-for", value)];
        let fwd = |value| [("forwarded", value)];
        assert_eq!(
            address("192.0.2.1", &xff("198.51.100.7")),
            "192.0.2.1",
            "an untrusted peer"
        );
        assert_eq!(address("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(address("10.0.0.1", &xff("198.51.100.7")), "198.51.100.7");
        assert_eq!(address("::ffff:10.0.0.1", &xff("198.51.100.7")), "198.51.100.7");
        assert_eq!(
            address("10.0.0.1", &xff("1.1.1.1, 198.51.100.7")),
            "198.51.100.7",
            "made up by the sender"
        );
        assert_eq!(
            address("10.0.0.1", &xff("1.1.1.1, 198.51.100.7, 10.0.0.2")),
            "198.51.100.7"
        );
        assert_eq!(address("10.0.0.1", &xff("198.51.100.7:443")), "198.51.100.7");
        assert_eq!(address("10.0.0.1", &xff("[2001:db8::1]:443")), "2001:db8::1");
        assert_eq!(address("10.0.0.1", &xff("nonsense")), "10.0.0.1");
        assert_eq!(
            address("10.0.0.1", &xff("1.1.1.1, nonsense, 10.0.0.2")),
            "10.0.0.2"
        );
        assert_eq!(
            address("10.0.0.1", &fwd("for=192.0.2.60;proto=http;by=203.0.113.43")),
            "192.0.2.60"
        );
        assert_eq!(
            address(
                "10.0.0.1",
                &fwd("for=9.9.9.9, FOR=\"[2001:db8:cafe::17]:4711\";proto=https")
            ),
            "2001:db8:cafe::17"
        );
        assert_eq!(
            address("10.0.0.1", &fwd("for=\"1.1.1.1, for=2.2.2.2\"")),
            "10.0.0.1",
            "a comma in quotes"
        );
        assert_eq!(address("10.0.0.1", &fwd("for=unknown")), "10.0.0.1");
        assert_eq!(address("10.0.0.1", &fwd("for=_hidden")), "10.0.0.1");
        let two_lines = [
            ("x-forwarded-for", "1.1.1.1"),
            ("x-forwarded-for", "198.51.100.7"),
        ];
        assert_eq!(address("10.0.0.1", &two_lines), "198.51.100.7");
        let both = |one, other| [("forwarded", one), ("x-forwarded-for", other)];
        assert_eq!(address("10.0.0.1", &both("for=1.1.1.1", "1.1.1.1")), "1.1.1.1");
        assert_eq!(
            address("10.0.0.1", &both("for=1.1.1.1", "198.51.100.7")),
            "10.0.0.1",
            "one is made up"
        );
    }

    #[test]
    fn a_list_of_proxies_is_read_and_written_and_nonsense_refused() {
        let list: TrustedProxies = " 10.0.0.0/8 ,192.0.2.1".parse().unwrap();
        assert_eq!(list.to_string(), "10.0.0.0/8,192.0.2.1/32");
        assert_eq!("".parse(), Ok(TrustedProxies::default()));
        for bad in ["10.0.0.0/33", "proxy.example.org", "10.0.0"] {
            assert!(bad.parse::<TrustedProxies>().is_err(), "{bad}");
        }
    }
}
