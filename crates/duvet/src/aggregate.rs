//! From files one by one to the project as a whole: ids, sections, coverage.

use crate::analysis::{Analysis, Cited, CitedSection, Entry, MatchedFile, Project, Requirement};
use crate::citation::{Annotation, Kind};
use crate::diagnostic::Diagnostic;
use crate::interval::IntervalSet;
use crate::loader::LoadedSpecification;
use crate::matching::{Grade, is_counted};
use crate::status::Coverage;
use crate::target::Target;
use crate::text::Span;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Joins what was looked up. Files come sorted by path, so ids follow path and line.
pub(crate) fn build(
    files: &[Arc<MatchedFile>],
    specifications: &[Arc<LoadedSpecification>],
    project: &Project,
) -> Analysis {
    let mut analysis = Analysis {
        entries: entries(files),
        ..Analysis::default()
    };
    let by_name: HashMap<_, usize> = specifications
        .iter()
        .enumerate()
        .map(|(index, loaded)| (loaded.key(), index))
        .collect();
    analysis.specifications = specifications.iter().map(cited).collect();
    let mut requirements = Vec::new();
    // Citations of one specification stand together: most of them need no search.
    let mut last: Option<(&Arc<Target>, Option<usize>)> = None;
    for (id, entry) in analysis.entries.iter().enumerate() {
        let (annotation, matched) = (entry.annotation(), entry.matched());
        let target = &annotation.target;
        let found = match last.filter(|(last, _)| Arc::ptr_eq(last, target)) {
            Some((_, found)) => found,
            None => by_name.get(target.key()).copied(),
        };
        last = Some((target, found));
        let Some(specification) = found else {
            continue;
        };
        let cited = &mut analysis.specifications[specification];
        let counts = !matched.pieces.is_empty() && (!project.strict || matched.grade.is_faithful());
        if let Some(section) = matched.section.filter(|_| counts) {
            cited.sections[section].annotations.push(id as u32);
        }
        if annotation.kind == Kind::Spec {
            cited.requirements.push(id as u32);
            if let Some(section) = matched.section {
                cited.sections[section].requirements.push(id as u32);
            }
            requirements.push((id as u32, specification, matched.section.filter(|_| counts)));
        }
    }
    analysis.requirements = cover(&analysis, requirements);
    if project.config.strict_compat {
        cover_titles(&mut analysis);
    }
    analysis.diagnostics = diagnostics(files, specifications);
    analysis
}

/// By file, line and column, each finding once.
pub(crate) fn sort_diagnostics(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| (&a.file, a.start, a.code).cmp(&(&b.file, b.start, b.code)));
    diagnostics.dedup();
}

/// The order of a file's annotations, as the public tool has it; equal ones are one.
fn order(annotation: &Annotation) -> (u32, u8, Option<&str>, &str) {
    let rank = match annotation.kind {
        Kind::Spec => 0,
        Kind::Test => 1,
        Kind::Implementation => 2,
        Kind::Exception => 3,
        Kind::Todo => 4,
        Kind::Implication => 5,
    };
    (
        annotation.line,
        rank,
        annotation.blob_link.as_deref(),
        &annotation.quote,
    )
}

fn entries(files: &[Arc<MatchedFile>]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for group in files.chunk_by(|a, b| a.facts.name == b.facts.name) {
        let start = entries.len();
        for file in group {
            let indices = 0..file.facts.annotations.len() as u32;
            entries.extend(indices.map(|index| Entry {
                file: Arc::clone(file),
                index,
            }));
        }
        if group.len() > 1 {
            // The same file read in two ways: annotations of both in one order, equal ones once.
            let mut merged: Vec<Entry> = entries.split_off(start);
            merged.sort_by(|a, b| order(a.annotation()).cmp(&order(b.annotation())));
            merged.dedup_by(|a, b| order(a.annotation()) == order(b.annotation()));
            entries.append(&mut merged);
        }
    }
    entries
}

fn cited(loaded: &Arc<LoadedSpecification>) -> Cited {
    let sections = loaded.specification.as_ref().map_or(0, |s| s.sections.len());
    Cited {
        loaded: Arc::clone(loaded),
        requirements: Vec::new(),
        sections: vec![CitedSection::default(); sections],
    }
}

/// Requirements share bytes only with quotes of their own section, so sections are counted one by one.
fn cover(analysis: &Analysis, requirements: Vec<(u32, usize, Option<usize>)>) -> Vec<Requirement> {
    let mut by_section: HashMap<(usize, Option<usize>), Vec<u32>> = HashMap::new();
    for (id, specification, section) in requirements {
        by_section.entry((specification, section)).or_default().push(id);
    }
    let groups: Vec<_> = by_section.into_iter().collect();
    let mut covered: Vec<Requirement> = groups
        .into_par_iter()
        .flat_map_iter(|((specification, section), ids)| {
            let quotes = section.map_or_else(Quotes::default, |section| {
                Quotes::of(analysis, specification, section, is_counted)
            });
            ids.into_iter()
                .map(move |id| requirement(analysis, id, specification, section, &quotes))
        })
        .collect();
    covered.sort_unstable_by_key(|requirement| requirement.annotation);
    covered
}

