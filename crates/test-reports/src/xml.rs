//! A pull reader for XML of any length. It knows no entities but the five of the language and characters by number, reads no
//! document type's inside and fetches nothing, so that a small report stays small.

use crate::{ReportFault, ReportLimits};
use std::io::BufRead;

/// What comes next.
#[derive(Debug)]
pub(crate) enum XmlEvent {
    /// An element begins; `is_empty` where it ends at once, and then no end follows.
    Start {
        name: String,
        attributes: Attributes,
        is_empty: bool,
    },
    /// An element ends.
    End { name: String },
    /// Text, as much of it as is kept.
    Text(String),
    /// The document is over.
    Eof,
}

/// The attributes of an element, in order.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// The value of one, empty where it is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.trim().parse().ok()
    }

    /// Seconds with a fraction, as milliseconds.
    pub(crate) fn milliseconds(&self, name: &str) -> u64 {
        let seconds: f64 = self.text(name).replace(',', "").trim().parse().unwrap_or(0.0);
        if seconds.is_finite() && seconds > 0.0 {
            (seconds * 1e3).min(1e15) as u64
        } else {
            0
        }
    }
}

/// How bytes become characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
}

/// The reader: bytes in, events out.
pub(crate) struct XmlReader<R> {
    input: R,
    /// The line of the next byte.
    line: u32,
    /// Bytes read so far.
    read_bytes: u64,
    encoding: Encoding,
    open: Vec<String>,
    has_root: bool,
    max_report_bytes: u64,
    max_value_bytes: usize,
    max_depth: usize,
}

impl<R: BufRead> XmlReader<R> {
    pub(crate) fn new(input: R, limits: &ReportLimits) -> Result<Self, ReportFault> {
        let mut reader = Self {
            input,
            line: 1,
            read_bytes: 0,
            encoding: Encoding::Utf8,
            open: Vec::new(),
            has_root: false,
            max_report_bytes: limits.max_report_bytes,
            max_value_bytes: limits.max_value_bytes,
            max_depth: limits.max_depth,
        };
        reader.skip_mark()?;
        Ok(reader)
    }

