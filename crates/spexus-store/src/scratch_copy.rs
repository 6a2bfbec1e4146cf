//! A scratch copy: work that would hold the writer for long runs first on a private, temporary copy of what it looks at, and
//! what it did is read from there. So every rule of every use case holds as it does anywhere, and nobody waits meanwhile.
//!
//! The copy is a temporary SQLite database whatever the engine: SQLite keeps it in memory as far as it fits, and it is gone
//! with the process, however that ends. What was changed meanwhile in the real database is found by `changes_since`.

use crate::directory::project_of;
use crate::engine::{Conn, Engine, Param, params};
use crate::error::Result;
use crate::ledger_head::Head;
use crate::nested_transaction::NestedTransaction;
use crate::pool::Pool;
use crate::staging::OtherChange;
use crate::tables::{self, Table};
use crate::transfer::{self, Snapshot};
use crate::tx::{Actor, Tx};
use crate::{Store, changes, schema};
use futures_util::future::join;
use spexus_domain::{Timestamp, Uuid};
use std::collections::{BTreeMap, HashMap};

/// What an installation has few of. All of it is brought along.
pub(crate) const SETTINGS: [&str; 6] = [
    "project",
    "account",
    "requirement_type",
    "link_type",
    "workflow",
    "prompt",
];

/// Rows read in one step.
const STEP_ROWS: u32 = 1_000;

/// Makes the copy fast: it must survive nothing, and nobody lists or searches in it.
const LIGHTEN: &str = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; \
     DROP INDEX item_created; DROP INDEX item_updated; DROP INDEX item_priority; DROP INDEX item_status; \
     DROP INDEX item_assignee; DROP INDEX item_deletion; DROP INDEX item_deleted; DROP INDEX item_reference; \
     DROP INDEX change_item; DROP INDEX change_other; DROP INDEX comment_item; \
     DROP INDEX comment_depth; DROP INDEX link_project; DROP INDEX link_deletion; DROP INDEX link_target; \
     PRAGMA foreign_keys = OFF; BEGIN";

/// What the work did to the copy, by the thing it was done to and in order.
const TOUCHED: &str = "CREATE TABLE touched (seq INTEGER PRIMARY KEY, entity TEXT NOT NULL, entity_id BLOB NOT NULL, \
     is_new INTEGER NOT NULL, reindexed INTEGER NOT NULL) STRICT; \
     INSERT INTO touched SELECT min(seq), entity, entity_id, max(action = 'created'), \
     max(salt = x'' OR coalesce(after -> '$.title', before -> '$.title', after -> '$.description', before -> '$.description') \
     IS NOT NULL) \
     FROM change GROUP BY entity, entity_id; \
     CREATE INDEX touched_entity ON touched (entity_id)";

/// Which items are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyExtent {
    /// None of any.
    Nothing,
    /// One of each project that has any: to know which are empty.
    Each,
    /// All of one project.
    All(Uuid),
}

/// A private copy to work on, and what was in it at the beginning.
pub struct ScratchCopy {
    pub(crate) tx: Tx,
    pub(crate) base: Base,
}

pub(crate) struct Base {
    /// The last change of the real database that the copy knows.
    pub(crate) seq: i64,
    pub(crate) has_items: bool,
    pub(crate) at: Timestamp,
    pub(crate) settings: BTreeMap<&'static str, Vec<Vec<Param>>>,
    pub(crate) counters: HashMap<(Uuid, String), i64>,
    pub(crate) anchors: HashMap<Uuid, String>,
}

impl ScratchCopy {
    /// Copies what the work will look at, as it is at one moment.
    pub async fn begin(store: &Store, actor: Actor, extent: CopyExtent) -> Result<Self> {
        // Before the snapshot: what is finished after this, and has a smaller number than something the snapshot shows, is news.
        let known = match store.engine() {
            Engine::Sqlite => None,
            Engine::Postgres => Some(changes::head(&mut store.read().await?).await?),
        };
        let mut snapshot = Snapshot::begin(store, actor.user_id).await?;
        let copied = copy_all(snapshot.conn()?, known, extent, store.now()).await;
        snapshot.end().await?;
        let (mut conn, base) = copied?;
        conn.script("COMMIT; PRAGMA foreign_keys = ON; BEGIN").await?;
        let mut tx = Tx::new(conn);
        tx.is_indexed = false;
        tx.begin_behind(Head::NONE);
        tx.begin_job(actor, base.at);
        Ok(Self { tx, base })
    }

