//! What a version 2 report looks like: which buckets it has, and which fields their entries have.
//!
//! A report that is not of this shape is refused, as the public tool refuses it: a merge that keeps what it does not
//! understand would write reports that nobody can read.

use serde_json::{Map, Value};

const SOURCES: &str = "https://awslabs.github.io/duvet/v2/sources.json#";
const ANNOTATIONS: &str = "https://awslabs.github.io/duvet/v2/annotations.json#";

/// One kind of entries: its bucket, the fields each entry has, and those it may have.
struct Kind {
    bucket: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

const KINDS: [(&str, &str, &[Kind]); 2] = [
    (
        "sources",
        SOURCES,
        &[
            Kind {
                bucket: "inline",
                required: &["file_name", "contents"],
                optional: &[],
            },
            Kind {
                bucket: "linked",
                required: &["file_name"],
                optional: &["repository"],
            },
        ],
    ),
    (
        "annotations",
        ANNOTATIONS,
        &[
            Kind {
                bucket: "specification",
                required: &["source", "format"],
                optional: &["title", "url"],
            },
            Kind {
                bucket: "section",
                required: &["source", "short_name", "long_name"],
                optional: &[],
            },
            Kind {
                bucket: "requirement",
                required: &["source", "origin", "level"],
                optional: &["coverage"],
            },
            Kind {
                bucket: "cite",
                required: &["source", "target", "type", "level"],
                optional: &["comment", "feature", "tracking_issue", "tags"],
            },
        ],
    ),
];

const LEVELS: [&str; 4] = ["AUTO", "MAY", "SHOULD", "MUST"];

//= specs/duvet.md#merge
//# A report of another shape MUST be refused, and every bucket MUST be in the merged one.
/// What is wrong with the shape of a report. Buckets nobody knows are left as they are.
pub(super) fn check(report: &Map<String, Value>) -> Result<(), String> {
    for (field, prefix, kinds) in KINDS {
        let buckets = report
            .get(field)
            .and_then(Value::as_object)
            .ok_or_else(|| format!("has no `{field}`"))?;
        for kind in kinds {
            let entries = buckets.get(&format!("{prefix}{}", kind.bucket));
            for (id, entry) in entries.and_then(Value::as_object).into_iter().flatten() {
                kind.check(id, entry)?;
            }
        }
    }
    Ok(())
}

impl Kind {
    fn check(&self, id: &str, entry: &Value) -> Result<(), String> {
        let bucket = self.bucket;
        let fields = entry
            .as_object()
            .ok_or_else(|| format!("has a {bucket} `{id}` that is no object"))?;
        let is_known = |name: &str| self.required.contains(&name) || self.optional.contains(&name);
        if let Some(unknown) = fields.keys().find(|name| !is_known(name)) {
            return Err(format!(
                "has a {bucket} `{id}` with the unknown field `{unknown}`"
            ));
        }
        if let Some(missing) = self.required.iter().find(|name| !fields.contains_key(**name)) {
            return Err(format!("has a {bucket} `{id}` without `{missing}`"));
        }
        match fields
            .get("level")
            .map(|level| level.as_str().unwrap_or_default())
        {
            Some(level) if !LEVELS.contains(&level) => {
                Err(format!("has a {bucket} `{id}` of the unknown level `{level}`"))
            }
            _ => Ok(()),
        }
    }
}

/// A report as it is written: every bucket is there, and what is empty and may be left out is left out.
pub(super) fn complete(report: &mut Map<String, Value>) {
    for (field, prefix, kinds) in KINDS {
        let Some(buckets) = report.get_mut(field).and_then(Value::as_object_mut) else {
            continue;
        };
        for kind in kinds {
            let entries = buckets
                .entry(format!("{prefix}{}", kind.bucket))
                .or_insert_with(|| Value::Object(Map::new()));
            let entries = entries.as_object_mut().into_iter().flatten();
            for fields in entries.filter_map(|(_, entry)| entry.as_object_mut()) {
                fields
                    .retain(|name, value| !(matches!(name.as_str(), "coverage" | "tags") && is_empty(value)));
            }
        }
    }
    report.retain(|name, value| name != "repositories" || !is_empty(value));
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
