//! What must be refused, with the line it stands in.

use crate::read;
use std::io::BufReader;
use test_reports::{ReportForm, ReportLimits, read_tests};

#[test]
fn reports_that_cannot_be_trusted_are_refused_with_their_line() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE lolz [\n<!ENTITY lol \"lol\">\n]>\n<testsuite/>";
    let cases = [
        (ReportForm::Junit, bomb, 2, "entities of its own"),
        (
            ReportForm::Junit,
            "<testsuite>\n<testcase name=\"&xxe;\"/></testsuite>",
            2,
            "&xxe;",
        ),
        (
            ReportForm::Junit,
            "<testsuite>\n<testcase name=a/></testsuite>",
            2,
            "in no quotes",
        ),
        (
            ReportForm::Junit,
            "<testsuite>\n<testcase name=\"a\">\n</testsuite>",
            3,
            "</testcase> is due",
        ),
        (
            ReportForm::Junit,
            "<testsuite/>\n<testsuite/>",
            2,
            "second report",
        ),
        (ReportForm::Junit, "<robot/>", 1, "begins with <robot>"),
        (ReportForm::Junit, "", 1, "no element"),
        (ReportForm::Junit, "ok 1", 1, "no XML"),
        (
            ReportForm::Junit,
            "\u{feff}<?xml version='1.0' encoding='ebcdic'?><testsuite/>",
            1,
            "ebcdic",
        ),
        (
            ReportForm::Junit,
            "<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>",
            1,
            "inside of another",
        ),
        (ReportForm::Robot, "<testsuite/>", 1, "no report of Robot"),
        (ReportForm::Ctrf, "{\"results\": {\n\"tests\": [}}", 2, "no CTRF"),
        (ReportForm::Ctrf, "{}", 1, "no results"),
        (
            ReportForm::Ctrf,
            "{\"results\": {\"tests\": [{\"name\": \"a\", \"status\": \"green\"}]}}",
            1,
            "green",
        ),
        (ReportForm::Tap, "1..x", 1, "no number"),
        (ReportForm::Tap, "1..2\nok 1\nBail out! no disk", 3, "no disk"),
        (ReportForm::Tap, "<testsuite/>", 1, "no TAP"),
    ];
    for (form, text, line, words) in cases {
        let fault = read(form, text).expect_err(text);
        assert_eq!(fault.line, line, "{text}: {fault}");
        assert!(fault.problem.contains(words), "{text}: {fault}");
    }
}

#[test]
fn utf_16_is_refused_and_latin_1_is_read() {
    let limits = ReportLimits::default();
    let wide: Vec<u8> = "<testsuite/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let fault = read_tests(ReportForm::Junit, wide.as_slice(), &limits, &mut |_| ()).unwrap_err();
    assert!(fault.problem.contains("UTF-16"), "{fault}");
    let latin =
        b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><testsuite><testcase name=\"gr\xfcn\"/></testsuite>";
    let mut names = Vec::new();
    read_tests(ReportForm::Junit, latin.as_slice(), &limits, &mut |test| {
        names.push(test.name)
    })
    .unwrap();
    assert_eq!(names, ["grün"]);
}

#[test]
fn limits_hold_at_their_edge() {
    let limits = ReportLimits {
        max_depth: 5,
        max_tests: 2,
        max_value_bytes: 4,
        max_report_bytes: 200,
        ..ReportLimits::default()
    };
    let read = |text: &str| {
        let mut names = Vec::new();
        let input = BufReader::with_capacity(16, text.as_bytes());
        read_tests(ReportForm::Junit, input, &limits, &mut |test| {
            names.push(test.name)
        })
        .map(|_| names)
    };
    assert_eq!(
        read("<testsuite><testcase name='abcdefgh'/></testsuite>").unwrap(),
        ["abcd"]
    );
    let three = "<testsuite><testcase name='a'/><testcase name='b'/><testcase name='c'/></testsuite>";
    assert!(read(three).unwrap_err().problem.contains("more than 2 tests"));
    assert!(read("<testsuite><a><a><a><a/></a></a></a></testsuite>").is_ok());
    assert!(
        read("<testsuite><a><a><a><a><a></a></a></a></a></a></testsuite>")
            .unwrap_err()
            .problem
            .contains("inside each other")
    );
    let long = format!("<testsuite>{}</testsuite>", " ".repeat(200));
    assert!(read(&long).unwrap_err().problem.contains("larger than 200 bytes"));
}
