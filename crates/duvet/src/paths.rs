//! Which files the patterns of a project mean.
//!
//! All patterns are answered by one walk per folder they have in common, walks beside each other, each on all cores. A
//! folder that no pattern can have files in is not opened. Ignore files (`.gitignore`,
//! `.ignore`) are honoured for sources, so that a pattern such as `**/*.rs` does not wander into build output. What a
//! pattern names before its first wildcard is meant: it is searched even when an ignore file leaves it out.

use globset::GlobMatcher;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

/// One pattern to be answered.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// A glob relative to the project's root.
    pub pattern: &'a str,
    /// Whether ignore files are honoured.
    pub ignore: bool,
}

/// Files found, and patterns that are no globs.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Index of the pattern and the file relative to the root, with `/` between parts; sorted, each pair once.
    pub files: Vec<(usize, String)>,
    /// Index of the pattern and what is wrong with it.
    pub invalid: Vec<(usize, String)>,
}

/// Answers all patterns at once.
//= specs/duvet.md#discovery
//# A pattern with wildcards MUST honour the project's ignore files; a pattern without them names its file.
pub fn find(root: &Path, queries: &[Query<'_>]) -> Found {
    let mut found = Found::default();
    let mut walks: Vec<Walk> = Vec::new();
    for (index, query) in queries.iter().enumerate() {
        let pattern = query.pattern.strip_prefix("./").unwrap_or(query.pattern);
        if !has_wildcard(pattern) {
            found.files.extend(literal(root, index, pattern));
            continue;
        }
        match glob(pattern) {
            Ok(glob) => Walk::add(&mut walks, query.ignore, base(pattern), (index, glob)),
            Err(error) => found.invalid.push((index, error)),
        }
    }
    found
        .files
        .par_extend(walks.par_iter().flat_map_iter(|walk| walk.run(root)));
    found.files.sort_unstable();
    found.files.dedup();
    found
}

/// The folder and the patterns answered below it.
struct Walk {
    base: String,
    ignore: bool,
    globs: Vec<(usize, globset::Glob)>,
}

impl Walk {
    /// Joins a walk that is above, below or at the same folder, else opens a new one.
    fn add(walks: &mut Vec<Walk>, ignore: bool, base: &str, glob: (usize, globset::Glob)) {
        let related = walks
            .iter_mut()
            .find(|w| w.ignore == ignore && (is_below(base, &w.base) || is_below(&w.base, base)));
        match related {
            Some(walk) => {
                if is_below(&walk.base, base) {
                    base.clone_into(&mut walk.base);
                }
                walk.globs.push(glob);
            }
            None => walks.push(Walk {
                base: base.to_owned(),
                ignore,
                globs: vec![glob],
            }),
        }
    }

    fn run(&self, root: &Path) -> Vec<(usize, String)> {
        let start = root.join(&self.base);
        if !start.is_dir() {
            return Vec::new();
        }
        let mut builder = GlobSetBuilder::new();
        for (_, glob) in &self.globs {
            builder.add(glob.clone());
        }
        let Ok(set) = builder.build() else {
            return Vec::new();
        };
        let mut walker = WalkBuilder::new(start);
        walker
            .standard_filters(false)
            .git_ignore(self.ignore)
            .ignore(self.ignore)
            .git_exclude(self.ignore);
        walker.parents(self.ignore).follow_links(false);
        let shapes: Vec<Shape> = self
            .globs
            .iter()
            .map(|(_, glob)| Shape::of(glob.glob()))
            .collect();
        let top = root.to_owned();
        walker.filter_entry(move |entry| is_worth_opening(entry, &top, &shapes));
        walker.threads(rayon::current_num_threads());
        let (found, files) = channel();
        walker.build_parallel().run(|| {
            let (found, set) = (found.clone(), &set);
            Box::new(move |entry| {
                if let Some(entry) = entry.ok().filter(is_file) {
                    for hit in self.hits(root, entry.path(), set) {
                        // The receiver waits below until every walker is done.
                        let _ = found.send(hit);
                    }
                }
                WalkState::Continue
            })
        });
        drop(found);
        files.into_iter().collect()
    }

    fn hits(&self, root: &Path, path: &Path, set: &GlobSet) -> Vec<(usize, String)> {
        let Some(name) = relative(root, path) else {
            return Vec::new();
        };
        set.matches(&name)
            .into_iter()
            .map(|hit| (self.globs[hit].0, name.clone()))
            .collect()
    }
}

/// What the folders of a pattern's files are called, as far as the pattern says.
struct Shape {
    folders: Vec<GlobMatcher>,
    /// Whether folders below those may have any name and depth.
    open: bool,
}

impl Shape {
    fn of(pattern: &str) -> Self {
        let mut shape = Self {
            folders: Vec::new(),
            open: false,
        };
        let parts: Vec<&str> = pattern.split('/').collect();
        for part in &parts[..parts.len() - 1] {
            // Braces and classes may reach over a slash; what follows them is not taken apart.
            match GlobBuilder::new(part).build() {
                Ok(glob) if !part.contains("**") && !part.contains(['{', '[']) => {
                    shape.folders.push(glob.compile_matcher())
                }
                _ => {
                    shape.open = true;
                    break;
                }
            }
        }
        shape.open |= parts.iter().any(|part| part.contains(['{', '[']));
        shape
    }

    fn may_hold(&self, folder: &Path) -> bool {
        let mut names = folder.components().map(|part| Path::new(part.as_os_str()));
        let fits = self
            .folders
            .iter()
            .all(|wanted| names.next().is_none_or(|name| wanted.is_match(name)));
        fits && (self.open || names.next().is_none())
    }
}

fn is_worth_opening(entry: &DirEntry, root: &Path, shapes: &[Shape]) -> bool {
    if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return true;
    }
    let folder = entry.path().strip_prefix(root).unwrap_or(entry.path());
    entry.file_name() != ".git" && shapes.iter().any(|shape| shape.may_hold(folder))
}

