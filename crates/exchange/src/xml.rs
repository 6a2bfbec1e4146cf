//! XML as a tree of places: every element, attribute and text by where it stands in the text, so that it can be changed
//! there and everything else stays.
//!
//! Only what a document needs is read: elements, attributes, text, CDATA; comments and instructions are passed. A document
//! type declaration is not read and its entities are not expanded, so nothing can grow.

use std::borrow::Cow;
use std::ops::Range;

use crate::diagnostic::{Diagnostic, Diagnostics, Severity};

/// How large a document may be.
#[derive(Clone, Copy, Debug)]
pub struct XmlLimits {
    /// Elements inside elements.
    pub max_depth: usize,
    /// Bytes of the text.
    pub max_bytes: usize,
    /// Elements altogether.
    pub max_elements: usize,
    /// Diagnostics told of one document.
    pub max_diagnostics: usize,
}

impl Default for XmlLimits {
    fn default() -> Self {
        Self {
            max_depth: 256,
            max_bytes: 1 << 31,
            max_elements: 50_000_000,
            max_diagnostics: 1_000,
        }
    }
}

/// The number of an element in its tree, in the order of the text.
pub type ElementId = usize;

/// One element.
#[derive(Clone, Debug)]
pub struct Element {
    /// The element it stands in.
    pub parent: Option<ElementId>,
    /// Its name as written, with prefix.
    name: Range<u32>,
    /// From `<` to behind the last `>`.
    whole: Range<u32>,
    /// Between its tags; empty, and just before `/>`, when it has only one.
    content: Range<u32>,
    /// Which attributes of the tree are its own.
    attributes: Range<u32>,
    /// The first element behind it and all it holds.
    next: u32,
    /// Whether it is written `<NAME/>`.
    pub is_empty_tag: bool,
}

#[derive(Clone, Debug)]
struct Attribute {
    name: Range<u32>,
    value: Range<u32>,
}

/// A document and its elements.
#[derive(Clone, Debug)]
pub struct XmlTree<'a> {
    /// The text all places are in.
    pub text: &'a str,
    elements: Vec<Element>,
    attributes: Vec<Attribute>,
}

/// Reads a document; the first thing that is not well-formed ends it.
pub fn parse<'a>(text: &'a str, limits: &XmlLimits) -> Result<XmlTree<'a>, Diagnostic> {
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        at: 0,
        limits,
        tree: XmlTree {
            text,
            elements: Vec::with_capacity(text.len() / 64),
            attributes: Vec::with_capacity(text.len() / 64),
        },
        open: Vec::new(),
    };
    match reader.document() {
        Ok(()) => Ok(reader.tree),
        Err((at, message)) => {
            let mut diagnostics = Diagnostics::of(text, 1);
            diagnostics.add(Severity::Error, "not-well-formed", at, message);
            Err(diagnostics.finish().swap_remove(0))
        }
    }
}

impl<'a> XmlTree<'a> {
    /// The outermost element.
    pub fn root(&self) -> ElementId {
        0
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is none; never so of a document that was read.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// One element.
    pub fn element(&self, id: ElementId) -> &Element {
        &self.elements[id]
    }

    /// Its name without prefix.
    pub fn name(&self, id: ElementId) -> &'a str {
        let name = self.qualified_name(id);
        name.rsplit_once(':').map_or(name, |(_, local)| local)
    }

