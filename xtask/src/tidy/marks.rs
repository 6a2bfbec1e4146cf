//! A mark of proof names a criterion that exists.

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
