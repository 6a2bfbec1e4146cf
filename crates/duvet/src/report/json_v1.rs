//! The version 1 JSON report, byte for byte as the public tool writes it.

use super::part::{Part, parts};
use super::segment::{Claims, Cuts};
use super::writer::{close, field, gather, hand_on, key, list, number, numbers, string};
use crate::analysis::{Analysis, Cited, Requirement};
use crate::citation::{Annotation, Kind};
use crate::output::Sink;
use crate::specification::Specification;
use crate::specification::keyword::Level;
use std::io;

/// Links that the report carries for its readers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Links<'a> {
    /// Template of links to source lines.
    pub blob: Option<&'a str>,
    /// Template of links to issues.
    pub issue: Option<&'a str>,
}

/// The report of an analysis.
//= specs/duvet.md#compatibility
//# The version 1 JSON report MUST be equal as a value to the one the public tool writes.
pub fn render(analysis: &Analysis, links: Links<'_>) -> Vec<u8> {
    gather(|sink| stream(analysis, links, sink))
}

/// How many annotations are rendered at a time.
const ANNOTATIONS_PER_CHUNK: usize = 512;

/// The same in the pieces it is rendered in.
///
/// It is written by hand and not derived, as version 2 is: the order of its objects is that of several lists, and most of
/// it is section text, which is written straight from the specification.
pub fn stream(analysis: &Analysis, links: Links<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
    let mut out = Vec::new();
    out.push(b'{');
    field(&mut out, "blob_link", links.blob);
    field(&mut out, "issue_link", links.issue);
    out.extend_from_slice(b"\"specifications\":{");
    sink(&out)?;
    let mut cited: Vec<&Cited> = analysis.specifications.iter().collect();
    cited.sort_by_key(|cited| cited.name());
    hand_on(sink, &parts(cited), |out, part| {
        specification(out, analysis, part)
    })?;
    sink(b"},\"annotations\":[")?;
    let chunks: Vec<_> = analysis.entries.chunks(ANNOTATIONS_PER_CHUNK).collect();
    hand_on(sink, &chunks, |out, entries| {
        list(out, *entries, |out, entry| annotation(out, entry.annotation()));
    })?;
    out.clear();
    out.extend_from_slice(b"],\"statuses\":{");
    list(&mut out, by_specification(analysis), status);
    out.extend_from_slice(b"},\"refs\":[");
    list(&mut out, 0..256, reference);
    out.extend_from_slice(b"]}");
    sink(&out)
}

/// Statuses stand in the order of the specifications, not of their ids.
fn by_specification(analysis: &Analysis) -> Vec<&Requirement> {
    let mut requirements: Vec<&Requirement> = analysis.requirements.iter().collect();
    requirements.sort_by_key(|requirement| requirement.specification);
    requirements
}

fn specification(out: &mut Vec<u8>, analysis: &Analysis, part: &Part<'_>) {
    let cited = part.cited;
    let Some(specification) = cited.specification() else {
        string(out, cited.name());
        out.extend_from_slice(b":{\"format\":\"auto\",\"requirements\":[],\"sections\":[]}");
        return;
    };
    if part.is_first() {
        string(out, cited.name());
        out.extend_from_slice(b":{");
        field(out, "title", specification.title.as_deref());
        field(out, "format", Some(specification.format.name()));
        out.extend_from_slice(b"\"requirements\":[");
        list(out, &cited.requirements, |out, id| number(out, *id));
        out.extend_from_slice(b"],\"sections\":[");
    }
    list(out, part.sections.clone(), |out, index| {
        section(out, analysis, cited, specification, index)
    });
    if part.is_last() {
        out.extend_from_slice(b"]}");
    }
}

