//! The product as HTTP: REST under `/api/v1`, its description, the MCP endpoint, health and metrics.
//!
//! Handlers hold no rule. Each one reads its input, calls one function of the service and renders what comes back; a
//! refusal is rendered in one place. The decision that shaped this crate: what is alike for every kind of item is
//! written once and mounted once for each kind, and the OpenAPI description is expanded the same way, so the surface
//! cannot differ between kinds by accident.
//!
//! Pages for people are a crate of their own, which mounts its routes here (`pages`): it finds sign-in, limits and the one
//! middleware as they are.
//!
//! The crate reads no environment and no files; the binary tells it everything through [`HttpOptions`].

mod account;
mod app;
mod audit;
mod auth;
mod baseline;
mod batch;
mod changes;
mod comment;
mod connection;
mod cors;
mod early;
mod extract;
mod health;
mod hosts;
mod item;
mod limits;
mod link;
mod mcp;
mod member;
mod middleware;
mod openapi;
mod options;
pub mod pages;
mod plan;
mod project;
mod prompt;
mod query;
mod report;
mod respond;
mod review;
mod router;
mod saved_view;
mod search;
mod sender;
mod server;
mod settings;
mod streamed_body;
mod tls;
mod trace;
mod work;
mod write_timeout;

pub use cors::is_origin;
pub use openapi::openapi;
pub use options::HttpOptions;
pub use sender::TrustedProxies;
pub use server::{mcp, serve, serve_with};
pub use spexus_mcp::{CompletionOptions, McpOptions, OfferedVersions, Sessions, Toolset, VersionMismatch};
pub use tls::{Tls, TlsFault};
