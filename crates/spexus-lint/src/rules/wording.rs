//! Rules about words: most of them a phrase of the lexicon and the question it leaves open.

use crate::lexicon::{self, PLAIN_NOUNS, Phrase, Topic};
use crate::rule::Reporter;
use crate::rules::numbers::is_measured_after;
use crate::sentence::{Language, Sentence, span_of};
use crate::token::{Kind, Token};

pub(crate) fn placeholder(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    each(sentence, &[Topic::Placeholder], |at, phrase| {
        say(sentence, report, at, phrase, "is still open", "What is decided?");
        true
    });
}

pub(crate) fn vague(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let topics = &[Topic::Vague, Topic::VaguePredicate, Topic::VagueBeforeNoun];
    each(sentence, topics, |at, phrase| {
        let end = at + phrase.words.len();
        let counts = match phrase.topic {
            Topic::VaguePredicate => is_predicate(sentence.tokens, at),
            Topic::VagueBeforeNoun => noun_follows(sentence.tokens, end),
            _ => true,
        };
        let counts = counts && !is_term(sentence, report, at) && !is_measured_after(sentence.tokens, at);
        if counts {
            say(
                sentence,
                report,
                at,
                phrase,
                "is read differently by everyone",
                "By what measure, or by what that can be seen?",
            );
        }
        counts
    });
}

pub(crate) fn escape(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    each(sentence, &[Topic::Escape], |at, phrase| {
        let tokens = sentence.tokens;
        // "as required by the law" and "if needed fields are missing" set a condition.
        let next = tokens.get(at + phrase.words.len());
        let conditional = phrase.words[0] == "as" || phrase.words[0] == "if" || phrase.words[0] == "when";
        let explained = next.is_some_and(|next| {
            next.is_any(&["by", "in", "for", "to"]) || next.is_word() && phrase.words[0] == "if"
        }) || phrase.words == ["as", "needed"] && next.is_some_and(Token::is_word);
        let counts = !(conditional && explained);
        if counts {
            say(
                sentence,
                report,
                at,
                phrase,
                "lets the builder decide whether",
                "Under which condition exactly? Or always?",
            );
        }
        counts
    });
}

pub(crate) fn open_end(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    each(sentence, &[Topic::OpenEnd], |at, phrase| {
        let next = sentence.tokens.get(at + phrase.words.len());
        // "and more than two", "and similar items are grouped": the list goes on.
        let goes_on = matches!(
            phrase.words[..],
            ["and", "more" | "others" | "similar"] | ["or", "similar"] | ["и", "другие" | "другое"]
        ) && next.is_some_and(Token::is_word);
        if !goes_on {
            say(
                sentence,
                report,
                at,
                phrase,
                "leaves the list open",
                "What else is meant? Name all, or the rule that decides.",
            );
        }
        !goes_on
    });
}

pub(crate) fn quantity(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    each(sentence, &[Topic::Quantity], |at, phrase| {
        let tokens = sentence.tokens;
        let next = tokens.get(at + phrase.words.len());
        let before = at.checked_sub(1).map(|before| &tokens[before]);
        let counts = match phrase.words {
            ["about" | "around" | "nearly" | "almost" | "около" | "порядка" | "почти"] => {
                next.is_some_and(|next| next.kind == Kind::Number)
            }
            ["many"] => before.is_none_or(|before| !before.is_any(&["how", "as", "too", "so"])),
            ["различн*" | "некотор*"] => before.is_none_or(|before| !before.is("на")),
            ["много" | "ряд"] => next.is_some_and(Token::is_word),
            ["most", "of"] => true,
            _ => true,
        };
        if counts {
            say(
                sentence,
                report,
                at,
                phrase,
                "cannot be counted",
                "How many, or within which limits?",
            );
        }
        counts
    });
}

pub(crate) fn time(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    each(sentence, &[Topic::Time], |at, phrase| {
        let tokens = sentence.tokens;
        let next = tokens.get(at + phrase.words.len());
        let counts = match phrase.words {
            ["immediately"] => next.is_none_or(|next| {
                !next.is_any(&[
                    "after",
                    "before",
                    "following",
                    "below",
                    "above",
                    "preceding",
                    "visible",
                ])
            }),
            ["сразу"] => next.is_none_or(|next| !next.is_any(&["после", "за", "же"])),
            ["in", "time"] => next.is_none_or(|next| !next.is_word()),
            ["often"] => at == 0 || !tokens[at - 1].is("how"),
            ["soon"] => at == 0 || !tokens[at - 1].is("as"),
            ["часто"] => at == 0 || !tokens[at - 1].is("как"),
            _ => true,
        };
        let counts = counts && !is_measured_after(tokens, at) && !is_term(sentence, report, at);
        if counts {
            say(
                sentence,
                report,
                at,
                phrase,
                "names no time",
                "Within which time, or how often?",
            );
        }
        counts
    });
}

