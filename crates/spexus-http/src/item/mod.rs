//! Items. These handlers are mounted once for each kind; the kind comes with the state.

mod children;
mod comments;
mod context;
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
pub(crate) use context::*;
pub(crate) use create::*;
pub(crate) use delete::*;
pub(crate) use get::*;
pub(crate) use history::*;
pub(crate) use links::*;
pub(crate) use list::*;
pub(crate) use steering::*;
pub(crate) use update::*;

use serde::Deserialize;
use spexus_domain::query::PageRequest;
use spexus_domain::text::excerpt;
use spexus_domain::{Code, Refusal, Ruled};
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
    /// The key of the project the id is looked up in. Left out: that of the token, else the only one that has the id.
    pub(crate) project: Option<String>,
    /// Only these fields, separated by commas.
    pub(crate) fields: Option<String>,
}

/// What a request in a project may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InProject {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    pub(crate) project: Option<String>,
}

/// What a request for a page of something below an item may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageBelow {
    /// The key of the project the id is looked up in. Left out: that of the token, else the only one that has the id.
    pub(crate) project: Option<String>,
    /// Rows of the page, 1 to 200.
    pub(crate) limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
}

impl PageBelow {
    pub(crate) fn page(&self) -> Ruled<PageRequest> {
        PageRequest::new(self.limit, self.cursor.clone())
    }
}

/// What a request for a page of some of the things below an item may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SomeBelow {
    /// The key of the project the id is looked up in. Left out: that of the token, else the only one that has the id.
    pub(crate) project: Option<String>,
    /// Rows of the page, 1 to 200.
    pub(crate) limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub(crate) cursor: Option<String>,
    /// For children: only this kind. For comments: `true` settled ones, `false` open ones.
    pub(crate) only: Option<String>,
}

impl SomeBelow {
    pub(crate) fn page(&self) -> Ruled<PageRequest> {
        PageRequest::new(self.limit, self.cursor.clone())
    }
}

/// The project a request names in its address or in its body, which must not be two.
//= specs/spexus-http.md#refusals
//# What a request says twice, in its address or a header and in its body, MUST be said alike, else it MUST be refused.
pub(crate) fn one_project(address: Option<String>, body: Option<String>) -> Ruled<Option<String>> {
    match (address, body) {
        (Some(address), Some(body)) if !address.trim().eq_ignore_ascii_case(body.trim()) => {
            let problem = format!(
                "is {:?} in the body and {:?} in the address",
                excerpt(&body, 60),
                excerpt(&address, 60)
            );
            Err(Refusal::field(
                Code::InvalidParams,
                "project",
                problem,
                "one of the two",
            ))
        }
        (address, body) => Ok(body.or(address)),
    }
}
