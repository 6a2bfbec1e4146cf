//! Diagnostics for programs: one JSON document with counts and findings.

use super::{Diagnostic, Severity};
use serde_json::{Value, json};

/// All findings as one value.
pub fn render(diagnostics: &[&Diagnostic]) -> Value {
    let count = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    json!({
        "version": "1",
        "counts": {
            "error": count(Severity::Error),
            "warning": count(Severity::Warning),
            "note": count(Severity::Note),
        },
        "diagnostics": diagnostics,
    })
}
