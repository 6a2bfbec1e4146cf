use super::super::settings::Settings;
use super::*;

fn settings() -> Settings {
    Settings::new("sqlite:x.db".into())
}

#[test]
fn every_default_is_a_value_the_table_allows() {
    for setting in TABLE.iter().filter(|setting| !setting.secret) {
        let text = (setting.get)(&settings());
        assert!(
            (setting.put)(&mut settings(), &text),
            "{} = {text:?}",
            setting.name
        );
    }
}

#[test]
fn values_that_are_not_allowed_are_refused() {
    let bad = [
        ("database", "mysql://x"),
        ("listen", "8080"),
        ("listen", "::1:8080"),
        ("listen", "localhost:99999"),
        ("admin_password", "short"),
        ("token_key", "abc"),
        ("token_key", &"é".repeat(32)),
        ("store.durability", "none"),
        ("http.max_body_bytes", "-1"),
        ("http.max_body_bytes", "1e9"),
        ("http.secure_cookies", "yes"),
        ("http.trusted_proxies", "10.0.0.0/33"),
        ("http.trusted_proxies", "proxy.example.org"),
        ("http.public_hosts", "https://spexus.example.org"),
        ("http.public_hosts", "a b"),
        ("http.cors_origins", "*"),
        ("http.cors_origins", "https://app.example.org/page"),
        ("admin_password", "password1"),
        ("mcp.roots", "/srv/specs,docs"),
        ("mcp.version", "one"),
        ("mcp.version", "1.0"),
        ("mcp.protocol_versions", ""),
        ("mcp.protocol_versions", "2025-06-18,1999-01-01"),
        ("log.level", "loud"),
        ("log.format", "xml"),
        ("otlp.endpoint", "collector:4318"),
    ];
    for (name, text) in bad {
        let setting = TABLE.iter().find(|setting| setting.name == name).unwrap();
        assert!(!(setting.put)(&mut settings(), text), "{name} = {text:?}");
    }
}

#[test]
fn names_are_unique_in_every_form() {
    for (at, setting) in TABLE.iter().enumerate() {
        let same = |other: &Setting| other.variable() == setting.variable() || other.flag() == setting.flag();
        assert!(!TABLE[..at].iter().any(same), "{}", setting.name);
    }
}
