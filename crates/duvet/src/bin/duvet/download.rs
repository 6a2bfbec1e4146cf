//! Downloads of specifications, inside a fence of their own: known hosts, https, public addresses, text of a limited size.
//!
//! Addresses come from comments in code, so they are a stranger's words: on a build machine they could name a service
//! that only this machine can reach, and the answer would end up in a published report.

use duvet::locator::MAX_SPECIFICATION_BYTES;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

const TIMEOUT_SECONDS: u64 = 30;
const MAX_REDIRECTS: usize = 5;

/// Publishers of specifications, asked without being configured.
const HOSTS: &[&str] = &[
    "www.rfc-editor.org",
    "rfc-editor.org",
    "www.ietf.org",
    "ietf.org",
    "tools.ietf.org",
    "datatracker.ietf.org",
    "www.w3.org",
    "raw.githubusercontent.com",
];

/// Whom the network may be asked.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    /// Over https, at public addresses.
    pub(crate) allowed: Vec<String>,
    /// At any address and over http too: the person said so.
    pub(crate) insecure: Vec<String>,
}

/// The text at an address.
pub(crate) fn get(url: &str, hosts: &Hosts) -> Result<Vec<u8>, String> {
    let mut url = url.to_owned();
    for _ in 0..=MAX_REDIRECTS {
        match ask(&url, hosts)? {
            Answer::Text(bytes) => return Ok(bytes),
            Answer::Elsewhere(next) => url = next,
        }
    }
    Err(format!("it leads on more than {MAX_REDIRECTS} times"))
}

enum Answer {
    Text(Vec<u8>),
    Elsewhere(String),
}

//= specs/duvet.md#inside-the-fence
//# A download MUST ask only hosts on the list, over https, at public addresses, and no redirect leads out of it.
fn ask(url: &str, hosts: &Hosts) -> Result<Answer, String> {
    let is_insecure = check(url, hosts)?;
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(TIMEOUT_SECONDS)))
        .max_redirects(0)
        .https_only(!is_insecure)
        .build();
    let connector = DefaultConnector::default();
    let agent = if is_insecure {
        ureq::Agent::new_with_config(config)
    } else {
        ureq::Agent::with_parts(config, connector, PublicOnly::default())
    };
    let mut answer = agent.get(url).call().map_err(|error| error.to_string())?;
    if answer.status().is_redirection() {
        let place = answer
            .headers()
            .get("location")
            .and_then(|value| value.to_str().ok());
        let place = place.ok_or("it leads on without saying where")?;
        return join(url, place).map(Answer::Elsewhere);
    }
    let kind = answer
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    check_kind(kind)?;
    let body = answer.body_mut().with_config().limit(MAX_SPECIFICATION_BYTES);
    let bytes = body.read_to_vec().map_err(|error| error.to_string())?;
    if bytes.contains(&0) {
        return Err("it is not a text".to_owned());
    }
    Ok(Answer::Text(bytes))
}

/// Whether an address may be asked, and whether the person allowed it to be insecure.
fn check(url: &str, hosts: &Hosts) -> Result<bool, String> {
    let uri: Uri = url.parse().map_err(|_| "it is no address".to_owned())?;
    let authority = uri.authority().ok_or("it names no host")?;
    if authority.as_str().contains('@') {
        return Err("an address with a password is not asked".to_owned());
    }
    if hosts
        .insecure
        .iter()
        .any(|host| host == authority.as_str() || host == authority.host())
    {
        return Ok(true);
    }
    if uri.scheme_str() != Some("https") {
        return Err("only https is asked; allow a mirror of your own with `--insecure-host`".to_owned());
    }
    let host = authority.host().to_ascii_lowercase();
    let is_listed = HOSTS.contains(&host.as_str())
        || hosts
            .allowed
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&host));
    if !is_listed || authority.port_u16().is_some_and(|port| port != 443) {
        return Err(format!(
            "the host `{host}` is not on the list; allow it with `--allow-host {host}` or in the configuration: [fetch] hosts"
        ));
    }
    let literal = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    if literal.is_ok_and(|address| !is_public(address)) {
        return Err("private addresses are not asked".to_owned());
    }
    Ok(false)
}

