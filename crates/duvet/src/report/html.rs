//! The report people open: one file that needs nothing beside it, neither a network nor a framework.
//!
//! The page carries its data as compact JSON and draws only what is looked at, so ten thousand requirements open as
//! fast as ten.

use super::json_v1::Links;
use super::segment::{Segment, lines};
use super::writer::{close, key, list, number, numbers, page_string};
use crate::analysis::{Analysis, Cited, Requirement};
use crate::citation::{CommentStyle, Kind};
use crate::identity::requirement_id;
use crate::specification::Specification;
use rayon::prelude::*;
use std::collections::HashMap;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// What the page needs beside the analysis.
#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// Heading of the page.
    pub title: &'a str,
    /// Links to code and issues.
    pub links: Links<'a>,
    /// Comment styles of the project, for the citations that can be copied.
    pub styles: Vec<CommentStyle>,
}

//= specs/duvet.md#reports
//# The HTML report MUST be one file that loads nothing else.
//= specs/duvet.md#reports
//# A link into the HTML report MUST name specification, section and requirement, so that it holds after others came or went.
/// The page.
pub fn render(analysis: &Analysis, options: &Options<'_>) -> Vec<u8> {
    let title = escape(options.title);
    let head = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><div id=\"app\"><nav></nav><main></main></div>\
         <aside class=\"detail\" aria-label=\"Details\"></aside><noscript>This report needs JavaScript.</noscript>\
         <script id=\"data\" type=\"application/json\">"
    );
    let mut out = head.into_bytes();
    data(&mut out, analysis, options);
    out.extend_from_slice(b"</script><script>");
    out.extend_from_slice(SCRIPT.as_bytes());
    out.extend_from_slice(b"</script></body></html>\n");
    out
}

/// Where a citation or a requirement stands in the page's lists.
struct Places {
    requirements: HashMap<u32, u32>,
    citations: HashMap<u32, u32>,
}

impl Places {
    fn new(placed: &[(&Requirement, usize)], citations: &[u32]) -> Self {
        let by_place = |ids: &mut dyn Iterator<Item = u32>| ids.zip(0..).collect();
        Self {
            requirements: by_place(&mut placed.iter().map(|(requirement, _)| requirement.annotation)),
            citations: by_place(&mut citations.iter().copied()),
        }
    }
}

fn data(out: &mut Vec<u8>, analysis: &Analysis, options: &Options<'_>) {
    let placed: Vec<(&Requirement, usize)> = analysis
        .requirements
        .iter()
        .filter_map(|requirement| Some((requirement, requirement.section?)))
        .collect();
    let citations: Vec<u32> = analysis.citations().map(|(id, _)| id).collect();
    let places = Places::new(&placed, &citations);
    let (specifications, requirements): (Vec<Vec<u8>>, Vec<u8>) = rayon::join(
        || {
            let all = analysis.specifications.par_iter();
            all.map(|cited| specification(analysis, cited, &places)).collect()
        },
        || requirements(analysis, &placed, &places),
    );
    let styles = if options.styles.is_empty() {
        vec![CommentStyle::default()]
    } else {
        options.styles.clone()
    };
    let is_drifted = |id: &&u32| !analysis.matched(**id).grade.is_faithful();
    out.push(b'{');
    text(out, "title", options.title);
    text(out, "version", env!("CARGO_PKG_VERSION"));
    for (name, link) in [("blob", options.links.blob), ("issue", options.links.issue)] {
        if let Some(link) = link {
            text(out, name, link);
        }
    }
    key(out, "styles");
    out.push(b'[');
    list(out, &styles, |out, style| {
        out.push(b'{');
        text(out, "meta", &style.meta);
        text(out, "content", &style.content);
        close(out);
    });
    out.extend_from_slice(b"],");
    key(out, "drifted");
    number(out, citations.iter().filter(is_drifted).count() as u64);
    out.extend_from_slice(b",\"specs\":[");
    list(out, &specifications, |out, body| out.extend_from_slice(body));
    out.extend_from_slice(b"],\"reqs\":[");
    out.extend_from_slice(&requirements);
    out.extend_from_slice(b"],\"annos\":[");
    let mut names = Names::default();
    list(out, &citations, |out, id| {
        citation(out, analysis, *id, &mut names)
    });
    for (name, table) in [("files", names.files), ("blobs", names.blobs)] {
        out.extend_from_slice(b"],");
        key(out, name);
        out.push(b'[');
        list(out, &table.list, |out, entry| page_string(out, entry));
    }
    out.extend_from_slice(b"]}");
}

/// Texts that repeat, each once.
#[derive(Default)]
struct Names<'a> {
    files: Table<'a>,
    blobs: Table<'a>,
}