pub(crate) fn unreachable(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    each(sentence, &[Topic::Unreachable], |at, phrase| {
        say(
            sentence,
            report,
            at,
            phrase,
            "cannot be kept",
            "Which share, period or limit is enough?",
        );
        true
    });
}

pub(crate) fn comparison(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    each(sentence, &[Topic::Comparison], |at, phrase| {
        let tokens = sentence.tokens;
        let rest = &tokens[at..];
        let referenced = rest.iter().any(|token| {
            token.is_any(&[
                "than",
                "чем",
                "compared",
                "by",
                "over",
                "until",
                "сравнению",
                "of",
                "предыдущ",
                "вдвое",
                "match",
            ])
        }) || rest.iter().any(|token| token.kind == Kind::Number);
        // "better" of "better-sqlite" is one word; "best" needs what it is the best of or for.
        let named = phrase.words == ["best"]
            && rest
                .get(1)
                .is_some_and(|next| next.is_any(&["effort", "practice", "practices", "match"]));
        let counts = !referenced && !named && !is_term(sentence, report, at);
        if counts {
            say(
                sentence,
                report,
                at,
                phrase,
                "compares with nothing",
                "Than what, and by how much?",
            );
        }
        counts
    });
}

pub(crate) fn absolute(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    simple(
        sentence,
        report,
        Topic::Absolute,
        "has no exception",
        "Is there really none?",
    );
}

pub(crate) fn purpose(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    simple(
        sentence,
        report,
        Topic::Purpose,
        "gives a reason",
        "Can the reason stand beside the requirement?",
    );
}

pub(crate) fn example(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    simple(
        sentence,
        report,
        Topic::Example,
        "gives examples",
        "Are they all, or what decides about the rest?",
    );
}

pub(crate) fn weak_verb(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let Some(response) = sentence
        .ears
        .as_ref()
        .and_then(|ears| ears.slot(crate::ears::SlotKind::Response))
    else {
        return;
    };
    let at = response.tokens.start;
    lexicon::phrases_at(sentence.tokens, at, sentence.language, |phrase| {
        if phrase.topic == Topic::WeakVerb {
            say(
                sentence,
                report,
                at,
                phrase,
                "does not say what is seen",
                "What happens then that a test can see?",
            );
        }
    });
}

pub(crate) fn repeated(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    for pair in sentence.tokens.windows(2) {
        let [first, second] = pair else { continue };
        let same = first.is_word() && second.is_word() && first.lower == second.lower && !second.begins;
        let adjacent = sentence.text[first.bytes.end..second.bytes.start]
            .chars()
            .all(char::is_whitespace);
        let meant = first.is_any(&[
            "that",
            "had",
            "very",
            "bye",
            "log",
            "так",
            "очень",
            "чуть",
            "еле",
            "никого",
        ]) || first.text.chars().any(|c| c.is_uppercase())
            && first.text == second.text
            && first.text.chars().count() > 3;
        if same && adjacent && !meant {
            let message = format!("\"{}\" stands twice", second.text);
            let cut = crate::token::Span::new(first.span.end, second.span.end);
            report.fix(span_of(pair), message, cut, "");
        }
    }
}

pub(crate) fn pronoun(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    const ENGLISH: &[&str] = &["it", "they", "them", "its", "their", "these", "those"];
    const RUSSIAN: &[&str] = &["он", "она", "оно", "они", "его", "её", "ее", "их", "ими", "им"];
    let words = match sentence.language {
        Language::English => ENGLISH,
        Language::Russian => RUSSIAN,
    };
    for token in sentence
        .tokens
        .iter()
        .filter(|token| token.is_word() && token.is_any(words))
    {
        report.ask(
            token.span,
            format!("\"{}\" points at something", token.text),
            "At what? Name it.",
        );
    }
}

