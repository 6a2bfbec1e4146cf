//! What an app offers: its tools, resources, templates and prompts, in its own words.
//!
//! The types are the wire's and those of `app.json`. They are our own, so that no library decides what stands on our
//! disks; what we only pass on (icons, annotations, `_meta`) is kept as it came.

use std::collections::BTreeSet;

use mcp_client::{CallError, Initialized, Peer};
use refusal::{Code, Refusal};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::manifest::{Family, Manifest, distinct, lacking};
use crate::names;

/// What an app offered when it was last seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AppListing {
    /// What it calls itself.
    #[serde(default)]
    pub title: String,
    /// The version it says it has.
    #[serde(default)]
    pub version: String,
    /// Its tools.
    #[serde(default)]
    pub tools: Vec<ListedTool>,
    /// Its resources.
    #[serde(default)]
    pub resources: Vec<ListedResource>,
    /// Its patterns of resources.
    #[serde(default)]
    pub templates: Vec<ListedTemplate>,
    /// Its prompts.
    #[serde(default)]
    pub prompts: Vec<ListedPrompt>,
    /// The families it serves.
    #[serde(default)]
    pub families: Vec<Family>,
}

/// Tool of an app, as `tools/list` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// Its own name.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it takes.
    pub input_schema: Map<String, Value>,
    /// What it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Map<String, Value>>,
    /// Hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ListedHints>,
    /// Icons, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// MCP `_meta`, as it came.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Hints of an app on one of its tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListedHints {
    /// The tool's name for people, where older servers put it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// May destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Twice is the same as once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Reaches beyond the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Resource of an app, as `resources/list` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedResource {
    /// Its own address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its MIME type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Icons, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
    /// For whom it is, as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
    /// MCP `_meta`, as it came.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

/// Resource template of an app, as `resources/templates/list` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTemplate {
    /// Its own pattern of addresses.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type of what it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Prompt of an app, as `prompts/list` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedPrompt {
    /// Its own name.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<ListedArgument>>,
    /// Icons, as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<Value>,
}

/// Argument of a prompt of an app.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedArgument {
    /// Its name.
    pub name: String,
    /// Its name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it must be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// Why the lists of an app could not be read.
pub(crate) enum ListError {
    Call(CallError),
    TooMany(&'static str),
}

/// Reads all pages of a list, up to a limit.
async fn pages<T: DeserializeOwned>(
    peer: &Peer,
    method: &str,
    member: &'static str,
    max: usize,
) -> Result<Vec<T>, ListError> {
    let mut all = Vec::new();
    let mut params = json!({});
    loop {
        let page = peer.call::<Map<String, Value>>(method, params.take()).await;
        let mut page = page.map_err(ListError::Call)?;
        let entries = page.remove(member).unwrap_or_default();
        let entries: Vec<T> = serde_json::from_value(entries).map_err(|error| {
            let problem = format!("{method}: {error}");
            ListError::Call(CallError::Unexpected(problem))
        })?;
        all.extend(entries);
        if all.len() > max {
            return Err(ListError::TooMany(member));
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(next) => params = json!({ "cursor": next }),
            None => return Ok(all),
        }
    }
}

impl AppListing {
    /// Asks an app for everything it declares.
    pub(crate) async fn ask(peer: &Peer, initialized: &Initialized, max: usize) -> Result<Self, ListError> {
        let text = |field| initialized.server_text(field).map(str::to_owned);
        let mut listing = Self {
            title: text("title").or_else(|| text("name")).unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            ..Self::default()
        };
        let declares = |family: &str| {
            let declared = initialized.capabilities.get(family);
            declared.is_some_and(|declared| !declared.is_null())
        };
        if declares("tools") {
            listing.families.push(Family::Tools);
            listing.tools = pages(peer, "tools/list", "tools", max).await?;
        }
        if declares("resources") {
            listing.families.push(Family::Resources);
            listing.resources = pages(peer, "resources/list", "resources", max).await?;
            listing.templates = pages(peer, "resources/templates/list", "resourceTemplates", max).await?;
        }
        if declares("prompts") {
            listing.families.push(Family::Prompts);
            listing.prompts = pages(peer, "prompts/list", "prompts", max).await?;
        }
        Ok(listing)
    }

