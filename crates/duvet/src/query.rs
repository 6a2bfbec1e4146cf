//! Questions with a verdict: is everything implemented, is everything tested, is anything cited twice?
//!
//! Quotes are taken strictly here, as the public tool does in its queries; but a quote that drifted is a finding of its
//! own and does not take the verdict away.

mod coverage;

pub use coverage::{Coverage, CoverageFormat};

use crate::aggregate::Quotes;
use crate::analysis::{Analysis, Cited, Entry, Requirement};
use crate::citation::{CommentStyle, Kind};
use crate::interval::IntervalSet;
use crate::target::Target;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Every requirement is implemented, implied or excused.
    Implementation,
    /// Every implementation is tested.
    Test,
    /// Every test ran, and ran what it tests.
    Coverage,
    /// As coverage, for the tests that ran.
    ExecutedCoverage,
    /// No two citations of one kind quote the same text.
    Duplicates,
}

/// Which requirements are asked about.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Specifications or sections; none means all.
    pub sections: Vec<Target>,
    /// Parts of quoted texts, without regard to case; none means all.
    pub quotes: Vec<String>,
}

impl Check {
    /// Kinds of annotations that the public tool looks at first, and kinds that it looks at in the sections of those.
    fn subjects(self) -> (&'static [Kind], &'static [Kind]) {
        match self {
            Self::Implementation => (
                &[Kind::Spec],
                &[
                    Kind::Implementation,
                    Kind::Implication,
                    Kind::Exception,
                    Kind::Todo,
                ],
            ),
            Self::Test => (&[Kind::Implementation], &[Kind::Test]),
            Self::Coverage | Self::ExecutedCoverage | Self::Duplicates => (&Kind::ALL, &[]),
        }
    }
}

/// Whether the public tool gives no verdict: a quote that it looks at is not in the text word for word.
pub fn is_undecided(analysis: &Analysis, check: Check, filter: &Filter) -> bool {
    let (subjects, others) = check.subjects();
    let asked = (0..).zip(&analysis.entries);
    let asked: Vec<&Entry> = asked
        .filter(|(id, _)| filter.accepts(analysis, *id))
        .map(|(_, entry)| entry)
        .collect();
    let is_one_of = |entry: &Entry, kinds: &[Kind]| kinds.contains(&entry.annotation().kind);
    let place = |entry: &Entry| {
        let target = &entry.annotation().target;
        (target.key().to_owned(), target.section.clone())
    };
    let sections: HashSet<_> = asked
        .iter()
        .filter(|entry| is_one_of(entry, subjects))
        .map(|entry| place(entry))
        .collect();
    let is_looked_at = |entry: &Entry| {
        is_one_of(entry, subjects) || is_one_of(entry, others) && sections.contains(&place(entry))
    };
    let is_faithful = |entry: &Entry| entry.matched().grade.is_faithful();
    asked
        .into_iter()
        .any(|entry| !is_faithful(entry) && is_looked_at(entry))
}

/// The verdict on one check.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// What was asked.
    pub check: Check,
    /// Whether nothing failed.
    pub passed: bool,
    /// Counts by category, in the order they are shown.
    pub counts: Vec<(&'static str, usize)>,
    /// What failed, and in what way.
    pub findings: Vec<Finding>,
}

/// One failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub problem: &'static str,
    /// Section in question.
    pub target: String,
    /// The text in question.
    pub text: String,
    /// Citations in question, as `file:line`.
    pub citations: Vec<String>,
    /// The citation to be written, when one is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
}

/// Asks one check. `runs` is needed by the two checks of coverage, and citations to be written are in that style.
pub fn run(
    analysis: &Analysis,
    check: Check,
    filter: &Filter,
    runs: Option<&Coverage>,
    style: &CommentStyle,
) -> Verdict {
    match check {
        Check::Implementation => implementation(analysis, filter, style),
        Check::Test => test(analysis, filter, style),
        Check::Duplicates => duplicates(analysis, filter),
        Check::Coverage | Check::ExecutedCoverage => coverage::run(analysis, check, filter, runs),
    }
}

