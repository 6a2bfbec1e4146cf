//! LOBSTER: requirements, implementation and activities, each in a file of its own schema. A report of it is made by naming the three
//! in a policy and running `lobster-report`.

use serde_json::{Value, json};
use spexus_domain::trace::{TestStanding, TraceFlag};
use spexus_service::evidence::{MatrixRow, TraceMatrix};
use std::collections::BTreeMap;

pub(super) fn files(matrix: &TraceMatrix) -> [(&'static str, Value); 3] {
    let requirements = matrix.rows.iter().map(requirement).collect();
    [
        (
            "requirements.lobster",
            document("lobster-req-trace", 4, requirements),
        ),
        (
            "implementation.lobster",
            document("lobster-imp-trace", 3, implementations(matrix)),
        ),
        (
            "activity.lobster",
            document("lobster-act-trace", 3, activities(matrix)),
        ),
    ]
}

fn document(schema: &str, version: u32, data: Vec<Value>) -> Value {
    json!({"data": data, "generator": "spexus", "schema": schema, "version": version})
}

/// What every item has.
fn item(tag: &str, name: &str, location: &Value) -> Value {
    json!({
        "tag": tag, "name": name, "location": location,
        "messages": [], "just_up": [], "just_down": [], "just_global": [],
    })
}

fn requirement(row: &MatrixRow) -> Value {
    let standing = &row.standing;
    // Where it comes from a sentence, that is where people find it; else it is in Spexus alone.
    let location = match row.sentences.first() {
        Some(sentence) => at(&sentence.path, sentence.line),
        None => at(&format!("spexus:{}", standing.reference_id), 0),
    };
    let mut value = item(&requirement_tag(row), &standing.title, &location);
    value["framework"] = "Spexus".into();
    value["kind"] = "requirement".into();
    value["text"] = match row.text.as_str() {
        "" => standing.title.as_str().into(),
        text => text.into(),
    };
    value["status"] = standing.state.name().into();
    if standing.flags.contains(&TraceFlag::Waived) {
        value["just_down"] = json!(["waived"]);
    }
    value
}

fn implementations(matrix: &TraceMatrix) -> Vec<Value> {
    let mut found: BTreeMap<String, (Value, Vec<String>)> = BTreeMap::new();
    for row in &matrix.rows {
        for span in &row.spans {
            let tag = format!("imp {}:{}", plain(&span.path), span.line);
            let name = match span.symbol.as_str() {
                "" => &span.path,
                symbol => symbol,
            };
            let begun = found.entry(tag.clone()).or_insert_with(|| {
                let mut value = item(&tag, name, &at(&span.path, span.line));
                value["language"] = language(&span.path).into();
                value["kind"] = "code".into();
                (value, Vec::new())
            });
            begun.1.push(requirement_tag(row));
        }
    }
    with_references(found)
}

fn activities(matrix: &TraceMatrix) -> Vec<Value> {
    let mut found: BTreeMap<String, (Value, Vec<String>)> = BTreeMap::new();
    for row in &matrix.rows {
        for test in &row.tests {
            let tag = format!("act {}", plain(&test.name));
            let begun = found.entry(tag.clone()).or_insert_with(|| {
                let location = match test.path.as_str() {
                    "" => at(&test.name, 0),
                    path => at(path, test.line),
                };
                let mut value = item(&tag, &test.name, &location);
                value["framework"] = "Spexus".into();
                value["kind"] = "test".into();
                value["status"] = status(test.standing).into();
                (value, Vec::new())
            });
            begun.1.push(requirement_tag(row));
        }
    }
    with_references(found)
}

fn with_references(found: BTreeMap<String, (Value, Vec<String>)>) -> Vec<Value> {
    let items = found.into_values().map(|(mut value, references)| {
        value["refs"] = references.into();
        value
    });
    items.collect()
}

/// The three words LOBSTER has. What ran elsewhere, or by an agent's word, did not run.
fn status(standing: TestStanding) -> &'static str {
    match standing {
        TestStanding::Passed => "ok",
        TestStanding::Failed | TestStanding::Error | TestStanding::Flaky => "fail",
        TestStanding::Skipped
        | TestStanding::NotRun
        | TestStanding::Vanished
        | TestStanding::Stale
        | TestStanding::Dirty
        | TestStanding::Reported
        | TestStanding::Ambiguous => "not run",
    }
}

fn requirement_tag(row: &MatrixRow) -> String {
    format!("req {}", row.standing.reference_id)
}

/// A tag takes what stands behind `@` for a version.
fn plain(text: &str) -> String {
    text.replace('@', "%40")
}

fn at(file: &str, line: u32) -> Value {
    let line = (line > 0).then_some(line);
    json!({"kind": "file", "file": file, "line": line, "column": null})
}

fn language(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "rs" => "Rust",
        "py" => "Python",
        "ts" | "tsx" => "TypeScript",
        "js" | "jsx" | "mjs" => "JavaScript",
        "java" => "Java",
        "kt" => "Kotlin",
        "go" => "Go",
        "c" | "h" => "C",
        "cc" | "cpp" | "hpp" => "C++",
        "cs" => "C#",
        _ => "other",
    }
}
