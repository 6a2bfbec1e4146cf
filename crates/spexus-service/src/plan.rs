//! Importing a plan: a specification in Markdown becomes a tree, in one transaction.

use crate::context::{Context, reading};
use crate::{Service, batch};
use async_recursion::async_recursion as boxed;
use serde_json::{Map, Value, json};
use spexus_domain::account::Caller;
use spexus_domain::batch::BatchInput;
use spexus_domain::permission::Operation;
use spexus_domain::plan::{self, PlanInput, PlanNode, PlanResult, PlannedItem};
use spexus_domain::text::excerpt;
use spexus_domain::{Code, Kind, Refusal, Ruled};

/// How the text of what has no title begins in the answer.
const TITLE_CHARS: usize = 100;

/// Makes the tree a plan describes, or with `dry_run` tells what would be made.
//= specs/spexus-service.md#plans
//# A plan MUST be imported whole or not at all, and the answer MUST tell which item stands in which line; a trial MUST tell the same
//# and keep nothing.
#[boxed]
pub async fn import(
    service: &Service,
    caller: &Caller,
    input: PlanInput,
    key: Option<&str>,
) -> Ruled<PlanResult> {
    caller.may(Operation::CreateItem)?;
    let root = match &input.under {
        None => None,
        Some(id) => {
            let mut conn = reading(service, caller, Operation::Read).await?;
            let context = Context::of_read(service, &mut conn, caller, input.project.as_deref()).await?;
            let item = context.item(&mut conn, "under", id, None).await?;
            if !matches!(item.kind, Kind::Epic | Kind::UserStory) {
                let problem = format!("{} contains nothing", item.reference_id);
                let allowed = "an epic or a user story";
                return Err(Refusal::field(Code::InvalidParams, "under", problem, allowed));
            }
            Some((item.id.to_string(), item.kind))
        }
    };
    let nodes = plan::parse(&input.markdown, root.as_ref().map(|(_, kind)| *kind))?;
    let order = order(&nodes);
    let root = root.map(|(id, _)| id);
    let operations = order
        .iter()
        .map(|at| operation(&nodes, *at, root.as_deref()))
        .collect();
    let wanted = BatchInput {
        operations,
        dry_run: input.dry_run,
        project: input.project,
        intent: input.intent,
    };
    let done = batch::run(service, caller, wanted, key).await?;
    let made = order.iter().zip(done.results);
    let mut items: Vec<PlannedItem> = made
        .map(|(at, outcome)| {
            let node = &nodes[*at];
            let words = if node.title.is_empty() {
                &node.text
            } else {
                &node.title
            };
            PlannedItem {
                line: node.line,
                kind: node.kind,
                id: outcome.label,
                title: excerpt(words, TITLE_CHARS),
            }
        })
        .collect();
    items.sort_by_key(|item| item.line);
    Ok(PlanResult {
        dry_run: done.dry_run,
        items,
    })
}

/// The nodes in an order in which each finds what it speaks of: a criterion stands before the requirement that serves it.
fn order(nodes: &[PlanNode]) -> Vec<usize> {
    let rank = |at: &usize| match nodes[*at].kind {
        Kind::Epic => 0,
        Kind::UserStory => 1,
        Kind::AcceptanceCriterion => 2,
        Kind::Requirement | Kind::SteeringDocument => 3,
    };
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(rank);
    order
}

fn operation(nodes: &[PlanNode], at: usize, root: Option<&str>) -> Map<String, Value> {
    let node = &nodes[at];
    let name = |at: usize| format!("@line{}", nodes[at].line);
    let mut fields = Map::new();
    let mut put = |field: &str, value: Value| fields.insert(field.to_owned(), value);
    put("op", json!("create"));
    put("kind", json!(node.kind));
    put("ref", json!(name(at)));
    put("title", json!(node.title));
    put("description", json!(node.text));
    if node.kind.rules().parent.is_some() {
        let parent = node.parent.map(name).or_else(|| root.map(str::to_owned));
        put("parent", json!(parent));
    }
    if let Some(serves) = node.serves {
        put("acceptance_criterion", json!(name(serves)));
    }
    fields
}
