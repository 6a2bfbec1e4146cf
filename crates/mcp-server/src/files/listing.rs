//! Lists of files: in order, in pages, without what ignore files leave out.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use refusal::{Code, Refusal};

use super::{Inner, kinds};
use crate::root_dirs::RootDirs;
use crate::server::context::Context;
use crate::server::registry::Listing;
use crate::server::resource::Resource;
use mcp_protocol::{Annotations, uri};

/// Paths suggested at once.
const MAX_SUGGESTED: usize = 100;

/// One page, after the path where the page before ended.
//= specs/mcp-server.md#roots
//# The list of files MUST come in pages, in order, and leave out what the ignore files of a folder name.
pub(super) fn page(
    files: &Inner,
    client: Option<&RootDirs>,
    from: &str,
    under: Option<&str>,
) -> Result<Listing<Resource>, Refusal> {
    let under = under
        .map(|under| uri::canonical(under).and_then(|form| uri::path_of(&form)))
        .transpose()?;
    let roots = files.roots.folders();
    let reaches = |under: &PathBuf| roots.holds(under) || roots.iter().any(|root| root.starts_with(under));
    if let Some(under) = under.as_ref().filter(|under| !reaches(under)) {
        let problem = format!("{:?} is outside the allowed roots", uri::of_path(under));
        return Err(Refusal::new(Code::UriOutOfBounds, problem));
    }
    let mut walk = Walk::new(
        files,
        client,
        (!from.is_empty()).then(|| PathBuf::from(from)),
        under,
    );
    let limit = files.limits.page_entries;
    let paths: Vec<PathBuf> = walk
        .by_ref()
        .filter(|path| kinds::is_text(path))
        .take(limit)
        .collect();
    // A page may be short because too much was looked at; the next one goes on from there.
    let next = (paths.len() == limit || walk.is_cut())
        .then(|| walk.seen.clone())
        .flatten();
    Ok(Listing {
        next: next.and_then(|path| path.to_str().map(str::to_owned)),
        entries: paths.iter().map(|path| entry(files, path)).collect(),
    })
}

/// Paths that go on as typed, or hold what was typed in their order of letters.
pub(super) fn suggest(files: &Inner, client: Option<&RootDirs>, typed: &str) -> Result<Vec<String>, Refusal> {
    let wanted = typed.trim().trim_start_matches('/').to_lowercase();
    let roots = files.roots.folders();
    let (mut begin, mut inside, mut hold) = (Vec::new(), Vec::new(), Vec::new());
    for path in Walk::new(files, client, None, None) {
        let Some(shown) = path.to_str().map(|path| path.trim_start_matches('/')) else {
            continue;
        };
        // Letters of the way to the root say less than letters of the way from it.
        let below = roots.root_of(&path).and_then(|root| path.strip_prefix(root).ok());
        let below = below.and_then(Path::to_str).unwrap_or_default().to_lowercase();
        let folded = shown.to_lowercase();
        if folded.starts_with(&wanted) {
            begin.push(shown.to_owned());
        } else if inside.len() < MAX_SUGGESTED && is_in_order(&wanted, &below) {
            inside.push(shown.to_owned());
        } else if hold.len() < MAX_SUGGESTED && is_in_order(&wanted, &folded) {
            hold.push(shown.to_owned());
        }
        if begin.len() > MAX_SUGGESTED {
            break;
        }
    }
    begin.extend(inside);
    begin.extend(hold);
    Ok(begin)
}

fn is_in_order(wanted: &str, text: &str) -> bool {
    let mut letters = text.chars();
    wanted
        .chars()
        .all(|wanted| letters.any(|letter| letter == wanted))
}

/// All files of all roots in order, from a place on, as far as one request may look.
struct Walk {
    walks: Vec<ignore::Walk>,
    from: Option<PathBuf>,
    left: usize,
    client: Option<RootDirs>,
    roots: RootDirs,
    seen: Option<PathBuf>,
}

impl Walk {
    fn new(files: &Inner, client: Option<&RootDirs>, from: Option<PathBuf>, under: Option<PathBuf>) -> Self {
        let roots = files.roots.folders();
        let starts = roots.iter().filter_map(|root| match &under {
            None => Some(root.to_owned()),
            Some(under) if under.starts_with(root) => Some(under.clone()),
            Some(under) => root.starts_with(under).then(|| root.to_owned()),
        });
        // What lies below a link or a hidden folder is not listed, whoever asks for it.
        let real = |start: &PathBuf| {
            let root = roots.root_of(start).unwrap_or(start);
            start.canonicalize().is_ok_and(|real| real == *start)
                && kinds::is_served(start.strip_prefix(root).unwrap_or(start))
        };
        let mut walks: Vec<ignore::Walk> = starts
            .filter(real)
            .map(|start| walk(&start, from.clone()))
            .collect();
        walks.reverse();
        Self {
            walks,
            from,
            left: files.limits.max_walked_entries,
            client: client.cloned(),
            roots: roots.clone(),
            seen: None,
        }
    }

    fn is_cut(&self) -> bool {
        self.left == 0
    }

    fn fits(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let inside = self
            .roots
            .root_of(path)
            .and_then(|root| path.strip_prefix(root).ok());
        entry.file_type().is_some_and(|kind| kind.is_file())
            && inside.is_some_and(kinds::is_served)
            && self.from.as_deref().is_none_or(|from| path > from)
            && self.client.as_ref().is_none_or(|client| client.holds(path))
    }
}

impl Iterator for Walk {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        while self.left > 0 {
            let Some(entry) = self.walks.last_mut()?.next() else {
                self.walks.pop();
                continue;
            };
            self.left -= 1;
            // What cannot be looked at is not there for us.
            let Ok(entry) = entry else { continue };
            if entry.depth() > 0 {
                self.seen = Some(entry.path().to_owned());
            }
            if self.fits(&entry) {
                return Some(entry.into_path());
            }
        }
        None
    }
}

fn walk(start: &Path, from: Option<PathBuf>) -> ignore::Walk {
    let mut walker = WalkBuilder::new(start);
    walker
        .follow_links(false)
        .require_git(false)
        .git_global(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(move |entry| from.as_deref().is_none_or(|from| !is_before(entry.path(), from)));
    walker.build()
}

/// Whether all that a path holds comes before a place; such a folder is not opened again.
fn is_before(path: &Path, from: &Path) -> bool {
    path < from && !from.starts_with(path)
}

/// An entry of the list. It is only shown: reading goes by address.
fn entry(files: &Inner, path: &Path) -> Resource {
    let roots = files.roots.folders();
    let inside = roots
        .root_of(path)
        .and_then(|root| path.strip_prefix(root).ok())
        .unwrap_or(path);
    let nothing = |_cx: Context, _request| async { Ok::<_, Refusal>(Vec::new()) };
    let mime = kinds::mime_type(path).unwrap_or("text/plain");
    let name = inside.to_string_lossy();
    let mut resource = Resource::new(
        uri::of_path(path),
        name,
        "A file inside the roots.",
        mime,
        nothing,
    );
    if let Ok(metadata) = path.metadata() {
        resource.size = Some(metadata.len());
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| jiff::Timestamp::try_from(time).ok());
        resource.annotations = modified.map(|time| Annotations {
            last_modified: Some(time.to_string()),
            ..Annotations::default()
        });
    }
    resource
}
