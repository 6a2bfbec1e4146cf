//! Completion of texts as they are written: what comes next, by what the project's own items say.
//!
//! The decision that shaped it: **nothing leaves the installation unless the operator says so.** Words are chosen by a
//! model that lives in the process, is made of one project's texts alone and follows its changes, so it is current and
//! knows nothing a caller may not read. Where an endpoint is configured, a language model there is asked first, and the
//! embedded one answers when it cannot.
//!
//! What is asked is read and checked here, and each token is told as it comes; who asks, and what is noted of it, is the
//! caller's ([`TextCompleter::complete`]). The crate knows no SQL, no transport and no environment.

mod endpoint;
mod measure;
mod model;
mod projects;
mod words;

pub use endpoint::CompletionOptions;
pub use measure::{Accuracy, measure};

use endpoint::ModelEndpoint;
use mcp_server::Context;
use model::{Model, Prediction};
use projects::ProjectModels;
use serde::Deserialize;
use serde_json::{Value, json};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, decode};
use spexus_service::Service;

/// Under which name a token stands in the `_meta` of progress.
const TOKEN: &str = "spexus/token";
const MAX_TOKENS: usize = 256;
const MAX_PREDICTIONS: usize = 20;
/// Bytes of a text that a model counts as one token, at least.
const PIECE_BYTES: usize = 4;
/// Words a chance is drawn among.
const DRAWN_AMONG: usize = 40;

/// Parameters of a completion.
#[derive(Debug, Deserialize)]
struct CompletionRequest {
    #[serde(alias = "prompt")]
    text: String,
    project: Option<String>,
    #[serde(default = "sixteen")]
    max_tokens: usize,
    #[serde(default)]
    temperature: f64,
    #[serde(default = "five")]
    predictions: usize,
    #[serde(default)]
    seed: u64,
}

fn sixteen() -> usize {
    16
}

fn five() -> usize {
    5
}

impl CompletionRequest {
    fn read(params: Value) -> Ruled<Self> {
        if params.get("text").or(params.get("prompt")).is_none() {
            let problem = "neither a text nor a reference to complete was given";
            return Err(Refusal::field(
                Code::MissingRequiredField,
                "text",
                problem,
                "`text`, or `ref` and `argument`",
            ));
        }
        let wanted: Self = decode::value(&params)?;
        let range = |field: &str, fits: bool, allowed: String| match fits {
            true => Ok(()),
            false => Err(Refusal::field(
                Code::InvalidParams,
                field,
                "is out of range",
                allowed,
            )),
        };
        range(
            "max_tokens",
            (1..=MAX_TOKENS).contains(&wanted.max_tokens),
            format!("1 to {MAX_TOKENS}"),
        )?;
        range(
            "predictions",
            (1..=MAX_PREDICTIONS).contains(&wanted.predictions),
            format!("1 to {MAX_PREDICTIONS}"),
        )?;
        range(
            "temperature",
            (0.0..=2.0).contains(&wanted.temperature),
            "0 to 2".to_owned(),
        )?;
        Ok(wanted)
    }
}

/// The end of a text that a model is shown.
struct Window<'a> {
    tokens: Vec<&'a str>,
    /// Tokens of the whole text.
    total: usize,
    limit: usize,
}

impl<'a> Window<'a> {
    // Fulfils 002 Req-Completion-002
    //= specs/spexus-mcp.md#completion
    //# A text longer than the context window MUST be cut to its end, and the answer MUST say so with what was used and the limit.
    fn of(text: &'a str, limit: usize) -> Self {
        let mut tokens = words::tokens(text);
        let total = tokens.len();
        tokens.drain(..total.saturating_sub(limit));
        Self { tokens, total, limit }
    }

    /// What a model elsewhere is sent: its window holds the answer, too, and it counts in pieces of words of its own, of
    /// which none is shorter on average than [`PIECE_BYTES`].
    //= specs/spexus-mcp.md#completion
    //# What is sent to an endpoint MUST leave room in the window for the tokens that are asked for.
    fn for_endpoint(text: &'a str, limit: usize, max_tokens: usize) -> Self {
        let room = limit - max_tokens.min(limit / 2);
        let mut window = Self::of(text, room);
        let mut pieces = 0;
        let fits = |token: &&&str| {
            pieces += token.len().div_ceil(PIECE_BYTES).max(1);
            pieces <= room
        };
        let kept = window.tokens.iter().rev().take_while(fits).count();
        window.tokens.drain(..window.tokens.len() - kept);
        window.limit = limit;
        window
    }

