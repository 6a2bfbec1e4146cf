//! Search as it is asked for and answered. What a query means is decided here, once for both databases: words, the
//! beginnings of words, phrases in quotes, and a reference id that goes first.

use crate::{AnyId, Kind, Reference, ShownReference, Timestamp, analysis, item::Priority, limits};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// What someone typed, understood. Every text has a meaning; no text is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// The reference id typed, if the text is one.
    pub reference: Option<Reference>,
    /// The key of the project that stood before it.
    pub project: Option<String>,
    /// What must all be found.
    pub terms: Vec<Term>,
}

/// One thing that must be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A word in any of its forms, or the beginning of a word.
    Word {
        /// As it was typed, folded.
        word: String,
        /// Its stem.
        stem: String,
    },
    /// Words in this order, in any of their forms.
    Phrase(Vec<String>),
}

impl Query {
    /// Understands a text. Quotes make phrases; everything else that is not a letter or digit only separates words.
    //= specs/spexus-service.md#search
    //# No text MUST ever make a search fail.
    pub fn parse(text: &str) -> Self {
        let text: String = text.chars().take(limits::MAX_QUERY_CHARS).collect();
        let mut terms = Vec::new();
        for (at, part) in text.split(['"', '“', '”', '«', '»']).enumerate() {
            let words: Vec<String> = analysis::words(part).map(|word| word.folded).collect();
            if at % 2 == 1 && words.len() > 1 {
                terms.push(Term::Phrase(
                    words.iter().map(|word| analysis::stem(word)).collect(),
                ));
            } else {
                terms.extend(words.into_iter().map(|word| Term::Word {
                    stem: analysis::stem(&word),
                    word,
                }));
            }
        }
        terms.truncate(limits::MAX_QUERY_WORDS);
        let (project, reference) = match AnyId::parse("query", &text) {
            Ok(AnyId::Reference { project, reference }) => (project, Some(reference)),
            _ => (None, None),
        };
        Self {
            reference,
            project,
            terms,
        }
    }

    /// Whether nothing is asked for but the filters.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// One thing found.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Hit {
    /// The item found, or the item the comment found belongs to.
    pub id: Uuid,
    /// Its reference id.
    pub reference_id: ShownReference,
    /// Its kind.
    pub kind: Kind,
    /// Its title.
    pub title: String,
    /// Its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Its priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The comment that was found, when it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment_id: Option<Uuid>,
    /// The place that matched, with the words found between `**`.
    pub snippet: String,
    /// How well it fits; larger is better. Comparable within one answer only.
    pub score: f64,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_query() {
        for text in [
            "",
            "\"",
            "user's (login)",
            "a:b AND NOT *",
            "'; DROP TABLE item; --",
            "\0\u{202e}",
            "NEAR(a b)",
            "%_",
        ] {
            let query = Query::parse(text);
            let words = |word: &String| word.chars().all(char::is_alphanumeric);
            assert!(
                query.terms.iter().all(|term| match term {
                    Term::Word { word, stem } => words(word) && words(stem),
                    Term::Phrase(stems) => stems.iter().all(words),
                }),
                "{text:?} → {query:?}"
            );
        }
    }

    #[test]
    fn quotes_make_phrases_and_a_reference_is_seen() {
        let query = Query::parse("fast «two words» rest");
        assert_eq!(query.terms.len(), 3);
        assert_eq!(query.terms[1], Term::Phrase(vec!["two".into(), "word".into()]));
        assert_eq!(Query::parse(" req-7 ").reference, Reference::parse("REQ-007"));
        let prefixed = Query::parse("WEB-REQ-7");
        assert_eq!(prefixed.reference, Reference::parse("REQ-007"));
        assert_eq!(prefixed.project.as_deref(), Some("web"));
    }
}
