//! Transports: lines over any pair of byte streams, standard input and output, streamable HTTP.

pub mod lines;
pub mod stdio;
pub mod streamable_http;
