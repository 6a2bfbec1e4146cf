//! What `reqstool export` writes: requirements, one verification case for each that has tests, annotations and results.

use serde_json::{Map, Value, json};
use spexus_domain::trace::TestStanding;
use spexus_service::evidence::{MatrixRow, TraceMatrix};

pub(super) fn document(matrix: &TraceMatrix) -> Value {
    let urn = matrix.check.project.as_str();
    let mut found = Found::default();
    for row in &matrix.rows {
        found.add(urn, row);
    }
    json!({
        "metadata": {"initial_urn": urn, "urn_parsing_order": [urn], "import_graph": {urn: []}, "filtered": false},
        "requirements": found.requirements,
        "svcs": found.cases,
        "mvrs": {},
        "annotations": {"implementations": found.implementations, "tests": found.tests},
        "test_results": found.results,
    })
}

#[derive(Default)]
struct Found {
    requirements: Map<String, Value>,
    cases: Map<String, Value>,
    implementations: Map<String, Value>,
    tests: Map<String, Value>,
    results: Map<String, Value>,
}

impl Found {
    fn add(&mut self, urn: &str, row: &MatrixRow) {
        let standing = &row.standing;
        let id = standing.reference_id.to_string();
        let key = format!("{urn}:{id}");
        let description = match row.text.as_str() {
            "" => &standing.title,
            text => text,
        };
        self.requirements.insert(
            key.clone(),
            json!({
                "urn": urn, "id": id, "title": standing.title, "description": description,
                "significance": significance(&format!("{} {}", standing.title, row.text)),
                "lifecycle": {"state": "effective", "reason": null},
                "implementation_type": if row.spans.is_empty() { "N/A" } else { "in-code" },
                "categories": ["functional-suitability"],
                "revision": revision(),
            }),
        );
        if !row.spans.is_empty() {
            let spans = row.spans.iter().map(|span| match span.symbol.as_str() {
                "" => annotation(&format!("{}:{}", span.path, span.line)),
                symbol => annotation(&format!("{}:{symbol}", span.path)),
            });
            self.implementations.insert(key.clone(), spans.collect());
        }
        if row.tests.is_empty() {
            return;
        }
        let case = format!("SVC_{id}");
        self.cases.insert(
            format!("{urn}:{case}"),
            json!({
                "urn": urn, "id": case, "title": format!("Tests of {id}"), "description": null,
                "verification": "automated-test", "instructions": null,
                "lifecycle": {"state": "effective", "reason": null},
                "revision": revision(), "requirement_ids": [key],
            }),
        );
        let tests = row.tests.iter().map(|test| annotation(&test.name));
        self.tests.insert(format!("{urn}:{case}"), tests.collect());
        for test in &row.tests {
            let result = json!({"fully_qualified_name": test.name, "status": status(test.standing)});
            self.results
                .insert(format!("{urn}:{}", test.name), json!([result]));
        }
    }
}

fn annotation(name: &str) -> Value {
    json!({"element_kind": "METHOD", "fully_qualified_name": name})
}

fn revision() -> Value {
    json!({"major": 1, "minor": 0, "patch": 0})
}

/// The strongest word it says, as RFC 2119 has them.
fn significance(text: &str) -> &'static str {
    let mut words = text.split(|c: char| !c.is_alphabetic());
    let says = |wanted: &[&str]| words.clone().any(|word| wanted.contains(&word));
    match () {
        () if says(&["MUST", "SHALL", "REQUIRED"]) => "shall",
        () if says(&["SHOULD", "RECOMMENDED"]) => "should",
        () if words.any(|word| matches!(word, "MAY" | "OPTIONAL")) => "may",
        () => "shall",
    }
}

/// The four words reqstool has. What does not count for a state is missing there.
fn status(standing: TestStanding) -> &'static str {
    match standing {
        TestStanding::Passed => "passed",
        TestStanding::Failed | TestStanding::Error | TestStanding::Flaky => "failed",
        TestStanding::Skipped => "skipped",
        TestStanding::NotRun
        | TestStanding::Vanished
        | TestStanding::Stale
        | TestStanding::Dirty
        | TestStanding::Reported
        | TestStanding::Ambiguous => "missing",
    }
}
