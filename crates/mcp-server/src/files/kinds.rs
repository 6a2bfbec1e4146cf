//! Kinds of files: which are served at all, which are text, and what they are called.

use std::ffi::OsStr;
use std::path::Path;

/// Endings of files that hold keys.
const KEY_ENDINGS: [&str; 12] = [
    "asc", "gpg", "jks", "kdbx", "key", "keystore", "keytab", "p12", "pem", "pfx", "ppk", "tfstate",
];

/// Beginnings of names of files that hold keys or passwords.
const KEY_NAMES: [&str; 9] = [
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials",
    "secrets.",
    "secret.",
    "htpasswd",
    "passwords.",
];

const MIME_TYPES: [(&str, &str); 46] = [
    ("adoc", "text/asciidoc"),
    ("c", "text/x-c"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("erl", "text/x-erlang"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("gz", "application/gzip"),
    ("h", "text/x-c"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("kt", "text/x-kotlin"),
    ("lock", "text/plain"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("pdf", "application/pdf"),
    ("php", "text/x-php"),
    ("png", "image/png"),
    ("proto", "text/x-protobuf"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("rst", "text/x-rst"),
    ("scala", "text/x-scala"),
    ("sh", "application/x-sh"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("swift", "text/x-swift"),
    ("tex", "text/x-tex"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("tsx", "text/x-typescript"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// Whether a file, named from its root, may be handed out: no part is hidden, and it is not named like a key.
pub(super) fn is_served(inside: &Path) -> bool {
    inside
        .components()
        .all(|part| part.as_os_str().to_str().is_some_and(is_plain))
}

fn is_plain(name: &str) -> bool {
    let name = name.to_lowercase();
    let ending = Path::new(&name).extension().and_then(OsStr::to_str);
    !name.starts_with('.')
        && !ending.is_some_and(|ending| KEY_ENDINGS.contains(&ending))
        && !KEY_NAMES.iter().any(|beginning| name.starts_with(beginning))
}

/// The MIME type by the ending of the name.
pub(super) fn mime_type(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_lowercase();
    let found = MIME_TYPES.binary_search_by(|(own, _)| (*own).cmp(&ending));
    found.ok().map(|at| MIME_TYPES[at].1)
}

/// Bytes as text, or as they were when they are none. Of a part of a file, characters that were cut are left out.
pub(super) fn text_of(mut bytes: Vec<u8>, is_part: bool) -> Result<String, Vec<u8>> {
    if is_part {
        let start = bytes
            .iter()
            .take(3)
            .take_while(|byte| *byte & 0b1100_0000 == 0b1000_0000)
            .count();
        let rest = &bytes[start..];
        let end = match std::str::from_utf8(rest) {
            Ok(_) => rest.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return Err(bytes),
        };
        bytes = rest[..end].to_vec();
    }
    if bytes.contains(&0) {
        return Err(bytes);
    }
    String::from_utf8(bytes).map_err(|error| error.into_bytes())
}

/// Whether a file is worth listing to somebody who reads: text by its name, else by its first bytes.
pub(super) fn is_text(path: &Path) -> bool {
    match mime_type(path) {
        Some(kind) => {
            !["image/gif", "image/jpeg", "image/png", "image/webp"].contains(&kind) && !is_packed(kind)
        }
        None => begins_as_text(path).unwrap_or(false),
    }
}

fn is_packed(kind: &str) -> bool {
    [
        "application/gzip",
        "application/pdf",
        "application/wasm",
        "application/zip",
    ]
    .contains(&kind)
}

fn begins_as_text(path: &Path) -> std::io::Result<bool> {
    use std::io::Read as _;
    let mut first = Vec::new();
    std::fs::File::open(path)?.take(1_024).read_to_end(&mut first)?;
    Ok(text_of(first, true).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_hidden_files_are_not_served() {
        for name in [
            ".env",
            ".git/config",
            "a/.ssh/known_hosts",
            "id_rsa",
            "deep/id_ed25519.pub",
            "server.PEM",
            "tls.key",
            "credentials",
            "credentials.json",
            "secrets.toml",
            ".netrc",
            "terraform.tfstate",
            "a/.hidden/b.md",
        ] {
            assert!(!is_served(Path::new(name)), "{name}");
        }
        for name in [
            "README.md",
            "src/keyboard.rs",
            "docs/secretary.md",
            "a.b/c",
            "identity.md",
        ] {
            assert!(is_served(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn endings_are_sorted_for_the_search() {
        assert!(MIME_TYPES.is_sorted());
        assert_eq!(mime_type(Path::new("a/B.MD")), Some("text/markdown"));
        assert_eq!(mime_type(Path::new("Makefile")), None);
    }

    #[test]
    fn a_part_of_a_text_loses_only_characters_that_were_cut() {
        let bytes = "äöü".as_bytes();
        assert_eq!(text_of(bytes[1..5].to_vec(), true).unwrap(), "ö");
        assert_eq!(text_of(bytes[1..5].to_vec(), false).unwrap_err(), &bytes[1..5]);
        assert!(text_of(vec![0xff, 0xfe, 0x41], true).is_err());
        assert!(text_of(b"a\0b".to_vec(), false).is_err());
    }
}
