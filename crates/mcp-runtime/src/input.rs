//! Questions a handler asks while it works: to the user (elicitation), the model (sampling), or the client (roots).
//!
//! A handler writes `let answer = cx.ask("name", …).await?` and need not know how it is carried. In the handshake era
//! the question is a request to the client, and the handler waits. In the stateless era the handler stops, the client
//! gets the question as a result, asks again with the answer, and the handler runs from its start with all answers so
//! far at hand. What it learned on the way travels with the client, sealed.

use std::collections::BTreeSet;
use std::time::Duration;

use refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answer::{Kind, Outcome, RpcError};
use crate::client::ClientCapabilities;
use crate::fields::Fields;
use crate::schema::Schema;
use crate::seal::Seal;

/// How many questions one request may ask in all rounds.
const MAX_ANSWERS: usize = 64;

/// A question.
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
    pub(crate) fn unchecked(self) -> Self {
        Self {
            is_strict: false,
            ..self
        }
    }

    pub(crate) fn method(&self) -> &'static str {
        self.method
    }

    pub(crate) fn params(&self) -> Value {
        self.params.clone()
    }

    pub(crate) fn wait(&self, usual_ms: u64) -> Duration {
        self.timeout.unwrap_or(Duration::from_millis(usual_ms))
    }

    /// Refuses to ask a client something it did not offer.
    //= specs/mcp-runtime.md#questions
    //# A client MUST NOT be asked for anything it did not declare; the request MUST be refused with `-32021` instead.
    pub(crate) fn check_offered(&self, offered: &ClientCapabilities) -> Result<(), RpcError> {
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
    pub(crate) fn accept(&self, answer: &Value) -> Result<(), Refusal> {
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
pub(crate) fn missing_capability(name: &str, required: Value) -> RpcError {
    let refusal = Refusal::new(
        Code::ProtocolError,
        format!("this needs a client that declares `{name}`"),
    )
    .hint(format!(
        "Use a client that supports `{name}`, or another way to the same end."
    ));
    RpcError::numbered(-32021, refusal)
        .with("requiredCapabilities", required)
        .status(400)
}

/// What a handler stops with in the stateless era; it travels up to the answer by itself.
#[derive(Debug)]
pub struct InputRequired {
    pub(crate) requests: Map<String, Value>,
    pub(crate) state: Option<String>,
}

impl InputRequired {
    /// These questions, and what must come back with their answers.
    pub(crate) fn new(asks: &[(&str, Ask)], state: Option<String>) -> Self {
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

    pub(crate) fn outcome(self) -> Outcome {
        let mut object = Map::new();
        object.insert("inputRequests".to_owned(), self.requests.into());
        if let Some(state) = self.state {
            object.insert("requestState".to_owned(), state.into());
        }
        Outcome::object(object).kind(Kind::InputRequired)
    }
}

/// What came with a retried request: answers of this and of earlier rounds, and what the handler kept.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rounds {
    #[serde(rename = "a", default)]
    pub(crate) answers: Map<String, Value>,
    #[serde(rename = "k", default)]
    pub(crate) kept: Option<Value>,
    /// When a question to a model went out, in milliseconds since 1970, to know how long its answer took.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked_ms: Option<i64>,
    /// Which answers came with this very request and were not looked at yet.
    #[serde(skip)]
    pub(crate) fresh: BTreeSet<String>,
}

impl Rounds {
    /// Reads `requestState` and `inputResponses`. A state that was not made here for this very call is refused.
    pub(crate) fn read(fields: &Fields<'_>, seal: &Seal, purpose: &str) -> Result<Rounds, Refusal> {
        let mut rounds = match fields.text("requestState")? {
            None => Rounds::default(),
            Some(state) => {
                let opened = seal
                    .open(purpose, &state)
                    .and_then(|bytes| serde_json::from_slice(&bytes).ok());
                opened.ok_or_else(|| {
                    Refusal::field(
                        Code::InvalidParams,
                        "requestState",
                        "was not made by this server for this request",
                        "the `requestState` of the result before, unchanged",
                    )
                })?
            }
        };
        if let Some(responses) = fields.decode::<Map<String, Value>>("inputResponses")? {
            rounds.fresh = responses.keys().cloned().collect();
            rounds.answers.extend(responses);
        }
        if rounds.answers.len() > MAX_ANSWERS {
            return Err(Refusal::new(
                Code::InvalidParams,
                format!("more than {MAX_ANSWERS} answers in one request"),
            ));
        }
        Ok(rounds)
    }

    /// Parts questions that are answered from those that are open. An answer that does not fit leaves its question open.
    pub(crate) fn sort_out<'a>(
        &mut self,
        asks: Vec<(&'a str, Ask)>,
    ) -> (Map<String, Value>, Vec<(&'a str, Ask)>) {
        let (mut answers, mut open) = (Map::new(), Vec::new());
        for (key, ask) in asks {
            match self.answers.get(key).filter(|answer| ask.accept(answer).is_ok()) {
                Some(answer) => drop(answers.insert(key.to_owned(), answer.clone())),
                None => {
                    self.answers.remove(key);
                    open.push((key, ask));
                }
            }
        }
        (answers, open)
    }

    /// The state for the next round; none when there is nothing to remember.
    pub(crate) fn seal(&self, seal: &Seal, purpose: &str) -> Option<String> {
        if self.answers.is_empty() && self.kept.is_none() && self.asked_ms.is_none() {
            return None;
        }
        serde_json::to_vec(self)
            .ok()
            .map(|bytes| seal.close(purpose, &bytes))
    }
}
