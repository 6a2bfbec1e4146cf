//! Which files the patterns of a project mean.
//!
//! All patterns are answered by one walk per folder they have in common, walks beside each other, long ones on all cores. A
//! folder that no pattern can have files in is not opened. Ignore files (`.gitignore`,
//! `.ignore`) are honoured for sources, so that a pattern such as `**/*.rs` does not wander into build output. What a
//! pattern names before its first wildcard is meant: it is searched even when an ignore file leaves it out.

use crate::fence::Fence;
use globset::GlobMatcher;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;
use rayon::prelude::*;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// A tree with more folders is walked by all cores.
const MAX_FOLDERS_ALONE: usize = 100;

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
    /// Files that a link leads to.
    pub linked: HashSet<String>,
    /// Index of the pattern and what is wrong with it.
    pub invalid: Vec<(usize, String)>,
    /// Folders and files that could not be looked at, and why; sorted, each once.
    pub unreadable: Vec<(String, String)>,
    /// Links that lead outside the project and are not followed; sorted, each once.
    pub outside: Vec<String>,
}

/// What one walk found.
#[derive(Default)]
struct Walked {
    hits: Vec<Hit>,
    unreadable: Vec<(String, String)>,
    outside: Vec<String>,
    /// Which of the named folders it came to.
    reached: HashSet<String>,
}

/// One file of a walk.
struct Hit {
    index: usize,
    name: String,
    is_linked: bool,
}

