//! Asking the person behind a client, until the answer fits or enough is enough.
//!
//! [`Context::ask`] carries one question. A person, though, mistypes: the answer has to be looked at, the person told
//! what was wrong and asked again, and all of that must come to an end. In the handshake era the rounds are requests to
//! the client; in the stateless era each is a result the client comes back with. What is written here does not know
//! which.

use std::time::Duration;

use refusal::{Code, Refusal};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::server::context::Context;
use crate::server::tool::Stop;
use mcp_protocol::{Ask, Elicited, Form, RpcCode, RpcError, notification};

/// Attempts a question may ask for, whatever a client wishes.
const MAX_ATTEMPTS: usize = 10;
/// Longest question, in characters; a page of text is no question.
const MAX_MESSAGE_CHARS: usize = 4_000;

/// A question to a person: what is asked, and the form of the answer.
#[derive(Clone, Debug)]
pub struct Elicitation {
    message: String,
    schema: Value,
    attempts: Option<usize>,
    timeout: Option<Duration>,
}

impl Elicitation {
    /// A question with the schema of its answer: an object with flat members, or one value.
    pub fn new(message: impl Into<String>, schema: Value) -> Self {
        Self {
            message: message.into(),
            schema,
            attempts: None,
            timeout: None,
        }
    }

    /// Sets how often it may be asked; the server's usual limit otherwise.
    #[must_use]
    pub fn attempts(self, attempts: usize) -> Self {
        Self {
            attempts: Some(attempts.clamp(1, MAX_ATTEMPTS)),
            ..self
        }
    }

    /// Sets how long the person may take for each attempt; the server's usual limit otherwise.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }
}

impl Context {
    /// Whether the client can show a form to a person.
    pub fn can_elicit(&self) -> bool {
        self.client().capabilities.has("elicitation.form")
    }

    // Fulfils 002 Req-Elicit-005
    /// Asks the person behind the client. An answer that does not fit is told why and asked for again, as often as the
    /// limit allows. Pass the error on with `?`: in the stateless era it carries the question to the client.
    //= specs/mcp-server.md#elicitation
    //# An answer that does not fit MUST be asked for again with what was wrong, and after the last attempt the request MUST be refused with 1021.
    pub async fn elicit(&self, key: &str, question: &Elicitation) -> Result<Elicited, Stop> {
        let form = Form::new(&question.schema)?;
        self.note(key, self.ask_for(key, question, &form).await)
    }

    /// Sends the person to a page, and tells whether they agreed to go there. What happens on the page is told by
    /// [`elicitation_complete`](Self::elicitation_complete).
    pub async fn elicit_url(&self, key: &str, message: &str, url: &str, id: &str) -> Result<Elicited, Stop> {
        let asked = self
            .ask(key, self.patient(Ask::url(message, url, id), None))
            .await;
        self.note(key, asked.map(|answer| read(&answer, Map::new)))
    }

    /// Stops the request until the person has been to a page. The client shows the page and sends the request again.
    //= specs/mcp-server.md#elicitation
    //# A request that cannot go on before the person was at a page MUST be refused with `-32042` and the page, in the stateless era with an input-required result.
    pub async fn require_url(&self, key: &str, message: &str, url: &str, id: &str) -> Result<(), Stop> {
        let ask = Ask::url(message, url, id);
        ask.check_offered(&self.client().capabilities)?;
        if self.0.terms.version.has_input_rounds() {
            return match read(&self.ask(key, ask).await?, Map::new) {
                Elicited::Accepted(_) => Ok(()),
                _ => Err(Refusal::new(
                    Code::DependencyUnavailable,
                    format!("the person did not go there: {message}"),
                )
                .hint("Ask the person what to do instead.")
                .into()),
            };
        }
        let refusal = Refusal::new(
            Code::ProtocolError,
            format!("this needs the person to visit a page first: {message}"),
        )
        .hint("Show the page to the person, then send the request again.");
        Err(RpcError::numbered(RpcCode::UrlElicitationRequired, refusal)
            .with("elicitations", vec![ask.params()])
            .into())
    }