#[derive(Default)]
struct Table<'a> {
    list: Vec<&'a str>,
    index: HashMap<&'a str, u32>,
}

impl<'a> Table<'a> {
    fn add(&mut self, text: &'a str) -> u32 {
        *self.index.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() as u32 - 1
        })
    }
}

/// `"name":"value",`
fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    key(out, name);
    page_string(out, value);
    out.push(b',');
}

fn citation<'a>(out: &mut Vec<u8>, analysis: &'a Analysis, id: u32, names: &mut Names<'a>) {
    let annotation = analysis.annotation(id);
    out.extend_from_slice(b"{\"f\":");
    number(out, names.files.add(&annotation.source));
    out.extend_from_slice(b",\"n\":");
    number(out, annotation.line);
    out.push(b',');
    text(out, "k", annotation.kind.name());
    let grade = &analysis.matched(id).grade;
    let details = annotation.details();
    let optional = [
        ("c", details.comment.trim()),
        ("t", &details.tracking_issue),
        ("e", &details.feature),
        ("g", if grade.is_faithful() { "" } else { grade.name() }),
    ];
    for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_empty()) {
        text(out, name, value);
    }
    if let Some(blob) = annotation.blob_link.as_deref() {
        key(out, "b");
        number(out, names.blobs.add(blob));
        out.push(b',');
    }
    close(out);
}

fn requirements(analysis: &Analysis, placed: &[(&Requirement, usize)], places: &Places) -> Vec<u8> {
    let mut out = Vec::new();
    list(&mut out, placed, |out, (requirement, section)| {
        let annotation = analysis.annotation(requirement.annotation);
        let related = requirement.coverage.related.iter();
        out.extend_from_slice(b"{\"s\":");
        number(out, requirement.specification as u64);
        out.extend_from_slice(b",\"c\":");
        number(out, *section as u64);
        out.push(b',');
        text(out, "l", requirement.level.name());
        text(out, "st", requirement.coverage.state().name());
        text(out, "x", &annotation.quote);
        text(out, "id", &requirement_id(analysis, requirement));
        let comment = annotation.details().comment.lines().map(str::trim);
        let comment: Vec<&str> = comment.filter(|line| !line.is_empty()).collect();
        out.extend_from_slice(b"\"q\":[");
        list(out, &comment, |out, line| page_string(out, line));
        out.extend_from_slice(b"],\"a\":");
        numbers(out, related.filter_map(|id| places.citations.get(id).copied()));
        out.push(b'}');
    });
    out
}

fn specification(analysis: &Analysis, cited: &Cited, places: &Places) -> Vec<u8> {
    let mut out = vec![b'{'];
    text(&mut out, "n", cited.name());
    let Some(specification) = cited.specification() else {
        text(&mut out, "f", "auto");
        out.extend_from_slice(b"\"s\":[]}");
        return out;
    };
    out.reserve(specification.text.len() + specification.text.len() / 4);
    text(&mut out, "f", specification.format.name());
    text(&mut out, "t", &cited.display_name());
    out.extend_from_slice(b"\"s\":[");
    let sections: Vec<usize> = (0..specification.sections.len()).collect();
    list(&mut out, &sections, |out, index| {
        let section = &specification.sections[*index];
        out.push(b'{');
        text(out, "i", &section.id);
        text(out, "t", &section.title);
        out.extend_from_slice(b"\"l\":[");
        let segments = lines(analysis, cited, specification, *index);
        let rows: Vec<_> = section.lines.iter().zip(segments).collect();
        list(out, &rows, |out, (line, segments)| {
            if segments.is_empty() {
                page_string(out, specification.line(line));
            } else {
                out.push(b'[');
                list(out, segments, |out, segment| {
                    self::segment(out, analysis, specification, segment, places)
                });
                out.push(b']');
            }
        });
        out.extend_from_slice(b"]}");
    });
    out.extend_from_slice(b"]}");
    out
}

/// A segment as text, citations, requirements.
fn segment(
    out: &mut Vec<u8>,
    analysis: &Analysis,
    specification: &Specification,
    segment: &Segment,
    places: &Places,
) {
    let ids = &segment.annotations;
    let is_spec = |id: &&u32| analysis.annotation(**id).kind == Kind::Spec;
    out.push(b'[');
    page_string(out, &specification.text[segment.span.range()]);
    out.push(b',');
    numbers(out, ids.iter().filter_map(|id| places.citations.get(id).copied()));
    out.push(b',');
    let stated = ids.iter().filter(is_spec);
    numbers(out, stated.filter_map(|id| places.requirements.get(id).copied()));
    out.push(b']');
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
