//! Forgetting words that no document of a project has any more. A document of new words leaves many forms behind when it goes, and
//! what is not in use finds nothing; so a chore looks through all words, a few at a time.

use crate::engine::{Conn, Engine, params};
use crate::error::Result;
use crate::tx::Actor;
use crate::{Store, Tx};
use spexus_domain::Uuid;
use spexus_domain::analysis;

/// Words looked at in one step. A step that finds something to forget is one short write.
const WORDS_AT_ONCE: i64 = 200;

/// Where a sweep through all words has come to.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    project: Uuid,
    after: String,
}

impl Sweep {
    /// Looks at the next words and forgets those that are in no document of their project; tells how many it forgot. Behind the
    /// last word of a project it goes on with the next one, and behind the last project it begins again.
    //= specs/spexus-store.md#search
    //# Words that are in no document any more MUST be forgotten.
    pub async fn step(&mut self, store: &Store) -> Result<usize> {
        let mut conn = store.read().await?;
        let words = words_after(&mut conn, self.project, &self.after).await?;
        let Some(last) = words.last().cloned() else {
            self.project = next_project(&mut conn, self.project).await?.unwrap_or_default();
            self.after.clear();
            return Ok(0);
        };
        self.after = last;
        let project = self.project;
        let unused = unused(&mut conn, project, &words).await?;
        drop(conn);
        if unused.is_empty() {
            return Ok(0);
        }
        let forgetting = store.write(nobody(), move |tx| {
            Box::pin(async move { forget(tx, project, &unused).await })
        });
        forgetting.await
    }

    /// Whether it stands before the first word.
    pub fn is_at_start(&self) -> bool {
        self.project.is_nil() && self.after.is_empty()
    }
}

async fn next_project(conn: &mut Conn, after: Uuid) -> Result<Option<Uuid>> {
    let sql = "SELECT id FROM project WHERE id > $1 ORDER BY id LIMIT 1";
    let row = conn.optional(sql, params![after]).await?;
    row.map(|row| row.id("id")).transpose()
}

async fn words_after(conn: &mut Conn, project: Uuid, after: &str) -> Result<Vec<String>> {
    let sql = "SELECT form FROM search_form WHERE project_id = $1 AND form = word AND form > $2 ORDER BY form LIMIT $3";
    let rows = conn.all(sql, params![project, after, WORDS_AT_ONCE]).await?;
    rows.iter().map(|row| row.text("form")).collect()
}

async fn unused(conn: &mut Conn, project: Uuid, words: &[String]) -> Result<Vec<String>> {
    let sql = match conn.engine() {
        Engine::Sqlite => {
            "SELECT value AS word FROM json_each($1) WHERE NOT EXISTS \
             (SELECT 1 FROM search_text t CROSS JOIN search_doc d ON d.doc = t.rowid \
             WHERE search_text MATCH 'words : \"' || value || '\"' AND d.project_id = $2)"
        }
        Engine::Postgres => {
            "SELECT value AS word FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS value WHERE NOT EXISTS \
             (SELECT 1 FROM search_doc WHERE project_id = $2 AND text @@ CAST('''' || value || ''':C' AS tsquery))"
        }
    };
    let json = serde_json::to_string(words).unwrap_or_default();
    let rows = conn.all(sql, params![json, project]).await?;
    rows.iter().map(|row| row.text("word")).collect()
}

async fn forget(tx: &mut Tx, project: Uuid, words: &[String]) -> Result<usize> {
    // Somebody may have used one meanwhile.
    let words = unused(&mut tx.conn, project, words).await?;
    let mut pairs = Vec::new();
    for word in &words {
        let forms = [
            analysis::near_forms(word),
            analysis::near_forms(&analysis::stem(word)),
        ];
        pairs.extend(forms.into_iter().flatten().map(|form| [form, word.clone()]));
    }
    let sql = match tx.conn.engine() {
        Engine::Sqlite => {
            "DELETE FROM search_form WHERE project_id = $2 \
             AND (form, word) IN (SELECT value ->> 0, value ->> 1 FROM json_each($1))"
        }
        Engine::Postgres => {
            "DELETE FROM search_form WHERE project_id = $2 AND (form, word) IN \
             (SELECT value ->> 0, value ->> 1 FROM jsonb_array_elements(CAST($1 AS jsonb)) AS value)"
        }
    };
    let json = serde_json::to_string(&pairs).unwrap_or_default();
    tx.conn.run(sql, params![json, project]).await?;
    tx.forget_words();
    Ok(words.len())
}

/// A chore leaves no trace in the history, so nobody is named there.
fn nobody() -> Actor {
    Actor {
        user_id: Uuid::nil(),
        username: String::new(),
        token_id: None,
        client: String::new(),
    }
}