    /// Its name with prefix.
    pub fn qualified_name(&self, id: ElementId) -> &'a str {
        &self.text[bytes(&self.elements[id].name)]
    }

    /// Where it stands, tags included.
    pub fn whole(&self, id: ElementId) -> Range<usize> {
        bytes(&self.elements[id].whole)
    }

    /// Where its content stands.
    pub fn content(&self, id: ElementId) -> Range<usize> {
        bytes(&self.elements[id].content)
    }

    /// The elements directly in it.
    pub fn children(&self, id: ElementId) -> impl Iterator<Item = ElementId> + '_ {
        let end = self.elements[id].next as usize;
        let mut next = id + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.elements[child].next as usize;
            Some(child)
        })
    }

    /// The first element of a name directly in it.
    pub fn child(&self, id: ElementId, name: &str) -> Option<ElementId> {
        self.children(id).find(|child| self.name(*child) == name)
    }

    /// All elements in it, at any depth.
    pub fn descendants(&self, id: ElementId) -> Range<ElementId> {
        id + 1..self.elements[id].next as usize
    }

    /// The value of an attribute, by its name without prefix.
    pub fn attribute(&self, id: ElementId, name: &str) -> Option<Cow<'a, str>> {
        Some(unescape(&self.text[self.attribute_place(id, name)?]))
    }

    /// Where the value of an attribute stands, between its quotation marks.
    pub fn attribute_place(&self, id: ElementId, name: &str) -> Option<Range<usize>> {
        let own = bytes(&self.elements[id].attributes);
        let of_name = |attribute: &&Attribute| {
            let written = &self.text[bytes(&attribute.name)];
            written == name || written.rsplit_once(':').is_some_and(|(_, local)| local == name)
        };
        self.attributes[own]
            .iter()
            .find(of_name)
            .map(|attribute| bytes(&attribute.value))
    }

    /// The names of its attributes, as written.
    pub fn attribute_names(&self, id: ElementId) -> impl Iterator<Item = &'a str> + '_ {
        let own = bytes(&self.elements[id].attributes);
        self.attributes[own]
            .iter()
            .map(|attribute| &self.text[bytes(&attribute.name)])
    }

    /// The text in it, of all depths, with entities resolved and surrounding blanks kept.
    pub fn text_of(&self, id: ElementId) -> String {
        let mut out = String::new();
        let content = self.content(id);
        let mut at = content.start;
        for inner in self.descendants(id) {
            let whole = self.whole(inner);
            let start = whole.start.max(at);
            push_text(&self.text[at..start], &mut out);
            // End tags are passed as marks.
            at = match self.elements[inner].is_empty_tag {
                true => whole.end,
                false => self.content(inner).start,
            };
        }
        push_text(&self.text[at..content.end], &mut out);
        out
    }
}

