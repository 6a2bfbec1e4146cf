//! Looking at items.

use super::show;
use crate::commands::filters::{Filters, footer};
use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Args;
use spexus_domain::Kind;
use spexus_domain::item_context::{ContextRequest, ItemContext};
use spexus_domain::query::PageRequest;
use spexus_service::item;

/// One item.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// A UUID or a reference id such as REQ-012
    id: String,
}

/// Everything that is needed to work on an item.
#[derive(Debug, Args)]
pub(crate) struct ContextOf {
    /// A UUID or a reference id
    id: String,
    /// What it is for: implement, review or test
    #[arg(long)]
    purpose: Option<String>,
    /// The tokens it may have, 600 to 12000; 4000 when left out
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    max_tokens: Option<i64>,
    /// The hash of an earlier answer: where nothing changed since, only that is told
    #[arg(long, value_name = "HASH")]
    if_changed: Option<String>,
}

/// A list of items.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// epic, user_story, acceptance_criterion, requirement or steering_document; all kinds when left out
    kind: Option<String>,
    #[command(flatten)]
    filters: Filters,
}

/// The tree below an item.
#[derive(Debug, Args)]
pub(crate) struct TreeOf {
    /// A UUID or a reference id
    id: String,
    /// How many levels; all when left out
    #[arg(long)]
    depth: Option<u32>,
}

/// The history of an item.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// A UUID or a reference id
    id: String,
    /// Rows of the page, 1 to 200
    #[arg(long, value_name = "ROWS")]
    limit: Option<u32>,
    /// Where the page before ended
    #[arg(long)]
    cursor: Option<String>,
}

pub(super) async fn get(session: &Session, output: Output, wanted: &Get) -> Outcome {
    let found = item::get(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
    )
    .await?;
    output.show(&found, show::whole)
}

pub(super) async fn context(session: &Session, output: Output, wanted: ContextOf) -> Outcome {
    let request = ContextRequest {
        purpose: wanted.purpose,
        max_tokens: wanted.max_tokens,
        if_changed: wanted.if_changed,
    };
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    let found = item::context(service, caller, project, &wanted.id, request).await?;
    output.show(&found, ItemContext::words)
}

pub(super) async fn list(session: &Session, output: Output, wanted: List) -> Outcome {
    let kind = wanted
        .kind
        .as_deref()
        .map(|kind| Kind::parse("kind", kind))
        .transpose()?;
    let query = wanted.filters.query(session);
    let page = item::list(&session.service, &session.caller, kind, &query).await?;
    output.show(&page, |page| {
        let rows: Vec<_> = page.data.iter().map(show::row).collect();
        format!(
            "{}{}",
            table(&rows),
            footer(rows.len(), page.total(), page.next_cursor.as_deref())
        )
    })
}

pub(super) async fn tree(session: &Session, output: Output, wanted: &TreeOf) -> Outcome {
    let found = item::hierarchy(
        &session.service,
        &session.caller,
        session.project(),
        &wanted.id,
        wanted.depth,
    )
    .await?;
    output.show(&found, |found| {
        let mut text = String::new();
        show::tree(&found.root, 0, &mut text);
        if found.truncated {
            let rest = found.rest.as_deref().unwrap_or("there is more below");
            text.push_str(&format!("… {rest}\n"));
        }
        text
    })
}

pub(super) async fn history(session: &Session, output: Output, wanted: History) -> Outcome {
    let page = PageRequest::new(wanted.limit, wanted.cursor)?;
    let found = item::history(
        &session.service,
        &session.caller,
        session.project(),
        None,
        &wanted.id,
        page,
    )
    .await?;
    output.show(&found, |found| {
        let lines: Vec<String> = found.data.iter().map(show::change).collect();
        format!(
            "{}{}",
            lines.join("\n"),
            footer(lines.len(), found.total(), found.next_cursor.as_deref())
        )
    })
}