fn implementation(analysis: &Analysis, filter: &Filter, style: &CommentStyle) -> Verdict {
    let mut findings = Vec::new();
    let mut counts = [0_usize; 6];
    for requirement in analysis
        .requirements
        .iter()
        .filter(|r| filter.accepts(analysis, r.annotation))
    {
        let category = category(analysis, requirement);
        counts[0] += 1;
        counts[category] += 1;
        if category > 1 {
            let kind = (category == 5).then_some((Kind::Implementation, style));
            let related = &requirement.coverage.related;
            findings.push(finding(
                analysis,
                requirement.annotation,
                CATEGORIES[category].1,
                related,
                kind,
            ));
        }
    }
    let names = CATEGORIES.iter().map(|(name, _)| *name);
    verdict(Check::Implementation, names.zip(counts).collect(), findings)
}

/// What is counted, and what is said of a requirement of that category.
const CATEGORIES: [(&str, &str); 6] = [
    ("Total requirements", ""),
    ("Fully implemented", ""),
    ("Incomplete implementation", "incomplete implementation"),
    ("Mixed implementation", "implemented and still to do"),
    ("TODO", "to do"),
    ("Not implemented", "not implemented"),
];

fn category(analysis: &Analysis, requirement: &Requirement) -> usize {
    let kinds = [Kind::Implementation, Kind::Implication, Kind::Exception];
    let done = IntervalSet::of(pieces(analysis, requirement, &kinds));
    let own = IntervalSet::of(analysis.matched(requirement.annotation).pieces.iter().copied());
    let is_whole = !own.is_empty() && own.overlap(&done) == own.len();
    match (is_whole, own.touches(&done), requirement.coverage.todo > 0) {
        (true, _, false) => 1,
        (_, true, true) => 3,
        (true, false, true) | (false, true, false) => 2,
        (false, false, true) => 4,
        (false, false, false) => 5,
    }
}

fn test(analysis: &Analysis, filter: &Filter, style: &CommentStyle) -> Verdict {
    let mut findings = Vec::new();
    let mut counts = [0_usize; 4];
    let neighbours = Neighbours::new(analysis);
    for (id, _) in analysis
        .citations()
        .filter(|(_, entry)| entry.annotation().kind == Kind::Implementation)
    {
        if analysis.matched(id).pieces.is_empty() || !filter.accepts(analysis, id) {
            continue;
        }
        let own = IntervalSet::of(analysis.matched(id).pieces.iter().copied());
        let tests = neighbours.of(id, Kind::Test);
        let tested = IntervalSet::of(
            tests
                .iter()
                .flat_map(|id| analysis.matched(*id).pieces.iter().copied()),
        );
        let category = match own.overlap(&tested) {
            bytes if bytes == own.len() => 1,
            0 => 3,
            _ => 2,
        };
        counts[0] += 1;
        counts[category] += 1;
        let problem = ["", "", "incomplete tests", "not tested"];
        if category > 1 {
            let write = Some((Kind::Test, style));
            findings.push(finding(analysis, id, problem[category], &[id], write));
        }
    }
    let names = [
        "Total requirements",
        "Fully tested",
        "Incomplete tests",
        "Not tested",
    ];
    verdict(Check::Test, names.into_iter().zip(counts).collect(), findings)
}

fn duplicates(analysis: &Analysis, filter: &Filter) -> Verdict {
    let mut groups: std::collections::BTreeMap<(&str, &[crate::text::Span], Kind), Vec<u32>> =
        Default::default();
    for (id, entry) in analysis.citations() {
        let (annotation, matched) = (entry.annotation(), entry.matched());
        if !matched.pieces.is_empty() && filter.accepts(analysis, id) {
            let key = (annotation.target.key(), &*matched.pieces, annotation.kind);
            groups.entry(key).or_default().push(id);
        }
    }
    let duplicated: Vec<_> = groups.into_values().filter(|ids| ids.len() > 1).collect();
    let count = duplicated.len();
    let findings = duplicated
        .iter()
        .map(|ids| finding(analysis, ids[0], "cited more than once", ids, None))
        .collect();
    verdict(Check::Duplicates, vec![("Duplicated", count)], findings)
}

