//! JSON lines: everything of a project, one record on each line, in an order that can be written back as it is read.
//!
//! A file of version 2 carries the history as well: the ledger of the project, change by change, what was deleted, the
//! baselines and the reviews. Who takes it takes the project itself: same ids, same ledger, which goes on where it ended (`history.rs`).

mod discussion;
mod evidence;
mod export;
mod history;
mod import;
mod items;
mod record;
mod review;
mod settings;

pub use export::export;
pub use import::{ImportOptions, import};

/// The version of a file without history.
pub const PLAIN: u32 = 1;

/// The version of a file that carries the history of its project.
pub const WITH_HISTORY: u32 = 2;

/// A longer line is no record of ours.
const MAX_LINE_BYTES: usize = 4 << 20;
