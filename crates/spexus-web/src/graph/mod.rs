//! The graph: what is around an item, drawn in layers from what it points to, through itself, to what points to it; the same
//! stands below as a list.

mod layout;
pub(crate) mod page;
