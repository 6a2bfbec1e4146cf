//! What makes a run fail.

use crate::analysis::{Analysis, Requirement};
use crate::citation::Kind;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::interval::IntervalSet;
use crate::matching::Grade;
use crate::report::segment;
use crate::text::Position;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which findings fail a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Warnings fail too, and quotes that differ from the specification do not count.
    pub strict: bool,
    /// Every requirement needs a citation.
    pub require_citations: bool,
    /// Every requirement needs a test.
    pub require_tests: bool,
}

impl Policy {
    //= specs/duvet.md#exit-codes
    //# A run MUST fail when a finding is an error, and in strict mode when it is a warning.
    /// Whether the findings fail the run.
    pub fn fails<'a>(&self, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> bool {
        let limit = if self.strict {
            Severity::Warning
        } else {
            Severity::Error
        };
        diagnostics
            .into_iter()
            .any(|diagnostic| diagnostic.severity >= limit)
    }

    /// One finding for each requirement that lacks what is required of it.
    //= specs/duvet.md#exit-codes
    //# A gate MUST name every requirement that fails it.
    pub fn check(&self, analysis: &Analysis) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for requirement in &analysis.requirements {
            let lacks = |kinds: &[Kind]| covered(analysis, requirement, kinds) < requirement.coverage.spec;
            let settled = [Kind::Implication, Kind::Exception];
            if self.require_citations && lacks(&[Kind::Implementation, settled[0], settled[1]]) {
                found.push(finding(
                    analysis,
                    requirement,
                    Code::CitationRequired,
                    "is not cited as a whole",
                ));
            }
            if self.require_tests && lacks(&[Kind::Test, settled[0], settled[1]]) {
                found.push(finding(
                    analysis,
                    requirement,
                    Code::TestRequired,
                    "is not tested as a whole",
                ));
            }
        }
        found
    }
}

impl Policy {
    /// The gate of the public tool: a line of a specification that anything points at needs a citation, and one with a
    /// citation needs a test; what an exception or an implication points at needs neither.
    pub fn check_lines(&self, analysis: &Analysis) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for cited in &analysis.specifications {
            let Some(specification) = cited.specification() else {
                continue;
            };
            for section in 0..specification.sections.len() {
                for line in segment::lines(analysis, cited, specification, section) {
                    let ids: Vec<u32> = line.into_iter().flat_map(|segment| segment.annotations).collect();
                    found.extend(self.check_line(analysis, &ids));
                }
            }
        }
        for ids in titles(analysis).values() {
            found.extend(self.check_line(analysis, ids));
        }
        found
    }

    fn check_line(&self, analysis: &Analysis, ids: &[u32]) -> Option<Diagnostic> {
        let has = |kind: Kind| ids.iter().any(|id| analysis.annotation(*id).kind == kind);
        let first = *ids.first()?;
        if has(Kind::Exception) || has(Kind::Implication) {
            return None;
        }
        let is_cited = has(Kind::Implementation);
        let (code, problem) = if self.require_citations && !is_cited {
            (Code::CitationRequired, "a line it points at is not cited")
        } else if self.require_tests && is_cited && !has(Kind::Test) {
            (Code::TestRequired, "a line it points at is cited and not tested")
        } else {
            return None;
        };
        Some(of_annotation(analysis, first, code, problem))
    }
}

/// What points at sections without a quote: the public tool takes that for the line of the title.
fn titles(analysis: &Analysis) -> BTreeMap<(&str, usize), Vec<u32>> {
    let mut titles: BTreeMap<(&str, usize), Vec<u32>> = BTreeMap::new();
    for (id, entry) in (0..).zip(&analysis.entries) {
        if let (Grade::Reference, Some(section)) = (&entry.matched().grade, entry.matched().section) {
            let title = (entry.annotation().target.key(), section);
            titles.entry(title).or_default().push(id);
        }
    }
    titles
}

fn covered(analysis: &Analysis, requirement: &Requirement, kinds: &[Kind]) -> usize {
    let pieces = |id: u32| {
        analysis
            .matched(id)
            .pieces
            .iter()
            .copied()
            .filter(|piece| piece.len() > 1)
    };
    let related = requirement
        .coverage
        .related
        .iter()
        .filter(|id| kinds.contains(&analysis.annotation(**id).kind));
    IntervalSet::of(pieces(requirement.annotation))
        .overlap(&IntervalSet::of(related.flat_map(|id| pieces(*id))))
}

fn finding(analysis: &Analysis, requirement: &Requirement, code: Code, problem: &str) -> Diagnostic {
    of_annotation(analysis, requirement.annotation, code, problem)
}

fn of_annotation(analysis: &Analysis, id: u32, code: Code, problem: &str) -> Diagnostic {
    let entry = &analysis.entries[id as usize];
    let annotation = entry.annotation();
    let section = annotation.target.section.as_deref().unwrap_or_default();
    let target = &annotation.target.specification;
    let message = format!("{target}#{section}: \"{}\" {problem}", annotation.quote);
    Diagnostic::new(
        code,
        message,
        &*annotation.source,
        Position {
            line: annotation.line,
            column: 1,
        },
    )
    .showing(entry.file.facts.cited_lines.excerpt(entry.index as usize))
}
