//! The tables and their columns, for what treats all of them alike: copies, staged rows, digests.

use crate::engine::{ColumnType, Conn, Engine, Param, Row};
use crate::error::{Error, Result};

/// A table as it is copied: what it is ordered by, and its columns. Search tables are built anew instead, and what is staged
/// belongs to imports that run where they run.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) order: &'static str,
    pub(crate) columns: &'static str,
}

/// Every table, those that are pointed to before those that point. A column's type stands behind its name:
/// `u` an id, `i` an integer, `t` text, `b` bytes.
pub(crate) const TABLES: &[Table] = &[
    Table {
        name: "project",
        order: "id",
        columns: "id:u key:t name:t description:t attributes:t default_role:t prefix_references:i rev:i created_at:i updated_at:i",
    },
    Table {
        name: "counter",
        order: "project_id, prefix",
        columns: "project_id:u prefix:t last:i",
    },
    Table {
        name: "account",
        order: "id",
        columns: "id:u username:t username_folded:t email:t email_folded:t role:t password_hash:t active:i owner_id:u rev:i created_at:i updated_at:i",
    },
    Table {
        name: "token",
        order: "id",
        columns: "id:u user_id:u name:t hash:b scopes:t project_id:u agent:i expires_at:i last_used_at:i created_at:i",
    },
    Table {
        name: "member",
        order: "project_id, user_id",
        columns: "project_id:u user_id:u role:t since:i",
    },
    Table {
        name: "user_group",
        order: "id",
        columns: "id:u name:t rev:i created_at:i",
    },
    Table {
        name: "group_user",
        order: "group_id, user_id",
        columns: "group_id:u user_id:u",
    },
    Table {
        name: "member_group",
        order: "project_id, group_id",
        columns: "project_id:u group_id:u role:t since:i",
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
        name: "directory",
        order: "id",
        columns: "id:u project_id:u",
    },
    Table {
        name: "item",
        order: "project_id, id",
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
        order: "project_id, id",
        columns: "id:u project_id:u type:t source_project_id:u source_id:u target_project_id:u target_id:u source_hash:t \
                  target_hash:t rev:i created_by:u created_at:i deleted_at:i deletion_id:u",
    },
    Table {
        name: "comment",
        order: "project_id, id",
        columns: "id:u project_id:u item_id:u parent_id:u depth:i author_id:u content:t resolved:i anchor:t rev:i \
                  created_at:i updated_at:i deleted_at:i",
    },
    Table {
        name: "lease",
        order: "project_id, item_id",
        columns: "project_id:u item_id:u user_id:u token_id:u holder:t intent:t since:i until:i",
    },
    Table {
        name: "review",
        order: "project_id, id",
        columns: "project_id:u id:u number:i title:t description:t state:t created_by:u rev:i created_at:i updated_at:i",
    },
    Table {
        name: "review_item",
        order: "project_id, review_id, item_id",
        columns: "project_id:u review_id:u item_id:u ordinal:i rev:i content_hash:t",
    },
    Table {
        name: "review_person",
        order: "project_id, review_id, user_id",
        columns: "project_id:u review_id:u user_id:u ordinal:i verdict:t reason:t decided_at:i",
    },
    Table {
        name: "saved_view",
        order: "project_id, id",
        columns: "project_id:u id:u owner_id:u name:t page:t query:t shared:i rev:i created_at:i updated_at:i",
    },
    Table {
        name: "prompt",
        order: "id",
        columns: "id:u number:i name:t title:t description:t messages:t arguments:t active:i rev:i creator_id:u created_at:i updated_at:i",
    },
    Table {
        name: "change",
        order: "ledger, number",
        columns: "seq:i ledger:u number:i at:i user_id:u username:t token_id:u client:t entity:t entity_id:u item_id:u \
                  other_item_id:u label:t action:t rev:i before:t after:t salt:b payload_hash:b hash:b",
    },
    Table {
        name: "former_history",
        order: "changes",
        columns: "changes:i head:b fault_seq:i fault:t",
    },
    Table {
        name: "ledger_origin",
        order: "ledger",
        columns: "ledger:u installation:t former_changes:i former_head:b number:i hash:b arrived_at:i",
    },
    Table {
        name: "dropped_segment",
        order: "ledger",
        columns: "ledger:u number:i seq:i hash:b at:i dropped_at:i",
    },
    Table {
        name: "baseline",
        order: "project_id, id",
        columns: "id:u project_id:u name:t description:t seq:i hash:b created_by:u created_at:i",
    },
    Table {
        name: "trace_push",
        order: "project_id, id",
        columns: "project_id:u id:u number:i digest:b commit_id:t ordered_at:i is_dirty:i is_reported:i has_marks:i head:t \
                  pushed_by:u pushed_at:i",
    },
    Table {
        name: "trace_part",
        order: "project_id, push_id, ordinal",
        columns: "project_id:u push_id:u ordinal:i kind:t body:t",
    },
    Table {
        name: "trace_state",
        order: "project_id, item_id",
        columns: "project_id:u item_id:u state:t flags:t weakest:t body:t content_hash:t confirmed_hash:t ground:t",
    },
    Table {
        name: "trace_head",
        order: "project_id",
        columns: "project_id:u version:i body:t keys:b",
    },
    Table {
        name: "trace_review",
        order: "project_id, item_id, kind",
        columns: "project_id:u item_id:u kind:t why:t reviewer:t content_hash:t fingerprint:t reviewed_at:i expires_at:i",
    },
    Table {
        name: "trace_step",
        order: "project_id, number",
        columns: "project_id:u number:i seq:i made_at:i commit_id:t body:t",
    },
    Table {
        name: "idempotency",
        order: "user_id, key",
        columns: "user_id:u key:t request_hash:b answer:t created_at:i",
    },
    Table {
        name: "audit",
        order: "day, number",
        columns: "day:i number:i id:u at:i event:t username:t token_id:u address:t client:t detail:t target_id:u target:t times:i \
                  salt:b payload_hash:b hash:b",
    },
    Table {
        name: "audit_day",
        order: "day",
        columns: "day:i events:i head:b sealed_at:i dropped_at:i",
    },
    Table {
        name: "login_failure",
        order: "key",
        columns: "key:b failures:i last_at:i",
    },
    Table {
        name: "login_network",
        order: "user_id, network",
        columns: "user_id:u network:t last_at:i",
    },
    Table {
        name: "mcp_session",
        order: "id",
        columns: "id:t owner:u state:t unread:t mark:i node:u rev:i seen_at:i ended_at:i",
    },
    Table {
        name: "root",
        order: "uri",
        columns: "uri:t name:t description:t added_by:u added_at:i",
    },
    Table {
        name: "app",
        order: "name",
        columns: "name:t installation:t version:t source:t installed_by:u installed_at:i",
    },
];

