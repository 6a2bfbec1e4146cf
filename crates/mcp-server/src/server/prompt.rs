//! Prompts: messages with variables, or made by code, for people to pick.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use refusal::{Code, Refusal};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::server::completion::Completer;
use crate::server::context::Context;
use crate::server::guard::Access;
use crate::server::registry::Listing;
use crate::server::tool::Stop;
use mcp_protocol::{
    Content, Icon, PromptArgument, PromptMessage, PromptTemplate, ResourceContents, Role, Schema,
};

type Make =
    dyn Fn(Context, Map<String, Value>) -> BoxFuture<'static, Result<Vec<PromptMessage>, Stop>> + Send + Sync;

#[derive(Clone)]
enum Body {
    Messages(Vec<PromptMessage>),
    Made(Arc<Make>),
}

// Fulfils 002 Req-Prompt-004
/// A prompt as its author describes it.
#[derive(Clone)]
pub struct Prompt {
    /// The name clients ask for it by.
    pub name: String,
    /// The name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Its arguments.
    pub arguments: Vec<PromptArgument>,
    /// Icons, for clients that show them.
    pub icons: Vec<Icon>,
    /// Suggests values for its arguments.
    pub completer: Option<Completer>,
    body: Body,
}

impl Prompt {
    /// A prompt of messages whose texts and resource addresses may hold `{{variables}}`.
    pub fn template(
        name: impl Into<String>,
        description: impl Into<String>,
        messages: Vec<PromptMessage>,
    ) -> Self {
        Self::with(name.into(), description.into(), Body::Messages(messages))
    }

    /// A prompt made by code.
    pub fn new<F, Fut, E>(name: impl Into<String>, description: impl Into<String>, make: F) -> Self
    where
        F: Fn(Context, Map<String, Value>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<PromptMessage>, E>> + Send + 'static,
        E: Into<Stop>,
    {
        let make = move |cx, arguments| make(cx, arguments).map(|r| r.map_err(Into::into)).boxed();
        Self::with(name.into(), description.into(), Body::Made(Arc::new(make)))
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, name: &str, description: &str, required: bool) -> Self {
        self.arguments.push(PromptArgument {
            name: name.to_owned(),
            description: description.to_owned(),
            required,
            ..PromptArgument::default()
        });
        self
    }

    /// The JSON Schema of its arguments.
    pub fn argument_schema(&self) -> Value {
        let property = |argument: &PromptArgument| {
            let mut schema = argument
                .schema
                .clone()
                .unwrap_or_else(|| json!({ "type": "string" }));
            if let Value::Object(schema) = &mut schema {
                schema
                    .entry("description")
                    .or_insert_with(|| json!(argument.description));
            }
            (argument.name.clone(), schema)
        };
        let properties: Map<String, Value> = self.arguments.iter().map(property).collect();
        let required: Vec<&str> = self
            .arguments
            .iter()
            .filter(|a| a.required)
            .map(|a| a.name.as_str())
            .collect();
        //= specs/mcp-server.md#prompts
        //# An argument a prompt does not have MUST be refused, not ignored.
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        })
    }

    /// Its entry in `prompts/list`.
    pub fn entry(&self) -> Value {
        let argument = |a: &PromptArgument| {
            let mut entry = json!({ "name": a.name, "description": a.description, "required": a.required });
            if let Some(title) = &a.title {
                entry["title"] = json!(title);
            }
            entry
        };
        let mut entry = json!({
            "name": self.name,
            "description": self.description,
            "arguments": self.arguments.iter().map(argument).collect::<Vec<_>>(),
            "argumentSchema": self.argument_schema(),
        });
        if let Some(title) = &self.title {
            entry["title"] = json!(title);
        }
        if !self.icons.is_empty() {
            entry["icons"] = json!(self.icons);
        }
        entry
    }

    fn with(name: String, description: String, body: Body) -> Self {
        Self {
            name,
            title: None,
            description,
            arguments: Vec::new(),
            icons: Vec::new(),
            completer: None,
            body,
        }
    }
}

/// Prompts that live elsewhere, such as in a database; asked after the registered ones.
pub trait PromptSource: Send + Sync + 'static {
    /// One page, from a place this source gave before; empty is the start. Gives the place of the next page.
    fn list<'a>(&'a self, cx: &'a Context, from: &'a str) -> BoxFuture<'a, Result<Listing<Prompt>, Refusal>>;
    /// The prompt of this name; `None` when it is not one of this source.
    fn get<'a>(&'a self, cx: &'a Context, name: &'a str) -> BoxFuture<'a, Result<Option<Prompt>, Refusal>>;
    /// Keeps a prompt that a client creates. A source that keeps none leaves it to the registry.
    fn create<'a>(
        &'a self,
        _cx: &'a Context,
        _prompt: &'a NewPrompt,
    ) -> BoxFuture<'a, Result<bool, Refusal>> {
        std::future::ready(Ok(false)).boxed()
    }
}

/// A prompt as `prompts/create` describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct NewPrompt {
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its one message, for short.
    #[serde(default)]
    pub template: Option<String>,
    /// Its messages.
    #[serde(default)]
    pub messages: Vec<PromptMessage>,
    /// Its arguments. Variables that are not named here become optional arguments.
    #[serde(default)]
    pub arguments: Vec<NewArgument>,
}

/// An argument as `prompts/create` describes it.
#[derive(Clone, Debug, Deserialize)]
pub struct NewArgument {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Whether the prompt makes no sense without it.
    #[serde(default)]
    pub required: bool,
    /// JSON Schema of its value.
    #[serde(default)]
    pub schema: Option<Value>,
}

