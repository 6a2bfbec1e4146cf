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

#[test]
fn a_page_is_told_from_its_text() {
    let footer = "Author      Standards Track      [Page 7]";
    let within = |page: &str, expected: &[&str]| {
        let text = format!("1.  One\n\n   before\n{page}\n   after\n");
        let lines: Vec<&str> = ["   before"]
            .iter()
            .chain(expected)
            .chain(&["   after"])
            .copied()
            .collect();
        check(&text, &[("section-1", "One", &lines)]);
    };
    // Blank lines around furniture are the page's; one above it is the text's.
    within(footer, &[]);
    within(&format!("{footer}\n\n"), &[]);
    within(&format!("\n{footer}\n"), &[""]);
    within(
        &format!("{footer}\n\u{c}\nInternet-Draft    T    May 2021\n"),
        &[],
    );
    // The line below a form feed is a header, whatever it says; only that one.
    within("\u{c}\nAnything at all\n", &[""]);
    within("\u{c}\n   Anything at all\nText", &["", "Text"]);
    within("\u{c}\nAbstract\n", &[""]);
    within("\u{c}\n9.  a | b", &[""]);
    within("\u{c}\n\nText", &["", "Text"]);
    within(" \u{c}\nText", &["", "Text"]);
    // Elsewhere a header has a number and a wide gap, a footer a number in its brackets.
    for furniture in [
        "RFC 919  October",
        "RFC 919   ",
        "[Page 7]",
        "[Page 7]   ",
        "[Page 7] A",
    ] {
        within(furniture, &[]);
    }
    for text in [
        "RFC 919 is old",
        "RFC 919  ",
        "RFC x  y",
        "Internet-Draft    T    May 2021",
    ] {
        within(text, &[text]);
    }
    for text in [
        "A [Page iv]",
        "A [Page 7] ",
        " [Page 7] ",
        "A[Page 7]",
        "A\t[Page 7]",
        "[Page ]",
        "[Page iv]",
    ] {
        within(text, &[text]);
    }
}

#[test]
fn headings_need_blank_lines_of_their_own() {
    let footer = "Author      Standards Track      [Page 7]";
    check(
        &format!("1.  One\n\n{footer}\n\u{c}\n9.  Nine\n\n{footer}\n8.  Text\n"),
        &[("section-1", "One", &[]), ("section-9", "Nine", &["8.  Text"])],
    );
    check(
        "1.  One\n\nIndex\n   a\n\nAbstract\n\n   b\n\nReferences",
        &[
            ("section-1", "One", &["Index", "   a"]),
            ("name-abstract", "Abstract", &["   b", "", "References"]),
        ],
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
