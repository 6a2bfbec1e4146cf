//! The matrix: items of one kind against those of another, with the links between them; a window of rows at a time. A cell leads to
//! the links it stands for.

pub(crate) mod cell;
pub(crate) mod csv;
pub(crate) mod page;
mod query;
mod window;
