//! Documents read, changed and given back: the corpus, whatever text, and the format's own traps.

mod corpus;
mod reqif;
