//! What cites: comments in sources and entries of TOML files, both read into [`Annotation`]s.

pub mod comment;
pub mod toml;

use crate::specification::Format;
use crate::specification::keyword::Level;
use crate::target::Target;
use crate::text::Span;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an annotation claims about the text it quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The text is a requirement.
    Spec,
    /// This code does what the text says.
    #[default]
    Implementation,
    /// The text holds by construction and needs no test.
    Implication,
    /// This test shows that the text holds.
    Test,
    /// The text does not apply here, for the reason given.
    Exception,
    /// The text is still to be done.
    Todo,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 6] = [
        Kind::Spec,
        Kind::Implementation,
        Kind::Implication,
        Kind::Test,
        Kind::Exception,
        Kind::Todo,
    ];

    /// The word written in citations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Implementation => "implementation",
            Self::Implication => "implication",
            Self::Test => "test",
            Self::Exception => "exception",
            Self::Todo => "todo",
        }
    }

    /// The kind of that name, in lower or upper case; `citation` is the old word for implementation.
    pub fn from_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        if lower != name && name.to_ascii_uppercase() != name {
            return None;
        }
        match lower.as_str() {
            "citation" => Some(Self::Implementation),
            lower => Self::ALL.into_iter().find(|kind| kind.name() == lower),
        }
    }
}

/// One annotation of one file. A project may have a million, so what most of them lack is kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Annotation {
    /// The file it stands in.
    pub source: Arc<str>,
    /// Line of its first metadata line, from one.
    pub line: u32,
    /// Column of its first prefix, from one.
    pub column: u32,
    /// Line of its last quote line.
    pub last_line: u32,
    /// The whole of it in the file: metadata and quote.
    pub span: Span,
    /// What it claims.
    pub kind: Kind,
    /// The level it gives itself.
    pub level: Level,
    /// Format the annotation declares for its specification.
    pub format: Option<Format>,
    /// What it points at; annotations of one file share it.
    pub target: Arc<Target>,
    /// The quoted text, lines joined by blanks.
    pub quote: Box<str>,
    /// Link template of the source pattern that found it.
    pub blob_link: Option<Arc<str>>,
    /// What few have.
    pub details: Option<Box<Details>>,
}

/// What few annotations have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Details {
    /// The words that lead into the list the quote is an item of.
    pub context: String,
    /// Reasons, or for requirements the quote as it stands in the file.
    pub comment: String,
    /// Feature a todo belongs to.
    pub feature: String,
    /// Issue a todo is tracked by.
    pub tracking_issue: String,
    /// Tags of a todo.
    pub tags: Vec<String>,
}

impl Annotation {
    /// What few annotations have; all empty when this one has none of it.
    pub fn details(&self) -> &Details {
        static NONE: Details = Details {
            context: String::new(),
            comment: String::new(),
            feature: String::new(),
            tracking_issue: String::new(),
            tags: Vec::new(),
        };
        self.details.as_deref().unwrap_or(&NONE)
    }
}

impl Details {
    /// Kept apart, unless there is nothing to keep.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// Comment prefixes of one source pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CommentStyle {
    /// Prefix of metadata lines.
    pub meta: String,
    /// Prefix of quote lines.
    pub content: String,
}

impl Default for CommentStyle {
    fn default() -> Self {
        Self {
            meta: "//=".to_owned(),
            content: "//#".to_owned(),
        }
    }
}

/// Joins the lines of a quote by single blanks; empty lines vanish.
pub(crate) fn join_quote<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> String {
    let length: usize = lines.clone().map(|line| line.len() + 1).sum();
    let mut quote = String::with_capacity(length.saturating_sub(1));
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        if !quote.is_empty() {
            quote.push(' ');
        }
        quote.push_str(line);
    }
    quote
}
