//! Several version 2 reports as one.
//!
//! Things with the same id are the same thing, so a merge is a union; the order of the inputs does not matter. What
//! makes a thing what it is has to agree, what is said about it beside may differ and is settled by a fixed rule.

mod shape;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The merged report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The report as JSON.
    pub report: Vec<u8>,
    /// Differences that were settled by rule.
    pub warnings: Vec<String>,
}

const FIELDS: [&str; 5] = ["version", "issue_links", "repositories", "sources", "annotations"];
/// Said beside: the smallest text wins.
const SOFT: [&str; 3] = ["comment", "feature", "tracking_issue"];

/// Merges reports, each with the name it is called by in messages. The error says what cannot be joined.
//= specs/duvet.md#merge
//# A merge MUST give the same report whatever the order of its inputs.
pub fn merge(inputs: &[(&str, &str)]) -> Result<Merged, String> {
    let mut merged = Map::new();
    let mut warnings = Vec::new();
    let mut unowned: BTreeSet<String> = BTreeSet::new();
    for (name, text) in inputs {
        let report = read(name, text)?;
        refuse_shared(name, &report, &mut unowned)?;
        for (key, value) in report {
            match merged.get_mut(&key) {
                None => {
                    merged.insert(key, value);
                }
                Some(known) => join(known, value, &mut Path::new(name, &key, &mut warnings))?,
            }
        }
    }
    shape::complete(&mut merged);
    let report = serde_json::to_vec_pretty(&Ordered(&Value::Object(merged))).map_err(|e| e.to_string())?;
    Ok(Merged { report, warnings })
}

fn read(name: &str, text: &str) -> Result<Map<String, Value>, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("`{name}` is not JSON: {e}"))?;
    let Value::Object(mut report) = value else {
        return Err(format!("`{name}` is no report"));
    };
    if let Some(unknown) = report.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        return Err(format!("`{name}` has an unknown field `{unknown}`"));
    }
    match report.get("version").and_then(Value::as_str) {
        Some("2.0") => {}
        Some(version) => {
            return Err(format!(
                "`{name}` is of version {version}; only 2.0 can be merged"
            ));
        }
        None => {
            return Err(format!(
                "`{name}` does not say its version; only 2.0 can be merged"
            ));
        }
    }
    shape::check(&report).map_err(|problem| format!("`{name}` {problem}"))?;
    if let Some(links) = report.get_mut("issue_links").and_then(Value::as_array_mut) {
        links.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    Ok(report)
}

/// A file without a repository could be two different files in two reports.
fn refuse_shared(name: &str, report: &Map<String, Value>, seen: &mut BTreeSet<String>) -> Result<(), String> {
    let buckets = report.get("sources").and_then(Value::as_object);
    let linked = buckets
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.ends_with("#linked"))
        .map(|(_, value)| value);
    let mut new = BTreeSet::new();
    for (id, source) in linked.filter_map(Value::as_object).flatten() {
        if source.get("repository").is_some() {
            continue;
        }
        if seen.contains(id) {
            let file = source.get("file_name").and_then(Value::as_str).unwrap_or(id);
            return Err(format!(
                "`{file}` of `{name}` has no repository and is in another input too; set a blob-link"
            ));
        }
        new.insert(id.clone());
    }
    seen.append(&mut new);
    Ok(())
}

/// Where in a report something is, for messages.
struct Path<'a> {
    input: &'a str,
    keys: Vec<String>,
    warnings: &'a mut Vec<String>,
}

impl<'a> Path<'a> {
    fn new(input: &'a str, key: &str, warnings: &'a mut Vec<String>) -> Self {
        Self {
            input,
            keys: vec![key.to_owned()],
            warnings,
        }
    }

    fn show(&self) -> String {
        self.keys.join("/")
    }
}

fn join(known: &mut Value, other: Value, path: &mut Path<'_>) -> Result<(), String> {
    if *known == other {
        return Ok(());
    }
    let key = path.keys.last().cloned().unwrap_or_default();
    match (known, other) {
        // A file of a repository is another file than one of none.
        (Value::Object(known), Value::Object(other))
            if known.contains_key("file_name")
                && known.contains_key("repository") != other.contains_key("repository") =>
        {
            Err(format!(
                "`{}` and another input disagree on the repository of {}",
                path.input,
                path.show()
            ))
        }
        (Value::Object(known), Value::Object(other)) => {
            for (key, value) in other {
                join_key(known, key, value, path)?;
            }
            Ok(())
        }
        (Value::Array(known), Value::Array(other)) if key == "tags" || key == "issue_links" => {
            known.extend(other);
            sort(known);
            Ok(())
        }
        (Value::Array(known), Value::Array(other)) if path.keys.iter().any(|key| key == "coverage") => {
            known.extend(other);
            known.sort_by_key(|range| (range["start"].as_u64(), range["end"].as_u64()));
            known.dedup();
            Ok(())
        }
        (Value::String(known), Value::String(other)) if SOFT.contains(&key.as_str()) => {
            path.warnings.push(format!(
                "`{}` says {} differently; the smaller text is kept",
                path.input,
                path.show()
            ));
            if other < *known {
                *known = other;
            }
            Ok(())
        }
        (known, other) => Err(format!(
            "`{}` says {} is {other}, another input says {known}",
            path.input,
            path.show()
        )),
    }
}

fn join_key(
    known: &mut Map<String, Value>,
    key: String,
    value: Value,
    path: &mut Path<'_>,
) -> Result<(), String> {
    path.keys.push(key.clone());
    let result = match known.get_mut(&key) {
        Some(old) => join(old, value, path),
        None => {
            let mut value = value;
            if let Some(tags) = value.as_array_mut().filter(|_| key == "tags") {
                sort(tags);
            }
            known.insert(key, value);
            Ok(())
        }
    };
    path.keys.pop();
    result
}

fn sort(values: &mut Vec<Value>) {
    values.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    values.dedup();
}

/// A value whose known fields stand in the order reports have them, and all others by name.
struct Ordered<'a>(&'a Value);

const ORDER: [&str; 24] = [
    "version",
    "issue_links",
    "repositories",
    "sources",
    "annotations",
    "source",
    "origin",
    "target",
    "src",
    "start",
    "end",
    "line",
    "ranges",
    "type",
    "title",
    "format",
    "url",
    "short_name",
    "level",
    "coverage",
    "comment",
    "feature",
    "tracking_issue",
    "tags",
];

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(name, _)| (rank(name), name.as_str()));
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, &Ordered(value))?;
                }
                map.end()
            }
            plain => plain.serialize(serializer),
        }
    }
}

fn rank(name: &str) -> usize {
    const BUCKETS: [&str; 6] = [
        "#inline",
        "#linked",
        "#specification",
        "#section",
        "#requirement",
        "#cite",
    ];
    let bucket = BUCKETS
        .iter()
        .position(|bucket| name.ends_with(bucket))
        .filter(|_| name.contains("://"));
    let (own, others) = match name {
        "file_name" => (Some(8), None),
        "contents" | "repository" => (Some(9), None),
        "long_name" => (Some(18), None),
        _ => (ORDER.iter().position(|known| *known == name), bucket),
    };
    own.or(others).unwrap_or(usize::MAX)
}
