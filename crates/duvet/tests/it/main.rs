//! The crate from outside: corpora, probes, the command.

mod corpora;
mod scratch;
