//! What an app has: its tools, resources, templates and prompts, in its own words.

use std::collections::BTreeSet;

use refusal::{Code, Refusal};
use rmcp::model::{PaginatedRequestParams, Prompt, Resource, ResourceTemplate, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::manifest::{Family, Manifest, distinct, lacking};
use crate::names;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    /// What it calls itself.
    #[serde(default)]
    pub title: String,
    /// The version it says it has.
    #[serde(default)]
    pub version: String,
    /// Its tools.
    #[serde(default)]
    pub tools: Vec<Tool>,
    /// Its resources.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// Its patterns of resources.
    #[serde(default)]
    pub templates: Vec<ResourceTemplate>,
    /// Its prompts.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
    /// The families it serves.
    #[serde(default)]
    pub families: Vec<Family>,
}

/// Why the lists of an app could not be read.
pub(crate) enum Unlisted {
    Broken(ServiceError),
    TooMany(&'static str),
}

/// Reads all pages of a list, up to a limit.
macro_rules! pages {
    ($peer:expr, $method:ident, $member:ident, $max:expr) => {{
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = $peer.$method(Some(params)).await.map_err(Unlisted::Broken)?;
            all.extend(page.$member);
            if all.len() > $max {
                return Err(Unlisted::TooMany(stringify!($member)));
            }
            cursor = match page.next_cursor {
                Some(next) => Some(next),
                None => break all,
            };
        }
    }};
}

impl Catalogue {
    /// Asks an app for everything it declares.
    pub(crate) async fn ask(peer: &Peer<RoleClient>, max: usize) -> Result<Self, Unlisted> {
        let Some(info) = peer.peer_info() else {
            return Err(Unlisted::Broken(ServiceError::TransportClosed));
        };
        let mut catalogue = Self::default();
        if let Some(named) = &info.server_info {
            catalogue.title = named.title.clone().unwrap_or_else(|| named.name.clone());
            catalogue.version = named.version.clone();
        }
        let offers = &info.capabilities;
        if offers.tools.is_some() {
            catalogue.families.push(Family::Tools);
            catalogue.tools = pages!(peer, list_tools, tools, max);
        }
        if offers.resources.is_some() {
            catalogue.families.push(Family::Resources);
            catalogue.resources = pages!(peer, list_resources, resources, max);
            catalogue.templates = pages!(peer, list_resource_templates, resource_templates, max);
        }
        if offers.prompts.is_some() {
            catalogue.families.push(Family::Prompts);
            catalogue.prompts = pages!(peer, list_prompts, prompts, max);
        }
        Ok(catalogue)
    }

    /// Refuses an app whose names cannot be told apart, or are the server's own.
    pub(crate) fn check_names(&self, app: &str, reserved: &BTreeSet<String>) -> Result<(), Refusal> {
        let tools = || self.tools.iter().map(|tool| tool.name.as_ref());
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
        let tools: BTreeSet<&str> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
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
