//! `spexus changes`: the feed.

use super::item::change;
use crate::failure::Outcome;
use crate::output::{Output, write};
use crate::session::Session;
use clap::Args;
use serde::Serialize;
use serde_json::json;
use spexus_domain::change::Change;
use spexus_domain::feed::ArrivedChange;
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
    /// Changes of all projects and of the installation itself, for administrators; its cursors are its own
    #[arg(long)]
    installation: bool,
    /// Goes on until interrupted; with --json one object on each line
    #[arg(long, conflicts_with = "limit")]
    follow: bool,
}

pub(super) async fn run(session: &Session, output: Output, wanted: &Changes) -> Outcome {
    let feed = match wanted.installation {
        true => Feed::Installation,
        false => Feed::Project,
    };
    if wanted.follow {
        return follow(session, feed, output, &wanted.since).await;
    }
    let limit = wanted.limit.unwrap_or(MAX_PAGE_ROWS);
    let found = feed.page(session, &wanted.since, limit).await?;
    let next = found
        .last()
        .map_or_else(|| wanted.since.clone(), |last| feed.behind(last));
    output.show(&json!({"data": found, "next_since": next}), |_| {
        let lines: Vec<String> = found.iter().map(|each| change(each.change())).collect();
        lines.join("\n")
    })
}

/// Whose changes are shown.
#[derive(Clone, Copy)]
enum Feed {
    Project,
    Installation,
}

/// A change as its feed tells it.
#[derive(Serialize)]
#[serde(untagged)]
enum FeedChange {
    OfProject(Change),
    OfAll(ArrivedChange),
}

impl FeedChange {
    fn change(&self) -> &Change {
        match self {
            FeedChange::OfProject(change) => change,
            FeedChange::OfAll(arrived) => &arrived.change,
        }
    }
}

impl Feed {
    async fn page(self, session: &Session, after: &str, limit: u32) -> Outcome<Vec<FeedChange>> {
        let (service, caller) = (&session.service, &session.caller);
        Ok(match self {
            Feed::Project => {
                let found = changes::since(service, caller, session.project(), after, Some(limit)).await?;
                found.into_iter().map(FeedChange::OfProject).collect()
            }
            Feed::Installation => {
                let found = changes::since_of_all(service, caller, after, Some(limit)).await?;
                found.into_iter().map(FeedChange::OfAll).collect()
            }
        })
    }

    fn behind(self, change: &FeedChange) -> String {
        match self {
            Feed::Project => changes::behind(change.change()),
            Feed::Installation => changes::behind_of_all(change.change()),
        }
    }
}

async fn follow(session: &Session, feed: Feed, output: Output, since: &str) -> Outcome {
    let mut heads = session.service.follow();
    let mut after = since.to_owned();
    loop {
        let found = feed.page(session, &after, MAX_PAGE_ROWS).await?;
        for each in &found {
            after = feed.behind(each);
            let line = match output.json {
                true => serde_json::to_string(each).map_err(std::io::Error::from)?,
                false => change(each.change()),
            };
            write(&line)?;
        }
        if found.is_empty() && heads.changed().await.is_err() {
            return Ok(());
        }
    }
}
