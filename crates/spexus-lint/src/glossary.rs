//! A project's words: terms that are defined and so not vague, and words that stand for one of them and should not.

use crate::token::{Token, tokenize};

/// Terms and the words refused for them.
#[derive(Clone, Debug, Default)]
pub struct Glossary {
    terms: Vec<Vec<String>>,
    /// The refused words, and the term to say instead.
    refused: Vec<(Vec<String>, String)>,
}

impl Glossary {
    /// Adds a term, with what is said for it and should not be.
    pub fn add(&mut self, term: &str, instead_of: &[&str]) {
        let words = words_of(term);
        if words.is_empty() {
            return;
        }
        self.terms.push(words);
        for other in instead_of {
            let other = words_of(other);
            if !other.is_empty() {
                self.refused.push((other, term.to_owned()));
            }
        }
    }

    /// Reads lines `term: definition`, with `(not: word, other word)` at the end of a definition for what is refused.
    /// Lines without a colon, headings and marks of lists are read past.
    pub fn read(text: &str) -> Self {
        let mut glossary = Self::default();
        for line in text.lines() {
            let line = line.trim().trim_start_matches(['-', '*', '|', ' ']);
            let Some((term, definition)) = line.split_once(':') else {
                continue;
            };
            let term = term.trim_matches(|c: char| matches!(c, '*' | '_' | '`') || c.is_whitespace());
            if term.is_empty() || term.starts_with('#') || term.split_whitespace().count() > 5 {
                continue;
            }
            let refused = definition
                .split_once("(not:")
                .and_then(|(_, rest)| rest.split_once(')'));
            let refused: Vec<&str> =
                refused.map_or_else(Vec::new, |(words, _)| words.split(',').map(str::trim).collect());
            glossary.add(term, &refused);
        }
        glossary
    }

    /// Whether a token is part of a term.
    pub(crate) fn covers(&self, tokens: &[Token<'_>], at: usize) -> bool {
        self.terms.iter().any(|term| {
            let first = at.saturating_sub(term.len() - 1);
            (first..=at).any(|start| says(&tokens[start..], term))
        })
    }

    /// The term to say instead of the words here, and how many words they are.
    pub(crate) fn refused_at(&self, tokens: &[Token<'_>]) -> Option<(&str, usize)> {
        let said = self.refused.iter().filter(|(words, _)| says(tokens, words));
        let longest = said.max_by_key(|(words, _)| words.len())?;
        Some((&longest.1, longest.0.len()))
    }
}

fn says(tokens: &[Token<'_>], words: &[String]) -> bool {
    tokens.len() >= words.len() && words.iter().zip(tokens).all(|(word, token)| token.is(word))
}

fn words_of(text: &str) -> Vec<String> {
    tokenize(text)
        .iter()
        .map(|token| token.lower.clone().into_owned())
        .collect()
}