fn bytes(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Text between tags: marks are passed, CDATA is taken as it stands, entities are resolved.
fn push_text(raw: &str, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = rest.find('<') {
        out.push_str(&unescape(&rest[..at]));
        rest = &rest[at..];
        let end = match rest {
            cdata if cdata.starts_with("<![CDATA[") => {
                let end = cdata.find("]]>").unwrap_or(cdata.len());
                out.push_str(&cdata[9.min(end)..end]);
                end + 3
            }
            comment if comment.starts_with("<!--") => comment.find("-->").map_or(comment.len(), |at| at + 3),
            tag => tag.find('>').map_or(tag.len(), |at| at + 1),
        };
        rest = rest.get(end..).unwrap_or_default();
    }
    out.push_str(&unescape(rest));
}

/// The five entities and references by number; others stay as they are.
pub fn unescape(raw: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest.find(';').and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

/// Text as it may stand in an attribute or between tags. What XML cannot hold is left out.
pub fn escape(text: &str, in_attribute: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if in_attribute => out.push_str("&quot;"),
            '\'' if in_attribute => out.push_str("&apos;"),
            '\n' if in_attribute => out.push_str("&#10;"),
            '\t' if in_attribute => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            '\t' | '\n' => out.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

type Fault = (usize, String);

struct Reader<'a, 'l> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    limits: &'l XmlLimits,
    tree: XmlTree<'a>,
    open: Vec<ElementId>,
}

impl Reader<'_, '_> {
    fn document(&mut self) -> Result<(), Fault> {
        if self.bytes.len() > self.limits.max_bytes.min(u32::MAX as usize - 1) {
            return Err((
                0,
                format!("the document has more than {} bytes", self.limits.max_bytes),
            ));
        }
        if self.text.starts_with('\u{feff}') {
            self.at = 3;
        }
        while let Some(found) = memchr::memchr(b'<', &self.bytes[self.at..]) {
            let text = self.at..self.at + found;
            self.check_text(text)?;
            self.at += found;
            self.markup()?;
        }
        self.check_text(self.at..self.bytes.len())?;
        if let Some(open) = self.open.last() {
            let name = self.tree.qualified_name(*open).to_owned();
            return Err((self.tree.whole(*open).start, format!("<{name}> is not closed")));
        }
        match self.tree.is_empty() {
            true => Err((0, "there is no element".to_owned())),
            false => Ok(()),
        }
    }

    /// Outside of the root only blanks may stand; inside, `&` must begin an entity that is known.
    fn check_text(&self, range: Range<usize>) -> Result<(), Fault> {
        let raw = &self.bytes[range.clone()];
        if self.open.is_empty() {
            let odd = raw.iter().position(|c| !c.is_ascii_whitespace());
            return odd.map_or(Ok(()), |at| {
                Err((
                    self.char_start(range.start + at),
                    "text outside of the root element".to_owned(),
                ))
            });
        }
        self.check_entities(range)
    }

    fn check_entities(&self, range: Range<usize>) -> Result<(), Fault> {
        for at in memchr::memchr_iter(b'&', &self.bytes[range.clone()]) {
            let start = range.start + at;
            let rest = &self.text[start + 1..range.end];
            let known = rest
                .find(';')
                .is_some_and(|end| end < 12 && entity(&rest[..end]).is_some());
            if !known {
                return Err((start, "\"&\" begins no entity that is known here".to_owned()));
            }
        }
        Ok(())
    }

    fn char_start(&self, mut at: usize) -> usize {
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    //= specs/exchange.md#documents
    //# A document type declaration MUST NOT be read, and entities of a document MUST NOT be expanded.
    fn markup(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let rest = &self.bytes[start..];
        match rest.get(1) {
            Some(b'/') => self.end_tag(),
            Some(b'?') => self.pass("?>", "an instruction is not closed"),
            Some(b'!') if rest.starts_with(b"<!--") => self.pass("-->", "a comment is not closed"),
            Some(b'!') if rest.starts_with(b"<![CDATA[") => match self.open.is_empty() {
                true => Err((start, "text outside of the root element".to_owned())),
                false => self.pass("]]>", "a CDATA section is not closed"),
            },
            Some(b'!') => Err((
                start,
                "a document type declaration is not read: entities of a document are not expanded".to_owned(),
            )),
            _ => self.start_tag(),
        }
    }

    fn pass(&mut self, end: &str, problem: &str) -> Result<(), Fault> {
        let found = memchr::memmem::find(&self.bytes[self.at..], end.as_bytes());
        let found = found.ok_or((self.at, problem.to_owned()))?;
        self.at += found + end.len();
        Ok(())
    }

    fn name(&mut self) -> Result<Range<u32>, Fault> {
        let start = self.at;
        let ends = |c: &u8| c.is_ascii_whitespace() || matches!(c, b'/' | b'>' | b'=' | b'<' | b'"' | b'\'');
        let length = self.bytes[start..]
            .iter()
            .position(ends)
            .unwrap_or(self.bytes.len() - start);
        let first = self.text[start..].chars().next();
        let named = length > 0 && first.is_some_and(|c| c.is_alphabetic() || c == '_' || c == ':');
        if !named {
            return Err((start, "a name is expected".to_owned()));
        }
        self.at += length;
        Ok(start as u32..self.at as u32)
    }

    fn blanks(&mut self) -> bool {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.at > start
    }

    fn start_tag(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.at += 1;
        if self.open.is_empty() && !self.tree.is_empty() {
            return Err((start, "a second root element".to_owned()));
        }
        if self.open.len() >= self.limits.max_depth {
            return Err((
                start,
                format!("elements are deeper than {}", self.limits.max_depth),
            ));
        }
        if self.tree.len() >= self.limits.max_elements {
            return Err((
                start,
                format!("there are more than {} elements", self.limits.max_elements),
            ));
        }
        let name = self.name()?;
        let first = self.tree.attributes.len();
        let is_empty_tag = loop {
            let blank = self.blanks();
            match self.bytes.get(self.at) {
                Some(b'>') => break false,
                Some(b'/') if self.bytes.get(self.at + 1) == Some(&b'>') => break true,
                Some(_) if blank => self.attribute(first)?,
                Some(_) => {
                    return Err((
                        self.char_start(self.at),
                        "a blank is expected between attributes".to_owned(),
                    ));
                }
                None => return Err((start, "a tag is not closed".to_owned())),
            }
        };
        let content = self.at as u32;
        self.at += if is_empty_tag { 2 } else { 1 };
        let id = self.tree.elements.len();
        let end = self.at as u32;
        let inner = if is_empty_tag { content } else { end };
        self.tree.elements.push(Element {
            parent: self.open.last().copied(),
            name,
            whole: start as u32..end,
            content: inner..inner,
            attributes: first as u32..self.tree.attributes.len() as u32,
            next: id as u32 + 1,
            is_empty_tag,
        });
        match is_empty_tag {
            true => self.close(id),
            false => self.open.push(id),
        }
        Ok(())
    }

    fn attribute(&mut self, first: usize) -> Result<(), Fault> {
        let start = self.at;
        let name = self.name()?;
        self.blanks();
        if self.bytes.get(self.at) != Some(&b'=') {
            return Err((start, "an attribute has no value".to_owned()));
        }
        self.at += 1;
        self.blanks();
        let quote = match self.bytes.get(self.at) {
            Some(c @ (b'"' | b'\'')) => *c,
            _ => {
                return Err((
                    start,
                    "the value of an attribute has no quotation marks".to_owned(),
                ));
            }
        };
        let value = self.at + 1;
        let length = memchr::memchr2(quote, b'<', &self.bytes[value..]);
        let length = length.filter(|at| self.bytes[value + at] == quote);
        let length = length.ok_or((start, "the value of an attribute is not closed".to_owned()))?;
        self.at = value + length + 1;
        self.check_entities(value..value + length)?;
        let written = &self.text[bytes(&name)];
        let twin = |attribute: &Attribute| &self.text[bytes(&attribute.name)] == written;
        if self.tree.attributes[first..].iter().any(twin) {
            return Err((start, format!("the attribute {written} stands twice")));
        }
        self.tree.attributes.push(Attribute {
            name,
            value: value as u32..(value + length) as u32,
        });
        Ok(())
    }

    fn end_tag(&mut self) -> Result<(), Fault> {
        let start = self.at;
        self.at += 2;
        let name = self.name()?;
        self.blanks();
        if self.bytes.get(self.at) != Some(&b'>') {
            return Err((start, "an end tag is not closed".to_owned()));
        }
        self.at += 1;
        let written = &self.text[bytes(&name)];
        let Some(id) = self.open.pop() else {
            return Err((start, format!("</{written}> closes nothing")));
        };
        if self.tree.qualified_name(id) != written {
            return Err((
                start,
                format!("</{written}> closes <{}>", self.tree.qualified_name(id)),
            ));
        }
        let element = &mut self.tree.elements[id];
        element.content.end = start as u32;
        element.whole.end = self.at as u32;
        self.close(id);
        Ok(())
    }

    fn close(&mut self, id: ElementId) {
        self.tree.elements[id].next = self.tree.elements.len() as u32;
    }
}

/// Changes of a text at its places, made together; two that touch the same place are a fault of the caller's.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    edits: Vec<(Range<usize>, String)>,
}

impl Edits {
    /// Writes this in place of what stands there.
    pub fn replace(&mut self, place: Range<usize>, by: impl Into<String>) {
        self.edits.push((place, by.into()));
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The text with all of them; of two at one place the later one stands behind the earlier.
    pub fn apply(mut self, text: &str) -> String {
        self.edits.sort_by_key(|(place, _)| place.start);
        let grown: usize = self.edits.iter().map(|(_, by)| by.len()).sum();
        let mut out = String::with_capacity(text.len() + grown);
        let mut at = 0;
        for (place, by) in &self.edits {
            if place.start < at {
                continue;
            }
            out.push_str(&text[at..place.start]);
            out.push_str(by);
            at = place.end;
        }
        out.push_str(&text[at..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> XmlTree<'_> {
        parse(text, &XmlLimits::default()).unwrap()
    }

    #[test]
    fn places_are_those_of_the_text() {
        let text = "\u{feff}<?xml version=\"1.0\"?>\r\n<a:r x='1&amp;2'><b/>t&lt;<c>u<!-- > --></c><![CDATA[<v>]]></a:r>\n";
        let tree = tree(text);
        assert_eq!(tree.name(0), "r");
        assert_eq!(tree.attribute(0, "x").unwrap(), "1&2");
        let names: Vec<_> = tree.children(0).map(|id| tree.name(id)).collect();
        assert_eq!(names, ["b", "c"]);
        assert_eq!(&text[tree.whole(2)], "<c>u<!-- > --></c>");
        assert_eq!(tree.text_of(0), "t<u<v>");
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        let diagnostic = parse(text, &XmlLimits::default()).unwrap_err();
        assert!(diagnostic.to_string().contains(message), "{diagnostic}");
    }

    #[test]
    fn what_is_not_well_formed_has_a_place() {
        //= specs/exchange.md#documents
        //= type=test
        //# A document type declaration MUST NOT be read, and entities of a document MUST NOT be expanded.
        refused("<a>\n <b></a>", "line 2, column 5: </a> closes <b>");
        refused(
            "<a x=1/>",
            "line 1, column 4: the value of an attribute has no quotation marks",
        );
        refused("<a x='1' x='2'/>", "the attribute x stands twice");
        refused("<a>&bomb;</a>", "line 1, column 4: \"&\" begins no entity");
        refused(
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
            "a document type declaration is not read",
        );
        refused("<a/><b/>", "a second root element");
        refused("", "there is no element");
        refused("<a>", "<a> is not closed");
        refused(&"<a>".repeat(300), "elements are deeper than 256");
    }
}
