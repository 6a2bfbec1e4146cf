//! Sentences as a person would cut them.
use super::Requirement;
use crate::specification::Specification;
pub(super) fn extract(specification: &Specification, section: usize) -> Vec<Requirement> {
    super::compat::extract(specification, section)
}