    /// The line the reader has come to.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// How many elements are open.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    fn fault<T>(&self, problem: impl Into<String>) -> Result<T, ReportFault> {
        Err(ReportFault::new(self.line, problem))
    }

    /// The mark of an encoding in front of everything.
    fn skip_mark(&mut self) -> Result<(), ReportFault> {
        let begin = self.fill()?.iter().take(3).copied().collect::<Vec<u8>>();
        match begin.as_slice() {
            [0xEF, 0xBB, 0xBF] => self.consume(3),
            [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [b'<', 0, ..] | [0, b'<', ..] => {
                self.fault("the report is UTF-16; write it as UTF-8")
            }
            _ => Ok(()),
        }
    }

    fn fill(&mut self) -> Result<&[u8], ReportFault> {
        let line = self.line;
        let unreadable =
            |error: std::io::Error| ReportFault::new(line, format!("it cannot be read: {error}"));
        self.input.fill_buf().map_err(unreadable)
    }

    fn consume(&mut self, count: usize) -> Result<(), ReportFault> {
        self.input.consume(count);
        self.read_bytes += count as u64;
        if self.read_bytes > self.max_report_bytes {
            return self.fault(format!(
                "the report is larger than {} bytes",
                self.max_report_bytes
            ));
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<u8>, ReportFault> {
        Ok(self.fill()?.first().copied())
    }

    fn next_byte(&mut self) -> Result<u8, ReportFault> {
        match self.peek()? {
            None => self.ended(),
            Some(byte) => {
                self.consume(1)?;
                if byte == b'\n' {
                    self.line = self.line.saturating_add(1);
                }
                Ok(byte)
            }
        }
    }

    fn ended<T>(&self) -> Result<T, ReportFault> {
        match self.open.last() {
            Some(name) => self.fault(format!("the report ends inside of <{name}>")),
            None => self.fault("the report ends in the middle of a tag"),
        }
    }

    /// Takes bytes up to one of two, which is left; keeps at most so many of them. Tells whether one was found.
    fn take_until(
        &mut self,
        (a, b): (u8, u8),
        kept: &mut Vec<u8>,
        max_bytes: usize,
    ) -> Result<bool, ReportFault> {
        loop {
            let buffer = self.fill()?;
            if buffer.is_empty() {
                return Ok(false);
            }
            let found = memchr::memchr2(a, b, buffer);
            let end = found.unwrap_or(buffer.len());
            let room = max_bytes.saturating_sub(kept.len());
            kept.extend_from_slice(&buffer[..end.min(room)]);
            let lines = memchr::memchr_iter(b'\n', &buffer[..end]).count();
            self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
            self.consume(end)?;
            if found.is_some() {
                return Ok(true);
            }
        }
    }

    /// Skips to the end of a part that ends with these bytes, and keeps the beginning of it.
    fn take_past(&mut self, end: &[u8], kept: &mut Vec<u8>, max_bytes: usize) -> Result<(), ReportFault> {
        let last = end[end.len() - 1];
        let mut tail: Vec<u8> = Vec::with_capacity(end.len());
        loop {
            let byte = self.next_byte()?;
            if kept.len() < max_bytes + end.len() {
                kept.push(byte);
            }
            if tail.len() == end.len() {
                tail.remove(0);
            }
            tail.push(byte);
            if byte == last && tail == end {
                if kept.ends_with(end) {
                    kept.truncate(kept.len() - end.len());
                }
                return Ok(());
            }
        }
    }

    fn decode(&self, bytes: Vec<u8>) -> String {
        match self.encoding {
            Encoding::Latin1 => bytes.into_iter().map(char::from).collect(),
            Encoding::Utf8 => match String::from_utf8(bytes) {
                Ok(text) => text,
                // What was cut in the middle of a character, or is not UTF-8 after all.
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            },
        }
    }

    /// What comes next.
    pub(crate) fn next(&mut self) -> Result<XmlEvent, ReportFault> {
        loop {
            match self.peek()? {
                None if !self.open.is_empty() => return self.ended(),
                None if !self.has_root => return self.fault("there is no report in it: it holds no element"),
                None => return Ok(XmlEvent::Eof),
                Some(b'<') => {
                    self.next_byte()?;
                    if let Some(event) = self.markup()? {
                        return Ok(event);
                    }
                }
                Some(_) => {
                    if let Some(text) = self.text()? {
                        return Ok(XmlEvent::Text(text));
                    }
                }
            }
        }
    }

    fn text(&mut self) -> Result<Option<String>, ReportFault> {
        let begun = self.line;
        let mut bytes = Vec::new();
        self.take_until((b'<', b'<'), &mut bytes, self.max_value_bytes)?;
        if self.open.is_empty() {
            return match bytes.iter().all(u8::is_ascii_whitespace) {
                true => Ok(None),
                false => Err(ReportFault::new(
                    begun,
                    "this is no XML: there is text outside of elements",
                )),
            };
        }
        let text = self.decode(bytes);
        Ok(Some(unescape(&text, begun)?))
    }

    /// What follows a `<`.
    fn markup(&mut self) -> Result<Option<XmlEvent>, ReportFault> {
        match self.peek()? {
            None => self.ended(),
            Some(b'?') => self.instruction().map(|()| None),
            Some(b'!') => self.declaration(),
            Some(b'/') => self.end_tag().map(Some),
            Some(_) => self.start_tag().map(Some),
        }
    }

    fn instruction(&mut self) -> Result<(), ReportFault> {
        let mut bytes = Vec::new();
        self.take_past(b"?>", &mut bytes, 200)?;
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let Some((_, encoding)) = text
            .strip_prefix("?xml")
            .and_then(|rest| rest.split_once("encoding"))
        else {
            return Ok(());
        };
        let name = encoding.trim_start_matches(['=', ' ', '"', '\'']);
        let name = name.split(['"', '\'']).next().unwrap_or_default().trim();
        self.encoding = match name {
            "utf-8" | "utf8" | "us-ascii" | "ascii" => Encoding::Utf8,
            "iso-8859-1" | "latin1" | "latin-1" | "iso-8859-15" | "windows-1252" | "cp1252" => {
                Encoding::Latin1
            }
            other => {
                return self.fault(format!(
                    "the encoding {other:?} is not known; write the report as UTF-8"
                ));
            }
        };
        Ok(())
    }

    fn declaration(&mut self) -> Result<Option<XmlEvent>, ReportFault> {
        self.next_byte()?;
        match self.peek()? {
            Some(b'-') => {
                self.expect(b"--")?;
                self.take_past(b"-->", &mut Vec::new(), 0)?;
                Ok(None)
            }
            Some(b'[') => {
                self.expect(b"[CDATA[")?;
                let mut bytes = Vec::new();
                self.take_past(b"]]>", &mut bytes, self.max_value_bytes)?;
                Ok(Some(XmlEvent::Text(self.decode(bytes))))
            }
            _ => self.document_type().map(|()| None),
        }
    }

    fn expect(&mut self, bytes: &[u8]) -> Result<(), ReportFault> {
        for wanted in bytes {
            if self.next_byte()? != *wanted {
                return self.fault("a tag that XML does not know begins with `<!`");
            }
        }
        Ok(())
    }

    /// A document type may be named. One that defines anything is refused: entities are made there.
    fn document_type(&mut self) -> Result<(), ReportFault> {
        let mut bytes = Vec::new();
        if !self.take_until((b'>', b'['), &mut bytes, self.max_value_bytes)? {
            return self.ended();
        }
        match self.next_byte()? {
            b'[' => self
                .fault("the report defines entities of its own, which are not read; write it without them"),
            _ => Ok(()),
        }
    }

    fn end_tag(&mut self) -> Result<XmlEvent, ReportFault> {
        self.next_byte()?;
        let mut bytes = Vec::new();
        if !self.take_until((b'>', b'<'), &mut bytes, MAX_NAME_BYTES)? || self.next_byte()? == b'<' {
            return self.fault("a tag does not end");
        }
        let name = self.decode(bytes).trim().to_owned();
        match self.open.pop() {
            Some(open) if open == name => Ok(XmlEvent::End { name }),
            Some(open) => self.fault(format!("</{name}> stands where </{open}> is due")),
            None => self.fault(format!("</{name}> ends what never began")),
        }
    }

    fn start_tag(&mut self) -> Result<XmlEvent, ReportFault> {
        if self.open.is_empty() && self.has_root {
            return self.fault("there is a second report behind the first");
        }
        let name = self.name()?;
        if name.is_empty() {
            return self.fault("`<` without a name behind it; write it as &lt;");
        }
        let mut attributes = Attributes::default();
        loop {
            self.skip_blanks()?;
            match self.peek()? {
                None => return self.ended(),
                Some(b'>') => {
                    self.next_byte()?;
                    return self.begin(name, attributes, false);
                }
                Some(b'/') => {
                    self.next_byte()?;
                    if self.next_byte()? != b'>' {
                        return self.fault(format!("the tag <{name}> does not end"));
                    }
                    return self.begin(name, attributes, true);
                }
                Some(_) => self.attribute(&name, &mut attributes)?,
            }
        }
    }

    fn begin(
        &mut self,
        name: String,
        attributes: Attributes,
        is_empty: bool,
    ) -> Result<XmlEvent, ReportFault> {
        self.has_root = true;
        if !is_empty {
            if self.open.len() >= self.max_depth {
                return self.fault(format!(
                    "more than {} elements stand inside each other",
                    self.max_depth
                ));
            }
            self.open.push(name.clone());
        }
        Ok(XmlEvent::Start {
            name,
            attributes,
            is_empty,
        })
    }

    fn attribute(&mut self, element: &str, attributes: &mut Attributes) -> Result<(), ReportFault> {
        let name = self.name()?;
        self.skip_blanks()?;
        if name.is_empty() || self.next_byte()? != b'=' {
            return self.fault(format!("the attributes of <{element}> cannot be read"));
        }
        self.skip_blanks()?;
        let quote = self.next_byte()?;
        if quote != b'"' && quote != b'\'' {
            return self.fault(format!("the value of {name} in <{element}> stands in no quotes"));
        }
        let begun = self.line;
        let mut bytes = Vec::new();
        if !self.take_until((quote, quote), &mut bytes, self.max_value_bytes)? {
            return self.ended();
        }
        self.next_byte()?;
        let value = unescape(&self.decode(bytes), begun)?;
        if attributes.0.len() < MAX_ATTRIBUTES {
            attributes.0.push((name, value));
        }
        Ok(())
    }

    fn skip_blanks(&mut self) -> Result<(), ReportFault> {
        while self.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.next_byte()?;
        }
        Ok(())
    }

    fn name(&mut self) -> Result<String, ReportFault> {
        let mut bytes = Vec::new();
        while let Some(byte) = self.peek()? {
            if byte.is_ascii_whitespace() || matches!(byte, b'=' | b'>' | b'/' | b'<' | b'"' | b'\'') {
                break;
            }
            self.next_byte()?;
            if bytes.len() >= MAX_NAME_BYTES {
                return self.fault(format!("a name is longer than {MAX_NAME_BYTES} bytes"));
            }
            bytes.push(byte);
        }
        Ok(self.decode(bytes))
    }
}

/// Attributes of one element that are kept.
const MAX_ATTRIBUTES: usize = 64;

/// A name of an element or of an attribute.
const MAX_NAME_BYTES: usize = 1_000;

/// Text with its references resolved.
fn unescape(text: &str, line: u32) -> Result<String, ReportFault> {
    if !text.contains('&') {
        return Ok(text.to_owned());
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        // Only a text that was cut lacks its end.
        let Some(end) = rest
            .bytes()
            .take(MAX_REFERENCE_BYTES)
            .position(|byte| byte == b';')
        else {
            return match rest.len() < MAX_REFERENCE_BYTES {
                true => Ok(plain),
                false => Err(ReportFault::new(
                    line,
                    "`&` that begins no reference; write it as &amp;",
                )),
            };
        };
        let name = &rest[..end];
        rest = &rest[end + 1..];
        match character(name) {
            Some(character) => plain.push(character),
            None => {
                let problem =
                    format!("the entity &{name}; is not one of the language, and no others are read");
                return Err(ReportFault::new(line, problem));
            }
        }
    }
    plain.push_str(rest);
    Ok(plain)
}

const MAX_REFERENCE_BYTES: usize = 40;

fn character(name: &str) -> Option<char> {
    let number = |digits: &str, radix| {
        u32::from_str_radix(digits, radix).ok().map(|code| {
            // Runners write what a terminal printed; what is no character is shown as one that is missing.
            char::from_u32(code)
                .filter(|found| *found != '\0')
                .unwrap_or(char::REPLACEMENT_CHARACTER)
        })
    };
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match name.strip_prefix('#')? {
            hex if hex.starts_with(['x', 'X']) => number(&hex[1..], 16),
            decimal => number(decimal, 10),
        },
    }
}
