//! Doing a thing once, however often it is asked for: the answer of a request with a key is kept in the transaction
//! that did the work, and given again.

use serde_json::Value;
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, limits, project};
use spexus_store::{Result, Tx, idempotency};

/// A key with the hash of the request it stands for. A user's key counts within the project that a token is bound to or
/// that the request names, so that neither learns what was answered elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    key: String,
    request: [u8; 32],
}

impl Key {
    /// Refuses a key that is empty or too long.
    pub(crate) fn new(
        key: Option<&str>,
        caller: &Caller,
        project: Option<&str>,
        request: &impl serde::Serialize,
    ) -> Ruled<Option<Self>> {
        let Some(key) = key else { return Ok(None) };
        let chars = key.chars().count();
        if !(1..=limits::MAX_IDEMPOTENCY_KEY_CHARS).contains(&chars) || key.chars().any(char::is_control) {
            let allowed = format!("1 to {} characters", limits::MAX_IDEMPOTENCY_KEY_CHARS);
            return Err(Refusal::field(
                Code::InvalidHeader,
                "Idempotency-Key",
                format!("has {chars} characters"),
                allowed,
            ));
        }
        let bytes = serde_json::to_vec(request).unwrap_or_default();
        Ok(Some(Self {
            key: scoped(key, caller, project)?,
            request: *blake3::hash(&bytes).as_bytes(),
        }))
    }
}

/// The key within its project. A key of a request that names none stands as it is, which no scoped one can equal: they
/// hold a control character.
//= specs/spexus-service.md#writing-once
//# A key MUST count only among requests with the same binding to a project that name the same project.
fn scoped(key: &str, caller: &Caller, project: Option<&str>) -> Ruled<String> {
    let named = project
        .map(|project| project::key("project", project))
        .transpose()?;
    Ok(match (caller.bound_project, named) {
        (None, None) => key.to_owned(),
        (None, Some(named)) => format!("project {named}\n{key}"),
        (Some(bound), _) => format!("bound {bound}\n{key}"),
    })
}

/// The answer given before, if there was one.
//= specs/spexus-service.md#writing-once
//# A request with an idempotency key MUST be carried out once and answered alike every time.
pub(crate) async fn recall(tx: &mut Tx, key: Option<&Key>) -> Result<Option<Value>> {
    let Some(key) = key else { return Ok(None) };
    let kept = idempotency::recall(tx, &key.key, key.request).await?;
    Ok(kept.and_then(|answer| serde_json::from_str(&answer).ok()))
}

/// Keeps an answer.
pub(crate) async fn remember(tx: &mut Tx, key: Option<&Key>, answer: &Value) -> Result<()> {
    match key {
        Some(key) => idempotency::remember(tx, &key.key, key.request, &answer.to_string()).await,
        None => Ok(()),
    }
}
