//! Full-text search. The domain decides what a query means and produces the words; the engines only look them up: FTS5
//! in SQLite, a `tsvector` with a GIN index in PostgreSQL. The index is written in the transaction of the change, so it
//! is never behind (`index.rs`).

mod index;
mod sweep;

pub use index::rebuild;
pub(crate) use index::{
    Document, KnownWords, add_documents, index_comment, index_item, index_items_that_return, index_new_item,
    remove_comment, remove_documents, remove_items,
};
pub use sweep::Sweep;

use crate::cursor;
use crate::engine::{Conn, Engine, Row, params};
use crate::error::Result;
use crate::items::kind;
use crate::listing::{Conditions, counted};
use crate::reference_prefix::{prefix, prefix_of};
use spexus_domain::analysis;
use spexus_domain::item::{Priority, heading};
use spexus_domain::query::{Count, ItemFilter, Page, PageRequest, Total};
use spexus_domain::search::{Hit, Query, Term};
use spexus_domain::{Reference, Uuid};
use std::collections::BTreeSet;

/// Documents that are ranked among each other at most, the newest first.
const MAX_RANKED: u32 = 1_000;
/// Other spellings tried for one word at most.
const MAX_SPELLINGS: usize = 5;
/// Length of a snippet.
const SNIPPET_CHARS: usize = 160;

/// The best places for a query among items that pass the filter, and their comments.
pub async fn search(
    conn: &mut Conn,
    query: &Query,
    filter: &ItemFilter,
    page: &PageRequest,
) -> Result<Page<Hit>> {
    let offset: u32 = page.cursor.as_deref().map(cursor::read).transpose()?.unwrap_or(0);
    //= specs/spexus-store.md#search
    //# A search MUST answer for any text.
    if query.is_empty() {
        return Ok(Page::whole(vec![]));
    }
    let mut terms: Vec<ExpandedTerm> = query.terms.iter().map(ExpandedTerm::as_typed).collect();
    let mut rows = run(conn, filter, &terms, page.limit, offset).await?;
    if rows.is_empty() && forgive(conn, filter.project_id, &mut terms).await? {
        rows = run(conn, filter, &terms, page.limit, offset).await?;
    }
    let data = rows
        .iter()
        .map(|row| hit(row, &terms))
        .collect::<Result<Vec<_>>>()?;
    let shown = offset.saturating_add(u32::try_from(data.len()).unwrap_or(u32::MAX));
    let ranked = rows.first().map(|row| row.int("ranked")).transpose()?;
    let window = i64::from(offset / MAX_RANKED * MAX_RANKED) + ranked.unwrap_or(0);
    let full = ranked == Some(i64::from(MAX_RANKED));
    let more = i64::from(shown) < window || (full && stands_behind(conn, filter, &terms, window).await?);
    let next_cursor = (more && !data.is_empty()).then(|| cursor::write(&shown));
    let total = match ranked {
        Some(_) if !full || !more => Total::Exact(window),
        Some(_) if page.count == Count::Cheap => Total::AtLeast(window),
        None if offset == 0 => Total::Exact(0),
        _ => count_all(conn, filter, &terms, page.count).await?,
    };
    Ok(Page::new(data, total, next_cursor))
}

//= specs/spexus-store.md#search
//# The total of a search MUST be the number of places found or say that it is a lower bound, and every place MUST be reachable
//# page by page.
/// Whether more documents match than so many.
async fn stands_behind(
    conn: &mut Conn,
    filter: &ItemFilter,
    terms: &[ExpandedTerm],
    many: i64,
) -> Result<bool> {
    let (dialect, mut matching) = matching(conn, filter, terms);
    let from = matching.from(dialect);
    let filters = matching.conditions.text();
    let behind = matching.conditions.bind(many);
    let sql = format!("SELECT 1 AS one FROM {from} WHERE {filters} LIMIT 1 OFFSET {behind}");
    Ok(conn.optional(sql, matching.conditions.params).await?.is_some())
}

