//! One step: rows of a scratch copy, made ready outside of the writer and written by one short job.

use super::{CHANGE, CHUNK_CHANGES, COMMENT, ITEM, LINK, Staged, keep_alive};
use crate::directory::project_of;
use crate::engine::{Conn, Param, Row, params};
use crate::error::Result;
use crate::scratch_copy::ScratchCopy;
use crate::search::{self, Document};
use crate::tables::{self, Table};
use crate::tx::Tx;
use refusal::{Code, Refusal};
use spexus_domain::{Kind, Reference, Uuid};

/// Rows that are written together.
pub struct Chunk {
    import: Uuid,
    rows: [(&'static Table, Vec<Vec<Param>>); 4],
    documents: Vec<Document>,
    /// The place of the last change in it.
    last: i64,
    /// What is made in it: where its rows are kept, its number in the scratch copy, its id, its project.
    made: Vec<(&'static str, i64, Uuid, Uuid)>,
}

/// Things that are listed by one statement.
const LISTED_AT_ONCE: usize = 100;

const ITEMS: &str = "SELECT t.seq AS ordinal, t.is_new, t.reindexed, i.* FROM touched t JOIN directory w ON w.id = t.entity_id \
                     JOIN item i ON i.project_id = w.project_id AND i.id = w.id \
                     WHERE t.entity = 'item' AND t.seq > $1 AND t.seq <= $2 ORDER BY t.seq";
const COMMENTS: &str = "SELECT t.seq AS ordinal, m.*, i.kind, i.deleted_at AS item_deleted_at FROM touched t JOIN directory w ON w.id = t.entity_id \
                        JOIN comment m ON m.project_id = w.project_id AND m.id = w.id \
                        JOIN item i ON i.project_id = m.project_id AND i.id = m.item_id \
                        WHERE t.entity = 'comment' AND t.seq > $1 AND t.seq <= $2 ORDER BY t.seq";
const LINKS: &str = "SELECT t.seq AS ordinal, l.* FROM touched t JOIN directory w ON w.id = t.entity_id \
                     JOIN link l ON l.project_id = w.project_id AND l.id = w.id \
                     WHERE t.entity = 'link' AND t.seq > $1 AND t.seq <= $2 ORDER BY t.seq";
// What came with its place in its ledger keeps it; of the rest that is decided when it is shown.
const CHANGES: &str = "SELECT c.seq AS ordinal, nullif(c.ledger, zeroblob(16)) AS project_id, c.entity, c.entity_id, c.item_id, \
                       c.other_item_id, c.label, c.action, c.rev, c.before, c.after, iif(o.ledger IS NULL, NULL, c.number) AS number, \
                       iif(o.ledger IS NULL, NULL, c.at) AS at, iif(o.ledger IS NULL, NULL, c.user_id) AS user_id, \
                       iif(o.ledger IS NULL, NULL, c.username) AS username, iif(o.ledger IS NULL, NULL, c.token_id) AS token_id, \
                       iif(o.ledger IS NULL, NULL, c.client) AS client, iif(o.ledger IS NULL, NULL, c.salt) AS salt, \
                       iif(o.ledger IS NULL, NULL, c.payload_hash) AS payload_hash, iif(o.ledger IS NULL, NULL, c.hash) AS hash \
                       FROM change c LEFT JOIN ledger_origin o ON o.ledger = c.ledger WHERE c.seq > $1 AND c.seq <= $2 ORDER BY c.seq";

impl Chunk {
    /// The changes of the scratch copy behind one of them; `None` behind the end. Documents are numbered from `next_doc` on.
    pub async fn read(
        scratch: &mut ScratchCopy,
        staged: Staged,
        after: i64,
        next_doc: i64,
    ) -> Result<Option<Self>> {
        let last = scratch.tx.seq().min(after + CHUNK_CHANGES);
        if last <= after {
            return Ok(None);
        }
        let conn = &mut scratch.tx.conn;
        let items = conn.all(ITEMS, params![after, last]).await?;
        let comments = conn.all(COMMENTS, params![after, last]).await?;
        let links = conn.all(LINKS, params![after, last]).await?;
        let changes = conn.all(CHANGES, params![after, last]).await?;
        let mut documents = Vec::new();
        let number = |documents: &Vec<Document>| next_doc + documents.len() as i64;
        let mut made = Vec::new();
        for row in &items {
            if row.flag("reindexed")? && row.opt_int("deleted_at")?.is_none() {
                let (id, place) = (row.id("id")?, (row.id("project_id")?, row.text("kind")?));
                let (title, body) = (row.text("title")?, row.text("description")?);
                documents.push(Document::new(
                    number(&documents),
                    (id, None),
                    place,
                    &title,
                    &body,
                ));
            }
            if row.flag("is_new")? {
                made.push(("item", row.int("ordinal")?, row.id("id")?, row.id("project_id")?));
            }
        }
        for row in &comments {
            let (ids, place) = (
                (row.id("item_id")?, Some(row.id("id")?)),
                (row.id("project_id")?, row.text("kind")?),
            );
            if row.opt_int("deleted_at")?.is_none() && row.opt_int("item_deleted_at")?.is_none() {
                documents.push(Document::new(
                    number(&documents),
                    ids,
                    place,
                    "",
                    &row.text("content")?,
                ));
            }
            made.push((
                "comment",
                row.int("ordinal")?,
                row.id("id")?,
                row.id("project_id")?,
            ));
        }
        for row in &links {
            made.push(("link", row.int("ordinal")?, row.id("id")?, row.id("project_id")?));
        }
        Ok(Some(Self {
            import: staged.id,
            rows: [
                (&ITEM, values(&ITEM, staged.id, &items)?),
                (&COMMENT, values(&COMMENT, staged.id, &comments)?),
                (&LINK, values(&LINK, staged.id, &links)?),
                (&CHANGE, values(&CHANGE, staged.id, &changes)?),
            ],
            documents,
            last,
            made,
        }))
    }

    /// The place of the last change in it.
    pub fn last(&self) -> i64 {
        self.last
    }

    /// How many documents it has.
    pub fn documents(&self) -> i64 {
        self.documents.len() as i64
    }

    /// Writes it beside the tables.
    pub async fn write(&self, tx: &mut Tx) -> Result<()> {
        keep_alive(tx, self.import).await?;
        for (table, rows) in &self.rows {
            tables::insert(&mut tx.conn, table, &tables::columns(table), rows).await?;
        }
        self.list(&mut tx.conn).await?;
        search::add_documents(tx, &self.documents).await
    }

    /// Lists what it makes in the directory: that a thing would be in a project says nothing as long as it is not there.
    async fn list(&self, conn: &mut Conn) -> Result<()> {
        for some in self.made.chunks(LISTED_AT_ONCE) {
            let places: Vec<String> = (0..some.len())
                .map(|at| format!("(${}, ${})", 2 * at + 1, 2 * at + 2))
                .collect();
            let sql = format!(
                "INSERT INTO directory (id, project_id) VALUES {} ON CONFLICT (id) DO NOTHING",
                places.join(", ")
            );
            let ids = some.iter();
            let ids = ids.flat_map(|(_, _, id, project)| [Param::from(*id), Param::from(*project)]);
            conn.run(sql, ids.collect()).await?;
        }
        Ok(())
    }

    /// What it makes that is there already, with its number in the scratch copy and what is to be said of it.
    pub async fn taken(&self, conn: &mut Conn) -> Result<Option<(i64, Refusal)>> {
        for table in ["item", "comment", "link"] {
            let made: Vec<_> = self.made.iter().filter(|(of, ..)| *of == table).collect();
            if made.is_empty() {
                continue;
            }
            let places: Vec<String> = (1..=made.len()).map(|at| format!("${at}")).collect();
            let sql = format!(
                "SELECT t.id FROM directory w CROSS JOIN {table} t \
                 WHERE t.project_id = w.project_id AND t.id = w.id AND w.id IN ({}) ORDER BY t.id LIMIT 1",
                places.join(", ")
            );
            let ids = made.iter().map(|(_, _, id, _)| Param::from(*id)).collect();
            let Some(row) = conn.optional(sql, ids).await? else {
                continue;
            };
            let taken = row.id("id")?;
            let place = made.iter().find(|(_, _, id, _)| *id == taken);
            let ordinal = place.map_or(self.last, |(_, ordinal, ..)| *ordinal);
            return Ok(Some((ordinal, is_taken(conn, table, taken).await?)));
        }
        Ok(None)
    }
}

async fn is_taken(conn: &mut Conn, table: &str, id: Uuid) -> Result<Refusal> {
    let problem = match table {
        "item" => {
            const SQL: &str = concat!(
                "SELECT i.kind, i.number, p.key FROM item i JOIN project p ON p.id = i.project_id WHERE i.id = $1 AND i.project_id = ",
                project_of!("$1")
            );
            let row = conn.one(SQL, params![id]).await?;
            let kind = Kind::parse("kind", &row.text("kind")?)?;
            let reference = Reference::of_kind(kind, row.int("number")?);
            format!(
                "{id} is {reference} of the project {:?} already",
                row.text("key")?
            )
        }
        _ => format!("{id} is a {table} already"),
    };
    Ok(Refusal::field(
        Code::EntityDuplicate,
        "id",
        problem,
        "an id nothing has",
    ))
}

fn values(table: &Table, import: Uuid, rows: &[Row]) -> Result<Vec<Vec<Param>>> {
    let columns = tables::columns(table);
    let row = |row: &Row| {
        let mut values = vec![Param::from(import)];
        values.extend(tables::values(&columns[1..], row)?);
        Ok(values)
    };
    rows.iter().map(row).collect()
}
