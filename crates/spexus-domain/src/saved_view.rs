//! Saved views: a name for what a page shows, for oneself or for everybody in the project.
//!
//! A view is the address of a page without the project it is in, so it leads nowhere else, and what it shows is what whoever
//! opens it may see.

use crate::limits::MAX_VIEW_BYTES;
use crate::page_key::PageKey;
use crate::{Code, Refusal, Ruled, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// A page that can be looked at in several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ViewPage {
    /// Rows and columns.
    Table,
    /// Cards by status.
    Board,
    /// What contains what.
    Tree,
    /// Links of rows and columns.
    Matrix,
    /// What is around an item.
    Graph,
}

impl ViewPage {
    /// All of them.
    pub const ALL: [ViewPage; 5] = [
        ViewPage::Table,
        ViewPage::Board,
        ViewPage::Tree,
        ViewPage::Matrix,
        ViewPage::Graph,
    ];

    /// As it stands in JSON, in the database and in an address.
    pub const fn name(self) -> &'static str {
        match self {
            ViewPage::Table => "table",
            ViewPage::Board => "board",
            ViewPage::Tree => "tree",
            ViewPage::Matrix => "matrix",
            ViewPage::Graph => "graph",
        }
    }

    /// Reads a name.
    pub fn parse(field: &str, text: &str) -> Ruled<Self> {
        let found = Self::ALL.into_iter().find(|page| page.name() == text);
        found.ok_or_else(|| crate::nearest::miss(field, text, Self::ALL.map(Self::name)))
    }
}

/// A name for what a page shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SavedView {
    /// Its id.
    pub id: Uuid,
    /// The key of its project.
    pub project: String,
    /// Its name: one's own are named apart, and so are those that are shared.
    pub name: String,
    /// The page it shows.
    pub page: ViewPage,
    /// What the page is asked for, as it stands in its address.
    pub query: String,
    /// Whether everybody in the project has it.
    pub shared: bool,
    /// Who saved it.
    pub owner: String,
    /// Who that is, whatever they are called.
    #[serde(skip)]
    pub owner_id: Uuid,
    /// Counts its changes.
    pub rev: i64,
    /// When it was saved.
    pub created_at: Timestamp,
    /// When it was changed.
    pub updated_at: Timestamp,
}

impl SavedView {
    /// The address of the page as it was saved.
    pub fn address(&self) -> String {
        let mark = if self.query.is_empty() { "" } else { "?" };
        format!("/p/{}/{}{mark}{}", self.project, self.page.name(), self.query)
    }
}

impl PageKey for SavedView {
    fn page_key(&self) -> String {
        format!("{} {} {}", self.page.name(), self.name, self.id)
    }
}

/// What is needed to save a view.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewView {
    /// Its name.
    pub name: String,
    /// table, board, tree, matrix or graph.
    pub page: String,
    /// What the page is asked for, as it stands in its address behind the question mark.
    #[serde(default)]
    pub query: String,
    /// Whether everybody in the project has it.
    #[serde(default)]
    pub shared: bool,
    /// The project, when it is not the caller's usual one.
    pub project: Option<String>,
}

/// What is to be changed of a view; what is left out stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewPatch {
    /// Another name.
    pub name: Option<String>,
    /// Another state of the page.
    pub query: Option<String>,
    /// Whether everybody in the project has it.
    pub shared: Option<bool>,
    /// The revision this was made for.
    pub expect_rev: Option<i64>,
}

/// Where a page of a long list was, and what was done on it last: what a view does not keep.
const PASSING: [&str; 5] = ["cursor", "edit", "undo", "moving", "done"];

/// What a page is asked for, without what is only of the moment.
//= specs/spexus-service.md#saved-views
//# A view MUST hold nothing but the page and what it is asked for, so that it leads nowhere else.
pub fn query(field: &str, text: &str) -> Ruled<String> {
    let text = text.trim().trim_start_matches('?');
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'<>\\^`{|}#".contains(&byte);
    if !text.bytes().all(is_plain) {
        let allowed = "what stands behind the question mark of an address, percent-encoded";
        let problem = "has characters that do not stand in an address";
        return Err(Refusal::field(Code::InvalidParams, field, problem, allowed));
    }
    if text.len() > MAX_VIEW_BYTES {
        let problem = format!("has {} bytes", text.len());
        let allowed = format!("at most {MAX_VIEW_BYTES} bytes");
        return Err(Refusal::field(Code::InvalidParams, field, problem, allowed));
    }
    let stays = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && !PASSING.contains(&name)
    };
    Ok(text.split('&').filter(stays).collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-service.md#saved-views
    //= type=test
    //# A view MUST hold nothing but the page and what it is asked for, so that it leads nowhere else.
    #[test]
    fn a_view_keeps_what_a_page_is_asked_for_and_leads_nowhere_else() {
        let kept = query(
            "query",
            "?kind=epic&status=Draft%2CDone&cursor=abc&undo=x&edit=REQ-001.status&",
        )
        .unwrap();
        assert_eq!(kept, "kind=epic&status=Draft%2CDone");
        assert_eq!(query("query", "").unwrap(), "");
        for odd in ["a=\r\nSet-Cookie: x", "a=b#c", "<script>", "a=é", "a=\\\\evil"] {
            assert_eq!(
                query("query", odd).unwrap_err().faults[0].field,
                "query",
                "{odd:?}"
            );
        }
        assert!(query("query", &"a".repeat(MAX_VIEW_BYTES + 1)).is_err());
        assert_eq!(ViewPage::parse("page", "table").unwrap(), ViewPage::Table);
        assert!(ViewPage::parse("page", "//evil.example").is_err());
    }
}
