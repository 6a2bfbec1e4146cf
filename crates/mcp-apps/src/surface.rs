//! What an app has, as part of the server: registered under the app's name, and taken out when the app goes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_protocol::{Arguments, PromptArgument, ToolAnnotations, uri};
use mcp_server::{Context, Prompt, ReadRequest, Resource, ResourceTemplate, Server, Tool};
use parking_lot::{Mutex, MutexGuard};
use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::listing::{
    AppListing, ListedArgument, ListedHints, ListedPrompt, ListedResource, ListedTemplate, ListedTool,
};
use crate::manifest::Family;
use crate::names;
use crate::options::AppOptions;
use crate::policy::HostPolicy;

/// The runtime's own limit comes a moment after the app's, whose refusal says more.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// Everything one app has registered.
pub(crate) struct Surface {
    server: Server,
    policy: Arc<dyn HostPolicy>,
    app: Arc<App>,
    /// The key under which `_meta` names the app.
    meta_key: String,
    /// Whether the app is believed when it says that a tool only reads.
    is_trusted: bool,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    listing: Option<AppListing>,
    tools: Vec<String>,
    resources: Vec<String>,
    templates: Vec<String>,
    prompts: Vec<String>,
}

impl Surface {
    pub(crate) fn new(
        server: &Server,
        policy: &Arc<dyn HostPolicy>,
        app: &Arc<App>,
        options: &AppOptions,
        is_trusted: bool,
    ) -> Self {
        Self {
            server: server.clone(),
            policy: policy.clone(),
            app: app.clone(),
            meta_key: options.meta_key.clone(),
            is_trusted,
            shown: Mutex::default(),
        }
    }

    /// Shows what an app has now in the place of what it had; nothing is told when nothing changed.
    //= specs/mcp-apps.md#lists
    //# What an app has MUST be listed as soon as it has it and no longer than it has it, and every change MUST be told.
    pub(crate) fn show(&self, listing: &AppListing) -> Result<(), Refusal> {
        let mut shown = self.lock();
        let before = shown.listing.clone().unwrap_or_default();
        if shown.listing.as_ref() == Some(listing) {
            return Ok(());
        }
        if before.tools != listing.tools {
            let tools: Vec<Tool> = listing.tools.iter().map(|tool| self.tool(tool)).collect();
            let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
            //= specs/mcp-apps.md#lists
            //# What an app says of its own tools MUST NOT give anyone a right, unless the operator trusts the app for it.
            let reading: Vec<bool> = tools
                .iter()
                .map(|tool| self.is_trusted && tool.annotations.read_only_hint == Some(true))
                .collect();
            // The server knows a tool before it can be seen, and forgets it after.
            for (name, reads) in names.iter().zip(reading) {
                self.policy.tool_added(name, reads);
            }
            let exchanged = self.server.exchange_tools(&shown.tools, tools);
            let gone = match &exchanged {
                Ok(()) => std::mem::replace(&mut shown.tools, names),
                Err(_) => names,
            };
            for name in gone.iter().filter(|name| !shown.tools.contains(name)) {
                self.policy.tool_removed(name);
            }
            exchanged?;
        }
        if before.resources != listing.resources {
            let resources: Vec<Resource> = listing
                .resources
                .iter()
                .filter_map(|r| self.resource(r))
                .collect();
            let uris = resources.iter().map(|resource| resource.uri.clone()).collect();
            self.server.exchange_resources(&shown.resources, resources)?;
            shown.resources = uris;
        }
        if before.templates != listing.templates || before.families != listing.families {
            let templates = self.templates(listing);
            let uris = templates
                .iter()
                .map(|template| template.uri_template.clone())
                .collect();
            self.server.exchange_templates(&shown.templates, templates)?;
            shown.templates = uris;
        }
        if before.prompts != listing.prompts {
            let prompts: Vec<Prompt> = listing.prompts.iter().map(|prompt| self.prompt(prompt)).collect();
            let names = prompts.iter().map(|prompt| prompt.name.clone()).collect();
            self.server.exchange_prompts(&shown.prompts, prompts)?;
            shown.prompts = names;
        }
        shown.listing = Some(listing.clone());
        Ok(())
    }

    /// Takes everything out.
    pub(crate) fn clear(&self) {
        // Nothing comes in, so nothing can be refused.
        let _ = self.show(&AppListing::default());
    }

    fn tool(&self, tool: &ListedTool) -> Tool {
        let (app, policy, own) = (self.app.clone(), self.policy.clone(), tool.name.clone());
        let name = names::of(&self.app.name, &own);
        let noted = name.clone();
        let run = move |cx: Context, arguments: Arguments| {
            let (app, policy, own, noted) = (app.clone(), policy.clone(), own.clone(), noted.clone());
            async move {
                let began = Instant::now();
                let answered = app.call_tool(&cx, &own, arguments.0).await;
                policy.audit(
                    &cx,
                    "tools/call",
                    &noted,
                    began.elapsed(),
                    answered.as_ref().map(drop),
                );
                answered
            }
        };
        let description = tool.description.as_deref().unwrap_or_default();
        let mut made = Tool::new(name, description, run)
            .input(object(&tool.input_schema))
            .annotated(annotations(tool.annotations.as_ref()))
            .timeout(self.app.limits.call_timeout() + AFTERWARDS);
        made.title = tool
            .title
            .clone()
            .or_else(|| tool.annotations.as_ref()?.title.clone());
        made.output_schema = tool.output_schema.as_ref().map(object);
        made.icons = decoded(tool.icons.as_ref()).unwrap_or_default();
        made.meta = tool.meta.clone().unwrap_or_default();
        made.meta
            .insert(self.meta_key.clone(), self.app.name.clone().into());
        made
    }