async fn count_all(
    conn: &mut Conn,
    filter: &ItemFilter,
    terms: &[ExpandedTerm],
    count: Count,
) -> Result<Total> {
    let (dialect, matching) = matching(conn, filter, terms);
    let from = matching.from(dialect);
    counted(conn, &from, matching.conditions, count).await
}

/// A term with the spellings it stands for.
struct ExpandedTerm {
    /// The word as typed; empty for phrases.
    word: String,
    /// The stems of which one must be found; for phrases, all of them in order.
    stems: Vec<String>,
    phrase: bool,
}

impl ExpandedTerm {
    fn as_typed(term: &Term) -> Self {
        match term {
            Term::Phrase(stems) => Self {
                word: String::new(),
                stems: stems.clone(),
                phrase: true,
            },
            Term::Word { word, stem } => Self {
                word: word.clone(),
                stems: vec![stem.clone()],
                phrase: false,
            },
        }
    }
}

//= specs/spexus-store.md#search
//# A word with one typing error SHOULD find the word that was meant.
/// Takes words that stand nowhere in the project, or in none, for misspelt ones. Tells whether there were any.
async fn forgive(conn: &mut Conn, project: Option<Uuid>, terms: &mut [ExpandedTerm]) -> Result<bool> {
    let mut forgiven = false;
    for term in terms.iter_mut().filter(|term| !term.phrase) {
        if !stands_anywhere(conn, project, term).await? {
            let others = other_spellings(conn, project, &term.word).await?;
            forgiven |= !others.is_empty();
            term.stems.extend(others);
        }
    }
    Ok(forgiven)
}

async fn stands_anywhere(conn: &mut Conn, project: Option<Uuid>, term: &ExpandedTerm) -> Result<bool> {
    let dialect = Dialect::of(conn.engine());
    let id = match conn.engine() {
        Engine::Sqlite => "BLOB",
        Engine::Postgres => "uuid",
    };
    let sql = format!(
        "SELECT 1 AS one FROM {} WHERE {} AND (CAST($2 AS {id}) IS NULL OR d.project_id = $2) AND {NOT_STAGED} LIMIT 1",
        dialect.from,
        (dialect.matches)("$1")
    );
    let expression = (dialect.expression)(std::slice::from_ref(term));
    Ok(conn.optional(sql, params![expression, project]).await?.is_some())
}

//= specs/spexus-store.md#search
//# The words of one project MUST NOT be offered to a search in another.
/// The stems of words in use in a project, or in any, that are one typing error away.
async fn other_spellings(conn: &mut Conn, project: Option<Uuid>, word: &str) -> Result<Vec<String>> {
    if word.chars().count() < analysis::MIN_FUZZY_CHARS {
        return Ok(vec![]);
    }
    let stem = analysis::stem(word);
    let mut forms = analysis::near_forms(word);
    forms.extend(analysis::near_forms(&stem));
    let forms = serde_json::to_string(&forms).unwrap_or_default();
    let sql = match conn.engine() {
        Engine::Sqlite => {
            "SELECT DISTINCT f.word FROM project p CROSS JOIN search_form f WHERE ($2 IS NULL OR p.id = $2) \
             AND f.project_id = p.id AND f.form IN (SELECT value FROM json_each($1)) LIMIT 200"
        }
        Engine::Postgres => {
            "SELECT DISTINCT f.word FROM project p CROSS JOIN search_form f WHERE (CAST($2 AS uuid) IS NULL OR p.id = $2) \
             AND f.project_id = p.id AND f.form IN (SELECT jsonb_array_elements_text(CAST($1 AS jsonb))) LIMIT 200"
        }
    };
    let rows = conn.all(sql, params![forms, project]).await?;
    let found = rows
        .iter()
        .map(|row| row.text("word"))
        .collect::<Result<Vec<_>>>()?;
    // An error in one form of a word may be two errors away from the form that stands somewhere; their stems are not.
    let near = found.iter().filter_map(|other| {
        let other_stem = analysis::stem(other);
        (analysis::is_near(word, other) || analysis::is_near(&stem, &other_stem)).then_some(other_stem)
    });
    Ok(near
        .collect::<BTreeSet<_>>()
        .into_iter()
        .take(MAX_SPELLINGS)
        .collect())
}

