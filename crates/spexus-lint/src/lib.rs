//! The language of requirements: what a text leaves open, found before somebody builds it.
//!
//! A text comes in, findings go out: where, which rule, and a change a program can make or a question only a person can
//! answer. There is no input or output here, no clock and no state, so the same function judges a file, a field of a form
//! and an answer to an agent.
//!
//! The decision that shaped this crate: **the sentence is taken apart first.** An EARS parser finds the conditions, the one
//! who acts, the obligation and the response ([`ears`]); rules then look at the part they are about. `and` in a condition is
//! no second requirement, a number in an example no limit. Precision is worth more than count: a rule that is wrong every
//! third time is read by nobody, so what is often right but not always is *information*, and only what nearly always harms
//! is a *warning*.
//!
//! Places are counted in characters, as everywhere in the product. Rules are rows of [`RULES`], words rows of a lexicon, in
//! English and Russian. It knows nothing of projects, surfaces or storage.

mod baseline;
mod document;
pub mod ears;
mod finding;
mod glossary;
mod lexicon;
pub mod render;
mod rule;
mod rules;
mod sentence;
mod set;
mod token;

pub use baseline::{KnownFindings, fingerprint};
pub use document::{Passage, passages};
pub use finding::{Advice, Edit, Finding, Tier, apply};
pub use glossary::Glossary;
pub use rule::{RULES, Rule, rule};
pub use sentence::Language;
pub use set::{SetEntry, SetFinding, check_set};
pub use token::Span;

use rule::{Judge, Reporter};
use sentence::Sentence;

/// What is asked for, and where it ends.
#[derive(Clone, Debug)]
pub struct Options {
    /// The project's words.
    pub glossary: Glossary,
    /// Rules that say nothing, by number or name.
    pub silent: Vec<String>,
    /// Findings below this do not come.
    pub least: Tier,
    /// No text gives more findings than this.
    pub max_findings: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            glossary: Glossary::default(),
            silent: Vec::new(),
            least: Tier::Information,
            max_findings: 1000,
        }
    }
}

/// One sentence of a text and its parts.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Parsed {
    /// Where it stands.
    pub span: Span,
    /// What it is written in.
    pub language: Language,
    /// Its parts; none where there is no obligation.
    pub ears: Option<ears::Ears>,
}

/// Takes the sentences of a text apart.
pub fn parse(text: &str) -> Vec<Parsed> {
    let tokens = token::tokenize(text);
    let sentences = Sentence::of(text, &tokens).into_iter();
    let parsed = sentences.map(|sentence| Parsed {
        span: sentence.span(),
        language: sentence.language,
        ears: sentence.ears,
    });
    parsed.collect()
}

//= specs/spexus-lint.md#findings
//# Whatever text comes in, judging it MUST end with findings and never with a fault.
/// Judges the text of one requirement; findings in the order of the text.
pub fn check(text: &str, options: &Options) -> Vec<Finding> {
    let tokens = token::tokenize(text);
    let sentences = Sentence::of(text, &tokens);
    let silent = |rule: &Rule| {
        options
            .silent
            .iter()
            .any(|name| name == rule.name || name == rule.number)
    };
    let mut found = Vec::new();
    for rule in RULES
        .iter()
        .filter(|rule| rule.tier >= options.least && !silent(rule))
    {
        let Judge::Sentence(judge) = rule.judge else {
            continue;
        };
        let mut report = Reporter {
            rule,
            glossary: &options.glossary,
            found: &mut found,
        };
        for sentence in &sentences {
            judge(sentence, &mut report);
        }
    }
    found.sort_by_key(|finding| (finding.span, finding.rule));
    found.truncate(options.max_findings);
    found
}
