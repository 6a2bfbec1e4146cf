//! What is cited: a text cut into sections, in either of the two forms specifications come in.
//!
//! Both readers have the same shape (tokenizer → parser) and give the same value, so everything behind them knows
//! sections and lines only. Sections are flat, as citations name them.

pub mod extract;
pub mod ietf;
pub mod keyword;
pub mod markdown;

use crate::target::is_url;
use crate::text::Span;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The form of a specification's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Plain text as the IETF publishes it.
    Ietf,
    /// Markdown.
    Markdown,
}

impl Format {
    /// The word used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ietf => "ietf",
            Self::Markdown => "markdown",
        }
    }

    /// The format a text most likely has: by the file's extension, else by how the text begins.
    pub fn detect(name: &str, text: &str) -> Self {
        let extension = name
            .rsplit('/')
            .next()
            .and_then(|file| file.rsplit_once('.'))
            .map(|(_, e)| e);
        // A downloaded text is stored as `.txt`, whatever its address ends with.
        let by_name = !is_url(name) && extension.is_some_and(|e| matches!(e, "md" | "markdown"));
        let text = text.trim_start();
        if by_name || text.starts_with('#') || text.starts_with("[//]:") {
            Self::Markdown
        } else {
            Self::Ietf
        }
    }
}

/// One specification, cut into sections.
#[derive(Clone, Debug)]
pub struct Specification {
    /// What the text is.
    pub format: Format,
    /// Its title, when the text has one the public tool would name.
    pub title: Option<String>,
    /// The whole text; every span of this value points into it.
    pub text: String,
    /// The sections in the order of the text.
    pub sections: Vec<Section>,
    by_id: HashMap<String, usize>,
}

/// One section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The part of a citation's target behind `#`.
    pub id: String,
    /// The heading without its number.
    pub title: String,
    /// The heading as the text has it.
    pub heading: Span,
    /// Lines between this heading and the next, without leading, trailing and repeated blank ones.
    pub lines: Vec<Line>,
}

/// One line of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line without its end.
    pub span: Span,
    /// Number in the text, from one.
    pub number: u32,
    /// Whether a sentence cannot go on from the line above: a list item begins or ends here.
    pub break_before: bool,
}

impl Specification {
    /// Reads a text in the given format, or in the one it most likely has.
    pub fn parse(name: &str, text: String, format: Option<Format>) -> Self {
        match format.unwrap_or_else(|| Format::detect(name, &text)) {
            Format::Ietf => ietf::parse(text),
            Format::Markdown => markdown::parse(text),
        }
    }

    pub(crate) fn new(format: Format, title: Option<String>, text: String, sections: Vec<Section>) -> Self {
        let mut by_id = HashMap::with_capacity(sections.len());
        for (index, section) in sections.iter().enumerate() {
            by_id.entry(section.id.clone()).or_insert(index);
        }
        Self {
            format,
            title,
            text,
            sections,
            by_id,
        }
    }

    /// The section a citation means. IETF ids are found with, without and with the wrong one of their prefixes.
    //= specs/duvet.md#section-ids
    //# A reader MUST find the section of an IETF text with a missing or wrong `section-` or `appendix-` prefix.
    pub fn find(&self, id: &str) -> Option<usize> {
        if let Some(&index) = self.by_id.get(id) {
            return Some(index);
        }
        if self.format != Format::Ietf {
            return None;
        }
        let bare = ["section-", "appendix-"]
            .iter()
            .find_map(|p| id.strip_prefix(p))
            .unwrap_or(id);
        ["section-", "appendix-", "name-"]
            .iter()
            .find_map(|prefix| self.by_id.get(&format!("{prefix}{bare}")).copied())
    }

    /// The text of one line.
    pub fn line(&self, line: &Line) -> &str {
        &self.text[line.span.range()]
    }
}
