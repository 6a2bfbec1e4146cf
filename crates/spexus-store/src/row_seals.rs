//! Rows of small tables in the ledgers: whatever writes such a row names it before, and the next change of the same job carries the
//! digests of what the row was and of what it became. So the present row can be held against the history although the history
//! does not tell every column: a password's hash, the definition of a workflow, who is in a group.
//!
//! What writes many rows, such as items, does not pay for this: a replay knows those from their fields.

use crate::engine::Param;
use crate::error::Result;
use crate::evidence;
use crate::row_digests::{Pages, Touched, digest_of, key_of};
use crate::tables;
use crate::tx::Tx;
use serde_json::Value;
use spexus_domain::Uuid;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::told;

/// What an upgrade calls the change that seals what it found.
const FOUND_LABEL: &str = "what an upgrade found";

/// What the change is called that seals what came with the history of a project.
const ARRIVED_LABEL: &str = "what came with a project";

/// Rows told by one change.
const STEP_ROWS: u32 = 500;

/// Names a row that is about to be written; the next change of this job seals it.
//= specs/spexus-store.md#history
//# A change of an account, a token, a member, a group, a project, a setting, a prompt, a baseline, a root or an app MUST carry
//# digests of its rows as they were and as they became.
pub(crate) async fn touch(tx: &mut Tx, table: &str, key: Vec<Param>) -> Result<()> {
    let table = tables::table(table)?;
    if tx
        .touched
        .iter()
        .any(|known| known.table.name == table.name && known.key == key)
    {
        return Ok(());
    }
    let before = digest_of(&mut tx.conn, table, &key).await?;
    tx.touched.push(Touched { table, key, before });
    Ok(())
}

/// Names rows that are about to be written, by a condition on their table.
pub(crate) async fn touch_where(tx: &mut Tx, table: &str, condition: &str, values: Vec<Param>) -> Result<()> {
    let found = tables::table(table)?;
    let sql = format!("SELECT {} FROM {} WHERE {condition}", found.order, found.name);
    for row in tx.conn.all(sql, values).await? {
        touch(tx, table, key_of(found, &row)?).await?;
    }
    Ok(())
}

/// Seals every row of the small tables as it stands, and what the history before could not tell of items, comments and links.
//= specs/spexus-store.md#schema
//# What the history of an older version could not tell MUST be sealed as it stood when its database was brought up to date.
pub(crate) async fn seal_found(tx: &mut Tx) -> Result<()> {
    let mut rows = Vec::new();
    for (name, _) in evidence::sealed() {
        let mut pages = Pages::of(tables::table(name)?);
        while let Some(page) = pages.next(&mut tx.conn).await? {
            rows.extend(
                page.into_iter()
                    .map(|(key, digest)| Value::from(vec![name, &key, &digest])),
            );
        }
    }
    let things = crate::replay::untold(&mut tx.conn).await?;
    tell_found(tx, FOUND_LABEL, told::ROWS, &rows).await?;
    tell_found(tx, FOUND_LABEL, told::FOUND, &things).await
}

/// Seals what the ledger a project came with could not tell of its items, comments and links.
//= specs/spexus-store.md#history
//# What the ledger of a project that comes from elsewhere cannot tell of its rows MUST be sealed as it stood when it came.
pub(crate) async fn seal_arrived(tx: &mut Tx, untold: &[Value]) -> Result<()> {
    tell_found(tx, ARRIVED_LABEL, told::FOUND, untold).await
}

/// Tells what was written on the way in by other means than use cases, if anything was.
pub(crate) async fn seal_touched(tx: &mut Tx) -> Result<()> {
    if tx.touched.is_empty() {
        return Ok(());
    }
    let change = NewChange::new(Entity::Setting, Uuid::nil(), ARRIVED_LABEL, Action::Created, 1);
    tx.record(change).await.map(drop)
}

async fn tell_found(tx: &mut Tx, label: &str, name: &str, found: &[Value]) -> Result<()> {
    for some in found.chunks(STEP_ROWS as usize) {
        let change = NewChange::new(Entity::Setting, Uuid::nil(), label, Action::Created, 1);
        tx.record(change.telling(name, some.to_vec())).await?;
    }
    Ok(())
}
