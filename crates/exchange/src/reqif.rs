//! ReqIF 1.0 to 1.2: the interchange format of requirements tools.
//!
//! [`Document::read`] keeps the bytes and projects what they mean: datatypes, types, objects with their values, relations,
//! and the hierarchies of specifications. [`Document::write`] gives the bytes back, or the bytes with edits.

mod edit;
mod fresh;
mod items;
mod project;
mod rich_text;

pub use edit::{Change, Unmade};
pub use fresh::{FreshItem, FreshRelation, fresh};
pub use project::{
    AttributeDefinition, DatatypeKind, EnumValue, Header, Meaning, Relation, SpecHierarchy, SpecObject,
    SpecType, Specification, Value, ValueKind,
};
pub use rich_text::{from_xhtml, to_xhtml};

use crate::diagnostic::{Diagnostic, Severity};
use crate::xml::{self, XmlLimits, XmlTree};

/// A document as it came, readable.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    encoding: Encoding,
    diagnostics: Vec<Diagnostic>,
}

/// How the bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
}

/// What a document says, with the places it says it at.
pub struct Reading<'d> {
    /// The elements.
    pub tree: XmlTree<'d>,
    /// What they mean.
    pub meaning: Meaning,
    /// What is odd about it.
    pub diagnostics: Vec<Diagnostic>,
}

impl Document {
    /// Takes bytes in; refused is only what is no text.
    pub fn read(bytes: &[u8]) -> Result<Self, Diagnostic> {
        let declared = declared_encoding(bytes);
        let latin = declared
            .as_deref()
            .is_some_and(|name| ["iso-8859-1", "latin1", "windows-1252"].contains(&name));
        let mut diagnostics = Vec::new();
        let (text, encoding) = match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), Encoding::Utf8),
            Err(_) if latin => (
                bytes.iter().map(|byte| char::from(*byte)).collect(),
                Encoding::Latin1,
            ),
            Err(error) => {
                let line = bytes[..error.valid_up_to()]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .count()
                    + 1;
                let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
                let message = match utf16 {
                    true => "the document is UTF-16: save it as UTF-8".to_owned(),
                    false => format!("byte {} is no UTF-8", error.valid_up_to()),
                };
                return Err(Diagnostic {
                    code: "encoding",
                    severity: Severity::Error,
                    message,
                    line,
                    column: 1,
                });
            }
        };
        let other = declared.filter(|name| !["utf-8", "utf8", "us-ascii"].contains(&name.as_str()));
        if let Some(name) = other {
            diagnostics.push(Diagnostic {
                code: "encoding",
                severity: Severity::Warning,
                message: format!("declared as {name}, read as {encoding:?}"),
                line: 1,
                column: 1,
            });
        }
        Ok(Self {
            text,
            encoding,
            diagnostics,
        })
    }

    /// What it says. The first thing that is not well-formed ends it; everything else odd is a diagnostic.
    pub fn reading(&self, limits: &XmlLimits) -> Result<Reading<'_>, Diagnostic> {
        let tree = xml::parse(&self.text, limits)?;
        let (meaning, found) = project::project(&tree, limits.max_diagnostics)?;
        let diagnostics = self.diagnostics.iter().cloned().chain(found).collect();
        Ok(Reading {
            tree,
            meaning,
            diagnostics,
        })
    }

    //= specs/exchange.md#documents
    //# A document that nobody changed MUST leave byte for byte as it came.
    /// The bytes as they came, or with changes made.
    pub fn write(&self, edits: xml::Edits) -> Vec<u8> {
        if edits.is_empty() {
            return self.encoded(&self.text);
        }
        self.encoded(&edits.apply(&self.text))
    }

    fn encoded(&self, text: &str) -> Vec<u8> {
        if self.encoding == Encoding::Utf8 {
            return text.as_bytes().to_vec();
        }
        let mut out = Vec::with_capacity(text.len());
        for c in text.chars() {
            match u8::try_from(u32::from(c)) {
                Ok(byte) => out.push(byte),
                Err(_) => out.extend_from_slice(format!("&#{};", u32::from(c)).as_bytes()),
            }
        }
        out
    }
}

/// The encoding of the XML declaration, in small letters.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let declaration = head.split("?>").next().filter(|_| head.contains("<?xml"))?;
    let (_, rest) = declaration.split_once("encoding")?;
    let value = rest.trim_start_matches(|c: char| c == '=' || c.is_whitespace());
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split(quote).next().map(str::to_lowercase)
}