    /// Runs work with a store all of whose reads and writes happen in the copy.
    pub async fn run<T, F, Fut>(&mut self, store: &Store, work: F) -> Result<T>
    where
        F: FnOnce(Store) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        let (transaction, commands) = NestedTransaction::new();
        let store = store.in_transaction(transaction.clone());
        let working = async move {
            let done = work(store).await;
            transaction.end(done.is_ok()).await;
            done
        };
        let (done, served) = join(working, commands.serve(&mut self.tx, None)).await;
        let done = done?;
        served.map(|()| done)
    }

    /// The last change of the real database that was known when it began.
    pub fn base_seq(&self) -> i64 {
        self.base.seq
    }

    /// Whether the real database had any item when it began.
    pub fn had_items(&self) -> bool {
        self.base.has_items
    }

    /// The number of the first change that relies on what somebody else changed meanwhile: because it changes or makes the same
    /// thing, or puts something into or below it, or gives it to somebody.
    pub async fn relies_on(&mut self, other: &OtherChange) -> Result<Option<i64>> {
        const SAME: &str = "SELECT seq FROM touched WHERE entity_id = $1 LIMIT 1";
        const INSIDE: &str = concat!(
            "SELECT t.seq FROM item i JOIN touched t ON t.entity_id = i.id WHERE i.parent_id = $1 AND i.project_id = ",
            project_of!("$1"),
            " LIMIT 1"
        );
        const SERVING: &str = concat!(
            "SELECT t.seq FROM item i JOIN touched t ON t.entity_id = i.id WHERE i.criterion_id = $1 AND i.project_id = ",
            project_of!("$1"),
            " LIMIT 1"
        );
        const GIVEN: &str =
            "SELECT t.seq FROM item i JOIN touched t ON t.entity_id = i.id WHERE i.assignee_id = $1 LIMIT 1";
        const CALLED: &str = "SELECT seq FROM change WHERE entity = 'user' AND label = $1 LIMIT 1";
        let conn = &mut self.tx.conn;
        let mut questions = vec![(SAME, Param::from(other.entity_id))];
        match other.entity.as_str() {
            "item" => {
                questions.push((SERVING, other.entity_id.into()));
                if other.action == "deleted" {
                    questions.push((INSIDE, other.entity_id.into()));
                }
            }
            // What it quotes may have been changed.
            "comment" => questions.push((SAME, other.item_id.into())),
            "user" => {
                questions.push((CALLED, other.label.as_str().into()));
                questions.push((GIVEN, other.entity_id.into()));
            }
            _ => {}
        }
        for (sql, value) in questions {
            if let Some(row) = conn.optional(sql, vec![value]).await? {
                return row.int("seq").map(Some);
            }
        }
        Ok(None)
    }

    /// How many changes the work made; afterwards they can be staged.
    pub async fn finish(&mut self) -> Result<i64> {
        self.tx.conn.script(TOUCHED).await?;
        Ok(self.tx.seq())
    }
}

