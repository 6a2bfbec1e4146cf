//! Rows of a sheet or a document as someone could have typed them: each makes an item or changes one, by the same rules
//! as everywhere. A name in the reference column that nothing has yet stands for what the row makes, and later rows can
//! use it.

use super::{Imported, Progress, all_refused, at_line};
use crate::context::Context;
use crate::item::{create::create_in, placement::move_in, update::update_in};
use crate::{Service, told};
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::batch::Locals;
use spexus_domain::item::{Item, ItemPatch, Move, NewItem};
use spexus_domain::permission::Operation;
use spexus_domain::workflow::Workflow;
use spexus_domain::{AnyId, Code, Kind, Reference, Refusal, Ruled, Uuid};
use spexus_store::{Actor, Error, Result, Tx, items, settings};
use std::collections::{HashMap, HashSet, VecDeque};

/// Refused lines collected before an import gives up.
const MAX_REFUSED: usize = 50;

/// One row, not yet checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Where it stands.
    pub(super) line: u64,
    /// A reference id, or a name for use in this file.
    pub(super) name: String,
    /// The kind, where the name does not tell it.
    pub(super) kind: Option<Kind>,
    /// What contains it; as it is when left out.
    pub(super) parent: Option<String>,
    /// What it shall be.
    pub(super) patch: ItemPatch,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowOutcome {
    /// Where it stands.
    pub line: u64,
    /// What was done.
    pub action: RowAction,
    /// The item.
    pub reference_id: Reference,
    /// Its title.
    pub title: String,
}

/// What was done with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowAction {
    /// An item was made.
    Created,
    /// An item was changed.
    Updated,
    /// The item was so already.
    Unchanged,
}

/// Where rows come from.
pub(super) type Rows = Box<dyn Iterator<Item = Ruled<Row>> + Send>;

