//! Importing a specification in Markdown.

use super::items::project;
use super::spec::{Effect, Invocation, Spec, read, take};
use crate::Toolset;
use crate::render::Answer;
use crate::schema::{answer, flag, object, text};
use mcp_protocol::Arguments;
use serde_json::json;
use spexus_domain::Ruled;
use spexus_domain::permission::Operation;
use spexus_domain::plan::PlanInput;
use spexus_service::plan;

/// The tool of plans.
pub(super) fn tools() -> Vec<Spec> {
    vec![import_plan()]
}

fn import_plan() -> Spec {
    let description = "Makes a tree of a Markdown spec, all or nothing: # epic, ## story, ### requirement; list lines: WHEN … SHALL … is a criterion, … MUST … a requirement. Tells which line became what. Try dry_run first.";
    Spec::new("import_plan", "Import a plan", description, run)
        .does(Effect::Add, Operation::CreateItem)
        .set(Toolset::Agent)
        .lean()
        .takes(
            object([
                text("markdown", "").required(),
                text("under", "epic or story it goes into"),
                flag("dry_run", ""),
                text("intent", "what for"),
                text("idempotency_key", ""),
                project(),
            ]),
            answer(&[("items", "array"), ("dry_run", "boolean")]),
        )
        .long()
        .rest("All of it was made. get_context of an epic or story shows what it contains.")
}

async fn run(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let key = take(&mut arguments, "idempotency_key");
    let input: PlanInput = read(arguments)?;
    let done = plan::import(&invocation.service, &invocation.caller, input, key.as_deref()).await?;
    let count = done.items.len();
    let text = match done.dry_run {
        true => format!("{count} items would be made; nothing was kept."),
        false => format!("{count} items were made."),
    };
    let lines: Vec<String> = done
        .items
        .iter()
        .map(|one| format!("{}: {} {}", one.line, one.id, one.title))
        .collect();
    Ok(Answer::new(
        text,
        json!({ "dry_run": done.dry_run, "items": lines }),
    ))
}
