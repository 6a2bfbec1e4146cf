//! Rules about the parts of the sentence: what is judged inside one slot and nowhere else.

use crate::ears::{Ears, Force, Slot, SlotKind};
use crate::rule::Reporter;
use crate::sentence::{Language, Sentence, span_of};
use crate::token::{Kind, Span, Token};

pub(crate) fn empty_response(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(ears) = &sentence.ears else { return };
    let announces = sentence.goes_on || sentence.tokens.last().is_some_and(|last| last.is(":"));
    let demands = ears.force == Force::Binding && ears.slot(SlotKind::System).is_some();
    if demands && ears.slot(SlotKind::Response).is_none() && !announces {
        report.ask(
            sentence.span(),
            "nothing follows the obligation",
            "What shall be done?",
        );
    }
}

pub(crate) fn merge_marker(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    for (at, window) in sentence.tokens.windows(7).enumerate() {
        let mark = window[0].text;
        let begins = at == 0 || sentence.tokens[at - 1].text != mark;
        if matches!(mark, "<" | ">" | "=") && begins && window.iter().all(|token| token.text == mark) {
            report.ask(
                span_of(window),
                "a merge was not finished here",
                "Which of the two versions holds?",
            );
        }
    }
}

/// A second binding obligation in the response.
pub(crate) fn several_obligations(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    const BINDING: &[&str] = &["shall", "must", "должен", "должна", "должно", "должны"];
    let Some((ears, response)) = with_response(sentence) else {
        return;
    };
    if ears.force != Force::Binding {
        return;
    }
    let start = response.tokens.start;
    for at in start..sentence.tokens.len() {
        let token = &sentence.tokens[at];
        let before = &sentence.tokens[at.saturating_sub(4)..at];
        // "values that must be unique" qualifies a thing; "a must" is none.
        let qualifies = sentence.tokens[start..at]
            .iter()
            .rev()
            .take_while(|token| !token.is_any(&[",", "and", "и", ";", "—", "–"]))
            .any(|token| {
                token.is_any(&[
                    "that",
                    "which",
                    "who",
                    "whose",
                    "what",
                    "how",
                    "a",
                    "where",
                    "when",
                    "if",
                    "который",
                    "которые",
                    "которая",
                    "которое",
                    "что",
                    "чем",
                ])
            });
        let joined = before
            .iter()
            .any(|token| token.is_any(&["and", "и", ",", ";", "but", "а", "then", "or", "или", "—", "–"]));
        if token.is_any(BINDING) && joined && !qualifies {
            report.ask(
                token.span,
                "a second obligation in one sentence",
                "Can it be a requirement of its own?",
            );
            return;
        }
    }
}

/// Nobody is named: no subject, an empty `it`, or a passive without `by`.
pub(crate) fn missing_actor(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(ears) = sentence
        .ears
        .as_ref()
        .filter(|ears| matches!(ears.force, Force::Binding | Force::Advised))
    else {
        return;
    };
    let Some(obligation) = ears.slot(SlotKind::Obligation) else {
        return;
    };
    const QUESTION: &str = "Which part of the system does it?";
    let Some(system) = ears.slot(SlotKind::System) else {
        if sentence.first {
            report.ask(obligation.span, "nobody is named who acts", QUESTION);
        }
        return;
    };
    let subject = &sentence.tokens[system.tokens.clone()];
    let empty = matches!(subject, [only] if only.is_any(&["it", "there", "this", "that", "это"]));
    if empty && (sentence.first || subject[0].is("there")) {
        report.ask(
            system.span,
            format!("\"{}\" names nobody", subject[0].text),
            QUESTION,
        );
        return;
    }
    if let Some(passive) = passive_of(sentence, ears)
        && !is_actor(subject)
        && !passive.has_agent
    {
        report.ask(passive.span, "the passive does not say who acts", QUESTION);
    }
}

pub(crate) fn passive(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(ears) = &sentence.ears else { return };
    let Some(system) = ears.slot(SlotKind::System) else {
        return;
    };
    if let Some(passive) = passive_of(sentence, ears)
        && (passive.has_agent || is_actor(&sentence.tokens[system.tokens.clone()]))
    {
        report.ask(
            passive.span,
            "passive voice",
            "Can the one who acts be the subject?",
        );
    }
}