impl Filter {
    /// Whether an annotation is asked about.
    pub fn accepts(&self, analysis: &Analysis, id: u32) -> bool {
        let annotation = analysis.annotation(id);
        let section = annotation.target.section.as_deref().unwrap_or_default();
        let in_section = self.sections.is_empty()
            || self.sections.iter().any(|wanted| {
                wanted.key() == annotation.target.key()
                    && wanted
                        .section
                        .as_deref()
                        .is_none_or(|wanted| bare(wanted) == bare(section))
            });
        let quote = annotation.quote.to_lowercase();
        in_section
            && (self.quotes.is_empty()
                || self
                    .quotes
                    .iter()
                    .any(|part| quote.contains(&part.to_lowercase())))
    }
}

fn bare(section: &str) -> &str {
    ["section-", "appendix-"]
        .iter()
        .find_map(|prefix| section.strip_prefix(prefix))
        .unwrap_or(section)
}

fn pieces<'a>(
    analysis: &'a Analysis,
    requirement: &'a Requirement,
    kinds: &'a [Kind],
) -> impl Iterator<Item = crate::text::Span> + 'a {
    let related = requirement.coverage.related.iter().copied();
    related
        .filter(|id| kinds.contains(&analysis.annotation(*id).kind))
        .flat_map(|id| analysis.matched(id).pieces.iter().copied())
}

/// The quotes of every section, found by place.
struct Neighbours<'a> {
    analysis: &'a Analysis,
    sections: HashMap<Cow<'a, str>, Vec<Quotes>>,
}

impl<'a> Neighbours<'a> {
    fn new(analysis: &'a Analysis) -> Self {
        let rows = analysis.specifications.iter().enumerate();
        let of_specification = |(index, cited): (usize, &'a Cited)| {
            let sections = 0..cited.sections.len();
            let quotes = sections.map(|section| Quotes::of(analysis, index, section, |_| true));
            (cited.loaded.key(), quotes.collect())
        };
        Self {
            analysis,
            sections: rows.map(of_specification).collect(),
        }
    }

    /// Annotations of one kind in the same section that share a byte with the given one.
    fn of(&self, id: u32, kind: Kind) -> Vec<u32> {
        let section = self.analysis.matched(id).section;
        let cited = self.sections.get(self.analysis.annotation(id).target.key());
        let Some((cited, section)) = cited.zip(section) else {
            return Vec::new();
        };
        let own = IntervalSet::of(self.analysis.matched(id).pieces.iter().copied());
        let near = cited[section].near(&own).into_iter();
        near.filter(|(_, other, quote)| *other == kind && own.touches(quote))
            .map(|(id, ..)| *id)
            .collect()
    }
}

fn finding(
    analysis: &Analysis,
    id: u32,
    problem: &'static str,
    citations: &[u32],
    write: Option<(Kind, &CommentStyle)>,
) -> Finding {
    let annotation = analysis.annotation(id);
    let target = format!(
        "{}#{}",
        annotation.target.specification,
        annotation.target.section.as_deref().unwrap_or_default()
    );
    let place = |id: &u32| {
        format!(
            "{}:{}",
            analysis.annotation(*id).source,
            analysis.annotation(*id).line
        )
    };
    let lines = if annotation.kind == Kind::Spec {
        annotation.details().comment.trim()
    } else {
        &annotation.quote
    };
    let write = write.map(|(kind, CommentStyle { meta, content })| {
        let quote: Vec<String> = lines.lines().map(|line| format!("{content} {line}")).collect();
        format!(
            "{meta} {target}\n{meta} type={}\n{}",
            kind.name(),
            quote.join("\n")
        )
    });
    Finding {
        problem,
        target,
        text: annotation.quote.to_string(),
        citations: citations.iter().map(place).collect(),
        write,
    }
}

fn verdict(check: Check, counts: Vec<(&'static str, usize)>, findings: Vec<Finding>) -> Verdict {
    Verdict {
        check,
        passed: findings.is_empty(),
        counts,
        findings,
    }
}
