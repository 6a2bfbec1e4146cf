//! What a check says, in the forms that programs around it read.

use crate::failure::Outcome;
use clap::ValueEnum;
use serde_json::{Value, json};
use spexus_domain::trace::Rung;
use spexus_service::evidence::{CheckReport, TraceGap};
use std::collections::HashSet;
use std::fmt::Write as _;

/// The forms a check is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckForm {
    /// For people; with --json, one JSON value
    Text,
    /// SARIF, for code scanning
    Sarif,
    /// JUnit XML with one case for each requirement
    Junit,
    /// Markdown, for a pull request
    Markdown,
    /// A badge, as SVG
    Badge,
}

pub(super) fn text(report: &CheckReport) -> String {
    let states: Vec<String> = report
        .states
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    let mut head = format!("{} requirements: {}.", report.checked, states.join(", "));
    for line in bounds(report) {
        let _ = write!(head, "\n{line}");
    }
    if report.holds {
        let level = report.level.name();
        return match &report.baseline {
            Some(_) => format!("{head}\nNo gap is new."),
            None => format!("{head}\nEvery requirement is {level} or better."),
        };
    }
    let mut text = format!("{head}\n{} below {}:", report.gaps.len(), report.level.name());
    for gap in &report.gaps {
        let _ = write!(
            text,
            "\n  {} {} ({}",
            gap.reference_id,
            gap.title,
            gap.state.name()
        );
        for flag in &gap.flags {
            let _ = write!(text, ", {}", flag.name());
        }
        let _ = write!(text, ")\n    {}", gap.weakest);
    }
    text
}

/// What the check was bounded by, in words.
fn bounds(report: &CheckReport) -> Vec<String> {
    let changed = report
        .changed_since
        .as_ref()
        .map(|commit| format!("Only what changes since {commit} can have touched was looked at."));
    let before = report.baseline.as_ref().map(|name| {
        let before = report.gaps_before.unwrap_or(0);
        format!("Gaps that were there at the baseline {name}, and are not told again: {before}.")
    });
    changed.into_iter().chain(before).collect()
}

pub(super) fn document(form: CheckForm, report: &CheckReport) -> Outcome<String> {
    Ok(match form {
        CheckForm::Text => text(report),
        CheckForm::Sarif => serde_json::to_string_pretty(&sarif(report)).map_err(std::io::Error::from)?,
        CheckForm::Junit => junit(report),
        CheckForm::Markdown => markdown(report),
        CheckForm::Badge => badge(report),
    })
}

fn sarif(report: &CheckReport) -> Value {
    let rules: Vec<Value> = Rung::ALL
        .into_iter()
        .filter(|rung| *rung < report.level)
        .map(|rung| json!({"id": format!("trace/{}", rung.name()), "shortDescription": {"text": format!("A requirement that is only {}", rung.name())}}))
        .collect();
    let results: Vec<Value> = report
        .gaps
        .iter()
        .map(|gap| {
            let message = format!("{} {}: {}", gap.reference_id, gap.title, gap.weakest);
            json!({
                "ruleId": format!("trace/{}", gap.state.name()),
                "level": "error",
                "message": {"text": message},
                "locations": [{"logicalLocations": [{"name": gap.reference_id, "kind": "requirement"}]}],
                "partialFingerprints": {"requirement/v1": format!("{}/{}", report.project, gap.reference_id)},
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "spexus trace", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
            "results": results,
        }],
    })
}

/// A gap fails; one that is waived, or was there at the baseline, is skipped, so that nobody takes it for one that passed.
fn junit(report: &CheckReport) -> String {
    let (tests, failures) = (report.all.len(), report.gaps.len());
    let gaps: HashSet<i64> = report.gaps.iter().map(|gap| gap.reference_id.number()).collect();
    let is_gap = |row: &TraceGap| gaps.contains(&row.reference_id.number());
    let is_excused = |row: &TraceGap| row.state < report.level && !is_gap(row);
    let skipped = report.all.iter().filter(|row| is_excused(row)).count();
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"");
    let project = escaped(&report.project);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"requirements\" {counts}>\n  \
         <testsuite name=\"{project}\" {counts}>\n"
    );
    for row in &report.all {
        let name = escaped(&title(row));
        let weakest = escaped(&row.weakest);
        let _ = write!(text, "    <testcase classname=\"{project}\" name=\"{name}\"");
        let _ = match () {
            () if is_gap(row) => writeln!(
                text,
                ">\n      <failure message=\"{weakest}\" type=\"{}\"/>\n    </testcase>",
                row.state.name()
            ),
            () if is_excused(row) => {
                writeln!(text, ">\n      <skipped message=\"{weakest}\"/>\n    </testcase>")
            }
            () => writeln!(text, "/>"),
        };
    }
    text.push_str("  </testsuite>\n</testsuites>");
    text
}

fn markdown(report: &CheckReport) -> String {
    let sign = if report.holds { "✅" } else { "❌" };
    let reached = reached(report);
    let mut text = format!(
        "### {sign} Requirements: {reached} of {} are {} or better\n",
        report.checked,
        report.level.name()
    );
    for line in bounds(report) {
        let _ = write!(text, "\n{}\n", cell(&line));
    }
    if !report.gaps.is_empty() {
        text.push_str("\n| requirement | state | what to do |\n|---|---|---|\n");
    }
    for gap in report.gaps.iter().take(MAX_MARKDOWN_ROWS) {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            cell(&title(gap)),
            state(gap),
            cell(&gap.weakest)
        );
    }
    if report.gaps.len() > MAX_MARKDOWN_ROWS {
        let _ = writeln!(text, "\nand {} more.", report.gaps.len() - MAX_MARKDOWN_ROWS);
    }
    text.trim_end().to_owned()
}

/// How many requirements are no gaps, neither new nor old.
fn reached(report: &CheckReport) -> usize {
    report.checked - report.gaps.len() - report.gaps_before.unwrap_or(0)
}

/// Rows of a table in a pull request; nobody reads more.
const MAX_MARKDOWN_ROWS: usize = 100;

fn title(gap: &TraceGap) -> String {
    format!("{} {}", gap.reference_id, gap.title)
}

fn state(gap: &TraceGap) -> String {
    let flags = gap.flags.iter().map(|flag| format!(", {}", flag.name()));
    format!("{}{}", gap.state.name(), flags.collect::<String>())
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn badge(report: &CheckReport) -> String {
    let reached = reached(report);
    let percent = (reached * 100).checked_div(report.checked).unwrap_or(0);
    let colour = match percent {
        100 => "#3a7d34",
        80.. => "#8a7a12",
        _ => "#a33a2a",
    };
    let (label, value) = (
        format!("requirements {}", report.level.name()),
        format!("{percent}%"),
    );
    let (left, right) = (label.len() * 7 + 12, value.len() * 8 + 12);
    let width = left + right;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"20\" role=\"img\" aria-label=\"{label}: {value}\">\
         <title>{label}: {value}</title><rect width=\"{left}\" height=\"20\" fill=\"#444\"/>\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" text-anchor=\"middle\">\
         <text x=\"{}\" y=\"14\">{label}</text><text x=\"{}\" y=\"14\">{value}</text></g></svg>",
        left / 2,
        left + right / 2
    )
}

/// Text as it stands in XML and HTML, in elements and in attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}
