//! `spexus baseline …`

use super::filters::footer;
use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Subcommand;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline};
use spexus_service::baseline::{self, DiffQuery};

/// What can be done with baselines.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Names the present end of the history
    Create {
        /// Its name
        name: String,
        /// What it stands for
        #[arg(long, default_value = "", allow_hyphen_values = true)]
        description: String,
    },
    /// Lists the baselines of a project
    List,
    /// Shows what differs between two baselines
    Diff {
        /// The earlier one
        from: String,
        /// The later one
        #[arg(default_value = "now")]
        to: String,
        /// Rows of the page, 1 to 200
        #[arg(long, value_name = "ROWS")]
        limit: Option<u32>,
        /// Where the page before ended
        #[arg(long)]
        cursor: Option<String>,
        /// Counts to the end, whatever it costs; else the total of a long difference may be a lower bound
        #[arg(long)]
        count: bool,
    },
}

pub(super) async fn run(session: &Session, output: Output, command: Command) -> Outcome {
    let (service, caller) = (&session.service, &session.caller);
    match command {
        Command::Create { name, description } => {
            let input = NewBaseline {
                name,
                description,
                project: session.project.clone(),
            };
            let made = baseline::create(service, caller, input).await?;
            output.show(&made, |made| row(made).join("  "))
        }
        Command::List => {
            let all = baseline::list(service, caller, session.project()).await?;
            output.show(&all, |all| table(&all.data.iter().map(row).collect::<Vec<_>>()))
        }
        Command::Diff {
            from,
            to,
            limit,
            cursor,
            count,
        } => {
            let query = DiffQuery {
                project: session.project.clone(),
                from,
                to: Some(to),
                limit,
                cursor,
                count: count.then(|| "exact".to_owned()),
            };
            let found = baseline::difference(service, caller, &query).await?;
            output.show(&found, |found| {
                let lines: Vec<String> = found.data.iter().map(difference).collect();
                let footer = footer(lines.len(), found.total(), found.next_cursor.as_deref());
                format!("{}{footer}", lines.join("\n"))
            })
        }
    }
}

fn row(baseline: &Baseline) -> [String; 4] {
    [
        baseline.name.clone(),
        format!("at change {}", baseline.seq),
        baseline.created_at.to_string(),
        baseline.created_by.clone(),
    ]
}

fn difference(item: &ItemDifference) -> String {
    let kind = serde_json::to_value(item.difference).unwrap_or_default();
    let mut text = format!(
        "{:8} {}  {}",
        kind.as_str().unwrap_or_default(),
        item.reference_id,
        item.title
    );
    for field in &item.fields {
        let side = |value: &Option<serde_json::Value>| {
            value
                .as_ref()
                .map_or_else(|| "nothing".to_owned(), ToString::to_string)
        };
        text.push_str(&format!(
            "\n    {}: {} → {}",
            field.field,
            side(&field.before),
            side(&field.after)
        ));
    }
    text
}
