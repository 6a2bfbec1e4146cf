//! Checkpoints: what the ledgers had come to at one time, made to be kept elsewhere and held against them later.

use crate::audit_days;
use crate::checkpointed_ends::installation;
use crate::engine::{Conn, params};
use crate::error::Result;
use crate::ledger_head::{Head, LedgerHead};
use crate::tx::Tx;
use serde_json::{Map, Value};
use spexus_domain::Uuid;
use spexus_domain::change::{Action, Entity, INSTALLATION, NewChange};
use spexus_domain::checkpoint::{Checkpoint, LedgerEnd};

/// What a checkpoint is called in the installation's ledger.
pub(crate) const LABEL: &str = "checkpoint";

/// The field with what the day of the audit trail has come to that is not over.
pub(crate) const OPEN_DAY: &str = "audit trail";

/// The field that names the key it was signed with.
const KEY: &str = "key";

/// The key of the last checkpoint, if there is one, and whether nothing happened since.
pub async fn last(conn: &mut Conn) -> Result<Option<(String, bool)>> {
    let sql = "SELECT seq, after FROM change WHERE ledger = $1 AND label = $2 AND entity = 'setting' ORDER BY seq DESC LIMIT 1";
    let Some(row) = conn.optional(sql, params![INSTALLATION, LABEL]).await? else {
        return Ok(None);
    };
    let is_last = row.int("seq")? == Head::read(conn).await?.seq;
    let key = row.object("after")?;
    let key = key.get(KEY).and_then(|key| key.as_str()).unwrap_or_default();
    Ok(Some((key.to_owned(), is_last)))
}

/// Takes down where every ledger ends, in the ledger of the installation as well.
//= specs/spexus-store.md#checkpoints
//# A checkpoint MUST hold the number and the hash of the last change of every ledger, and MUST itself be in the ledger of the
//# installation.
pub async fn take(tx: &mut Tx, key: &str) -> Result<Checkpoint> {
    //= specs/spexus-store.md#audit-trail
    //# What the day that is not over has come to MUST be in every checkpoint.
    audit_days::seal_finished(tx).await?;
    let open_day = audit_days::open_day(&mut tx.conn).await?;
    let mut ledgers = Vec::new();
    let projects = tx
        .conn
        .all("SELECT id FROM project ORDER BY id", params![])
        .await?;
    for row in &projects {
        let ledger = row.id("id")?;
        let head = tx.ledger_head(ledger).await?;
        if head.number > 0 {
            ledgers.push(end(ledger, head));
        }
    }
    let ends = ledgers.iter().map(|end| {
        (
            end.ledger.to_string(),
            format!("{} {}", end.number, end.hash).into(),
        )
    });
    let open_day = open_day.map(|day| (OPEN_DAY.to_owned(), Value::Object(Map::from_iter([day]))));
    let fields = ends.chain([(KEY.to_owned(), key.into())]).chain(open_day);
    let id = tx.new_id();
    let change =
        NewChange::new(Entity::Setting, id, LABEL, Action::Created, 1).fields(None, fields.collect());
    tx.record(change).await?;
    let own = tx.ledger_head(INSTALLATION).await?;
    ledgers.insert(0, end(INSTALLATION, own));
    Ok(Checkpoint {
        installation: installation(&mut tx.conn).await?.unwrap_or_default(),
        at: tx.now(),
        ledgers,
    })
}

fn end(ledger: Uuid, head: LedgerHead) -> LedgerEnd {
    LedgerEnd {
        ledger,
        number: head.number,
        hash: hex::encode(head.hash),
    }
}
