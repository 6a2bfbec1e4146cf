//! What each form says, by example.

use crate::{counts, ids, read};
use test_reports::{ReportForm, TestOutcome};

#[test]
fn properties_of_every_dialect_name_requirements() {
    let text = r#"<testsuite name="s" tests="1"><testcase name="t" classname="c"><properties>
        <property name="requirement" value="REQ-1"/>
        <property name="requirements" value="REQ-2, REQ-3;REQ-4"/>
        <property name="PartiallyVerifies" value="tool_req__a, tool_req__b"/>
        <property name="FullyVerifies" value="REQ-5"/>
        <property name="test_key" value="CALC-7"/>
        <property name="polarion-testcase-id" value="WI-9"/>
        <property name="requirement"><![CDATA[REQ-6]]></property>
        <property name="strictdoc:image" value="REQ-99"/>
        </properties></testcase></testsuite>"#;
    let (tests, _) = read(ReportForm::Junit, text).unwrap();
    let expected = [
        "REQ-1",
        "REQ-2",
        "REQ-3",
        "REQ-4",
        "tool_req__a",
        "tool_req__b",
        "REQ-5",
        "CALC-7",
        "WI-9",
        "REQ-6",
    ];
    assert_eq!(ids(&tests[0]), expected);
}

#[test]
fn a_test_that_passed_when_tried_again_is_flaky_and_one_that_did_not_has_failed() {
    let text = r#"<testsuites><testsuite name="s">
        <testcase name="a"><flakyFailure message="once">no</flakyFailure></testcase>
        <testcase name="b"><failure message="twice"/><rerunFailure message="once"/></testcase>
        <testcase name="c"><error message="it died">trace</error></testcase>
        <testcase name="d" status="notrun" result="suppressed"/>
        <testcase name="e"><system-out>failure</system-out></testcase>
        </testsuite></testsuites>"#;
    let (tests, summary) = read(ReportForm::Junit, text).unwrap();
    assert_eq!(summary.counts, counts(2, 1, 1, 1));
    let flaky: Vec<&str> = tests
        .iter()
        .filter(|test| test.is_flaky)
        .map(|test| test.name.as_str())
        .collect();
    assert_eq!(flaky, ["a"]);
    assert_eq!(tests[2].message, "it died");
}

#[test]
fn a_suite_that_announces_more_than_it_lists_is_noted_with_its_line() {
    let text =
        "<testsuites>\n<testsuite name=\"s\" tests=\"8\">\n<testcase name=\"a\"/></testsuite></testsuites>";
    let (_, summary) = read(ReportForm::Junit, text).unwrap();
    assert_eq!(summary.notes.len(), 1);
    assert_eq!(
        summary.notes[0].to_string(),
        "line 2: the suite \"s\" announces 8 tests and lists 1"
    );
}

#[test]
fn robot_tests_have_their_suites_their_relations_and_their_own_status() {
    let text = r#"<robot generator="Robot 7"><suite name="Top"><suite name="Inner" source="/a/b.robot">
        <test name="t"><kw name="k"><status status="FAIL"/></kw><tag>requirement:REQ-2</tag>
        <doc>About @relation(REQ-1, scope=function)</doc><status status="PASS" elapsed="0.25"/></test>
        <test name="u"><status status="SKIP">later</status></test></suite></suite></robot>"#;
    let (tests, summary) = read(ReportForm::Robot, text).unwrap();
    assert_eq!(summary.counts, counts(1, 0, 0, 1));
    assert_eq!(
        (tests[0].suite.as_str(), tests[0].duration_ms),
        ("Top.Inner", 250)
    );
    assert_eq!(ids(&tests[0]), ["REQ-2", "REQ-1"]);
    assert_eq!(tests[1].message, "later");
}

#[test]
fn ctrf_tests_carry_labels_tags_retries_and_statuses() {
    let text = r#"{"results": {"tool": {"name": "x"}, "summary": {"tests": 5, "start": 1700000000000}, "tests": [
        {"name": "a", "status": "passed", "duration": 12, "suite": ["s", "t"], "labels": {"requirement": ["REQ-1", "REQ-2"]}},
        {"name": "b", "status": "failed", "duration": 1, "message": "no", "tags": ["requirement:REQ-3", "slow"]},
        {"name": "c", "status": "pending", "duration": 0},
        {"name": "d", "status": "other", "duration": 0},
        {"name": "e", "status": "passed", "duration": 0, "retries": 2, "flaky": true, "filePath": "e.ts"}]}}"#;
    let (tests, summary) = read(ReportForm::Ctrf, text).unwrap();
    assert_eq!(summary.counts, counts(2, 1, 1, 1));
    assert_eq!(
        (tests[0].suite.as_str(), ids(&tests[0])),
        ("s > t", vec!["REQ-1", "REQ-2"])
    );
    assert_eq!(ids(&tests[1]), ["REQ-3"]);
    assert!(tests[4].is_flaky && tests[4].file.as_deref() == Some("e.ts"));
}

#[test]
fn tap_knows_plans_directives_blocks_and_ids_in_brackets() {
    let text = "TAP version 14\n1..6\nok 1 - adds [REQ-1]\nnot ok 2 - divides\n  ---\n  message: ok 9\n  ...\n\
        ok 3 - later # SKIP no network\nnot ok 4 - soon # TODO\n    ok 1 - inner\nok 5 - number #1 [x, y]\nok\n";
    let (tests, summary) = read(ReportForm::Tap, text).unwrap();
    assert_eq!(summary.counts, counts(3, 1, 0, 2));
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
    assert_eq!(
        (tests[0].name.as_str(), ids(&tests[0])),
        ("adds [REQ-1]", vec!["REQ-1"])
    );
    assert_eq!(
        (tests[4].name.as_str(), ids(&tests[4]).len()),
        ("number #1 [x, y]", 0)
    );
    assert_eq!(tests[5].name, "test 6");
    assert_eq!(tests[1].outcome, TestOutcome::Failed);
}

#[test]
fn tests_that_a_plan_promises_and_that_are_missing_are_noted() {
    let (_, summary) = read(ReportForm::Tap, "1..3\nok 1\nok 2\n").unwrap();
    assert_eq!(
        summary.notes[0].to_string(),
        "line 1: the plan is 3 tests, and 2 are there"
    );
}