/// A file, or a link to one. Links to folders are not followed.
fn is_file(entry: &DirEntry) -> bool {
    entry
        .file_type()
        .is_some_and(|kind| kind.is_file() || (kind.is_symlink() && entry.path().is_file()))
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    let relative = path.strip_prefix(root).ok()?;
    let name = relative.to_string_lossy();
    Some(if std::path::MAIN_SEPARATOR == '/' {
        name.into_owned()
    } else {
        name.replace('\\', "/")
    })
}

fn literal(root: &Path, index: usize, pattern: &str) -> Option<(usize, String)> {
    let path: PathBuf = root.join(pattern);
    path.is_file().then(|| (index, pattern.to_owned()))
}

fn glob(pattern: &str) -> Result<globset::Glob, String> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

fn has_wildcard(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}

/// The folders before the first part with a wildcard.
fn base(pattern: &str) -> &str {
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    pattern[..wild].rfind('/').map_or("", |slash| &pattern[..slash])
}

fn is_below(inner: &str, outer: &str) -> bool {
    outer.is_empty()
        || inner == outer
        || inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[(&str, bool)], expected: &[(usize, &str)]) {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "a.rs",
            "src/b.rs",
            "src/deep/c.rs",
            "src/deep/d.py",
            ".hidden/e.rs",
            "build/f.rs",
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::create_dir(root.path().join(".git")).unwrap();
        std::fs::write(root.path().join(".gitignore"), "build/\n").unwrap();
        let queries: Vec<_> = patterns
            .iter()
            .map(|&(pattern, ignore)| Query { pattern, ignore })
            .collect();
        let found = find(root.path(), &queries);
        let files: Vec<_> = found.files.iter().map(|(i, f)| (*i, f.as_str())).collect();
        assert_eq!(files, expected, "{patterns:?}");
    }

    //= specs/duvet.md#discovery
    //= type=test
    //# A pattern with wildcards MUST honour the project's ignore files; a pattern without them names its file.
    #[test]
    fn patterns_find_files_and_honour_ignore_files() {
        check(&[("src/**/*.rs", true)], &[(0, "src/b.rs"), (0, "src/deep/c.rs")]);
        check(
            &[("**/*.rs", true)],
            &[
                (0, ".hidden/e.rs"),
                (0, "a.rs"),
                (0, "src/b.rs"),
                (0, "src/deep/c.rs"),
            ],
        );
        check(
            &[("build/*.rs", true), ("build/f.rs", true)],
            &[(0, "build/f.rs"), (1, "build/f.rs")],
        );
        check(&[("**/f.rs", true), ("**/f.rs", false)], &[(1, "build/f.rs")]);
        check(
            &[("src/*.rs", true), ("src/deep/*.py", true)],
            &[(0, "src/b.rs"), (1, "src/deep/d.py")],
        );
        check(&[("nowhere/**/*.rs", true), ("absent.rs", true)], &[]);
    }

    #[test]
    fn only_folders_that_can_hold_a_file_are_opened() {
        let check = |pattern: &str, folder: &str, expected: bool| {
            let found = Shape::of(pattern).may_hold(Path::new(folder));
            assert_eq!(found, expected, "{pattern} in {folder}");
        };
        check("quic*/**/*.rs", "", true);
        check("quic*/**/*.rs", "quic2/src", true);
        check("quic*/**/*.rs", "specs", false);
        check("*/src/*.rs", "a", true);
        check("*/src/*.rs", "a/src", true);
        check("*/src/*.rs", "a/target", false);
        check("*/src/*.rs", "a/src/deep", false);
        check("**/*.rs", "any/where", true);
        check("{a/b,c}/*.rs", "a/b", true);
        check("a[/]b/*.rs", "a/b", true);
    }

    #[test]
    fn a_broken_pattern_is_named_and_the_others_are_answered() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a.rs"), "").unwrap();
        let queries = [
            Query {
                pattern: "a[",
                ignore: true,
            },
            Query {
                pattern: "*.rs",
                ignore: true,
            },
        ];
        let found = find(root.path(), &queries);
        assert_eq!(found.files, [(1, "a.rs".to_owned())]);
        assert_eq!(found.invalid.len(), 1);
    }
}
