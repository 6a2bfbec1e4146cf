//! How what an app has is called here: `<app>_<tool>`, `<app>_<prompt>`, `app://<app>/…`.
//!
//! An app's name holds no underscore, so the first one ends it: two apps can never mean the same name. Addresses can be
//! turned back, so that whatever an app calls a resource, also one it never listed, can be read.

use refusal::{Code, Refusal};

/// The longest name of an app.
const MAX_APP_NAME: usize = 32;
/// The longest name of a tool that models accept.
const MAX_TOOL_NAME: usize = 64;

/// Refuses what is no name for an app.
//= specs/mcp-apps.md#names
//# The name of an app MUST be 1 to 32 small letters, digits or hyphens and begin with a letter or a digit.
pub(crate) fn check_app(name: &str) -> Result<(), Refusal> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if (1..=MAX_APP_NAME).contains(&name.len()) && name.bytes().all(fits) && !name.starts_with('-') {
        return Ok(());
    }
    let shown: String = name.chars().take(60).collect();
    let refusal = Refusal::field(
        Code::InvalidParams,
        "name",
        format!("{shown:?} is no name for an app"),
        "1 to 32 small letters, digits or hyphens, beginning with a letter or a digit",
    );
    Err(match suggested(name) {
        Some(better) => refusal.hint(format!("Choose another name, such as {better:?}.")),
        None => refusal,
    })
}

/// A name for an app made of one that is none.
pub(crate) fn suggested(name: &str) -> Option<String> {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    };
    let last = name.rsplit('/').next().unwrap_or(name);
    let text: String = last.chars().map(plain).collect();
    let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
    let text: String = parts.join("-").chars().take(MAX_APP_NAME).collect();
    let text = text.trim_end_matches('-').to_owned();
    (!text.is_empty()).then_some(text)
}

/// The name of an app's tool or prompt.
//= specs/mcp-apps.md#names
//# A tool or prompt of an app MUST be listed as the app's name, an underscore and its own name, with every character that MCP allows in no name replaced by an underscore.
pub(crate) fn of(app: &str, own: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain: String = own.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    let name = format!("{app}_{plain}");
    if name.len() <= MAX_TOOL_NAME {
        return name;
    }
    // Cut names stay apart by a piece of the hash of the whole.
    let hash = blake3::hash(own.as_bytes()).to_hex();
    format!("{}_{}", &name[..MAX_TOOL_NAME - 9], &hash[..8])
}

/// An app's address as it is known here; `None` for what is no address.
///
/// `demo://a/b` becomes `app://<app>/demo/a/b`, `duvet:///a` becomes `app://<app>/duvet:/a`, `urn:a` becomes
/// `app://<app>/urn:a`.
//= specs/mcp-apps.md#names
//# A resource of an app MUST be listed under `app://`, the app's name and its own address, and be readable there.
pub(crate) fn ours(app: &str, theirs: &str) -> Option<String> {
    let (scheme, rest) = theirs.split_once(':')?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    if scheme.is_empty() || !scheme.bytes().all(plain) {
        return None;
    }
    if let Some(path) = rest.strip_prefix("///") {
        return Some(format!("app://{app}/{scheme}:/{path}"));
    }
    if let Some(path) = rest.strip_prefix("//") {
        return Some(format!("app://{app}/{scheme}/{path}"));
    }
    (!rest.starts_with('/')).then(|| format!("app://{app}/{scheme}:{rest}"))
}

/// The app's own address behind one of ours.
pub(crate) fn theirs(app: &str, ours: &str) -> Option<String> {
    let path = ours
        .strip_prefix("app://")?
        .strip_prefix(app)?
        .strip_prefix('/')?;
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    match first.split_once(':') {
        None => Some(format!("{first}://{rest}")),
        Some((scheme, "")) => Some(format!("{scheme}:///{rest}")),
        Some(_) => Some(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/mcp-apps.md#names
    //= type=test
    //# The name of an app MUST be 1 to 32 small letters, digits or hyphens and begin with a letter or a digit.
    #[test]
    fn names_of_apps() {
        for good in ["a", "duvet", "server-everything", "7zip", &"a".repeat(32)] {
            assert!(check_app(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "A",
            "a_b",
            "a.b",
            "a/b",
            "../a",
            "ä",
            "a b",
            &"a".repeat(33),
        ] {
            let refusal = check_app(bad).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidParams, "{bad}");
            assert_eq!(refusal.faults[0].field, "name");
        }
        let hint = check_app("@acme/My Server").unwrap_err().hint;
        assert_eq!(hint, "Choose another name, such as \"my-server\".");
    }

    //= specs/mcp-apps.md#names
    //= type=test
    //# A tool or prompt of an app MUST be listed as the app's name, an underscore and its own name, with every character that MCP allows in no name replaced by an underscore.
    #[test]
    fn names_of_tools_fit_every_client_and_stay_apart() {
        assert_eq!(of("duvet", "search"), "duvet_search");
        assert_eq!(of("x", "a b/ü.c-d"), "x_a_b__.c-d");
        let (one, other) = ("t".repeat(70) + "1", "t".repeat(70) + "2");
        assert_eq!(of("x", &one).len(), MAX_TOOL_NAME);
        assert_ne!(of("x", &one), of("x", &other));
    }

    #[test]
    fn addresses_lead_there_and_back() {
        for (own, here) in [
            ("demo://resource/1", "app://x/demo/resource/1"),
            ("duvet:///specifications", "app://x/duvet:/specifications"),
            ("urn:isbn:0451450523", "app://x/urn:isbn:0451450523"),
            ("file:///etc/hosts?a=1#b", "app://x/file:/etc/hosts?a=1#b"),
            ("ui://get-time/mcp-app.html", "app://x/ui/get-time/mcp-app.html"),
            ("demo://resource/{id}", "app://x/demo/resource/{id}"),
        ] {
            assert_eq!(ours("x", own).as_deref(), Some(here), "{own}");
            assert_eq!(theirs("x", here).as_deref(), Some(own), "{here}");
        }
        for odd in ["", "no address", "a:/single", "://x", "ä://x"] {
            assert_eq!(ours("x", odd), None, "{odd}");
        }
        assert_eq!(theirs("y", "app://x/demo/a"), None, "another app's");
    }
}
