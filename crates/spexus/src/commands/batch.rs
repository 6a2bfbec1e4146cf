//! `spexus batch …`

use super::input;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table};
use crate::session::Session;
use clap::Args;
use serde_json::{Value, json};
use spexus_domain::batch::{BatchInput, Outcome as Done};
use spexus_service::batch;

/// Many operations in one transaction.
#[derive(Debug, Args)]
pub(crate) struct Batch {
    /// A JSON file, {"operations": […]} or the list alone; - reads standard input
    file: String,
    /// Tries everything and tells what would come of it, but keeps nothing
    #[arg(long)]
    dry_run: bool,
    /// Does it once, however often the command is run with this key
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

pub(super) async fn run(session: &Session, output: Output, wanted: &Batch) -> Outcome {
    let value: Value = input::json("file", &input::file("file", &wanted.file)?)?;
    let value = if value.is_array() {
        json!({"operations": value})
    } else {
        value
    };
    let mut input: BatchInput = input::json("file", &value.to_string())?;
    input.dry_run |= wanted.dry_run;
    input.project = match (session.project.clone(), input.project) {
        (Some(flag), Some(file)) if !flag.eq_ignore_ascii_case(&file) => {
            let problem = format!("is {flag:?}, but the file says {file:?}");
            return Err(Failure::argument("project", problem, "one of the two"));
        }
        (flag, file) => flag.or(file),
    };
    let key = wanted.idempotency_key.as_deref();
    let result = batch::run(&session.service, &session.caller, input, key).await?;
    output.show(&result, |result| {
        let row = |done: &Done| {
            [
                done.op.to_owned(),
                done.label.clone(),
                format!("revision {}", done.rev),
            ]
        };
        let rows = table(&result.results.iter().map(row).collect::<Vec<_>>());
        let kept = if result.dry_run {
            "\nnothing was kept: this was a trial"
        } else {
            ""
        };
        format!("{rows}{kept}")
    })
}
