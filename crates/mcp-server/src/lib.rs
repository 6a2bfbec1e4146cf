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
//! message (`2026-07-28`) is decided once, where the message enters (over HTTP a header may say it before the body does), and becomes
//! a value, `mcp_protocol::Terms`. What a revision does otherwise is a method of its `Version`. Handlers ask the user a question
//! with [`Context::ask`] and do not learn how it travels.
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
//! use mcp_protocol::{Content, PromptMessage, ResourceContents, ToolResult};
//! use mcp_server::{Info, Prompt, Resource, Server, Stop, Tool, lines};
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
//! let message = PromptMessage::user(Content::text("Greet {{name}} warmly."));
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

mod ask;
mod breaker;
mod cancel;
mod changes;
mod dispatch;
mod files;
mod index_key;
mod limits;
mod random;
mod rate_limiter;
mod rate_meter;
mod resource_cache;
mod root_dirs;
mod roots;
mod server;
mod session;
mod settings;
mod subscription;
mod task;
mod transport;

pub use ask::{Decision, Elicitation, ElicitationRequest, Sampled, Sampler, SamplingSettings, Strategy};
pub use breaker::{Breaker, BreakerSettings, Permit};
pub use changes::{Change, ChangeSet, List};
pub use files::{FileLimits, Files, WithFiles};
pub use limits::Limits;
pub use rate_limiter::RateLimiter;
pub use rate_meter::Meter;
pub use root_dirs::RootDirs;
pub use roots::{FixedRoots, Root, RootKeeper, RootSet};
pub use server::answered::Answered;
pub use server::completion::{Completer, Completing};
pub use server::context::Context;
pub use server::core::Instructions;
pub use server::guard::{Access, Entry, Guard};
pub use server::method::CustomMethod;
pub use server::nonce::{MemoryNonces, NonceStore};
pub use server::overrun::WorkClaim;
pub use server::prompt::{NewArgument, NewPrompt, Prompt, PromptSource};
pub use server::registry::Listing;
pub use server::resource::{ReadRequest, Resource, ResourceSource, ResourceTemplate};
pub use server::tool::{Stop, Tool};
pub use server::{Builder, Server};
pub use session::store::{
    MemorySessions, SessionEdit, SessionRecord, SessionStore, Subscription, UnreadMessage,
};
pub use settings::{Info, Offers, Settings, VersionMismatch};
pub use transport::{lines, stdio, streamable_http};