    /// Tells the client that what the person had to do on a page is done. Revisions without this notice learn it when
    /// they send their request again.
    //= specs/mcp-server.md#elicitation
    //# When the person is done at a page, the client MUST be told where its revision knows the notification, and MUST NOT elsewhere.
    pub fn elicitation_complete(&self, id: &str) {
        if self.0.terms.version.knows_url_elicitation() {
            let notice = notification(
                "notifications/elicitation/complete",
                &json!({ "elicitationId": id }),
            );
            self.0.session.sink().offer(notice);
        }
    }

    // Fulfils 002 Req-Elicit-003
    async fn ask_for(&self, key: &str, question: &Elicitation, form: &Form) -> Result<Elicited, Stop> {
        let attempts = question
            .attempts
            .unwrap_or(self.0.core.settings.limits.max_elicit_attempts);
        let mut message = question.message.clone();
        let mut last = None;
        for attempt in 1..=attempts.max(1) {
            let ask = Ask::form(message, form.source().clone()).unchecked();
            let answer = self
                .ask(&named(key, attempt), self.patient(ask, question.timeout))
                .await?;
            let unfit = match read(&answer, Map::new) {
                Elicited::Accepted(_) => match form.read(answer.get("content")) {
                    Ok(fields) => return Ok(Elicited::Accepted(fields)),
                    Err(refusal) => refusal,
                },
                declined => return Ok(declined),
            };
            message = again(&question.message, &unfit);
            last = Some(unfit);
        }
        Err(used_up(attempts, last).into())
    }

    // Fulfils 002 Req-Elicit-004
    fn patient(&self, ask: Ask, timeout: Option<Duration>) -> Ask {
        let usual = Duration::from_millis(self.0.core.settings.limits.elicit_timeout_ms);
        ask.timeout(timeout.unwrap_or(usual))
    }

    /// Tells the hook what became of a question, once: a request that comes back brings its earlier answers along.
    fn note(&self, key: &str, outcome: Result<Elicited, Stop>) -> Result<Elicited, Stop> {
        let result = match &outcome {
            Ok(elicited) => Some(Ok(elicited)),
            Err(Stop::Refused(refusal)) => Some(Err(refusal)),
            Err(Stop::Error(error)) => Some(Err(&error.refusal)),
            Err(Stop::Input(_)) => None,
        };
        if let (Some(result), Some(hook)) = (result, &self.0.core.on_elicited)
            && self.is_news(key)
        {
            hook(self, key, result);
        }
        outcome
    }
}

/// `elicitation/request`: a client asks the server to ask the person, for an agent that wants an answer it can rely on.
#[derive(Debug)]
pub struct ElicitationRequest {
    question: Question,
}

#[derive(Debug)]
enum Question {
    Form(Elicitation),
    Page { message: String, url: String },
}

/// The result of `elicitation/request`.
#[derive(Debug, Serialize)]
struct ElicitationResult<'a> {
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a Value>,
}

