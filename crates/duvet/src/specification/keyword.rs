//! The words of RFC 2119 and RFC 8174 in a text.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How strongly a sentence binds. The order is the order of strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Not said.
    #[default]
    Auto,
    /// MAY, OPTIONAL.
    May,
    /// SHOULD, RECOMMENDED and their negations.
    Should,
    /// MUST, SHALL, REQUIRED and their negations.
    Must,
}

impl Level {
    /// Every level, weakest first.
    pub const ALL: [Level; 4] = [Level::Auto, Level::May, Level::Should, Level::Must];

    /// The word used in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "AUTO",
            Self::May => "MAY",
            Self::Should => "SHOULD",
            Self::Must => "MUST",
        }
    }

    /// The level of that name; upper case only, as the public tool has it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// One keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// The bytes of the word, with `NOT`.
    pub range: Range<usize>,
    /// What it demands.
    pub level: Level,
    /// Whether it forbids.
    pub negated: bool,
}

/// The keywords of a text in order. A word followed by a quotation mark is being defined, not used.
pub fn keywords(text: &str) -> Vec<Keyword> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = bytes[at..]
        .iter()
        .position(|b| matches!(b, b'M' | b'S' | b'R' | b'O' | b'N'))
    {
        at += step;
        match keyword_at(text, at) {
            Some(keyword) => {
                at = keyword.range.end;
                if bytes.get(at) != Some(&b'"') {
                    found.push(keyword);
                }
            }
            None => at += 1,
        }
    }
    found
}

/// Whether a text may hold a keyword: nearly none that does not passes, and none that does fails. A look at it costs less
/// than a search.
pub(super) fn may_hold(text: &str) -> bool {
    let mut pairs = text.as_bytes().windows(2);
    pairs.any(|pair| matches!(pair, b"MU" | b"SH" | b"RE" | b"MA" | b"OP"))
}

fn keyword_at(text: &str, at: usize) -> Option<Keyword> {
    if text[..at].chars().next_back().is_some_and(is_word) {
        return None;
    }
    let (word, level) = WORDS
        .iter()
        .find(|(word, _)| starts_with_word(&text[at..], word))?;
    let end = at + word.len();
    if *word == "NOT" {
        let blanks = blanks(&text[end..])?;
        return starts_with_word(&text[end + blanks..], "RECOMMENDED").then(|| Keyword {
            range: at..end + blanks + "RECOMMENDED".len(),
            level: Level::Should,
            negated: true,
        });
    }
    let negation = matches!(*word, "MUST" | "SHALL" | "SHOULD")
        .then(|| blanks(&text[end..]))
        .flatten()
        .filter(|blanks| starts_with_word(&text[end + blanks..], "NOT"));
    let end = negation.map_or(end, |blanks| end + blanks + "NOT".len());
    Some(Keyword {
        range: at..end,
        level: *level,
        negated: negation.is_some(),
    })
}

const WORDS: &[(&str, Level)] = &[
    ("MUST", Level::Must),
    ("SHALL", Level::Must),
    ("REQUIRED", Level::Must),
    ("SHOULD", Level::Should),
    ("RECOMMENDED", Level::Should),
    ("NOT", Level::Should),
    ("MAY", Level::May),
    ("OPTIONAL", Level::May),
];

fn starts_with_word(text: &str, word: &str) -> bool {
    let behind = text.strip_prefix(word);
    behind.is_some_and(|behind| !behind.chars().next().is_some_and(is_word))
}

/// Letters, digits, and what joins them or is written over them. A dash or a quotation mark of any kind ends a word.
fn is_word(c: char) -> bool {
    let joins = matches!(
        c,
        '_' | '\u{203f}' | '\u{2040}' | '\u{200c}' | '\u{200d}' | '\u{300}'..='\u{36f}'
    );
    c.is_ascii_digit() || c.is_alphabetic() || joins
}

/// Length of the blanks at the start; `None` when there are none.
fn blanks(text: &str) -> Option<usize> {
    let length = text.len() - text.trim_start().len();
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Level)]) {
        let got: Vec<_> = keywords(text)
            .into_iter()
            .map(|k| (&text[k.range], k.level))
            .collect();
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn keywords_are_whole_words_in_upper_case() {
        check(
            "It MUST, SHALL NOT and MAY.",
            &[
                ("MUST", Level::Must),
                ("SHALL NOT", Level::Must),
                ("MAY", Level::May),
            ],
        );
        check("must MUSTARD DISMAY MAY_NOT_X", &[]);
        check("NOT\nRECOMMENDED, NOT ok", &[("NOT\nRECOMMENDED", Level::Should)]);
        check("MUST\n  NOT", &[("MUST\n  NOT", Level::Must)]);
        check(
            "OPTIONAL REQUIRED RECOMMENDED",
            &[
                ("OPTIONAL", Level::May),
                ("REQUIRED", Level::Must),
                ("RECOMMENDED", Level::Should),
            ],
        );
    }

    /// Found by the fuzz target `project` against the public tool.
    #[test]
    fn signs_beyond_ascii_end_a_word_and_letters_do_not() {
        check("It MUST—if it can—go.", &[("MUST", Level::Must)]);
        check("“REQUIRED”¬", &[("REQUIRED", Level::Must)]);
        check("MUST² NOT", &[("MUST", Level::Must)]);
        check("ÉMUST MUSTÉ MAY\u{301} MAY\u{203f}", &[]);
    }

    #[test]
    fn a_word_that_is_defined_is_not_used() {
        check("The key words \"MUST\", \"MUST NOT\" and \"MAY\"", &[]);
    }

    #[test]
    fn a_look_misses_no_keyword() {
        for (word, _) in WORDS.iter().filter(|(word, _)| *word != "NOT") {
            assert!(may_hold(word) && may_hold(&format!("a {word}.")), "{word}");
        }
        assert!(!may_hold("NOT a must of RFC 9000") && !may_hold(""));
    }
}
