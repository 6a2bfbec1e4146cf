//! The page of one item and what can be done there, one file for each verb.

pub(crate) mod comments;
mod conflict;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod edit;
mod fields;
pub(crate) mod history;
pub(crate) mod links;
mod merge;
pub(crate) mod show;
mod words;

use crate::shell::Crumb;
use crate::visit::Visit;
use axum::extract::Path;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::{Ruled, Uuid};
use spexus_service::item;

/// The longest title.
pub(crate) const TITLE_CHARS: usize = spexus_domain::limits::MAX_TITLE_CHARS;

/// The address of an item: key and reference.
pub(crate) type At = Path<(String, String)>;

/// The address of something that belongs to an item: key, reference and id.
pub(crate) type AtId = Path<(String, String, Uuid)>;

/// An item and its project, as an address names them.
pub(crate) struct AddressedItem {
    pub(crate) project: Project,
    pub(crate) item: Item,
}

impl AddressedItem {
    pub(crate) async fn of(visit: &Visit, key: &str, reference: &str) -> Ruled<Self> {
        let project = visit.project(key).await?;
        let item = item::get(
            visit.service(),
            &visit.caller,
            Some(&project.key),
            None,
            reference,
        )
        .await?;
        Ok(Self { project, item })
    }

    /// The address of the item.
    pub(crate) fn path(&self) -> String {
        address(&self.item)
    }

    /// The way to a page below that of the item.
    fn crumbs(&self, here: &str) -> Vec<Crumb> {
        vec![
            Crumb::to(&self.project.name, format!("/p/{}", self.project.key)),
            Crumb::to(self.item.reference_id.to_string(), self.path()),
            Crumb::here(here),
        ]
    }

    fn may(&self, visit: &Visit, operation: Operation) -> bool {
        visit.may(operation, &self.project)
    }
}

/// The address of an item.
pub(crate) fn address(item: &Item) -> String {
    format!("/p/{}/{}", item.project, item.reference_id)
}