struct Passive {
    span: Span,
    has_agent: bool,
}

fn passive_of(sentence: &Sentence<'_>, ears: &Ears) -> Option<Passive> {
    let tokens = &sentence.tokens[ears.slot(SlotKind::Response)?.tokens.clone()];
    let (be, rest) = tokens.split_first()?;
    let is_be = be.is_any(&["be", "get", "быть"]);
    let participle = rest
        .iter()
        .take(3)
        .position(|token| is_participle(token, sentence.language))?;
    let between = &rest[..participle];
    let adverbs = between.iter().all(|token| {
        token.is_word()
            && (token.lower.ends_with("ly")
                || token.is_any(&[
                    "also",
                    "then",
                    "never",
                    "always",
                    "not",
                    "first",
                    "only",
                    "автоматически",
                ]))
    });
    if !is_be || !adverbs {
        return None;
    }
    let after = &rest[participle + 1..];
    let has_agent = after.iter().any(|token| token.is_any(&["by", "via", "from"]))
        || sentence.language == Language::Russian && after.first().is_some_and(is_instrumental);
    Some(Passive {
        span: span_of(&tokens[..participle + 2]),
        has_agent,
    })
}

/// Participles that say what something is, not what is done to it.
const STATES: &[&str] = &[
    "located",
    "based",
    "composed",
    "limited",
    "compatible",
    "required",
    "allowed",
    "permitted",
    "expected",
    "supposed",
    "related",
    "connected",
    "interested",
    "aligned",
    "restricted",
    "sorted",
    "ordered",
    "named",
    "called",
    "written",
    "known",
    "visible",
    "unchanged",
    "unlimited",
    "signed-in",
    "sized",
    "bounded",
    "dedicated",
    "need",
    "speed",
    "embed",
    "feed",
    "seed",
    "exceed",
    "proceed",
    "red",
    "shared",
    "made",
    "considered",
    "scoped",
    "authenticated",
    "authorized",
    "licensed",
    "equipped",
    "situated",
    "derived",
    "involved",
    "needed",
    "distributed",
    "mounted",
];

fn is_participle(token: &Token<'_>, language: Language) -> bool {
    const IRREGULAR: &[&str] = &[
        "sent", "shown", "kept", "built", "done", "given", "taken", "written", "read", "stored", "found",
        "set", "run", "held", "seen", "chosen", "drawn", "paid", "put", "told", "left", "lost", "met",
        "hidden", "broken", "frozen", "begun", "bound", "reset", "cut", "split",
    ];
    if !token.is_word() {
        return false;
    }
    match language {
        Language::English => {
            !token.is_any(STATES)
                && (token.lower.len() > 3 && token.lower.ends_with("ed") || token.is_any(IRREGULAR))
        }
        Language::Russian => [
            "ан", "ана", "ано", "аны", "ен", "ена", "ено", "ены", "ён", "ят", "ята", "яты", "ято", "рыт",
            "рыта", "рыты",
        ]
        .iter()
        .any(|end| token.lower.chars().count() > 4 && token.lower.ends_with(end)),
    }
}

fn is_instrumental(token: &Token<'_>) -> bool {
    ["ом", "ем", "ой", "ей", "ами", "ями"]
        .iter()
        .any(|end| token.lower.ends_with(end))
        && token.lower.chars().count() > 4
}

