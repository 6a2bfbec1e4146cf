//! Many changes at once, and what changed since.

use super::items::project as project_field;
use super::spec::{Effect, Invocation, Spec, read, take};
use super::structure::limit;
use crate::render::{Answer, change};
use crate::schema::{answer, field, flag, number, object, text};
use mcp_protocol::Arguments;
use serde_json::{Value, json};
use spexus_domain::batch::{BatchInput, OPERATIONS};
use spexus_domain::limits::MAX_BATCH_OPERATIONS;
use spexus_domain::permission::Operation;
use spexus_domain::{Kind, Ruled};
use spexus_service::{batch, changes};

/// The tools of batches and the feed.
pub(super) fn tools() -> Vec<Spec> {
    vec![apply_changes(), changes_since()]
}

fn apply_changes() -> Spec {
    let description = "Does many operations in one transaction, all or nothing. `ref` names what one makes; later ones use it as \"@name\" wherever an id goes: [{op:create,kind:epic,title:Login,ref:e},{op:create,kind:user_story,parent:@e,title:With a passkey}].";
    let operations =
        json!({ "type": "array", "items": operation(), "minItems": 1, "maxItems": MAX_BATCH_OPERATIONS });
    Spec::new("apply_changes", "Apply many changes", description, run_batch)
        .does(Effect::Remove, Operation::CreateItem)
        .lean()
        .takes(
            object([
                field("operations", operations).required(),
                flag("dry_run", "try and report, keep nothing"),
                text("intent", "what for; kept with the changes"),
                text("idempotency_key", "the same key applies once"),
                project_field(),
            ]),
            answer(&[("results", "array"), ("dry_run", "boolean")]),
        )
        .rest("All operations were carried out. list_relationships and list_comments give the ids of the others.")
}

/// What an operation may say. Which of it fits which operation is checked where it is understood.
//= specs/spexus-mcp.md#tools
//# The operations of `apply_changes` MUST be described by a schema with every field they take.
fn operation() -> Value {
    let text = json!({ "type": "string" });
    let clearable = json!({ "type": ["string", "null"] });
    let described = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object",
        "properties": {
            "op": described(&OPERATIONS.join("|")),
            "ref": text,
            "kind": described(&Kind::ALL.map(Kind::name).join("|")),
            "id": described("what to change; of unlink the link"),
            "parent": text,
            "title": text,
            "description": text,
            "status": text,
            "priority": { "type": ["integer", "string"] },
            "type": described("of a requirement or a link"),
            "acceptance_criterion": clearable,
            "assignee": clearable,
            "attributes": { "type": "object" },
            "expect_rev": { "type": "integer" },
            "intent": text,
            "after": text,
            "before": text,
            "source": text,
            "target": text,
            "content": described("of a comment"),
            "force": { "type": "boolean" },
            "project": text,
        },
        "required": ["op"],
    })
}

async fn run_batch(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let key = take(&mut arguments, "idempotency_key");
    let input: BatchInput = read(arguments)?;
    //= specs/spexus-mcp.md#tools
    //# A batch MUST be applied whole or not at all, once for each idempotency key.
    let done = batch::run(&invocation.service, &invocation.caller, input, key.as_deref()).await?;
    let text = match done.dry_run {
        true => format!(
            "{} operation(s) would be applied; nothing was kept.",
            done.results.len()
        ),
        false => format!("Applied {} operation(s).", done.results.len()),
    };
    let mut value = json!(done);
    // A UUID costs more tokens than the rest of a row; the label says what was made, except for comments and links.
    for result in value["results"].as_array_mut().into_iter().flatten() {
        if !matches!(result["op"].as_str(), Some("comment" | "link" | "unlink"))
            && let Some(fields) = result.as_object_mut()
        {
            fields.remove("id");
        }
    }
    Ok(Answer::new(text, value))
}

fn changes_since() -> Spec {
    let description = "Tells what changed in the project after a cursor, oldest first. Without one it gives the cursor of now.";
    Spec::new("changes_since", "Changes since", description, run_changes)
        .takes(
            object([
                text("since", "next_since of the last answer; 0 for everything"),
                number("limit", "1-200, default 50"),
                project_field(),
            ]),
            answer(&[
                ("changes", "array"),
                ("next_since", "string"),
                ("truncated", "boolean"),
            ]),
        )
        .rest("Ask again with since = next_since.")
}

async fn run_changes(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let project = arguments.text("project");
    let Some(since) = arguments.text("since") else {
        let now = changes::now(&invocation.service, &invocation.caller, project).await?;
        let text = format!("Now is {now}; ask again with since.");
        let value = json!({ "changes": [], "next_since": now, "truncated": false });
        return Ok(Answer::new(text, value));
    };
    let limit = limit(&arguments);
    let found = changes::since(&invocation.service, &invocation.caller, project, since, limit).await?;
    let next = found.last().map_or_else(|| since.to_owned(), changes::behind);
    let more = changes::since(&invocation.service, &invocation.caller, project, &next, Some(1)).await?;
    let truncated = !more.is_empty();
    let rows: Vec<Value> = found.iter().map(change).collect();
    let text = match truncated {
        true => format!("{} change(s); the rest with next_since as since.", rows.len()),
        false => format!("{} change(s).", rows.len()),
    };
    let value = json!({ "changes": rows, "next_since": next, "truncated": truncated });
    Ok(Answer::new(text, value))
}