/// Applies all rows, or none.
pub(super) async fn apply(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    rows: Rows,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Imported> {
    caller.may(Operation::CreateItem)?;
    caller.may(Operation::UpdateItem)?;
    let (caller, project) = (caller.clone(), project.map(str::to_owned));
    let job = service.store.write(Actor::from(&caller), move |tx| {
        Box::pin(async move {
            let context = Context::new(&mut tx.conn, &caller, project.as_deref()).await?;
            let imported = apply_in(tx, context, rows, &progress).await?;
            if dry_run {
                tx.discard();
            }
            Ok(Imported { dry_run, ..imported })
        })
    });
    job.await.map_err(told)
}

async fn apply_in(tx: &mut Tx, context: Context, rows: Rows, progress: &Progress) -> Result<Imported> {
    let mut imported = Imported {
        project: context.project.key.clone(),
        ..Imported::default()
    };
    let mut applying = Applying {
        context,
        names: HashMap::new(),
        refused: HashSet::new(),
        workflows: HashMap::new(),
    };
    let mut refused: Vec<Refusal> = Vec::new();
    for row in rows {
        match applying.next(tx, row).await {
            Ok(Some(outcome)) => {
                imported.count(outcome);
                progress(imported.rows.len() as u64);
            }
            Ok(None) => {}
            Err(Error::Refused(refusal)) => {
                // A database that refused a statement takes no more in this transaction.
                let last = refusal.code == Code::EntityDuplicate;
                refused.push(refusal);
                if last || refused.len() == MAX_REFUSED {
                    break;
                }
            }
            Err(other) => return Err(other),
        }
    }
    match all_refused(refused) {
        Some(refusal) => Err(refusal.into()),
        None => Ok(imported),
    }
}

impl Imported {
    fn count(&mut self, outcome: RowOutcome) {
        match outcome.action {
            RowAction::Created => self.created += 1,
            RowAction::Updated => self.updated += 1,
            RowAction::Unchanged => self.unchanged += 1,
        }
        self.rows.push(outcome);
    }
}

struct Applying {
    context: Context,
    names: HashMap<String, Uuid>,
    /// The names of rows that were refused; what belongs to them is not worth another complaint.
    refused: HashSet<String>,
    workflows: HashMap<Kind, Workflow>,
}

impl Applying {
    /// Applies a row; `None` when it is passed over because what it belongs to was refused.
    async fn next(&mut self, tx: &mut Tx, row: Ruled<Row>) -> Result<Option<RowOutcome>> {
        let row = row?;
        if self.belongs_to_refused(&row) {
            return Ok(None);
        }
        let (line, name) = (row.line, fold(&row.name));
        match self.row(tx, row).await {
            Ok(outcome) => Ok(Some(outcome)),
            Err(error) => {
                self.refused.insert(name);
                Err(at_line(line, error))
            }
        }
    }

    fn belongs_to_refused(&mut self, row: &Row) -> bool {
        let criterion = row.patch.acceptance_criterion.iter().flatten();
        let mut named = row.parent.iter().chain(criterion);
        let belongs = named.any(|name| self.refused.contains(&fold(name)));
        if belongs {
            self.refused.insert(fold(&row.name));
        }
        belongs
    }

    async fn row(&mut self, tx: &mut Tx, mut row: Row) -> Result<RowOutcome> {
        row.parent = row.parent.map(|name| self.local(name));
        row.patch.acceptance_criterion = row
            .patch
            .acceptance_criterion
            .map(|wanted| wanted.map(|name| self.local(name)));
        let reference = Reference::parse(&row.name);
        if let (Some(kind), Some(named)) = (row.kind, reference.as_ref().and_then(Reference::kind))
            && kind != named
        {
            let problem = format!("{} is not that of {}", row.name, kind.rules().label);
            return Err(Refusal::field(
                Code::InvalidParams,
                "reference_id",
                problem,
                "one that fits the kind",
            )
            .into());
        }
        let known = match reference.clone() {
            Some(reference) => {
                let id = AnyId::Reference {
                    project: None,
                    reference,
                };
                items::by_any_id(&mut tx.conn, self.context.project.id, &id).await?
            }
            None => None,
        };
        let name = fold(&row.name);
        let line = row.line;
        let (action, item) = match known {
            Some(item) => self.change(tx, &item, row).await?,
            None => (RowAction::Created, self.make(tx, reference.as_ref(), row).await?),
        };
        if !name.is_empty() && self.names.insert(name, item.id).is_some() {
            let problem = "stands twice in the file";
            return Err(
                Refusal::field(Code::InvalidParams, "reference_id", problem, "each item once").into(),
            );
        }
        Ok(RowOutcome {
            line,
            action,
            title: item.heading(),
            reference_id: item.reference_id,
        })
    }

    async fn change(&mut self, tx: &mut Tx, item: &Item, row: Row) -> Result<(RowAction, Item)> {
        let id = item.id.to_string();
        let locals = Locals::default();
        let mut changed = update_in(tx, &self.context, &locals, None, &id, row.patch).await?;
        if let Some(parent) = row.parent {
            let container = self.context.item(&mut tx.conn, "parent", &parent, None).await?;
            if changed.parent.as_ref().map(|present| present.id) != Some(container.id) {
                let to = Move {
                    parent: Some(parent),
                    ..Move::default()
                };
                changed = move_in(tx, &self.context, &locals, None, &id, to).await?;
            }
        }
        let action = if changed.rev == item.rev {
            RowAction::Unchanged
        } else {
            RowAction::Updated
        };
        Ok((action, changed))
    }

    async fn make(&mut self, tx: &mut Tx, reference: Option<&Reference>, row: Row) -> Result<Item> {
        let kind = row.kind.or_else(|| reference.and_then(Reference::kind));
        let Some(kind) = kind else {
            return Err(Refusal::field(
                Code::MissingRequiredField,
                "kind",
                "is missing",
                "the kind of the new item",
            )
            .into());
        };
        let steps = match &row.patch.status {
            Some(wanted) => self.steps(tx, kind, wanted).await?,
            None => vec![],
        };
        let patch = row.patch;
        let mut attributes = patch.attributes.unwrap_or_default();
        attributes.retain(|_, value| !value.is_null());
        let input = NewItem {
            project: None,
            title: patch.title.unwrap_or_default(),
            description: patch.description.unwrap_or_default(),
            parent: row.parent,
            status: steps.first().cloned(),
            priority: patch.priority,
            requirement_type: patch.requirement_type,
            acceptance_criterion: patch.acceptance_criterion.flatten(),
            assignee: patch.assignee.flatten(),
            attributes,
        };
        let mut item = create_in(tx, &self.context, &Locals::default(), kind, input).await?;
        for status in steps.into_iter().skip(1) {
            let step = ItemPatch {
                status: Some(status),
                ..ItemPatch::default()
            };
            item = update_in(
                tx,
                &self.context,
                &Locals::default(),
                None,
                &item.id.to_string(),
                step,
            )
            .await?;
        }
        Ok(item)
    }

    /// The statuses a new item goes through to stand where the row says, the first one included.
    async fn steps(&mut self, tx: &mut Tx, kind: Kind, wanted: &str) -> Result<Vec<String>> {
        if !self.workflows.contains_key(&kind)
            && let Some(workflow) = settings::workflow(&mut tx.conn, kind).await?
        {
            self.workflows.insert(kind, workflow);
        }
        let path = self
            .workflows
            .get(&kind)
            .and_then(|workflow| way(workflow, wanted));
        // Without a way the workflow itself says what is wrong.
        Ok(path.unwrap_or_else(|| vec![wanted.to_owned()]))
    }

    /// What an id of the file stands for: something made above, or what it says.
    fn local(&self, name: String) -> String {
        self.names.get(&fold(&name)).map_or(name, Uuid::to_string)
    }
}

/// References are the same with any number of zeros and in any letter case; so are names.
fn fold(name: &str) -> String {
    match Reference::parse(name) {
        Some(reference) => reference.to_string(),
        None => name.trim().to_lowercase(),
    }
}

/// The shortest way from a status items may start in.
fn way(workflow: &Workflow, wanted: &str) -> Option<Vec<String>> {
    let goal = workflow
        .statuses
        .iter()
        .find(|status| status.name.eq_ignore_ascii_case(wanted.trim()))?;
    let mut came_from: HashMap<&str, Option<&str>> = HashMap::new();
    let mut next: VecDeque<&str> = VecDeque::new();
    for status in workflow.statuses.iter().filter(|status| status.initial) {
        came_from.insert(&status.name, None);
        next.push_back(&status.name);
    }
    while let Some(at) = next.pop_front() {
        for step in workflow.transitions.iter().filter(|step| step.from == at) {
            if !came_from.contains_key(step.to.as_str()) {
                came_from.insert(&step.to, Some(at));
                next.push_back(&step.to);
            }
        }
    }
    let mut path = vec![goal.name.clone()];
    let mut at = *came_from.get(goal.name.as_str())?;
    while let Some(status) = at {
        path.push(status.to_owned());
        at = came_from.get(status).copied().flatten();
    }
    path.reverse();
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_item_walks_to_its_status() {
        let workflow = Workflow::shipped(Kind::Epic).unwrap();
        assert_eq!(
            way(&workflow, "done").unwrap(),
            ["Backlog", "In Progress", "Done"]
        );
        assert_eq!(way(&workflow, "Draft").unwrap(), ["Draft"]);
        assert_eq!(way(&workflow, "Nowhere"), None);
    }
}