/// Pages and pictures are no specifications.
fn check_kind(kind: Option<&str>) -> Result<(), String> {
    let Some(kind) = kind else { return Ok(()) };
    let essence = kind.split(';').next().unwrap_or(kind).trim().to_ascii_lowercase();
    let is_text = essence.starts_with("text/") && essence != "text/html";
    if is_text || essence == "application/octet-stream" || essence == "application/markdown" {
        return Ok(());
    }
    Err(format!(
        "it is `{essence}`, not plain text or Markdown; cite the address of the text itself"
    ))
}

/// Where a redirect leads, seen from the address that answered with it.
fn join(from: &str, place: &str) -> Result<String, String> {
    if place.contains("://") {
        return Ok(place.to_owned());
    }
    let uri: Uri = from.parse().map_err(|_| "it is no address".to_owned())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err("it is no address".to_owned());
    };
    if let Some(rest) = place.strip_prefix("//") {
        return Ok(format!("{scheme}://{rest}"));
    }
    let path = match place.strip_prefix('/') {
        Some(path) => path.to_owned(),
        None => {
            let folder = uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{}/{place}", folder.trim_start_matches('/'))
        }
    };
    Ok(format!("{scheme}://{authority}/{path}"))
}

/// Gives public addresses only, so that a name cannot lead into the machine's own network.
#[derive(Debug, Default)]
struct PublicOnly(DefaultResolver);

impl Resolver for PublicOnly {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let all = self.0.resolve(uri, config, timeout)?;
        let mut public = self.empty();
        for address in all.iter().filter(|address| is_public(address.ip())) {
            public.push(*address);
        }
        if public.is_empty() {
            return Err(ureq::Error::HostNotFound);
        }
        Ok(public)
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4() {
            Some(v4) => is_public_v4(v4),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_special = (a == 192 && b == 0 && c == 0) || (a == 198 && (b == 18 || b == 19)) || a >= 224;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || is_shared
        || is_special)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    // Global unicast, without the ranges that carry an IPv4 address or stand in books.
    (0x2000..0x4000).contains(&first)
        && !(first == 0x2002 || (first == 0x2001 && matches!(address.segments()[1], 0 | 0x0db8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(url: &str) -> bool {
        let hosts = Hosts {
            allowed: vec![
                "specs.example".to_owned(),
                "10.0.0.1".to_owned(),
                "[::1]".to_owned(),
            ],
            insecure: vec!["localhost:8080".to_owned()],
        };
        check(url, &hosts).is_ok()
    }

    //= specs/duvet.md#inside-the-fence
    //= type=test
    //# A download MUST ask only hosts on the list, over https, at public addresses, and no redirect leads out of it.
    #[test]
    fn only_known_hosts_are_asked_and_only_over_https() {
        for good in [
            "https://www.rfc-editor.org/rfc/rfc1.txt",
            "https://specs.example/a.md",
            "https://SPECS.example:443/a.md",
            "http://localhost:8080/a",
        ] {
            assert!(allowed(good), "{good}");
        }
        for bad in [
            "http://www.rfc-editor.org/rfc/rfc1.txt",
            "https://evil.example/a",
            "https://specs.example:8443/a",
            "https://specs.example.evil.example/a",
            "https://user:secret@specs.example/a",
            "http://169.254.169.254/latest/meta-data",
            "https://10.0.0.1/a",
            "https://[::1]/a",
            "http://localhost:9090/a",
            "file:///etc/passwd",
            "ftp://specs.example/a",
        ] {
            assert!(!allowed(bad), "{bad}");
        }
        let next = join("https://specs.example/dir/a.md", "http://169.254.169.254/x").unwrap();
        assert!(!allowed(&next));
        assert_eq!(
            join("https://specs.example/dir/a.md", "b.md").unwrap(),
            "https://specs.example/dir/b.md"
        );
        assert_eq!(
            join("https://specs.example/dir/a.md", "/b").unwrap(),
            "https://specs.example/b"
        );
        assert_eq!(
            join("https://specs.example/a", "//evil.example/b").unwrap(),
            "https://evil.example/b"
        );
    }

    #[test]
    fn private_addresses_are_not_public_in_any_clothes() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["8.8.8.8", "104.18.1.1", "2606:4700::6810:1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn a_page_is_no_specification() {
        assert!(check_kind(Some("text/plain; charset=utf-8")).is_ok());
        assert!(check_kind(Some("text/markdown")).is_ok());
        assert!(check_kind(None).is_ok());
        assert!(check_kind(Some("text/html")).is_err());
        assert!(check_kind(Some("image/png")).is_err());
    }
}
