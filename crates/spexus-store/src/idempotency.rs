//! Answers kept for requests with an idempotency key, so that sending one twice does it once.

use crate::engine::{Engine, params};
use crate::error::Result;
use crate::tx::Tx;
use refusal::{Code, Refusal};

/// How long an answer is kept.
const KEEP_SECONDS: i64 = 24 * 3_600;

/// The answer given to the same request before, if there was one. The same key with another request is refused.
pub async fn recall(tx: &mut Tx, key: &str, request_hash: [u8; 32]) -> Result<Option<String>> {
    let (user, oldest) = (tx.actor().user_id, tx.now().plus_seconds(-KEEP_SECONDS));
    let sql =
        "SELECT request_hash, answer FROM idempotency WHERE user_id = $1 AND key = $2 AND created_at >= $3";
    let Some(row) = tx.conn.optional(sql, params![user, key, oldest]).await? else {
        return Ok(None);
    };
    if row.bytes("request_hash")? == request_hash {
        return Ok(Some(row.text("answer")?));
    }
    // Before the last line stands where the key counts, which its sender did not write.
    let sent = key.rsplit('\n').next().unwrap_or(key);
    let message = format!("the idempotency key {sent:?} was used for another request");
    Err(Refusal::new(Code::RuleViolated, message)
        .hint("Use a new key for a new request.")
        .into())
}

/// Keeps an answer, and forgets those that are too old.
pub async fn remember(tx: &mut Tx, key: &str, request_hash: [u8; 32], answer: &str) -> Result<()> {
    let (user, now) = (tx.actor().user_id, tx.now());
    let forget = match tx.conn.engine() {
        Engine::Sqlite => "DELETE FROM idempotency WHERE created_at < $1",
        // Somebody beside us may be doing the same.
        Engine::Postgres => {
            "DELETE FROM idempotency WHERE (user_id, key) IN \
             (SELECT user_id, key FROM idempotency WHERE created_at < $1 FOR UPDATE SKIP LOCKED)"
        }
    };
    let oldest = params![now.plus_seconds(-KEEP_SECONDS)];
    tx.conn.run(forget, oldest).await?;
    let sql = "INSERT INTO idempotency (user_id, key, request_hash, answer, created_at) VALUES ($1, $2, $3, $4, $5) \
               ON CONFLICT (user_id, key) DO NOTHING";
    let kept = params![user, key, request_hash, answer, now];
    match tx.conn.run(sql, kept).await? {
        // The same key came in another project at the same moment.
        0 => Err(tx.stray()),
        _ => Ok(()),
    }
}
