//! EARS: the parts of a requirement sentence.
//!
//! Every sentence of the form is conditions, the one who acts, an obligation, and the response. The obligation is found
//! first, because it is the one word every pattern has; what stands before it is taken apart by the keywords that open
//! conditions, what stands after it is the response, up to a condition that trails behind.

use std::ops::Range;

use serde::Serialize;

use crate::sentence::{Language, span_of};
use crate::token::{Kind, Span, Token};

/// The form of a requirement sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Holds always.
    Ubiquitous,
    /// When something happens.
    Event,
    /// While something is the case.
    State,
    /// Where a feature is there.
    Optional,
    /// If something goes wrong, then.
    Unwanted,
    /// Conditions of more than one kind.
    Complex,
}

/// What a part of a requirement sentence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SlotKind {
    /// The place or scope that leads in without a keyword: `On the first page,`.
    Scope,
    /// `Where …`: the feature that must be there.
    Feature,
    /// `While …`: the state that must hold.
    State,
    /// `When …`: the event.
    Event,
    /// `If …`: the unwanted condition.
    Unwanted,
    /// Who acts.
    System,
    /// `shall` and its kin.
    Obligation,
    /// What is done.
    Response,
}

/// How binding the obligation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Force {
    /// shall, must.
    Binding,
    /// should.
    Advised,
    /// will: a statement about the future.
    Stated,
    /// may, can.
    Allowed,
}

/// One part of a requirement sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// What it is.
    pub kind: SlotKind,
    /// Where it stands in the text.
    pub span: Span,
    /// Which tokens of the sentence.
    #[serde(skip)]
    pub(crate) tokens: Range<usize>,
}

/// A requirement sentence taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ears {
    /// Its form.
    pub pattern: Pattern,
    /// How binding it is.
    pub force: Force,
    /// Whether it says what must not be done.
    pub negated: bool,
    /// Its parts, in the order of the text.
    pub slots: Vec<Slot>,
}

impl Ears {
    /// The first part of a kind.
    pub fn slot(&self, kind: SlotKind) -> Option<&Slot> {
        self.slots.iter().find(|slot| slot.kind == kind)
    }

    /// Whether all parts are there that a sentence of its form needs.
    pub fn is_whole(&self) -> bool {
        self.slot(SlotKind::System).is_some() && self.slot(SlotKind::Response).is_some()
    }

    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Slot> {
        let is_condition = |slot: &&Slot| condition_pattern(slot.kind).is_some();
        self.slots.iter().filter(is_condition)
    }
}

fn condition_pattern(kind: SlotKind) -> Option<Pattern> {
    match kind {
        SlotKind::Feature => Some(Pattern::Optional),
        SlotKind::State => Some(Pattern::State),
        SlotKind::Event => Some(Pattern::Event),
        SlotKind::Unwanted => Some(Pattern::Unwanted),
        _ => None,
    }
}

type Keyword = (&'static [&'static str], SlotKind);

const ENGLISH: &[Keyword] = &[
    (&["while"], SlotKind::State),
    (&["during"], SlotKind::State),
    (&["as", "long", "as"], SlotKind::State),
    (&["when"], SlotKind::Event),
    (&["whenever"], SlotKind::Event),
    (&["upon"], SlotKind::Event),
    (&["once"], SlotKind::Event),
    (&["after"], SlotKind::Event),
    (&["before"], SlotKind::Event),
    (&["as", "soon", "as"], SlotKind::Event),
    (&["where"], SlotKind::Feature),
    (&["if"], SlotKind::Unwanted),
    (&["in", "case"], SlotKind::Unwanted),
    (&["in", "the", "event"], SlotKind::Unwanted),
    (&["unless"], SlotKind::Unwanted),
];

const RUSSIAN: &[Keyword] = &[
    (&["пока"], SlotKind::State),
    (&["во", "время"], SlotKind::State),
    (&["в", "то", "время", "как"], SlotKind::State),
    (&["когда"], SlotKind::Event),
    (&["при", "наличии"], SlotKind::Feature),
    (&["при"], SlotKind::Event),
    (&["после"], SlotKind::Event),
    (&["перед"], SlotKind::Event),
    (&["до", "того", "как"], SlotKind::Event),
    (&["как", "только"], SlotKind::Event),
    (&["там", ",", "где"], SlotKind::Feature),
    (&["там", "где"], SlotKind::Feature),
    (&["где"], SlotKind::Feature),
    (&["если"], SlotKind::Unwanted),
    (&["в", "случае"], SlotKind::Unwanted),
];

