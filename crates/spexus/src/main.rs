//! crates/spexus
fn main() {}
