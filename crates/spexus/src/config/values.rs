//! How values are read from what people write; `false` and `None` say that one is not allowed.

use spexus_domain::member::ProjectRole;
use spexus_domain::project;
use spexus_store::Durability;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

/// Words of a command at most.
const MAX_COMMAND_WORDS: usize = 64;

pub(super) fn put_if(field: &mut String, text: &str, fits: bool) -> bool {
    if fits {
        text.clone_into(field);
    }
    fits
}

pub(super) fn put_default_role(field: &mut ProjectRole, text: &str) -> bool {
    match project::default_role("projects.default_role", text) {
        Ok(role) => {
            *field = role;
            true
        }
        Err(_) => false,
    }
}

pub(super) fn put_durability(field: &mut Durability, text: &str) -> bool {
    *field = match text {
        "full" => Durability::PowerLoss,
        "normal" => Durability::ProcessCrash,
        _ => return false,
    };
    true
}

pub(super) fn put_parsed<T: FromStr>(field: &mut T, text: &str) -> bool {
    match text.parse() {
        Ok(value) => {
            *field = value;
            true
        }
        Err(_) => false,
    }
}

/// Absolute paths, separated by commas. Whether they exist is seen when the server starts.
pub(super) fn put_folders(field: &mut Vec<PathBuf>, text: &str) -> bool {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let paths: Vec<PathBuf> = parts.map(PathBuf::from).collect();
    let fits = paths.iter().all(|path| path.is_absolute());
    if fits {
        *field = paths;
    }
    fits
}

/// A program and its arguments, as a list in JSON: nothing is ever taken apart by a shell.
pub(super) fn put_command(field: &mut Vec<String>, text: &str) -> bool {
    if text.trim().is_empty() {
        field.clear();
        return true;
    }
    let Ok(words) = serde_json::from_str::<Vec<String>>(text) else {
        return false;
    };
    let fits = words.first().is_some_and(|program| !program.is_empty())
        && words.len() <= MAX_COMMAND_WORDS
        && !words.iter().any(|word| word.contains('\0'));
    if fits {
        *field = words;
    }
    fits
}

pub(super) fn command(words: &[String]) -> String {
    match words {
        [] => String::new(),
        words => serde_json::to_string(words).unwrap_or_default(),
    }
}

/// Names of hosts, without scheme, port or path, separated by commas.
pub(super) fn put_hosts(field: &mut Vec<String>, text: &str) -> bool {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let hosts: Vec<String> = parts.map(str::to_owned).collect();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let fits = hosts
        .iter()
        .all(|host| host.bytes().all(plain) || host.parse::<std::net::IpAddr>().is_ok());
    if fits {
        *field = hosts;
    }
    fits
}

pub(super) fn put_origins(field: &mut Vec<String>, text: &str) -> bool {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let origins: Vec<String> = parts.map(str::to_owned).collect();
    let fits = origins.iter().all(|origin| spexus_http::is_origin(origin));
    if fits {
        *field = origins;
    }
    fits
}

pub(super) fn folders(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    paths.join(",")
}

pub(super) fn take<T: FromStr + PartialOrd + Display>(
    field: &mut T,
    text: &str,
    range: std::ops::RangeInclusive<T>,
) -> bool {
    match text.replace('_', "").parse() {
        Ok(value) if range.contains(&value) => {
            *field = value;
            true
        }
        _ => false,
    }
}

pub(super) fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let bare_ipv6 = host.contains(':') && !host.starts_with('[');
    !host.is_empty() && !bare_ipv6 && port.parse::<u16>().is_ok() && !text.contains(char::is_whitespace)
}

pub(super) fn is_name(text: &str) -> bool {
    (1..=100).contains(&text.chars().count()) && !text.contains(char::is_control)
}

pub(super) fn is_semantic_version(text: &str) -> bool {
    semver::Version::parse(text).is_ok()
}

/// A level, or a list of levels for parts of the program.
pub(super) fn is_level(text: &str) -> bool {
    let level = |text: &str| ["off", "error", "warn", "info", "debug", "trace"].contains(&text);
    text.split(',')
        .map(|part| part.split_once('=').map_or(part, |(_, level)| level))
        .all(level)
}

pub(super) fn key(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut key = [0; 32];
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(key)
}
