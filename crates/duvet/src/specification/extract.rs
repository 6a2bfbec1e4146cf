//! Which sentences of a specification are requirements.
//!
//! Two ways. [`Mode::Compat`] cuts exactly as the public tool does, faults included, because a project's checked-in
//! requirement files depend on it. [`Mode::V2`] reads as a person would; see `v2`.

mod compat;
mod v2;

use super::Specification;
use super::keyword::Level;
use crate::text::Span;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How requirements are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// As the public tool does.
    #[default]
    Compat,
    /// Abbreviations, fences, lists, tables and compound sentences understood.
    V2,
}

/// One requirement as the text states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Index of its section.
    pub section: usize,
    /// The strongest keyword in it.
    pub level: Level,
    /// Its text, one span per line.
    pub pieces: Vec<Span>,
    /// The words that lead into the list it is an item of.
    pub context: Vec<Span>,
}

impl Requirement {
    /// The text, line by line.
    pub fn lines<'a>(&self, specification: &'a Specification) -> impl Iterator<Item = &'a str> {
        self.pieces.iter().map(|piece| &specification.text[piece.range()])
    }
}

/// The requirements of all sections in the order of the text, equal sentences of one section once.
pub fn extract(specification: &Specification, mode: Mode) -> Vec<Requirement> {
    let mut found = Vec::new();
    for section in 0..specification.sections.len() {
        let requirements = match mode {
            Mode::Compat => compat::extract(specification, section),
            Mode::V2 => v2::extract(specification, section),
        };
        let mut seen = HashSet::new();
        found.extend(
            requirements
                .into_iter()
                .filter(|r| seen.insert(words(specification, r, mode))),
        );
    }
    found
}

/// What makes two sentences of a section one. The public tool makes one blank of several and keeps which one it was,
/// so sentences that are wrapped at different words are two, unless the blank is beside punctuation, where it is none.
fn words(specification: &Specification, requirement: &Requirement, mode: Mode) -> String {
    let mut text = String::new();
    if mode == Mode::Compat {
        let (Some(first), Some(last)) = (requirement.pieces.first(), requirement.pieces.last()) else {
            return text;
        };
        let (mut blank, mut after_punctuation) = (None, true);
        for c in specification.text[first.start as usize..last.end as usize].chars() {
            if c.is_whitespace() {
                blank.get_or_insert(c);
                continue;
            }
            let is_punctuation = c.is_ascii_punctuation();
            let kept = blank.take().filter(|_| !is_punctuation && !after_punctuation);
            text.extend(kept);
            text.push(c);
            after_punctuation = is_punctuation;
        }
        return text;
    }
    let context = requirement
        .context
        .iter()
        .map(|piece| &specification.text[piece.range()]);
    for word in context
        .chain(requirement.lines(specification))
        .flat_map(str::split_whitespace)
    {
        text.push_str(word);
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests;
