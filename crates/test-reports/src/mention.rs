//! Ids that reports name: in properties, labels, tags and documentation, each runner in its own way.

use serde::{Deserialize, Serialize};

/// An id a test names, as it stands there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mention {
    /// The id.
    pub id: String,
    /// What named it: the property, the label, the tag.
    pub by: String,
}

/// Properties that name ids: our own, S-CORE's, Xray's and Polarion's. Case does not matter.
const PROPERTIES: &[&str] = &[
    "requirement",
    "requirements",
    "verifies",
    "partiallyverifies",
    "fullyverifies",
    "test_key",
    "polarion-testcase-id",
];

/// Ids of one test at most.
const MAX_MENTIONS: usize = 1_000;

/// The ids a property names, if it is one that does.
pub(crate) fn of_property(name: &str, value: &str, mentions: &mut Vec<Mention>) {
    let lower = name.trim().to_ascii_lowercase();
    if PROPERTIES.contains(&lower.as_str()) {
        of_list(name.trim(), value, mentions);
    }
}

/// The ids of a list, however its parts are kept apart.
pub(crate) fn of_list(by: &str, value: &str, mentions: &mut Vec<Mention>) {
    let is_between = |c: char| c == ',' || c == ';' || c.is_whitespace();
    for id in value.split(is_between) {
        let id = id.trim_matches(['[', ']', '"', '\'', '(', ')']);
        push(by, id, mentions);
    }
}

/// The ids of a tag such as `requirement:REQ-1`.
pub(crate) fn of_tag(tag: &str, mentions: &mut Vec<Mention>) {
    if let Some((name, id)) = tag.split_once([':', '='])
        && !id.is_empty()
    {
        of_property(name, id, mentions);
    }
}

/// The ids of `@relation(REQ-A, REQ-B, scope=function)` in a documentation.
pub(crate) fn of_relations(text: &str, mentions: &mut Vec<Mention>) {
    for rest in text.split("@relation(").skip(1) {
        let inside = rest.split(')').next().unwrap_or_default();
        for part in inside
            .split(',')
            .map(str::trim)
            .filter(|part| !part.contains('='))
        {
            push("@relation", part, mentions);
        }
    }
}

/// The ids in brackets of a description: `adds up [REQ-1, REQ-2]`.
pub(crate) fn of_brackets(text: &str, mentions: &mut Vec<Mention>) {
    for rest in text.split('[').skip(1) {
        let Some((inside, _)) = rest.split_once(']') else {
            continue;
        };
        let parts: Vec<&str> = inside.split([',', ' ']).filter(|part| !part.is_empty()).collect();
        if !parts.is_empty() && parts.iter().all(|part| looks_like_id(part)) {
            for part in parts {
                push("[…]", part, mentions);
            }
        }
    }
}

/// Capital letters, a hyphen and a number: `REQ-12`.
fn looks_like_id(text: &str) -> bool {
    text.rsplit_once('-').is_some_and(|(name, number)| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
    })
}

fn push(by: &str, id: &str, mentions: &mut Vec<Mention>) {
    let is_known = mentions.iter().any(|known| known.id == id);
    if !id.is_empty() && !is_known && mentions.len() < MAX_MENTIONS {
        mentions.push(Mention {
            id: id.to_owned(),
            by: by.to_owned(),
        });
    }
}
