//! What tools are called with, what they answer, and the hints that stand beside them in a list.

use std::ops::Deref;

use refusal::{Code, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::content::Content;
use crate::error;

/// Tool annotations: hints on what a tool does to the world. Absent means unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
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

/// MCP `execution.taskSupport`: whether a call may become a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskSupport {
    /// Never.
    Forbidden,
    /// When the client can follow it.
    Optional,
    /// Always; a client that cannot follow tasks is refused.
    Required,
}

/// The arguments of a call, checked against the tool's schema.
#[derive(Clone, Debug, Default)]
pub struct Arguments(pub Map<String, Value>);

impl Arguments {
    /// The arguments as a type of the tool's own.
    pub fn parse<T: DeserializeOwned>(self) -> Result<T, Refusal> {
        serde_json::from_value(Value::Object(self.0))
            .map_err(|e| Refusal::field(Code::InvalidParams, "arguments", e.to_string(), ""))
    }

    /// One argument as text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
}

/// Arguments under the names a tool knows them by: the first name of each pair stands for the second, where that is not
/// given, too.
pub fn renamed(mut given: Map<String, Value>, aliases: &[(&str, &str)]) -> Map<String, Value> {
    for (alias, name) in aliases {
        if !given.contains_key(*name)
            && let Some(value) = given.remove(*alias)
        {
            given.insert((*name).to_owned(), value);
        }
    }
    given
}

impl Deref for Arguments {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

// Fulfils 002 Req-Tool-004
/// MCP `CallToolResult`: what a tool answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// For the model, piece by piece.
    pub content: Vec<Content>,
    /// For programs; fits the output schema when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// The tool ran and could not do it.
    pub is_error: bool,
    /// MCP `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// The text says less than the structured result: clients of revisions without one need it as text.
    #[serde(skip)]
    is_brief: bool,
    /// The texts hold the structured result, too.
    #[serde(skip)]
    is_mirrored: bool,
}

impl ToolResult {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![Content::text(text)],
            ..Self::default()
        }
    }

    /// Several pieces.
    pub fn of(content: Vec<Content>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }

    /// A structured result, with the same as text for clients that read only that.
    pub fn structured(value: Value) -> Self {
        Self {
            content: vec![Content::text(value.to_string())],
            structured_content: Some(value),
            ..Self::default()
        }
    }

    /// A structured result with a short text beside it. The payload travels once: clients of revisions that know no
    /// structured results get it as text instead.
    pub fn brief(text: impl Into<String>, value: Value) -> Self {
        Self {
            content: vec![Content::text(text)],
            structured_content: Some(value),
            is_brief: true,
            ..Self::default()
        }
    }

    /// A structured result with a short text and the same result as text beside it: many hosts show their models texts only.
    pub fn mirrored(text: impl Into<String>, value: Value) -> Self {
        Self {
            content: vec![Content::text(text), Content::text(value.to_string())],
            structured_content: Some(value),
            is_mirrored: true,
            ..Self::default()
        }
    }

    /// The result as a revision without structured results can carry it.
    pub(crate) fn in_words(&mut self) {
        if self.is_mirrored {
            self.structured_content = None;
        }
        if let Some(value) = self.structured_content.take_if(|_| self.is_brief) {
            self.content.push(Content::text(value.to_string()));
        }
    }

    // Fulfils 003 R6.8, 003 R6.9, 002 Req-Tool-007
    /// The tool could not do it: the message for the model, the refusal for programs.
    //= specs/mcp-server.md#tools
    //# A tool that ran and failed MUST be answered with a result whose `isError` is true and which carries the refusal.
    pub fn failed(refusal: &Refusal) -> Self {
        let mut error = json!({ "refusal": error::refusal_value(refusal), "message": refusal.message });
        if !refusal.faults.is_empty() {
            error["fields"] = error::faults_value(refusal);
        }
        for (name, value) in &refusal.facts {
            error[*name] = Value::from(value.as_str());
        }
        Self {
            content: vec![Content::text(words(refusal))],
            structured_content: Some(json!({ "error": error })),
            is_error: true,
            ..Self::default()
        }
    }
}

/// Message, faults and hint as one text a model can act on.
fn words(refusal: &Refusal) -> String {
    let mut text = refusal.message.clone();
    for fault in &refusal.faults {
        text.push_str(&format!("\n- {}: {}", fault.field, fault.problem));
        if !fault.allowed.is_empty() {
            text.push_str(&format!(" (allowed: {})", fault.allowed));
        }
    }
    text.push('\n');
    text.push_str(&refusal.hint);
    text
}
