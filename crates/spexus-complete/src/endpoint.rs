//! A language model elsewhere, spoken to in the form most servers of models understand: `POST …/completions`, answered by
//! a stream of events.

use crate::{Completion, CompletionRequest, stream};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use mcp_client::{HttpPool, PoolOptions, SseReader};
use mcp_server::{Breaker, BreakerSettings, Context};
use serde_json::{Value, json};
use spexus_domain::{Code, Refusal, Ruled};
use std::time::Duration;

/// Bytes of one event that are read before the answer is given up.
const MAX_EVENT_BYTES: usize = 64 * 1024;

/// How texts are completed.
#[derive(Clone)]
pub struct CompletionOptions {
    /// Tokens of a text that are looked at.
    pub context_tokens: usize,
    /// Where a language model answers, such as `http://127.0.0.1:11434/v1`. When empty, no text leaves the process.
    pub endpoint: String,
    /// Which model to ask for there.
    pub model: String,
    /// What is sent there as a bearer token; nothing when empty.
    pub key: String,
    /// How long it may take until the last token.
    pub timeout_ms: u64,
}

impl Default for CompletionOptions {
    fn default() -> Self {
        Self {
            context_tokens: 2_048,
            endpoint: String::new(),
            model: "default".to_owned(),
            key: String::new(),
            timeout_ms: 10_000,
        }
    }
}

/// The key is for the endpoint alone.
impl std::fmt::Debug for CompletionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompletionOptions")
            .field("context_tokens", &self.context_tokens)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The language model elsewhere.
pub(crate) struct ModelEndpoint {
    address: Uri,
    authorization: Option<HeaderValue>,
    model: String,
    timeout: Duration,
    pool: HttpPool,
    breaker: Breaker,
}

impl ModelEndpoint {
    /// `None` when there is none.
    pub(crate) fn new(options: &CompletionOptions) -> Ruled<Option<Self>> {
        if options.endpoint.is_empty() {
            return Ok(None);
        }
        let wrong =
            |field: &str, allowed: &str| Refusal::field(Code::InvalidParams, field, "is not usable", allowed);
        let address = format!("{}/completions", options.endpoint.trim_end_matches('/'));
        let address: Uri = address
            .parse()
            .map_err(|_| wrong("completion.endpoint", "an http:// or https:// URL"))?;
        let authorization = match options.key.is_empty() {
            true => None,
            false => {
                let mut value = HeaderValue::try_from(format!("Bearer {}", options.key))
                    .map_err(|_| wrong("completion.key", "letters, digits and signs"))?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let pool = HttpPool::new(&address, PoolOptions::default()).map_err(|_| {
            wrong(
                "completion.endpoint",
                "a machine with certificates of authorities",
            )
        })?;
        Ok(Some(Self {
            address,
            authorization,
            model: options.model.clone(),
            timeout: Duration::from_millis(options.timeout_ms),
            pool,
            breaker: Breaker::new("completion endpoint", BreakerSettings::default()),
        }))
    }

    /// Asks for a text, and tells of each piece as it comes. What came before a fault is kept.
    //= specs/spexus-mcp.md#completion
    //# A text MUST be sent to another machine only when an endpoint is configured; when it does not answer, the embedded model MUST.
    pub(crate) async fn complete(
        &self,
        cx: &Context,
        prompt: &str,
        wanted: &CompletionRequest,
    ) -> Ruled<Completion> {
        let pass = self.breaker.enter()?;
        let mut written = Completion {
            finish: "interrupted",
            model: self.model.clone(),
            ..Completion::default()
        };
        let asked = self.ask(cx, prompt, wanted, &mut written);
        let done = match tokio::time::timeout(self.timeout, asked).await {
            Ok(done) => done,
            Err(_) => Err(Refusal::new(
                Code::Timeout,
                "the completion endpoint took too long",
            )),
        };
        match done {
            Ok(()) => pass.succeeded(),
            Err(refusal) => {
                pass.refused(refusal.code);
                tracing::warn!(code = refusal.code.name(), "the completion endpoint failed");
                if written.tokens.is_empty() {
                    return Err(refusal);
                }
            }
        }
        Ok(written)
    }

    async fn ask(
        &self,
        cx: &Context,
        prompt: &str,
        wanted: &CompletionRequest,
        written: &mut Completion,
    ) -> Ruled<()> {
        let mut events = self.send(prompt, wanted).await?;
        while let Some(event) = events.next().await.map_err(|_| unreachable())? {
            let data = String::from_utf8_lossy(&event.data);
            if data.trim().is_empty() {
                continue;
            }
            if data.trim() == "[DONE]" {
                return Ok(());
            }
            let event: Value = serde_json::from_str(&data).map_err(|_| unreachable())?;
            if let Some((token, probability)) = written.take(&event, wanted.predictions) {
                stream(cx, written.tokens.len(), wanted.max_tokens, &token, probability).await;
            }
        }
        // A stream that ends without saying so was cut off, unless the text had its end.
        match written.finish {
            "interrupted" => Err(unreachable()),
            _ => Ok(()),
        }
    }

    async fn send(&self, prompt: &str, wanted: &CompletionRequest) -> Ruled<SseReader> {
        let body = json!({
            "model": self.model,
            "prompt": prompt,
            "max_tokens": wanted.max_tokens,
            "temperature": wanted.temperature,
            "seed": wanted.seed,
            "logprobs": wanted.predictions,
            "stream": true,
        });
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(self.address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let request = request
            .body(Bytes::from(body.to_string()))
            .map_err(|_| unreachable())?;
        let response = self.pool.send(request).await.map_err(|_| unreachable())?;
        match response.status().is_success() {
            true => Ok(SseReader::new(response.into_body(), MAX_EVENT_BYTES)),
            false => Err(unreachable()),
        }
    }
}

impl Completion {
    /// Takes over what an event says; gives its token.
    fn take(&mut self, event: &Value, predictions: usize) -> Option<(String, Option<f64>)> {
        let choice = event.get("choices")?.get(0)?;
        match choice.get("finish_reason").and_then(Value::as_str) {
            Some("length") => self.finish = "length",
            Some(_) => self.finish = "stop",
            None => {}
        }
        let token = choice
            .get("text")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())?;
        let of_first = |name: &str| choice.get("logprobs").and_then(|all| all.get(name)?.get(0));
        if self.tokens.is_empty() {
            let likely = of_first("top_logprobs")
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            let mut likely: Vec<(String, f64)> = likely
                .filter_map(|(token, log)| Some((token.clone(), log.as_f64()?.exp())))
                .collect();
            likely.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            likely.truncate(predictions);
            self.predictions = likely;
        }
        let probability = of_first("token_logprobs").and_then(Value::as_f64).map(f64::exp);
        self.tokens.push((token.to_owned(), probability));
        Some((token.to_owned(), probability))
    }
}

fn unreachable() -> Refusal {
    Refusal::new(
        Code::DependencyUnavailable,
        "the completion endpoint does not answer as it should",
    )
}