    fn to_json(&self) -> Value {
        json!({
            "used_tokens": self.tokens.len(),
            "total_tokens": self.total,
            "limit": self.limit,
            "truncated": self.tokens.len() < self.total,
        })
    }
}

/// A completed text, token by token.
#[derive(Debug, Default)]
struct Completion {
    tokens: Vec<(String, Option<f64>)>,
    predictions: Vec<(String, f64)>,
    finish: &'static str,
    model: String,
}

impl Completion {
    fn to_json(&self) -> Value {
        let text: String = self.tokens.iter().map(|(token, _)| token.as_str()).collect();
        let tokens = self
            .tokens
            .iter()
            .map(|(token, probability)| json!({ "token": token, "probability": probability }));
        let predictions = self
            .predictions
            .iter()
            .map(|(token, probability)| json!({ "token": token, "probability": probability }));
        json!({
            "completion": {
                "values": [text],
                "total": 1,
                "hasMore": false,
                "text": text,
                "tokens": tokens.collect::<Vec<_>>(),
                "predictions": predictions.collect::<Vec<_>>(),
                "finish_reason": self.finish,
                "model": self.model,
            },
        })
    }
}

/// Completes texts for whoever may read a project.
pub struct TextCompleter {
    projects: ProjectModels,
    endpoint: Option<ModelEndpoint>,
    context_tokens: usize,
}

impl TextCompleter {
    /// Fails when the endpoint of the options cannot be used.
    pub fn new(service: &Service, options: &CompletionOptions) -> Ruled<Self> {
        Ok(Self {
            projects: ProjectModels::new(service),
            endpoint: ModelEndpoint::new(options)?,
            context_tokens: options.context_tokens,
        })
    }

    // Fulfils 002 Req-Completion-001
    /// Completes a text: the parameters of `completion/complete` in, its result out. Each token is told as it comes to a
    /// client that wants progress.
    pub async fn complete(&self, cx: &Context, caller: &Caller, params: Value) -> Ruled<Value> {
        let wanted = CompletionRequest::read(params)?;
        //= specs/spexus-mcp.md#completion
        //# A text MUST be completed from the items of one project the caller may read, as they are now.
        let trained = self.projects.trained(caller, wanted.project.as_deref()).await?;
        let limit = self.context_tokens;
        let shown = Window::of(&wanted.text, limit);
        let sent = Window::for_endpoint(&wanted.text, limit, wanted.max_tokens);
        let (written, fallback, window) = match self.ask_endpoint(cx, &wanted, &sent).await {
            Some(Ok(written)) => (written, None, sent),
            other => {
                let window = shown;
                let written = embedded(&trained.lock().await.model, &wanted, &window);
                tell(cx, &written, wanted.max_tokens).await;
                (written, other.and_then(Result::err), window)
            }
        };
        let mut answer = written.to_json();
        answer["context"] = window.to_json();
        if let Some(refusal) = fallback {
            answer["completion"]["fallback"] =
                json!({ "code": refusal.code.number(), "name": refusal.code.name() });
        }
        Ok(answer)
    }

    /// `None` when there is no endpoint to ask.
    async fn ask_endpoint(
        &self,
        cx: &Context,
        wanted: &CompletionRequest,
        window: &Window<'_>,
    ) -> Option<Ruled<Completion>> {
        let endpoint = self.endpoint.as_ref()?;
        let prompt = window.tokens.concat();
        Some(endpoint.complete(cx, &prompt, wanted).await)
    }
}

