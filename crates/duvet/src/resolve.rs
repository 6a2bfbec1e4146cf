//! One citation against its specification: grade, place, and what to say about it.

use crate::citation::{Annotation, Kind};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::loader::LoadedSpecification;
use crate::matching::{self, Drift, Found, Grade, Match, changes_meaning, word_diff};
use crate::nearest;
use crate::specification::Specification;
use crate::text::{Position, Spans};
use std::sync::Arc;

/// A quote over this length that is not in the text is missing; how far it drifted is not worked out.
const MAX_DRIFTED_CHARS: usize = 8192;

/// The sections of a specification are all named beside an unknown one, when there are no more than these.
const MAX_NAMED_SECTIONS: usize = 8;

/// Grades a citation. Faults come with a suggestion wherever the specification has one.
pub(crate) fn resolve(annotation: &Annotation, loaded: &LoadedSpecification) -> (Match, Option<Diagnostic>) {
    let unresolved = Match {
        grade: Grade::Unresolved,
        section: None,
        pieces: Spans::default(),
    };
    let Some(specification) = &loaded.specification else {
        return (unresolved, None);
    };
    let id = annotation.target.section.as_deref().unwrap_or_default();
    let Some(section) = specification.find(id) else {
        return (
            unresolved,
            Some(unknown_section(annotation, loaded, specification, id)),
        );
    };
    if annotation.quote.is_empty() {
        let matched = Match {
            grade: Grade::Reference,
            section: Some(section),
            pieces: Spans::default(),
        };
        return (matched, None);
    }
    let haystack = loaded.haystack(specification, section);
    let Found { grade, pieces } = matching::exact(haystack, &annotation.quote).unwrap_or_else(|| {
        loaded.searched(section, &annotation.quote, |quote| {
            matching::inexact(haystack, quote).unwrap_or_else(|| Found {
                grade: elsewhere(annotation, loaded, specification, section),
                pieces: Spans::default(),
            })
        })
    });
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
    loaded: &LoadedSpecification,
    specification: &Specification,
    section: usize,
) -> Grade {
    let elsewhere = loaded.everywhere(specification).section_of(&annotation.quote);
    if let Some(other) = elsewhere.filter(|other| *other != section) {
        return Grade::Moved {
            section: specification.sections[other].id.clone(),
        };
    }
    let Some(nearest) = nearest_sentence(&annotation.quote, loaded, specification, section) else {
        return Grade::Missing { nearest: None };
    };
    let length = annotation.quote.chars().count();
    let distance = Some(length / 4)
        .filter(|_| length <= MAX_DRIFTED_CHARS)
        .and_then(|limit| nearest::within(&annotation.quote, &nearest, limit));
    let Some(distance) = distance else {
        return Grade::Missing {
            nearest: Some(nearest),
        };
    };
    Grade::Drifted(Arc::new(Drift {
        distance,
        diff: word_diff(&annotation.quote, &nearest),
        changes_meaning: changes_meaning(&annotation.quote, &nearest),
        tolerated: false,
        text: nearest,
    }))
}

/// The run of whole sentences of the section that shares most words with the quote.
fn nearest_sentence(
    quote: &str,
    loaded: &LoadedSpecification,
    specification: &Specification,
    section: usize,
) -> Option<String> {
    let text = &loaded.haystack(specification, section).joined;
    let found = loaded.sentences(specification, section).nearest(text, quote)?;
    Some(found.to_owned())
}

//= specs/duvet.md#tolerance
//# A citation of an unknown section MUST be reported with the nearest section the specification has.
fn unknown_section(
    annotation: &Annotation,
    loaded: &LoadedSpecification,
    specification: &Specification,
    id: &str,
) -> Diagnostic {
    let target = &annotation.target.specification;
    let message = format!("`{target}` has no section `{id}`");
    let sections = &specification.sections;
    let entry = |number: usize| (sections[number].id.as_str(), sections[number].title.as_str());
    let diagnostic = at(annotation, Code::SectionUnknown, message);
    match loaded.section_names(specification).nearest(id, entry) {
        Some(number) => {
            let nearest = &sections[number].id;
            diagnostic
                .help(format!("did you mean `#{nearest}`?"))
                .suggest(Some(format!("{target}#{nearest}")))
        }
        None if sections.len() <= MAX_NAMED_SECTIONS => {
            let ids: Vec<String> = sections
                .iter()
                .map(|section| format!("`#{}`", section.id))
                .collect();
            diagnostic.help(format!("the sections of the specification: {}", ids.join(", ")))
        }
        None => diagnostic.help(format!("the specification has {} sections", sections.len())),
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
        Grade::Drifted(drift) => {
            let Drift {
                distance,
                text,
                diff,
                changes_meaning,
                tolerated,
            } = &**drift;
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
