//! The server as its owner sees it: built once, changed while it runs, stopped in peace.

pub(crate) mod answered;
mod capabilities;
pub(crate) mod completion;
pub(crate) mod context;
pub(crate) mod core;
pub(crate) mod guard;
pub(crate) mod method;
pub(crate) mod nonce;
pub(crate) mod overrun;
pub(crate) mod prompt;
pub(crate) mod registry;
pub(crate) mod resource;
mod session_table;
pub(crate) mod tool;
pub(crate) mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;

use refusal::Refusal;
use serde_json::Value;

use crate::changes::ChangeSet;
use crate::changes::{Change, List};
use crate::server::answered::Answered;
use crate::server::context::Context;
use crate::server::core::{Core, Instructions, Parts};
use crate::server::guard::Guard;
use crate::server::method::CustomMethod;
use crate::server::nonce::{MemoryNonces, NonceStore};
use crate::server::overrun::WorkClaim;
use crate::server::prompt::{Prompt, PromptSource};
use crate::server::resource::{Resource, ResourceSource, ResourceTemplate};
use crate::server::session_table::SessionTable;
use crate::server::tool::Tool;
use crate::session::store::{MemorySessions, SessionRecord, SessionStore};
use crate::settings::{Info, Settings};
use mcp_protocol::Elicited;
use mcp_protocol::{notification, uri};

/// A server. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Server(pub(crate) Arc<Core>);

/// Gathers what a server is made of.
pub struct Builder {
    parts: Parts,
}

impl Server {
    /// Starts to build a server.
    pub fn builder(info: Info) -> Builder {
        Builder {
            parts: Parts {
                info,
                settings: Settings::default(),
                instructions: Instructions::None,
                resource_source: None,
                prompt_source: None,
                guard: None,
                sessions: SessionTable::new(Arc::new(MemorySessions::default())),
                on_notification: None,
                on_elicited: None,
                on_answered: None,
                nonces: Arc::new(MemoryNonces::default()),
                new_claim: None,
            },
        }
    }

    /// Adds a tool and tells clients that the list changed.
    pub fn add_tool(&self, tool: Tool) -> Result<(), Refusal> {
        self.add_tools(vec![tool])
    }

    // Fulfils 002 Req-Tool-010
    /// Adds tools, all or none.
    pub fn add_tools(&self, tools: Vec<Tool>) -> Result<(), Refusal> {
        self.exchange_tools(&[], tools)
    }

    /// Takes tools out and puts others in, all of it or nothing, and tells clients once. What is not there need not be
    /// taken out.
    pub fn exchange_tools(&self, gone: &[String], tools: Vec<Tool>) -> Result<(), Refusal> {
        self.0.registry.exchange_tools(gone, tools)?;
        self.0.broker.list_changed(List::Tools, false);
        Ok(())
    }

    /// Adds a tool or puts it in the place of the one with its name.
    pub fn replace_tool(&self, tool: Tool) -> Result<(), Refusal> {
        let name = tool.name.clone();
        self.0.registry.tools.replace(&name, tool::Registered::new(tool)?);
        self.0.broker.list_changed(List::Tools, false);
        Ok(())
    }

