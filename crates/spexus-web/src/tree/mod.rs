//! The tree: level by level, as far as it was opened. What is open stands in the address; a node is moved by a plain form, which
//! dragging and keys only fill in.

pub(crate) mod movement;
pub(crate) mod page;
mod query;
