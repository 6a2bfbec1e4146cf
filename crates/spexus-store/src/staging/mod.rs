//! Large writes: what was tried on a scratch copy is written beside the tables in short steps, so that others have their turn in between,
//! and copied to its place in one last transaction. Until then nobody sees any of it, and when the process dies nothing is
//! left but rows that are swept.
//!
//! Whatever is expensive is done in the short steps: documents of search are written where they belong already, under
//! numbers that searches pass over while the import is not finished (`staged_import`).

mod carried;
mod chunk;
mod publish;
mod sweep;

pub use chunk::Chunk;
pub use publish::{Publication, Shift, publish};
pub use sweep::sweep;

use crate::arrival;
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::tables::Table;
use crate::tx::Tx;
use refusal::{Code, Refusal};
use spexus_domain::Uuid;
use spexus_domain::change::project_of;

/// Changes that are staged in one step. Each brings at most one row beside itself, so a step writes at most twice as many
/// rows.
//= specs/spexus-store.md#large-writes
//# A large write MUST be staged in steps of at most 500 rows, and others MUST have their turn between them.
pub const CHUNK_CHANGES: i64 = 250;

/// Operations up to which everything is done in one transaction, without staging.
pub const MAX_DIRECT_OPERATIONS: usize = spexus_domain::limits::MAX_BATCH_OPERATIONS;

/// Numbers of documents that are kept for one import, and the distance between two imports.
const MAX_DOCUMENTS: i64 = 1 << 31;
const DOCUMENT_STRIDE: i64 = 1 << 32;

pub(crate) const ITEM: Table = Table {
    name: "staged_item",
    order: "import_id, ordinal",
    columns: "import_id:u ordinal:i is_new:i reindexed:i id:u project_id:u kind:t number:i parent_id:u position:i title:t \
              description:t status:t priority:i type:t criterion_id:u assignee_id:u creator_id:u attributes:t rev:i \
              content_hash:t created_at:i updated_at:i deleted_at:i deletion_id:u",
};

pub(crate) const COMMENT: Table = Table {
    name: "staged_comment",
    order: "import_id, ordinal",
    columns: "import_id:u ordinal:i id:u item_id:u parent_id:u depth:i author_id:u content:t resolved:i anchor:t rev:i \
              created_at:i updated_at:i project_id:u deleted_at:i",
};

pub(crate) const LINK: Table = Table {
    name: "staged_link",
    order: "import_id, ordinal",
    columns: "import_id:u ordinal:i id:u project_id:u type:t source_project_id:u source_id:u target_project_id:u target_id:u \
              source_hash:t target_hash:t rev:i created_by:u created_at:i deleted_at:i deletion_id:u",
};

pub(crate) const CHANGE: Table = Table {
    name: "staged_change",
    order: "import_id, ordinal",
    columns: "import_id:u ordinal:i project_id:u entity:t entity_id:u item_id:u other_item_id:u label:t action:t rev:i \
              before:t after:t number:i at:i user_id:u username:t token_id:u client:t salt:b payload_hash:b hash:b",
};

/// An import that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staged {
    /// What its rows are known by.
    pub id: Uuid,
    /// The number of its first document of search.
    pub first_doc: i64,
}

/// What is staged, or left to be swept, of all imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagedCounts {
    /// Imports.
    pub imports: i64,
    /// Their changes.
    pub changes: i64,
}

/// A change somebody else made, as far as an import must know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherChange {
    /// Its number in the history.
    pub seq: i64,
    /// Who made it.
    pub user: String,
    /// The project, when it happened in one.
    pub project_id: Option<Uuid>,
    /// What it is about.
    pub entity: String,
    /// Its id.
    pub entity_id: Uuid,
    /// The item it belongs to.
    pub item_id: Option<Uuid>,
    /// What people call the thing.
    pub label: String,
    /// What happened.
    pub action: String,
}

/// Counts what is staged.
pub async fn waiting(conn: &mut Conn) -> Result<StagedCounts> {
    let sql = "SELECT (SELECT count(*) FROM staged_import) AS imports, (SELECT count(*) FROM staged_change) AS changes";
    let row = conn.one(sql, params![]).await?;
    Ok(StagedCounts {
        imports: row.int("imports")?,
        changes: row.int("changes")?,
    })
}

/// Begins to stage an import.
pub async fn begin(tx: &mut Tx) -> Result<Staged> {
    let sql = "SELECT max(last) AS last FROM (SELECT max(doc) AS last FROM search_doc UNION ALL \
               SELECT max(last_doc) AS last FROM staged_import) AS numbers";
    let last = tx.conn.one(sql, params![]).await?.opt_int("last")?.unwrap_or(0);
    let staged = Staged {
        id: tx.new_id(),
        first_doc: last + DOCUMENT_STRIDE,
    };
    let (id, first, now) = (staged.id, staged.first_doc, tx.now());
    let sql = "INSERT INTO staged_import (id, first_doc, last_doc, alive_at) VALUES ($1, $2, $3, $4)";
    let values = params![id, first, first + MAX_DOCUMENTS - 1, now];
    tx.conn.run(sql, values).await?;
    Ok(staged)
}

/// Says that an import goes on, and refuses one that was given up meanwhile.
pub(crate) async fn keep_alive(tx: &mut Tx, import: Uuid) -> Result<()> {
    let sql = "UPDATE staged_import SET alive_at = $2 WHERE id = $1 AND alive_at > 0";
    let now = tx.now();
    if tx.conn.run(sql, params![import, now]).await? > 0 {
        return Ok(());
    }
    Err(Refusal::new(
        Code::Timeout,
        "the import stood still for so long that it was given up; nothing was imported",
    )
    .hint("Import the file again.")
    .fact("outcome", "nothing_done")
    .into())
}

/// Says that an import is over, because it failed; what is left of it will be swept.
pub async fn give_up(tx: &mut Tx, import: Uuid) -> Result<()> {
    let sql = "UPDATE staged_import SET alive_at = 0 WHERE id = $1";
    tx.conn.run(sql, params![import]).await.map(drop)
}

/// What was changed behind a place in the history, in order; up to so many.
pub async fn changes_since(conn: &mut Conn, seq: i64, limit: u32) -> Result<Vec<OtherChange>> {
    let settled = arrival::settled(conn).await?;
    let sql = "SELECT seq, username, ledger, entity, entity_id, item_id, label, action FROM change WHERE seq > $1 AND seq <= $2 \
               ORDER BY seq LIMIT $3";
    let rows = conn.all(sql, params![seq, settled, limit]).await?;
    let change = |row: &crate::engine::Row| {
        Ok(OtherChange {
            seq: row.int("seq")?,
            user: row.text("username")?,
            project_id: project_of(row.id("ledger")?),
            entity: row.text("entity")?,
            entity_id: row.id("entity_id")?,
            item_id: row.opt_id("item_id")?,
            label: row.text("label")?,
            action: row.text("action")?,
        })
    };
    rows.iter().map(change).collect()
}
