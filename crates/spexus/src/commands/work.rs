//! `spexus work …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use spexus_domain::lease::{ClaimedLease, Lease, NewLease};
use spexus_domain::query::Page;
use spexus_service::lease::{self, OfferedWork, WorkQuery};

/// What can be done about work.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tells what can be begun now, and what waits for what
    Next(Next),
    /// Holds an item for a while, so that no agent of others changes it; again to hold it longer
    Claim(ClaimItem),
    /// Lets go of an item, or hands it over
    Release(Release),
    /// Lists who works on what
    Leases,
}

/// Which work is looked for.
#[derive(Debug, Args)]
pub(crate) struct Next {
    /// requirement, user_story or epic; requirement when left out
    #[arg(long)]
    kind: Option<String>,
    /// Any id: only below this item
    #[arg(long, value_name = "ID")]
    under: Option<String>,
    /// How many at most, 1 to 50; 5 when left out
    #[arg(long, value_name = "ROWS")]
    limit: Option<i64>,
}

/// An item to hold.
#[derive(Debug, Args)]
pub(crate) struct ClaimItem {
    /// A UUID or a reference id
    id: String,
    /// How long, 1 to 240 minutes; 30 when left out
    #[arg(long)]
    minutes: Option<i64>,
    /// What for
    #[arg(long)]
    intent: Option<String>,
}

/// An item to let go of.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// A UUID or a reference id
    id: String,
    /// The user it is handed over to
    #[arg(long, value_name = "USER")]
    to: Option<String>,
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    match command {
        Command::Next(wanted) => {
            let query = WorkQuery {
                project: session.project.clone(),
                kind: wanted.kind,
                under: wanted.under,
                limit: wanted.limit,
            };
            output.show(&lease::next_work(service, caller, query).await?, next)
        }
        Command::Claim(wanted) => {
            let input = NewLease {
                minutes: wanted.minutes,
                intent: wanted.intent,
            };
            let done = lease::claim(service, caller, project, &wanted.id, input).await?;
            output.show(&done, claimed)
        }
        Command::Release(wanted) => {
            let to = wanted.to.as_deref();
            let done = lease::release(service, caller, project, &wanted.id, to).await?;
            output.show(&done, |done| match (done, to) {
                (None, _) => "Nobody held it.".to_owned(),
                (Some(lease), Some(_)) => format!("{} holds {} now.", lease.holder, lease.item),
                (Some(lease), None) => format!("{} is free.", lease.item),
            })
        }
        Command::Leases => {
            let found = Page::whole(lease::list(service, caller, project).await?);
            output.show(&found, |found| leases(&found.data))
        }
    }
}

fn next(work: &OfferedWork) -> String {
    let mut text = String::new();
    for one in &work.ready {
        text.push_str(&format!("{}\n  ready: {}\n", one.line, one.because));
    }
    for one in &work.waiting {
        text.push_str(&format!("{}\n  waits: {}\n", one.line, one.because));
    }
    if text.is_empty() {
        text.push_str("There is nothing to begin.\n");
    }
    text
}

fn claimed(claim: &ClaimedLease) -> String {
    let lease = &claim.lease;
    let mut text = format!(
        "{} is yours until {} (revision {}).\n",
        lease.item, lease.until, claim.rev
    );
    if let Some(before) = &claim.taken_from {
        text.push_str(&format!("It was {before}'s.\n"));
    }
    for warning in &claim.warnings {
        text.push_str(&format!("Take care: {warning}\n"));
    }
    text
}

fn leases(found: &[Lease]) -> String {
    let row = |lease: &Lease| {
        [
            lease.item.to_string(),
            lease.holder.clone(),
            lease.until.to_string(),
            lease.intent.clone(),
        ]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    table(&rows)
}
