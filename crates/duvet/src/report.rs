//! What an analysis looks like to people and programs. Each output is a function from an analysis to a text.

pub mod html;
pub mod json_v1;
pub mod json_v2;
pub mod lcov;
pub mod markdown;
mod part;
pub(crate) mod segment;
pub mod snapshot;
pub mod summary;
pub mod table;
mod writer;