/// What differs between the engines: where documents are matched, with what, and how they are scored.
struct Dialect {
    /// What is read to match: documents first, whatever the planner thinks of the items' indexes.
    from: &'static str,
    /// What is read beside it where items are filtered.
    with_items: &'static str,
    /// What grows with every document.
    newest: &'static str,
    expression: fn(&[ExpandedTerm]) -> String,
    matches: fn(&str) -> String,
    score: fn(&str) -> String,
}

impl Dialect {
    const fn of(engine: Engine) -> &'static Self {
        match engine {
            Engine::Sqlite => &SQLITE,
            Engine::Postgres => &POSTGRES,
        }
    }
}

const SQLITE: Dialect = Dialect {
    from: "search_text t CROSS JOIN search_doc d ON d.doc = t.rowid",
    with_items: "CROSS JOIN item i ON i.project_id = d.project_id AND i.id = d.item_id",
    newest: "t.rowid",
    expression: match_expression,
    matches: |bound| format!("search_text MATCH {bound}"),
    //= specs/spexus-store.md#search
    //# A match in a title MUST rank above a match in a text.
    score: |_| "-bm25(search_text, 10.0, 4.0, 1.0)".to_owned(),
};

const POSTGRES: Dialect = Dialect {
    from: "search_doc d",
    with_items: "JOIN item i ON i.project_id = d.project_id AND i.id = d.item_id",
    newest: "d.doc",
    expression: ts_query,
    matches: |bound| format!("d.text @@ CAST({bound} AS tsquery)"),
    score: |bound| {
        format!("CAST(ts_rank('{{0.05,0.1,0.4,1.0}}', d.text, CAST({bound} AS tsquery)) AS float8)")
    },
};

/// Documents of an import that is not finished are in the index already. Hardly ever is there one, and the first half of the
/// condition is looked at once for a statement.
//= specs/spexus-store.md#large-writes
//# What is staged MUST NOT be seen by anyone, be it by id, in a list, in a search, in a total or in the history.
const NOT_STAGED: &str = "(NOT EXISTS (SELECT 1 FROM staged_import) OR NOT EXISTS (SELECT 1 FROM staged_import s \
     WHERE d.doc >= s.first_doc AND d.doc <= s.last_doc))";

/// Which documents are meant: the words, and the filters.
struct Matching {
    conditions: Conditions,
    with_items: &'static str,
    /// How the words are bound.
    words: String,
}

impl Matching {
    fn from(&self, dialect: &Dialect) -> String {
        format!("{} {}", dialect.from, self.with_items)
    }
}

fn matching(conn: &Conn, filter: &ItemFilter, terms: &[ExpandedTerm]) -> (&'static Dialect, Matching) {
    let dialect = Dialect::of(conn.engine());
    let (mut conditions, with_items) = match Conditions::of_documents(filter) {
        Some(conditions) => (conditions, ""),
        None => (Conditions::of(filter), dialect.with_items),
    };
    let words = conditions.bind((dialect.expression)(terms));
    conditions.add((dialect.matches)(&words));
    conditions.add(NOT_STAGED.to_owned());
    let matching = Matching {
        conditions,
        with_items,
        words,
    };
    (dialect, matching)
}

