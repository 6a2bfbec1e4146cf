//! Addresses of resources in one canonical form, and files behind them that stay inside their roots.
//!
//! Every address is brought into canonical form before anything is looked up. What only makes sense as an attempt to
//! climb out (`..` plain or encoded, backslashes, encoded separators, NUL) is refused, not repaired.

use std::path::{Path, PathBuf};

use refusal::{Code, Refusal};

/// How often an address is decoded in search of hidden dots; more rounds than anyone encodes in good faith.
const MAX_DECODE_ROUNDS: usize = 4;
const MAX_URI_BYTES: usize = 8 * 1024;

// Fulfils 002 Req-Res-003
/// The canonical form of an address.
//= specs/mcp-server.md#resource-addresses
//# Every resource address MUST be brought into canonical form before anything is looked up.
pub fn canonical(uri: &str) -> Result<String, Refusal> {
    if uri.len() > MAX_URI_BYTES {
        return Err(Refusal::new(
            Code::InvalidUri,
            format!("the URI is longer than {MAX_URI_BYTES} bytes"),
        ));
    }
    refuse_climbing(uri)?;
    let (scheme, rest) = split_scheme(uri)?;
    if rest.chars().any(|c| c.is_control() || c == ' ') {
        return Err(Refusal::new(
            Code::InvalidUri,
            "the URI contains blanks or control characters",
        ));
    }
    let scheme = scheme.to_ascii_lowercase();
    let (hierarchy, tail) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let (authority, path) = match hierarchy.strip_prefix("//") {
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            (Some(authority), path)
        }
        None => (None, hierarchy),
    };
    let mut out = format!("{scheme}:");
    if let Some(authority) = authority {
        out.push_str("//");
        // Only hosts of the network and of files are known to be blind to case.
        let blind = matches!(scheme.as_str(), "http" | "https" | "file");
        out.push_str(&if blind {
            authority.to_ascii_lowercase()
        } else {
            authority.to_owned()
        });
    }
    out.push_str(&normal_path(&normal_escapes(path)?));
    out.push_str(&normal_escapes(tail)?);
    Ok(out)
}

/// Refuses an address that is not canonical already: for those who register, not for those who ask.
pub fn require_canonical(uri: &str) -> Result<(), Refusal> {
    let form = canonical(uri)?;
    if form == uri {
        return Ok(());
    }
    Err(Refusal::new(
        Code::CanonicalPathViolation,
        format!("{uri:?} is not canonical; its canonical form is {form:?}"),
    ))
}

/// The path a canonical `file:` address names; nothing is looked at.
pub fn path_of(form: &str) -> Result<PathBuf, Refusal> {
    let path = form
        .strip_prefix("file://localhost/")
        .or_else(|| form.strip_prefix("file:///"))
        .ok_or_else(|| {
            let problem = format!("{form:?} is not the address of a local file");
            Refusal::new(Code::InvalidUri, problem).hint("Use an address that begins with `file:///`.")
        })?;
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let decoded = String::from_utf8(decode(path.as_bytes()))
        .map_err(|_| Refusal::new(Code::PathInvalid, "the path is not UTF-8"))?;
    Ok(Path::new("/").join(decoded.trim_end_matches('/')))
}

/// The canonical address of a path: everything but letters, digits, `-._~` and separators is escaped.
pub fn of_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    let mut out = String::from("file://");
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