    /// Takes a tool out; calls that run go on. False when there was none.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.0.registry.tools.remove(name);
        if removed {
            self.0.broker.list_changed(List::Tools, false);
        }
        removed
    }

    /// The names of all tools.
    pub fn tool_names(&self) -> Vec<String> {
        self.0
            .registry
            .tools
            .load()
            .values()
            .map(|t| t.tool.name.clone())
            .collect()
    }

    /// Adds resources, all or none.
    pub fn add_resources(&self, resources: Vec<Resource>) -> Result<(), Refusal> {
        self.exchange_resources(&[], resources)
    }

    /// Takes resources out and puts others in, all of it or nothing, and tells clients once.
    pub fn exchange_resources(&self, gone: &[String], resources: Vec<Resource>) -> Result<(), Refusal> {
        let kept: BTreeSet<String> = resources.iter().map(|resource| resource.uri.clone()).collect();
        self.0.registry.exchange_resources(gone, resources)?;
        for uri in gone.iter().filter(|uri| !kept.contains(*uri)) {
            self.resource_changed(uri, Change::Deleted);
        }
        self.0.broker.list_changed(List::Resources, false);
        Ok(())
    }

    /// Adds a pattern of resources.
    pub fn add_template(&self, template: ResourceTemplate) -> Result<(), Refusal> {
        self.exchange_templates(&[], vec![template])
    }

    /// Takes patterns of resources out and puts others in, all of it or nothing, and tells clients once.
    pub fn exchange_templates(
        &self,
        gone: &[String],
        templates: Vec<ResourceTemplate>,
    ) -> Result<(), Refusal> {
        self.0.registry.exchange_templates(gone, templates)?;
        self.0.broker.list_changed(List::Resources, false);
        Ok(())
    }

    /// Takes a resource out and tells those who watch it.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.0.registry.resources.remove(uri);
        if removed {
            self.resource_changed(uri, Change::Deleted);
            self.0.broker.list_changed(List::Resources, false);
        }
        removed
    }

    /// Tells that a resource says something else now, or is gone: caches forget it, then subscribers hear of it.
    pub fn resource_changed(&self, uri: &str, change: Change) {
        let uri = uri::canonical(uri).unwrap_or_else(|_| uri.to_owned());
        self.0.cache.forget(&uri);
        self.0.broker.resource_changed(&uri, change, false);
    }

    /// Tells of a stretch of the history this server follows. Sessions that come back later are told what they missed of
    /// it, as far as their store knows it.
    pub fn publish(&self, mut changes: ChangeSet) {
        for (uri, _, _) in &mut changes.resources {
            if let Ok(canonical) = uri::canonical(uri) {
                *uri = canonical;
            }
            self.0.cache.forget(uri);
        }
        for (list, _) in &changes.lists {
            self.forget_views(*list);
        }
        self.0.broker.publish(&changes);
    }

    /// Who owns sessions and listeners, where a transport said so.
    pub fn owners(&self) -> impl Iterator<Item = String> + use<> {
        self.0.broker.owners().into_iter()
    }

    /// Says whose resources and lists the sessions and listeners of an owner see from now on; see
    /// [`Guard::tenant`](crate::Guard::tenant).
    pub fn belong_to(&self, owner: &str, tenant: Option<&str>) {
        self.0.broker.belong_to(owner, tenant);
    }

    /// Says how far the history has come that this server follows, before the first news are told.
    pub fn begin_at(&self, mark: u64) {
        self.0.broker.begin_at(mark);
    }

    /// How far the history has come that was told.
    pub fn told_up_to(&self) -> u64 {
        self.0.broker.mark()
    }

    /// Takes over what another node wrote to the store of sessions; `None` when the session ended there.
    pub fn session_written(&self, id: &str, record: Option<SessionRecord>) {
        self.0.sessions.written(&self.0, id, record);
    }

    /// Tells those who watch something below a folder's address that it is gone.
    pub fn resources_gone_below(&self, folder: &str) {
        for uri in self.0.broker.topics_below(folder) {
            self.resource_changed(&uri, Change::Deleted);
        }
    }

    /// Adds prompts, all or none.
    pub fn add_prompts(&self, prompts: Vec<Prompt>) -> Result<(), Refusal> {
        self.exchange_prompts(&[], prompts)
    }

    /// Takes prompts out and puts others in, all of it or nothing, and tells clients once.
    pub fn exchange_prompts(&self, gone: &[String], prompts: Vec<Prompt>) -> Result<(), Refusal> {
        self.0.registry.exchange_prompts(gone, prompts)?;
        self.0.broker.list_changed(List::Prompts, false);
        Ok(())
    }

    /// Adds a prompt or puts it in the place of the one with its name.
    pub fn replace_prompt(&self, prompt: Prompt) -> Result<(), Refusal> {
        let name = prompt.name.clone();
        self.0
            .registry
            .prompts
            .replace(&name, prompt::Registered::new(prompt)?);
        self.0.broker.list_changed(List::Prompts, false);
        Ok(())
    }

    /// Whether a prompt of this name was added here; those of a source are not asked for.
    pub fn has_prompt(&self, name: &str) -> bool {
        self.0.registry.prompts.load().get(name).is_some()
    }

    /// Takes a prompt out. False when there was none.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.0.registry.prompts.remove(name);
        if removed {
            self.0.broker.list_changed(List::Prompts, false);
        }
        removed
    }

    /// Adds a method beside those of the protocol, or in the place of one of the same name added before.
    pub fn add_method(&self, method: CustomMethod) {
        let method = Arc::new(method);
        self.0.registry.methods.rcu(|current| {
            let mut methods = (**current).clone();
            methods.insert(method.name.clone(), method.clone());
            methods
        });
    }

    // Fulfils 003 R3.6
    /// Declares a family of methods outside MCP from now on, with its semantic version, and tells clients.
    //= specs/mcp-server.md#lifecycle
    //# A family that is declared or withdrawn while the server runs MUST be told to every active session by `notifications/capabilities/changed`.
    pub fn declare(&self, family: &str, version: &str) {
        if self.0.capabilities.declare(family, version) {
            self.0.broker.capability_changed(family);
        }
    }

    /// Withdraws a family of methods outside MCP, and tells clients.
    pub fn withdraw(&self, family: &str) {
        if self.0.capabilities.withdraw(family) {
            self.0.broker.capability_changed(family);
        }
    }

    /// How often the object that declares what the server can do was made: once for each version and audience, and again
    /// when it changed.
    pub fn capabilities_made(&self) -> u64 {
        self.0.capabilities.made()
    }

    /// A number that grows with every change of what is registered: tools, resources, templates and prompts.
    pub fn registry_generation(&self) -> u64 {
        self.0.registry.generation()
    }

    /// The names of all registered prompts.
    pub fn prompt_names(&self) -> Vec<String> {
        let prompts = self.0.registry.prompts.load();
        prompts.values().map(|one| one.prompt.name.clone()).collect()
    }

    /// The patterns of all registered templates.
    pub fn template_patterns(&self) -> Vec<String> {
        let templates = self.0.registry.templates.load();
        let pattern = |one: &Arc<resource::RegisteredTemplate>| one.template.uri_template.clone();
        templates.values().map(pattern).collect()
    }

    /// Tells clients that a list changed which the server itself does not see change: one kept by a source, or what a
    /// guard shows to whom.
    pub fn list_changed(&self, list: List) {
        self.forget_views(list);
        self.0.broker.list_changed(list, false);
    }

    fn forget_views(&self, list: List) {
        let registry = &self.0.registry;
        match list {
            List::Tools => registry.tools.forget_views(),
            List::Resources => {
                registry.resources.forget_views();
                registry.templates.forget_views();
            }
            List::Prompts => registry.prompts.forget_views(),
            List::Roots => {}
        }
    }

    /// Sends a notification to every active session of the handshake era.
    pub fn notify_all(&self, method: &str, params: &Value) {
        self.0.broker.broadcast(&notification(method, params), false);
    }

    /// Refuses new requests, lets running ones finish within the drain limit, and answers those that do not.
    pub async fn drain(&self) {
        self.0.drain().await;
    }

    /// Makes line connections stop reading, as if their input had ended.
    pub fn stop(&self) {
        self.0.stopping.cancel();
    }

    /// How many requests run now.
    pub fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    /// How many requests of the server wait for an answer of a client.
    pub fn waiting_for_clients(&self) -> usize {
        self.0
            .broker
            .sessions()
            .iter()
            .map(|session| session.pending.len())
            .sum()
    }

    /// Whether anyone watches a resource now; nobody has to be told of changes otherwise.
    pub fn has_subscribers(&self) -> bool {
        self.0.broker.has_subscribers()
    }

    /// How many HTTP sessions are alive.
    pub fn sessions(&self) -> usize {
        self.0.sessions.len()
    }
}