impl ElicitationRequest {
    // Fulfils 002 Req-Elicit-002
    /// Reads the parameters: `prompt` (or `message`), and `schema` (or `requestedSchema`, or `constraints`) or `url`;
    /// `max_attempts` and `timeout_ms` where the usual ones do not fit.
    //= specs/mcp-server.md#elicitation
    //# `elicitation/request` MUST be refused with the name of the parameter when it has no prompt, no form, or a form no host can show.
    pub fn parse(params: &Value) -> Result<Self, Refusal> {
        let one_of = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| params.get(*name))
                .filter(|value| !value.is_null())
        };
        let message = one_of(&["prompt", "message"])
            .and_then(Value::as_str)
            .map(str::trim)
            .unwrap_or_default();
        if message.is_empty() || message.chars().count() > MAX_MESSAGE_CHARS {
            let problem = if message.is_empty() {
                "is missing"
            } else {
                "is too long"
            };
            let allowed = format!("the question, 1 to {MAX_MESSAGE_CHARS} characters");
            return Err(Refusal::field(Code::InvalidParams, "prompt", problem, allowed));
        }
        if let Some(url) = one_of(&["url"]) {
            let url = web_address(url)?;
            let message = message.to_owned();
            return Ok(Self {
                question: Question::Page { message, url },
            });
        }
        let Some(schema) = one_of(&["schema", "requestedSchema", "constraints"]) else {
            let allowed = "the JSON Schema of the answer, or `url`";
            return Err(Refusal::field(
                Code::InvalidParams,
                "schema",
                "is missing",
                allowed,
            ));
        };
        Form::new(schema)?;
        let mut form = Elicitation::new(message, schema.clone());
        if let Some(attempts) = whole(params, "max_attempts", 1, MAX_ATTEMPTS as u64)? {
            form = form.attempts(usize::try_from(attempts).unwrap_or(MAX_ATTEMPTS));
        }
        if let Some(timeout_ms) = whole(params, "timeout_ms", 1, u64::from(u32::MAX))? {
            form = form.timeout(Duration::from_millis(timeout_ms));
        }
        Ok(Self {
            question: Question::Form(form),
        })
    }

    // Fulfils 002 Req-Elicit-001
    /// Asks, and gives the answer of the method. A client's own limit can shorten the server's, never lengthen it.
    pub async fn ask(self, cx: &Context) -> Result<Value, Stop> {
        match self.question {
            Question::Page { message, url } => {
                let id = crate::random::random_id();
                let elicited = cx.elicit_url("answer", &message, &url, &id).await?;
                Ok(json!({ "action": elicited.action() }))
            }
            Question::Form(mut form) => {
                let most = Duration::from_millis(cx.0.core.settings.limits.elicit_timeout_ms);
                form.timeout = form.timeout.map(|wanted| wanted.min(most));
                let read = Form::new(&form.schema)?;
                let elicited = cx.elicit("answer", &form).await?;
                let content = match &elicited {
                    Elicited::Accepted(fields) => Some(fields),
                    _ => None,
                };
                let result = ElicitationResult {
                    action: elicited.action(),
                    value: content.and_then(|fields| read.single(fields)),
                    content,
                };
                Ok(serde_json::to_value(result).unwrap_or_default())
            }
        }
    }
}

//= specs/mcp-server.md#elicitation
//# Declining and closing a question MUST be told apart from each other and from an answer.
/// What the client said the person did. [`Ask`] lets nothing through that has no action.
fn read(answer: &Value, content: impl FnOnce() -> Map<String, Value>) -> Elicited {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => Elicited::Accepted(content()),
        Some("decline") => Elicited::Declined,
        _ => Elicited::Cancelled,
    }
}

fn named(key: &str, attempt: usize) -> String {
    match attempt {
        1 => key.to_owned(),
        _ => format!("{key}.{attempt}"),
    }
}

/// The question again, with what was wrong with the answer before.
fn again(message: &str, unfit: &Refusal) -> String {
    let mut text = format!("{message}\n\nThat did not fit:");
    for fault in &unfit.faults {
        text.push_str(&format!("\n- {}: {}", fault.field, fault.problem));
        if !fault.allowed.is_empty() {
            text.push_str(&format!(" (allowed: {})", fault.allowed));
        }
    }
    text
}

fn used_up(attempts: usize, last: Option<Refusal>) -> Refusal {
    let message = format!("no answer that fits after {attempts} attempt(s)");
    let faults = last.map(|refusal| refusal.faults).unwrap_or_default();
    Refusal {
        faults,
        ..Refusal::new(Code::InvalidParams, message)
            .hint("Ask for something simpler, or give the values yourself.")
    }
}

/// A page a browser may be sent to: never a program, a file or a script.
fn web_address(url: &Value) -> Result<String, Refusal> {
    let fits = |url: &&str| {
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty()) && url.len() <= 2_048 && !url.contains(char::is_whitespace)
    };
    url.as_str().filter(fits).map(str::to_owned).ok_or_else(|| {
        Refusal::field(
            Code::InvalidParams,
            "url",
            "is no address of a page",
            "an https:// or http:// address",
        )
    })
}

fn whole(params: &Value, name: &str, min: u64, max: u64) -> Result<Option<u64>, Refusal> {
    let Some(value) = params.get(name) else {
        return Ok(None);
    };
    let fits = value.as_u64().filter(|number| (min..=max).contains(number));
    fits.map(Some).ok_or_else(|| {
        Refusal::field(
            Code::InvalidParams,
            name,
            format!("{value} does not fit"),
            format!("a number from {min} to {max}"),
        )
    })
}
