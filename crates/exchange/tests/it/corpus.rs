//! Files of real tools.

use std::fs;

use exchange::archive::{Archive, ArchiveLimits, is_archive};
use exchange::reqif::{Change, DatatypeKind, Document, Reading};
use exchange::xml::{self, Edits, XmlLimits};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use test_support::corpora;

/// Every document of the corpus, those in archives too.
fn documents() -> Option<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for folder in fs::read_dir(corpora()?.join("reqif")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let (name, bytes) = (path.display().to_string(), fs::read(&path).unwrap());
            if is_archive(&bytes) {
                let archive = Archive::read(bytes.clone(), &ArchiveLimits::default()).unwrap();
                assert_eq!(archive.write(&archive.documents).unwrap(), bytes, "{name}");
                found.extend(
                    archive
                        .documents
                        .into_iter()
                        .map(|(inner, bytes)| (format!("{name}!{inner}"), bytes)),
                );
            } else {
                found.push((name, bytes));
            }
        }
    }
    found.sort();
    Some(found)
}

#[test]
fn every_file_is_read_and_leaves_as_it_came() {
    //= specs/exchange.md#documents
    //= type=test
    //# A document that nobody changed MUST leave byte for byte as it came.
    let Some(documents) = documents() else { return };
    let (mut read, mut objects, mut odd) = (0, 0, 0);
    let mut refused = Vec::new();
    for (name, bytes) in &documents {
        let document = match Document::read(bytes) {
            Ok(document) => document,
            Err(diagnostic) => {
                refused.push(format!("{name}: {diagnostic}"));
                continue;
            }
        };
        assert_eq!(&document.write(Edits::default()), bytes, "{name}");
        match document.reading(&XmlLimits::default()) {
            Ok(reading) => {
                read += 1;
                objects += reading.meaning.objects.len();
                odd += reading.diagnostics.len();
            }
            Err(diagnostic) => refused.push(format!("{name}: {diagnostic}")),
        }
    }
    println!(
        "{} documents, {read} read, {objects} objects, {odd} diagnostics; refused: {refused:#?}",
        documents.len()
    );
    // Two are no XML at all: an empty file and a line of prose.
    assert_eq!(refused.len(), 2, "{refused:#?}");
    assert!(read > 115 && objects > 1000, "{read} {objects}");
}

/// A value of a document that can be given another text.
fn changes(reading: &Reading<'_>) -> Vec<Change> {
    let mut found = Vec::new();
    for object in &reading.meaning.objects {
        let twins = reading
            .meaning
            .objects
            .iter()
            .filter(|other| other.identifier == object.identifier)
            .count();
        for value in &object.values {
            let plain = matches!(value.kind, DatatypeKind::String | DatatypeKind::Xhtml);
            if twins == 1 && plain && reading.meaning.definition(&value.definition).is_some() {
                found.push(Change {
                    object: object.identifier.clone(),
                    definition: value.definition.clone(),
                    text: String::new(),
                });
            }
        }
    }
    found
}

#[test]
fn one_edit_changes_one_element() {
    //= specs/exchange.md#documents
    //= type=test
    //# A change of a value MUST change the element of that value and nothing else.
    let Some(documents) = documents() else { return };
    let mut edited = 0;
    for (name, bytes) in &documents {
        let Ok(document) = Document::read(bytes) else {
            continue;
        };
        let Ok(reading) = document.reading(&XmlLimits::default()) else {
            continue;
        };
        let candidates = changes(&reading);
        if candidates.is_empty() {
            continue;
        }
        let strategy = (0..candidates.len(), "[a-zа-я <>&\"'🦀\n]{1,40}");
        let mut runner = TestRunner::new(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(6)
        });
        let outcome = runner.run(&strategy, |(number, text)| {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let change = Change {
                text: text.clone(),
                ..candidates[number].clone()
            };
            let (edits, unmade) = reading.edits(std::slice::from_ref(&change));
            if edits.is_empty() {
                // An empty value without a place for one is told, not guessed.
                let same = |value: &exchange::reqif::Value| {
                    value.definition == change.definition && value.text == text
                };
                let already = reading
                    .meaning
                    .objects
                    .iter()
                    .any(|object| object.identifier == change.object && object.values.iter().any(same));
                prop_assert!(already || unmade.len() == 1, "{name}");
                return Ok(());
            }
            let new = document.write(edits);
            let again = Document::read(&new).unwrap();
            let again = again.reading(&XmlLimits::default()).unwrap();
            only_one_element_differs(&reading, &again, &change, &text)
        });
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        edited += 1;
    }
    println!("{edited} documents edited");
    assert!(edited > 60, "{edited}");
}

fn only_one_element_differs(
    old: &Reading<'_>,
    new: &Reading<'_>,
    change: &Change,
    text: &str,
) -> Result<(), TestCaseError> {
    let (before, after) = (old.tree.text, new.tree.text);
    let place = |reading: &Reading<'_>| {
        let object = reading
            .meaning
            .objects
            .iter()
            .find(|object| object.identifier == change.object)
            .unwrap();
        let value = object
            .values
            .iter()
            .find(|value| value.definition == change.definition)
            .unwrap();
        (reading.tree.whole(value.element), value.text.clone())
    };
    let ((was, _), (is, said)) = (place(old), place(new));
    prop_assert_eq!(&said, text);
    prop_assert_eq!(&before[..was.start], &after[..is.start]);
    prop_assert_eq!(&before[was.end..], &after[is.end..]);
    Ok(())
}

#[test]
fn broken_files_never_make_it_fall() {
    let Some(documents) = documents() else { return };
    let small: Vec<&Vec<u8>> = documents
        .iter()
        .map(|(_, bytes)| bytes)
        .filter(|bytes| bytes.len() < 20_000)
        .collect();
    let strategy = (
        0..small.len(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u8>(),
        0..4_u8,
    );
    let mut runner = TestRunner::new(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    });
    let outcome = runner.run(&strategy, |(number, at, other, byte, how)| {
        let mut bytes = small[number].clone();
        if bytes.is_empty() {
            return Ok(());
        }
        let (at, other) = (at.index(bytes.len()), other.index(bytes.len()));
        match how {
            0 => bytes[at] = byte,
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at.min(other)..at.max(other))),
            _ => bytes.insert(at, b'<'),
        }
        if let Ok(document) = Document::read(&bytes) {
            prop_assert_eq!(document.write(Edits::default()), bytes);
            if let Ok(reading) = document.reading(&XmlLimits::default()) {
                let mut all = changes(&reading);
                all.iter_mut().for_each(|change| "x".clone_into(&mut change.text));
                let (edits, _) = reading.edits(&all);
                let written = document.write(edits);
                xml::parse(
                    std::str::from_utf8(&written).unwrap_or("<a/>"),
                    &XmlLimits::default(),
                )
                .unwrap();
            }
        }
        Ok(())
    });
    outcome.unwrap();
}
