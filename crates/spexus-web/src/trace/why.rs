//! Why an item is not verified: each step of the ladder with what it rests on, the weakest of them, and what to do about it. It shows what
//! `explain_state` tells agents.

use super::{rung_mark, rung_word, standing_word};
use crate::mark::{Markup, escaped};
use crate::texts::{Texts, fill};
use spexus_domain::Kind;
use spexus_domain::trace::{ItemTrace, ReviewKind, Rung, TestStanding};
use spexus_service::evidence::TraceAnswer;

/// Places and tests that one step names; how many more there are is said.
const NAMED: usize = 4;

/// The panel beside an item.
pub(crate) struct WhyPanel {
    pub(crate) heading: &'static str,
    pub(crate) mark: Markup,
    pub(crate) steps: Vec<Step>,
    /// The weakest link and what to do about it; empty where nothing is left to do.
    pub(crate) next: Markup,
}

/// A step of the ladder.
pub(crate) struct Step {
    /// As the stylesheet has it: climbed, the weakest, or neither.
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
    pub(crate) title: &'static str,
    /// What it rests on, line by line.
    pub(crate) lines: Vec<Markup>,
}

//= specs/spexus-web.md#traceability
//# The page of an item MUST show the same state, weakest link, tests and places as its trace, each place with its file and line.
pub(crate) fn panel(t: &'static Texts, kind: Kind, found: &TraceAnswer) -> Option<WhyPanel> {
    let trace = &found.trace;
    // Only of requirements is it news that nothing is known.
    if kind != Kind::Requirement && trace.state == Rung::None {
        return None;
    }
    let steps = Rung::ALL.into_iter().skip(1).filter(|rung| {
        // What has no sentence may still be cited: not every requirement comes from a specification.
        *rung != Rung::Specified || !trace.sentences.is_empty() || trace.state == Rung::None
    });
    let weakest = steps.clone().find(|rung| *rung > trace.state);
    let has_own = !trace.tests.is_empty() || !trace.spans.is_empty() || !trace.sentences.is_empty();
    let step = |rung: Rung| {
        let (class, icon) = match () {
            () if rung <= trace.state => ("yes", "check"),
            () if Some(rung) == weakest => ("weak", "warn"),
            () => ("", "dots"),
        };
        Step {
            class,
            icon,
            title: rung_word(t, rung),
            lines: lines(t, rung, found),
        }
    };
    Some(WhyPanel {
        heading: match trace.state >= Rung::Executed {
            true => t.why_verified,
            false => t.why_not_verified,
        },
        mark: rung_mark(t, trace.state, &trace.flags),
        // What only holds others stands where the lowest of them does; its own ladder would be empty.
        steps: if has_own {
            steps.map(step).collect()
        } else {
            Vec::new()
        },
        next: with_code(&trace.weakest),
    })
}

fn lines(t: &Texts, rung: Rung, found: &TraceAnswer) -> Vec<Markup> {
    let trace = &found.trace;
    match rung {
        Rung::None => Vec::new(),
        Rung::Specified => named(
            t,
            trace.sentences.len(),
            trace
                .sentences
                .iter()
                .map(|sentence| place(&sentence.path, sentence.line, sentence.line)),
        ),
        Rung::Cited => named(
            t,
            found.spans_total,
            trace
                .spans
                .iter()
                .map(|span| place(&span.path, span.line, span.end_line)),
        ),
        Rung::Claimed => named(
            t,
            found.tests_total,
            trace.tests.iter().map(|test| {
                let at = match test.path.as_str() {
                    "" => String::new(),
                    path => format!(" {}", place(path, test.line, test.line)),
                };
                Markup(format!("<code>{}</code>{at}", escaped(&test.name)))
            }),
        ),
        Rung::Ran => ran(t, trace),
        Rung::Passed => {
            let passed = trace
                .tests
                .iter()
                .filter(|test| test.standing == TestStanding::Passed);
            match trace.tests.len() {
                0 => Vec::new(),
                all => vec![Markup(escaped(&fill(t.some_of_all, &[&passed.count(), &all])))],
            }
        }
        Rung::Executed => {
            let executed = trace.spans.iter().filter(|span| span.executed);
            match trace.spans.len() {
                0 => Vec::new(),
                all => vec![Markup(escaped(&fill(t.places_ran, &[&executed.count(), &all])))],
            }
        }
        Rung::Affirmed => {
            let said = found
                .reviews
                .iter()
                .filter(|review| review.kind == ReviewKind::Affirmed);
            let said = said.map(|review| Markup(escaped(&format!("{}: {}", review.reviewer, review.why))));
            said.collect()
        }
    }
}

/// Tests that did not pass, each with what is known of it.
fn ran(t: &Texts, trace: &ItemTrace) -> Vec<Markup> {
    let other = trace
        .tests
        .iter()
        .filter(|test| test.standing != TestStanding::Passed);
    named(
        t,
        other.clone().count(),
        other.map(|test| {
            let said = match test.message.as_str() {
                "" => String::new(),
                message => format!(": {}", escaped(message)),
            };
            let word = standing_word(t, test.standing);
            Markup(format!("<code>{}</code> {word}{said}", escaped(&test.name)))
        }),
    )
}

/// The first few, and how many more there are.
fn named(t: &Texts, all: usize, each: impl Iterator<Item = Markup>) -> Vec<Markup> {
    let mut lines: Vec<Markup> = each.take(NAMED).collect();
    let more = all.saturating_sub(lines.len());
    if more > 0 {
        lines.push(Markup(escaped(&fill(t.more, &[&more]))));
    }
    lines
}

fn place(path: &str, line: u32, end_line: u32) -> Markup {
    let lines = match end_line > line {
        true => format!("{line}–{end_line}"),
        false => line.to_string(),
    };
    Markup(format!("<code>{}:{lines}</code>", escaped(path)))
}

/// Words with what stands between backticks as code.
pub(super) fn with_code(words: &str) -> Markup {
    let parts = words.split('`').enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    });
    Markup(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::ENGLISH;
    use serde_json::json;

    #[test]
    fn hostile_names_stay_text_and_long_lists_are_counted() {
        let test = |number: u32| json!({"name": format!("<b>{number}"), "standing": "failed", "by": "mark", "message": "<i>"});
        let tests: Vec<_> = (0..6).map(test).collect();
        let trace = json!({"state": "ran", "flags": ["failed"], "weakest": "Mend `<x>`.", "tests": tests, "sentences": [],
            "spans": [{"path": "a&b.rs", "line": 3, "end_line": 9, "symbol": "", "hash": "h", "quote": ""}]});
        let lines: Vec<String> = ran(&ENGLISH, &serde_json::from_value(trace).unwrap())
            .into_iter()
            .map(|line| line.0)
            .collect();
        assert_eq!(lines.len(), NAMED + 1);
        assert_eq!(lines[0], "<code>&lt;b&gt;0</code> failed: &lt;i&gt;");
        assert!(lines[NAMED].contains('2'), "{lines:?}");
        assert_eq!(place("a&b.rs", 3, 9).0, "<code>a&amp;b.rs:3–9</code>");
        assert_eq!(with_code("Mend `<x>`.").0, "Mend <code>&lt;x&gt;</code>.");
    }
}
