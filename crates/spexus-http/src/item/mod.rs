//! Items. These handlers are mounted once for each kind; the kind comes with the state.

mod children;
mod comments;
mod create;
mod delete;
mod get;
mod history;
mod links;
mod list;
mod steering;
mod update;

pub(crate) use children::*;
pub(crate) use comments::*;
pub(crate) use create::*;
pub(crate) use delete::*;
pub(crate) use get::*;
pub(crate) use history::*;
pub(crate) use links::*;
pub(crate) use list::*;
pub(crate) use steering::*;
pub(crate) use update::*;

use serde::Deserialize;
use spexus_domain::Ruled;
use spexus_domain::query::PageRequest;
use utoipa::IntoParams;

/// The names `fields=` may hold.
pub(crate) const ITEM_FIELDS: &[&str] = &[
    "id",
    "reference_id",
    "project",
    "kind",
    "title",
    "description",
    "status",
    "priority",
    "type",
    "parent",
    "acceptance_criterion",
    "assignee",
    "creator",
    "position",
    "attributes",
    "rev",
    "content_hash",
    "created_at",
    "updated_at",
    "deleted_at",
];

/// What a request for one item may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OneItem {
    /// The key of the project a reference id is looked up in; the token's or the default one when left out.
    pub(crate) project: Option<String>,
    /// Only these fields, separated by commas.
    pub(crate) fields: Option<String>,
}

/// What a request in a project may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InProject {
    /// The key of the project; the token's or the default one when left out.
    pub(crate) project: Option<String>,
}

/// What a request for a page of something below an item may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageBelow {
    /// The key of the project; the token's or the default one when left out.
    pub(crate) project: Option<String>,
    /// Rows of the page, 1 to 200.
    pub(crate) limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
    /// For children: only this kind. For comments: `true` settled ones, `false` open ones.
    pub(crate) only: Option<String>,
}

impl PageBelow {
    pub(crate) fn page(&self) -> Ruled<PageRequest> {
        PageRequest::new(self.limit, self.cursor.clone())
    }
}
