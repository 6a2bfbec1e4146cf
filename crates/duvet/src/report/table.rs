//! The summary a report ends with on a terminal.

use super::summary::{Counts, Row, rows, total};
use crate::analysis::Analysis;

const NAME_WIDTH_CHARS: usize = 44;
const BAR_WIDTH_CHARS: usize = 10;

/// A table with one row per specification that has requirements, and the sum.
pub fn render(analysis: &Analysis, colour: bool) -> String {
    let rows: Vec<Row> = rows(analysis);
    let sum = total(&rows);
    let shown: Vec<&Row> = rows.iter().filter(|row| row.all().total > 0).collect();
    let mut out = format!(
        "{:<NAME_WIDTH_CHARS$} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>6}  {}\n",
        "specification", "reqs", "done", "test?", "cite?", "part", "todo", "uncited", "MUST done"
    );
    for row in &shown {
        out.push_str(&line(row, colour));
    }
    if shown.len() != 1 {
        out.push_str(&line(&sum, colour));
    }
    let quiet = rows.len() - shown.len();
    if quiet > 0 {
        out.push_str(&format!(
            "{quiet} more specifications are cited and state no requirements here\n"
        ));
    }
    out
}

fn line(row: &Row, colour: bool) -> String {
    let all = row.all();
    format!(
        "{:<NAME_WIDTH_CHARS$} {:>5} {:>5} {:>5} {:>5} {:>5} {:>5} {:>6}   {}\n",
        shorten(row),
        all.total,
        all.done(),
        all.missing_test,
        all.missing_citation,
        all.partial,
        all.not_started,
        all.uncited,
        bar(&row.levels[0], colour),
    )
}

/// The end of a name says more than its beginning.
fn shorten(row: &Row) -> String {
    let printable = crate::text::printable(&row.specification);
    let name: Vec<char> = printable.chars().collect();
    if name.len() <= NAME_WIDTH_CHARS {
        return printable.into_owned();
    }
    let tail: String = name[name.len() - (NAME_WIDTH_CHARS - 1)..].iter().collect();
    format!("…{tail}")
}

fn bar(counts: &Counts, colour: bool) -> String {
    if counts.total == 0 {
        return "–".to_owned();
    }
    let filled = counts.done() * BAR_WIDTH_CHARS / counts.total;
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(BAR_WIDTH_CHARS - filled));
    let percent = counts.done() * 100 / counts.total;
    let bar = if colour {
        format!("\u{1b}[32m{bar}\u{1b}[0m")
    } else {
        bar
    };
    format!("{bar} {percent:>3} %")
}