/// Conditions that may also stand behind the response.
const TRAILING: &[&str] = &[
    "while",
    "when",
    "whenever",
    "upon",
    "if",
    "unless",
    "as",
    "пока",
    "когда",
    "если",
    "при",
    "после",
    "в",
];

/// Words that begin a scope: only with a comma after it.
const PREPOSITIONS: &[&str] = &[
    "for",
    "in",
    "on",
    "at",
    "by",
    "with",
    "to",
    "from",
    "within",
    "under",
    "given",
    "для",
    "в",
    "на",
    "по",
    "из",
    "с",
    "через",
];

/// Words after which `if` and `when` ask and do not set a condition.
const ASKING: &[&str] = &[
    "check",
    "determine",
    "decide",
    "see",
    "verify",
    "know",
    "indicate",
    "as",
    "even",
    "only",
    "detect",
];

pub(crate) fn parse(tokens: &[Token<'_>], language: Language) -> Option<Ears> {
    let (obligation, force) = obligation(tokens)?;
    let keywords = match language {
        Language::English => ENGLISH,
        Language::Russian => RUSSIAN,
    };
    let mut slots = Vec::with_capacity(5);
    let before = before_obligation(tokens, obligation.start);
    leading(tokens, 0..before.end, keywords, &mut slots);
    slots.push(slot(SlotKind::Obligation, tokens, obligation.clone()));
    let mut response = obligation.end;
    let negated = before.negated || tokens.get(response).is_some_and(|token| token.is("not"));
    if tokens.get(response).is_some_and(|token| token.is("not")) {
        response += 1;
    }
    trailing(tokens, response, keywords, &mut slots);
    Some(Ears {
        pattern: pattern(&slots),
        force,
        negated,
        slots,
    })
}

fn slot(kind: SlotKind, tokens: &[Token<'_>], range: Range<usize>) -> Slot {
    Slot {
        kind,
        span: span_of(&tokens[range.clone()]),
        tokens: range,
    }
}

/// The first binding word; where there is none, the first weaker one.
fn obligation(tokens: &[Token<'_>]) -> Option<(Range<usize>, Force)> {
    let mut weaker = None;
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_word()) {
        let force = match &*token.lower {
            "shall"
            | "must"
            | "должен"
            | "должна"
            | "должно"
            | "должны"
            | "обязан"
            | "обязана"
            | "обязано"
            | "обязаны"
            | "необходимо" => Force::Binding,
            "should" | "следует" | "желательно" => Force::Advised,
            "will" => Force::Stated,
            "may" | "can" | "может" | "могут" => Force::Allowed,
            _ => continue,
        };
        let found = (at..at + 1, force);
        if force == Force::Binding {
            return Some(found);
        }
        weaker.get_or_insert(found);
    }
    weaker
}

struct Before {
    end: usize,
    negated: bool,
}

/// Russian negates before the obligation.
fn before_obligation(tokens: &[Token<'_>], at: usize) -> Before {
    let negated = at > 0 && tokens[at - 1].is("не");
    Before {
        end: at - usize::from(negated),
        negated,
    }
}

fn leading(tokens: &[Token<'_>], range: Range<usize>, keywords: &[Keyword], slots: &mut Vec<Slot>) {
    let mut start = range.start;
    while start < range.end
        && (tokens[start].kind == Kind::Mark || tokens[start].is_any(&["and", "but", "и", "а", "then"]))
    {
        start += 1;
    }
    let opens = keyword_at(tokens, start, range.end, keywords);
    let scoped = opens.is_none() && tokens.get(start).is_some_and(|token| token.is_any(PREPOSITIONS));
    let subject = match (opens, scoped) {
        (Some(_), _) => subject_after_conditions(tokens, start, range.end),
        (None, true) => last_comma(tokens, start, range.end).map_or(start, |comma| comma + 1),
        (None, false) => start,
    };
    if scoped && subject > start {
        slots.push(slot(SlotKind::Scope, tokens, start..subject - 1));
    }
    if opens.is_some() {
        conditions(tokens, start..subject, keywords, slots);
    }
    let mut subject = subject;
    while subject < range.end && tokens[subject].is_any(&["then", "то", "тогда", ","]) {
        subject += 1;
    }
    if subject < range.end {
        slots.push(slot(SlotKind::System, tokens, subject..range.end));
    }
}

/// Where the one who acts begins: behind `then`, else behind the last comma, else at its article.
fn subject_after_conditions(tokens: &[Token<'_>], start: usize, end: usize) -> usize {
    let then = (start + 1..end)
        .rev()
        .find(|at| tokens[*at].is_any(&["then", "то", "тогда"]));
    if let Some(then) = then {
        return then;
    }
    if let Some(comma) = last_comma(tokens, start, end) {
        return comma + 1;
    }
    let article = (start + 2..end)
        .rev()
        .find(|at| tokens[*at].is_any(&["the", "a", "an"]));
    article.unwrap_or(end.saturating_sub(1).max(start + 1))
}

fn last_comma(tokens: &[Token<'_>], start: usize, end: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut last = None;
    for (at, token) in tokens.iter().enumerate().take(end).skip(start + 1) {
        match token.text {
            "(" | "[" | "（" => depth += 1,
            ")" | "]" | "）" => depth = depth.saturating_sub(1),
            "," | "、" | "，" if depth == 0 && at + 1 < end => last = Some(at),
            _ => {}
        }
    }
    last
}

fn conditions(tokens: &[Token<'_>], range: Range<usize>, keywords: &[Keyword], slots: &mut Vec<Slot>) {
    let mut start = range.start;
    let mut kind = keyword_at(tokens, start, range.end, keywords);
    for at in range.start + 1..range.end {
        let after_joint = tokens[at - 1].is_any(&["and", "и", ",", "or", "или"]);
        let opens = match after_joint {
            true => keyword_at(tokens, at, range.end, keywords),
            false => None,
        };
        if let (Some(old), Some(_)) = (kind, opens) {
            slots.push(trimmed(old, tokens, start..at));
            (start, kind) = (at, opens);
        }
    }
    if let Some(kind) = kind {
        slots.push(trimmed(kind, tokens, start..range.end));
    }
}

/// Without the comma or the joining word at its end.
fn trimmed(kind: SlotKind, tokens: &[Token<'_>], range: Range<usize>) -> Slot {
    let mut end = range.end;
    while end > range.start + 1 && tokens[end - 1].is_any(&[",", "and", "и", "or", "или", "then"]) {
        end -= 1;
    }
    slot(kind, tokens, range.start..end)
}

fn trailing(tokens: &[Token<'_>], start: usize, keywords: &[Keyword], slots: &mut Vec<Slot>) {
    let mut end = tokens.len();
    while end > start && matches!(tokens[end - 1].text, "." | "!" | ":" | ";" | "。" | "…") {
        end -= 1;
    }
    let mut depth = 0_usize;
    let mut cut = end;
    for at in start..end {
        match tokens[at].text {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let may_open =
            depth == 0 && at > start && tokens[at].is_any(TRAILING) && !tokens[at - 1].is_any(ASKING);
        if may_open && keyword_at(tokens, at, end, keywords).is_some() && at + 1 < end {
            cut = at;
            break;
        }
    }
    if cut > start {
        slots.push(trimmed(SlotKind::Response, tokens, start..cut));
    }
    if cut < end
        && let Some(kind) = keyword_at(tokens, cut, end, keywords)
    {
        slots.push(slot(kind, tokens, cut..end));
    }
}

fn keyword_at(tokens: &[Token<'_>], at: usize, end: usize, keywords: &[Keyword]) -> Option<SlotKind> {
    let first = tokens.get(at).filter(|_| at < end)?;
    let matches = |words: &[&str]| {
        first.is(words[0])
            && at + words.len() <= end
            && words
                .iter()
                .zip(&tokens[at..])
                .all(|(word, token)| token.is(word))
    };
    keywords
        .iter()
        .find(|(words, _)| matches(words))
        .map(|(_, kind)| *kind)
}

fn pattern(slots: &[Slot]) -> Pattern {
    let mut found = None;
    for one in slots.iter().filter_map(|slot| condition_pattern(slot.kind)) {
        match found {
            None => found = Some(one),
            Some(other) if other != one => return Pattern::Complex,
            Some(_) => {}
        }
    }
    found.unwrap_or(Pattern::Ubiquitous)
}
