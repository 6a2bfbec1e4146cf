//! Findings of files as text, JSON and SARIF.

use serde_json::{Value, json};

use crate::finding::{Advice, Finding, Tier};
use crate::rule::RULES;

/// What was found in one file.
#[derive(Clone, Debug)]
pub struct FileFindings<'a> {
    /// Its name as it was given; `-` for standard input.
    pub file: &'a str,
    /// What it holds.
    pub text: &'a str,
    /// What was found, in characters of the whole file.
    pub findings: Vec<Finding>,
}

/// A place for people: line and column, both from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

/// Places of a text, found fast: the character each line begins at.
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Of a text.
    pub fn of(text: &str) -> Self {
        let mut starts = vec![0];
        starts.extend(
            text.chars()
                .enumerate()
                .filter(|(_, c)| *c == '\n')
                .map(|(at, _)| at + 1),
        );
        Self { starts }
    }

    /// Where a character stands.
    pub fn position(&self, character: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= character).max(1);
        Position {
            line,
            column: character - self.starts[line - 1] + 1,
        }
    }
}

/// One line for each finding: `file:line:column: tier L101 message (question)`.
pub fn text(files: &[FileFindings<'_>]) -> String {
    let mut out = String::new();
    for file in files {
        let lines = Lines::of(file.text);
        for finding in &file.findings {
            let at = lines.position(finding.span.start);
            let advice = match &finding.advice {
                Advice::Fix(edit) if edit.replacement.is_empty() => "can be left out".to_owned(),
                Advice::Fix(edit) => format!("write \"{}\"", edit.replacement),
                Advice::Question(question) => question.clone(),
            };
            out.push_str(&format!(
                "{}:{}:{}: {} {} {}: {}. {advice}\n",
                file.file,
                at.line,
                at.column,
                finding.tier.name(),
                finding.rule,
                finding.name,
                finding.message
            ));
        }
    }
    out
}

/// Everything, for programs.
pub fn json(files: &[FileFindings<'_>]) -> Value {
    let of_file = |file: &FileFindings<'_>| {
        let lines = Lines::of(file.text);
        let findings: Vec<Value> = file
            .findings
            .iter()
            .map(|finding| finding_json(finding, &lines))
            .collect();
        json!({"file": file.file, "findings": findings})
    };
    json!({
        "files": files.iter().map(of_file).collect::<Vec<_>>(),
        "counts": counts(files.iter().flat_map(|file| &file.findings)),
    })
}

fn finding_json(finding: &Finding, lines: &Lines) -> Value {
    let (start, end) = (
        lines.position(finding.span.start),
        lines.position(finding.span.end),
    );
    let mut value = json!({
        "rule": finding.rule,
        "name": finding.name,
        "tier": finding.tier,
        "message": finding.message,
        "start": {"line": start.line, "column": start.column},
        "end": {"line": end.line, "column": end.column},
        "span": finding.span,
    });
    match &finding.advice {
        Advice::Fix(edit) => value["fix"] = json!(edit),
        Advice::Question(question) => value["question"] = json!(question),
    }
    value
}

/// How many of each tier.
pub fn counts<'a>(findings: impl Iterator<Item = &'a Finding>) -> Value {
    let mut numbers = [0_usize; 3];
    for finding in findings {
        numbers[finding.tier as usize] += 1;
    }
    json!({"error": numbers[2], "warning": numbers[1], "information": numbers[0]})
}

/// SARIF 2.1.0, as code hosts and editors read it.
pub fn sarif(files: &[FileFindings<'_>]) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.number,
                "name": rule.name,
                "shortDescription": {"text": rule.reason},
                "defaultConfiguration": {"level": level(rule.tier)},
                "help": {"text": format!("Instead of: {} Write: {}", rule.bad, rule.good)},
            })
        })
        .collect();
    let results: Vec<Value> = files.iter().flat_map(sarif_results).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "spexus-lint", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn sarif_results(file: &FileFindings<'_>) -> Vec<Value> {
    let lines = Lines::of(file.text);
    let region = |span: crate::Span| {
        let (start, end) = (lines.position(span.start), lines.position(span.end));
        json!({"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column})
    };
    let result = |finding: &Finding| {
        let mut value = json!({
            "ruleId": finding.rule,
            "level": level(finding.tier),
            "message": {"text": match &finding.advice {
                Advice::Question(question) => format!("{}. {question}", finding.message),
                Advice::Fix(_) => finding.message.clone(),
            }},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": file.file}, "region": region(finding.span)}}],
            "partialFingerprints": {"spexusLint/v1": crate::fingerprint(file.text, finding)},
        });
        if let Some(edit) = finding.fix() {
            value["fixes"] = json!([{"artifactChanges": [{
                "artifactLocation": {"uri": file.file},
                "replacements": [{"deletedRegion": region(edit.span), "insertedContent": {"text": edit.replacement}}],
            }]}]);
        }
        value
    };
    file.findings.iter().map(result).collect()
}

fn level(tier: Tier) -> &'static str {
    match tier {
        Tier::Error => "error",
        Tier::Warning => "warning",
        Tier::Information => "note",
    }
}
