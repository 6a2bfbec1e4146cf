//! Rules about numbers and units.

use crate::rule::Reporter;
use crate::sentence::{Sentence, span_of};
use crate::token::{Kind, Token};

/// A unit: how it is written, of which quantity it is, and how many of the quantity's base unit it is.
pub(crate) struct Unit {
    pub(crate) words: &'static [&'static str],
    pub(crate) quantity: &'static str,
    pub(crate) factor: f64,
}

macro_rules! units {
    ($($quantity:ident $factor:literal: $($word:literal)+;)*) => {
        pub(crate) const UNITS: &[Unit] = &[$(Unit { words: &[$($word),+], quantity: stringify!($quantity), factor: $factor },)*];
    };
}

units! {
    time 0.001: "ms" "millisecond" "milliseconds" "msec" "мс" "миллисекунд" "миллисекунды" "миллисекунду";
    time 0.000001: "µs" "us" "microsecond" "microseconds" "мкс";
    time 1.0: "s" "sec" "secs" "second" "seconds" "с" "сек" "секунд" "секунды" "секунду" "секунда";
    time 60.0: "min" "mins" "minute" "minutes" "мин" "минут" "минуты" "минуту" "минута";
    time 3600.0: "h" "hour" "hours" "hr" "hrs" "ч" "час" "часа" "часов";
    time 86400.0: "d" "day" "days" "день" "дня" "дней" "суток" "сутки";
    time 604800.0: "week" "weeks" "неделя" "недели" "недель" "неделю";
    time 2592000.0: "month" "months" "месяц" "месяца" "месяцев";
    time 31536000.0: "year" "years" "год" "года" "лет";
    size 1.0: "b" "byte" "bytes" "байт" "байта";
    size 1000.0: "kb" "kilobyte" "kilobytes" "кб";
    size 1024.0: "kib" "киб";
    size 1000000.0: "mb" "megabyte" "megabytes" "мб";
    size 1048576.0: "mib" "миб";
    size 1000000000.0: "gb" "gigabyte" "gigabytes" "гб";
    size 1073741824.0: "gib" "гиб";
    size 1000000000000.0: "tb" "терабайт" "тб";
    length 0.001: "mm" "мм";
    length 0.01: "cm" "см";
    length 1.0: "m" "metre" "metres" "meter" "meters" "м" "метр" "метра" "метров";
    length 1000.0: "km" "км";
    mass 0.001: "g" "г" "gram" "grams";
    mass 1.0: "kg" "кг";
    share 0.01: "%" "percent" "процент" "процента" "процентов";
    temperature 1.0: "°c" "℃" "celsius";
    pressure 1.0: "bar" "бар";
    pressure 0.01: "kpa" "кпа";
    voltage 1.0: "v" "volt" "volts" "в";
    voltage 0.001: "mv" "мв";
    power 1.0: "w" "watt" "watts" "вт";
    power 1000.0: "kw" "квт";
    frequency 1.0: "hz" "гц";
    frequency 1000.0: "khz" "кгц";
}

