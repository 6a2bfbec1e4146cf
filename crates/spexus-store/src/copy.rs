//! Copying a whole database to another one, of either engine, and proving that both hold the same: every table is
//! hashed on both sides, row by row, by content.

use crate::engine::{ColumnType, Conn, Engine, Param, Row, params};
use crate::error::{Error, Result};
use crate::tx::Tx;
use crate::{Actor, Store};
use refusal::{Code, Refusal};
use serde::Serialize;
use uuid::Uuid;

/// A table as it is copied: what it is ordered by, and its columns. Search tables are built anew instead.
struct Table {
    name: &'static str,
    order: &'static str,
    columns: &'static str,
}

/// Every table, those that are pointed to before those that point. A column's type stands behind its name:
/// `u` an id, `i` an integer, `t` text, `b` bytes.
const TABLES: &[Table] = &[
    Table {
        name: "project",
        order: "id",
        columns: "id:u key:t name:t description:t attributes:t rev:i created_at:i updated_at:i",
    },
    Table {
        name: "counter",
        order: "project_id, prefix",
        columns: "project_id:u prefix:t last:i",
    },
    Table {
        name: "account",
        order: "id",
        columns: "id:u username:t username_folded:t email:t email_folded:t role:t password_hash:t active:i rev:i created_at:i updated_at:i",
    },
    Table {
        name: "token",
        order: "id",
        columns: "id:u user_id:u name:t hash:b scopes:t project_id:u expires_at:i last_used_at:i created_at:i",
    },
    Table {
        name: "secret",
        order: "name",
        columns: "name:t value:b",
    },
    Table {
        name: "web_session",
        order: "id",
        columns: "id:u user_id:u hash:b created_at:i expires_at:i",
    },
    Table {
        name: "requirement_type",
        order: "name",
        columns: "name:t description:t ordinal:i",
    },
    Table {
        name: "link_type",
        order: "name",
        columns: "name:t definition:t ordinal:i",
    },
    Table {
        name: "workflow",
        order: "kind",
        columns: "kind:t definition:t rev:i",
    },
    Table {
        name: "item",
        order: "id",
        columns: "id:u project_id:u kind:t number:i parent_id:u position:i title:t description:t status:t priority:i type:t \
                  criterion_id:u assignee_id:u creator_id:u attributes:t rev:i content_hash:t created_at:i updated_at:i \
                  deleted_at:i deletion_id:u",
    },
    Table {
        name: "item_count",
        order: "project_id, kind, status",
        columns: "project_id:u kind:t status:t n:i",
    },
    Table {
        name: "link",
        order: "id",
        columns: "id:u project_id:u type:t source_id:u target_id:u source_hash:t target_hash:t rev:i created_by:u created_at:i \
                  deleted_at:i deletion_id:u",
    },
    Table {
        name: "comment",
        order: "id",
        columns: "id:u item_id:u parent_id:u depth:i author_id:u content:t resolved:i anchor:t rev:i created_at:i updated_at:i deleted_at:i",
    },
    Table {
        name: "prompt",
        order: "id",
        columns: "id:u number:i name:t title:t description:t messages:t arguments:t active:i rev:i creator_id:u created_at:i updated_at:i",
    },
    Table {
        name: "change",
        order: "seq",
        columns: "seq:i at:i user_id:u username:t token_id:u client:t project_id:u entity:t entity_id:u item_id:u other_item_id:u \
                  label:t action:t rev:i before:t after:t hash:b",
    },
    Table {
        name: "baseline",
        order: "id",
        columns: "id:u project_id:u name:t description:t seq:i hash:b created_by:u created_at:i",
    },
    Table {
        name: "idempotency",
        order: "user_id, key",
        columns: "user_id:u key:t request_hash:b answer:t created_at:i",
    },
    Table {
        name: "audit",
        order: "id",
        columns: "id:u at:i event:t username:t token_id:u address:t client:t detail:t",
    },
];

/// Rows of one step.
const STEP_ROWS: u32 = 1_000;

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Each table with its rows and the hash both sides agree on.
    pub tables: Vec<CopiedTable>,
}

/// One copied table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CopiedTable {
    /// Its name.
    pub name: &'static str,
    /// How many rows it has.
    pub rows: i64,
    /// The hash of its content.
    pub hash: String,
}

/// Copies everything from one store into another, empty one, and verifies it. `progress` hears of every step.
pub async fn copy(
    from: &Store,
    to: &Store,
    progress: impl Fn(&'static str, i64) + Send + Sync + 'static,
) -> Result<Copied> {
    refuse_unless_empty(to).await?;
    let mut source = from.read().await?;
    begin_snapshot(&mut source).await?;
    let actor = Actor {
        user_id: Uuid::nil(),
        username: "migrate".into(),
        token_id: None,
        client: "spexus migrate".into(),
    };
    let (source, tables) = to
        .write(actor, move |tx| {
            Box::pin(async move {
                copy_tables(&mut source, tx, &progress).await?;
                crate::search::rebuild(tx).await?;
                let tables = compare(&mut source, &mut tx.conn).await?;
                Ok((source, tables))
            })
        })
        .await?;
    drop(source);
    Ok(Copied { tables })
}

/// The hash of every table's content.
pub async fn fingerprint(conn: &mut Conn) -> Result<Vec<CopiedTable>> {
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        tables.push(hash_table(conn, table).await?);
    }
    Ok(tables)
}

