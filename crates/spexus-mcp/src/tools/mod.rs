//! The tools: this file is their table of contents. A tool is a row; nothing registers itself elsewhere.

mod items;
mod spec;

pub(crate) use spec::Spec;

/// Every tool, in the order they are listed.
pub(crate) fn all() -> Vec<Spec> {
    [items::tools()].into_iter().flatten().collect()
}
