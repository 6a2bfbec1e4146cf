//! A server core for the Model Context Protocol, for servers of any kind.
//!
//! An MCP server has two halves. One half is about its subject: what the tools do, what the resources say. The other is
//! the same for everybody: JSON-RPC to the letter, five published versions in two eras, sessions, paging, progress,
//! cancellation, subscriptions, tasks, limits, and two transports that must not fall over. This crate is that other
//! half.
//!
//! The decision that shaped it: **a message is taken apart once, and only as far as needed.** The envelope is borrowed
//! pieces of the text; the method decides what is decoded next; what is known to be ready (a ping, a list, a tool that
//! never waits) is answered on the spot, into the buffer that is written next. Only work that may wait gets a task.
//! That is why the loop over stdio carries hundreds of thousands of messages a second.
//!
//! The second decision: **the era is data.** Whether a client shook hands (`initialize`) or introduces itself in every
//! message (`2026-07-28`) is decided in one place, `dispatch/terms.rs`, and becomes a value. Handlers ask the user a
//! question with [`Context::ask`] and do not learn how the question travels.
//!
//! The third: **every request is claimed once.** By its work, by a cancel or by a drain; whoever claims it decides its
//! one answer. A handler may panic, hang or be cancelled: it costs one answer and nothing else.
//!
//! What the crate refuses to know: the subject of the server, where users come from (it carries what the transport
//! attached, see [`Context::extension`]), databases, environment variables, and standard output other than as a
//! transport.
//!
//! ```no_run
//! use mcp_runtime::{Info, Server, Stop, Tool, ToolResult, stdio};
//! use serde_json::json;
//!
//! # async fn serve() -> Result<(), refusal::Refusal> {
//! let server = Server::builder(Info::new("greeter", "1.0.0")).build();
//! let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
//! let greet = Tool::new("greet", "Greets somebody by name.", |cx, arguments| async move {
//!     cx.progress(1.0, Some(1.0), None).await;
//!     Ok::<_, Stop>(ToolResult::text(format!("Hello, {}!", arguments.text("name").unwrap_or("you"))))
//! });
//! server.add_tool(greet.input(schema))?;
//! stdio::serve(&server, http::Extensions::new()).await;
//! # Ok(())
//! # }
//! ```
//!
//! Start with [`Server::builder`], add [`Tool`]s, then serve: [`stdio::serve`], [`lines::serve`] on any pair of byte
//! streams, or [`streamable_http::McpService`] mounted at any path.

mod answer;
mod batch;
mod breaker;
mod cache;
mod cancel;
mod client;
mod completion;
mod content;
mod context;
mod core;
mod cursor;
mod dispatch;
pub mod envelope;
mod fields;
mod guard;
mod hub;
mod in_flight;
mod input;
mod level;
pub mod lines;
mod method;
mod outbox;
mod outlet;
mod pending;
mod prompt;
mod rate;
mod registry;
mod resource;
mod schema;
mod seal;
mod server;
mod session;
mod session_store;
mod session_table;
mod settings;
pub mod stdio;
mod stream;
pub mod streamable_http;
mod task;
mod template;
mod tool;
pub mod uri;
mod version;

pub use answer::RpcError;
pub use breaker::{Breaker, BreakerSettings, Pass};
pub use client::{Client, ClientCapabilities, TASKS_EXTENSION};
pub use completion::{Completer, Completing};
pub use content::{Annotations, Content, Icon, ResourceContents, Role};
pub use context::Context;
pub use core::Instructions;
pub use guard::{Access, Guard};
pub use hub::{Change, List};
pub use input::{Ask, InputRequired};
pub use level::Level;
pub use method::CustomMethod;
pub use prompt::{NewArgument, NewPrompt, Prompt, PromptArgument, PromptMessage, PromptSource};
pub use rate::RateLimiter;
pub use registry::Listing;
pub use resource::{ReadRequest, Resource, ResourceSource, ResourceTemplate};
pub use schema::Schema;
pub use server::{Builder, Server};
pub use session_store::{MemorySessions, SessionRecord, SessionStore};
pub use settings::{Info, Limits, Offers, Settings, VersionMismatch};
pub use template::Template;
pub use tool::{Arguments, Stop, TaskSupport, Tool, ToolAnnotations, ToolResult};
pub use version::{Era, Version};
