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

mod ask;
mod audit;
mod complete;
mod execute;
mod guard;
mod guests;
mod instructions;
mod options;
pub mod predict;
mod prompts;
pub mod reference;
mod render;
mod resources;
mod roots;
mod schema;
mod sessions;
mod tools;
mod visit;
mod watch;

pub use guests::Guests;
pub use mcp_runtime::VersionMismatch;
pub use options::{McpOptions, Sessions, Toolset};
pub use predict::CompletionOptions;
pub use visit::Visit;

use audit::Watch;
use execute::Executor;
use guard::Gate;
use http::Extensions;
use instructions::ActivePrompt;
use mcp_runtime::{Context, Info, Instructions, Limits, Offers, Server, Settings, WithFiles};
use spexus_domain::{Ruled, account::Caller};
use spexus_service::Service;
use std::sync::Arc;
use watch::Watcher;

/// The product as an MCP server. Changes are told to those who watch as long as this value, or a clone of it, lives.
#[derive(Clone)]
pub struct Mcp {
    server: Server,
    options: Arc<McpOptions>,
    folders: roots::OpenFolders,
    guests: Guests,
    _watcher: Arc<Watcher>,
}

impl Mcp {
    /// Makes the server with everything it offers. Needs a running tokio.
    pub fn new(service: &Service, options: McpOptions) -> Ruled<Self> {
        let options = Arc::new(options);
        let tools = tools::all();
        let guests = Guests::new(service);
        let gate = Gate::new(service, &tools, &guests);
        let executor = Executor::new(service, &gate, &tools);
        let folders = roots::OpenFolders::new(service, &options)?;
        let prompt = Arc::new(ActivePrompt::default());
        let greeting = Greeting {
            service: service.clone(),
            gate: gate.clone(),
            prompt: prompt.clone(),
            guide: options.guide,
        };
        let settings = settings(service, &options);
        let kept = sessions::Kept::new(service, &options, &settings.limits)?;
        let mut builder = Server::builder(info(&options));
        if let Some(kept) = &kept {
            builder = builder.session_store(Arc::new(kept.clone()));
        }
        let server = builder
            .settings(settings)
            .instructions(greeting.into_instructions())
            .guard(gate)
            .resource_source(WithFiles::new(resources::Items(service.clone()), folders.files()))
            .prompt_source(prompts::Stored(service.clone()))
            .on_elicited(ask::noting(service))
            .build();
        let uses = complete::Uses::default();
        let sampler = ask::sampler(&options);
        let tools = tools
            .into_iter()
            .map(|tool| tool.into_tool(service, &sampler, &uses));
        server.add_tools(tools.collect())?;
        server.add_resources(resources::collections(service))?;
        for template in resources::templates(service, &uses) {
            server.add_template(template)?;
        }
        server.add_prompts(prompts::all(service, &uses))?;
        server.add_method(executor.into_method());
        ask::methods(service, &sampler).for_each(|method| server.add_method(method));
        folders.serve(&server)?;
        predict::serve(&server, service, &options)?;
        let watcher = Watcher::start(service.clone(), server.clone(), prompt, kept, folders.clone());
        Ok(Self {
            _watcher: Arc::new(watcher),
            folders,
            server,
            options,
            guests,
        })
    }

    /// Takes over what is kept in the database; to be awaited before the first client is served.
    pub async fn restore(&self) -> Ruled<()> {
        self.folders.reload(&self.server).await
    }

    /// The server, to be mounted or served. Requests must carry a [`Visit`] in their extensions.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Who answers for tools that others add to the server.
    pub fn guests(&self) -> &Guests {
        &self.guests
    }

    /// How it was made.
    pub fn options(&self) -> &McpOptions {
        &self.options
    }

    /// What to attach to every request of a connection that belongs to one caller, such as a pair of pipes:
    /// `stdio::serve(mcp.server(), mcp.visit(caller))`.
    pub fn visit(&self, caller: Caller) -> Extensions {
        let mut extensions = Extensions::new();
        Visit::new(caller, &self.options).attach(&mut extensions);
        extensions
    }
}

// Fulfils 000 R1.3, 001 D4
//= specs/spexus-mcp.md#saying-hello
//# The server MUST introduce itself with its configured name, title and version; by default `spexus mcp`, `MCP server for requirements management system` and the version of the product.
fn info(options: &McpOptions) -> Info {
    Info {
        title: Some(options.title.clone()),
        ..Info::new(options.name.clone(), options.version.clone())
    }
}

fn settings(service: &Service, options: &McpOptions) -> Settings {
    Settings {
        // A list that was begun on one node is finished on another.
        seal_key: Some(service.key_for("spexus mcp cursors v1")),
        version_mismatch: options.version_mismatch,
        chunk_key: "spexus/chunk".to_owned(),
        offers: Offers {
            prompt_creation: true,
            ..Offers::default()
        },
        limits: Limits {
            serve_timeout_ms: options.serve_timeout_ms,
            drain_timeout_ms: options.drain_timeout_ms,
            elicit_timeout_ms: options.elicitation_timeout_ms,
            max_elicit_attempts: options.elicitation_attempts,
            ..Limits::default()
        },
        experimental: experimental(options),
        ..Settings::default()
    }
}

/// The families outside of MCP, each with its version.
fn experimental(options: &McpOptions) -> Vec<(String, String)> {
    [
        (execute::METHOD, execute::VERSION),
        roots::FAMILY,
        predict::FAMILY,
    ]
    .into_iter()
    .chain(ask::FAMILIES)
    .chain(options.apps.then_some(("apps", "1.0.0")))
    .map(|(family, version)| (family.to_owned(), version.to_owned()))
    .collect()
}

/// What is said to a client that says hello.
struct Greeting {
    service: Service,
    gate: Gate,
    prompt: Arc<ActivePrompt>,
    guide: bool,
}

impl Greeting {
    fn into_instructions(self) -> Instructions {
        let greeting = Arc::new(self);
        Instructions::Made(Arc::new(move |cx| {
            let greeting = greeting.clone();
            Box::pin(async move { greeting.words(&cx).await.unwrap_or_default() })
        }))
    }

    // Fulfils 000 R3.1, 000 R3.2, 001 D10, 001 D11
    async fn words(&self, cx: &Context) -> Ruled<String> {
        let caller = audit::caller(cx)?;
        let version = cx.protocol_version();
        let watch = Watch::start(&self.service, &caller, "initialize", version);
        //= specs/spexus-mcp.md#audit
        //# The versions of the protocol in use MUST be counted.
        metrics::counter!("spexus_mcp_greetings_total", "version" => version).increment(1);
        let mut text = self.prompt.words(&self.service, &caller).await.to_string();
        if self.guide {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            let tools = self.gate.listed(Visit::of(cx)?, cx.server().tool_names());
            text.push_str(&instructions::guide(&tools, &prompts::names()));
        }
        watch.stop(Ok(()));
        Ok(text)
    }
}