pub(crate) fn able_to(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    for (at, window) in sentence.tokens.windows(4).enumerate() {
        let english = window[0].is_any(&["be"])
            && window[1].is_any(&["able", "capable"])
            && window[2].is_any(&["to", "of"]);
        let after = at > 0 && sentence.tokens[at - 1].is_any(&["shall", "must", "should", "will"]);
        if !english || !after {
            continue;
        }
        let span = span_of(&window[..3]);
        match window[1].is("able") {
            true => {
                let cut = crate::token::Span::new(span.start, window[3].span.start);
                report.fix(span, "\"be able to\" adds nothing to what is done", cut, "");
            }
            false => report.ask(
                span,
                "\"be capable of\" does not demand the act",
                "Which act is demanded?",
            ),
        }
    }
}

pub(crate) fn wrong_term(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let glossary = report.glossary;
    for at in 0..sentence.tokens.len() {
        if let Some((term, length)) = glossary.refused_at(&sentence.tokens[at..]) {
            let tokens = &sentence.tokens[at..at + length];
            let words = sentence.words(at..at + length);
            let preferred = match tokens[0].is_capital() {
                true => capitalised(term),
                false => term.to_owned(),
            };
            let message = format!("\"{words}\" is \"{term}\" in the glossary");
            report.fix(span_of(tokens), message, span_of(tokens), preferred);
        }
    }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn simple(sentence: &Sentence<'_>, report: &mut Reporter<'_>, topic: Topic, what: &str, question: &str) {
    each(sentence, &[topic], |at, phrase| {
        say(sentence, report, at, phrase, what, question);
        true
    });
}

/// Each phrase of the topics; a phrase that counted hides those that begin inside it.
fn each(sentence: &Sentence<'_>, topics: &[Topic], mut judge: impl FnMut(usize, &'static Phrase) -> bool) {
    let mut at = 0;
    while at < sentence.tokens.len() {
        let mut longest: Option<&'static Phrase> = None;
        let mut others: Vec<&'static Phrase> = Vec::new();
        lexicon::phrases_at(sentence.tokens, at, sentence.language, |phrase| {
            if topics.contains(&phrase.topic) {
                match longest {
                    Some(old) if old.words.len() >= phrase.words.len() => others.push(phrase),
                    _ => others.extend(longest.replace(phrase)),
                }
            }
        });
        let hit = longest.into_iter().chain(others).find(|phrase| judge(at, phrase));
        at += hit.map_or(1, |phrase| phrase.words.len());
    }
}

fn say(
    sentence: &Sentence<'_>,
    report: &mut Reporter<'_>,
    at: usize,
    phrase: &Phrase,
    what: &str,
    question: &str,
) {
    let range = at..at + phrase.words.len();
    let message = format!("\"{}\" {what}", sentence.words(range.clone()));
    report.ask(span_of(&sentence.tokens[range]), message, question);
}

//= specs/spexus-lint.md#findings
//# A word the glossary defines MUST NOT be called vague.
/// What the glossary defines is not vague.
fn is_term(sentence: &Sentence<'_>, report: &Reporter<'_>, at: usize) -> bool {
    report.glossary.covers(sentence.tokens, at)
}

fn is_predicate(tokens: &[Token<'_>], at: usize) -> bool {
    const COPULAS: &[&str] = &[
        "be",
        "remain",
        "feel",
        "look",
        "stay",
        "is",
        "are",
        "быть",
        "оставаться",
        "являться",
    ];
    const DEGREES: &[&str] = &[
        "very",
        "highly",
        "more",
        "sufficiently",
        "extremely",
        "and",
        "очень",
        "достаточно",
        "и",
        "reasonably",
    ];
    let mut before = at;
    while before > 0 && tokens[before - 1].is_any(DEGREES) {
        before -= 1;
        // "be fast and secure": the first of the two was after the copula.
        if tokens[before].is_any(&["and", "и"]) && before > 0 {
            return is_predicate(tokens, before - 1);
        }
    }
    let ends = |token: Option<&Token<'_>>| {
        token.is_none_or(|token| !token.is_any(&["to", "of", "from"]) && token.kind != Kind::Number)
    };
    before > 0 && tokens[before - 1].is_any(COPULAS) && ends(tokens.get(at + 1))
}

fn noun_follows(tokens: &[Token<'_>], end: usize) -> bool {
    let mut next = tokens[end..].iter().take(3).take_while(|token| token.is_word());
    next.any(|token| token.is_any(PLAIN_NOUNS))
}
