//! Which lines ran: LCOV, Cobertura, JaCoCo and the JSON of llvm-cov, each read file by file.

mod cobertura;
mod jacoco;
mod lcov;
mod llvm_cov;

use crate::{ReportFault, ReportLimits};
use serde::{Deserialize, Serialize};
use std::io::BufRead;

/// The forms of coverage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoverageForm {
    /// What lcov, cargo-llvm-cov and coverage.py write.
    Lcov,
    /// What gcovr and coverage.py write.
    Cobertura,
    /// What JaCoCo writes.
    Jacoco,
    /// What llvm-cov exports.
    LlvmCov,
}

impl CoverageForm {
    /// All of them.
    pub const ALL: [CoverageForm; 4] = [
        CoverageForm::Lcov,
        CoverageForm::Cobertura,
        CoverageForm::Jacoco,
        CoverageForm::LlvmCov,
    ];

    /// The word for it in commands and answers.
    pub const fn name(self) -> &'static str {
        match self {
            CoverageForm::Lcov => "lcov",
            CoverageForm::Cobertura => "cobertura",
            CoverageForm::Jacoco => "jacoco",
            CoverageForm::LlvmCov => "llvm-cov",
        }
    }
}

/// The lines of a file that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCoverage {
    /// The file, as the report names it.
    pub file: String,
    /// Lines that ran, as ranges with both ends, in order and apart from each other.
    pub ran: Vec<(u32, u32)>,
    /// How many lines could have run.
    pub lines: u32,
}

/// What takes each file as it comes.
pub type CoverageSink<'a> = dyn FnMut(FileCoverage) + 'a;

/// Reads a report of coverage to its end and gives each file as it comes.
pub fn read_coverage(
    form: CoverageForm,
    input: impl BufRead,
    limits: &ReportLimits,
    sink: &mut CoverageSink<'_>,
) -> Result<(), ReportFault> {
    match form {
        CoverageForm::Lcov => lcov::read(input, limits, sink),
        CoverageForm::Cobertura => cobertura::read(input, limits, sink),
        CoverageForm::Jacoco => jacoco::read(input, limits, sink),
        CoverageForm::LlvmCov => llvm_cov::read(input, limits, sink),
    }
}

/// The lines of one file, gathered in any order.
#[derive(Debug, Default)]
struct Gathered {
    ran: Vec<u32>,
    missed: Vec<u32>,
}

/// Lines of one file at most.
const MAX_FILE_LINES: usize = 5_000_000;

impl Gathered {
    fn add(&mut self, line: u32, count: u64, at: u32) -> Result<(), ReportFault> {
        if self.ran.len() + self.missed.len() >= MAX_FILE_LINES {
            return Err(ReportFault::new(
                at,
                format!("a file of more than {MAX_FILE_LINES} lines"),
            ));
        }
        match count {
            0 => self.missed.push(line),
            _ => self.ran.push(line),
        }
        Ok(())
    }

    fn finish(mut self, file: String) -> FileCoverage {
        self.ran.sort_unstable();
        self.ran.dedup();
        self.missed.sort_unstable();
        self.missed.dedup();
        let is_missed = |line: &&u32| self.ran.binary_search(line).is_err();
        let missed = self.missed.iter().filter(is_missed).count();
        let lines = u32::try_from(self.ran.len() + missed).unwrap_or(u32::MAX);
        let mut ran: Vec<(u32, u32)> = Vec::new();
        for line in self.ran {
            match ran.last_mut() {
                Some((_, end)) if *end + 1 == line => *end = line,
                _ => ran.push((line, line)),
            }
        }
        FileCoverage { file, ran, lines }
    }
}
