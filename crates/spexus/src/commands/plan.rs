//! `spexus plan …`

use super::input;
use crate::failure::Outcome;
use crate::output::{Output, table};
use crate::session::Session;
use clap::Args;
use spexus_domain::plan::{PlanInput, PlannedItem};
use spexus_service::plan;

/// A specification to make a tree of.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// A Markdown file: # epic, ## story, ### requirement, lists of what must hold; - reads standard input
    file: String,
    /// The epic or story it goes into
    #[arg(long, value_name = "ID")]
    under: Option<String>,
    /// Tells what would be made, but keeps nothing
    #[arg(long)]
    dry_run: bool,
    /// What for; it is kept with the changes
    #[arg(long)]
    intent: Option<String>,
    /// Does it once, however often the command is run with this key
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(super) async fn run(session: &Session, output: Output, wanted: Plan) -> Outcome {
    let input = PlanInput {
        markdown: input::file("file", &wanted.file)?,
        under: wanted.under,
        project: session.project.clone(),
        dry_run: wanted.dry_run,
        intent: wanted.intent,
    };
    let key = wanted.idempotency_key.as_deref();
    let done = plan::import(&session.service, &session.caller, input, key).await?;
    output.show(&done, |done| {
        let row = |one: &PlannedItem| [one.line.to_string(), one.id.clone(), one.title.clone()];
        let rows = table(&done.items.iter().map(row).collect::<Vec<_>>());
        let kept = if done.dry_run {
            "\nnothing was kept: this was a trial"
        } else {
            ""
        };
        format!("{rows}{kept}")
    })
}