    /// Refuses an app whose names cannot be told apart, or are the server's own.
    pub(crate) fn check_names(&self, app: &str, reserved: &BTreeSet<String>) -> Result<(), Refusal> {
        let tools = || self.tools.iter().map(|tool| tool.name.as_str());
        let prompts = || self.prompts.iter().map(|prompt| prompt.name.as_str());
        distinct(app, "tool", Code::ToolDuplicate, tools())?;
        distinct(app, "prompt", Code::PromptDuplicate, prompts())?;
        //= specs/mcp-apps.md#names
        //# An app whose names would be those of the server itself MUST be refused with 1049.
        match tools()
            .chain(prompts())
            .map(|own| names::of(app, own))
            .find(|name| reserved.contains(name))
        {
            Some(name) => Err(Refusal::new(
                Code::ToolDuplicate,
                format!("the app would be listed with the name {name:?}, which the server uses itself"),
            )
            .hint("Install the app under another name.")),
            None => Ok(()),
        }
    }

    // Fulfils 002 Req-App-006
    /// Refuses an app that lacks what its manifest declares.
    pub(crate) fn check_promises(&self, manifest: &Manifest) -> Result<(), Refusal> {
        let tools: BTreeSet<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        let prompts: BTreeSet<&str> = self.prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        let families = self.families.iter().map(|family| word(*family)).collect();
        let promised_tools = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        let promised_prompts = manifest
            .prompts
            .iter()
            .map(|prompt| prompt.name.as_str())
            .collect();
        let promised_families = manifest.capabilities.iter().map(|family| word(*family)).collect();
        let faults = [
            lacking("capabilities", &promised_families, &families),
            lacking("tools", &promised_tools, &tools),
            lacking("prompts", &promised_prompts, &prompts),
        ];
        let faults = faults.into_iter().flatten().collect();
        match Refusal::of_faults(Code::RuleViolated, faults) {
            Some(refusal) => {
                Err(refusal.hint("Correct the manifest, or install a version of the app that keeps it."))
            }
            None => Ok(()),
        }
    }

    /// What the app can do, as it is told in lists.
    pub(crate) fn capabilities(&self, app: &str) -> Value {
        let tools: Vec<String> = self.tools.iter().map(|tool| names::of(app, &tool.name)).collect();
        let prompts: Vec<String> = self
            .prompts
            .iter()
            .map(|prompt| names::of(app, &prompt.name))
            .collect();
        let address = |uri: &String| names::ours(app, uri);
        let resources: Vec<String> = self.resources.iter().filter_map(|r| address(&r.uri)).collect();
        let templates: Vec<String> = self
            .templates
            .iter()
            .filter_map(|t| address(&t.uri_template))
            .collect();
        json!({ "tools": tools, "resources": resources, "resource_templates": templates, "prompts": prompts })
    }
}

fn word(family: Family) -> &'static str {
    match family {
        Family::Tools => "tools",
        Family::Resources => "resources",
        Family::Prompts => "prompts",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AppRecord;

    /// Written by the last version that kept the SDK's own types on disk.
    const OLD_RECORD: &str = include_str!("listing/app.json");

    #[test]
    fn an_app_that_was_installed_before_still_reads_and_is_written_the_same() {
        let record: AppRecord = serde_json::from_str(OLD_RECORD).unwrap();
        let listing = &record.listing;
        assert_eq!(
            listing.families,
            [Family::Tools, Family::Resources, Family::Prompts]
        );
        let tool = &listing.tools[0];
        assert_eq!(tool.input_schema["required"], json!(["text"]));
        assert_eq!(tool.annotations.as_ref().unwrap().read_only_hint, Some(true));
        assert_eq!(listing.resources[0].uri, "trouble://notes/one");
        assert_eq!(listing.templates[0].mime_type.as_deref(), Some("text/plain"));
        assert_eq!(
            listing.prompts[0].arguments.as_ref().unwrap()[0].required,
            Some(true)
        );
        let (old, new): (Value, Value) = (
            serde_json::from_str(OLD_RECORD).unwrap(),
            serde_json::to_value(&record).unwrap(),
        );
        assert_eq!(new, old, "a version that goes back reads it, too");
    }
}