/// Answers all patterns at once.
//= specs/duvet.md#discovery
//# A pattern with wildcards MUST honour the project's ignore files; a pattern without them names its file.
pub fn find(root: &Path, fence: &Fence, queries: &[Query<'_>]) -> Found {
    let mut found = Found::default();
    let mut walks: Vec<Walk> = Vec::new();
    for (index, query) in queries.iter().enumerate() {
        let pattern = query.pattern.strip_prefix("./").unwrap_or(query.pattern);
        if !fence.holds(&root.join(base(pattern))) {
            let problem =
                "it leads outside the project; name its folder with `--allow-read` if that is meant";
            found.invalid.push((index, problem.to_owned()));
            continue;
        }
        if !has_wildcard(pattern) {
            let path = root.join(pattern);
            match path.metadata() {
                Ok(metadata) if metadata.is_file() && fence.holds(&path) => {
                    // Whether a link leads here is not known; it is looked at each time.
                    found.linked.insert(pattern.to_owned());
                    found.files.push((index, pattern.to_owned()));
                }
                Ok(metadata) if metadata.is_file() => found.outside.push(pattern.to_owned()),
                Err(problem) if !is_absent(&problem) => {
                    found.unreadable.push((pattern.to_owned(), problem.to_string()));
                }
                _ => {}
            }
            continue;
        }
        match glob(pattern) {
            Ok(glob) => Walk::add(&mut walks, query.ignore, base(pattern), (index, glob)),
            Err(error) => found.invalid.push((index, error)),
        }
    }
    let walked: Vec<Walked> = walks.par_iter().map(|walk| walk.run(root, fence)).collect();
    for walk in walked {
        for hit in walk.hits {
            if hit.is_linked {
                found.linked.insert(hit.name.clone());
            }
            found.files.push((hit.index, hit.name));
        }
        found.unreadable.extend(walk.unreadable);
        found.outside.extend(walk.outside);
    }
    found.files.sort_unstable();
    found.files.dedup();
    found.unreadable.sort_unstable();
    found.unreadable.dedup_by(|a, b| a.0 == b.0);
    found.outside.sort_unstable();
    found.outside.dedup();
    found
}

/// Whether one of the patterns means a name.
pub(crate) fn matcher(patterns: &[String]) -> impl Fn(&str) -> bool {
    let mut builder = GlobSetBuilder::new();
    for glob in patterns.iter().filter_map(|pattern| glob(pattern).ok()) {
        builder.add(glob);
    }
    let set = builder.build().unwrap_or_else(|_| GlobSet::empty());
    move |name| set.is_match(name)
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

    /// The files of its patterns. A folder that a pattern names is searched though an ignore file leaves it out: where
    /// the walk did not come to it, it is walked by itself.
    fn run(&self, root: &Path, fence: &Fence) -> Walked {
        let named: HashSet<&str> = self
            .globs
            .iter()
            .map(|(_, glob)| base(glob.glob()))
            .filter(|named| self.ignore && *named != self.base)
            .collect();
        let mut walked = self.walk(root, fence, &named);
        let reached = std::mem::take(&mut walked.reached);
        for base in named.into_iter().filter(|named| !reached.contains(*named)) {
            let inner = Walk {
                base: base.to_owned(),
                ignore: self.ignore,
                globs: self
                    .globs
                    .iter()
                    .filter(|(_, glob)| is_below(self::base(glob.glob()), base))
                    .cloned()
                    .collect(),
            };
            let inner = inner.run(root, fence);
            walked.hits.extend(inner.hits);
            walked.unreadable.extend(inner.unreadable);
            walked.outside.extend(inner.outside);
        }
        walked
    }

    /// One walk.
    fn walk(&self, root: &Path, fence: &Fence, named: &HashSet<&str>) -> Walked {
        let mut walked = Walked::default();
        let start = root.join(&self.base);
        match start.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Err(problem) if !is_absent(&problem) => {
                walked.unreadable.push((self.base.clone(), problem.to_string()));
                return walked;
            }
            _ => return walked,
        }
        let mut builder = GlobSetBuilder::new();
        for (_, glob) in &self.globs {
            builder.add(glob.clone());
        }
        let Ok(set) = builder.build() else {
            return walked;
        };
        let is_base_plain = fence.real(&start).is_ok_and(|real| {
            root.canonicalize()
                .is_ok_and(|root| real == root.join(&self.base))
        });
        let mut walker = WalkBuilder::new(start);
        walker
            .standard_filters(false)
            .git_ignore(self.ignore)
            .ignore(self.ignore)
            .git_exclude(self.ignore);
        walker.parents(self.ignore).follow_links(true);
        let shapes: Vec<Shape> = self
            .globs
            .iter()
            .map(|(_, glob)| Shape::of(glob.glob()))
            .collect();
        let (top, inner) = (root.to_owned(), fence.clone());
        let followed: Arc<Mutex<HashSet<PathBuf>>> = Arc::default();
        let follow = Arc::clone(&followed);
        let left_out: Arc<Mutex<Vec<String>>> = Arc::default();
        let leave_out = Arc::clone(&left_out);
        let meant = set.clone();
        let reached: Arc<Mutex<HashSet<String>>> = Arc::default();
        let reach = Arc::clone(&reached);
        let awaited: HashSet<String> = named.iter().map(|name| (*name).to_owned()).collect();
        walker.filter_entry(move |entry| {
            if entry.path_is_symlink() {
                let name = relative(&top, entry.path());
                if !inner.holds(entry.path()) {
                    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                    if is_folder && is_worth_opening(entry, &top, &shapes) || meant.is_match(&name) {
                        leave_out.lock().push(name);
                    }
                    return false;
                }
                follow.lock().insert(PathBuf::from(name));
            }
            let is_open = is_worth_opening(entry, &top, &shapes);
            if is_open && !awaited.is_empty() {
                let name = relative(&top, entry.path());
                if awaited.contains(&name) {
                    reach.lock().insert(name);
                }
            }
            is_open
        });
        let (files, unreadable) = match self.walk_alone(root, &walker, &set) {
            Some(found) => found,
            None => self.walk_together(root, &mut walker, &set),
        };
        let followed = followed.lock();
        let is_linked =
            |name: &str| !is_base_plain || Path::new(name).ancestors().any(|above| followed.contains(above));
        walked.hits = files
            .into_iter()
            .map(|(index, name)| Hit {
                index,
                is_linked: is_linked(&name),
                name,
            })
            .collect();
        walked.unreadable.extend(unreadable);
        walked.outside = std::mem::take(&mut *left_out.lock());
        walked.reached = std::mem::take(&mut *reached.lock());
        walked
    }

    /// A small tree is walked by this thread: starting others, and their waiting for each other, takes longer. `None` for a
    /// large one.
    fn walk_alone(&self, root: &Path, walker: &WalkBuilder, set: &GlobSet) -> Option<FilesAndFaults> {
        let mut folders = 0;
        let (mut files, mut unreadable) = (Vec::new(), Vec::new());
        for entry in walker.build() {
            match entry {
                Ok(entry) if is_file(&entry) => files.extend(self.hits(root, entry.path(), set)),
                Ok(_) => {
                    folders += 1;
                    if folders > MAX_FOLDERS_ALONE {
                        return None;
                    }
                }
                Err(error) => unreadable.extend(fault(root, &self.base, &error, set)),
            }
        }
        Some((files, unreadable))
    }

    fn walk_together(&self, root: &Path, walker: &mut WalkBuilder, set: &GlobSet) -> FilesAndFaults {
        walker.threads(rayon::current_num_threads());
        let (found, files) = channel();
        let (missed, faults) = channel();
        walker.build_parallel().run(|| {
            let (found, missed) = (found.clone(), missed.clone());
            Box::new(move |entry| {
                // The receivers wait below until every walker is done.
                match entry {
                    Ok(entry) if is_file(&entry) => {
                        for hit in self.hits(root, entry.path(), set) {
                            let _ = found.send(hit);
                        }
                    }
                    Ok(_) => {}
                    Err(error) => {
                        let _ = fault(root, &self.base, &error, set).map(|fault| missed.send(fault));
                    }
                }
                WalkState::Continue
            })
        });
        drop((found, missed));
        (files.into_iter().collect(), faults.into_iter().collect())
    }

    fn hits(&self, root: &Path, path: &Path, set: &GlobSet) -> Vec<(usize, String)> {
        let name = relative(root, path);
        set.matches(&name)
            .into_iter()
            .map(|hit| (self.globs[hit].0, name.clone()))
            .collect()
    }
}

