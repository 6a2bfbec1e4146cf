//! What a session knows of the roots its client declares: asked for when they are first needed, kept until they change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::root_dirs::RootDirs;

/// What a session knows of roots.
#[derive(Debug, Default)]
pub(crate) struct SessionRoots {
    /// How often they changed, and what the client last said.
    declared: Mutex<(u32, Option<Declared>)>,
    /// Whether the client asked for the server's roots and so wants to hear of changes.
    follows: AtomicBool,
}

/// `None` inside: the client named no folder, which limits nothing.
pub(crate) type Declared = Option<Arc<RootDirs>>;

impl SessionRoots {
    /// The client's roots changed; they are asked for again when they are needed.
    //= specs/mcp-server.md#roots
    //# After the client told that its roots changed, they MUST be asked for again before they are used.
    pub(crate) fn forget(&self) {
        let mut declared = self.lock();
        *declared = (declared.0.wrapping_add(1), None);
    }

    pub(crate) fn follow(&self) {
        self.follows.store(true, Ordering::Release);
    }

    pub(crate) fn is_following(&self) -> bool {
        self.follows.load(Ordering::Acquire)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, (u32, Option<Declared>)> {
        self.declared.lock()
    }
}
