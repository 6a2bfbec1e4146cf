//! The report people open: one file that needs nothing beside it, neither a network nor a framework.
//!
//! The page carries its data as compact JSON and draws only what is looked at, so ten thousand requirements open as
//! fast as ten.

use super::json_v1::Links;
use super::segment::{Segment, lines};
use crate::analysis::{Analysis, Cited};
use crate::citation::{CommentStyle, Kind};
use crate::identity::requirement_id;
use crate::specification::Specification;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
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
/// The page.
pub fn render(analysis: &Analysis, options: &Options<'_>) -> String {
    let data = serde_json::to_string(&data(analysis, options)).unwrap_or_default();
    // Inside a script element only `</` could end the data early.
    let data = data.replace("</", "<\\/");
    let title = escape(options.title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><div id=\"app\"><nav></nav><main></main></div>\
         <aside class=\"detail\" aria-label=\"Details\"></aside><noscript>This report needs JavaScript.</noscript>\
         <script id=\"data\" type=\"application/json\">{data}</script><script>{SCRIPT}</script></body></html>\n"
    )
}

#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    version: &'static str,
    blob: Option<&'a str>,
    issue: Option<&'a str>,
    styles: Vec<CommentStyle>,
    drifted: usize,
    specs: Vec<Value>,
    reqs: Vec<Value>,
    annos: Vec<Value>,
    files: Vec<&'a str>,
    blobs: Vec<&'a str>,
}

fn data<'a>(analysis: &'a Analysis, options: &Options<'a>) -> Data<'a> {
    let requirement_of: HashMap<u32, usize> = analysis
        .requirements
        .iter()
        .filter(|requirement| requirement.section.is_some())
        .enumerate()
        .map(|(index, requirement)| (requirement.annotation, index))
        .collect();
    let citations: Vec<u32> = analysis.citations().map(|(id, _)| id).collect();
    let citation_of: HashMap<u32, usize> = citations
        .iter()
        .enumerate()
        .map(|(index, id)| (*id, index))
        .collect();
    let mut names = Names::default();
    let annos = citations
        .iter()
        .map(|id| citation(analysis, *id, &mut names))
        .collect();
    let specs = analysis
        .specifications
        .par_iter()
        .map(|cited| specification(analysis, cited, &requirement_of, &citation_of))
        .collect();
    let styles = if options.styles.is_empty() {
        vec![CommentStyle::default()]
    } else {
        options.styles.clone()
    };
    let drifted = citations
        .iter()
        .filter(|id| !analysis.matched(**id).grade.is_faithful())
        .count();
    Data {
        title: options.title,
        version: env!("CARGO_PKG_VERSION"),
        blob: options.links.blob,
        issue: options.links.issue,
        styles,
        drifted,
        specs,
        reqs: requirements(analysis, &citation_of),
        annos,
        files: names.files.list,
        blobs: names.blobs.list,
    }
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
    index: HashMap<&'a str, usize>,
}

impl<'a> Table<'a> {
    fn add(&mut self, text: &'a str) -> usize {
        *self.index.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() - 1
        })
    }
}

fn citation<'a>(analysis: &'a Analysis, id: u32, names: &mut Names<'a>) -> Value {
    let annotation = analysis.annotation(id);
    let mut value = json!({
        "f": names.files.add(&annotation.source),
        "n": annotation.line,
        "k": annotation.kind.name(),
    });
    let grade = &analysis.matched(id).grade;
    let optional = [
        ("c", annotation.comment.trim()),
        ("t", &annotation.tracking_issue),
        ("e", &annotation.feature),
        ("g", if grade.is_faithful() { "" } else { grade.name() }),
    ];
    for (key, text) in optional.into_iter().filter(|(_, text)| !text.is_empty()) {
        value[key] = json!(text);
    }
    if let Some(blob) = annotation.blob_link.as_deref() {
        value["b"] = json!(names.blobs.add(blob));
    }
    value
}

fn requirements(analysis: &Analysis, citation_of: &HashMap<u32, usize>) -> Vec<Value> {
    let placed = analysis
        .requirements
        .iter()
        .filter_map(|requirement| Some((requirement, requirement.section?)));
    placed
        .map(|(requirement, section)| {
            let annotation = analysis.annotation(requirement.annotation);
            let related = requirement.coverage.related.iter().filter_map(|id| citation_of.get(id));
            json!({
                "s": requirement.specification,
                "c": section,
                "l": requirement.level.name(),
                "st": requirement.coverage.state(),
                "x": annotation.quote,
                "q": annotation.comment.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>(),
                "a": related.collect::<Vec<_>>(),
                "id": requirement_id(analysis, requirement),
            })
        })
        .collect()
}

fn specification(
    analysis: &Analysis,
    cited: &Cited,
    requirement_of: &HashMap<u32, usize>,
    citation_of: &HashMap<u32, usize>,
) -> Value {
    let Some(specification) = cited.specification() else {
        return json!({ "n": cited.name(), "f": "auto", "s": [] });
    };
    let sections = specification.sections.iter().enumerate().map(|(index, section)| {
        let rows = section
            .lines
            .iter()
            .zip(lines(analysis, cited, specification, index));
        let rows: Vec<Value> = rows
            .map(|(line, segments)| match segments.is_empty() {
                true => json!(specification.line(line)),
                false => self::line(analysis, specification, &segments, requirement_of, citation_of),
            })
            .collect();
        json!({ "i": section.id, "t": section.title, "l": rows })
    });
    let mut value =
        json!({ "n": cited.name(), "f": specification.format.name(), "s": sections.collect::<Vec<_>>() });
    value["t"] = json!(cited.display_name());
    value
}

/// Segments as text, citations, requirements.
fn line(
    analysis: &Analysis,
    specification: &Specification,
    segments: &[Segment],
    requirement_of: &HashMap<u32, usize>,
    citation_of: &HashMap<u32, usize>,
) -> Value {
    let cell = |segment: &Segment| {
        let ids = &segment.annotations;
        let citations: Vec<_> = ids.iter().filter_map(|id| citation_of.get(id)).collect();
        let is_spec = |id: &&u32| analysis.annotation(**id).kind == Kind::Spec;
        let stated: Vec<_> = ids
            .iter()
            .filter(is_spec)
            .filter_map(|id| requirement_of.get(id))
            .collect();
        json!([&specification.text[segment.span.range()], citations, stated])
    };
    Value::Array(segments.iter().map(cell).collect())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
