//! Items: making, reading, listing, changing, moving, deleting and bringing them back.

mod apply;
pub mod context;
pub mod create;
pub mod delete;
pub mod history;
pub mod list;
pub mod near;
pub mod placement;
mod proof;
pub mod read;
pub mod update;

pub use context::{context, several};
pub use create::create;
pub use delete::{delete, delete_agreed, preview, restore};
pub use history::history;
pub use list::{ItemQuery, list};
pub use near::near;
pub use placement::move_to;
pub use read::{beside, children, get, hierarchy, outline, path};
pub use update::update;

use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::item::Item;
use spexus_domain::told;
use spexus_store::{Result, Tx};

/// Writes a change of an item into the history; only what differs.
//= specs/spexus-service.md#history
//# Every change MUST be told in the history with who made it and what each field was before and after.
pub(crate) async fn record(tx: &mut Tx, action: Action, before: Option<&Item>, after: &Item) -> Result<()> {
    record_for(tx, action, before, after, "").await
}

/// The same with what it is for, where somebody said so.
async fn record_for(
    tx: &mut Tx,
    action: Action,
    before: Option<&Item>,
    after: &Item,
    intent: &str,
) -> Result<()> {
    let change = change(action, before, after);
    let change = match intent {
        "" => change,
        //= specs/spexus-service.md#leases
        //# What an agent says it wants MUST be kept with its changes, sealed like them, and told in the history.
        intent => change.telling(told::INTENT, intent),
    };
    let change = match action {
        Action::Created => change.made(
            after.creator.id,
            after.created_at,
            after.updated_at,
            (tx.actor().user_id, tx.now()),
        ),
        _ => change,
    };
    tx.record(change).await.map(drop)
}

/// A change of an item as the history tells it.
fn change(action: Action, before: Option<&Item>, after: &Item) -> NewChange {
    NewChange::new(
        Entity::Item,
        after.id,
        after.reference_id.plain().to_string(),
        action,
        after.rev,
    )
    .in_project(after.project_id)
    .on_item(after.id, None)
    .fields(before.map(Item::fields), after.fields())
}
