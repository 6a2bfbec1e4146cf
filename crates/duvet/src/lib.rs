//! Traceability: which requirement of which specification is fulfilled by which lines of code and tests.
//!
//! A citation is a comment that quotes a sentence of a specification beside the code that fulfils it. The quote is the
//! link: it needs no ids in the specification, which is usually somebody else's text, and it can be checked, because
//! either the sentence stands there or it does not.
//!
//! The decision that shaped this crate: **nothing aborts**. A tool that stops at the first bad citation is useless at
//! the moment it is needed most, in the middle of a change. Every stage therefore returns a value and diagnostics, a
//! report always comes out, and a policy at the very end decides what fails.
//!
//! One call runs the whole way, and [`pipeline::analyse`] reads as this line does:
//!
//! ```text
//! paths ─ source (citation) ─ extraction (specification) ─ loader ─ matching ─ aggregate (status) ─ report
//! ```
//!
//! What is kept has three names: [`memo`] in memory between two passes, [`run_cache`] on disk between two runs, and
//! [`requirement_index`] for questions about one snapshot.
//!
//! What it refuses to know: the terminal, the environment, the clock, the network and the exit code. The binary has
//! those. Texts of specifications are read from disk only; how they got there is the business of [`lockfile`].

mod aggregate;
pub mod analysis;
pub mod citation;
pub mod config;
pub mod diagnostic;
mod effort;
pub mod engine;
mod excerpt;
pub mod extraction;
pub mod fence;
pub mod file_watcher;
pub mod fix;
pub mod identity;
pub mod init;
pub mod interval;
pub mod loader;
pub mod locator;
pub mod lockfile;
pub mod matching;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod memo;
pub mod merge;
mod mounts;
pub mod nearest;
pub mod output;
pub mod paths;
pub mod pipeline;
pub mod policy;
pub mod query;
pub mod report;
pub mod requirement_index;
mod resolve;
pub mod run_cache;
pub mod source;
pub mod specification;
pub mod status;
pub mod target;
pub mod text;
mod tolerant_toml;
pub mod unmapped;