// Fulfils 002 Req-Sec-002
//= specs/mcp-server.md#resource-addresses
//# An address that climbs (`..`, plain or encoded), or holds a backslash, an encoded separator or a NUL, MUST be refused with 1036.
fn refuse_climbing(uri: &str) -> Result<(), Refusal> {
    let path_end = uri.find(['?', '#']).unwrap_or(uri.len());
    let mut form = uri.as_bytes()[..path_end].to_vec();
    for round in 0..MAX_DECODE_ROUNDS {
        let mut parts = form.split(|b| matches!(b, b'/' | b'\\'));
        let climbs = parts
            .next()
            .is_some_and(|first| first == b".." || first.ends_with(b":.."))
            || parts.any(|part| part == b"..");
        let strange = form.iter().any(|b| matches!(b, b'\\' | 0));
        let separators = form.iter().filter(|b| **b == b'/').count();
        let decoded = decode(&form);
        let hidden = decoded.iter().filter(|b| **b == b'/').count() > separators;
        if climbs || strange || hidden {
            return Err(Refusal::new(
                Code::PathTraversalDetected,
                format!("{uri:?} leads out of its folder"),
            ));
        }
        if decoded == form {
            return Ok(());
        }
        if round + 1 == MAX_DECODE_ROUNDS {
            return Err(Refusal::new(
                Code::PathTraversalDetected,
                format!("{uri:?} is encoded too many times"),
            ));
        }
        form = decoded;
    }
    Ok(())
}

fn split_scheme(uri: &str) -> Result<(&str, &str), Refusal> {
    let named = uri.split_once(':').filter(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
    });
    named.ok_or_else(|| Refusal::new(Code::InvalidUri, format!("{uri:?} has no scheme")))
}

/// Drops `.` and empty parts in the middle; a slash at the end says something and stays.
fn normal_path(path: &str) -> String {
    let Some(inner) = path.strip_prefix('/') else {
        return path.to_owned();
    };
    let parts: Vec<&str> = inner.split('/').collect();
    let last = parts.len() - 1;
    let kept = parts
        .iter()
        .enumerate()
        .filter(|(at, part)| !matches!(**part, "." | "") || (*at == last && part.is_empty()));
    let kept: Vec<&str> = kept.map(|(_, part)| *part).collect();
    format!("/{}", kept.join("/"))
}

/// Letters, digits and `-._~` stand for themselves; other escapes are written in capitals.
fn normal_escapes(text: &str) -> Result<String, Refusal> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let value = escaped(&bytes[at..])
            .ok_or_else(|| Refusal::new(Code::InvalidUri, format!("{text:?} contains a broken escape")))?;
        if value.is_ascii_alphanumeric() || matches!(value, b'-' | b'.' | b'_' | b'~') {
            out.push(value);
        } else {
            out.extend_from_slice(&bytes[at..at + 3].to_ascii_uppercase());
        }
        at += 3;
    }
    // Only ASCII was exchanged for ASCII.
    String::from_utf8(out).map_err(|_| Refusal::new(Code::InvalidUri, "the URI is not UTF-8"))
}

/// The text behind an address's escapes.
pub fn unescape(text: &str) -> Result<String, Refusal> {
    String::from_utf8(decode(text.as_bytes())).map_err(|_| {
        Refusal::new(
            Code::InvalidUri,
            format!("{text:?} is not UTF-8 behind its escapes"),
        )
    })
}

/// The bytes behind a text's escapes; broken ones stay as they are.
pub fn decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match escaped(&text[at..]) {
            Some(value) => {
                out.push(value);
                at += 3;
            }
            None => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    out
}

