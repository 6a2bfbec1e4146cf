//! A mark of proof names a criterion that exists, and every criterion has one.

use std::collections::BTreeSet;

use super::Finding;
use crate::criteria;
use crate::tree::Tree;

pub(super) fn proven_criteria_exist(tree: &Tree) -> Vec<Finding> {
    let criteria = criteria::list(tree);
    let known: BTreeSet<&str> = criteria.iter().map(|criterion| criterion.id.as_str()).collect();
    let marks = criteria::marks(tree).into_iter();
    let strange = marks.filter(|mark| !known.contains(mark.id.as_str()));
    let sentence = |id: &str| format!("`{id}` is not an id of docs/criteria.tsv");
    strange
        .map(|mark| Finding::new(&mark.path, mark.line, sentence(&mark.id)))
        .collect()
}

/// A mark that proved nothing may go; the last one of a criterion may not.
pub(super) fn criteria_are_proven(tree: &Tree) -> Vec<Finding> {
    let marks = criteria::marks(tree);
    let proven: BTreeSet<&str> = marks.iter().map(|mark| mark.id.as_str()).collect();
    let criteria = criteria::list(tree).into_iter().enumerate();
    let open = criteria.filter(|(_, criterion)| !proven.contains(criterion.id.as_str()));
    let sentence = |id: &str| format!("`{id}` is proven by no test; mark one with `// proves {id}`");
    // The first line is the heading, and people count from 1.
    open.map(|(at, criterion)| Finding::new(criteria::LIST, at + 2, sentence(&criterion.id)))
        .collect()
}
