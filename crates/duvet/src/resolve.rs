//! One citation against its specification: grade, place, and what to say about it.

use crate::citation::{Annotation, Kind};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::matching::{self, Grade, Match, changes_meaning, word_diff};
use crate::nearest;
use crate::shelf::Volume;
use crate::specification::Specification;
use crate::text::Position;

/// Grades a citation. Faults come with a suggestion wherever the specification has one.
pub(crate) fn resolve(annotation: &Annotation, volume: &Volume) -> (Match, Option<Diagnostic>) {
    let unresolved = Match {
        grade: Grade::Unresolved,
        section: None,
        pieces: Vec::new(),
    };
    let Some(specification) = &volume.specification else {
        return (unresolved, None);
    };
    let id = annotation.target.section.as_deref().unwrap_or_default();
    let Some(section) = specification.find(id) else {
        return (unresolved, Some(unknown_section(annotation, specification, id)));
    };
    if annotation.quote.is_empty() {
        let matched = Match {
            grade: Grade::Reference,
            section: Some(section),
            pieces: Vec::new(),
        };
        return (matched, None);
    }
    let (grade, pieces) = match matching::find(volume.haystack(specification, section), &annotation.quote) {
        Some(found) => (found.grade, found.pieces),
        None => (elsewhere(annotation, volume, specification, section), Vec::new()),
    };
    let diagnostic = diagnose(annotation, &grade);
    (
        Match {
            grade,
            section: Some(section),
            pieces,
        },
        diagnostic,
    )
}

/// What to say of a quote that is not in its section.
fn elsewhere(
    annotation: &Annotation,
    volume: &Volume,
    specification: &Specification,
    section: usize,
) -> Grade {
    let others = (0..specification.sections.len()).filter(|other| *other != section);
    for other in others {
        let found = matching::find(volume.haystack(specification, other), &annotation.quote);
        if found.is_some_and(|found| found.grade.is_faithful()) {
            return Grade::Moved {
                section: specification.sections[other].id.clone(),
            };
        }
    }
    let Some(nearest) = nearest_sentence(&annotation.quote, volume, specification, section) else {
        return Grade::Missing { nearest: None };
    };
    let distance = nearest::distance(&annotation.quote, &nearest);
    if distance * 4 > annotation.quote.chars().count() {
        return Grade::Missing {
            nearest: Some(nearest),
        };
    }
    Grade::Drifted {
        distance,
        diff: word_diff(&annotation.quote, &nearest),
        changes_meaning: changes_meaning(&annotation.quote, &nearest),
        tolerated: false,
        text: nearest,
    }
}

/// The run of whole sentences of the section that shares most words with the quote.
fn nearest_sentence(
    quote: &str,
    volume: &Volume,
    specification: &Specification,
    section: usize,
) -> Option<String> {
    let text = &volume.haystack(specification, section).joined;
    let ends: Vec<usize> = sentence_ends(text).collect();
    let count = sentence_ends(quote).count().max(1);
    let start = |index: usize| if index == 0 { 0 } else { ends[index - 1] };
    let windows =
        (0..ends.len()).map(|first| &text[start(first)..ends[(first + count - 1).min(ends.len() - 1)]]);
    windows
        .map(|window| (nearest::shared_words(quote, window), window.trim()))
        .filter(|(score, _)| *score >= 0.4)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, window)| window.to_owned())
}

fn sentence_ends(text: &str) -> impl Iterator<Item = usize> + '_ {
    let bytes = text.as_bytes();
    let stops = memchr::memchr_iter(b'.', bytes).map(|at| at + 1);
    stops
        .filter(move |&end| bytes.get(end) == Some(&b' '))
        .chain((!text.is_empty()).then_some(text.len()))
}

//= specs/duvet.md#tolerance
//# A citation of an unknown section MUST be reported with the nearest section the specification has.
fn unknown_section(annotation: &Annotation, specification: &Specification, id: &str) -> Diagnostic {
    let target = &annotation.target.specification;
    let message = format!("`{target}` has no section `{id}`");
    let known = specification.sections.iter().map(|section| section.id.as_str());
    let by_id = nearest::name(id, known.clone());
    let by_title = || {
        let titles = specification
            .sections
            .iter()
            .map(|s| (nearest::shared_words(id, &s.title), s.id.as_str()));
        titles
            .filter(|(score, _)| *score >= 0.5)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, id)| id)
    };
    let diagnostic = at(annotation, Code::SectionUnknown, message);
    match by_id.or_else(by_title) {
        Some(nearest) => diagnostic
            .help(format!("did you mean `#{nearest}`?"))
            .suggest(Some(format!("{target}#{nearest}"))),
        None => diagnostic.help(format!("the specification has {} sections", known.count())),
    }
}

fn diagnose(annotation: &Annotation, grade: &Grade) -> Option<Diagnostic> {
    let target = &annotation.target.specification;
    let diagnostic = match grade {
        Grade::Ambiguous { .. } if annotation.kind == Kind::Spec => return None,
        Grade::Ambiguous { occurrences } => {
            let message = format!("the quote stands {occurrences} times in the section; the first is taken");
            at(annotation, Code::QuoteAmbiguous, message).help("quote a longer part of the sentence")
        }
        Grade::Drifted {
            distance,
            text,
            diff,
            changes_meaning,
            tolerated,
        } => {
            let code = if *changes_meaning {
                Code::QuoteMeaningChanged
            } else {
                Code::QuoteDrifted
            };
            let edits = if *distance == 1 {
                "one edit".to_owned()
            } else {
                format!("{distance} edits")
            };
            let message = format!("the quote is {edits} away from the specification: {diff}");
            let mut diagnostic =
                at(annotation, code, message).help("`duvet fix` writes the specification's words");
            if !tolerated {
                diagnostic.severity = Severity::Error;
            }
            diagnostic.suggest(Some(text.clone()))
        }
        Grade::Moved { section } => {
            let message = format!("the quote is not in this section but in `#{section}`");
            at(annotation, Code::QuoteMoved, message).suggest(Some(format!("{target}#{section}")))
        }
        Grade::Missing { nearest } => {
            let message = "the quote is not in the specification".to_owned();
            let diagnostic = at(annotation, Code::QuoteMissing, message).suggest(nearest.clone());
            match nearest {
                Some(_) => diagnostic.help("the nearest sentence of the section is suggested"),
                None => diagnostic,
            }
        }
        Grade::Reference | Grade::Exact | Grade::Normalised | Grade::Unresolved => return None,
    };
    Some(diagnostic)
}

fn at(annotation: &Annotation, code: Code, message: String) -> Diagnostic {
    let start = Position {
        line: annotation.line,
        column: annotation.column,
    };
    let end = Position {
        line: annotation.last_line,
        column: 1,
    };
    Diagnostic::new(code, message, &*annotation.source, start).until(end.max(start))
}
