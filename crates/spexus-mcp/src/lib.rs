//! The product as MCP: what an agent can read, do and be told.
//!
//! Everything a person can do by REST an agent can do here, with the same rights, the same rules and the same history,
//! because both call the same functions of the service. This crate adds what is particular to agents: answers that are
//! small unless more is asked for, names wherever an id is asked for, a list of tools that fits the task and the
//! token, and prompts that bring their context along.
//!
//! The decision that shaped it: **tools, resources and prompts are rows of tables.** What is alike for every kind of
//! item is written once and expanded for each kind; the guard that hides what a token may not use, the audit trail, the
//! metrics and the reference in `docs/` all read the same rows, so they cannot disagree.
//!
//! The crate knows no transport: [`Mcp::server`] is mounted by HTTP or served over a pair of streams, and whoever does
//! that attaches a [`Visit`] to say on whose behalf requests come. It knows no SQL and reads no environment.

mod audit;
mod guard;
mod instructions;
mod options;
mod render;
mod resources;
mod schema;
mod tools;
mod visit;

pub use options::{McpOptions, Toolset};
pub use visit::Visit;

use guard::Gate;
use mcp_runtime::{Info, Instructions, Limits, Server, Settings};
use spexus_domain::Ruled;
use spexus_service::Service;
use std::sync::Arc;

/// The product as an MCP server.
#[derive(Clone)]
pub struct Mcp {
    server: Server,
    options: Arc<McpOptions>,
}

impl Mcp {
    /// Makes the server with everything it offers.
    pub fn new(service: &Service, options: McpOptions) -> Ruled<Self> {
        let options = Arc::new(options);
        let registered = tools::all();
        let server = Server::builder(info(&options))
            .settings(settings(&options))
            .instructions(instructions(service, &options))
            .guard(Gate::new(&registered))
            .build();
        server.add_tools(
            registered
                .into_iter()
                .map(|tool| tool.into_tool(service))
                .collect(),
        )?;
        for template in resources::templates(service) {
            server.add_template(template)?;
        }
        Ok(Self { server, options })
    }

    /// The server, to be mounted or served. Requests must carry a [`Visit`] in their extensions.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// How it was made.
    pub fn options(&self) -> &McpOptions {
        &self.options
    }
}

//= specs/spexus-mcp.md#saying-hello
//# The server MUST introduce itself with its configured name, title and version; by default `spexus mcp`, `MCP server for requirements management system` and the version of the product.
fn info(options: &McpOptions) -> Info {
    Info {
        title: Some(options.title.clone()),
        ..Info::new(options.name.clone(), options.version.clone())
    }
}

fn settings(options: &McpOptions) -> Settings {
    Settings {
        version_mismatch: options.version_mismatch,
        chunk_key: "spexus/chunk".to_owned(),
        limits: Limits {
            serve_timeout_ms: options.serve_timeout_ms,
            drain_timeout_ms: options.drain_timeout_ms,
            ..Limits::default()
        },
        ..Settings::default()
    }
}

fn instructions(service: &Service, options: &Arc<McpOptions>) -> Instructions {
    let (service, options) = (service.clone(), options.clone());
    Instructions::Made(Arc::new(move |cx| {
        let (service, options) = (service.clone(), options.clone());
        Box::pin(async move { instructions::make(&cx, &service, &options).await })
    }))
}