/// Writes with the model in the process, which takes microseconds for each token.
fn embedded(model: &Model, wanted: &CompletionRequest, window: &Window<'_>) -> Completion {
    let plain = |one: &Prediction| one.token.as_deref().unwrap_or_default().to_owned();
    let mut text: Vec<String> = window.tokens.iter().map(|token| (*token).to_owned()).collect();
    let mut written = Completion {
        finish: "length",
        model: "embedded".to_owned(),
        ..Completion::default()
    };
    let mut dice = wanted.seed;
    for count in 1..=wanted.max_tokens {
        let before: Vec<&str> = text.iter().map(String::as_str).collect();
        let next = model.next(&before, wanted.predictions.max(DRAWN_AMONG));
        if count == 1 {
            let shown = next
                .iter()
                .filter(|one| one.token.is_some())
                .take(wanted.predictions);
            written.predictions = shown.map(|one| (plain(one), one.probability)).collect();
        }
        let chosen = choose(&next, wanted.temperature, &mut dice);
        let Some((chosen, token)) = chosen.and_then(|one| Some((one, one.token.clone()?))) else {
            written.finish = "stop";
            break;
        };
        written.tokens.push((token.to_string(), Some(chosen.probability)));
        text.push(token.to_string());
    }
    written
}

//= specs/spexus-mcp.md#completion
//# Under a progress token every token MUST be told by itself before the answer.
async fn tell(cx: &Context, written: &Completion, max: usize) {
    for (at, (token, probability)) in written.tokens.iter().enumerate() {
        stream(cx, at + 1, max, token, *probability).await;
    }
}

/// The likeliest, or by chance one of the likely ones: the higher the temperature, the more chance.
fn choose<'a>(next: &'a [Prediction], temperature: f64, dice: &mut u64) -> Option<&'a Prediction> {
    if temperature == 0.0 {
        return next.first();
    }
    let among = &next[..next.len().min(DRAWN_AMONG)];
    let weight = |one: &Prediction| one.probability.powf(1.0 / temperature);
    let mut left = among.iter().map(weight).sum::<f64>() * roll(dice);
    for one in among {
        left -= weight(one);
        if left <= 0.0 {
            return Some(one);
        }
    }
    among.last()
}

/// The next number from 0 to 1 (splitmix64): the same seed gives the same text.
fn roll(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

// Fulfils 002 Req-Completion-003
async fn stream(cx: &Context, count: usize, max: usize, token: &str, probability: Option<f64>) {
    if cx.wants_progress() {
        let meta = json!({ TOKEN: { "index": count - 1, "text": token, "probability": probability } });
        cx.progress_with(count as f64, Some(max as f64), Some(token), Some(meta))
            .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_keeps_the_end() {
        let window = Window::of("one two three four", 2);
        assert_eq!(window.tokens, [" three", " four"]);
        assert_eq!(
            window.to_json(),
            json!({ "used_tokens": 2, "total_tokens": 4, "limit": 2, "truncated": true })
        );
        assert_eq!(Window::of("one", 2).to_json()["truncated"], false);
    }

    #[test]
    fn a_model_elsewhere_is_left_room_to_answer() {
        let text = "one two three four five six seven eight";
        let window = Window::for_endpoint(text, 8, 2);
        assert_eq!(
            window.tokens,
            [" six", " seven", " eight"],
            "two pieces for a word of more than four bytes"
        );
        assert_eq!(window.to_json()["limit"], 8);
        assert_eq!(window.to_json()["truncated"], true);
        let greedy = Window::for_endpoint(text, 8, 256);
        assert_eq!(greedy.tokens, [" seven", " eight"], "at least half is the text's");
        assert_eq!(Window::for_endpoint("one", 8, 2).to_json()["truncated"], false);
    }

    #[test]
    fn chance_follows_the_seed_and_the_temperature() {
        let one = |token: &str, probability| Prediction {
            token: Some(token.into()),
            probability,
        };
        let next = [one("a", 0.6), one("b", 0.3), one("c", 0.1)];
        let draw = |temperature, seed: u64| {
            let mut dice = seed;
            choose(&next, temperature, &mut dice)
                .unwrap()
                .token
                .clone()
                .unwrap()
        };
        assert!((0..50).all(|seed| &*draw(0.0, seed) == "a"));
        assert_eq!(draw(1.0, 7), draw(1.0, 7));
        let seconds = (0..1_000).filter(|seed| &*draw(1.0, *seed) == "b").count();
        assert!((200..400).contains(&seconds), "{seconds}");
        assert!(choose(&[], 1.0, &mut 0).is_none());
    }
}