async fn refuse_unless_empty(store: &Store) -> Result<()> {
    let mut conn = store.read().await?;
    let used = conn
        .one("SELECT count(*) AS n FROM account", params![])
        .await?
        .int("n")?;
    if used == 0 {
        return Ok(());
    }
    let refusal = Refusal::field(
        Code::RuleViolated,
        "to",
        "the target database is not empty",
        "an empty database",
    );
    Err(refusal.hint("Name a database that does not exist yet.").into())
}

/// One view of the source for the whole copy, whatever is written meanwhile.
async fn begin_snapshot(conn: &mut Conn) -> Result<()> {
    match conn.engine() {
        Engine::Sqlite => {
            conn.script("BEGIN").await?;
            conn.one("SELECT count(*) AS n FROM project", params![])
                .await
                .map(drop)
        }
        Engine::Postgres => {
            conn.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                .await
        }
    }
}

async fn copy_tables(
    source: &mut Conn,
    tx: &mut Tx,
    progress: &(impl Fn(&'static str, i64) + Sync),
) -> Result<()> {
    for table in TABLES {
        // Items point to items in any order; the targets of these columns are written in a second pass.
        let columns = columns(table);
        let mut offset = 0;
        loop {
            let rows = page(source, table, offset).await?;
            for row in &rows {
                insert(tx, table, &columns, row).await?;
            }
            offset += rows.len() as i64;
            progress(table.name, offset);
            if rows.len() < STEP_ROWS as usize {
                break;
            }
        }
    }
    Ok(())
}

async fn insert(tx: &mut Tx, table: &Table, columns: &[(&str, ColumnType)], row: &Row) -> Result<()> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let places: Vec<String> = (1..=columns.len()).map(|at| format!("${at}")).collect();
    let values = columns
        .iter()
        .map(|(name, column)| row.param(name, *column))
        .collect::<Result<Vec<_>>>()?;
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({})",
        table.name,
        names.join(", "),
        places.join(", ")
    );
    tx.conn.run(sql, values).await.map(drop)
}

async fn compare(source: &mut Conn, target: &mut Conn) -> Result<Vec<CopiedTable>> {
    let (before, after) = (fingerprint(source).await?, fingerprint(target).await?);
    match before.iter().zip(&after).find(|(a, b)| a != b) {
        None => Ok(after),
        Some((a, b)) => Err(Error::Broken(format!(
            "table {} has {} rows ({}) at the source and {} rows ({}) at the target",
            a.name, a.rows, a.hash, b.rows, b.hash
        ))),
    }
}

async fn hash_table(conn: &mut Conn, table: &Table) -> Result<CopiedTable> {
    let columns = columns(table);
    let mut hasher = blake3::Hasher::new();
    let mut rows = 0;
    loop {
        let page = page(conn, table, rows).await?;
        for row in &page {
            for (name, column) in &columns {
                hash_value(&mut hasher, &row.param(name, *column)?);
            }
        }
        rows += page.len() as i64;
        if page.len() < STEP_ROWS as usize {
            return Ok(CopiedTable {
                name: table.name,
                rows,
                hash: hasher.finalize().to_hex()[..32].to_owned(),
            });
        }
    }
}

fn hash_value(hasher: &mut blake3::Hasher, value: &Param) {
    let mut put = |kind: u8, bytes: Option<&[u8]>| {
        hasher.update(&[kind, u8::from(bytes.is_some())]);
        let bytes = bytes.unwrap_or_default();
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    match value {
        Param::Int(value) => put(
            b'i',
            value.map(i64::to_le_bytes).as_ref().map(|bytes| bytes.as_slice()),
        ),
        Param::Text(value) => put(b't', value.as_deref().map(str::as_bytes)),
        Param::Id(value) => put(b'u', value.as_ref().map(|id| id.as_bytes().as_slice())),
        Param::Bytes(value) => put(b'b', value.as_deref()),
    }
}

async fn page(conn: &mut Conn, table: &Table, offset: i64) -> Result<Vec<Row>> {
    let names: Vec<&str> = columns(table).iter().map(|(name, _)| *name).collect();
    let sql = format!(
        "SELECT {} FROM {} ORDER BY {} LIMIT $1 OFFSET $2",
        names.join(", "),
        table.name,
        table.order
    );
    conn.all(sql, params![STEP_ROWS, offset]).await
}

fn columns(table: &Table) -> Vec<(&'static str, ColumnType)> {
    let column = |text: &'static str| {
        let (name, kind) = text.split_once(':').unwrap_or((text, "t"));
        let kind = match kind {
            "u" => ColumnType::Id,
            "i" => ColumnType::Int,
            "b" => ColumnType::Bytes,
            _ => ColumnType::Text,
        };
        (name, kind)
    };
    table.columns.split_whitespace().map(column).collect()
}
