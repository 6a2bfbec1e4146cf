//! The report people open: one file that needs nothing beside it, neither a network nor a framework.
//!
//! The page carries its data as compact JSON and draws only what is looked at, so ten thousand requirements open as
//! fast as ten.

use super::json_v1::Links;
use super::part::{Part, parts};
use super::segment::Cuts;
use super::writer::{close, gather, hand_on, key, list, number, numbers, page_string};
use crate::analysis::{Analysis, Cited, Requirement};
use crate::citation::{CommentStyle, Kind};
use crate::identity::requirement_id;
use crate::output::Sink;
use crate::specification::Specification;
use std::collections::HashMap;
use std::io;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

//= specs/duvet.md#reports
//# The HTML report MUST carry a policy by which a browser runs its own script and style only.
/// Made of the hashes of the two, when they are built in.
const POLICY: &str = env!("DUVET_PAGE_POLICY");

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
    gather(|sink| stream(analysis, options, sink))
}

/// The same in the pieces it is rendered in.
pub fn stream(analysis: &Analysis, options: &Options<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
    let title = escape(options.title);
    let head = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><div id=\"app\"><nav></nav><main></main></div>\
         <aside class=\"detail\" aria-label=\"Details\"></aside><noscript>This report needs JavaScript.</noscript>\
         <script id=\"data\" type=\"application/json\">"
    );
    sink(head.as_bytes())?;
    data(sink, analysis, options)?;
    sink(b"</script><script>")?;
    sink(SCRIPT.as_bytes())?;
    sink(b"</script></body></html>\n")
}

/// The number of a citation or a requirement in the page's lists, by the id of its annotation.
struct Positions {
    requirements: Vec<Option<u32>>,
    citations: Vec<Option<u32>>,
}

impl Positions {
    fn new(analysis: &Analysis, listed: &[(&Requirement, usize)], citations: &[u32]) -> Self {
        let by_id = |ids: &mut dyn Iterator<Item = u32>| {
            let mut positions = vec![None; analysis.entries.len()];
            for (id, position) in ids.zip(0..) {
                positions[id as usize] = Some(position);
            }
            positions
        };
        Self {
            requirements: by_id(&mut listed.iter().map(|(requirement, _)| requirement.annotation)),
            citations: by_id(&mut citations.iter().copied()),
        }
    }
}

/// How many citations or requirements are rendered at a time.
const ROWS_PER_CHUNK: usize = 512;

fn data(sink: &mut Sink<'_>, analysis: &Analysis, options: &Options<'_>) -> io::Result<()> {
    let listed: Vec<(&Requirement, usize)> = analysis
        .requirements
        .iter()
        .filter_map(|requirement| Some((requirement, requirement.section?)))
        .collect();
    let citations: Vec<u32> = analysis.citations().map(|(id, _)| id).collect();
    let positions = Positions::new(analysis, &listed, &citations);
    let names = Names::new(analysis, &citations);
    let rows: Vec<(u32, Named)> = citations.iter().copied().zip(names.of.iter().copied()).collect();
    sink(&header(analysis, options, &rows))?;
    hand_on(sink, &parts(&analysis.specifications), |out, part| {
        specification(out, analysis, part, &positions);
    })?;
    sink(b"],\"reqs\":[")?;
    hand_on(sink, &chunks(&listed), |out, rows| {
        list(out, *rows, |out, row| {
            requirement(out, analysis, *row, &positions)
        });
    })?;
    sink(b"],\"annos\":[")?;
    hand_on(sink, &chunks(&rows), |out, rows| {
        list(out, *rows, |out, (id, named)| {
            citation(out, analysis, *id, *named)
        });
    })?;
    let mut out = Vec::new();
    for (name, table) in [("files", names.files), ("blobs", names.blobs)] {
        out.extend_from_slice(b"],");
        key(&mut out, name);
        out.push(b'[');
        list(&mut out, table.list, page_string);
    }
    out.extend_from_slice(b"]}");
    sink(&out)
}

