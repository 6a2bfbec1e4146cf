//! The rules at work: examples of the table, labelled sentences, the corpora.

mod corpora;
mod examples;
mod labelled;
mod properties;
mod sets;
