//! Anchors: the piece of text a comment is about, as a quote and character offsets. When the text is edited the anchor
//! follows its quote; when the quote is gone the comment stays, marked as lost, and finds its place again if it returns.

use crate::{Code, Refusal, Ruled};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A quote and where it stands, in characters from the start of the description.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// The text the comment is about, word for word.
    pub quote: String,
    /// Its first character.
    pub start: usize,
    /// Behind its last character.
    pub end: usize,
    /// Whether the quote is no longer in the text; `start` and `end` then tell where it last stood.
    #[serde(default)]
    pub lost: bool,
}

impl Anchor {
    /// Refuses an anchor that does not match the text. Without offsets the quote must stand exactly once.
    pub fn locate(text: &str, quote: &str, start: Option<usize>) -> Ruled<Self> {
        if quote.is_empty() {
            return Err(Refusal::field(
                Code::InvalidParams,
                "anchor.quote",
                "is empty",
                "words of the description",
            ));
        }
        let places = occurrences(text, quote);
        let found = match (start, places.as_slice()) {
            (Some(start), _) if places.contains(&start) => start,
            (None, [only]) => *only,
            (Some(start), _) => {
                let problem = format!("the description does not have the quote at character {start}");
                return Err(Refusal::field(
                    Code::InvalidParams,
                    "anchor.start",
                    problem,
                    offsets(&places),
                ));
            }
            (None, _) => {
                let problem = format!("the description has the quote {} times", places.len());
                return Err(Refusal::field(
                    Code::InvalidParams,
                    "anchor.quote",
                    problem,
                    offsets(&places),
                ));
            }
        };
        Ok(Self {
            quote: quote.to_owned(),
            start: found,
            end: found + quote.chars().count(),
            lost: false,
        })
    }

    /// Follows the quote into an edited text: to the occurrence nearest to where the edit would have moved it.
    #[must_use]
    pub fn follow(&self, before: &str, after: &str) -> Self {
        let expected = shift(before, after, self.start);
        match occurrences(after, &self.quote)
            .into_iter()
            .min_by_key(|place| place.abs_diff(expected))
        {
            Some(start) => Self {
                quote: self.quote.clone(),
                start,
                end: start + self.quote.chars().count(),
                lost: false,
            },
            None => Self {
                lost: true,
                ..self.clone()
            },
        }
    }
}

fn occurrences(text: &str, quote: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let (mut chars, mut byte) = (0, 0);
    for (at, _) in text.match_indices(quote) {
        chars += text[byte..at].chars().count();
        byte = at;
        places.push(chars);
    }
    places
}

/// Where a character of the old text is expected in the new one: text before the first difference stays, text behind
/// the last difference moves by the difference in length.
fn shift(before: &str, after: &str, at: usize) -> usize {
    let same_start = before
        .chars()
        .zip(after.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let (old, new) = (before.chars().count(), after.chars().count());
    if at < same_start {
        at
    } else {
        (at + new).saturating_sub(old)
    }
}

fn offsets(places: &[usize]) -> String {
    match places {
        [] => "a quote of the description, word for word".to_owned(),
        places => {
            let shown: Vec<String> = places.iter().take(10).map(ToString::to_string).collect();
            format!("start at one of: {}", shown.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Система должна отвечать. Ответ должен быть быстрым.";

    #[test]
    fn offsets_are_characters_also_in_cyrillic() {
        let anchor = Anchor::locate(TEXT, "должна", None).unwrap();
        assert_eq!((anchor.start, anchor.end), (8, 14));
    }

    #[test]
    fn a_quote_that_stands_twice_needs_a_start() {
        let refusal = Anchor::locate(TEXT, "долж", None).unwrap_err();
        assert_eq!(refusal.faults[0].allowed, "start at one of: 8, 31");
        assert_eq!(Anchor::locate(TEXT, "долж", Some(31)).unwrap().end, 35);
        assert!(Anchor::locate(TEXT, "долж", Some(9)).is_err());
        assert!(Anchor::locate(TEXT, "", None).is_err());
    }

    #[test]
    fn an_anchor_follows_its_quote_through_an_edit() {
        let anchor = Anchor::locate(TEXT, "долж", Some(31)).unwrap();
        let edited = format!("Важно! {TEXT}");
        assert_eq!(
            anchor.follow(TEXT, &edited).start,
            38,
            "not the first occurrence, the one that moved"
        );
        let lost = anchor.follow(TEXT, "Всё иначе.");
        assert!(lost.lost && lost.quote == "долж");
        assert!(!lost.follow("Всё иначе.", TEXT).lost, "it finds its place again");
    }
}