/// Index of a pattern and a file's name, and what could not be looked at.
type FilesAndFaults = (Vec<(usize, String)>, Vec<(String, String)>);

//= specs/duvet.md#nothing-lost
//# A folder that cannot be searched MUST be a missing input.
/// What a walk could not look at; `None` where nothing can be missed. A link that leads nowhere or in a circle holds no
/// file, and what vanished during the walk is gone.
fn fault(root: &Path, base: &str, error: &ignore::Error, set: &GlobSet) -> Option<(String, String)> {
    let problem = error.io_error()?;
    if is_absent(problem) {
        return None;
    }
    let path = path_of(error);
    let name = path.map_or_else(|| base.to_owned(), |path| relative(root, path));
    let is_link = path.is_some_and(|path| path.is_symlink());
    (!is_link || set.is_match(&name)).then(|| (name, problem.to_string()))
}

fn is_absent(problem: &std::io::Error) -> bool {
    matches!(
        problem.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    ) || is_loop(problem)
}

#[cfg(unix)]
fn is_loop(problem: &std::io::Error) -> bool {
    problem.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(not(unix))]
fn is_loop(_problem: &std::io::Error) -> bool {
    false
}

/// The path that an error of a walk is about.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
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
        // The walk of an absolute pattern begins where its wildcards do.
        shape.open = pattern.starts_with('/');
        let folders = if shape.open {
            &[]
        } else {
            &parts[..parts.len() - 1]
        };
        for part in folders {
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

/// A file, or a link to one.
fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

/// The name relative to the root; a file that an absolute pattern found keeps its whole path.
fn relative(root: &Path, path: &Path) -> String {
    let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' {
        name.into_owned()
    } else {
        name.replace('\\', "/")
    }
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
pub fn base(pattern: &str) -> &str {
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    pattern[..wild].rfind('/').map_or("", |slash| &pattern[..slash])
}

fn is_below(inner: &str, outer: &str) -> bool {
    (outer.is_empty() && !inner.starts_with('/'))
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
        let found = find(root.path(), &Fence::new(root.path(), &[]), &queries);
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
        // One walk for both, and yet the folder that is named is searched.
        check(
            &[("**/*.rs", true), ("build/*.rs", true), ("src/deep/*.py", true)],
            &[
                (0, ".hidden/e.rs"),
                (0, "a.rs"),
                (0, "src/b.rs"),
                (0, "src/deep/c.rs"),
                (1, "build/f.rs"),
                (2, "src/deep/d.py"),
            ],
        );
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
        let found = find(root.path(), &Fence::new(root.path(), &[]), &queries);
        assert_eq!(found.files, [(1, "a.rs".to_owned())]);
        assert_eq!(found.invalid.len(), 1);
    }
}
