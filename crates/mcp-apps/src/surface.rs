//! What an app has, as part of the server: registered under the app's name, and taken out when the app goes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_protocol::{Arguments, PromptArgument, ToolAnnotations, uri};
use mcp_server::{Context, Prompt, ReadRequest, Resource, ResourceTemplate, Server, Tool};
use refusal::{Code, Refusal};
use rmcp::model;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::catalogue::Catalogue;
use crate::house::House;
use crate::manifest::Family;
use crate::names;

/// The runtime's own limit comes a moment after the app's, whose refusal says more.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// Everything one app has registered.
pub(crate) struct Surface {
    server: Server,
    house: Arc<dyn House>,
    app: Arc<App>,
    /// Whether the app is believed when it says that a tool only reads.
    is_trusted: bool,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    catalogue: Option<Catalogue>,
    tools: Vec<String>,
    resources: Vec<String>,
    templates: Vec<String>,
    prompts: Vec<String>,
}

impl Surface {
    pub(crate) fn new(server: &Server, house: &Arc<dyn House>, app: &Arc<App>, is_trusted: bool) -> Self {
        Self {
            server: server.clone(),
            house: house.clone(),
            app: app.clone(),
            is_trusted,
            shown: Mutex::default(),
        }
    }

    /// Shows what an app has now in the place of what it had; nothing is told when nothing changed.
    //= specs/mcp-apps.md#lists
    //# What an app has MUST be listed as soon as it has it and no longer than it has it, and every change MUST be told.
    pub(crate) fn show(&self, catalogue: &Catalogue) -> Result<(), Refusal> {
        let mut shown = self.lock();
        let before = shown.catalogue.clone().unwrap_or_default();
        if shown.catalogue.as_ref() == Some(catalogue) {
            return Ok(());
        }
        if before.tools != catalogue.tools {
            let tools: Vec<Tool> = catalogue.tools.iter().map(|tool| self.tool(tool)).collect();
            let names: Vec<String> = tools.iter().map(|tool| tool.name.clone()).collect();
            //= specs/mcp-apps.md#lists
            //# What an app says of its own tools MUST NOT give anyone a right, unless the operator trusts the app for it.
            let reading: Vec<bool> = tools
                .iter()
                .map(|tool| self.is_trusted && tool.annotations.read_only_hint == Some(true))
                .collect();
            // The house knows a tool before it can be seen, and forgets it after.
            for (name, reads) in names.iter().zip(reading) {
                self.house.admit(name, reads);
            }
            let exchanged = self.server.exchange_tools(&shown.tools, tools);
            let gone = match &exchanged {
                Ok(()) => std::mem::replace(&mut shown.tools, names),
                Err(_) => names,
            };
            for name in gone.iter().filter(|name| !shown.tools.contains(name)) {
                self.house.dismiss(name);
            }
            exchanged?;
        }
        if before.resources != catalogue.resources {
            let resources: Vec<Resource> = catalogue
                .resources
                .iter()
                .filter_map(|r| self.resource(r))
                .collect();
            let uris = resources.iter().map(|resource| resource.uri.clone()).collect();
            self.server.exchange_resources(&shown.resources, resources)?;
            shown.resources = uris;
        }
        if before.templates != catalogue.templates || before.families != catalogue.families {
            let templates = self.templates(catalogue);
            let uris = templates
                .iter()
                .map(|template| template.uri_template.clone())
                .collect();
            self.server.exchange_templates(&shown.templates, templates)?;
            shown.templates = uris;
        }
        if before.prompts != catalogue.prompts {
            let prompts: Vec<Prompt> = catalogue
                .prompts
                .iter()
                .map(|prompt| self.prompt(prompt))
                .collect();
            let names = prompts.iter().map(|prompt| prompt.name.clone()).collect();
            self.server.exchange_prompts(&shown.prompts, prompts)?;
            shown.prompts = names;
        }
        shown.catalogue = Some(catalogue.clone());
        Ok(())
    }

    /// Takes everything out.
    pub(crate) fn clear(&self) {
        // Nothing comes in, so nothing can be refused.
        let _ = self.show(&Catalogue::default());
    }

    fn tool(&self, tool: &model::Tool) -> Tool {
        let (app, house, own) = (self.app.clone(), self.house.clone(), tool.name.to_string());
        let name = names::of(&self.app.name, &own);
        let noted = name.clone();
        let run = move |cx: Context, arguments: Arguments| {
            let (app, house, own, noted) = (app.clone(), house.clone(), own.clone(), noted.clone());
            async move {
                let began = Instant::now();
                let answered = app.call_tool(&cx, &own, arguments.0).await;
                house.note(
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
        made.output_schema = tool.output_schema.as_deref().map(object);
        made.icons = converted(&tool.icons).unwrap_or_default();
        made.meta = converted(&tool.meta).unwrap_or_default();
        made.meta
            .insert("spexus/app".to_owned(), self.app.name.clone().into());
        made
    }

    /// A resource; one whose address cannot be written in canonical form is left out.
    fn resource(&self, resource: &model::Resource) -> Option<Resource> {
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
        made.icons = converted(&resource.icons).unwrap_or_default();
        made.annotations = converted(&resource.annotations);
        made.meta = converted(&resource.meta).unwrap_or_default();
        Some(made)
    }

    /// The patterns of an app, and one for everything else it may name in its answers.
    fn templates(&self, catalogue: &Catalogue) -> Vec<ResourceTemplate> {
        let name = &self.app.name;
        let one = |template: &model::ResourceTemplate| {
            let ours = names::ours(name, &template.uri_template)?;
            let description = template.description.clone().unwrap_or_default();
            let mut made = ResourceTemplate::new(ours, &template.name, description, self.read());
            made.title.clone_from(&template.title);
            made.mime_type.clone_from(&template.mime_type);
            Some(made)
        };
        let mut made: Vec<ResourceTemplate> = catalogue.templates.iter().filter_map(one).collect();
        if catalogue.families.contains(&Family::Resources) {
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

    fn prompt(&self, prompt: &model::Prompt) -> Prompt {
        let (app, own) = (self.app.clone(), prompt.name.clone());
        let make = move |cx: Context, arguments: Map<String, Value>| {
            let (app, own) = (app.clone(), own.clone());
            async move { app.get_prompt(&cx, &own, arguments).await }
        };
        let description = prompt.description.clone().unwrap_or_default();
        let mut made = Prompt::new(names::of(&self.app.name, &prompt.name), description, make);
        made.title.clone_from(&prompt.title);
        made.icons = converted(&prompt.icons).unwrap_or_default();
        let argument = |argument: &model::PromptArgument| PromptArgument {
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
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Reading = futures_util::future::BoxFuture<'static, Result<Vec<mcp_protocol::ResourceContents>, Refusal>>;

impl Drop for Surface {
    fn drop(&mut self) {
        self.clear();
    }
}

fn annotations(given: Option<&model::ToolAnnotations>) -> ToolAnnotations {
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
fn object(schema: &model::JsonObject) -> Value {
    let mut schema = schema.clone();
    schema.entry("type").or_insert_with(|| json!("object"));
    Value::Object(schema)
}

/// The same thing as a type of the runtime; nothing when it has no such form.
fn converted<T: serde::Serialize, U: serde::de::DeserializeOwned>(value: &Option<T>) -> Option<U> {
    serde_json::from_value(serde_json::to_value(value.as_ref()?).ok()?).ok()
}