async fn copy_all(
    source: &mut Conn,
    known: Option<i64>,
    extent: CopyExtent,
    now: Timestamp,
) -> Result<(Conn, Base)> {
    source.without_limit();
    let mut conn = Pool::private().acquire().await?;
    schema::prepare(&mut conn, None, true).await?;
    conn.script(LIGHTEN).await?;
    let mut base = Base {
        seq: match known {
            Some(known) => known,
            None => Head::read(source).await?.seq,
        },
        has_items: transfer::has_items(source, None).await?,
        at: now,
        settings: BTreeMap::new(),
        counters: HashMap::new(),
        anchors: HashMap::new(),
    };
    for name in SETTINGS {
        let rows = whole(source, tables::table(name)?).await?;
        put(&mut conn, tables::table(name)?, &rows).await?;
        base.settings.insert(name, rows);
    }
    put(
        &mut conn,
        tables::table("counter")?,
        &whole(source, tables::table("counter")?).await?,
    )
    .await?;
    base.counters = counters(&mut conn).await?;
    match extent {
        CopyExtent::Nothing => {}
        CopyExtent::Each => {
            for row in base.settings.get("project").into_iter().flatten() {
                if let Some(Param::Id(Some(project))) = row.first() {
                    items(source, &mut conn, *project, ("", 0), 1).await?;
                }
            }
        }
        CopyExtent::All(project) => {
            let mut after = (String::new(), 0);
            while let Some(last) = items(source, &mut conn, project, (&after.0, after.1), STEP_ROWS).await? {
                after = last;
            }
            anchored(source, &mut conn, project, &mut base.anchors).await?;
        }
    }
    Ok((conn, base))
}

/// All rows of a table that has few.
pub(crate) async fn whole(conn: &mut Conn, table: &Table) -> Result<Vec<Vec<Param>>> {
    let columns = tables::columns(table);
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let Table { name, order, .. } = table;
    let sql = format!("SELECT {} FROM {name} ORDER BY {order}", names.join(", "));
    let rows = conn.all(sql, params![]).await?;
    rows.iter().map(|row| tables::values(&columns, row)).collect()
}

/// The last number given out for each prefix of each project.
pub(crate) async fn counters(conn: &mut Conn) -> Result<HashMap<(Uuid, String), i64>> {
    let rows = conn
        .all("SELECT project_id, prefix, last FROM counter", params![])
        .await?;
    let counter = |row| -> Result<_> {
        let row: &crate::engine::Row = row;
        Ok(((row.id("project_id")?, row.text("prefix")?), row.int("last")?))
    };
    rows.iter().map(counter).collect()
}

async fn put(conn: &mut Conn, table: &Table, rows: &[Vec<Param>]) -> Result<()> {
    tables::insert(conn, table, &tables::columns(table), rows).await
}

/// Copies the next items of a project, and tells the last of them; `None` behind the last.
async fn items(
    source: &mut Conn,
    conn: &mut Conn,
    project: Uuid,
    (kind, number): (&str, i64),
    limit: u32,
) -> Result<Option<(String, i64)>> {
    let table = tables::table("item")?;
    let columns = tables::columns(table);
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let sql = format!(
        "SELECT {} FROM item WHERE project_id = $1 AND (kind, number) > ($2, $3) ORDER BY kind, number LIMIT $4",
        names.join(", ")
    );
    let rows = source.all(sql, params![project, kind, number, limit]).await?;
    let values = rows.iter().map(|row| tables::values(&columns, row));
    put(conn, table, &values.collect::<Result<Vec<_>>>()?).await?;
    let last = rows.last().map(|row| Ok((row.text("kind")?, row.int("number")?)));
    last.transpose()
}

/// Copies the comments that quote items of a project, because they follow what is written there.
async fn anchored(
    source: &mut Conn,
    conn: &mut Conn,
    project: Uuid,
    anchors: &mut HashMap<Uuid, String>,
) -> Result<()> {
    let table = tables::table("comment")?;
    let columns = tables::columns(table);
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("m.{name}")).collect();
    let sql = format!(
        "SELECT {} FROM comment m WHERE m.project_id = $1 AND m.id > $2 AND m.anchor IS NOT NULL AND m.deleted_at IS NULL \
         ORDER BY m.id LIMIT $3",
        names.join(", ")
    );
    let mut after = Uuid::nil();
    loop {
        let rows = source
            .all(sql.clone(), params![project, after, STEP_ROWS])
            .await?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = last.id("id")?;
        for row in &rows {
            anchors.insert(row.id("id")?, row.text("anchor")?);
        }
        let values = rows.iter().map(|row| tables::values(&columns, row));
        put(conn, table, &values.collect::<Result<Vec<_>>>()?).await?;
    }
}
