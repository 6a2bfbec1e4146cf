//! The Model Context Protocol as values: what goes over the wire, and what differs between its five revisions.
//!
//! Nothing here waits, listens or keeps time. Bytes are cut into messages by a [`LineBuffer`], a message is taken apart by [`envelope`], its parameters by [`fields`]; the
//! revision it is written in is a [`Version`], decided once per message and handed on as [`Terms`]. Whatever a revision does
//! otherwise is a method of [`Version`]: code asks `version.has_input_rounds()` and never compares dates.
//!
//! Servers are built on this crate with `mcp-server`, clients with `mcp-client`. What it refuses to know: sockets, sessions, tasks of a runtime, files,
//! the clock and randomness. Whoever signs a request state brings the time and the nonce.

mod ask;
mod client;
mod content;
mod cursor;
pub mod envelope;
mod error;
pub mod experimental;
pub mod fields;
mod form;
mod level;
mod line_buffer;
mod method;
mod prompt;
mod prompt_template;
mod response;
mod rounds;
mod schema;
mod signer;
mod terms;
mod tool;
pub mod uri;
mod uri_template;
mod version;

pub use ask::{Ask, Elicited, InputRequired, missing_capability};
pub use client::{Client, ClientCapabilities, TASKS_EXTENSION};
pub use content::{Annotations, Content, Icon, ResourceContents, Role};
pub use cursor::Cursor;
pub use error::{RpcCode, RpcError};
pub use fields::Fields;
pub use form::{Form, is_flat};
pub use level::Level;
pub use line_buffer::{Line, LineBuffer};
pub use method::{Method, names as method_names};
pub use prompt::{PromptArgument, PromptMessage};
pub use prompt_template::PromptTemplate;
pub use response::{Outcome, ResultMeta, ResultType, notification, write_error, write_json, write_result};
pub use rounds::InputRounds;
pub use schema::{Schema, arguments};
pub use signer::Signer;
pub use terms::{META_VERSION, Terms, level_named, unsupported_version};
pub use tool::{Arguments, TaskSupport, ToolAnnotations, ToolResult, renamed};
pub use uri_template::UriTemplate;
pub use version::{OfferedVersions, Version};