/// Rows written by one statement; the widest table stays far below what both engines bind at most.
const INSERT_ROWS: usize = 100;

pub(crate) type Column = (&'static str, ColumnType);

/// One of the tables that are copied.
pub(crate) fn table(name: &str) -> Result<&'static Table> {
    let found = TABLES.iter().find(|table| table.name == name);
    found.ok_or_else(|| Error::Broken(format!("{name} is not a table that is copied")))
}

/// Writes rows. A trip to a server is worth many rows; SQLite has no trips, and looks for each of many parameters among all
/// of them, so it is given one row at a time.
pub(crate) async fn insert(
    conn: &mut Conn,
    table: &Table,
    columns: &[Column],
    rows: &[Vec<Param>],
) -> Result<()> {
    let at_once = match conn.engine() {
        Engine::Sqlite => 1,
        Engine::Postgres => INSERT_ROWS,
    };
    for some in rows.chunks(at_once) {
        conn.run(insert_sql(table, columns, some.len()), some.concat())
            .await?;
    }
    Ok(())
}

fn insert_sql(table: &Table, columns: &[Column], rows: usize) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let group = |row: usize| {
        let first = row * columns.len() + 1;
        let places: Vec<String> = (first..first + columns.len())
            .map(|at| format!("${at}"))
            .collect();
        format!("({})", places.join(", "))
    };
    let groups: Vec<String> = (0..rows).map(group).collect();
    format!(
        "INSERT INTO {} ({}) VALUES {}",
        table.name,
        names.join(", "),
        groups.join(", ")
    )
}

/// The values of a row, in the order of the columns.
pub(crate) fn values(columns: &[Column], row: &Row) -> Result<Vec<Param>> {
    let value = |(name, column): &Column| row.param(name, *column);
    columns.iter().map(value).collect()
}

pub(crate) fn hash_value(hasher: &mut blake3::Hasher, value: &Param) {
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

pub(crate) fn columns(table: &Table) -> Vec<Column> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::params;
    use crate::{Location, Store, StoreOptions};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    async fn open(location: Location) -> Store {
        let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(0));
        Store::open(&location, &StoreOptions::default(), clock)
            .await
            .unwrap()
            .0
    }

    /// `table.column type` of everything that is copied, as each engine calls the types.
    fn said(types: [&str; 4]) -> BTreeSet<String> {
        let [id, int, text, bytes] = types;
        let line = |table: &Table, (name, column): Column| {
            let column = match column {
                ColumnType::Id => id,
                ColumnType::Int => int,
                ColumnType::Text => text,
                ColumnType::Bytes => bytes,
            };
            format!("{}.{name} {column}", table.name)
        };
        TABLES
            .iter()
            .flat_map(|table| columns(table).into_iter().map(move |column| line(table, column)))
            .collect()
    }

    /// What is there, without what is built anew, what is staged, and what says which version it is.
    async fn found(store: &Store, sql: &'static str) -> BTreeSet<String> {
        let rows = store.read().await.unwrap().all(sql, params![]).await.unwrap();
        let lines = rows.iter().map(|row| row.text("line").unwrap());
        lines
            .filter(|line| {
                let left_out = ["search_", "staged_", "schema_version.", "installation."];
                !left_out.iter().any(|name| line.starts_with(name))
            })
            .collect()
    }

    #[tokio::test]
    async fn every_column_of_sqlite_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(Location::File(folder.path().join("a.db"))).await;
        let sql = "SELECT m.name || '.' || c.name || ' ' || c.type AS line FROM sqlite_master m \
                   JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
        assert_eq!(
            said(["BLOB", "INTEGER", "TEXT", "BLOB"]),
            found(&store, sql).await
        );
    }

    #[tokio::test]
    async fn every_column_of_postgresql_is_copied() {
        let Some(url) = test_support::fresh_database() else {
            return;
        };
        let store = open(Location::Server(url)).await;
        let sql = "SELECT CAST(table_name || '.' || column_name || ' ' || data_type AS text) AS line \
                   FROM information_schema.columns WHERE table_schema = current_schema()";
        assert_eq!(
            said(["uuid", "bigint", "text", "bytea"]),
            found(&store, sql).await
        );
    }

    #[test]
    fn the_widest_statement_binds_less_than_sqlite_can() {
        let widest = TABLES.iter().map(|table| columns(table).len()).max().unwrap();
        assert!(widest * INSERT_ROWS < 32_766);
    }
}
