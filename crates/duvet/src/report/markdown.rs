//! A summary for pull requests: what is done, what is missing, what is wrong.

use super::summary::{LEVELS, Row, rows, total};
use crate::analysis::Analysis;
use crate::diagnostic::{Diagnostic, Severity};
use crate::specification::keyword::Level;
use crate::status::State;
use std::fmt::Write;

/// How many requirements and findings are listed before the rest is only counted.
const MAX_LISTED: usize = 20;

/// The summary as Markdown.
// Writing to a string cannot fail; results of `write!` are dropped throughout.
pub fn render(analysis: &Analysis) -> String {
    let rows = rows(analysis);
    let sum = total(&rows);
    let all = sum.all();
    let mut out = format!(
        "## Traceability: {} of {} requirements done\n\n",
        all.done(),
        all.total
    );
    table(&mut out, &rows, &sum);
    missing(&mut out, analysis);
    findings(&mut out, &analysis.diagnostics);
    out
}

fn table(out: &mut String, rows: &[Row], sum: &Row) {
    out.push_str("| Specification | Requirements | Done | Missing test | Missing citation | Partial | To do | Uncited |\n");
    out.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
    let with_requirements = rows.iter().filter(|row| row.all().total > 0);
    for row in with_requirements.chain([sum]) {
        let all = row.all();
        let name = row.title.as_deref().unwrap_or(&row.specification);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            escape(name),
            all.total,
            all.done(),
            all.missing_test,
            all.missing_citation,
            all.partial,
            all.not_started,
            all.uncited
        );
    }
    out.push('\n');
    for (level, counts) in LEVELS
        .iter()
        .zip(&sum.levels)
        .filter(|(_, counts)| counts.total > 0)
    {
        let _ = writeln!(
            out,
            "- **{}**: {} of {}",
            level.name(),
            counts.done(),
            counts.total
        );
    }
}

fn missing(out: &mut String, analysis: &Analysis) {
    let open: Vec<_> = analysis
        .requirements
        .iter()
        .filter(|r| r.level == Level::Must)
        .filter(|r| !matches!(r.coverage.state(), State::Complete | State::Exception))
        .collect();
    if open.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n<details><summary>{} open MUST requirements</summary>\n",
        open.len()
    );
    for requirement in open.iter().take(MAX_LISTED) {
        let annotation = analysis.annotation(requirement.annotation);
        let target = &annotation.target;
        let section = target.section.as_deref().unwrap_or_default();
        let state = requirement.coverage.state().label();
        let _ = writeln!(
            out,
            "- `{}#{section}` ({state}): {}",
            target.specification,
            escape(&annotation.quote)
        );
    }
    if open.len() > MAX_LISTED {
        let _ = writeln!(out, "- … and {} more", open.len() - MAX_LISTED);
    }
    out.push_str("\n</details>\n");
}

fn findings(out: &mut String, diagnostics: &[Diagnostic]) {
    let shown: Vec<_> = diagnostics
        .iter()
        .filter(|d| d.severity > Severity::Note)
        .collect();
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n<details><summary>{}</summary>\n",
        crate::text::counted(shown.len(), "finding")
    );
    for diagnostic in shown.iter().take(MAX_LISTED) {
        let place = format!("{}:{}", diagnostic.file, diagnostic.start.line);
        let _ = writeln!(
            out,
            "- `{place}` **{}**: {}",
            diagnostic.code.name(),
            escape(&diagnostic.message)
        );
    }
    if shown.len() > MAX_LISTED {
        let _ = writeln!(out, "- … and {} more", shown.len() - MAX_LISTED);
    }
    out.push_str("\n</details>\n");
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
