//! What Spexus manages and the rules that hold for it.
//!
//! Epics hold user stories, stories hold acceptance criteria and requirements; all of them, and steering documents,
//! are *items*: one shape with kind rules as data ([`kind`]), so that links, comments, history, search and deletion are
//! written once and work on every kind. What differs between kinds is a row in a table, not a branch in the code.
//!
//! The crate is pure: values in, values or a [`refusal::Refusal`] out. It does no I/O, reads no clock, makes no random
//! number and knows nothing of SQL, HTTP or MCP. Whoever calls it brings the facts (the parent, the workflow, the
//! links that exist) and stores the result.
//!
//! The serialised form of these values is the product's: REST, MCP and the command line all print them as they are.

pub mod account;
pub mod analysis;
pub mod anchor;
pub mod app;
pub mod attribute;
pub mod audit;
pub mod baseline;
pub mod batch;
pub mod change;
pub mod checkpoint;
pub mod comment;
pub mod decode;
pub mod deletion;
pub mod feed;
pub mod hint;
pub mod id;
pub mod item;
pub mod item_context;
pub mod kind;
pub mod lease;
pub mod limits;
pub mod link;
pub mod member;
pub mod nearest;
pub mod network;
pub mod page_key;
pub mod password;
pub mod permission;
pub mod plan;
pub mod project;
pub mod prompt;
pub mod query;
pub mod report;
pub mod requirement_type;
pub mod review;
pub mod root;
pub mod saved_view;
pub mod search;
mod shown_change;
pub mod text;
pub mod time;
pub mod tokens;
pub mod told;
pub mod trace;
pub mod tree;
pub mod visibility;
pub mod workflow;

pub use id::{AnyId, ProjectPrefix, Reference, ShownReference};
pub use kind::Kind;
pub use refusal::{Code, Fault, Refusal};
pub use time::Timestamp;
pub use uuid::Uuid;

/// What a rule answers: the value, or the refusal to show.
pub type Ruled<T> = Result<T, Refusal>;
