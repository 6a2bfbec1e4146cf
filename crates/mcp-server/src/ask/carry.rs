//! How a question travels: as a request to the client, through the task the call became, or as an input-required result.

use std::time::Duration;

use mcp_protocol::{Ask, InputRequired, RpcError};
use serde_json::{Map, Value};

use crate::server::context::Context;
use crate::server::tool::Stop;
use crate::task::Task;

impl Context {
    /// Asks the user, the model or the client, and gives the answer. See [`Ask`].
    ///
    /// `key` names the question within this request. Pass the error on with `?`: in the stateless era it carries the
    /// question to the client.
    pub async fn ask(&self, key: &str, ask: Ask) -> Result<Value, Stop> {
        let mut answers = self.ask_all(vec![(key, ask)]).await?;
        Ok(answers.remove(key).unwrap_or_default())
    }

    /// Asks several questions at once.
    pub async fn ask_all(&self, asks: Vec<(&str, Ask)>) -> Result<Map<String, Value>, Stop> {
        for (_, ask) in &asks {
            ask.check_offered(&self.0.terms.client.capabilities)?;
        }
        match (self.0.terms.version.has_input_rounds(), &self.0.task) {
            (false, _) => {
                let _waiting = self.0.waits.begin();
                self.ask_now(asks).await
            }
            (true, Some(task)) => {
                self.claim_answers().await?;
                let _waiting = self.0.waits.begin();
                Ok(self.ask_in_task(task, asks).await)
            }
            (true, None) => {
                self.claim_answers().await?;
                self.ask_later(asks)
            }
        }
    }

    /// Makes the answers that came with this request its own, or forgets them: what a person said once counts once.
    //= specs/mcp-server.md#questions
    //# A state MUST count once: answers that come with it a second time MUST be asked for anew.
    async fn claim_answers(&self) -> Result<(), Stop> {
        let Some(nonce) = self.with_rounds(|rounds| rounds.unclaimed()).flatten() else {
            return Ok(());
        };
        let keep = Duration::from_millis(self.0.core.settings.limits.question_ttl_ms);
        let first = self.0.core.nonces.claim(self, &nonce, keep).await?;
        self.with_rounds(|rounds| rounds.claimed(first));
        Ok(())
    }

    async fn ask_now(&self, asks: Vec<(&str, Ask)>) -> Result<Map<String, Value>, Stop> {
        let limits = &self.0.core.settings.limits;
        let mut answers = Map::new();
        for (key, ask) in asks {
            let wait = ask.wait(limits.ask_timeout_ms);
            let pending = &self.0.session.pending;
            let max = limits.max_pending_per_session;
            let answer = pending
                .ask(&self.0.sink, ask.method(), ask.params(), wait, max)
                .await?;
            ask.accept(&answer)?;
            answers.insert(key.to_owned(), answer);
        }
        Ok(answers)
    }

    //= specs/mcp-server.md#questions
    //# In the stateless era a question MUST be answered to the client as an input-required result, and the request that comes back with all answers MUST complete.
    fn ask_later(&self, asks: Vec<(&str, Ask)>) -> Result<Map<String, Value>, Stop> {
        let found = self.with_rounds(|rounds| {
            let (answers, open) = rounds.sort_out(asks);
            if open.is_empty() {
                return Ok(answers);
            }
            let state = self.0.core.sign_rounds(rounds);
            Err(Stop::Input(Box::new(InputRequired::new(&open, state))))
        });
        // Only tools, prompts and resources carry rounds; nothing else may answer with a question.
        found.unwrap_or_else(|| Err(RpcError::invalid("this method cannot ask questions").into()))
    }

    /// What was asked before the work became a task is known; the rest is asked through the task.
    async fn ask_in_task(&self, task: &Task, asks: Vec<(&str, Ask)>) -> Map<String, Value> {
        let (mut answers, open) = match &mut *self.0.rounds.lock() {
            Some(rounds) => rounds.sort_out(asks),
            None => (Map::new(), asks),
        };
        if !open.is_empty() {
            answers.extend(task.ask(open).await);
        }
        answers
    }
}