fn section(
    out: &mut Vec<u8>,
    analysis: &Analysis,
    cited: &Cited,
    specification: &Specification,
    index: usize,
) {
    let section = &specification.sections[index];
    out.push(b'{');
    field(out, "id", Some(&section.id));
    field(out, "title", Some(&section.title));
    out.extend_from_slice(b"\"lines\":[");
    let mut cuts = Cuts::new(analysis, cited, index);
    list(out, &section.lines, |out, line| {
        let start = out.len();
        let is_cut = cuts.line(line.span, |span, ids| {
            out.push(if out.len() == start { b'[' } else { b',' });
            segment(out, analysis, &specification.text[span.range()], ids);
        });
        if is_cut {
            out.push(b']');
        } else {
            string(out, specification.line(line));
        }
    });
    out.push(b']');
    let requirements = &cited.sections[index].requirements;
    if !requirements.is_empty() {
        out.extend_from_slice(b",\"requirements\":[");
        list(out, requirements, |out, id| number(out, *id));
        out.push(b']');
    }
    out.push(b'}');
}

fn segment(out: &mut Vec<u8>, analysis: &Analysis, text: &str, annotations: &[u32]) {
    out.push(b'[');
    numbers(out, annotations.iter().copied());
    out.push(b',');
    number(out, reference_id(Claims::of(analysis, annotations)) as u64);
    out.push(b',');
    string(out, text);
    out.push(b']');
}

fn annotation(out: &mut Vec<u8>, annotation: &Annotation) {
    out.push(b'{');
    field(out, "source", Some(&annotation.source));
    field(out, "target_path", Some(&annotation.target.specification));
    field(out, "target_section", annotation.target.section.as_deref());
    if annotation.line > 0 {
        out.extend_from_slice(b"\"line\":");
        number(out, annotation.line);
        out.push(b',');
    }
    if annotation.kind != Kind::Implementation {
        field(out, "type", Some(&annotation.kind.name().to_uppercase()));
    }
    if annotation.level != Level::Auto {
        field(out, "level", Some(annotation.level.name()));
    }
    let filled = |text: &'_ String| !text.is_empty();
    field(
        out,
        "comment",
        Some(&annotation.details().comment)
            .filter(|t| filled(t))
            .map(String::as_str),
    );
    field(
        out,
        "feature",
        Some(&annotation.details().feature)
            .filter(|t| filled(t))
            .map(String::as_str),
    );
    field(
        out,
        "tracking_issue",
        Some(&annotation.details().tracking_issue)
            .filter(|t| filled(t))
            .map(String::as_str),
    );
    field(out, "blob_link", annotation.blob_link.as_deref());
    if !annotation.details().tags.is_empty() {
        out.extend_from_slice(b"\"tags\":[");
        list(out, &annotation.details().tags, |out, tag| string(out, tag));
        out.extend_from_slice(b"],");
    }
    close(out);
}

fn status(out: &mut Vec<u8>, requirement: &Requirement) {
    let coverage = &requirement.coverage;
    out.push(b'"');
    number(out, requirement.annotation);
    out.extend_from_slice(b"\":{");
    let counts = [
        ("spec", coverage.spec),
        ("incomplete", coverage.incomplete),
        ("citation", coverage.citation),
        ("implication", coverage.implication),
        ("test", coverage.test),
        ("exception", coverage.exception),
        ("todo", coverage.todo),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        key(out, name);
        number(out, count as u64);
        out.push(b',');
    }
    if !coverage.related.is_empty() {
        out.extend_from_slice(b"\"related\":[");
        list(out, &coverage.related, |out, id| number(out, *id));
        out.extend_from_slice(b"],");
    }
    close(out);
}

/// One of the 256 combinations a segment's number stands for: two bits of level, then one bit for each claim.
fn reference(out: &mut Vec<u8>, id: usize) {
    out.push(b'{');
    let names = ["spec", "citation", "implication", "test", "exception", "todo"];
    for (bit, name) in names.iter().enumerate().filter(|(bit, _)| id & (32 >> bit) != 0) {
        debug_assert!(bit < 6);
        key(out, name);
        out.extend_from_slice(b"true,");
    }
    let level = Level::ALL[id >> 6];
    field(out, "level", Some(level.name()).filter(|_| level != Level::Auto));
    close(out);
}

fn reference_id(claims: Claims) -> usize {
    let flags = [
        claims.spec,
        claims.implementation,
        claims.implication,
        claims.test,
        claims.exception,
        claims.todo,
    ];
    let bits = flags.iter().fold(0, |bits, flag| bits << 1 | usize::from(*flag));
    (claims.level as usize) << 6 | bits
}
