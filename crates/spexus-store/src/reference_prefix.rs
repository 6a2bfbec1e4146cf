//! What stands before the references of an item, read beside it: the setting of its project.

use crate::engine::Row;
use crate::error::Result;
use spexus_domain::ProjectPrefix;

/// What stands before the references of items of a project that is joined under an alias: its key where its references are
/// shown with it, or nothing.
macro_rules! prefix_of {
    ($project:literal) => {
        concat!(
            "CASE WHEN ",
            $project,
            ".prefix_references = 1 THEN ",
            $project,
            ".key END"
        )
    };
}
pub(crate) use prefix_of;

/// What a column of `prefix_of!` says.
pub(crate) fn prefix(row: &Row, column: &str) -> Result<ProjectPrefix> {
    Ok(ProjectPrefix::of(row.opt_text(column)?.as_deref()))
}
