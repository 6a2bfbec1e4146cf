use super::*;

fn check(text: &str, expected: &[(&str, &str, &[&str])]) {
    let specification = parse(text.into());
    let got: Vec<_> = specification
        .sections
        .iter()
        .map(|s| {
            (
                s.id.as_str(),
                s.title.as_str(),
                s.lines.iter().map(|l| specification.line(l)).collect::<Vec<_>>(),
            )
        })
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(id, title, lines)| (*id, *title, lines.to_vec()))
        .collect();
    assert_eq!(got, expected, "{text}");
}

//= specs/duvet.md#section-ids
//= type=test
//# A numbered heading of an IETF text MUST be named `section-` and its number, an appendix `appendix-` and its letter.
#[test]
fn headings_are_numbers_at_the_margin() {
    check(
        "1.  One\n\n   Text.\n\n1.1.  Sub\n\n   More.\n",
        &[
            ("section-1", "One", &["   Text."]),
            ("section-1.1", "Sub", &["   More."]),
        ],
    );
    check(
        "Appendix A.  First\n\n   a\n\nA.1.  Part\n\n   b\n",
        &[
            ("appendix-A", "First", &["   a"]),
            ("appendix-A.1", "Part", &["   b"]),
        ],
    );
    check(
        "Appendix A - Dashed\n\nAPPENDIX B:  Upper\n",
        &[("appendix-A", "Dashed", &[]), ("appendix-B", "Upper", &[])],
    );
    check("Abstract\n\n   Words.\n", &[]);
    check("\nA Title\n\n   Words.\n", &[]);
    check(
        "1 - One\n\n9 - Nine\n\n3 | a | b\n\n4. x;\n",
        &[
            ("section-1", "- One", &[]),
            ("section-9", "- Nine", &["3 | a | b", "", "4. x;"]),
        ],
    );
    check(
        "\nAbstract\n\n   Words.\n",
        &[("name-abstract", "Abstract", &["   Words."])],
    );
}

#[test]
fn tables_of_contents_and_lists_are_text() {
    check(
        "1.  One\n\n2.  Two ............... 7\n3. Three . . . . 9\n",
        &[(
            "section-1",
            "One",
            &["2.  Two ............... 7", "3. Three . . . . 9"],
        )],
    );
    check(
        "1.  One\n\n   text\n7. not a heading\n\n2.  Two\n",
        &[
            ("section-1", "One", &["   text", "7. not a heading"]),
            ("section-2", "Two", &[]),
        ],
    );
    check(
        "1.  One\n\n300.  Too high\n",
        &[("section-1", "One", &["300.  Too high"])],
    );
}

#[test]
fn pages_leave_no_trace() {
    let text = "1.  One\n\n   before\n\n\nAuthor          Informational          [Page 7]\n\u{c}\nRFC 1         Title          May 2020\n\n   after\n";
    check(text, &[("section-1", "One", &["   before", "", "   after"])]);
    check(
        "\u{feff}1.  One\r\n\r\n   text\r\n",
        &[("section-1", "One", &["   text"])],
    );
}

//= specs/duvet.md#section-ids
//= type=test
//# A reader MUST find the section of an IETF text with a missing or wrong `section-` or `appendix-` prefix.
#[test]
fn prefixes_may_be_missing_or_wrong() {
    let specification = parse("1.  One\n\nAppendix A.  Two\n".into());
    for id in ["section-1", "1", "appendix-1"] {
        assert_eq!(specification.find(id), Some(0), "{id}");
    }
    for id in ["appendix-A", "A", "section-A"] {
        assert_eq!(specification.find(id), Some(1), "{id}");
    }
    assert_eq!(specification.find("section-9"), None);
}

#[test]
fn front_matter_has_title_and_summary() {
    let text = "Group                         J. Doe\nRequest for Comments: 1\n\n\n            A Title Over\n             Two Lines\n\nAbstract\n\n   What it\n   is about.\n\n   More.\n";
    let specification = parse(text.into());
    assert_eq!(
        front_matter::title(&specification).as_deref(),
        Some("A Title Over Two Lines")
    );
    assert_eq!(
        front_matter::summary(&specification).as_deref(),
        Some("What it is about.")
    );
}