/// What the public tool makes of a requirement without a quote: the title of its section is its text, and citations
/// without a quote cover it.
fn cover_titles(analysis: &mut Analysis) {
    let mut references: HashMap<(&str, usize), Vec<(u32, Kind)>> = HashMap::new();
    for (id, entry) in (0..).zip(&analysis.entries) {
        if let (Grade::Reference, Some(section)) = (&entry.matched().grade, entry.matched().section) {
            let annotation = entry.annotation();
            let title = (annotation.target.key(), section);
            references.entry(title).or_default().push((id, annotation.kind));
        }
    }
    let mut covered = Vec::new();
    for (index, requirement) in analysis.requirements.iter().enumerate() {
        let entry = &analysis.entries[requirement.annotation as usize];
        let cited = &analysis.specifications[requirement.specification];
        let text = cited.specification().zip(entry.matched().section);
        let Some((specification, section)) = text.filter(|_| entry.matched().grade == Grade::Reference)
        else {
            continue;
        };
        let length = specification.sections[section].title.len();
        let key = cited.loaded.key();
        let others = references.get(&(&*key, section));
        covered.push((index, Coverage::of_title(length, others.into_iter().flatten())));
    }
    for (index, coverage) in covered {
        analysis.requirements[index].coverage = coverage;
    }
}

/// The quotes of one section, found by place: a section may hold tens of thousands.
#[derive(Default)]
pub(crate) struct Quotes {
    /// By id.
    rows: Vec<(u32, Kind, IntervalSet)>,
    /// Start, end and row of each quote that counts, by start.
    places: Vec<(u32, u32, usize)>,
    /// The greatest end of the places in each node of a binary tree over them, the root first.
    reach: Vec<u32>,
}

impl Quotes {
    /// Those pieces of quotes that are to count.
    pub(crate) fn of(
        analysis: &Analysis,
        specification: usize,
        section: usize,
        is_counted: impl Fn(Span) -> bool,
    ) -> Self {
        let annotations = &analysis.specifications[specification].sections[section].annotations;
        let set = |id: &u32| {
            let pieces = analysis
                .matched(*id)
                .pieces
                .iter()
                .copied()
                .filter(|piece| is_counted(*piece));
            (*id, analysis.annotation(*id).kind, IntervalSet::of(pieces))
        };
        let rows: Vec<_> = annotations.iter().map(set).collect();
        let place = |(row, (_, _, set)): (usize, &(u32, Kind, IntervalSet))| {
            let spans = set.spans();
            Some((spans.first()?.start, spans.last()?.end, row))
        };
        let mut places: Vec<_> = rows.iter().enumerate().filter_map(place).collect();
        places.sort_unstable();
        let width = places.len().next_power_of_two();
        let mut reach = vec![0; 2 * width];
        for (index, (_, end, _)) in places.iter().enumerate() {
            reach[width + index] = *end;
        }
        for node in (1..width).rev() {
            reach[node] = reach[2 * node].max(reach[2 * node + 1]);
        }
        Self { rows, places, reach }
    }

    fn own(&self, id: u32) -> Option<&IntervalSet> {
        let row = self.rows.binary_search_by_key(&id, |(other, ..)| *other).ok()?;
        Some(&self.rows[row].2)
    }

    /// The quotes that may share bytes with a set, by id.
    pub(crate) fn near(&self, set: &IntervalSet) -> Vec<&(u32, Kind, IntervalSet)> {
        let spans = set.spans();
        let (Some(first), Some(last)) = (spans.first(), spans.last()) else {
            return Vec::new();
        };
        let to = self.places.partition_point(|(start, ..)| *start < last.end);
        let mut rows = Vec::new();
        self.reaching(1, 0..self.reach.len() / 2, to, first.start, &mut rows);
        rows.sort_unstable();
        rows.into_iter().map(|row| &self.rows[row]).collect()
    }

    /// Rows of the places before `to` that end behind `start`: a quote of the whole section costs itself only.
    fn reaching(&self, node: usize, range: Range<usize>, to: usize, start: u32, rows: &mut Vec<usize>) {
        crate::effort::count(1);
        if range.start >= to || self.reach[node] <= start {
            return;
        }
        if range.len() == 1 {
            rows.push(self.places[range.start].2);
            return;
        }
        let middle = range.start + range.len() / 2;
        self.reaching(2 * node, range.start..middle, to, start, rows);
        self.reaching(2 * node + 1, middle..range.end, to, start, rows);
    }
}

fn requirement(
    analysis: &Analysis,
    id: u32,
    specification: usize,
    section: Option<usize>,
    quotes: &Quotes,
) -> Requirement {
    let coverage = match quotes.own(id) {
        Some(own) => {
            let near = quotes.near(own);
            Coverage::of(own, near.into_iter().map(|(id, kind, set)| (*id, *kind, set)))
        }
        None => Coverage::default(),
    };
    let level = analysis.annotation(id).level;
    Requirement {
        annotation: id,
        specification,
        section,
        level,
        coverage,
    }
}

fn diagnostics(files: &[Arc<MatchedFile>], specifications: &[Arc<LoadedSpecification>]) -> Vec<Diagnostic> {
    let of_files = files
        .iter()
        .flat_map(|file| file.facts.diagnostics.iter().chain(&file.diagnostics));
    let of_specifications = specifications
        .iter()
        .filter_map(|loaded| loaded.diagnostic.as_ref());
    of_files.chain(of_specifications).cloned().collect()
}