/// Rows of a list, some at a time.
fn chunks<T>(rows: &[T]) -> Vec<&[T]> {
    rows.chunks(ROWS_PER_CHUNK).collect()
}

//= specs/duvet.md#inside-the-fence
//# A link of the page MUST be relative or begin with `http:` or `https:`.
/// Whether a link of the configuration may become one of the page: `javascript:` would be run by whoever clicks on it.
fn is_link(link: &str) -> bool {
    // As browsers read it: blanks and control characters are no part of a scheme.
    let bare: String = link.chars().filter(|c| !c.is_control() && *c != ' ').collect();
    let scheme = bare.split(['/', '?', '#']).next().unwrap_or_default();
    match scheme.split_once(':') {
        Some((scheme, _)) => scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http"),
        None => true,
    }
}

/// What stands before the lists.
fn header(analysis: &Analysis, options: &Options<'_>, citations: &[(u32, Named)]) -> Vec<u8> {
    let styles = if options.styles.is_empty() {
        vec![CommentStyle::default()]
    } else {
        options.styles.clone()
    };
    let is_drifted = |(id, _): &&(u32, Named)| !analysis.matched(*id).grade.is_faithful();
    let mut out = vec![b'{'];
    text(&mut out, "title", options.title);
    text(&mut out, "version", env!("CARGO_PKG_VERSION"));
    for (name, link) in [("blob", options.links.blob), ("issue", options.links.issue)] {
        if let Some(link) = link.filter(|link| is_link(link)) {
            text(&mut out, name, link);
        }
    }
    key(&mut out, "styles");
    out.push(b'[');
    list(&mut out, &styles, |out, style| {
        out.push(b'{');
        text(out, "meta", &style.meta);
        text(out, "content", &style.content);
        close(out);
    });
    out.extend_from_slice(b"],");
    key(&mut out, "drifted");
    number(&mut out, citations.iter().filter(is_drifted).count() as u64);
    out.extend_from_slice(b",\"specs\":[");
    out
}

/// Texts that repeat, each once.
struct Names<'a> {
    files: Table<'a>,
    blobs: Table<'a>,
    /// For each citation.
    of: Vec<Named>,
}

/// The file of a citation and its link template, by number.
#[derive(Clone, Copy)]
struct Named {
    file: u32,
    blob: Option<u32>,
}

impl<'a> Names<'a> {
    fn new(analysis: &'a Analysis, citations: &[u32]) -> Self {
        let (mut files, mut blobs) = (Table::default(), Table::default());
        let named = |id: &u32| {
            let annotation = analysis.annotation(*id);
            Named {
                file: files.add(&annotation.source),
                blob: annotation
                    .blob_link
                    .as_deref()
                    .filter(|blob| is_link(blob))
                    .map(|blob| blobs.add(blob)),
            }
        };
        let of = citations.iter().map(named).collect();
        Self { files, blobs, of }
    }
}

#[derive(Default)]
struct Table<'a> {
    list: Vec<&'a str>,
    index: HashMap<&'a str, u32>,
    last: Option<(&'a str, u32)>,
}

impl<'a> Table<'a> {
    fn add(&mut self, text: &'a str) -> u32 {
        // Citations of one file stand together.
        if let Some((last, number)) = self.last
            && std::ptr::eq(last, text)
        {
            return number;
        }
        let number = *self.index.entry(text).or_insert_with(|| {
            self.list.push(text);
            self.list.len() as u32 - 1
        });
        self.last = Some((text, number));
        number
    }
}

/// `"name":"value",`
fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    key(out, name);
    page_string(out, value);
    out.push(b',');
}

