//! What a rule says: where, what, and what to do about it.

use serde::Serialize;

use crate::token::Span;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Worth knowing; nothing fails for it.
    Information,
    /// Two readers may understand two things, or nobody can test it.
    Warning,
    /// The text cannot be built as it stands.
    Error,
}

impl Tier {
    /// The word used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Information => "information",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

//= specs/spexus-lint.md#findings
//# A finding MUST name its rule, its place in characters, and either a change a program can make or a question.
/// One finding of one rule in one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The number of the rule, `L101`.
    pub rule: &'static str,
    /// Its name, `vague-term`.
    pub name: &'static str,
    /// How much it matters.
    pub tier: Tier,
    /// What was found, with the words it was found in.
    pub message: String,
    /// Where, in characters of the text.
    pub span: Span,
    /// What to do.
    pub advice: Advice,
}

/// What to do about a finding: a change a program can make, or a question only a person can answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Advice {
    /// Write these words instead; the meaning stays.
    Fix(Edit),
    /// What the text leaves open.
    Question(String),
}

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// What is replaced, in characters.
    pub span: Span,
    /// By what.
    pub replacement: String,
}

impl Finding {
    /// The change that mends it, when a program can make it.
    pub fn fix(&self) -> Option<&Edit> {
        match &self.advice {
            Advice::Fix(edit) => Some(edit),
            Advice::Question(_) => None,
        }
    }
}

/// The text with all fixes of the findings made. Of two that touch the same words the first is made.
pub fn apply<'a>(text: &str, findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let mut edits: Vec<&Edit> = findings.into_iter().filter_map(Finding::fix).collect();
    edits.sort_by_key(|edit| edit.span);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    let mut at = 0;
    for edit in edits {
        if edit.span.start < at {
            continue;
        }
        out.extend(chars.by_ref().take(edit.span.start - at));
        out.push_str(&edit.replacement);
        at = edit.span.end;
        for _ in edit.span.start..edit.span.end {
            chars.next();
        }
    }
    out.extend(chars);
    out
}
