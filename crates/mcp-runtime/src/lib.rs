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
//! A whole server, and a client that says one thing to it:
//!
//! ```
//! use mcp_runtime::{Info, Prompt, PromptMessage, Resource, ResourceContents, Server, Stop, Tool, ToolResult, lines};
//! use serde_json::{Value, json};
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder(Info::new("greeter", "1.0.0")).build();
//!
//! // A tool that may wait, tell of its progress, and ask the user. One that never waits is made with `Tool::ready`.
//! let greet = Tool::new("greet", "Greets somebody by name.", |cx, arguments| async move {
//!     cx.progress(1.0, Some(1.0), None).await;
//!     Ok::<_, Stop>(ToolResult::text(format!("Hello, {}!", arguments.text("name").unwrap_or("you"))))
//! });
//! let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
//! server.add_tool(greet.input(schema))?;
//!
//! // Something to read. `server.resource_changed(…)` tells those who watch it.
//! let read = |_cx, _request| async { Ok::<_, Stop>(vec![ResourceContents::text("greeter:///names", "text/plain", "Anna")]) };
//! server.add_resources(vec![Resource::new("greeter:///names", "names", "Who was greeted.", "text/plain", read)])?;
//!
//! // Something for people to pick.
//! let message = PromptMessage::user(mcp_runtime::Content::text("Greet {{name}} warmly."));
//! let prompt = Prompt::template("warmly", "A warm greeting.", vec![message]).argument("name", "Whom to greet.", true);
//! server.add_prompts(vec![prompt])?;
//!
//! // Any pair of byte streams will do; a program started by its host calls `stdio::serve` instead.
//! let (ours, theirs) = tokio::io::duplex(4096);
//! let (reader, writer) = tokio::io::split(theirs);
//! tokio::spawn(async move { lines::serve(&server, reader, writer, http::Extensions::new()).await });
//!
//! let (reader, mut writer) = tokio::io::split(ours);
//! let meta = json!({
//!     "io.modelcontextprotocol/protocolVersion": "2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities": {},
//! });
//! let params = json!({ "name": "greet", "arguments": { "name": "Anna" }, "_meta": meta });
//! let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
//! writer.write_all(format!("{call}\n").as_bytes()).await?;
//! let answer = BufReader::new(reader).lines().next_line().await?.ok_or("no answer")?;
//! let answer: Value = serde_json::from_str(&answer)?;
//! assert_eq!(answer["result"]["content"][0]["text"], "Hello, Anna!");
//! # Ok(())
//! # }
//! ```
//!
//! Start with [`Server::builder`], add [`Tool`]s, then serve: [`stdio::serve`], [`lines::serve`] on any pair of byte
//! streams, or [`streamable_http::McpService`] mounted at any path. Who may do what, and who sees what, is decided by a
//! [`Guard`]; where the limits are, by [`Limits`]; every refusal is one of the table in the crate `refusal`.

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
mod elicit;
pub mod envelope;
mod fields;
mod files;
mod form;
mod guard;
mod hub;
mod in_flight;
mod input;
mod level;
pub mod lines;
mod method;
mod news;
mod outbox;
mod outlet;
mod pending;
mod prompt;
mod rate;
mod registry;
mod resource;
mod roots;
mod sampler;
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
mod unsaved;
pub mod uri;
mod version;
mod waits;

pub use answer::RpcError;
pub use breaker::{Breaker, BreakerSettings, Pass};
pub use client::{Client, ClientCapabilities, TASKS_EXTENSION};
pub use completion::{Completer, Completing};
pub use content::{Annotations, Content, Icon, ResourceContents, Role};
pub use context::Context;
pub use core::Instructions;
pub use elicit::{Elicitation, ElicitationRequest, Elicited};
pub use files::{FileLimits, Files, WithFiles};
pub use guard::{Access, Entry, Guard};
pub use hub::{Change, List};
pub use input::{Ask, InputRequired};
pub use level::Level;
pub use method::CustomMethod;
pub use news::News;
pub use prompt::{NewArgument, NewPrompt, Prompt, PromptArgument, PromptMessage, PromptSource};
pub use rate::RateLimiter;
pub use registry::Listing;
pub use resource::{ReadRequest, Resource, ResourceSource, ResourceTemplate};
pub use roots::{FixedRoots, Root, RootKeeper, RootSet};
pub use sampler::{Decision, Sampled, Sampler, SamplingSettings, Strategy};
pub use schema::Schema;
pub use server::{Builder, Server};
pub use session_store::{MemorySessions, SessionEdit, SessionRecord, SessionStore, Unread};
pub use settings::{Info, Limits, Offers, Settings, VersionMismatch};
pub use template::Template;
pub use tool::{Arguments, Stop, TaskSupport, Tool, ToolAnnotations, ToolResult};
pub use version::{Era, Version};
