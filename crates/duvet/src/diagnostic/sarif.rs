//! Diagnostics for code hosts: SARIF 2.1.0.

use super::{Code, Diagnostic, Severity};
use serde_json::{Value, json};

/// All findings as one SARIF log.
pub fn render(diagnostics: &[&Diagnostic], version: &str) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "duvet", "version": version, "rules": rules() } },
            "columnKind": "unicodeCodePoints",
            "results": diagnostics.iter().map(|d| result(d)).collect::<Vec<_>>(),
        }],
    })
}

fn rules() -> Vec<Value> {
    let rule = |code: &Code| {
        json!({
            "id": code.name(),
            "shortDescription": { "text": code.summary() },
            "defaultConfiguration": { "level": code.severity().name() },
        })
    };
    Code::ALL.iter().map(rule).collect()
}

fn result(diagnostic: &Diagnostic) -> Value {
    let mut text = diagnostic.message.clone();
    for (label, more) in [("", &diagnostic.help), ("write: ", &diagnostic.suggestion)] {
        if let Some(more) = more {
            text.push_str(&format!("\n{label}{more}"));
        }
    }
    let mut region = json!({ "startLine": diagnostic.start.line, "startColumn": diagnostic.start.column });
    if let Some(end) = diagnostic.end.filter(|end| *end > diagnostic.start) {
        region["endLine"] = json!(end.line);
        region["endColumn"] = json!(end.column);
    }
    let level = match diagnostic.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    json!({
        "ruleId": diagnostic.code.name(),
        "level": level,
        "message": { "text": text },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": diagnostic.file.replace(' ', "%20") },
                "region": region,
            }
        }],
    })
}
