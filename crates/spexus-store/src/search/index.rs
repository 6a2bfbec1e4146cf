//! What search finds: the documents and words of items and comments, written with the change itself.

use crate::comments;
use crate::directory::project_of;
use crate::engine::{Conn, Engine, Row, params};
use crate::error::Result;
use crate::listing::Conditions;
use crate::tx::Tx;
use serde_json::{Value, json};
use spexus_domain::Uuid;
use spexus_domain::analysis::{self, Indexed};
use spexus_domain::comment::Comment;
use spexus_domain::item::Item;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::Hash;

//= specs/spexus-store.md#search
//# A search MUST show every write from the moment it is acknowledged.
/// Puts an item into the index, or writes it anew.
//= specs/spexus-service.md#search
//# Search MUST be current: what a write made, changed or deleted is found so by the next search.
pub(crate) async fn index_item(tx: &mut Tx, item: &Item) -> Result<()> {
    put(
        tx,
        item.project_id,
        (item.id, None),
        &item.title,
        &item.description,
    )
    .await
}

/// Puts an item into the index that was not there before.
pub(crate) async fn index_new_item(tx: &mut Tx, item: &Item) -> Result<()> {
    add(
        tx,
        item.project_id,
        (item.id, None),
        &item.title,
        &item.description,
    )
    .await
}

/// Puts items into the index together with their comments, when they come back.
pub(crate) async fn index_items_that_return(tx: &mut Tx, items: &[&Item]) -> Result<()> {
    if !tx.is_indexed {
        return Ok(());
    }
    let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
    let comments = comments::of_items(&mut tx.conn, items.first().map(|item| item.project_id), &ids).await?;
    let mut numbers = free_numbers(&mut tx.conn, items.len() + comments.len())
        .await?
        .into_iter();
    let mut documents = Vec::new();
    for item in items {
        let place = (item.project_id, item.kind.name().to_owned());
        let own = [(None, item.title.as_str(), item.description.as_str())];
        let of_item = comments.iter().filter(|comment| comment.item_id == item.id);
        let said = of_item.map(|comment| (Some(comment.id), "", comment.content.as_str()));
        for ((comment, title, body), doc) in own.into_iter().chain(said).zip(&mut numbers) {
            documents.push(Document::new(doc, (item.id, comment), place.clone(), title, body));
        }
    }
    add_documents(tx, &documents).await
}

/// Numbers no document has, beside those that imports have for their own.
async fn free_numbers(conn: &mut Conn, count: usize) -> Result<Vec<i64>> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    match conn.engine() {
        Engine::Sqlite => {
            let sql = "SELECT coalesce(max(doc), 0) + 1 AS doc FROM search_doc \
                       WHERE doc < coalesce((SELECT min(first_doc) FROM staged_import), 9223372036854775807)";
            let first = conn.one(sql, params![]).await?.int("doc")?;
            Ok((first..first + count).collect())
        }
        Engine::Postgres => {
            let sql = "SELECT nextval(pg_get_serial_sequence('search_doc', 'doc')) AS doc FROM generate_series(1, $1)";
            let rows = conn.all(sql, params![count]).await?;
            rows.iter().map(|row| row.int("doc")).collect()
        }
    }
}

/// Puts a comment into the index, or writes it anew.
pub(crate) async fn index_comment(tx: &mut Tx, project_id: Uuid, comment: &Comment) -> Result<()> {
    put(
        tx,
        project_id,
        (comment.item_id, Some(comment.id)),
        "",
        &comment.content,
    )
    .await
}

/// Takes items of one project and their comments out of the index.
pub(crate) async fn remove_items(tx: &mut Tx, items: &[&Item]) -> Result<()> {
    let mut query = Conditions::default();
    query.among("project_id", items.first().map(|item| item.project_id));
    query.among("item_id", items.iter().map(|item| item.id));
    let sql = format!("SELECT doc FROM search_doc WHERE {}", query.text());
    let rows = tx.conn.all(sql, query.params).await?;
    let docs = rows
        .iter()
        .map(|row| row.int("doc"))
        .collect::<Result<Vec<_>>>()?;
    remove_documents(&mut tx.conn, &docs).await
}

/// Takes a comment out of the index.
pub(crate) async fn remove_comment(tx: &mut Tx, comment_id: Uuid) -> Result<()> {
    const SQL: &str = concat!(
        "SELECT doc FROM search_doc WHERE project_id = ",
        project_of!("$1"),
        " AND comment_id = $1"
    );
    let docs = tx.conn.all(SQL, params![comment_id]).await?;
    remove(tx, &docs).await
}

