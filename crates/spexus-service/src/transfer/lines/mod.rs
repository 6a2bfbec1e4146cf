//! JSON lines: everything of a project, one record on each line, in an order that can be written back as it is read.

mod discussion;
mod export;
mod import;
mod items;
mod record;
mod settings;

pub use export::export;
pub use import::import;

/// The version of the form this program writes and reads.
pub const VERSION: u32 = 1;

/// A longer line is no record of ours.
const MAX_LINE_BYTES: usize = 4 << 20;
