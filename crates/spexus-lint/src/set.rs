//! What only a set of texts shows: what is said twice, one quantity in two units, two numbers for one thing.
//!
//! Each sentence with an obligation becomes a skeleton: its words without articles and numbers. Equal skeletons with other
//! numbers contradict each other; nearly equal ones are near duplicates. Candidates are found by their rarest words, so a
//! set of thousands is compared in one pass and not each with each.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;

use crate::Options;
use crate::finding::Tier;
use crate::rule::{Rule, rule};
use crate::rules::numbers::{unit_of, value_of};
use crate::sentence::Sentence;
use crate::token::{Kind, Span, Token, tokenize};

/// One text of a set.
#[derive(Clone, Copy, Debug)]
pub struct SetEntry<'a> {
    /// What it is called.
    pub id: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// What two texts of a set say together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetFinding {
    /// The number of the rule.
    pub rule: &'static str,
    /// Its name.
    pub name: &'static str,
    /// How much it matters.
    pub tier: Tier,
    /// What was found.
    pub message: String,
    /// The text that stands first.
    pub first: String,
    /// Where in it.
    pub first_span: Span,
    /// The other.
    pub second: String,
    /// Where in that.
    pub second_span: Span,
}

/// Judges texts together; a sentence is compared with those before it.
pub fn check_set(entries: &[SetEntry<'_>], options: &Options) -> Vec<SetFinding> {
    let sentences: Vec<Skeleton> = entries
        .iter()
        .enumerate()
        .flat_map(|(entry, text)| skeletons(entry, text.text))
        .collect();
    let mut found = Vec::new();
    let mut push = |rule: &'static Rule, message: String, a: &Skeleton, b: &Skeleton| {
        let silent = options
            .silent
            .iter()
            .any(|name| name == rule.name || name == rule.number);
        if found.len() < options.max_findings && !silent && rule.tier >= options.least {
            found.push(SetFinding {
                rule: rule.number,
                name: rule.name,
                tier: rule.tier,
                message,
                first: entries[a.entry].id.to_owned(),
                first_span: a.span,
                second: entries[b.entry].id.to_owned(),
                second_span: b.span,
            });
        }
    };
    for (a, b) in candidates(&sentences) {
        let (a, b) = (&sentences[a], &sentences[b]);
        match compare(a, b) {
            Some(Verdict::Contradiction(message)) => push(named("contradicting-numbers"), message, a, b),
            Some(Verdict::Duplicate(percent)) => {
                push(
                    named("near-duplicate"),
                    format!("{percent} % of the words are the same"),
                    a,
                    b,
                );
            }
            None => {}
        }
    }
    for (message, a, b) in unit_clashes(&sentences) {
        push(named("two-units"), message, &sentences[a], &sentences[b]);
    }
    found
}

fn named(name: &str) -> &'static Rule {
    rule(name).unwrap_or(&crate::RULES[0])
}

struct Skeleton {
    entry: usize,
    span: Span,
    /// Words that carry meaning, sorted; conditions are kept apart by a mark, so that their words do not mix.
    words: Vec<String>,
    measures: Vec<Measure>,
    negated: bool,
}

struct Measure {
    limit: Limit,
    value: f64,
    quantity: &'static str,
    unit: &'static str,
    written: String,
    /// What is measured, where the words before the number say it.
    term: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    Most,
    Least,
    Exact,
}

const STOP_WORDS: &[&str] = &[
    "the",
    "a",
    "an",
    "of",
    "to",
    "in",
    "on",
    "for",
    "by",
    "with",
    "and",
    "or",
    "be",
    "is",
    "are",
    "its",
    "it",
    "shall",
    "must",
    "will",
    "should",
    "that",
    "this",
    "at",
    "as",
    "from",
    "within",
    "most",
    "least",
    "than",
    "more",
    "less",
    "no",
    "maximum",
    "minimum",
    "up",
    "и",
    "в",
    "на",
    "по",
    "с",
    "для",
    "не",
    "из",
    "к",
    "от",
    "до",
    "должен",
    "должна",
    "должно",
    "должны",
    "быть",
    "течение",
    "более",
    "менее",
    "чем",
    "за",
];

