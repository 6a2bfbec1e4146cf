use super::*;
use crate::specification::{Format, Specification};

fn grade(section: &str, quote: &str) -> Option<(String, Vec<String>)> {
    let text = format!("# A\n\n{section}\n");
    let specification = Specification::parse("s.md", text, Some(Format::Markdown));
    let found = find(&Haystack::new(&specification, &specification.sections[0]), quote)?;
    let pieces = found
        .pieces
        .iter()
        .map(|piece| specification.text[piece.range()].to_owned())
        .collect();
    Some((found.grade.name().to_owned(), pieces))
}

fn check(section: &str, quote: &str, expected: Option<(&str, &[&str])>) {
    let expected = expected.map(|(g, p)| {
        (
            g.to_owned(),
            p.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>(),
        )
    });
    assert_eq!(grade(section, quote), expected, "{quote} in {section}");
}

/// Found by the fuzz target `project` against the public tool.
#[test]
fn a_letter_in_place_of_the_blanks_before_a_quote_counts_them() {
    let drifted = |pieces: &'static [&'static str]| Some(("drifted", pieces));
    check("The  cup is full", "xcup is full", drifted(&["  cup is full"]));
    check("The\n   cup is full", "xcup is full", drifted(&["cup is full"]));
    check("The cup is full now", "cup is fullx", drifted(&["cup is full"]));
}

//= specs/duvet.md#matching
//= type=test
//# Each citation MUST be graded exact, normalised, ambiguous, drifted, moved or missing.
#[test]
fn quotes_are_graded() {
    let section = "   The client MUST send data, but\n   not before 10 seconds.  It MAY wait.";
    check(
        section,
        "The client MUST send data, but not",
        Some(("exact", &["The client MUST send data, but", "not"])),
    );
    check(
        section,
        "10 seconds. It MAY wait.",
        Some(("normalised", &["10 seconds.  It MAY wait."])),
    );
    check(
        section,
        "send data but not before",
        Some(("drifted", &["send data, but", "not before"])),
    );
    check(section, "the client must send", None);
    check("a b. a b.", "a b.", Some(("ambiguous", &["a b."])));
    check(
        "lower-\nnumbered IDs",
        "lower-numbered IDs",
        Some(("normalised", &["lower-", "numbered IDs"])),
    );
}

//= specs/duvet.md#matching
//= type=test
//# In strict mode a quote that differs from the specification by more than blanks MUST NOT match.
//= specs/duvet.md#matching
//= type=test
//# A changed number, negation or keyword MUST be named as a change of meaning.
#[test]
fn a_changed_number_is_a_changed_meaning() {
    let text = "# A\n\nIt MUST wait 10 seconds.\n";
    let specification = Specification::parse("s.md", text.into(), Some(Format::Markdown));
    let found = find(
        &Haystack::new(&specification, &specification.sections[0]),
        "It MUST wait 16 seconds.",
    )
    .unwrap();
    assert!(!found.grade.is_faithful() && found.grade.is_counted());
    let Grade::Drifted(drift) = found.grade else {
        panic!("{:?}", found.grade)
    };
    assert!(drift.changes_meaning);
    assert_eq!(
        (drift.diff.as_str(), drift.distance),
        ("It MUST wait [-16-]{+10+} seconds.", 1)
    );
    assert!(super::changes_meaning("It MUST a", "It MUST NOT a"));
    assert!(super::changes_meaning("It MUST a", "It SHOULD a"));
    assert!(super::changes_meaning("It can't a", "It can a"));
    assert!(!super::changes_meaning("towards it", "toward it"));
}

#[test]
fn letters_of_several_bytes_are_never_split() {
    check("Es muß größer sein.", "Es muss größer sein.", None);
    check(
        "Es muß größer sein.",
        "Es muß größer sein",
        Some(("exact", &["Es muß größer sein"])),
    );
    // One byte, as the public tool counts: a letter that is split at the front belongs to the quote.
    check("é é é", "e é é", Some(("drifted", &["é é é"])));
    // One at the end does not. Found by the fuzz target `project` against the public tool.
    check(
        "a cup of café",
        "a cup of caf.",
        Some(("drifted", &["a cup of caf"])),
    );
    let _ = grade("naïve – “quoted” text…", "naive – “quoted” text…");
}
