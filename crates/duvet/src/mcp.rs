//! The MCP server of a project: resources, tools and the guide of document 004.
//!
//! Nothing is kept here between two calls. Each of them takes a fresh snapshot from the engine (`SnapshotHolder::ask`), asks
//! the requirement index one question and renders the value, so an answer is never older than its question. Whoever wants
//! notifications instead of asking subscribes; [`changes::notify`] compares snapshots and sends what became different.
//!
//! The server only reads: no tool writes, and what it shows of files lies in the project's folder, links resolved.

pub mod changes;
mod prompts;
mod resources;
mod snapshots;
mod tools;
mod tree;

pub use snapshots::SnapshotHolder;

use mcp_server::{
    Access, Context, FileLimits, Files, FixedRoots, Guard, Info, Instructions, RootSet, Server, Settings,
    WithFiles,
};
use refusal::Refusal;
use std::sync::Arc;

/// What stands before every path of a resource.
const BASE: &str = "duvet://";

// Fulfils 004 §5
/// The words that explain the server to a model.
pub const GUIDE: &str = include_str!("mcp/guide.md");

// Fulfils 004 §2
/// A server that answers about the holder's project.
//= specs/duvet.md#mcp-server
//# The server MUST hand its guide to the model as instructions and as a prompt.
pub fn server(holder: &Arc<SnapshotHolder>) -> Result<Server, Refusal> {
    let mut info = Info::new("duvet", env!("CARGO_PKG_VERSION"));
    info.title = Some("Duvet".to_owned());
    info.description = Some(env!("CARGO_PKG_DESCRIPTION").to_owned());
    //= specs/duvet.md#mcp-server
    //# A path MUST be accepted wherever an address is.
    let mut settings = Settings {
        path_base: Some(BASE.to_owned()),
        ..Settings::default()
    };
    // Everything stands in files; there is nothing a client could add.
    settings.offers.prompt_creation = false;
    settings
        .experimental
        .push(("roots".to_owned(), "1.0.0".to_owned()));
    //= specs/duvet.md#mcp-server
    //# The project's folder MUST be the one root of the server, and files inside it MUST be readable as `file://` resources.
    let roots = Arc::new(RootSet::new(&[holder.root().to_owned()], &[])?);
    let files = Files::new(Arc::clone(&roots), FileLimits::default());
    let server = Server::builder(info)
        .settings(settings)
        .instructions(Instructions::Fixed(GUIDE.to_owned()))
        .resource_source(WithFiles::new(resources::Tree(Arc::clone(holder)), files.clone()))
        .guard(Begin(Arc::clone(holder)))
        .build();
    server.add_tools(tools::all(holder))?;
    for template in resources::templates(holder) {
        server.add_template(template)?;
    }
    server.add_template(files.template())?;
    server.serve_roots(&roots, FixedRoots);
    server.add_prompts(prompts::all(holder))?;
    Ok(server)
}

/// Over standard input the server has the rights of whoever started it, fenced by roots; nobody else is there to be told apart.
/// Whoever subscribes is notified of everything from that moment on: so there is a first snapshot by then.
struct Begin(Arc<SnapshotHolder>);

impl Guard for Begin {
    fn check(&self, _cx: &Context, access: Access<'_>) -> Result<(), Refusal> {
        if matches!(access, Access::SubscribeResource(_)) {
            self.0.first();
        }
        Ok(())
    }
}
