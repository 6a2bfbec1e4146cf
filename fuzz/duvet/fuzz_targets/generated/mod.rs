//! The generator of `cargo xtask duvet-diff`.

#[path = "../../../../xtask/src/duvet_diff/project.rs"]
mod project;
#[path = "../../../../xtask/src/duvet_diff/text.rs"]
mod text;

/// The files of a project.
pub fn files(number: u64) -> Vec<(String, String)> {
    project::generate(number).files
}
