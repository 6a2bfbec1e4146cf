//! The criteria the product is built to, and the marks that say where each is proven.
//!
//! The list is `docs/criteria.tsv`. A test that proves a criterion says so in a comment of its own, directly above the
//! test or inside it: `// proves ID, ID` (`# proves …` in scripts). Other comments that name an id
//! are citations: places that fulfil it.

use crate::rust::Source;
use crate::tree::Tree;

pub(crate) const LIST: &str = "docs/criteria.tsv";

/// One line of the list.
pub(crate) struct Criterion {
    pub(crate) id: String,
    pub(crate) text: String,
}

/// An id, and where it stands.
pub(crate) struct Mark {
    pub(crate) id: String,
    pub(crate) path: String,
    /// From 1, as people count.
    pub(crate) line: usize,
    /// The test's name: the function, or the file where there is none.
    pub(crate) test: String,
}

pub(crate) fn list(tree: &Tree) -> Vec<Criterion> {
    let lines = tree.file(LIST).unwrap_or_default().lines().skip(1);
    let rows = lines.filter_map(|line| line.split_once('\t'));
    rows.map(|(id, text)| Criterion {
        id: id.to_owned(),
        text: text.to_owned(),
    })
    .collect()
}

/// Every mark in the repository, in the order of paths and lines.
pub(crate) fn marks(tree: &Tree) -> Vec<Mark> {
    let mut marks: Vec<Mark> = tree.sources().iter().flat_map(marks_in_rust).collect();
    for (path, text) in tree.files().filter(|(path, _)| is_script(path)) {
        for (line, text) in text.lines().enumerate() {
            let ids = after_proves_in_script(text).into_iter().flat_map(ids);
            marks.extend(ids.map(|id| mark(id, path, line, None)));
        }
    }
    marks.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    marks
}

/// Places outside tests whose comments name the id.
pub(crate) fn citations<'a>(tree: &'a Tree, id: &str) -> Vec<(&'a str, usize)> {
    let mut places = Vec::new();
    for source in tree.sources() {
        for (line, comment) in source.comments.iter().enumerate() {
            if !source.is_test(line) && names(comment, id) && after_proves(comment).is_none() {
                places.push((source.path.as_str(), line + 1));
            }
        }
    }
    places
}

fn marks_in_rust(source: &Source) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (line, comment) in source.comments.iter().enumerate() {
        let ids = after_proves(comment).into_iter().flat_map(ids);
        marks.extend(ids.map(|id| mark(id, &source.path, line, source.function_at(line))));
    }
    marks
}

fn mark(id: &str, path: &str, line: usize, function: Option<&str>) -> Mark {
    let file = path.rsplit('/').next().unwrap_or(path);
    Mark {
        id: id.to_owned(),
        path: path.to_owned(),
        line: line + 1,
        test: function.unwrap_or(file).to_owned(),
    }
}

fn after_proves(comment: &str) -> Option<&str> {
    comment.trim_start().strip_prefix("// proves ")
}

fn after_proves_in_script(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("# proves ").or(line.strip_prefix("// proves "))
}

/// Ids between commas; what follows a colon is for people.
fn ids(list: &str) -> impl Iterator<Item = &str> {
    let list = list.split_once(':').map_or(list, |(ids, _)| ids);
    list.split(',').map(str::trim).filter(|id| !id.is_empty())
}

fn is_script(path: &str) -> bool {
    path.starts_with(".ci/")
        || [".py", ".sh", ".mjs", ".toml"]
            .iter()
            .any(|end| path.ends_with(end))
}

/// Whether a comment names exactly this id: `R1.1` is not named by `R1.10`.
fn names(comment: &str, id: &str) -> bool {
    comment.match_indices(id).any(|(at, _)| {
        let mut after = comment[at + id.len()..].chars();
        match after.next() {
            Some('.') => !after.next().is_some_and(char::is_alphanumeric),
            Some(c) => !c.is_alphanumeric(),
            None => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_rust_and_in_scripts() {
        let tree = Tree::from([
            (
                "crates/a/tests/it.rs",
                "// proves 000 R1.1, 000 R1.2: both\n#[test]\nfn one() {}\n",
            ),
            (".ci/steps/30-x", "#!/bin/bash\n# proves 000 R1.3\n"),
        ]);
        let found: Vec<String> = marks(&tree)
            .iter()
            .map(|m| format!("{} {} {}:{}", m.id, m.test, m.path, m.line))
            .collect();
        let expect = [
            "000 R1.3 30-x .ci/steps/30-x:2",
            "000 R1.1 one crates/a/tests/it.rs:1",
            "000 R1.2 one crates/a/tests/it.rs:1",
        ];
        assert_eq!(found, expect);
    }

    #[test]
    fn a_citation_names_the_id_and_no_longer_one() {
        assert!(names("// as 000 R1.1.", "000 R1.1"));
        assert!(names("/// (000 R1.1, 000 R1.2)", "000 R1.1"));
        assert!(!names("// as 000 R1.10", "000 R1.1"));
        assert!(!names("// as 000 R1.1.2", "000 R1.1"));
    }

    #[test]
    fn citations_are_outside_tests() {
        let tree = Tree::from([
            ("crates/a/src/lib.rs", "// 000 R1.1\nfn a() {}\n"),
            ("crates/a/tests/it.rs", "// 000 R1.1\nfn a() {}\n"),
        ]);
        assert_eq!(citations(&tree, "000 R1.1"), [("crates/a/src/lib.rs", 1)]);
    }
}
