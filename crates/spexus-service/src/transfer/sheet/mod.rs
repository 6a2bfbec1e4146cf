//! CSV, for spreadsheets: one row for each item. A column is what the field shall be; a field without a column stays as it
//! is. An empty cell clears what can be empty (description, assignee, acceptance criterion, attributes) and leaves the
//! rest alone. The column `rev` guards against overwriting what someone else changed meanwhile.

mod column;
mod export;
mod formula;
mod import;

pub use column::DEFAULT_COLUMNS;
pub use export::{Layout, export};
pub use formula::guarded;
pub use import::import;