    /// A resource; one whose address cannot be written in canonical form is left out.
    fn resource(&self, resource: &ListedResource) -> Option<Resource> {
        let ours = names::ours(&self.app.name, &resource.uri)?;
        if let Err(refusal) = uri::require_canonical(&ours) {
            tracing::debug!(
                app = self.app.name,
                uri = resource.uri,
                why = refusal.message,
                "a resource is left out"
            );
            return None;
        }
        let description = resource.description.clone().unwrap_or_default();
        let mime_type = resource
            .mime_type
            .clone()
            .unwrap_or_else(|| "application/octet-stream".to_owned());
        let mut made = Resource::new(ours, &resource.name, description, mime_type, self.read());
        made.title.clone_from(&resource.title);
        made.size = resource.size;
        made.icons = decoded(resource.icons.as_ref()).unwrap_or_default();
        made.annotations = decoded(resource.annotations.as_ref());
        made.meta = resource.meta.clone().unwrap_or_default();
        Some(made)
    }

    /// The patterns of an app, and one for everything else it may name in its answers.
    fn templates(&self, listing: &AppListing) -> Vec<ResourceTemplate> {
        let name = &self.app.name;
        let one = |template: &ListedTemplate| {
            let ours = names::ours(name, &template.uri_template)?;
            let description = template.description.clone().unwrap_or_default();
            let mut made = ResourceTemplate::new(ours, &template.name, description, self.read());
            made.title.clone_from(&template.title);
            made.mime_type.clone_from(&template.mime_type);
            Some(made)
        };
        let mut made: Vec<ResourceTemplate> = listing.templates.iter().filter_map(one).collect();
        if listing.families.contains(&Family::Resources) {
            let description = format!("Any other address the app {name} names in its answers.");
            made.push(ResourceTemplate::new(
                format!("app://{name}/{{+address}}"),
                name,
                description,
                self.read(),
            ));
        }
        made.sort_by(|a, b| a.uri_template.cmp(&b.uri_template));
        made.dedup_by(|a, b| a.uri_template == b.uri_template);
        made
    }

    fn prompt(&self, prompt: &ListedPrompt) -> Prompt {
        let (app, own) = (self.app.clone(), prompt.name.clone());
        let make = move |cx: Context, arguments: Map<String, Value>| {
            let (app, own) = (app.clone(), own.clone());
            async move { app.get_prompt(&cx, &own, arguments).await }
        };
        let description = prompt.description.clone().unwrap_or_default();
        let mut made = Prompt::new(names::of(&self.app.name, &prompt.name), description, make);
        made.title.clone_from(&prompt.title);
        made.icons = decoded(prompt.icons.as_ref()).unwrap_or_default();
        let argument = |argument: &ListedArgument| PromptArgument {
            name: argument.name.clone(),
            title: argument.title.clone(),
            description: argument.description.clone().unwrap_or_default(),
            required: argument.required.unwrap_or_default(),
            schema: None,
        };
        made.arguments = prompt.arguments.iter().flatten().map(argument).collect();
        made
    }

    fn read(&self) -> impl Fn(Context, ReadRequest) -> Reading + Send + Sync + 'static + use<> {
        let app = self.app.clone();
        move |cx, request| {
            let app = app.clone();
            Box::pin(async move {
                let own = names::theirs(&app.name, &request.uri).ok_or_else(|| {
                    Refusal::new(
                        Code::ResourceNotFound,
                        format!("the app {:?} has no {:?}", app.name, request.uri),
                    )
                })?;
                app.read_resource(&cx, &own).await
            })
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock()
    }
}

type Reading = futures_util::future::BoxFuture<'static, Result<Vec<mcp_protocol::ResourceContents>, Refusal>>;

impl Drop for Surface {
    fn drop(&mut self) {
        self.clear();
    }
}

fn annotations(given: Option<&ListedHints>) -> ToolAnnotations {
    let Some(given) = given else {
        return ToolAnnotations::default();
    };
    ToolAnnotations {
        read_only_hint: given.read_only_hint,
        destructive_hint: given.destructive_hint,
        idempotent_hint: given.idempotent_hint,
        open_world_hint: given.open_world_hint,
    }
}

/// A schema of an object says so, even when its author forgot.
fn object(schema: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| json!("object"));
    Value::Object(schema)
}

/// What an app said, as a type of the protocol; nothing when it has no such form.
fn decoded<T: serde::de::DeserializeOwned>(value: Option<&Value>) -> Option<T> {
    T::deserialize(value?).ok()
}
