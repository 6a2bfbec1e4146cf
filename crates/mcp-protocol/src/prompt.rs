//! Prompts as clients see them: their arguments and the messages they become.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{Content, Role};

/// One argument of a prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// Whether the prompt makes no sense without it.
    pub required: bool,
    /// JSON Schema of its value; text when there is none.
    pub schema: Option<Value>,
}

// Fulfils 002 Req-Prompt-005
/// One message of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

impl PromptMessage {
    /// Something the user says.
    pub fn user(content: Content) -> Self {
        Self {
            role: Role::User,
            content,
        }
    }
}
