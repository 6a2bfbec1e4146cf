//! Multi-round-trip requests of the stateless era: the answers a retried request brings, and the signed `requestState`
//! that travels with the client in between.

use std::collections::{BTreeMap, BTreeSet};

use refusal::{Code, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ask::Ask;
use crate::fields::Fields;
use crate::signer::Signer;

/// How many questions one request may ask in all rounds.
const MAX_ANSWERS: usize = 64;

/// The rounds of one multi-round-trip request: answers of this and of earlier retries, and what the handler kept.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct InputRounds {
    /// Answers of the client by the keys of the questions.
    #[serde(rename = "a", default)]
    pub answers: Map<String, Value>,
    /// What the handler kept for the next round.
    #[serde(rename = "k", default)]
    pub kept: Option<Value>,
    /// When a question to a model went out, in milliseconds since 1970, to know how long its answer took.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<i64>,
    /// The questions that were asked, by their names, each with what tells it from others.
    #[serde(rename = "q", default)]
    asked: BTreeMap<String, String>,
    /// The nonce of the state, which counts once, and until when, in milliseconds since 1970.
    #[serde(rename = "n", default)]
    nonce: String,
    #[serde(rename = "e", default)]
    expires_ms: i64,
    /// Whether this request was the first with that nonce.
    #[serde(skip)]
    is_claimed: bool,
    /// Which answers came with this very request and were not looked at yet.
    #[serde(skip)]
    pub fresh: BTreeSet<String>,
    /// What the state is signed for: the call and its owner.
    #[serde(skip)]
    purpose: String,
}

impl InputRounds {
    /// Reads `requestState` and `inputResponses`. A state that was not made here for this very call is refused, one that
    /// is too old at `now_ms` (Unix time) is as good as none, and so is an answer to a question the state does not know of.
    //= specs/mcp-server.md#questions
    //# An answer MUST count only for a question this server asked the same owner in the same call, in the same words, and only with the state it was asked with.
    pub fn read(
        fields: &Fields<'_>,
        signer: &Signer,
        purpose: String,
        now_ms: i64,
    ) -> Result<InputRounds, Refusal> {
        let mut rounds = match fields.text("requestState")? {
            None => InputRounds::default(),
            Some(state) => {
                let opened = signer
                    .verify(&purpose, &state)
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
        if rounds.expires_ms < now_ms {
            rounds = InputRounds::default();
        }
        if let Some(mut responses) = fields.decode::<Map<String, Value>>("inputResponses")? {
            if responses.len() > MAX_ANSWERS {
                return Err(Refusal::new(
                    Code::InvalidParams,
                    format!("more than {MAX_ANSWERS} answers in one request"),
                ));
            }
            responses.retain(|key, _| rounds.asked.contains_key(key));
            rounds.fresh = responses.keys().cloned().collect();
            rounds.answers.extend(responses);
        }
        rounds.purpose = purpose;
        Ok(rounds)
    }

    /// The nonce under which the answers of this request have yet to be claimed; `None` where nothing is to be.
    pub fn unclaimed(&self) -> Option<String> {
        (!self.is_claimed && !self.answers.is_empty()).then(|| self.nonce.clone())
    }

    /// The answers are this request's own, or somebody was here before with the same state and they are nobody's.
    pub fn claimed(&mut self, first: bool) {
        self.is_claimed = true;
        if !first {
            (self.answers, self.fresh) = (Map::new(), BTreeSet::new());
        }
    }

    /// Parts questions that are answered from those that are open. An answer that does not fit leaves its question open.
    pub fn sort_out<'a>(&mut self, asks: Vec<(&'a str, Ask)>) -> (Map<String, Value>, Vec<(&'a str, Ask)>) {
        let (mut answers, mut open) = (Map::new(), Vec::new());
        for (key, ask) in asks {
            let question = ask.fingerprint();
            let was_asked = self.asked.get(key) == Some(&question);
            let given = self.answers.get(key).filter(|_| was_asked);
            match given.filter(|answer| ask.accept(answer).is_ok()) {
                Some(answer) => drop(answers.insert(key.to_owned(), answer.clone())),
                None => {
                    self.answers.remove(key);
                    self.fresh.remove(key);
                    self.asked.insert(key.to_owned(), question);
                    open.push((key, ask));
                }
            }
        }
        (answers, open)
    }

    /// The signed `requestState` for the next round: what was asked and answered so far, under a nonce that counts once.
    pub fn sign(&mut self, signer: &Signer, nonce: String, expires_ms: i64) -> Option<String> {
        (self.nonce, self.expires_ms) = (nonce, expires_ms);
        serde_json::to_vec(self)
            .ok()
            .map(|bytes| signer.sign(&self.purpose, &bytes))
    }
}