fn citation(out: &mut Vec<u8>, analysis: &Analysis, id: u32, named: Named) {
    let annotation = analysis.annotation(id);
    out.extend_from_slice(b"{\"f\":");
    number(out, named.file);
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
    if let Some(blob) = named.blob {
        key(out, "b");
        number(out, blob);
        out.push(b',');
    }
    close(out);
}

fn requirement(
    out: &mut Vec<u8>,
    analysis: &Analysis,
    (requirement, section): (&Requirement, usize),
    positions: &Positions,
) {
    let annotation = analysis.annotation(requirement.annotation);
    let related = requirement.coverage.related.iter();
    out.extend_from_slice(b"{\"s\":");
    number(out, requirement.specification as u64);
    out.extend_from_slice(b",\"c\":");
    number(out, section as u64);
    out.push(b',');
    text(out, "l", requirement.level.name());
    text(out, "st", requirement.coverage.state().name());
    text(out, "x", &annotation.quote);
    text(out, "id", &requirement_id(analysis, requirement));
    let comment = annotation.details().comment.lines().map(str::trim);
    let comment = comment.filter(|line| !line.is_empty());
    out.extend_from_slice(b"\"q\":[");
    list(out, comment, page_string);
    out.extend_from_slice(b"],\"a\":");
    numbers(out, related.filter_map(|id| positions.citations[*id as usize]));
    out.push(b'}');
}

fn specification(out: &mut Vec<u8>, analysis: &Analysis, part: &Part<'_>, positions: &Positions) {
    let cited = part.cited;
    if part.is_first() {
        out.push(b'{');
        text(out, "n", cited.name());
        let format = cited.specification().map_or("auto", |text| text.format.name());
        text(out, "f", format);
        if cited.specification().is_some() {
            text(out, "t", &cited.display_name());
        }
        out.extend_from_slice(b"\"s\":[");
    }
    if let Some(specification) = cited.specification() {
        list(out, part.sections.clone(), |out, index| {
            section(out, analysis, (cited, specification, index), positions)
        });
    }
    if part.is_last() {
        out.extend_from_slice(b"]}");
    }
}

fn section(
    out: &mut Vec<u8>,
    analysis: &Analysis,
    (cited, specification, index): (&Cited, &Specification, usize),
    positions: &Positions,
) {
    let section = &specification.sections[index];
    out.push(b'{');
    text(out, "i", &section.id);
    text(out, "t", &section.title);
    out.extend_from_slice(b"\"l\":[");
    let mut cuts = Cuts::new(analysis, cited, index);
    list(out, &section.lines, |out, line| {
        let start = out.len();
        let is_cut = cuts.line(line.span, |span, ids| {
            out.push(if out.len() == start { b'[' } else { b',' });
            segment(out, analysis, &specification.text[span.range()], ids, positions);
        });
        if is_cut {
            out.push(b']');
        } else {
            page_string(out, specification.line(line));
        }
    });
    out.extend_from_slice(b"]}");
}

/// A segment as text, citations, requirements.
fn segment(out: &mut Vec<u8>, analysis: &Analysis, text: &str, ids: &[u32], positions: &Positions) {
    out.push(b'[');
    page_string(out, text);
    out.push(b',');
    numbers(out, ids.iter().filter_map(|id| positions.citations[*id as usize]));
    out.push(b',');
    let stated = ids
        .iter()
        .filter(|id| analysis.annotation(**id).kind == Kind::Spec);
    numbers(out, stated.filter_map(|id| positions.requirements[*id as usize]));
    out.push(b']');
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::State;

    #[test]
    fn the_page_knows_every_state_by_the_word_its_data_uses() {
        let quoted = State::ALL.map(|state| format!("\"{}\"", state.name()));
        let known = format!("const STATES = [{}];", quoted.join(", "));
        assert!(
            SCRIPT.contains(&known),
            "the script draws other states than {known}"
        );
        for state in State::ALL {
            let colour = format!("--{}:#", state.name());
            assert!(STYLE.contains(&colour), "{} has no colour", state.name());
        }
    }
}