impl NewPrompt {
    /// The prompt it describes.
    pub fn into_prompt(self) -> Prompt {
        let mut messages = self.messages;
        messages.extend(self.template.map(|text| PromptMessage::user(Content::text(text))));
        let mut prompt = Prompt::template(self.name, self.description, messages);
        prompt.title = self.title;
        prompt.arguments = self
            .arguments
            .into_iter()
            .map(|a| PromptArgument {
                name: a.name,
                title: None,
                description: a.description,
                required: a.required,
                schema: a.schema,
            })
            .collect();
        prompt
    }
}

/// A registered prompt: templates taken apart, schema compiled, list entry written.
pub(crate) struct Registered {
    pub(crate) prompt: Prompt,
    pub(crate) entry: Bytes,
    schema: Schema,
    templates: Vec<(Role, Filled)>,
}

/// A message whose variable parts are known.
enum Filled {
    Text(PromptTemplate),
    Resource {
        uri: PromptTemplate,
        text: Option<PromptTemplate>,
        contents: ResourceContents,
    },
    Fixed(Content),
}

impl Registered {
    pub(crate) fn new(mut prompt: Prompt) -> Result<Self, Refusal> {
        if prompt.name.is_empty() || prompt.name.chars().count() > 200 {
            return Err(Refusal::field(
                Code::InvalidParams,
                "name",
                "is empty or too long",
                "1 to 200 characters",
            ));
        }
        let templates = match &prompt.body {
            Body::Messages(messages) => {
                let filled = |m: &PromptMessage| Filled::of(&m.content).map(|filled| (m.role, filled));
                messages.iter().map(filled).collect::<Result<Vec<_>, _>>()?
            }
            Body::Made(_) => Vec::new(),
        };
        declare_variables(&mut prompt, &templates);
        let schema = Schema::compile(prompt.argument_schema())?;
        let entry = prompt.entry().to_string().into();
        Ok(Self {
            prompt,
            entry,
            schema,
            templates,
        })
    }

    /// The prompt's messages for these arguments.
    pub(crate) async fn get(
        &self,
        cx: Context,
        arguments: Map<String, Value>,
    ) -> Result<Vec<PromptMessage>, Stop> {
        let mut arguments = Value::Object(arguments);
        self.schema.admit(&mut arguments)?;
        let Value::Object(arguments) = arguments else {
            return Ok(Vec::new());
        };
        match &self.prompt.body {
            Body::Made(make) => make(cx, arguments).await,
            Body::Messages(_) => {
                let message = |(role, filled): &(Role, Filled)| PromptMessage {
                    role: *role,
                    content: filled.render(&arguments),
                };
                Ok(self.templates.iter().map(message).collect())
            }
        }
    }
}

impl Filled {
    fn of(content: &Content) -> Result<Filled, Refusal> {
        Ok(match content {
            Content::Text { text, .. } => Filled::Text(PromptTemplate::parse(text)?),
            Content::Resource { resource, .. } => Filled::Resource {
                uri: PromptTemplate::parse(&resource.uri)?,
                text: resource.text.as_deref().map(PromptTemplate::parse).transpose()?,
                contents: resource.clone(),
            },
            other => Filled::Fixed(other.clone()),
        })
    }

    fn variables(&self) -> Vec<&str> {
        match self {
            Filled::Text(template) => template.variables().into_iter().collect(),
            Filled::Resource { uri, text, .. } => uri
                .variables()
                .into_iter()
                .chain(text.iter().flat_map(PromptTemplate::variables))
                .collect(),
            Filled::Fixed(_) => Vec::new(),
        }
    }

    fn render(&self, values: &Map<String, Value>) -> Content {
        match self {
            Filled::Text(template) => Content::text(template.render(values)),
            Filled::Resource { uri, text, contents } => Content::resource(ResourceContents {
                uri: uri.render(values),
                text: text.as_ref().map(|template| template.render(values)),
                ..contents.clone()
            }),
            Filled::Fixed(content) => content.clone(),
        }
    }
}

/// Variables nobody declared become optional arguments, so that the list tells of them.
fn declare_variables(prompt: &mut Prompt, templates: &[(Role, Filled)]) {
    for name in templates.iter().flat_map(|(_, filled)| filled.variables()) {
        if !prompt.arguments.iter().any(|a| a.name == name) {
            let name = name.to_owned();
            prompt.arguments.push(PromptArgument {
                name,
                ..PromptArgument::default()
            });
        }
    }
}

/// Looks a prompt up as `prompts/get` does, and fills it in.
pub(crate) async fn render(
    cx: Context,
    found: Option<Arc<Registered>>,
    name: &str,
    arguments: Map<String, Value>,
) -> Result<(Arc<Registered>, Vec<PromptMessage>), Stop> {
    let core = cx.0.core.clone();
    core.check(&cx, Access::GetPrompt(name))?;
    let registered = match (found, &core.prompt_source) {
        (Some(found), _) => found,
        (None, Some(source)) => match source.get(&cx, name).await? {
            Some(prompt) => Arc::new(Registered::new(prompt)?),
            None => return Err(unknown(name).into()),
        },
        (None, None) => return Err(unknown(name).into()),
    };
    let messages = registered.get(cx, arguments).await?;
    Ok((registered, messages))
}

/// The refusal for a name no prompt has.
pub(crate) fn unknown(name: &str) -> Refusal {
    Refusal::new(Code::PromptNotFound, format!("there is no prompt {name:?}"))
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prompt").field(&self.name).finish()
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prompt.fmt(f)
    }
}
