use super::*;
use crate::specification::Format;

fn check(mode: Mode, format: Format, text: &str, expected: &[(&str, &str)]) {
    let specification = Specification::parse("s", text.into(), Some(format));
    let got: Vec<(String, String)> = extract(&specification, mode)
        .iter()
        .map(|requirement| {
            let context = requirement
                .context
                .iter()
                .map(|piece| &specification.text[piece.range()]);
            let words: Vec<_> = context.chain(requirement.lines(&specification)).collect();
            (requirement.level.name().to_owned(), words.join(" / "))
        })
        .collect();
    let got: Vec<_> = got
        .iter()
        .map(|(level, text)| (level.as_str(), text.as_str()))
        .collect();
    assert_eq!(got, expected, "{text}");
}

fn compat(text: &str, expected: &[(&str, &str)]) {
    check(
        Mode::Compat,
        Format::Markdown,
        &format!("# T\n\n{text}\n"),
        expected,
    );
}

fn v2(text: &str, expected: &[(&str, &str)]) {
    check(Mode::V2, Format::Markdown, &format!("# T\n\n{text}\n"), expected);
}

//= specs/duvet.md#extraction
//= type=test
//# In compatible mode, a sentence MUST end at a full stop before a blank or the end of its paragraph or list item.
#[test]
fn compatible_sentences_end_at_full_stops_and_breaks() {
    compat(
        "It MUST a. It MAY b.",
        &[("MUST", "It MUST a."), ("MAY", "It MAY b.")],
    );
    compat("It must a. Nothing.", &[]);
    compat(
        "It MUST\nNOT a\nat all.",
        &[("MUST", "It MUST / NOT a / at all.")],
    );
    compat(
        "It is NOT\nRECOMMENDED.",
        &[("SHOULD", "It is NOT / RECOMMENDED.")],
    );
    compat(
        "It SHOULD a, and MUST b.",
        &[("MUST", "It SHOULD a, and MUST b.")],
    );
    compat(
        "- it MUST a\n  and b. It MAY c\n- it MUST d",
        &[
            ("MUST", "- it MUST a / and b."),
            ("MAY", "It MAY c"),
            ("MUST", "- it MUST d"),
        ],
    );
    compat("It MAY y. It  MAY y.", &[("MAY", "It MAY y.")]);
    compat("The word \"MUST\" is defined.", &[]);
}

/// Probes of facts/duvet.md, section A17.
#[test]
fn compatible_faults_are_kept() {
    compat(
        "Use e.g. nginx, MUST reply, i.e. send 200.",
        &[("MUST", "nginx, MUST reply, i.e.")],
    );
    compat("```\nit MUST a\n```", &[("MUST", "``` / it MUST a / ```")]);
    compat(
        "| a | MUST b |\n|---|---|\n| c | MUST d |",
        &[("MUST", "| a | MUST b | / |---|---| / | c | MUST d |")],
    );
}

#[test]
fn a_letter_of_several_bytes_behind_a_full_stop_is_no_panic() {
    compat("It MUST be x.é foo.", &[("MUST", "It MUST be x.é foo.")]);
    v2("It MUST be x.é foo.", &[("MUST", "It MUST be x.é foo.")]);
}

//= specs/duvet.md#extraction
//= type=test
//# In mode `v2`, an abbreviation MUST NOT end a sentence.
#[test]
fn abbreviations_do_not_end_sentences() {
    v2(
        "Use e.g. nginx, MUST reply, i.e. send 200.",
        &[("MUST", "Use e.g. nginx, MUST reply, i.e. send 200.")],
    );
    v2(
        "It MUST use Eq. 1 here. It MAY stop!",
        &[("MUST", "It MUST use Eq. 1 here."), ("MAY", "It MAY stop!")],
    );
}

//= specs/duvet.md#extraction
//= type=test
//# In mode `v2`, fenced code MUST NOT state requirements.
#[test]
fn code_states_nothing() {
    v2(
        "It MUST a:\n\n```\nit MUST b\n\nit MUST c\n```\n\nIt MAY d.",
        &[("MUST", "It MUST a:"), ("MAY", "It MAY d.")],
    );
}

//= specs/duvet.md#extraction
//= type=test
//# In mode `v2`, an item of a list MUST keep the words that lead into the list.
#[test]
fn items_keep_their_lead() {
    v2(
        "The server:\n\n- MUST a\n- MUST NOT b",
        &[
            ("MUST", "The server: / - MUST a"),
            ("MUST", "The server: / - MUST NOT b"),
        ],
    );
    v2(
        "The server MUST:\n\n- do a\n- do b",
        &[
            ("MUST", "The server MUST:"),
            ("MUST", "The server MUST: / - do a"),
            ("MUST", "The server MUST: / - do b"),
        ],
    );
}

//= specs/duvet.md#extraction
//= type=test
//# In mode `v2`, every row of a table that holds a keyword MUST be a requirement of its own.
#[test]
fn rows_are_requirements() {
    v2(
        "| a | b |\n|---|---|\n| c | MUST d |\n| e | SHOULD f |",
        &[("MUST", "| c | MUST d |"), ("SHOULD", "| e | SHOULD f |")],
    );
}

//= specs/duvet.md#extraction
//= type=test
//# In mode `v2`, a compound sentence MUST be split by its keywords.
#[test]
fn compound_sentences_are_split() {
    v2(
        "It MUST a, and it SHOULD b.",
        &[("MUST", "It MUST a,"), ("SHOULD", "and it SHOULD b.")],
    );
    v2(
        "It MUST a; it MAY b.",
        &[("MUST", "It MUST a;"), ("MAY", "it MAY b.")],
    );
    v2("It MUST a or b.", &[("MUST", "It MUST a or b.")]);
}

#[test]
fn the_boilerplate_of_the_keywords_is_skipped() {
    v2(
        "The key words MUST and MAY are to be interpreted as described in RFC 2119.",
        &[],
    );
    compat(
        "The key words MUST and MAY are to be interpreted as described in RFC 2119.",
        &[(
            "MUST",
            "The key words MUST and MAY are to be interpreted as described in RFC 2119.",
        )],
    );
}