/// Builds the whole index anew, for databases that were copied.
pub async fn rebuild(tx: &mut Tx) -> Result<()> {
    let clear = match tx.conn.engine() {
        // Rows deleted one by one would stay in the totals that scores are reckoned with.
        Engine::Sqlite => {
            "INSERT INTO search_text (search_text) VALUES ('delete-all'); DELETE FROM search_doc; DELETE FROM search_form"
        }
        Engine::Postgres => "TRUNCATE search_doc, search_form",
    };
    tx.forget_words();
    tx.conn.script(clear).await?;
    let mut after = (Uuid::nil(), Uuid::nil());
    loop {
        let sql = "SELECT project_id, id, title, description FROM item WHERE (project_id, id) > ($1, $2) AND deleted_at IS NULL \
                   ORDER BY project_id, id LIMIT 500";
        let rows = tx.conn.all(sql, params![after.0, after.1]).await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = (last.id("project_id")?, last.id("id")?);
        for row in &rows {
            let (project, id) = (row.id("project_id")?, row.id("id")?);
            add(
                tx,
                project,
                (id, None),
                &row.text("title")?,
                &row.text("description")?,
            )
            .await?;
            for comment in comments::of_items(&mut tx.conn, Some(project), &[id]).await? {
                add(tx, project, (id, Some(comment.id)), "", &comment.content).await?;
            }
        }
    }
}

async fn remove(tx: &mut Tx, docs: &[Row]) -> Result<()> {
    for row in docs {
        let doc = row.int("doc")?;
        if tx.conn.engine() == Engine::Sqlite {
            tx.conn
                .run("DELETE FROM search_text WHERE rowid = $1", params![doc])
                .await?;
        }
        tx.conn
            .run("DELETE FROM search_doc WHERE doc = $1", params![doc])
            .await?;
    }
    Ok(())
}

/// What a document is of: an item, or a comment on one.
type Subject = (Uuid, Option<Uuid>);

async fn put(tx: &mut Tx, project: Uuid, subject: Subject, title: &str, body: &str) -> Result<()> {
    if !tx.is_indexed {
        return Ok(());
    }
    let known = match subject {
        (item, None) => {
            let sql =
                "SELECT doc FROM search_doc WHERE project_id = $1 AND item_id = $2 AND comment_id IS NULL";
            tx.conn.all(sql, params![project, item]).await?
        }
        (_, Some(comment)) => {
            let sql = "SELECT doc FROM search_doc WHERE project_id = $1 AND comment_id = $2";
            tx.conn.all(sql, params![project, comment]).await?
        }
    };
    remove(tx, &known).await?;
    add(tx, project, subject, title, body).await
}

/// Puts a document into the index that is not there yet.
async fn add(
    tx: &mut Tx,
    project_id: Uuid,
    (item_id, comment_id): Subject,
    title: &str,
    body: &str,
) -> Result<()> {
    if !tx.is_indexed {
        return Ok(());
    }
    let (title, body) = (analysis::index(title), analysis::index(body));
    match tx.conn.engine() {
        Engine::Sqlite => {
            // Left to itself SQLite would give out the numbers that an import has for its own.
            let sql = "INSERT INTO search_doc (doc, item_id, comment_id, project_id, kind) SELECT (SELECT coalesce(max(doc), 0) + 1 \
                       FROM search_doc WHERE doc < coalesce((SELECT min(first_doc) FROM staged_import), 9223372036854775807)), \
                       id, $2, project_id, kind FROM item WHERE project_id = $3 AND id = $1";
            tx.conn.run(sql, params![item_id, comment_id, project_id]).await?;
            let sql = "INSERT INTO search_text (rowid, title, body, words) VALUES (last_insert_rowid(), $1, $2, $3)";
            let words = format!("{}{}", title.words, body.words);
            tx.conn
                .run(sql, params![&title.stems, &body.stems, words])
                .await?;
        }
        Engine::Postgres => {
            let sql = "INSERT INTO search_doc (item_id, comment_id, project_id, kind, text) \
                       SELECT id, $2, project_id, kind, CAST($3 AS tsvector) FROM item WHERE project_id = $4 AND id = $1";
            let vector = ts_vector(&title, &body);
            tx.conn
                .run(sql, params![item_id, comment_id, vector, project_id])
                .await?;
        }
    }
    let words = title.words.split(' ').chain(body.words.split(' '));
    learn_words(tx, project_id, words.collect()).await
}

