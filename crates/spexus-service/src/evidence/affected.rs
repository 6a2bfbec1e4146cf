//! Which requirements a change of the sources can have touched: those whose cited code, tests or sentences are in files that changed,
//! and those whose own text did.

use super::check::TraceGap;
use spexus_domain::trace::ItemTrace;
use spexus_domain::{Kind, Timestamp, Uuid};
use spexus_store::{Conn, Result, trace_whole};
use std::collections::HashSet;

/// What changed since a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedSince {
    /// The commit, as it is named to people.
    pub commit: String,
    /// When it was made: texts that were edited later changed since.
    pub made_at: Timestamp,
    /// The files that changed, with `/`, from the root of the repository.
    pub paths: Vec<String>,
}

/// Leaves only what may have changed.
//= specs/spexus-service.md#evidence
//# A check of what changed since a commit MUST look at every requirement with a cited span, a test or a sentence in a file that changed
//# since, or with a text edited since.
pub(super) async fn only_affected(
    conn: &mut Conn,
    project_id: Uuid,
    changed: &ChangedSince,
    rows: Vec<TraceGap>,
) -> Result<Vec<TraceGap>> {
    let paths = ChangedPaths::new(&changed.paths);
    let times = trace_whole::times(conn, project_id, Kind::Requirement).await?;
    let edited = times
        .into_iter()
        .filter(|(_, (_, updated))| *updated > changed.made_at);
    let mut affected: HashSet<Uuid> = edited.map(|(id, _)| id).collect();
    if !changed.paths.is_empty() {
        let traces = trace_whole::traces(conn, project_id).await?;
        let touched = traces.iter().filter(|(_, trace)| paths.touch(trace));
        affected.extend(touched.map(|(id, _)| *id));
    }
    Ok(rows
        .into_iter()
        .filter(|row| affected.contains(&row.item_id))
        .collect())
}

/// Files that changed, found by their ends: a tree may have been scanned from above or below the root of its repository.
struct ChangedPaths<'a> {
    whole: HashSet<&'a str>,
    tails: HashSet<&'a str>,
}

impl<'a> ChangedPaths<'a> {
    fn new(paths: &'a [String]) -> Self {
        let whole: HashSet<&str> = paths.iter().map(String::as_str).collect();
        let tails = whole.iter().flat_map(|path| ends(path)).collect();
        Self { whole, tails }
    }

    fn touch(&self, trace: &ItemTrace) -> bool {
        let spans = trace.spans.iter().map(|span| span.path.as_str());
        let tests = trace.tests.iter().map(|test| test.path.as_str());
        let sentences = trace.sentences.iter().map(|sentence| sentence.path.as_str());
        let mut all = spans
            .chain(tests)
            .chain(sentences)
            .filter(|path| !path.is_empty());
        all.any(|path| self.tails.contains(path) || ends(path).any(|end| self.whole.contains(end)))
    }
}

/// A path, and what is left of it without its first folders.
fn ends(path: &str) -> impl Iterator<Item = &str> {
    let starts = path.match_indices('/').map(|(at, _)| at + 1);
    std::iter::once(0).chain(starts).map(|at| &path[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_in(path: &str) -> ItemTrace {
        let test = serde_json::json!({"name": "t", "standing": "passed", "path": path, "by": "mark"});
        ItemTrace {
            tests: vec![serde_json::from_value(test).unwrap()],
            ..ItemTrace::default()
        }
    }

    #[test]
    fn files_are_found_from_another_root() {
        let changed = ["app/src/a.rs".to_owned(), "b.rs".to_owned()];
        let paths = ChangedPaths::new(&changed);
        for found in ["app/src/a.rs", "src/a.rs", "all/app/src/a.rs", "deep/b.rs"] {
            assert!(paths.touch(&test_in(found)), "{found}");
        }
        for other in ["src/b/a.rs", "app/src/ba.rs", "app/src", ""] {
            assert!(!paths.touch(&test_in(other)), "{other}");
        }
    }
}
