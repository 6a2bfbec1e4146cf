//! The board: a lane for each status of a workflow. A step that the workflow does not allow says why before it is tried.

pub(crate) mod page;
pub(crate) mod step;
