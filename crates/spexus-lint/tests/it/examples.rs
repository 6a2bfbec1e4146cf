//! Each rule finds its bad example and leaves its good one; sentences and their slots; fixes.

use spexus_lint::ears::{Pattern, SlotKind};
use spexus_lint::{Glossary, KnownFindings, Options, RULES, apply, check, parse, passages};

fn names(text: &str, options: &Options) -> Vec<&'static str> {
    check(text, options).iter().map(|finding| finding.name).collect()
}

fn glossary() -> Options {
    let mut options = Options::default();
    options.glossary.add("operator", &["admin guy"]);
    options
}

#[test]
fn every_rule_finds_its_bad_example_and_leaves_its_good_one() {
    let options = glossary();
    for rule in RULES.iter().filter(|rule| !rule.number.starts_with("L3")) {
        assert!(
            names(rule.bad, &options).contains(&rule.name),
            "{} in: {}",
            rule.name,
            rule.bad
        );
        assert!(
            !names(rule.good, &options).contains(&rule.name),
            "{} in: {}",
            rule.name,
            rule.good
        );
    }
}

#[test]
fn good_examples_are_good_in_every_way() {
    for rule in RULES.iter().filter(|rule| !rule.number.starts_with("L3")) {
        let found = check(rule.good, &glossary());
        let harm: Vec<_> = found
            .iter()
            .filter(|finding| finding.tier > spexus_lint::Tier::Information)
            .collect();
        assert!(harm.is_empty(), "{}: {harm:?}", rule.good);
    }
}

#[test]
fn numbers_and_names_are_given_once() {
    for (at, rule) in RULES.iter().enumerate() {
        let twin = RULES[..at]
            .iter()
            .find(|other| other.number == rule.number || other.name == rule.name);
        assert!(twin.is_none(), "{}", rule.number);
        assert!(RULES[..at].iter().all(|other| other.number < rule.number));
    }
}

#[track_caller]
fn slots(text: &str, pattern: Pattern, expect: &[(SlotKind, &str)]) {
    let parsed = parse(text);
    let ears = parsed[0].ears.as_ref().expect("an obligation");
    let chars: Vec<char> = text.chars().collect();
    let found: Vec<(SlotKind, String)> = ears
        .slots
        .iter()
        .map(|slot| (slot.kind, chars[slot.span.start..slot.span.end].iter().collect()))
        .collect();
    let found: Vec<(SlotKind, &str)> = found.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
    assert_eq!((ears.pattern, &found[..]), (pattern, expect));
}

use SlotKind::{Event, Feature, Obligation, Response, Scope, State, System, Unwanted};

#[test]
fn sentences_of_every_form_are_taken_apart() {
    slots(
        "The pump shall stop.",
        Pattern::Ubiquitous,
        &[(System, "The pump"), (Obligation, "shall"), (Response, "stop")],
    );
    slots(
        "When the lid opens, the pump shall stop.",
        Pattern::Event,
        &[
            (Event, "When the lid opens"),
            (System, "the pump"),
            (Obligation, "shall"),
            (Response, "stop"),
        ],
    );
    slots(
        "WHILE the lid is open THE pump SHALL NOT start",
        Pattern::State,
        &[
            (State, "WHILE the lid is open"),
            (System, "THE pump"),
            (Obligation, "SHALL"),
            (Response, "start"),
        ],
    );
    slots(
        "Where a heater is fitted, the pump shall wait for it.",
        Pattern::Optional,
        &[
            (Feature, "Where a heater is fitted"),
            (System, "the pump"),
            (Obligation, "shall"),
            (Response, "wait for it"),
        ],
    );
    slots(
        "If the level, as measured, is low, then the pump shall stop.",
        Pattern::Unwanted,
        &[
            (Unwanted, "If the level, as measured, is low"),
            (System, "the pump"),
            (Obligation, "shall"),
            (Response, "stop"),
        ],
    );
    slots(
        "While armed, when the door opens, the panel shall beep if a code is set.",
        Pattern::Complex,
        &[
            (State, "While armed"),
            (Event, "when the door opens"),
            (System, "the panel"),
            (Obligation, "shall"),
            (Response, "beep"),
            (Unwanted, "if a code is set"),
        ],
    );
    slots(
        "For each order, the shop must print a receipt.",
        Pattern::Ubiquitous,
        &[
            (Scope, "For each order"),
            (System, "the shop"),
            (Obligation, "must"),
            (Response, "print a receipt"),
        ],
    );
}