fn skeletons(entry: usize, text: &str) -> Vec<Skeleton> {
    let tokens = tokenize(text);
    let sentences = Sentence::of(text, &tokens);
    let with_obligation = sentences.iter().filter(|sentence| sentence.ears.is_some());
    with_obligation
        .map(|sentence| skeleton(entry, sentence))
        .collect()
}

fn skeleton(entry: usize, sentence: &Sentence<'_>) -> Skeleton {
    let ears = sentence.ears.as_ref();
    let mut words: Vec<String> = Vec::new();
    let mut measures = Vec::new();
    for (at, token) in sentence.tokens.iter().enumerate() {
        let measured = at > 0 && sentence.tokens[at - 1].kind == Kind::Number && unit_of(token).is_some();
        if let Some(measure) = measure_at(sentence.tokens, at) {
            measures.push(measure);
        }
        let says = match token.kind {
            Kind::Word => !token.is_any(STOP_WORDS) && !measured,
            Kind::Quoted => true,
            Kind::Number | Kind::Mark => false,
        };
        if says {
            let condition = ears.is_some_and(|ears| ears.conditions().any(|slot| slot.tokens.contains(&at)));
            let stem = token
                .lower
                .strip_suffix('s')
                .filter(|stem| stem.len() > 3)
                .unwrap_or(&token.lower);
            words.push(match condition {
                true => format!("?{stem}"),
                false => stem.to_owned(),
            });
        }
    }
    words.sort();
    words.dedup();
    Skeleton {
        entry,
        span: sentence.span(),
        words,
        measures,
        negated: ears.is_some_and(|ears| ears.negated),
    }
}

