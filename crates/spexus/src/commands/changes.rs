//! `spexus changes`: the feed.

use super::item::change;
use crate::failure::Outcome;
use crate::output::{Output, write};
use crate::session::Session;
use clap::Args;
use serde_json::json;
use spexus_domain::change::Change;
use spexus_domain::limits::MAX_PAGE_ROWS;
use spexus_service::changes;

/// What happened, oldest first.
#[derive(Debug, Args)]
pub(crate) struct Changes {
    /// Only changes after this cursor: `next_since` of an earlier answer; 0 for everything
    #[arg(long, value_name = "CURSOR", default_value = changes::START)]
    since: String,
    /// Changes shown, 1 to 200
    #[arg(long, value_name = "ROWS")]
    limit: Option<u32>,
    /// Goes on until interrupted; with --json one object on each line
    #[arg(long, conflicts_with = "limit")]
    follow: bool,
}

pub(super) async fn run(session: &Session, output: Output, wanted: &Changes) -> Outcome {
    if wanted.follow {
        return follow(session, output, &wanted.since).await;
    }
    let limit = Some(wanted.limit.unwrap_or(MAX_PAGE_ROWS));
    let found = changes::since(
        &session.service,
        &session.caller,
        session.project(),
        &wanted.since,
        limit,
    )
    .await?;
    let next = found.last().map_or_else(|| wanted.since.clone(), changes::behind);
    output.show(&json!({"data": found, "next_since": next}), |_| {
        let lines: Vec<String> = found.iter().map(change).collect();
        lines.join("\n")
    })
}

async fn follow(session: &Session, output: Output, since: &str) -> Outcome {
    let mut heads = session.service.follow();
    let mut after = since.to_owned();
    loop {
        let found = page(session, &after).await?;
        for each in &found {
            after = changes::behind(each);
            let line = match output.json {
                true => serde_json::to_string(each).map_err(std::io::Error::from)?,
                false => change(each),
            };
            write(&line)?;
        }
        if found.is_empty() && heads.changed().await.is_err() {
            return Ok(());
        }
    }
}

async fn page(session: &Session, after: &str) -> Outcome<Vec<Change>> {
    let limit = Some(MAX_PAGE_ROWS);
    Ok(changes::since(&session.service, &session.caller, session.project(), after, limit).await?)
}