#[test]
fn russian_sentences_too() {
    slots(
        "Если датчик не отвечает, то контроллер должен остановить насос.",
        Pattern::Unwanted,
        &[
            (Unwanted, "Если датчик не отвечает"),
            (System, "контроллер"),
            (Obligation, "должен"),
            (Response, "остановить насос"),
        ],
    );
    slots(
        "Пока дверь открыта, панель не должна подавать сигнал.",
        Pattern::State,
        &[
            (State, "Пока дверь открыта"),
            (System, "панель"),
            (Obligation, "должна"),
            (Response, "подавать сигнал"),
        ],
    );
    slots(
        "При обрыве связи клиент должен сохранить черновик.",
        Pattern::Event,
        &[
            (Event, "При обрыве связи"),
            (System, "клиент"),
            (Obligation, "должен"),
            (Response, "сохранить черновик"),
        ],
    );
}

#[test]
fn places_are_characters_and_fixes_touch_nothing_else() {
    //= specs/spexus-lint.md#findings
    //= type=test
    //# A finding MUST name its rule, its place in characters, and either a change a program can make or a question.
    let text = "Ключ: **the the** system shall be able to export “drafts”.";
    let options = Options::default();
    let fixed = apply(text, &check(text, &options));
    assert_eq!(fixed, "Ключ: **the** system shall export “drafts”.");
    let mended = check(&fixed, &options);
    assert!(mended.iter().all(|finding| finding.fix().is_none()), "{mended:?}");
}

#[test]
fn and_in_a_condition_is_no_second_action() {
    //= specs/spexus-lint.md#findings
    //= type=test
    //# `and` MUST be judged in the response of a sentence only, not in its conditions.
    let options = Options::default();
    let found = names(
        "When the lid opens and notifies the pump, the pump shall stop.",
        &options,
    );
    assert!(!found.contains(&"joined-actions"), "{found:?}");
}

#[test]
fn a_term_of_the_glossary_is_not_vague_and_a_refused_word_has_a_fix() {
    //= specs/spexus-lint.md#findings
    //= type=test
    //# A word the glossary defines MUST NOT be called vague.
    let options = Options {
        glossary: Glossary::read(
            "- **high load**: more than 2,000 requests in a second (not: heavy traffic, rush)\n# Words: none",
        ),
        ..Options::default()
    };
    assert!(!names("Under high load the server shall refuse requests.", &options).contains(&"vague-term"));
    let text = "Under heavy traffic, the server shall refuse requests.";
    assert_eq!(
        apply(text, &check(text, &options)),
        "Under high load, the server shall refuse requests."
    );
}

#[test]
fn a_baseline_hides_what_was_there_and_shows_what_is_new() {
    //= specs/spexus-lint.md#findings
    //= type=test
    //# With a baseline only findings that are not in it MUST count, wherever the text around them has moved.
    let options = Options::default();
    let old = "The list shall load quickly.";
    let mut baseline = KnownFindings::default();
    baseline.add(old, &check(old, &options));
    let mut read = KnownFindings::read(&baseline.write());
    assert_eq!(read, baseline);

    let moved = format!("A line before it.\n\n{old} The list shall close quickly.");
    let left = read.subtract(&moved, check(&moved, &options));
    let left: Vec<_> = left
        .iter()
        .filter(|finding| finding.name == "vague-term")
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].span.start > moved.find("The list shall close").unwrap());
}

#[test]
fn a_silent_rule_says_nothing() {
    let options = Options {
        silent: vec!["L101".to_owned()],
        ..Options::default()
    };
    assert!(!names("The list shall load quickly.", &options).contains(&"vague-term"));
}

#[test]
fn only_what_demands_is_a_passage() {
    let text =
        "# Spec\n\nAn introduction.\n\n- The pump SHALL stop.\n  It then SHALL beep.\n- **WHEN** it rains\n";
    let found: Vec<&str> = passages(text).iter().map(|passage| passage.text).collect();
    assert_eq!(found, ["The pump SHALL stop.\n  It then SHALL beep."]);
    assert_eq!(passages("one line without it").len(), 1);
}
