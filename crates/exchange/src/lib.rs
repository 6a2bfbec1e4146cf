//! Formats in and out: what other tools write, read without loss and written back without a needless change.
//!
//! The decision that shaped this crate: **keep the document, project the meaning.** A reader never turns a file into a model
//! and the model back into a file, because every model forgets something: a comment, an order, an extension of a tool. It
//! keeps the bytes, says what they mean and where each meaning stands, and a change is an edit of those bytes. So a document
//! nobody changed leaves as it came, and a change touches what it changes and nothing else.
//!
//! Bad input is a value: what could be read, and a [`Diagnostic`] with line and column for the rest. Limits are options with
//! their unit in the name. The crate knows nothing of projects, items or storage, and does no input or output of its own.

pub mod archive;
mod diagnostic;
pub mod folder;
pub mod merge;
pub mod reqif;
mod source;
pub mod xml;

pub use diagnostic::{Diagnostic, Severity};
pub use source::{SourceItem, SourceLevel, SourceLink, SourceLocation};
