//! `spexus baseline …`

use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Subcommand;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline};
use spexus_service::baseline;

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
        Command::Diff { from, to } => {
            let found = baseline::difference(service, caller, session.project(), &from, &to).await?;
            output.show(&found, |found| {
                found.data.iter().map(difference).collect::<Vec<_>>().join("\n")
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