/// A page out of the window of ranked documents it lies in. The newest documents are ranked first; behind them come those
/// before, ranked among themselves, so that ranking costs the same however many there are and nothing is out of reach.
async fn run(
    conn: &mut Conn,
    filter: &ItemFilter,
    terms: &[ExpandedTerm],
    limit: u32,
    offset: u32,
) -> Result<Vec<Row>> {
    let (dialect, matching) = matching(conn, filter, terms);
    let from = matching.from(dialect);
    let Matching {
        mut conditions,
        words,
        ..
    } = matching;
    let filters = conditions.text();
    let (ranked, window) = (
        conditions.bind(MAX_RANKED),
        conditions.bind(offset / MAX_RANKED * MAX_RANKED),
    );
    let (limit, offset) = (conditions.bind(limit), conditions.bind(offset % MAX_RANKED));
    let sql = format!(
        "SELECT f.score, f.ranked, f.comment_id, i.id, i.kind, i.number, {prefix} AS prefix, i.title, i.description, i.status, i.priority, \
         i.updated_at, m.content FROM (SELECT g.*, count(*) OVER () AS ranked FROM (SELECT d.doc, d.project_id, d.item_id, d.comment_id, \
         {score} AS score FROM {from} WHERE {filters} \
         ORDER BY {newest} DESC LIMIT {ranked} OFFSET {window}) g ORDER BY g.score DESC, g.doc DESC LIMIT {limit} OFFSET {offset}) f \
         JOIN item i ON i.project_id = f.project_id AND i.id = f.item_id JOIN project p ON p.id = f.project_id \
         LEFT JOIN comment m ON m.project_id = f.project_id AND m.id = f.comment_id ORDER BY f.score DESC, f.doc DESC",
        score = (dialect.score)(&words),
        newest = dialect.newest,
        prefix = prefix_of!("p"),
    );
    conn.all(sql, conditions.params).await
}

//= specs/spexus-store.md#search
//# Words MUST be found in all their Russian and English forms and by their beginnings.
/// The words consist of letters and digits only, so quoting them is all the escaping there is.
fn match_expression(terms: &[ExpandedTerm]) -> String {
    let term = |term: &ExpandedTerm| {
        if term.phrase {
            return format!("{{title body}} : \"{}\"", term.stems.join(" "));
        }
        let stems: Vec<String> = term.stems.iter().map(|stem| format!("\"{stem}\"")).collect();
        let prefix = if is_prefix(&term.word) { " *" } else { "" };
        format!(
            "({{title body}} : ({}) OR words : \"{}\"{prefix})",
            stems.join(" OR "),
            term.word
        )
    };
    terms.iter().map(term).collect::<Vec<_>>().join(" AND ")
}

fn ts_query(terms: &[ExpandedTerm]) -> String {
    let term = |term: &ExpandedTerm| {
        let stems = term.stems.iter().map(|stem| format!("'{stem}':AB"));
        if term.phrase {
            return format!("({})", stems.collect::<Vec<_>>().join(" <-> "));
        }
        let prefix = if is_prefix(&term.word) { "*" } else { "" };
        format!(
            "({} | '{}':{prefix}C)",
            stems.collect::<Vec<_>>().join(" | "),
            term.word
        )
    };
    terms.iter().map(term).collect::<Vec<_>>().join(" & ")
}

/// One letter begins too many words to mean any of them.
fn is_prefix(word: &str) -> bool {
    word.chars().nth(1).is_some()
}

fn hit(row: &Row, terms: &[ExpandedTerm]) -> Result<Hit> {
    let kind = kind(row, "kind")?;
    let (title, description) = (row.text("title")?, row.text("description")?);
    let found = |folded: &str| {
        let stem = analysis::stem(folded);
        terms.iter().any(|term| {
            term.stems.contains(&stem) || (is_prefix(&term.word) && folded.starts_with(term.word.as_str()))
        })
    };
    let text = match row.opt_text("content")? {
        Some(content) => content,
        None if analysis::words(&description).any(|word| found(&word.folded)) => description.clone(),
        None => heading(&title, &description),
    };
    Ok(Hit {
        id: row.id("id")?,
        reference_id: prefix(row, "prefix")?.show(Reference::of_kind(kind, row.int("number")?)),
        kind,
        title: heading(&title, &description),
        status: row.opt_text("status")?,
        priority: row.opt_int("priority")?.and_then(Priority::from_number),
        comment_id: row.opt_id("comment_id")?,
        snippet: analysis::snippet(&text, found, SNIPPET_CHARS),
        score: row.float("score")?,
        updated_at: row.time("updated_at")?,
    })
}
