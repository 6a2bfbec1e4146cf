//! Questions a handler asks while it works: to the user (elicitation), the model (sampling), or the client (roots).
//!
//! A handler writes `let answer = cx.ask("name", …).await?` and need not know how it is carried. In the handshake era
//! the question is a request to the client, and the handler waits. In the stateless era the handler stops, the client
//! gets the question as a result, asks again with the answer, and the handler runs from its start with all answers so
//! far at hand. What it learned on the way travels with the client, sealed.

use std::time::Duration;

use refusal::{Code, Refusal};
use serde_json::{Map, Value, json};

use crate::client::ClientCapabilities;
use crate::error::{RpcCode, RpcError};
use crate::response::{Outcome, ResultType};
use crate::schema::Schema;

/// A server-to-client request (elicitation, sampling or roots), asked while a handler works.
#[derive(Clone, Debug)]
pub struct Ask {
    method: &'static str,
    params: Value,
    capability: &'static str,
    timeout: Option<Duration>,
    /// Whether an answer that does not fit the form is no answer. Whoever asks again and says why looks for himself.
    is_strict: bool,
}

impl Ask {
    /// Asks the user to fill in a form.
    pub fn form(message: impl Into<String>, schema: Value) -> Self {
        let mut params = json!({ "message": message.into() });
        params["requestedSchema"] = schema;
        Self::new("elicitation/create", params, "elicitation.form")
    }

    /// Sends the user to a page.
    pub fn url(message: impl Into<String>, url: impl Into<String>, id: impl Into<String>) -> Self {
        let params = json!({ "mode": "url", "message": message.into(), "url": url.into(), "elicitationId": id.into() });
        Self::new("elicitation/create", params, "elicitation.url")
    }

    /// Asks the client's model; `params` are those of `sampling/createMessage`.
    pub fn model(params: Value) -> Self {
        Self::new("sampling/createMessage", params, "sampling")
    }

    /// Asks the client which folders it works in.
    pub fn roots() -> Self {
        Self::new("roots/list", json!({}), "roots")
    }

    /// Sets how long the client may take to answer.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }

    fn new(method: &'static str, params: Value, capability: &'static str) -> Self {
        Self {
            method,
            params,
            capability,
            timeout: None,
            is_strict: true,
        }
    }

    /// Takes any content of a form; whoever asks checks it.
    #[must_use]
    pub fn unchecked(self) -> Self {
        Self {
            is_strict: false,
            ..self
        }
    }

    /// The JSON-RPC method that carries it.
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// Its parameters.
    pub fn params(&self) -> Value {
        self.params.clone()
    }

    /// What tells this question from every other: an answer counts for the very words a person was shown. Those to a
    /// model or a program are told apart by their name alone, for how they are put may change from round to round.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        add(self.method);
        if self.method == "elicitation/create" {
            for part in ["message", "requestedSchema", "url"] {
                add(&self.params.get(part).map(Value::to_string).unwrap_or_default());
            }
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// How long the client may take; `usual_ms` where nothing was set.
    pub fn wait(&self, usual_ms: u64) -> Duration {
        self.timeout.unwrap_or(Duration::from_millis(usual_ms))
    }

    /// Refuses to ask a client something it did not offer.
    //= specs/mcp-server.md#questions
    //# A client MUST NOT be asked for anything it did not declare; the request MUST be refused with `-32021` instead.
    pub fn check_offered(&self, offered: &ClientCapabilities) -> Result<(), RpcError> {
        if offered.has(self.capability) {
            return Ok(());
        }
        // Forms need no word of their own: an empty declaration means them.
        let name = self.capability.trim_end_matches(".form");
        let required = name
            .rsplit('.')
            .fold(json!({}), |inner, part| json!({ part: inner }));
        Err(missing_capability(name, required))
    }

    /// The answer, when it has the form the question asked for.
    pub fn accept(&self, answer: &Value) -> Result<(), Refusal> {
        let wrong = |problem: &str| {
            Refusal::new(
                Code::InvalidParams,
                format!("the answer to {} {problem}", self.method),
            )
        };
        let Value::Object(answer) = answer else {
            return Err(wrong("is not an object"));
        };
        match self.method {
            "elicitation/create" => self.accept_form(answer).map_err(|r| wrong(&r)),
            "roots/list" if !answer.get("roots").is_some_and(Value::is_array) => Err(wrong("has no `roots`")),
            "sampling/createMessage" if !answer.contains_key("content") => Err(wrong("has no `content`")),
            _ => Ok(()),
        }
    }

    fn accept_form(&self, answer: &Map<String, Value>) -> Result<(), String> {
        match answer.get("action").and_then(Value::as_str) {
            Some("decline" | "cancel") => return Ok(()),
            Some("accept") => {}
            _ => return Err("has no `action`".to_owned()),
        }
        let Some(schema) = self.params.get("requestedSchema").filter(|_| self.is_strict) else {
            return Ok(());
        };
        let schema = Schema::compile(schema.clone()).map_err(|r| r.message)?;
        let content = answer.get("content").cloned().unwrap_or_else(|| json!({}));
        schema
            .check(&content)
            .map_err(|r| format!("does not fit: {}", r.message))
    }
}

/// The error for a capability the client did not declare; `required` is what it would have to declare.
pub fn missing_capability(name: &str, required: Value) -> RpcError {
    let refusal = Refusal::new(
        Code::ProtocolError,
        format!("this needs a client that declares `{name}`"),
    )
    .hint(format!(
        "Use a client that supports `{name}`, or another way to the same end."
    ));
    RpcError::numbered(RpcCode::MissingCapability, refusal)
        .with("requiredCapabilities", required)
        .with_status(400)
}

/// MCP `InputRequiredResult`: what a handler stops with in the stateless era; it travels up to the answer by itself.
#[derive(Debug)]
pub struct InputRequired {
    requests: Map<String, Value>,
    state: Option<String>,
}

impl InputRequired {
    /// These questions, and what must come back with their answers.
    pub fn new(asks: &[(&str, Ask)], state: Option<String>) -> Self {
        let question = |(key, ask): &(&str, Ask)| {
            (
                (*key).to_owned(),
                json!({ "method": ask.method(), "params": ask.params() }),
            )
        };
        Self {
            requests: asks.iter().map(question).collect(),
            state,
        }
    }

    /// The result that carries it.
    pub fn outcome(self) -> Outcome {
        let mut object = Map::new();
        object.insert("inputRequests".to_owned(), self.requests.into());
        if let Some(state) = self.state {
            object.insert("requestState".to_owned(), state.into());
        }
        Outcome::object(object).typed(ResultType::InputRequired)
    }
}

/// MCP `ElicitResult`: what a person did with a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Elicited {
    /// Answered it, in the form that was asked for.
    Accepted(Map<String, Value>),
    /// Said no.
    Declined,
    /// Closed it without a word.
    Cancelled,
}

impl Elicited {
    /// As MCP calls it.
    pub const fn action(&self) -> &'static str {
        match self {
            Elicited::Accepted(_) => "accept",
            Elicited::Declined => "decline",
            Elicited::Cancelled => "cancel",
        }
    }
}
