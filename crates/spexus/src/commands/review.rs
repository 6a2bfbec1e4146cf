//! `spexus review …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::{Args, Subcommand};
use spexus_domain::review::{NewReview, NewVerdict, Review, ReviewPatch, ReviewedItem, Reviewer, Verdict};
use spexus_service::review::{self, ReviewQuery};

/// What can be done with reviews.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Asks people and agents about items as they stand
    Ask(Ask),
    /// Lists reviews, the newest first
    List {
        /// open, approved, rejected or closed
        #[arg(long)]
        state: Option<String>,
        /// Only those that wait for you
        #[arg(long)]
        mine: bool,
    },
    /// Shows a review
    Show {
        /// Its number
        number: i64,
    },
    /// Says yes to a review you are asked for
    Approve(Decision),
    /// Says no to a review you are asked for
    Reject(Decision),
    /// Asks everybody again, about the items as they are now
    Again {
        /// Its number
        number: i64,
    },
    /// Takes a review back
    Close {
        /// Its number
        number: i64,
    },
}

/// What is asked.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// What it is about
    title: String,
    /// Any id: an item that is asked about; several times for several
    #[arg(long = "item", value_name = "ID")]
    items: Vec<String>,
    /// Everything that differs from this baseline
    #[arg(long, value_name = "NAME")]
    since: Option<String>,
    /// Who is asked; several times for several
    #[arg(long = "reviewer", value_name = "USER", required = true)]
    reviewers: Vec<String>,
    /// What is asked
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    description: String,
}

/// What is said.
#[derive(Debug, Args)]
pub(crate) struct Decision {
    /// The number of the review
    number: i64,
    /// Why; needed to reject
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    reason: String,
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    let (service, caller, project) = (&session.service, &session.caller, session.project());
    let done = match command {
        Command::List { state, mine } => {
            let query = ReviewQuery {
                project: session.project.clone(),
                state,
                asks_me: mine,
            };
            let found = review::list(service, caller, &query).await?;
            return output.show(&found, |found| {
                table(&found.data.iter().map(row).collect::<Vec<_>>())
            });
        }
        Command::Ask(wanted) => {
            let input = NewReview {
                title: wanted.title,
                description: wanted.description,
                items: wanted.items,
                baseline: wanted.since,
                reviewers: wanted.reviewers,
                project: session.project.clone(),
            };
            review::create(service, caller, input).await?
        }
        Command::Show { number } => review::get(service, caller, project, number).await?,
        Command::Approve(said) => decide(session, said, Verdict::Approved).await?,
        Command::Reject(said) => decide(session, said, Verdict::Rejected).await?,
        Command::Again { number } => {
            let patch = ReviewPatch {
                ask_again: true,
                ..ReviewPatch::default()
            };
            review::update(service, caller, project, number, patch).await?
        }
        Command::Close { number } => {
            let patch = ReviewPatch {
                close: true,
                ..ReviewPatch::default()
            };
            review::update(service, caller, project, number, patch).await?
        }
    };
    output.show(&done, shown)
}

async fn decide(session: &Session, said: Decision, verdict: Verdict) -> Outcome<Review> {
    let input = NewVerdict {
        verdict: verdict.name().to_owned(),
        reason: said.reason,
        expect_rev: None,
    };
    let (service, caller) = (&session.service, &session.caller);
    Ok(review::decide(service, caller, session.project(), said.number, input).await?)
}

fn row(review: &Review) -> [String; 5] {
    [
        review.number.to_string(),
        review.state.name().to_owned(),
        review.title.clone(),
        format!("{} item(s)", review.items.len()),
        format!("asked by {}", review.created_by),
    ]
}

fn shown(review: &Review) -> String {
    let mut lines = vec![row(review).join("  ")];
    lines.extend(review.items.iter().map(item));
    lines.extend(review.reviewers.iter().map(reviewer));
    lines.join("\n")
}

fn item(item: &ReviewedItem) -> String {
    let changed = match item.is_as_asked {
        true => String::new(),
        false => format!("; changed since, now revision {}", item.current_rev),
    };
    let title = &item.title;
    format!("  {} {title} (revision {}{changed})", item.reference_id, item.rev)
}

fn reviewer(person: &Reviewer) -> String {
    let said = person.verdict.map_or("asked", Verdict::name);
    match person.reason.is_empty() {
        true => format!("  {}: {said}", person.username),
        false => format!("  {}: {said}, {}", person.username, person.reason),
    }
}
