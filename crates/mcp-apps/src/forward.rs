//! Calls to an app, and its answers in the words of this server: its addresses become ours.

use mcp_protocol::{Content, PromptMessage, ResourceContents, ToolResult};
use mcp_server::Context;
use refusal::Refusal;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::names;

impl App {
    //= specs/mcp-apps.md#calls
    //# What an app answers MUST be passed on as it is, also when the app says that the tool failed.
    pub(crate) async fn call_tool(
        &self,
        cx: &Context,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolResult, Refusal> {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut answer = self.ask(cx, "tools/call", params).await?;
        let mut content: Vec<Content> = self.part(&mut answer, "content")?;
        content.iter_mut().for_each(|piece| self.readdress(piece));
        let mut result = ToolResult::of(content);
        result.structured_content = answer
            .remove("structuredContent")
            .filter(|value| !value.is_null());
        result.is_error = answer.get("isError") == Some(&Value::Bool(true));
        result.meta = self.part(&mut answer, "_meta").unwrap_or_default();
        Ok(result)
    }

    pub(crate) async fn read_resource(
        &self,
        cx: &Context,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, Refusal> {
        let mut answer = self.ask(cx, "resources/read", json!({ "uri": uri })).await?;
        let mut contents: Vec<ResourceContents> = self.part(&mut answer, "contents")?;
        contents.iter_mut().for_each(|piece| self.rename(&mut piece.uri));
        Ok(contents)
    }

    pub(crate) async fn get_prompt(
        &self,
        cx: &Context,
        prompt: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<PromptMessage>, Refusal> {
        let params = json!({ "name": prompt, "arguments": arguments });
        let mut answer = self.ask(cx, "prompts/get", params).await?;
        let mut messages: Vec<PromptMessage> = self.part(&mut answer, "messages")?;
        messages
            .iter_mut()
            .for_each(|message| self.readdress(&mut message.content));
        Ok(messages)
    }

    fn part<T: DeserializeOwned>(&self, answer: &mut Map<String, Value>, name: &str) -> Result<T, Refusal> {
        let value = answer.remove(name).ok_or_else(|| self.nonsense())?;
        serde_json::from_value(value).map_err(|error| {
            tracing::warn!(app = self.name, part = name, %error, "an answer of the app makes no sense");
            self.nonsense()
        })
    }

    fn readdress(&self, content: &mut Content) {
        match content {
            Content::Resource { resource, .. } => self.rename(&mut resource.uri),
            Content::ResourceLink { uri, .. } => self.rename(uri),
            _ => {}
        }
    }

    fn rename(&self, uri: &mut String) {
        if let Some(ours) = names::ours(&self.name, uri) {
            *uri = ours;
        }
    }
}
