//! `spexus search …`

use super::filters::{Filters, footer};
use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Args;
use spexus_domain::search::Hit;
use spexus_service::search::{self, SearchQuery};

/// What to look for.
#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Words, beginnings of words, "phrases in quotes", or a reference id
    #[arg(allow_hyphen_values = true)]
    text: String,
    /// Kinds to look in, separated by commas
    #[arg(long)]
    kinds: Option<String>,
    #[command(flatten)]
    filters: Filters,
}

pub(super) async fn run(session: &Session, output: Output, wanted: Search) -> Outcome {
    let query = SearchQuery {
        query: wanted.text,
        kinds: wanted.kinds,
    };
    let filters = wanted.filters.query(session);
    let found = search::search(&session.service, &session.caller, &query, &filters).await?;
    output.show(&found, |found| {
        let row = |hit: &Hit| {
            let status = hit.status.clone().unwrap_or_default();
            [
                hit.reference_id.to_string(),
                status,
                hit.title.clone(),
                hit.snippet.clone(),
            ]
        };
        let rows: Vec<_> = found.data.iter().map(row).collect();
        format!(
            "{}{}",
            table(&rows),
            footer(rows.len(), found.total(), found.next_cursor.as_deref())
        )
    })
}
