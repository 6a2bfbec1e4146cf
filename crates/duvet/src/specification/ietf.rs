//! IETF plain text: numbered headings at the margin, page breaks in the middle of sentences.

pub mod front_matter;
mod parser;
mod tokenizer;

use super::{Format, Specification};

/// Reads an RFC or Internet-Draft in its text form.
pub fn parse(text: String) -> Specification {
    let sections = parser::parse(tokenizer::tokenize(&text));
    Specification::new(Format::Ietf, None, text, sections)
}

#[cfg(test)]
mod tests;
