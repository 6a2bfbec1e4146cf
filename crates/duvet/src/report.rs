//! What an analysis looks like to people and programs. Each output is a function from an analysis to a text.

pub mod json_v1;
mod segment;
pub mod snapshot;
