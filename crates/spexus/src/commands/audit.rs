//! `spexus audit …`

use super::filters::footer;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::session::Session;
use clap::Subcommand;
use spexus_domain::audit::Event;
use spexus_domain::query::PageRequest;
use spexus_service::audit;

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
    },
}

pub(super) async fn run(session: &Session, output: Output, command: &Command) -> Outcome {
    match command {
        Command::Verify => verify(session, output).await,
        Command::Log { limit, cursor } => {
            log(session, output, PageRequest::new(*limit, cursor.clone())?).await
        }
    }
}

async fn verify(session: &Session, output: Output) -> Outcome {
    let verdict = audit::verify(&session.service, &session.caller).await?;
    output.show(&verdict, |verdict| match &verdict.fault {
        None => format!(
            "The history is whole: {} changes, head {}.",
            verdict.changes, verdict.head
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
        Some(_) => Err(Failure::told(1)),
    }
}

async fn log(session: &Session, output: Output, page: PageRequest) -> Outcome {
    let found = audit::list(&session.service, &session.caller, page).await?;
    output.show(&found, |found| {
        let row = |event: &Event| {
            [
                event.at.to_string(),
                event.event.clone(),
                event.username.clone(),
                event.address.clone(),
                event.client.clone(),
                event.detail.clone(),
            ]
        };
        let rows: Vec<_> = found.data.iter().map(row).collect();
        format!(
            "{}{}",
            table(&rows),
            footer(rows.len(), found.total_count, found.next_cursor.as_deref())
        )
    })
}
