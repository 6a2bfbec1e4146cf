//! Where one page of a list ends and the next begins.

/// A row of a list that is read whole and given out in pages.
pub trait PageKey {
    /// What the list is in the order of, and where a page ends: one row has it and no other.
    fn page_key(&self) -> String;
}