/// A document under a number of its own, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    doc: i64,
    item_id: Uuid,
    comment_id: Option<Uuid>,
    project_id: Uuid,
    kind: String,
    title: Indexed,
    body: Indexed,
}

impl Document {
    /// The document of an item, or of a comment on one.
    pub(crate) fn new(
        doc: i64,
        (item_id, comment_id): (Uuid, Option<Uuid>),
        (project_id, kind): (Uuid, String),
        title: &str,
        body: &str,
    ) -> Self {
        Self {
            doc,
            item_id,
            comment_id,
            project_id,
            kind,
            title: analysis::index(title),
            body: analysis::index(body),
        }
    }
}

/// Writes documents of things that need not be there yet.
pub(crate) async fn add_documents(tx: &mut Tx, documents: &[Document]) -> Result<()> {
    match tx.conn.engine() {
        Engine::Sqlite => {
            for document in documents {
                let sql = "INSERT INTO search_doc (doc, item_id, comment_id, project_id, kind) VALUES ($1, $2, $3, $4, $5)";
                let Document {
                    doc,
                    item_id,
                    comment_id,
                    project_id,
                    kind,
                    title,
                    body,
                } = document;
                let values = params![*doc, *item_id, *comment_id, *project_id, kind];
                tx.conn.run(sql, values).await?;
                let sql = "INSERT INTO search_text (rowid, title, body, words) VALUES ($1, $2, $3, $4)";
                let words = format!("{}{}", title.words, body.words);
                tx.conn
                    .run(sql, params![*doc, &title.stems, &body.stems, words])
                    .await?;
            }
        }
        Engine::Postgres => {
            let row = |document: &Document| {
                let vector = ts_vector(&document.title, &document.body);
                let Document {
                    doc,
                    item_id,
                    comment_id,
                    project_id,
                    kind,
                    ..
                } = document;
                json!([doc, item_id, comment_id, project_id, kind, vector])
            };
            let rows: Vec<Value> = documents.iter().map(row).collect();
            let sql = "INSERT INTO search_doc (doc, item_id, comment_id, project_id, kind, text) \
                       SELECT CAST(d ->> 0 AS bigint), CAST(d ->> 1 AS uuid), CAST(d ->> 2 AS uuid), CAST(d ->> 3 AS uuid), \
                       d ->> 4, CAST(d ->> 5 AS tsvector) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS d";
            tx.conn.run(sql, params![Value::from(rows).to_string()]).await?;
        }
    }
    let mut words: BTreeMap<Uuid, Vec<&str>> = BTreeMap::new();
    for document in documents {
        let Document { title, body, .. } = document;
        let of_project = words.entry(document.project_id).or_default();
        of_project.extend(title.words.split(' ').chain(body.words.split(' ')));
    }
    for (project, words) in words {
        learn_words(tx, project, words).await?;
    }
    Ok(())
}

/// Takes documents out of the index by their numbers.
pub(crate) async fn remove_documents(conn: &mut Conn, docs: &[i64]) -> Result<()> {
    let numbers = match conn.engine() {
        Engine::Sqlite => "(SELECT value FROM json_each($1))",
        Engine::Postgres => "(SELECT CAST(jsonb_array_elements_text(CAST($1 AS jsonb)) AS bigint))",
    };
    let json = serde_json::to_string(docs).unwrap_or_default();
    if conn.engine() == Engine::Sqlite {
        let sql = format!("DELETE FROM search_text WHERE rowid IN {numbers}");
        conn.run(sql, params![&json]).await?;
    }
    let sql = format!("DELETE FROM search_doc WHERE doc IN {numbers}");
    conn.run(sql, params![&json]).await.map(drop)
}

/// A document as PostgreSQL reads it: every word with its place and weight.
fn ts_vector(title: &Indexed, body: &Indexed) -> String {
    /// PostgreSQL keeps no place beyond this one.
    const MAX_PLACE: usize = 16_383;
    let mut vector = String::new();
    let mut place = 0;
    for (text, weight) in [
        (&title.stems, 'A'),
        (&body.stems, 'B'),
        (&title.words, 'C'),
        (&body.words, 'C'),
    ] {
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            place = (place + 1).min(MAX_PLACE);
            // Writing to a string cannot fail.
            let _ = write!(vector, "'{word}':{place}{weight} ");
        }
        place = (place + 1).min(MAX_PLACE);
    }
    vector
}

