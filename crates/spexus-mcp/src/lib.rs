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

mod app_tools;
mod ask;
mod audit;
mod complete;
mod execute;
mod guard;
mod instructions;
mod mark;
mod options;
mod prompts;
pub mod reference;
mod render;
mod resource_source;
mod resources;
mod roots;
mod schema;
mod sessions;
pub mod skills;
mod system_prompt;
mod text_completion;
mod tools;
mod views;
mod visit;
mod watch;
mod write_claim;

pub use app_tools::AppTools;
pub use mcp_protocol::OfferedVersions;
pub use mcp_server::VersionMismatch;
pub use options::{McpOptions, Sessions, Toolset};
pub use spexus_complete::CompletionOptions;
pub use visit::Visit;

use audit::AuditEntry;
use execute::Executor;
use guard::Gate;
use http::Extensions;
use instructions::{ActivePrompt, Guides, Stock};
use mcp_server::{Context, Info, Instructions, Limits, Offers, Server, Settings};
use resource_source::ProductResources;
use serde_json::{Map, json};
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
    app_tools: AppTools,
    guides: Arc<Guides>,
    _watcher: Arc<Watcher>,
}

impl Mcp {
    /// Makes the server with everything it offers. Needs a running tokio.
    pub fn new(service: &Service, options: McpOptions) -> Ruled<Self> {
        let options = Arc::new(options);
        let tools: Vec<_> = tools::all()
            .into_iter()
            .map(|tool| tool.fitting(options.max_answer_bytes))
            .collect();
        let app_tools = AppTools::new(service, options.share_with_bound_tokens);
        let gate = Gate::new(service, &tools, &app_tools, &options);
        let executor = Executor::new(service, &gate, &tools, options.max_answer_bytes);
        let folders = roots::OpenFolders::new(service, &options)?;
        let prompt = Arc::new(ActivePrompt::default());
        let guides = Arc::new(Guides::default());
        let greeting = Greeting {
            service: service.clone(),
            gate: gate.clone(),
            prompt: prompt.clone(),
            folders: folders.clone(),
            guides: options.guide.then(|| guides.clone()),
        };
        let settings = settings(service, &options);
        let kept = sessions::DatabaseSessionStore::new(service, &options, &settings.limits)?;
        let mut builder = Server::builder(info(&options));
        if let Some(kept) = &kept {
            builder = builder.session_store(Arc::new(kept.clone()));
        }
        let server = builder
            .settings(settings)
            .instructions(greeting.into_instructions())
            .resource_source(ProductResources::new(service, &gate, folders.files()))
            .guard(gate)
            .nonce_store(Arc::new(ask::Answered(service.clone())))
            .prompt_source(prompts::Stored(service.clone()))
            .on_elicited(ask::noting(service))
            .on_answered(audit::noting(service))
            .claims(write_claim::make)
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
        text_completion::serve(&server, service, &options)?;
        skills::serve(&server, service)?;
        views::serve(&server)?;
        let watcher = Watcher::start(service.clone(), server.clone(), prompt, kept, folders.clone());
        Ok(Self {
            _watcher: Arc::new(watcher),
            folders,
            server,
            options,
            app_tools,
            guides,
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
    pub fn app_tools(&self) -> &AppTools {
        &self.app_tools
    }

    /// How often a guide to what there is was made: once for those who see the same, and again when that changed.
    pub fn guides_made(&self) -> u64 {
        self.guides.made()
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

/// How long clients may keep what they were told, for revisions that carry hints; sooner they hear of changes they watch.
const CACHE_MS: u64 = 5_000;

fn settings(service: &Service, options: &McpOptions) -> Settings {
    Settings {
        // A list that was begun on one node is finished on another.
        signing_key: Some(service.key_for("spexus mcp cursors v1")),
        versions: options.versions.clone(),
        version_mismatch: options.version_mismatch,
        chunk_key: "spexus/chunk".to_owned(),
        offers: Offers {
            prompt_creation: true,
            ..Offers::default()
        },
        limits: Limits {
            serve_timeout_ms: options.serve_timeout_ms,
            ask_timeout_ms: options.ask_timeout_ms,
            max_sessions_per_owner: options.max_sessions_per_token,
            max_sessions_per_account: options.max_sessions_per_user,
            max_streams_per_account: options.max_streams_per_user,
            max_subscriptions_per_session: options.max_subscriptions_per_session,
            max_subscription_bytes_per_session: options.max_subscription_bytes_per_session,
            max_batch_running_per_account: options.max_array_running_per_user,
            drain_timeout_ms: options.drain_timeout_ms,
            elicit_timeout_ms: options.elicitation_timeout_ms,
            max_elicit_attempts: options.elicitation_attempts,
            ..Limits::default()
        },
        experimental: experimental(),
        extensions: Map::from_iter([
            (skills::EXTENSION.to_owned(), json!({})),
            (
                views::EXTENSION.to_owned(),
                json!({ "mimeTypes": [views::MIME_TYPE] }),
            ),
        ]),
        cache_ttl_ms: CACHE_MS,
        ..Settings::default()
    }
}

/// The families outside of MCP that are always there, each with its version. Roots and apps declare themselves when
/// they are served.
fn experimental() -> Vec<(String, String)> {
    let families = [(execute::METHOD, execute::VERSION), text_completion::FAMILY];
    let families = families.into_iter().chain(ask::FAMILIES);
    families
        .map(|(family, version)| (family.to_owned(), version.to_owned()))
        .collect()
}

/// What is said to a client that says hello.
struct Greeting {
    service: Service,
    gate: Gate,
    prompt: Arc<ActivePrompt>,
    folders: roots::OpenFolders,
    /// None when the operator wants no guide.
    guides: Option<Arc<Guides>>,
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
        let watch = AuditEntry::start(&self.service, &caller, "initialize", version);
        //= specs/spexus-mcp.md#audit
        //# The versions of the protocol in use MUST be counted.
        metrics::counter!("spexus_mcp_greetings_total", "version" => version).increment(1);
        let stored = self.prompt.prompts(&self.service, &caller).await;
        let mut text = stored.words(&self.service, &caller).await;
        if let Some(guides) = &self.guides {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            let stock = Stock {
                generation: cx.server().registry_generation(),
                stored,
                has_files: self.folders.has_files() && !self.gate.is_shut_out(Visit::of(cx)?),
            };
            text.push_str(&self.guide(guides, cx, stock)?);
        }
        watch.stop(Ok(()));
        Ok(text)
    }
    fn guide(&self, guides: &Guides, cx: &Context, stock: Stock) -> Ruled<Arc<str>> {
        let (visit, server) = (Visit::of(cx)?, cx.server());
        let make = |stock: &Stock| {
            let tools = self.gate.listed(visit, server.tool_names());
            let mut of_apps = server.template_patterns();
            // Whoever may not use what belongs to the installation is not told of it.
            let is_shut_out = self.gate.is_shut_out(visit);
            of_apps.retain(|pattern| pattern.starts_with("app://") && !is_shut_out);
            let mut prompts = server.prompt_names();
            prompts.retain(|name| prompts::is_own(name) || !is_shut_out);
            instructions::guide(&tools, &prompts, &of_apps, stock)
        };
        Ok(guides.of(&guard::audience(visit), stock, make))
    }
}
