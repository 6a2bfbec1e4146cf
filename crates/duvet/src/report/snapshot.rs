//! The text snapshot: one line per line of a specification and change of state. It names no files, so it survives moved
//! code, and it is checked in, so a lost citation shows up in a diff.

use super::segment::{Claims, Segment, lines};
use crate::analysis::{Analysis, Cited};
use crate::specification::Specification;
use crate::specification::keyword::Level;
use std::fmt::Write;

/// The snapshot of an analysis.
//= specs/duvet.md#compatibility
//# The text snapshot MUST be byte-identical to the one the public tool writes for the same project.
pub fn render(analysis: &Analysis) -> String {
    let mut out = String::new();
    for (index, cited) in analysis.specifications.iter().enumerate() {
        // The public tool sets each one apart from what was before it, whether or not either has anything to show.
        if index > 0 {
            out.push('\n');
        }
        let Some(specification) = cited.specification() else {
            continue;
        };
        let body = sections(analysis, cited, specification);
        if body.is_empty() {
            continue;
        }
        let name = cited.name();
        // Writing to a string cannot fail.
        let _ = match &specification.title {
            Some(title) => writeln!(out, "SPECIFICATION: [{title}]({name})"),
            None => writeln!(out, "SPECIFICATION: {name}"),
        };
        out.push_str(&body);
    }
    out
}

fn sections(analysis: &Analysis, cited: &Cited, specification: &Specification) -> String {
    let mut out = String::new();
    for (index, section) in specification.sections.iter().enumerate() {
        if cited.sections[index].annotations.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "  SECTION: [{}](#{})", section.title, section.id);
        for segments in lines(analysis, cited, specification, index) {
            line(&mut out, analysis, specification, &segments);
        }
    }
    out
}

/// Neighbours of equal state are one entry; the indent of a line belongs to its first entry.
fn line(out: &mut String, analysis: &Analysis, specification: &Specification, segments: &[Segment]) {
    let raw = |segment: &Segment| &specification.text[segment.span.range()];
    let indent = segments
        .first()
        .filter(|s| s.annotations.is_empty() && raw(s).trim().is_empty());
    let mut text = indent.map(|segment| raw(segment).to_owned()).unwrap_or_default();
    let mut state = None;
    for segment in segments {
        let claims = Some(segment)
            .filter(|s| !s.annotations.is_empty())
            .map(|s| words(Claims::of(analysis, &s.annotations)));
        let is_quoted = claims.is_some();
        if claims != state {
            if let Some(state) = &state {
                flush(out, state, &mut text);
            }
            state = claims;
        }
        if is_quoted {
            text.push_str(raw(segment));
        }
    }
    if let Some(state) = &state {
        flush(out, state, &mut text);
    }
}

fn flush(out: &mut String, claims: &str, text: &mut String) {
    if !text.trim().is_empty() {
        let _ = writeln!(out, "    TEXT[{claims}]: {}", text.trim_end());
    }
    text.clear();
}

fn words(claims: Claims) -> String {
    let mut words = Vec::new();
    if claims.level != Level::Auto {
        words.push(format!("!{}", claims.level.name()));
    }
    let flags = [
        (claims.implementation, "implementation"),
        (claims.implication, "implication"),
        (claims.test, "test"),
        (claims.exception, "exception"),
        (claims.todo, "todo"),
    ];
    words.extend(
        flags
            .iter()
            .filter(|(is_set, _)| *is_set)
            .map(|(_, word)| (*word).to_owned()),
    );
    words.join(",")
}