pub(crate) fn unit_of(token: &Token<'_>) -> Option<&'static Unit> {
    UNITS.iter().find(|unit| token.is_any(unit.words))
}

/// The number a token stands for; `1,000` is a thousand, `0,5` a half.
pub(crate) fn value_of(token: &Token<'_>) -> Option<f64> {
    if token.kind != Kind::Number {
        return None;
    }
    let groups = token.text.split(',').skip(1);
    let thousands = token.text.contains(',')
        && groups
            .clone()
            .all(|group| group.split('.').next().is_some_and(|digits| digits.len() == 3));
    let plain = match thousands {
        true => token.text.replace(',', ""),
        false => token.text.replace(',', "."),
    };
    plain.parse().ok()
}

/// Whether a measure follows within the clause: `quickly, within 2 s`.
pub(crate) fn is_measured_after(tokens: &[Token<'_>], at: usize) -> bool {
    const NEAR: usize = 9;
    let near = &tokens[at..tokens.len().min(at + NEAR)];
    let before = &tokens[at.saturating_sub(NEAR)..at];
    let measured = |tokens: &[Token<'_>]| {
        tokens.windows(2).any(|pair| {
            let unit = unit_of(&pair[1]).is_some() || pair[1].text == "°";
            pair[0].kind == Kind::Number && unit
        })
    };
    let every = |tokens: &[Token<'_>]| {
        tokens.windows(2).any(|pair| {
            pair[0].is_any(&["every", "each", "каждый", "каждую", "каждые"]) && unit_of(&pair[1]).is_some()
        })
    };
    measured(near) || measured(before) || every(near)
}

pub(crate) fn number_without_unit(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    const LIMITS: &[&str] = &["within", "after", "every", "under", "каждые", "через"];
    let tokens = sentence.tokens;
    for (at, token) in tokens.iter().enumerate().skip(1) {
        if token.kind != Kind::Number {
            continue;
        }
        let before = &tokens[at - 1];
        let during = before.is("течение");
        let limited = before.is_any(LIMITS) || during;
        let is_bare = match tokens.get(at + 1) {
            None => true,
            Some(next) => {
                matches!(next.text, "." | "," | ";" | ")")
                    || next.is_any(&["and", "or", "when", "if", "while", "и", "или", "после", "of"])
                    || next.begins
            }
        };
        if limited && is_bare {
            let message = format!("\"{} {}\" has no unit", before.text, token.text);
            report.ask(span_of(&tokens[at - 1..at + 1]), message, "Of which unit?");
        }
    }
}

pub(crate) fn impossible_range(sentence: &Sentence<'_>, report: &mut Reporter<'_>) {
    let tokens = sentence.tokens;
    for (at, token) in tokens.iter().enumerate() {
        let opens = token.is_any(&["between", "from", "от", "между"]);
        let Some((low, low_at)) = opens.then(|| number_near(tokens, at + 1, 2)).flatten() else {
            continue;
        };
        let joint = (low_at + 1..tokens.len().min(low_at + 4))
            .find(|at| tokens[*at].is_any(&["and", "to", "до", "и"]));
        let fits = |joint: &str| match &*token.lower {
            "between" => joint == "and",
            "from" => joint == "to",
            "от" => joint == "до",
            _ => joint == "и",
        };
        let Some((high, high_at)) = joint
            .filter(|at| fits(&tokens[*at].lower))
            .and_then(|at| number_near(tokens, at + 1, 1))
        else {
            continue;
        };
        let scale = |at: usize| tokens.get(at + 1).and_then(unit_of);
        let (low_unit, high_unit) = (scale(low_at).or(scale(high_at)), scale(high_at));
        let comparable = match (low_unit, high_unit) {
            (Some(low), Some(high)) => low.quantity == high.quantity,
            (low, high) => low.is_none() && high.is_none(),
        };
        let size = |value: f64, unit: Option<&Unit>| value * unit.map_or(1.0, |unit| unit.factor);
        // "from 1.0.0 to 0.9" and "from 90 to 80" of a change are no ranges: only `between` and limits of a measure are.
        let ranged = token.is_any(&["between", "между"]) || high_unit.is_some() && !changes(tokens, at);
        if comparable && ranged && size(low, low_unit) > size(high, high_unit) {
            report.ask(
                span_of(&tokens[at..high_at + 1]),
                format!("no value lies in \"{}\"", sentence.words(at..high_at + 1)),
                "Which end is the lower one?",
            );
        }
    }
}

fn changes(tokens: &[Token<'_>], at: usize) -> bool {
    const VERBS: &[&str] = &[
        "reduce",
        "reduced",
        "decrease",
        "decreased",
        "lower",
        "drop",
        "falls",
        "change",
        "changes",
        "fall",
        "снизить",
        "уменьшить",
        "down",
    ];
    tokens[at.saturating_sub(6)..at]
        .iter()
        .any(|token| token.is_any(VERBS))
}

fn number_near(tokens: &[Token<'_>], at: usize, within: usize) -> Option<(f64, usize)> {
    let end = tokens.len().min(at + within);
    (at..end).find_map(|at| Some((value_of(&tokens[at])?, at)))
}
