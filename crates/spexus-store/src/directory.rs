//! The directory: which project a thing is in, for whoever knows nothing but its id. The project leads every key, so everything
//! else is found with it. A trigger of the tables lists what is made.

use crate::engine::{Conn, params};
use crate::error::Result;
use spexus_domain::Uuid;

/// The project of what a bound id names, as a part of a statement.
//= specs/spexus-store.md#keys
//# An item, a comment and a link MUST be found by their ids alone, by way of the directory, and an id MUST be listed there once.
macro_rules! project_of {
    ($id:literal) => {
        concat!("(SELECT w.project_id FROM directory w WHERE w.id = ", $id, ")")
    };
}
pub(crate) use project_of;

/// The same for an id whose place among the values is known only when the statement is made.
pub(crate) fn project_of_bound(id: &str) -> String {
    format!("(SELECT w.project_id FROM directory w WHERE w.id = {id})")
}

/// The project of an item, a comment or a link, deleted or not.
pub async fn project(conn: &mut Conn, id: Uuid) -> Result<Option<Uuid>> {
    let sql = "SELECT project_id FROM directory WHERE id = $1";
    let row = conn.optional(sql, params![id]).await?;
    row.map(|row| row.id("project_id")).transpose()
}