/// Things that act: a passive about one of them leaves nobody unnamed whom a reader would miss.
fn is_actor(subject: &[Token<'_>]) -> bool {
    const ACTORS: &[&str] = &[
        "system",
        "service",
        "application",
        "app",
        "server",
        "client",
        "tool",
        "component",
        "module",
        "controller",
        "command",
        "cli",
        "api",
        "engine",
        "gateway",
        "device",
        "user",
        "operator",
        "administrator",
        "manager",
        "parser",
        "scheduler",
        "software",
        "platform",
        "backend",
        "frontend",
        "driver",
        "pump",
        "valve",
        "skill",
        "provider",
        "agent",
        "process",
        "worker",
        "unit",
        "library",
        "router",
        "plugin",
        "bridge",
        "editor",
        "interface",
        "program",
        "система",
        "сервис",
        "приложение",
        "сервер",
        "клиент",
        "модуль",
        "пользователь",
        "оператор",
        "администратор",
        "устройство",
        "программа",
        "служба",
        "контроллер",
        "плагин",
        "шлюз",
        "планировщик",
    ];
    subject.iter().any(|token| token.is_any(ACTORS))
}

pub(crate) fn and_or(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    for window in sentence.tokens.windows(3) {
        let both = window[0].is_any(&["and", "и"]) && window[1].is("/") && window[2].is_any(&["or", "или"]);
        if both {
            report.ask(
                span_of(window),
                format!("\"{}/{}\" is read in two ways", window[0].text, window[2].text),
                "Both, or at least one of them?",
            );
        }
    }
    for window in sentence.tokens.windows(4) {
        let russian = window[0].is("и") && window[1].is("(") && window[2].is("или") && window[3].is(")");
        if russian {
            report.ask(
                span_of(window),
                "\"и (или)\" is read in two ways",
                "Both, or at least one of them?",
            );
        }
    }
}

pub(crate) fn slash(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    for window in sentence.tokens.windows(3) {
        let tight =
            window[0].bytes.end == window[1].bytes.start && window[1].bytes.end == window[2].bytes.start;
        let words = window[0].is_word() && window[2].is_word() && window[1].is("/");
        let known = window[0].is_any(&["and", "и"]) || window[0].is_capital() && window[2].is_capital();
        if tight && words && !known {
            report.ask(span_of(window), "a stroke between words", "And, or, or per?");
        }
    }
}

/// `and` and `or` in one condition, with nothing that groups them.
pub(crate) fn mixed_conditions(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(ears) = &sentence.ears else { return };
    for condition in ears.conditions() {
        let tokens = &sentence.tokens[condition.tokens.clone()];
        let has = |words: &[&str]| tokens.iter().any(|token| token.is_any(words));
        let grouped = has(&[
            "both",
            "either",
            "(",
            "neither",
            "between",
            "оба",
            "либо",
            "между",
        ]);
        let clauses = joined_clauses(tokens);
        if !grouped && clauses.0 && clauses.1 {
            report.ask(
                condition.span,
                "\"and\" and \"or\" in one condition",
                "Which belong together? Say both … or either ….",
            );
        }
    }
}

/// Whether `and` and `or` join clauses, each with a verb of its own, and not just two names.
fn joined_clauses(tokens: &[Token<'_>]) -> (bool, bool) {
    const VERBS: &[&str] = &[
        "is", "are", "has", "have", "was", "were", "exceeds", "equals", "falls", "rises", "fails", "не",
    ];
    let clause_after = |at: usize| {
        let rest = &tokens[at + 1..];
        rest.iter()
            .take_while(|token| !token.is_any(&["and", "or", "и", "или"]))
            .any(|token| {
                token.is_any(VERBS)
                    || token.is_word()
                        && (token.lower.ends_with("ет")
                            || token.lower.ends_with("ит")
                            || token.lower.ends_with('н')
                            || token.lower.ends_with("на"))
            })
    };
    let joins = |words: &[&str]| (0..tokens.len()).any(|at| tokens[at].is_any(words) && clause_after(at));
    (joins(&["and", "и"]), joins(&["or", "или"]))
}

pub(crate) fn double_negation(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some((ears, response)) = with_response(sentence) else {
        return;
    };
    if !ears.negated {
        return;
    }
    const STRONG: &[&str] = &[
        "fail",
        "refuse",
        "disallow",
        "deny",
        "forbid",
        "prevent",
        "отказывать",
        "запрещать",
        "препятствовать",
    ];
    let tokens = &sentence.tokens[response.tokens.clone()];
    let Some((first, rest)) = tokens.split_first() else {
        return;
    };
    let strong = first.is_any(STRONG);
    let to_act = strong
        && rest
            .first()
            .is_some_and(|next| next.is("to") || next.lower.ends_with("ть"));
    let negated = |token: &Token<'_>| token.is_any(&["no", "not", "never", "neither"]);
    let bare = |token: &Token<'_>| token.is_any(&["without", "без"]);
    let counts = to_act || rest.iter().any(negated) || strong && rest.iter().any(bare);
    if counts {
        report.ask(
            response.span,
            "two negations in one obligation",
            "What shall happen, said without \"not\"?",
        );
    }
}

pub(crate) fn negated_all(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(ears) = sentence.ears.as_ref().filter(|ears| ears.negated) else {
        return;
    };
    let Some(system) = ears.slot(SlotKind::System) else {
        return;
    };
    let first = &sentence.tokens[system.tokens.start];
    if first.is_any(&[
        "all",
        "every",
        "each",
        "both",
        "все",
        "каждый",
        "каждая",
        "каждое",
    ]) {
        let message = format!("\"{} … not\" is read in two ways", first.text);
        report.ask(system.span, message, "None of them, or not each of them?");
    }
}

//= specs/spexus-lint.md#findings
//# `and` MUST be judged in the response of a sentence only, not in its conditions.
/// `and` before a second verb, in the response slot only.
pub(crate) fn joined_actions(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some((_, response)) = with_response(sentence) else {
        return;
    };
    let tokens = &sentence.tokens[response.tokens.clone()];
    let Some(verb) = tokens.first().filter(|token| token.is_word()) else {
        return;
    };
    for (at, token) in tokens.iter().enumerate().skip(2) {
        let next = tokens.get(at + 1);
        let is_verb =
            next.is_some_and(|next| looks_like_verb(next, tokens.get(at + 2), verb, sentence.language));
        if token.is_any(&["and", "и"]) && is_verb {
            report.ask(
                token.span,
                format!("\"{}\" joins two actions", token.text),
                "Is the second a requirement of its own?",
            );
        }
    }
}

/// A base form before an article or a name: `and notify the owner`. Russian: an infinitive like the first one.
fn looks_like_verb(
    word: &Token<'_>,
    next: Option<&Token<'_>>,
    first: &Token<'_>,
    language: Language,
) -> bool {
    match language {
        Language::English => {
            let object = next.is_some_and(|next| {
                next.is_any(&[
                    "the", "a", "an", "all", "its", "their", "each", "any", "no", "it", "them", "with",
                ]) || next.kind == Kind::Quoted
            });
            let plain = word.is_word()
                && !word.is_capital()
                && !["s", "ed", "ing", "ly", "ion"]
                    .iter()
                    .any(|end| word.lower.ends_with(end));
            object
                && plain
                && !word.is_any(&[
                    "for", "in", "on", "with", "to", "of", "by", "at", "as", "from", "only", "not", "the",
                    "a", "then", "all", "under", "after", "before", "into", "over",
                ])
        }
        Language::Russian => {
            word.is_word()
                && first.lower.ends_with("ть")
                && (word.lower.ends_with("ть") || word.lower.ends_with("ться"))
        }
    }
}

pub(crate) fn weak_obligation(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(ears) = sentence.ears.as_ref().filter(|ears| ears.force != Force::Binding) else {
        return;
    };
    if let Some(obligation) = ears.slot(SlotKind::Obligation) {
        let word = sentence.words(obligation.tokens.clone());
        let question = "Must it be built? Then \"shall\"; else say that it is a wish.";
        report.ask(
            obligation.span,
            format!("\"{word}\" leaves open whether it must be built"),
            question,
        );
    }
}

pub(crate) fn negation(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(ears) = sentence.ears.as_ref().filter(|ears| ears.negated) else {
        return;
    };
    if let Some(obligation) = ears.slot(SlotKind::Obligation) {
        report.ask(
            obligation.span,
            "says what shall not happen",
            "What happens instead?",
        );
    }
}

pub(crate) fn parentheses(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let mut open: Option<&Token<'_>> = None;
    for token in sentence.tokens {
        match (token.text, open) {
            ("(", _) => open = Some(token),
            (")", Some(start)) => {
                let span = Span::new(start.span.start, token.span.end);
                report.ask(
                    span,
                    "parentheses",
                    "Does it bind? Then without them; else beside the requirement.",
                );
                open = None;
            }
            _ => {}
        }
    }
}

pub(crate) fn no_obligation(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let long = sentence.tokens.iter().filter(|token| token.is_word()).count() >= 3;
    if sentence.ears.is_none() && sentence.first && long {
        report.ask(sentence.span(), "no obligation", "Who shall do what?");
    }
}

fn with_response<'s>(sentence: &'s Sentence<'_>) -> Option<(&'s Ears, &'s Slot)> {
    let ears = sentence.ears.as_ref()?;
    Some((ears, ears.slot(SlotKind::Response)?))
}