fn measure_at(tokens: &[Token<'_>], at: usize) -> Option<Measure> {
    let value = value_of(&tokens[at])?;
    let unit_token = tokens.get(at + 1);
    let unit = unit_token.and_then(unit_of);
    let before = &tokens[at.saturating_sub(4)..at];
    let says = |words: &[&str]| before.iter().any(|token| token.is_any(words));
    let limit = match () {
        () if says(&["least", "minimum", "менее"]) => Limit::Least,
        () if says(&[
            "most",
            "within",
            "maximum",
            "under",
            "up",
            "more",
            "более",
            "течение",
            "до",
            "за",
        ]) =>
        {
            Limit::Most
        }
        () => Limit::Exact,
    };
    let written = unit_token.filter(|_| unit.is_some()).map_or_else(
        || tokens[at].text.to_owned(),
        |unit| format!("{} {}", tokens[at].text, unit.text),
    );
    Some(Measure {
        limit,
        value: value * unit.map_or(1.0, |unit| unit.factor),
        quantity: unit.map_or("", |unit| unit.quantity),
        unit: unit.map_or("", |unit| unit.words[0]),
        written,
        term: unit.and_then(|_| term_before(tokens, at)),
    })
}

/// `session timeout of 30 min`, `retention period: 30 days`: the two words that name what is measured.
fn term_before(tokens: &[Token<'_>], at: usize) -> Option<String> {
    let joint = at.checked_sub(1)?;
    let noun_end = match &*tokens[joint].lower {
        "of" | "=" | ":" | "is" => joint,
        "be" if joint > 0 && tokens[joint - 1].is_any(&["shall", "must"]) => joint - 1,
        _ => return None,
    };
    let noun: Vec<&str> = tokens[..noun_end]
        .iter()
        .rev()
        .take(2)
        .take_while(|token| token.is_word() && !token.is_any(STOP_WORDS))
        .map(|token| &*token.lower)
        .collect();
    (noun.len() == 2).then(|| format!("{} {}", noun[1], noun[0]))
}

enum Verdict {
    Contradiction(String),
    Duplicate(usize),
}

/// Below this many words two sentences are alike by chance.
const MIN_WORDS: usize = 4;
const DUPLICATE_PERCENT: usize = 85;

fn compare(a: &Skeleton, b: &Skeleton) -> Option<Verdict> {
    if a.words == b.words
        && a.negated == b.negated
        && a.measures.len() == b.measures.len()
        && !a.measures.is_empty()
    {
        let clash = a
            .measures
            .iter()
            .zip(&b.measures)
            .find(|(a, b)| contradicts(a, b));
        if let Some((a, b)) = clash {
            return Some(Verdict::Contradiction(format!(
                "{} here, {} there",
                a.written, b.written
            )));
        }
    }
    let same_numbers = a
        .measures
        .iter()
        .map(|m| &m.written)
        .eq(b.measures.iter().map(|m| &m.written));
    if a.words.len().min(b.words.len()) < MIN_WORDS || a.negated != b.negated || !same_numbers {
        return None;
    }
    let left: BTreeSet<&String> = a.words.iter().collect();
    let shared = b.words.iter().filter(|word| left.contains(word)).count();
    let union = a.words.len() + b.words.len() - shared;
    let percent = shared * 100 / union.max(1);
    (percent >= DUPLICATE_PERCENT).then_some(Verdict::Duplicate(percent))
}

fn contradicts(a: &Measure, b: &Measure) -> bool {
    let same_thing = a.quantity == b.quantity;
    let differ = (a.value - b.value).abs() > f64::EPSILON * a.value.abs().max(1.0) * 8.0;
    match (a.limit, b.limit) {
        (left, right) if left == right => same_thing && differ,
        (Limit::Least, Limit::Most) => same_thing && a.value > b.value,
        (Limit::Most, Limit::Least) => same_thing && a.value < b.value,
        (Limit::Exact, Limit::Most) => same_thing && a.value > b.value,
        (Limit::Most, Limit::Exact) => same_thing && a.value < b.value,
        (Limit::Exact, Limit::Least) => same_thing && a.value < b.value,
        (Limit::Least, Limit::Exact) => same_thing && a.value > b.value,
        _ => false,
    }
}

/// How many sentences may share a word for it to lead to candidates; a commoner one tells nothing.
const MAX_SENTENCES_OF_A_WORD: usize = 64;

/// Pairs that share one of their rarest words, each once, in order.
fn candidates(sentences: &[Skeleton]) -> BTreeSet<(usize, usize)> {
    let mut by_word: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, sentence) in sentences.iter().enumerate() {
        for word in &sentence.words {
            by_word.entry(word).or_default().push(number);
        }
    }
    let mut pairs = BTreeSet::new();
    for (number, sentence) in sentences.iter().enumerate() {
        let mut rarest: Vec<&Vec<usize>> = sentence
            .words
            .iter()
            .filter_map(|word| by_word.get(&**word))
            .collect();
        rarest.sort_by_key(|numbers| numbers.len());
        for numbers in rarest
            .iter()
            .take(3)
            .filter(|numbers| numbers.len() <= MAX_SENTENCES_OF_A_WORD)
        {
            pairs.extend(
                numbers
                    .iter()
                    .filter(|other| **other < number)
                    .map(|other| (*other, number)),
            );
        }
    }
    pairs
}

fn unit_clashes(sentences: &[Skeleton]) -> Vec<(String, usize, usize)> {
    let mut first: HashMap<&str, (usize, &Measure)> = HashMap::new();
    let mut found = Vec::new();
    for (number, sentence) in sentences.iter().enumerate() {
        for measure in &sentence.measures {
            let Some(term) = &measure.term else { continue };
            match first.get(&**term) {
                None => drop(first.insert(term, (number, measure))),
                Some((other, known)) if known.unit != measure.unit && known.quantity == measure.quantity => {
                    found.push((
                        format!("\"{term}\" is {} here, {} there", known.written, measure.written),
                        *other,
                        number,
                    ));
                }
                Some(_) => {}
            }
        }
    }
    found
}
