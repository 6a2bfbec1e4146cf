//! The filters every list of items has.

use crate::session::Session;
use clap::Args;
use spexus_domain::query::Total;
use spexus_service::item::ItemQuery;

/// Which items are meant. Several values of one filter are separated by commas.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Filters {
    /// Status names
    #[arg(long)]
    status: Option<String>,
    /// Priorities, 1 to 4 or by word
    #[arg(long)]
    priority: Option<String>,
    /// Requirement types, by name
    #[arg(long = "type", value_name = "TYPE")]
    requirement_type: Option<String>,
    /// Who works on it: a user name, me or none
    #[arg(long, value_name = "USER")]
    assignee: Option<String>,
    /// Who made it: a user name or me
    #[arg(long, value_name = "USER")]
    creator: Option<String>,
    /// What directly contains it
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// What contains it, at any depth
    #[arg(long, value_name = "ID")]
    under: Option<String>,
    /// The criterion a requirement serves
    #[arg(long, value_name = "ID")]
    criterion: Option<String>,
    /// Made at or after
    #[arg(long, value_name = "TIME")]
    created_from: Option<String>,
    /// Made before
    #[arg(long, value_name = "TIME")]
    created_to: Option<String>,
    /// Changed at or after
    #[arg(long, value_name = "TIME")]
    updated_from: Option<String>,
    /// Changed before
    #[arg(long, value_name = "TIME")]
    updated_to: Option<String>,
    /// Deleted items instead of living ones
    #[arg(long)]
    deleted: bool,
    /// created_at, updated_at, priority, title, status or position; a leading - turns it around
    #[arg(long, value_name = "FIELD", allow_hyphen_values = true)]
    order_by: Option<String>,
    /// Rows of the page, 1 to 200
    #[arg(long, value_name = "ROWS")]
    limit: Option<u32>,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
    /// Counts to the end, whatever it costs; else the total of a long list may be a lower bound
    #[arg(long)]
    count: bool,
}

impl Filters {
    /// The same in the words of the service.
    pub(super) fn query(self, session: &Session) -> ItemQuery {
        ItemQuery {
            project: session.project.clone(),
            status: self.status,
            priority: self.priority,
            requirement_type: self.requirement_type,
            assignee: self.assignee,
            creator: self.creator,
            parent: self.parent,
            under: self.under,
            acceptance_criterion: self.criterion,
            created_from: self.created_from,
            created_to: self.created_to,
            updated_from: self.updated_from,
            updated_to: self.updated_to,
            deleted: self.deleted.then_some(true),
            order_by: self.order_by,
            limit: self.limit,
            cursor: self.cursor,
            count: self.count.then(|| "exact".to_owned()),
            fields: None,
        }
    }
}

/// The last line of a page of text: how much there is, and how to see more.
pub(super) fn footer(shown: usize, total: Total, next: Option<&str>) -> String {
    match next {
        Some(cursor) => format!("\n{shown} of {total}; the next page: --cursor {cursor}"),
        None => format!("\n{total} in all"),
    }
}
