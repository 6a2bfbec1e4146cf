//! Subscriptions: who wants to hear of changed resources and lists, and the broker that notifies them.

mod broker;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::changes::List;

pub(crate) use broker::{Broker, Topics};

/// What a listener asked for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    roots_list_changed: bool,
    pub(crate) resource_subscriptions: BTreeSet<String>,
}

impl Filter {
    /// What was granted, in the words it was asked for.
    pub(crate) fn granted(&self) -> Value {
        let mut granted = Map::new();
        for (name, on) in [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
            ("rootsListChanged", self.roots_list_changed),
        ] {
            if on {
                granted.insert(name.to_owned(), true.into());
            }
        }
        if !self.resource_subscriptions.is_empty() {
            granted.insert(
                "resourceSubscriptions".to_owned(),
                json!(self.resource_subscriptions),
            );
        }
        granted.into()
    }

    pub(crate) fn wants(&self, list: List) -> bool {
        match list {
            List::Tools => self.tools_list_changed,
            List::Resources => self.resources_list_changed,
            List::Prompts => self.prompts_list_changed,
            List::Roots => self.roots_list_changed,
        }
    }
}
