//! The page of one item and what can be done there, one file for each verb.

pub(crate) mod show;
