//! Sentences: stretches of tokens, with their language.

use std::ops::Range;

use serde::Serialize;

use crate::ears::{self, Ears};
use crate::token::{Kind, Span, Token};

/// The language a sentence is judged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Latin letters, or keywords in them around another script.
    English,
    /// Mostly Cyrillic letters.
    Russian,
}

/// One sentence of a text, as the rules see it.
pub(crate) struct Sentence<'a> {
    pub(crate) text: &'a str,
    pub(crate) tokens: &'a [Token<'a>],
    pub(crate) language: Language,
    pub(crate) ears: Option<Ears>,
    /// No sentence of the text stands before it.
    pub(crate) first: bool,
    /// Something stands after it: what a colon announces.
    pub(crate) goes_on: bool,
}

impl<'a> Sentence<'a> {
    pub(crate) fn of(text: &'a str, tokens: &'a [Token<'a>]) -> Vec<Self> {
        let ranges = split(tokens);
        let last = ranges.len().saturating_sub(1);
        ranges
            .into_iter()
            .enumerate()
            .map(|(number, range)| {
                let tokens = &tokens[range];
                let language = language_of(tokens);
                Self {
                    text,
                    tokens,
                    language,
                    ears: ears::parse(tokens, language),
                    first: number == 0,
                    goes_on: number < last,
                }
            })
            .collect()
    }

    pub(crate) fn span(&self) -> Span {
        span_of(self.tokens)
    }

    /// The words as they were written.
    pub(crate) fn words(&self, range: Range<usize>) -> &'a str {
        match (self.tokens.get(range.start), self.tokens[range].last()) {
            (Some(first), Some(last)) => &self.text[first.bytes.start..last.bytes.end],
            _ => "",
        }
    }
}

pub(crate) fn span_of(tokens: &[Token<'_>]) -> Span {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => Span::new(first.span.start, last.span.end),
        _ => Span::new(0, 0),
    }
}

fn split(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.begins && at > start {
            ranges.push(start..at);
            (start, depth) = (at, 0);
        }
        match token.text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && ends_here(tokens, at) {
            ranges.push(start..at + 1);
            start = at + 1;
        }
    }
    if start < tokens.len() {
        ranges.push(start..tokens.len());
    }
    ranges
}

fn ends_here(tokens: &[Token<'_>], at: usize) -> bool {
    match tokens[at].text {
        "。" => true,
        "!" | "?" => tokens
            .get(at + 1)
            .is_none_or(|next| next.bytes.start > tokens[at].bytes.end && next.text != tokens[at].text),
        "." => {
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            let abbreviated = before.is_some_and(|word| {
                word.is_word() && (word.text.chars().count() == 1 || word.is_any(ABBREVIATIONS))
            });
            match tokens.get(at + 1) {
                None => true,
                Some(next) if next.bytes.start == tokens[at].bytes.end => false,
                Some(next) => !abbreviated && (next.is_capital() || next.kind != Kind::Word || next.begins),
            }
        }
        _ => false,
    }
}

const ABBREVIATIONS: &[&str] = &[
    "e.g", "i.e", "etc", "vs", "cf", "approx", "incl", "fig", "no", "т.е", "т.д", "т.п", "т.к", "др", "пр",
    "напр", "см", "рис",
];

fn language_of(tokens: &[Token<'_>]) -> Language {
    let (mut cyrillic, mut latin) = (0_usize, 0_usize);
    for token in tokens.iter().filter(|token| token.is_word()) {
        match token.text.chars().next() {
            Some('\u{400}'..='\u{4ff}') => cyrillic += 1,
            Some(c) if c.is_ascii_alphabetic() => latin += 1,
            _ => {}
        }
    }
    match cyrillic > latin {
        true => Language::Russian,
        false => Language::English,
    }
}
