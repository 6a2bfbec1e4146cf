//! One page with everything in it: no script, no picture, nothing from elsewhere. What people wrote is text wherever it stands, and
//! the page's own policy lets it load nothing even where that failed.

use super::{about, evidence_of, flag_words};
use crate::commands::trace::output::escaped;
use spexus_domain::trace::{Rung, TraceFlag};
use spexus_service::evidence::{MatrixRow, TraceMatrix};
use std::fmt::Write as _;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1b1a;--soft:#5d5c58;--line:#d9d7d0;--ground:#fff;--bad:#a33a2a;--good:#2f6f2a}\
@media(prefers-color-scheme:dark){:root{--ink:#ecebe6;--soft:#a3a19a;--line:#3b3a37;--ground:#1b1b1a;--bad:#e58a7b;--good:#8cc486}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);max-width:70rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem;margin:0}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0}\
.soft{color:var(--soft)}table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem .35rem 0;\
border-bottom:1px solid var(--line);overflow-wrap:anywhere}article{border-top:1px solid var(--line);padding:1rem 0;break-inside:avoid}\
.bad{color:var(--bad)}.good{color:var(--good)}a{color:inherit}.n{text-align:right;font-variant-numeric:tabular-nums}\
.text{white-space:pre-wrap;overflow-wrap:anywhere}\
@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--ground:#fff}body{max-width:none;margin:0;font-size:10pt}thead{display:table-header-group}\
tr{break-inside:avoid}a{text-decoration:none}}";

//= specs/spexus.md#evidence
//# The report in HTML MUST need nothing but itself, and MUST show what people wrote as text.
pub(super) fn page(matrix: &TraceMatrix) -> String {
    let check = &matrix.check;
    let title = escaped(&format!("Traceability of {}", check.project));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<p class=\"soft\">{}</p>\n",
        escaped(&about(matrix))
    );
    let (tone, reached) = match check.holds {
        true => ("good", check.checked),
        false => ("bad", check.checked - check.gaps.len()),
    };
    let _ = writeln!(
        page,
        "<p><strong class=\"{tone}\">{reached} of {} requirements are {} or better, or waived.</strong></p>\n</header>",
        check.checked,
        check.level.name()
    );
    states(&mut page, matrix);
    gaps(&mut page, matrix);
    page.push_str("<h2>Requirements</h2>\n");
    for row in &matrix.rows {
        requirement(&mut page, row);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn states(page: &mut String, matrix: &TraceMatrix) {
    page.push_str("<h2>States</h2>\n<table><thead><tr><th>state</th><th class=\"n\">requirements</th></tr></thead><tbody>\n");
    for rung in Rung::ALL {
        let count = matrix.check.states.get(rung.name()).copied().unwrap_or(0);
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{count}</td></tr>",
            rung.name()
        );
    }
    page.push_str("</tbody></table>\n");
}

fn gaps(page: &mut String, matrix: &TraceMatrix) {
    let gaps: Vec<&MatrixRow> = matrix.rows.iter().filter(|row| row.is_gap).collect();
    if gaps.is_empty() {
        return;
    }
    page.push_str(
        "<h2>Gaps</h2>\n<table><thead><tr><th>requirement</th><th>state</th><th>what to do</th></tr></thead><tbody>\n",
    );
    for row in gaps {
        let reference = escaped(&row.standing.reference_id.to_string());
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{reference}\">{reference}</a> <bdi>{}</bdi></td><td>{}</td><td>{}</td></tr>",
            escaped(&row.standing.title),
            state(row),
            escaped(&row.standing.weakest)
        );
    }
    page.push_str("</tbody></table>\n");
}

fn state(row: &MatrixRow) -> String {
    let tone = if row.is_gap { "bad" } else { "good" };
    let flags = match row.standing.flags.is_empty() {
        true => String::new(),
        false => format!(" ({})", flag_words(row).replace(' ', ", ")),
    };
    format!(
        "<span class=\"{tone}\">{}{flags}</span>",
        row.standing.state.name()
    )
}

fn requirement(page: &mut String, row: &MatrixRow) {
    let standing = &row.standing;
    let reference = escaped(&standing.reference_id.to_string());
    let _ = write!(
        page,
        "<article id=\"{reference}\">\n<h3>{reference} <bdi>{}</bdi></h3>\n<p>{}",
        escaped(&standing.title),
        state(row)
    );
    let is_told = row.is_gap || standing.flags.contains(&TraceFlag::Waived);
    if is_told && !standing.weakest.is_empty() {
        let _ = write!(page, " {}", escaped(&standing.weakest));
    }
    page.push_str("</p>\n");
    if !row.text.is_empty() {
        let lines: Vec<String> = row.text.lines().map(escaped).collect();
        let _ = writeln!(
            page,
            "<div class=\"text\" dir=\"auto\">{}</div>",
            lines.join("\n")
        );
    }
    let found = evidence_of(row);
    if !found.is_empty() {
        page.push_str("<table><thead><tr><th>evidence</th><th>place</th><th>name</th><th>standing</th></tr></thead><tbody>\n");
        for line in found {
            let said = match line.message.is_empty() {
                true => escaped(&line.standing.replace('_', " ")),
                false => format!(
                    "{}: {}",
                    escaped(&line.standing.replace('_', " ")),
                    escaped(&line.message)
                ),
            };
            let _ = writeln!(
                page,
                "<tr><td>{}</td><td>{}</td><td><bdi>{}</bdi></td><td>{said}</td></tr>",
                line.kind,
                escaped(&line.place),
                escaped(&line.name)
            );
        }
        page.push_str("</tbody></table>\n");
    }
    page.push_str("</article>\n");
}
