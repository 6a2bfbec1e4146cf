//! Done means proven: a step of a workflow that demands evidence is taken by what stands on the rung, and by nobody's word.

use super::apply::workflow;
use crate::evidence;
use spexus_domain::item::Item;
use spexus_domain::trace::{EvidenceDemand, Standing, TraceFlag};
use spexus_domain::{Kind, Timestamp};
use spexus_store::{Conn, Result, Tx};

/// Refuses a step whose evidence is missing. It is asked of the item as it becomes: a text that changes with the step is not shown by
/// the tests of the text before.
//= specs/spexus-service.md#rules
//# A step that demands evidence MUST be refused while an item stands lower, with what is missing and the command that supplies it.
pub(super) async fn check_step(tx: &mut Tx, before: &Item, after: &Item) -> Result<()> {
    let (Some(from), Some(to)) = (&before.status, &after.status) else {
        return Ok(());
    };
    if from == to {
        return Ok(());
    }
    match workflow(&mut tx.conn, after.kind).await?.demand(from, to) {
        Some(demand) => {
            let now = tx.now();
            check(&mut tx.conn, (demand, to), after, now).await
        }
        None => Ok(()),
    }
}

async fn check(
    conn: &mut Conn,
    (demand, to): (EvidenceDemand, &str),
    item: &Item,
    now: Timestamp,
) -> Result<()> {
    if matches!(item.kind, Kind::Epic | Kind::UserStory) {
        let below = evidence::requirements_below(conn, item, now).await?;
        if !below.is_empty() {
            let counted = below.iter().filter(|row| !row.flags.contains(&TraceFlag::Waived));
            let lowest = counted.min_by_key(|row| row.state);
            return match lowest.filter(|row| !demand.holds(row.state, &row.flags)) {
                None => Ok(()),
                Some(row) => {
                    let standing = Standing {
                        reference: &row.reference_id,
                        project: &item.project,
                        state: row.state,
                        flags: &row.flags,
                        weakest: &row.weakest,
                        tests: &[],
                    };
                    Err(demand.refusal(to, &standing).into())
                }
            };
        }
    }
    let found = evidence::read_trace(conn, item.clone(), now).await?;
    let trace = &found.trace;
    if demand.holds(trace.state, &trace.flags) {
        return Ok(());
    }
    let standing = Standing {
        reference: &item.reference_id,
        project: &item.project,
        state: trace.state,
        flags: &trace.flags,
        weakest: &trace.weakest,
        tests: &trace.tests,
    };
    Err(demand.refusal(to, &standing).into())
}
