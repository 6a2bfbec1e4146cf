//! Lines of an IETF text, told apart: heading, text, blank, and what belongs to the page and not to the document.

use crate::specification::Line;
use crate::text::{Span, lines};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A line that may open a section; the parser has the last word.
    Heading {
        line: Line,
        kind: HeadingKind,
        id: &'a str,
        title: &'a str,
    },
    /// A line of text, with what it says.
    Text { line: Line },
    /// An empty line.
    Blank(Blank),
    /// What belongs to the page: a footer, a running header.
    Furniture,
}

/// What makes a line empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blank {
    /// Nothing, or blanks.
    Line,
    /// A form feed: the next line is a running header.
    Page,
}

/// What a heading's id is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadingKind {
    /// `1.2.`
    Section,
    /// `A.1.` or `Appendix A.`
    Appendix,
    /// A title of the well-known ones that stand without a number.
    Named,
}

pub(super) fn tokenize(text: &str) -> impl Iterator<Item = Token<'_>> {
    let bom = if text.starts_with('\u{feff}') { 3 } else { 0 };
    lines(&text[bom..]).enumerate().map(move |(index, (span, _))| {
        let span = Span::new(span.start as usize + bom, span.end as usize + bom);
        token(text, span, index as u32 + 1)
    })
}

fn token(text: &str, span: Span, number: u32) -> Token<'_> {
    let raw = &text[span.range()];
    let at = |span: Span| Line {
        span,
        number,
        break_before: false,
    };
    // Nearly every line: nothing, or indented words that end in a letter or a stop and are neither heading nor furniture.
    match raw.as_bytes() {
        [] => return Token::Blank(Blank::Line),
        [b' ', .., last] if last.is_ascii_graphic() && *last != b']' => {
            return Token::Text { line: at(span) };
        }
        b"\x0c" => return Token::Blank(Blank::Page),
        _ => {}
    }
    let skipped = raw.len() - raw.trim_start_matches('\u{c}').len();
    let span = Span::new(span.start as usize + skipped, span.end as usize);
    let line = &text[span.range()];
    // The same behind a form feed, or with blanks behind the words.
    let last = line.as_bytes().trim_ascii_end().last();
    if line.starts_with(' ') && last.is_some_and(|last| last.is_ascii_graphic() && *last != b']') {
        return Token::Text { line: at(span) };
    }
    if line.trim().is_empty() {
        return Token::Blank(Blank::Line);
    }
    if is_page_footer(line) || is_page_header(line) {
        return Token::Furniture;
    }
    let heading = numbered(line).or_else(|| well_known(line));
    let line = at(span);
    match heading {
        Some((kind, id, title)) => Token::Heading {
            line,
            kind,
            id,
            title,
        },
        None => Token::Text { line },
    }
}

/// `Authors      Standards Track      [Page 7]`, and in old texts `[Page 7]` at the left margin, whatever follows.
fn is_page_footer(line: &str) -> bool {
    let digits = |c: char| c.is_ascii_digit();
    if let Some(rest) = line.strip_prefix("[Page ") {
        let behind = rest.trim_start_matches(digits);
        return behind.len() < rest.len() && behind.starts_with(']');
    }
    let Some(line) = line.strip_suffix(']') else {
        return false;
    };
    let before = line.trim_end_matches(digits);
    before.len() < line.len() && before.ends_with(" [Page ")
}

/// `RFC 919          October 1984`. That of a draft has no such mark, but follows a form feed.
fn is_page_header(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("RFC ") else {
        return false;
    };
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_number = behind.len() < rest.len();
    let title = behind.strip_prefix("  ").filter(|_| has_number);
    title.is_some_and(|title| !title.is_empty())
}

/// `2.1.  Title`, `A.1 Title`, `Appendix A:  Title`, at the margin and not of a table of contents.
fn numbered(line: &str) -> Option<(HeadingKind, &str, &str)> {
    let rest = ["Appendix", "APPENDIX"]
        .iter()
        .find_map(|word| line.strip_prefix(word));
    let (rest, is_appendix) = match rest {
        Some(rest) if rest.starts_with(' ') => (rest.trim_start(), true),
        _ => (line, false),
    };
    let length = rest
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'.')
        .count();
    let (id, rest) = rest.split_at(length);
    // A letter alone is an article or a name, not the number of an appendix.
    if !is_appendix && id.len() == 1 && id.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let id = id.strip_suffix('.').unwrap_or(id);
    let kind = number_kind(id)?;
    if is_appendix && kind != HeadingKind::Appendix {
        return None;
    }
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    let is_separated = rest.starts_with([' ', '\t']) || (is_appendix && rest.is_empty());
    if !is_separated {
        return None;
    }
    let title = rest.trim();
    // Between the word `Appendix`, its letter and the title a dash or a colon may stand.
    let title = match title.strip_prefix([':', '-']) {
        Some(after) if is_appendix && !id.contains('.') && after.starts_with(' ') => after.trim_start(),
        _ => title,
    };
    (is_title(title) || (is_appendix && title.is_empty())).then_some((kind, id, title))
}

/// Parts are numbers up to 199, the first one may be a capital with or without a digit (`A`, `A.1`, `A2.1`).
fn number_kind(id: &str) -> Option<HeadingKind> {
    let mut parts = id.split('.');
    let first = parts.next()?;
    let kind = match first.as_bytes() {
        [b'A'..=b'Z'] | [b'A'..=b'Z', b'0'..=b'9'] => HeadingKind::Appendix,
        _ if is_part(first) => HeadingKind::Section,
        _ => return None,
    };
    parts.all(is_part).then_some(kind)
}

fn is_part(part: &str) -> bool {
    part.len() <= 3 && part.parse::<u16>().is_ok_and(|n| n <= 199)
}

/// Dot leaders and wide gaps make a line an entry of a table of contents, a semicolon at either end a line of code.
fn is_title(title: &str) -> bool {
    let is_entry = [".....", " . . ", "     "].iter().any(|gap| title.contains(gap));
    !title.is_empty() && !is_entry && !title.starts_with(';') && !title.ends_with(';')
}

fn well_known(line: &str) -> Option<(HeadingKind, &str, &str)> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let title = line.trim_end();
    WELL_KNOWN
        .iter()
        .any(|known| known.eq_ignore_ascii_case(title))
        .then_some((HeadingKind::Named, "", title))
}

/// Titles that open a section without a number.
const WELL_KNOWN: &[&str] = &[
    "Abstract",
    "Acknowledgement",
    "Acknowledgements",
    "Acknowledgments",
    "Appendix",
    "Author's Address",
    "Authors' Addresses",
    "Contributors",
    "Copyright Notice",
    "Editors' Addresses",
    "Full Copyright Statement",
    "IANA Considerations",
    "Index",
    "Informative References",
    "Intellectual Property",
    "Intellectual Property Statement",
    "Normative References",
    "References",
    "Security Considerations",
    "Status of This Memo",
    "Table of Contents",
    "Working Group Information",
];
