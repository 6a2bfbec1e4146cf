//! References derived from code, so that they cannot tell another story than the code does.
//!
//! A generator is a row of the table below: a name, the file it writes and a function that makes the text. `gen` writes
//! the files, `gen --check` fails when one would change, and CI runs the latter.

mod catalogue;
mod language;
mod mcp;
mod refusals;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::tree::Tree;

struct Generator {
    name: &'static str,
    path: &'static str,
    make: fn(&Tree) -> Result<String>,
}

const GENERATORS: &[Generator] = &[
    Generator {
        name: "catalogue",
        path: "docs/catalogue.md",
        make: catalogue::make,
    },
    Generator {
        name: "language",
        path: "docs/language/rules.md",
        make: language::make,
    },
    Generator {
        name: "mcp",
        path: "docs/mcp-reference.md",
        make: mcp::make,
    },
    Generator {
        name: "refusals",
        path: "docs/refusals.md",
        make: refusals::make,
    },
];

/// Writes what changed; an empty list of names means all.
pub(crate) fn write(root: &Path, names: &[&str]) -> Result<bool> {
    each_stale(root, names, |generator, text| {
        let path = root.join(generator.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        println!("{} written", generator.path);
        Ok(())
    })?;
    Ok(true)
}

/// True when writing would change nothing.
pub(crate) fn check(root: &Path, names: &[&str]) -> Result<bool> {
    let mut fresh = true;
    each_stale(root, names, |generator, text| {
        let old = fs::read_to_string(root.join(generator.path)).unwrap_or_default();
        let line = first_difference(&old, text);
        println!(
            "{}:{line}: out of date: run `cargo xtask gen {}`",
            generator.path, generator.name
        );
        fresh = false;
        Ok(())
    })?;
    Ok(fresh)
}

fn each_stale(
    root: &Path,
    names: &[&str],
    mut act: impl FnMut(&Generator, &str) -> Result<()>,
) -> Result<()> {
    if let Some(name) = names
        .iter()
        .find(|name| GENERATORS.iter().all(|g| g.name != **name))
    {
        bail!("no generator is called {name}");
    }
    let tree = Tree::read(root)?;
    let wanted = |generator: &&Generator| names.is_empty() || names.contains(&generator.name);
    for generator in GENERATORS.iter().filter(wanted) {
        let text = (generator.make)(&tree).with_context(|| generator.name)?;
        if tree.file(generator.path) != Some(&text) {
            act(generator, &text)?;
        }
    }
    Ok(())
}

fn first_difference(old: &str, new: &str) -> usize {
    let same = old
        .lines()
        .zip(new.lines())
        .take_while(|(old, new)| old == new)
        .count();
    same + 1
}

/// A cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_a_line_from_1() {
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), 2);
        assert_eq!(first_difference("", "a\n"), 1);
        assert_eq!(first_difference("a\n", "a\nb\n"), 2);
    }

    #[test]
    fn an_unknown_generator_is_refused() {
        let why = check(Path::new("."), &["nonsense"]).unwrap_err();
        assert_eq!(why.to_string(), "no generator is called nonsense");
    }
}