fn escaped(bytes: &[u8]) -> Option<u8> {
    match bytes {
        [b'%', high, low, ..] => {
            let digit = |b: &u8| char::from(*b).to_digit(16);
            u8::try_from(digit(high)? * 16 + digit(low)?).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uri: &str, expect: &str) {
        assert_eq!(canonical(uri).unwrap(), expect, "{uri}");
        assert_eq!(
            canonical(expect).unwrap(),
            expect,
            "the canonical form of {uri} is its own"
        );
    }

    fn refused(uri: &str) -> Code {
        canonical(uri).unwrap_err().code
    }

    //= specs/mcp-server.md#resource-addresses
    //= type=test
    //# Every resource address MUST be brought into canonical form before anything is looked up.
    #[test]
    fn one_thing_has_one_address() {
        check("TEST://Static-Text", "test://Static-Text");
        check("HTTP://Example.ORG/%7ea/./b//c/", "http://example.org/~a/b/c/");
        check("file:///a/%e4b.txt?x=%2f#y", "file:///a/%E4b.txt?x=%2F#y");
        check("duvet:///specifications/a:b/c", "duvet:///specifications/a:b/c");
        check("urn:isbn:0451450523", "urn:isbn:0451450523");
        check("test:///", "test:///");
        check("test:////.//", "test:///");
        check("test:///версия", "test:///версия");
        check("x://h/a..b/..c/d...", "x://h/a..b/..c/d...");
    }

    // proves 002 Req-Res-003
    // proves 002 Req-Sec-002
    //= specs/mcp-server.md#resource-addresses
    //= type=test
    //# An address that climbs (`..`, plain or encoded), or holds a backslash, an encoded separator or a NUL, MUST be refused with 1036.
    #[test]
    fn climbing_is_refused_however_it_is_written() {
        for uri in [
            "file:///a/../etc/passwd",
            "file:///a/..",
            "file:///../a",
            "file:///a/%2e%2e/b",
            "file:///a/.%2E/b",
            "file:///a/%252e%252e/b",
            "file:///a/%25252e%25252e/b",
            "file:///a\\..\\b",
            "file:///a/b\\c",
            "file:///a/%5c..%5cb",
            "file:///a%2fb",
            "file:///a/..%2fb",
            "file:///a/%00",
            "file:///a/\0",
            "file:///%2525252525252e",
            "..",
            "../x",
            "file:..",
            "file:///a/..%00/b",
        ] {
            assert_eq!(refused(uri), Code::PathTraversalDetected, "{uri}");
        }
    }

    #[test]
    fn escapes_are_taken_off() {
        assert_eq!(unescape("a%20b%D1%8F/c").unwrap(), "a bя/c");
        assert_eq!(unescape("%ff").unwrap_err().code, Code::InvalidUri);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for uri in [
            "",
            "no scheme",
            "/a/b",
            "1x:y",
            "x:%zz",
            "x:%4",
            "x:a b",
            "x:a\nb",
        ] {
            assert_eq!(refused(uri), Code::InvalidUri, "{uri}");
        }
        assert_eq!(refused(&format!("x:{}", "a".repeat(9_000))), Code::InvalidUri);
        assert_eq!(
            require_canonical("x:///a/./b").unwrap_err().code,
            Code::CanonicalPathViolation
        );
    }

    #[test]
    fn an_address_may_be_so_long_and_so_often_encoded_and_no_more() {
        let long = format!("x:{}", "a".repeat(8_192 - 2));
        assert_eq!(canonical(&long).unwrap(), long);
        assert_eq!(refused(&format!("{long}a")), Code::InvalidUri);
        // Three rounds of escapes are read to their end, a fourth is not.
        assert!(canonical("x:///%252561").is_ok());
        assert_eq!(refused("x:///%25252561"), Code::PathTraversalDetected);
        // What follows the path is no path.
        check("x:///a?b=../c", "x:///a?b=../c");
        check("x+1-a.b:c", "x+1-a.b:c");
    }

    #[test]
    fn a_file_and_its_address_lead_to_each_other() {
        for (path, uri) in [
            ("/a/b-c_d.e~f", "file:///a/b-c_d.e~f"),
            ("/я b", "file:///%D1%8F%20b"),
        ] {
            assert_eq!(of_path(Path::new(path)), uri);
            assert_eq!(path_of(uri).unwrap(), Path::new(path));
        }
        for uri in ["file://localhost/a/", "file:///a?x", "file:///a#x/y"] {
            assert_eq!(path_of(uri).unwrap(), Path::new("/a"), "{uri}");
        }
        assert_eq!(path_of("file://host/a").unwrap_err().code, Code::InvalidUri);
        assert_eq!(path_of("file:///%ff").unwrap_err().code, Code::PathInvalid);
    }

    #[test]
    fn broken_escapes_stay_where_they_are_only_looked_through() {
        assert_eq!(decode(b"%41%4%zz%"), b"A%4%zz%");
        assert!(require_canonical("x:///a/b").is_ok());
    }
}
