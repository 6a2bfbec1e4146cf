//! Import cycles: which top-level modules of a crate cannot be read one before the other.
//!
//! A cycle is a set of top-level modules that all import each other, at any distance. Folders hide what is inside them: what
//! a room does among its own files is its own affair. Tests are not read.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::rust::Source;
use crate::tree::Tree;

/// Modules one cycle may have.
const MAX_MODULES: usize = 5;

/// Who imports whom.
type Imports = BTreeMap<String, BTreeSet<String>>;

pub(super) fn modules_import_one_way(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    let findings = crates
        .iter()
        .filter_map(|(folder, sources)| complain(folder, &largest_cycle(&imports(sources))));
    findings.collect()
}

/// How many modules the largest cycle of any crate has, and the crate.
pub(crate) fn largest_import_cycle(tree: &Tree) -> (usize, String) {
    let crates = crates(tree);
    let sizes = crates.iter().map(|(folder, sources)| {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        (largest_cycle(&imports(sources)).len(), name.to_owned())
    });
    sizes.max().unwrap_or_default()
}

/// The files of each crate, by its folder.
fn crates(tree: &Tree) -> BTreeMap<&str, Vec<&Source>> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in tree.sources() {
        if let Some((folder, _)) = source.path.split_once("/src/") {
            crates.entry(folder).or_default().push(source);
        }
    }
    crates
}

fn complain(folder: &str, cycle: &[String]) -> Option<Finding> {
    if cycle.len() <= MAX_MODULES {
        return None;
    }
    let sentence = format!(
        "{} modules import each other, {MAX_MODULES} at most: {}",
        cycle.len(),
        cycle.join(", ")
    );
    Some(Finding::new(&format!("{folder}/src/lib.rs"), 1, sentence))
}

/// The imports between the top-level modules of a crate.
fn imports(sources: &[&Source]) -> Imports {
    let roots = |source: &&&Source| matches!(inner(source), "lib.rs" | "main.rs");
    let of_root: String = sources.iter().filter(roots).map(|source| code(source)).collect();
    let modules: BTreeSet<&str> = sources.iter().filter_map(|source| module(source)).collect();
    let reexported = reexports(&of_root, &modules);
    let mut imports = Imports::new();
    for source in sources {
        let Some(own) = module(source) else { continue };
        let used = imports.entry(own.to_owned()).or_default();
        for name in names_of_root(&code(source), depth(source)) {
            let module = modules
                .get(name.as_str())
                .map(|found| (*found).to_owned())
                .or_else(|| reexported.get(&name).cloned());
            used.extend(module.filter(|module| module != own));
        }
    }
    imports
}

/// The path below `src/`.
fn inner(source: &Source) -> &str {
    source.path.split_once("/src/").map_or("", |(_, inner)| inner)
}

/// The top-level module a file belongs to; none for the root itself and for further binaries.
fn module(source: &Source) -> Option<&str> {
    let inner = inner(source);
    let first = inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs");
    (!matches!(first, "lib" | "main" | "bin")).then_some(first)
}

/// How many modules below the root the file's own module is.
fn depth(source: &Source) -> usize {
    let inner = inner(source);
    inner.split('/').count() - usize::from(inner.ends_with("/mod.rs"))
}

/// The code of a file without its tests.
fn code(source: &Source) -> String {
    let lines = source.code.iter().enumerate();
    let product = lines.filter(|(line, _)| !source.is_test(*line));
    product.flat_map(|(_, text)| [text.as_str(), "\n"]).collect()
}

/// Names the root of the crate takes from its modules, each with the module.
fn reexports(root: &str, modules: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for statement in root.split("use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let mut words = words(statement);
        let Some(module) = words.next().filter(|word| modules.contains(word)) else {
            continue;
        };
        found.extend(words.map(|word| (word.to_owned(), module.to_owned())));
    }
    found
}

/// The first names behind every path that begins at the root of the crate: `crate::a`, `crate::{a, b::c}`, `super::a`
/// where the file lies so deep.
fn names_of_root(code: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(start.as_str()) {
            let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'));
            let rest = &code[at + start.len()..];
            match rest.strip_prefix('{') {
                _ if !is_whole || rest.starts_with("super::") => {}
                Some(group) => found.extend(first_names(group)),
                None => found.extend(words(rest).next().map(str::to_owned)),
            }
        }
    }
    found
}

/// The first name of each path of a group, up to its closing brace.
fn first_names(group: &str) -> Vec<String> {
    let (mut level, mut is_first, mut found) = (0, true, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => level += 1,
            '}' if level == 0 => break,
            '}' => level -= 1,
            ',' if level == 0 => is_first = true,
            c if is_first && (c.is_alphanumeric() || c == '_') => {
                found.extend(words(&group[at..]).next().map(str::to_owned));
                is_first = false;
            }
            _ => {}
        }
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

/// The largest set of modules that all reach each other, by name; empty when there is no cycle.
fn largest_cycle(imports: &Imports) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|module| (module.as_str(), reach(imports, module)))
        .collect();
    let circle = |module: &str| -> Vec<String> {
        let own = &reached[module];
        let back = own
            .iter()
            .filter(|other| reached.get(**other).is_some_and(|far| far.contains(module)));
        back.map(|other| (*other).to_owned()).collect()
    };
    let circles = imports.keys().map(|module| circle(module));
    circles.max_by_key(Vec::len).unwrap_or_default()
}

/// All modules a module imports, at any distance.
fn reach<'a>(imports: &'a Imports, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = imports[from].iter().map(String::as_str).collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(imports.get(module).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}
