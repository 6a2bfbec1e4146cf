use super::*;

fn check(text: &str, title: Option<&str>, expected: &[(&str, &str, &[&str])]) {
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
    assert_eq!(specification.title.as_deref(), title, "{text}");
}

//= specs/duvet.md#section-ids
//= type=test
//# Every heading of a Markdown text MUST open a section named by its explicit id or else by its slug, equal names
//# told apart by a counter.
#[test]
fn headings_open_sections() {
    check(
        "lost\n\n# A b\n\ntext\n\n## C {#see}\n\nmore\n",
        Some("A b"),
        &[("a-b", "A b", &["text"]), ("see", "C", &["more"])],
    );
    // Found by the fuzz target against the public tool.
    check(
        "# Two\n\n- words in\n  lines\n  -\n",
        Some("Two"),
        &[("two", "Two", &[]), ("words-in-lines", "words in   lines", &[])],
    );
    check(
        "# X\n## X\n## X\n",
        Some("X"),
        &[("x", "X", &[]), ("x-1", "X", &[]), ("x-2", "X", &[])],
    );
    check(
        "Two\n===\n\ny\n\n3.1 Prötocol & *Stuff*\n---\n",
        Some("Two"),
        &[
            ("two", "Two", &["y"]),
            ("3-1-protocol-stuff", "3.1 Prötocol & *Stuff*", &[]),
        ],
    );
    check(
        "## The `X` [spec](http://a.b)\n",
        None,
        &[("the-x-spec-http-a-b", "The `X` [spec](http://a.b)", &[])],
    );
}

#[test]
fn blank_lines_are_kept_but_for_those_at_the_ends() {
    check(
        "# A\n\n\none\n\n  \n\ntwo\n\n  \n# B\n",
        Some("A"),
        &[("a", "A", &["one", "", "  ", "", "two"]), ("b", "B", &[])],
    );
    check("# A\r\n\r\none\r\n", Some("A"), &[("a", "A", &["one"])]);
}

#[test]
fn a_title_begins_with_its_first_plain_words() {
    check(
        "# `$ref` Deref\n## `only`\n## &amp; x\n## <b>x</b> y\n## mid `code` dle\n",
        Some(" Deref"),
        &[
            ("deref", " Deref", &[]),
            ("only", "## `only`", &[]),
            ("amp-x", "&amp; x", &[]),
            ("x-b-y", "x</b> y", &[]),
            ("mid-code-dle", "mid `code` dle", &[]),
        ],
    );
}

#[test]
fn headings_without_text_and_headings_in_fences_are_no_trouble() {
    check("#\n\ntext\n", Some(""), &[("", "", &["text"])]);
    check(
        "# A\n\n```\n# not a heading\n```\n",
        Some("A"),
        &[("a", "A", &["```", "# not a heading", "```"])],
    );
    check("", None, &[]);
}
