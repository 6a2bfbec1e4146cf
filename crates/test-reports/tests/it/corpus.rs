//! The reports of real tools, each with the numbers a person counted.

use crate::{counts, read};
use test_reports::{OutcomeCounts, ReportForm};
use test_support::corpora;

fn expected() -> Vec<(&'static str, OutcomeCounts)> {
    vec![
        (
            "junit_xml__common_01_autogen_docs_are_not_written_to_disk-tests_unit.ctest.junit.xml",
            counts(1, 0, 0, 0),
        ),
        (
            "junit_xml_ctest_01_passed_test-tests_unit.ctest.junit.xml",
            counts(1, 0, 0, 0),
        ),
        (
            "junit_xml_ctest_02_failed_test-tests_unit.ctest.junit.xml",
            counts(0, 1, 0, 0),
        ),
        (
            "junit_xml_ctest_03_skipped_test-tests_unit.ctest.junit.xml",
            counts(0, 0, 0, 1),
        ),
        (
            "junit_xml_ctest_04_multiple_tests-tests_unit.ctest.junit.xml",
            counts(4, 0, 0, 0),
        ),
        (
            "junit_xml_ctest_05_user_example-tests_unit.ctest.junit.xml",
            counts(5, 0, 0, 0),
        ),
        (
            "junit_xml_ctest_06_testcase_properties-tests_unit.ctest.junit.xml",
            counts(1, 0, 0, 0),
        ),
        (
            "junit_xml_gtest_05_user_example-tests_unit.gtest.junit.xml",
            counts(5, 0, 0, 0),
        ),
        (
            "junit_xml_gtest_06_user_example_still_does_not_work-tests_unit.gtest.junit.xml",
            counts(2, 0, 0, 0),
        ),
        (
            "junit_xml_lit_01_minimal_document-tests_integration.lit.junit.xml",
            counts(1, 0, 0, 0),
        ),
        (
            "junit_xml_lit_02_failed_test-tests_integration.lit.junit.xml",
            counts(0, 1, 0, 0),
        ),
        (
            "junit_xml_lit_03_skipped_test-tests_integration.lit.junit.xml",
            counts(0, 0, 0, 1),
        ),
        (
            "junit_xml_nextest_01_minimal_document-tests_unit.nextest.junit.xml",
            counts(1, 0, 0, 0),
        ),
        (
            "junit_xml_nextest_02_failed_test-tests_unit.nextest.junit.xml",
            counts(0, 1, 0, 0),
        ),
        (
            "junit_xml_nextest_03_ignored_test-tests_unit.nextest.junit.xml",
            counts(1, 0, 0, 0),
        ),
        (
            "junit_xml_nextest_04_module_layouts-tests_unit.nextest.junit.xml",
            counts(6, 0, 0, 0),
        ),
        (
            "junit_xml_nextest_05_workspace-tests_unit.nextest.junit.xml",
            counts(3, 0, 0, 0),
        ),
        ("junit_xml_nextest__generator-junit.xml", counts(3, 1, 0, 0)),
        ("robot_xml_01_basic-output.robot.xml", counts(3, 3, 0, 0)),
        (
            "robot_xml_02_source_node_link_without_relation_marker-output.robot.xml",
            counts(1, 0, 0, 0),
        ),
        (
            "robot_xml_03_source_node_and_relation_marker_combined-output.robot.xml",
            counts(1, 0, 0, 0),
        ),
    ]
}

#[test]
fn every_report_of_the_corpus_is_read_with_exact_counts() {
    let Some(root) = corpora() else { return };
    let folder = root.join("test-reports");
    let expected = expected();
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".xml"))
        .collect();
    files.sort();
    let mut known: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(files, known, "every file has its counts");
    for (name, counts) in expected {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let form = match name.starts_with("robot") {
            true => ReportForm::Robot,
            false => ReportForm::Junit,
        };
        let (tests, summary) = read(form, &text).unwrap();
        assert_eq!(summary.counts, counts, "{name}");
        assert_eq!(tests.len() as u64, counts.total(), "{name}");
        assert!(tests.iter().all(|test| !test.name.is_empty()), "{name}");
    }
}

/// Each of them cut at every byte is a fault with a line, or the whole report: never one that is shorter without a word.
#[test]
fn a_report_that_was_cut_anywhere_is_refused_with_a_line() {
    let Some(root) = corpora() else { return };
    let folder = root.join("test-reports");
    for (name, _) in expected() {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let form = match name.starts_with("robot") {
            true => ReportForm::Robot,
            false => ReportForm::Junit,
        };
        let whole = text.trim_end().len();
        let lines = u32::try_from(text.lines().count()).unwrap();
        for end in (0..whole).filter(|end| text.is_char_boundary(*end)).step_by(13) {
            let fault = read(form, &text[..end]).expect_err(name);
            assert!((1..=lines).contains(&fault.line), "{name} cut at {end}: {fault}");
        }
    }
}
