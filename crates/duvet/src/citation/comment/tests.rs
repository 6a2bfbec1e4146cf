use super::*;
use crate::diagnostic::Code;

fn read(text: &str, style: (&str, &str)) -> (Vec<Annotation>, Vec<Diagnostic>) {
    let name: Arc<str> = "a.rs".into();
    let style = CommentStyle {
        meta: style.0.to_owned(),
        content: style.1.to_owned(),
    };
    extract(Source {
        name: &name,
        text,
        style: &style,
        default_kind: Kind::Implementation,
    })
}

fn check(style: (&str, &str), text: &str, expected: &[(u32, Kind, &str, &str)]) {
    let (annotations, diagnostics) = read(text, style);
    let target = |a: &Annotation| {
        format!(
            "{}#{}",
            a.target.specification,
            a.target.section.as_deref().unwrap_or("")
        )
    };
    let got: Vec<_> = annotations
        .iter()
        .map(|a| (a.line, a.kind, target(a), a.quote.to_string()))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(l, k, t, q)| (*l, *k, (*t).to_owned(), (*q).to_owned()))
        .collect();
    assert_eq!(got, expected, "{text}");
    assert_eq!(diagnostics, [], "{text}");
}

fn fault(text: &str, expected: &[(Code, u32, u32)]) {
    let (annotations, diagnostics) = read(text, ("//=", "//#"));
    let got: Vec<_> = diagnostics
        .iter()
        .map(|d| (d.code, d.start.line, d.start.column))
        .collect();
    assert_eq!(got, expected, "{text}");
    assert_eq!(annotations.len(), 0, "{text}");
}

//= specs/duvet.md#citations
//= type=test
//# A citation MUST be read in any language whose comment prefixes are configured.
#[test]
fn citations_are_read_in_every_comment_style() {
    use Kind::*;
    check(
        ("//=", "//#"),
        "x\n  //= s.md#a\n  //# one\n  //#   two\n\n",
        &[(2, Implementation, "s.md#a", "one two")],
    );
    check(
        ("*=", "*#"),
        "/*\n *= s.md#a\n *= type=test\n *# one\n */",
        &[(2, Test, "s.md#a", "one")],
    );
    check(
        ("##=", "##%"),
        "##= s.md#a\n##= type=TODO\n##% one\n",
        &[(1, Todo, "s.md#a", "one")],
    );
    check(
        ("# //=", "# //#"),
        "# //= s.md#a\n# //# one",
        &[(1, Implementation, "s.md#a", "one")],
    );
    check(
        ("--=", "--#"),
        "--= s.md#a\r\n--# one\r\n",
        &[(1, Implementation, "s.md#a", "one")],
    );
}

#[test]
fn blocks_end_at_other_lines_and_may_be_stacked() {
    use Kind::*;
    check(
        ("//=", "//#"),
        "//= s.md#a\n//# one\n//= s.md#b\n//= type=citation\n//# two\ncode\n//= s.md#c\n",
        &[
            (1, Implementation, "s.md#a", "one"),
            (3, Implementation, "s.md#b", "two"),
            (7, Implementation, "s.md#c", ""),
        ],
    );
    check(
        ("//=", "//#"),
        "//= source=https://h/?a=b#c\n//# one\n//#\n//# two",
        &[(1, Implementation, "https://h/?a=b#c", "one two")],
    );
}

#[test]
fn reasons_issues_and_levels_are_kept() {
    let text = "//= s.md#a\n//= type=exception\n//= reason=one\n//= reason=two\n//= level=SHOULD\n//# q";
    let (annotations, _) = read(text, ("//=", "//#"));
    assert_eq!(
        (
            annotations[0].details().comment.as_str(),
            annotations[0].level.name()
        ),
        ("one two", "SHOULD")
    );
    let (annotations, _) = read(
        "//= s.md#a\n//= type=todo\n//= tracking-issue=7\n//= feature=f\n",
        ("//=", "//#"),
    );
    assert_eq!(
        (
            annotations[0].details().tracking_issue.as_str(),
            annotations[0].details().feature.as_str()
        ),
        ("7", "f")
    );
}

//= specs/duvet.md#citations
//= type=test
//# An unknown key MUST be reported with the nearest known one.
#[test]
fn faults_are_named_with_their_place() {
    fault(
        "x\n  //= s.md#a\n  //= tpye=test\n  //# q",
        &[(Code::MetaUnknownKey, 3, 7)],
    );
    fault(
        "//= s.md#a\n//= type=test\n//= type=test",
        &[(Code::MetaDuplicateKey, 3, 5)],
    );
    fault("//= s.md#a\n//= type=tests", &[(Code::MetaInvalidValue, 2, 5)]);
    fault("//= s.md#a\n//= level=must", &[(Code::MetaInvalidValue, 2, 5)]);
    fault(
        "//= s.md#a\n//= tracking-issue=1",
        &[(Code::MetaNotAllowed, 2, 5)],
    );
    fault(
        "//= s.md#a\n//= type=todo\n//= reason=x",
        &[(Code::MetaNotAllowed, 3, 5)],
    );
    fault("//= type=test\n//# q", &[(Code::TargetMissing, 1, 1)]);
    fault("//= s.md\n//# q", &[(Code::TargetWithoutSection, 1, 5)]);
    let (_, diagnostics) = read("//= s.md#a\n//= reson=x", ("//=", "//#"));
    assert_eq!(diagnostics[0].suggestion.as_deref(), Some("reason=x"));
    let (_, diagnostics) = read("//= https://h/?a=b#c", ("//=", "//#"));
    assert_eq!(
        diagnostics[0].suggestion.as_deref(),
        Some("source=https://h/?a=b#c")
    );
}

#[test]
fn lines_that_only_look_like_citations_are_noted() {
    fault("let x = 1; //= s.md#a", &[(Code::CitationAfterCode, 1, 12)]);
    let (annotations, diagnostics) = read("//= s.md#a\n//# q\n\n//# lonely\n", ("//=", "//#"));
    assert_eq!(
        (annotations.len(), diagnostics[0].code, diagnostics[0].start.line),
        (1, Code::QuoteWithoutTarget, 4)
    );
    let (_, diagnostics) = read("//# region\ncode", ("//=", "//#"));
    assert_eq!(diagnostics, []);
}