/// Words that are known to be remembered in a project, so that nobody has to look. Those of a transaction count once it is
/// committed.
#[derive(Default)]
pub(crate) struct KnownWords {
    committed: HashMap<Uuid, HashSet<String>>,
    met: HashMap<Uuid, HashSet<String>>,
}

impl KnownWords {
    /// More are forgotten; looking them up again costs little.
    const MAX_WORDS: usize = 20_000;

    pub(crate) fn begin(&mut self) {
        self.met.clear();
    }

    pub(crate) fn committed(&mut self) {
        let words = |known: &HashMap<Uuid, HashSet<String>>| known.values().map(HashSet::len).sum::<usize>();
        if words(&self.committed) + words(&self.met) > Self::MAX_WORDS {
            self.committed.clear();
        }
        for (project, met) in self.met.drain() {
            self.committed.entry(project).or_default().extend(met);
        }
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Remembers new words, and their forms with one letter left out.
async fn learn_words(tx: &mut Tx, project: Uuid, words: Vec<&str>) -> Result<()> {
    let known = tx.words.committed.get(&project);
    let unsure: BTreeSet<&str> = words
        .into_iter()
        .filter(|word| !word.is_empty() && known.is_none_or(|known| !known.contains(*word)))
        .collect();
    let pairs = unsure.iter().map(|word| [(*word).to_owned(), (*word).to_owned()]);
    let new = learn(&mut tx.conn, project, pairs.collect()).await?;
    // A new one is undone with its job, so only those that were there before are sure.
    let known = without(unsure.into_iter(), new.iter().map(String::as_str));
    let met = tx.words.met.entry(project).or_default();
    met.extend(known.map(str::to_owned));
    let mut forms = BTreeSet::new();
    for word in new {
        for form in analysis::near_forms(&word) {
            forms.insert([form, word.clone()]);
        }
        for form in analysis::near_forms(&analysis::stem(&word)) {
            forms.insert([form, word.clone()]);
        }
    }
    learn(&mut tx.conn, project, forms.into_iter().collect())
        .await
        .map(drop)
}

/// Those of the first that are not among the second, at a cost that grows with both but not with their product: a text of
/// the largest size may consist of new words only.
//= specs/spexus-store.md#search
//# The cost of indexing a text MUST grow with its length, not with the square of it.
fn without<T: Eq + Hash>(
    all: impl Iterator<Item = T>,
    but: impl Iterator<Item = T>,
) -> impl Iterator<Item = T> {
    let but: HashSet<T> = but.collect();
    all.filter(move |one| !but.contains(one))
}

/// Remembers pairs of a form and a word, and tells the words of those that are new.
async fn learn(conn: &mut Conn, project: Uuid, pairs: Vec<[String; 2]>) -> Result<Vec<String>> {
    if pairs.is_empty() {
        return Ok(vec![]);
    }
    let sql = match conn.engine() {
        Engine::Sqlite => {
            "INSERT INTO search_form (project_id, form, word) SELECT $2, value ->> 0, value ->> 1 FROM json_each($1) WHERE true \
             ON CONFLICT DO NOTHING RETURNING word"
        }
        Engine::Postgres => {
            "INSERT INTO search_form (project_id, form, word) SELECT $2, value ->> 0, value ->> 1 \
             FROM jsonb_array_elements(CAST($1 AS jsonb)) AS value \
             ON CONFLICT DO NOTHING RETURNING word"
        }
    };
    let json = serde_json::to_string(&pairs).unwrap_or_default();
    let rows = conn.all(sql, params![json, project]).await?;
    rows.iter().map(|row| row.text("word")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::hash::Hasher;

    thread_local! {
        static COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    /// A word that counts how often it is compared.
    struct Counted(usize);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    //= specs/spexus-store.md#search
    //= type=test
    //# The cost of indexing a text MUST grow with its length, not with the square of it.
    #[test]
    fn a_text_of_new_words_is_not_compared_word_by_word_with_itself() {
        // As many different words of three letters as a text of the largest size can hold.
        const WORDS: usize = 12_500;
        let words = || (0..WORDS).map(Counted);
        assert_eq!(without(words(), words()).count(), 0);
        assert!(COMPARED.get() <= 4 * WORDS, "{} comparisons", COMPARED.get());
        assert_eq!(without(words(), words().take(10)).count(), WORDS - 10);
    }
}
