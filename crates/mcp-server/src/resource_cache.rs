//! Contents of resources that were read, kept until a change is told.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use mcp_protocol::ResourceContents;
use parking_lot::{Mutex, MutexGuard};

#[derive(Debug)]
pub(crate) struct ResourceCache {
    state: Mutex<State>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    kept: HashMap<String, Arc<Vec<ResourceContents>>>,
    /// Oldest first; addresses that were forgotten may still stand here.
    order: VecDeque<String>,
    bytes: usize,
    /// Counts changes, so that what was read before one is not kept after it.
    generation: u64,
}

impl ResourceCache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            state: Mutex::default(),
            max_bytes,
        }
    }

    pub(crate) fn get(&self, uri: &str) -> Option<Arc<Vec<ResourceContents>>> {
        self.lock().kept.get(uri).cloned()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.lock().generation
    }

    /// Keeps what was read, unless something changed since `generation`.
    pub(crate) fn keep(&self, uri: &str, contents: Arc<Vec<ResourceContents>>, generation: u64) {
        let size = size(&contents);
        let mut state = self.lock();
        if state.generation != generation || size > self.max_bytes {
            return;
        }
        if let Some(old) = state.kept.insert(uri.to_owned(), contents) {
            state.bytes -= self::size(&old);
        } else {
            state.order.push_back(uri.to_owned());
        }
        state.bytes += size;
        while state.bytes > self.max_bytes {
            let Some(oldest) = state.order.pop_front() else {
                break;
            };
            state.forget(&oldest);
        }
    }

    // Fulfils 002 Req-Res-009
    //= specs/mcp-server.md#resources
    //# What was cached of a resource MUST be forgotten when a change of it is told, before anyone is notified.
    pub(crate) fn forget(&self, uri: &str) {
        let mut state = self.lock();
        state.generation += 1;
        state.forget(uri);
        state.order.retain(|kept| kept != uri);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn forget(&mut self, uri: &str) {
        if let Some(old) = self.kept.remove(uri) {
            self.bytes -= size(&old);
        }
    }
}

fn size(contents: &[ResourceContents]) -> usize {
    contents.iter().map(|c| c.wire_bytes() + c.uri.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(text: &str) -> Arc<Vec<ResourceContents>> {
        Arc::new(vec![ResourceContents::text("x:a", "text/plain", text)])
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept_after_it() {
        let cache = ResourceCache::new(100);
        let before = cache.generation();
        cache.forget("x:a");
        cache.keep("x:a", contents("old"), before);
        assert!(cache.get("x:a").is_none());
        cache.keep("x:a", contents("new"), cache.generation());
        assert!(cache.get("x:a").is_some());
    }

    #[test]
    fn the_oldest_gives_way_and_the_huge_never_enters() {
        let cache = ResourceCache::new(20);
        let keep = |uri: &str, text: &str| cache.keep(uri, contents(text), cache.generation());
        keep("1", "0123456789");
        keep("2", "0123456789");
        assert!(cache.get("1").is_none() && cache.get("2").is_some());
        keep("3", &"x".repeat(50));
        assert!(cache.get("3").is_none());
    }
}
