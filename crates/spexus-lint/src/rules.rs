//! The functions that judge.

pub(crate) mod numbers;
pub(crate) mod structure;
pub(crate) mod wording;
