//! The house rules, as a table of functions over the repository's text.
//!
//! Each finding is a place and a sentence that says what to do. A rule is added by writing its function, its row below
//! and one test that provokes it. Files under `xtask/src/tidy/` quote what they forbid and are not read for it.

mod arrows;
mod cycles;
mod general;
mod manifests;
mod marks;
mod names;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod writes;

use std::path::Path;

use anyhow::Result;

use crate::tree::Tree;

pub(crate) use cycles::largest_import_cycle;

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    arrows::crates_point_one_way,
    arrows::the_picture_is_true,
    arrows::libraries_stay_at_home,
    manifests::lints_are_the_workspaces,
    manifests::crates_open_with_an_essay,
    general::general_crates_know_no_product,
    general::commands_ask_the_service,
    names::names_are_the_fields,
    names::public_types_have_names_of_their_own,
    names::docs_say_what_it_is,
    source::the_world_stays_at_the_rim,
    source::revisions_differ_in_two_files,
    source::nothing_is_unfinished,
    writes::writes_go_one_way,
    cycles::modules_import_one_way,
    shape::rooms_have_names,
    shape::files_are_short,
    text::no_word_of_this_machine,
    text::the_map_leads_somewhere,
    text::findings_are_closed_somewhere,
    marks::proven_criteria_exist,
    marks::criteria_are_proven,
];

/// Where, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// From 1.
    line: usize,
    sentence: String,
}

impl Finding {
    fn new(path: &str, line: usize, sentence: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            sentence: sentence.into(),
        }
    }
}

/// Prints every finding; true when there is none.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let findings = findings(&Tree::read(root)?);
    for Finding { path, line, sentence } in &findings {
        println!("{path}:{line}: {sentence}");
    }
    match findings.len() {
        0 => println!("tidy: {} rules, nothing to complain about", RULES.len()),
        count => println!("tidy: {count} findings"),
    }
    Ok(findings.is_empty())
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

/// The rules' own files quote what they forbid.
fn quotes_rules(path: &str) -> bool {
    path.starts_with("xtask/src/tidy/")
}
