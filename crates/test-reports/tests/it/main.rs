//! Real reports with exact counts, forms by example, and what must be refused.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod corpus;
mod coverage;
mod forms;
mod refused;

use std::io::BufReader;
use test_reports::{
    OutcomeCounts, ReportFault, ReportForm, ReportLimits, ReportSummary, TestResult, read_tests,
};

pub(crate) fn read(form: ReportForm, text: &str) -> Result<(Vec<TestResult>, ReportSummary), ReportFault> {
    let mut tests = Vec::new();
    // A small buffer, so that everything crosses its edge somewhere.
    let input = BufReader::with_capacity(7, text.as_bytes());
    let summary = read_tests(form, input, &ReportLimits::default(), &mut |test| {
        tests.push(test)
    })?;
    Ok((tests, summary))
}

pub(crate) fn counts(passed: u64, failed: u64, errors: u64, skipped: u64) -> OutcomeCounts {
    OutcomeCounts {
        passed,
        failed,
        errors,
        skipped,
    }
}

pub(crate) fn ids(test: &TestResult) -> Vec<&str> {
    test.mentions.iter().map(|mention| mention.id.as_str()).collect()
}
