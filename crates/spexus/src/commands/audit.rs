//! `spexus audit …`

use super::filters::footer;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::session::{Session, clock};
use clap::Subcommand;
use serde_json::json;
use spexus_domain::Timestamp;
use spexus_domain::account::length_seconds;
use spexus_domain::audit::{AuditEvent, EventFilter};
use spexus_domain::query::PageRequest;
use spexus_service::audit;
use spexus_store::chain::Verdict;

/// What can be audited.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Checks every link of the history; exit code 1 when it was tampered with
    Verify,
    /// Shows logins, failures and token use, newest first
    Log {
        /// Rows of the page, 1 to 200
        #[arg(long, value_name = "ROWS")]
        limit: Option<u32>,
        /// Where the page before ended
        #[arg(long)]
        cursor: Option<String>,
        /// Only what is called so, such as login_failed
        #[arg(long)]
        event: Option<String>,
        /// Only what this user did, or what was done to this user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// Not before this time, or not longer ago than a length such as 7d
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Before this time, or longer ago than a length such as 7d
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
    },
    /// Removes old events; that it was done stays
    Prune {
        /// From before this time, or longer ago than a length such as 365d
        #[arg(long, value_name = "TIME")]
        before: String,
    },
}

pub(super) async fn run(session: &Session, output: Output, command: &Command) -> Outcome {
    match command {
        Command::Verify => verify(session, output).await,
        Command::Log {
            limit,
            cursor,
            event,
            user,
            since,
            until,
        } => {
            let filter = EventFilter {
                event: event.clone(),
                user: user.clone(),
                since: since.as_deref().map(|text| ago("since", text)).transpose()?,
                until: until.as_deref().map(|text| ago("until", text)).transpose()?,
            };
            let page = PageRequest::new(*limit, cursor.clone())?;
            log(session, output, &filter, page).await
        }
        Command::Prune { before } => prune(session, output, ago("before", before)?).await,
    }
}

/// A time, or a length counted back from now.
fn ago(field: &str, text: &str) -> Outcome<Timestamp> {
    let now = clock()();
    match length_seconds(text) {
        Some(seconds) => Ok(now.plus_seconds(-seconds)),
        None => Ok(Timestamp::parse(field, text)?),
    }
}

async fn prune(session: &Session, output: Output, before: Timestamp) -> Outcome {
    let removed = audit::prune(&session.service, &session.caller, before).await?;
    output.show(&json!({"removed": removed, "before": before}), |_| {
        format!("Removed {removed} events from before {before}.")
    })
}

async fn verify(session: &Session, output: Output) -> Outcome {
    let verdict = audit::verify(&session.service, &session.caller).await?;
    output.show(&verdict, |verdict| match &verdict.fault {
        None => format!(
            "The history is whole: {} changes, head {}.{}",
            verdict.changes,
            verdict.head,
            earlier(verdict)
        ),
        Some(fault) => format!(
            "The history was tampered with at change {}: {}.",
            fault.seq, fault.problem
        ),
    })?;
    //= specs/spexus.md#exit-codes
    //# `audit verify` MUST end with 1 when the history was tampered with.
    match verdict.fault {
        None => Ok(()),
        Some(_) => Err(Failure::already_shown(1)),
    }
}

/// What is to be said of times that go back.
fn earlier(verdict: &Verdict) -> String {
    match verdict.earlier.first_seq {
        None => String::new(),
        Some(first) => format!(
            "\nThe clocks were not right: {} changes are told to have happened before the one in front of them, the first is {first}.",
            verdict.earlier.count
        ),
    }
}

async fn log(session: &Session, output: Output, filter: &EventFilter, page: PageRequest) -> Outcome {
    let found = audit::list(&session.service, &session.caller, filter, page).await?;
    output.show(&found, |found| {
        let row = |event: &AuditEvent| {
            [
                event.at.to_string(),
                event.event.clone(),
                event.username.clone(),
                event.address.clone(),
                event.client.clone(),
                event.target.clone(),
                event.detail.clone(),
                match event.times {
                    1 => String::new(),
                    times => format!("×{times}"),
                },
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
