//! Markdown: every heading opens a section, every list item is a unit of its own.

mod parser;
mod tokenizer;

use super::{Format, Specification};

/// Reads a Markdown text.
pub fn parse(text: String) -> Specification {
    let (title, sections) = parser::parse(&text, tokenizer::tokenize(&text));
    Specification::new(Format::Markdown, title, text, sections)
}

/// The id a title gets when it carries none: lower case, everything else than letters and digits becomes a hyphen.
pub fn slug(title: &str) -> String {
    slug::slugify(title)
}

#[cfg(test)]
mod tests;