impl Builder {
    /// Sets everything that is decided before the start.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.parts.settings = settings;
        self
    }

    /// Sets where the instructions come from.
    #[must_use]
    pub fn instructions(mut self, instructions: Instructions) -> Self {
        self.parts.instructions = instructions;
        self
    }

    /// Sets who decides what a client may do.
    #[must_use]
    pub fn guard(mut self, guard: impl Guard) -> Self {
        self.parts.guard = Some(Arc::new(guard));
        self
    }

    /// Sets where further resources live.
    #[must_use]
    pub fn resource_source(mut self, source: impl ResourceSource) -> Self {
        self.parts.resource_source = Some(Arc::new(source));
        self
    }

    /// Sets where further prompts live.
    #[must_use]
    pub fn prompt_source(mut self, source: impl PromptSource) -> Self {
        self.parts.prompt_source = Some(Arc::new(source));
        self
    }

    /// Sets where sessions are kept.
    #[must_use]
    pub fn session_store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.parts.sessions = SessionTable::new(store);
        self
    }

    /// Sets where it is remembered which questions of the stateless era were answered; the memory of the process
    /// otherwise.
    #[must_use]
    pub fn nonce_store(mut self, nonces: Arc<dyn NonceStore>) -> Self {
        self.parts.nonces = nonces;
        self
    }

    /// Gives each request that may write a claim on its work, so that one that took too long can be told what became of it.
    #[must_use]
    pub fn claims(mut self, make: impl Fn() -> Box<dyn WorkClaim> + Send + Sync + 'static) -> Self {
        self.parts.new_claim = Some(Box::new(make));
        self
    }

    /// Hears notifications of clients the runtime has no use for, such as changed roots, by method and parameters. The
    /// next message waits meanwhile: give longer work, such as asking the client back, a task of its own.
    #[must_use]
    pub fn on_notification(mut self, hear: impl Fn(Context, &str, Value) + Send + Sync + 'static) -> Self {
        self.parts.on_notification = Some(Arc::new(hear));
        self
    }

    /// Hears of every question to a person that came to an end: its name, and what became of it.
    #[must_use]
    pub fn on_elicited(
        mut self,
        hear: impl Fn(&Context, &str, Result<&Elicited, &Refusal>) + Send + Sync + 'static,
    ) -> Self {
        self.parts.on_elicited = Some(Arc::new(hear));
        self
    }

    /// Hears of every request that was answered without a handler of the server's: lists, and what was refused before.
    #[must_use]
    pub fn on_answered(mut self, hear: impl Fn(&Answered<'_>) + Send + Sync + 'static) -> Self {
        self.parts.on_answered = Some(Arc::new(hear));
        self
    }

    /// The server.
    pub fn build(self) -> Server {
        Server(Arc::new(Core::new(self.parts)))
    }
}
