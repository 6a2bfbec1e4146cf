//! Many changes at once: what one does to thousands of items is written to the ledgers in few trips to a server.

use crate::error::Result;
use crate::tables;
use crate::tx::Tx;
use spexus_domain::change::NewChange;

/// Adds changes to their ledgers in their order, in this transaction.
pub async fn record_all(tx: &mut Tx, changes: Vec<NewChange>) -> Result<()> {
    let table = tables::table("change")?;
    tx.take_numbers(changes.len()).await?;
    let mut rows = Vec::with_capacity(changes.len());
    for change in changes {
        rows.push(tx.seal_new(change).await?);
    }
    tables::insert(&mut tx.conn, table, &tables::columns(table), &rows).await
}
