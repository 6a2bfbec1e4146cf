//! Many changes at once: what one does to thousands of items is written to the chain in few trips to a server.

use crate::copy;
use crate::error::Result;
use crate::tx::Tx;
use spexus_domain::change::NewChange;

/// Adds changes to the chain in their order, in this transaction.
pub async fn record_all(tx: &mut Tx, changes: Vec<NewChange>) -> Result<()> {
    let table = copy::table("change")?;
    let rows: Vec<_> = changes.into_iter().map(|change| tx.seal_new(change)).collect();
    copy::insert(&mut tx.conn, table, &copy::columns(table), &rows).await
}
