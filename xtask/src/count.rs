//! `cargo xtask count TREE…`: the size and shape of product code, one column for each tree, so that two states of the repository
//! can be compared by one counter. Comments, strings and tests are left out of every figure but their own.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::rust::Source;
use crate::tidy;
use crate::tree::Tree;

/// Longer than one sees at once.
const LONG_FUNCTION_LINES: usize = 70;

pub(crate) fn run(root: &Path, trees: &[String]) -> Result<bool> {
    let trees = match trees {
        [] => vec![root.to_owned()],
        trees => trees.iter().map(PathBuf::from).collect(),
    };
    let counted = trees
        .iter()
        .map(|tree| Ok(Figures::of(&Tree::read(tree)?).rows()));
    let counted: Vec<Vec<(&str, String)>> = counted.collect::<Result<_>>()?;
    for row in 0..counted.first().map_or(0, Vec::len) {
        let name = counted[0][row].0;
        let figures = counted.iter().map(|tree| format!("{:>12}", tree[row].1));
        println!("{name:<44}{}", figures.collect::<String>());
    }
    Ok(true)
}

#[derive(Default)]
struct Figures {
    files: usize,
    code_lines: usize,
    test_lines: usize,
    doc_lines: usize,
    /// Lengths, in lines.
    functions: Vec<usize>,
    unwraps: usize,
    clones: usize,
    largest_cycle: (usize, String),
}

impl Figures {
    fn of(tree: &Tree) -> Self {
        let mut figures = Self {
            largest_cycle: tidy::largest_import_cycle(tree),
            ..Self::default()
        };
        let ours = |source: &&Source| source.path.starts_with("crates/") && !source.path.contains("/fuzz");
        for source in tree.sources().iter().filter(ours) {
            figures.add(source);
        }
        figures.functions.sort_unstable();
        figures
    }

    fn add(&mut self, source: &Source) {
        let is_code = |line: &usize| !source.code[*line].trim().is_empty();
        let (tests, product): (Vec<usize>, Vec<usize>) = (0..source.code.len())
            .filter(is_code)
            .partition(|line| source.is_test(*line) || is_outside(&source.path));
        self.test_lines += tests.len();
        if product.is_empty() {
            return;
        }
        self.files += 1;
        self.code_lines += product.len();
        let docs = source.comments.iter().map(|comment| comment.trim_start());
        self.doc_lines += docs
            .filter(|comment| comment.starts_with("///") || comment.starts_with("//!"))
            .count();
        for line in product {
            let code = &source.code[line];
            self.unwraps += code.matches(".unwrap()").count() + code.matches(".expect(").count();
            self.clones += code.matches(".clone()").count();
            if code.trim_start().contains("fn ") && source.function_at(line).is_some() {
                self.functions.extend(length(&source.code[line..]));
            }
        }
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let of_thousand =
            |count: usize| format!("{:.1}", count as f64 * 1_000.0 / self.code_lines.max(1) as f64);
        let long = self
            .functions
            .iter()
            .filter(|lines| **lines > LONG_FUNCTION_LINES);
        let at = |part: f64| {
            let place = (self.functions.len() as f64 * part) as usize;
            self.functions.get(place).copied().unwrap_or(0).to_string()
        };
        vec![
            ("files with product code", self.files.to_string()),
            ("lines of product code", self.code_lines.to_string()),
            ("lines of test code", self.test_lines.to_string()),
            ("lines of docs", self.doc_lines.to_string()),
            ("functions", self.functions.len().to_string()),
            ("lines of a function, median", at(0.5)),
            ("lines of a function, 90th of a hundred", at(0.9)),
            ("functions above 70 lines", long.count().to_string()),
            ("unwrap and expect in 1,000 lines", of_thousand(self.unwraps)),
            ("clone() in 1,000 lines", of_thousand(self.clones)),
            (
                "modules in the largest import cycle",
                self.largest_cycle.0.to_string(),
            ),
            ("where", self.largest_cycle.1.clone()),
        ]
    }
}

/// What is built beside the product.
fn is_outside(path: &str) -> bool {
    path.contains("/examples/") || path.starts_with("crates/test-support/")
}

/// Lines of the function that begins here; `None` for one without a body.
fn length(code: &[String]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, line) in code.iter().enumerate() {
        for symbol in line.chars() {
            match symbol {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ';' if depth == 0 => return None,
                _ => continue,
            }
            if symbol == '}' && depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_and_tests_are_not_product() {
        let text = "/// Adds.\nfn add(\n    a: u8,\n) -> u8 {\n    a.clone()\n}\nfn declared();\n\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n";
        let figures = Figures::of(&Tree::from([("crates/a/src/lib.rs", text)]));
        assert_eq!(figures.functions, [5]);
        assert_eq!((figures.files, figures.code_lines, figures.test_lines), (1, 6, 4));
        assert_eq!((figures.doc_lines, figures.clones), (1, 1));
    }
}
