//! Formatted text: XHTML as plain text with paragraphs, and plain text as XHTML.

use crate::xml::{ElementId, XmlTree, escape, unescape};

/// Elements that begin a line.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "li",
    "ul",
    "ol",
    "table",
    "tr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "pre",
    "dl",
    "dt",
    "dd",
];

/// The words of formatted text: blocks become lines, items of lists begin with a dash, blanks are one blank.
pub fn from_xhtml(tree: &XmlTree<'_>, id: ElementId) -> String {
    let mut out = String::new();
    write_element(tree, id, &mut out);
    let lines = out.lines().map(str::trim_end);
    let mut text = String::new();
    let mut blank = 0;
    for line in lines {
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank < 2 {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.trim().to_owned()
}

fn write_element(tree: &XmlTree<'_>, id: ElementId, out: &mut String) {
    let name = tree.name(id);
    let block = BLOCKS.contains(&name);
    if name == "br" {
        return out.push('\n');
    }
    if block {
        new_line(out);
    }
    if name == "li" {
        out.push_str("- ");
    }
    let content = tree.content(id);
    let mut at = content.start;
    for child in tree.children(id) {
        let whole = tree.whole(child);
        words(&tree.text[at..whole.start], out);
        write_element(tree, child, out);
        at = whole.end;
    }
    if !tree.element(id).is_empty_tag {
        words(&tree.text[at..content.end], out);
    }
    if block {
        new_line(out);
    }
}

fn new_line(out: &mut String) {
    while out.ends_with(' ') {
        out.pop();
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

/// Text between tags, with comments passed and blanks made one.
fn words(raw: &str, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = rest.find('<') {
        plain(&unescape(&rest[..at]), out);
        rest = &rest[at..];
        let (inner, end) = match rest.strip_prefix("<![CDATA[") {
            Some(cdata) => {
                let end = cdata.find("]]>").unwrap_or(cdata.len());
                (&cdata[..end], 9 + end + 3)
            }
            None => ("", rest.find("-->").map_or(rest.len(), |at| at + 3)),
        };
        plain(inner, out);
        rest = rest.get(end..).unwrap_or_default();
    }
    plain(&unescape(rest), out);
}

fn plain(text: &str, out: &mut String) {
    for c in text.chars() {
        match c.is_ascii_whitespace() {
            true if out.is_empty() || out.ends_with([' ', '\n']) => {}
            true => out.push(' '),
            false => out.push(c),
        }
    }
}

/// Plain text as the content of `THE-VALUE`, with the prefix that XHTML has in the document.
pub fn to_xhtml(text: &str, prefix: &str) -> String {
    let tag = |name: &str| match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}:{name}"),
    };
    let (div, line_break) = (tag("div"), tag("br"));
    let lines: Vec<String> = text.lines().map(|line| escape(line, false)).collect();
    format!("<{div}>{}</{div}>", lines.join(&format!("<{line_break}/>")))
}
