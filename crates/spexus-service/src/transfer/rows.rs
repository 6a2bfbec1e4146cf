//! Rows of a sheet or a document as someone could have typed them: each makes an item or changes one, by the same rules
//! as everywhere. A name in the reference column that nothing has yet stands for what the row makes, and later rows can
//! use it.

use super::large::{self, Notes, Work};
use super::{Imported, Progress, all_refused, at_line};
use crate::Service;
use crate::context::Context;
use crate::item::update::{check_rev, update_in};
use crate::item::{create::create_in, placement::move_in};
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::batch::Locals;
use spexus_domain::item::{Item, ItemPatch, Move, NewItem};
use spexus_domain::permission::Operation;
use spexus_domain::workflow::Workflow;
use spexus_domain::{AnyId, Code, Kind, Reference, Refusal, Ruled, Uuid};
use spexus_store::scratch_copy::CopyExtent;
use spexus_store::staging::MAX_DIRECT_OPERATIONS;
use spexus_store::{Error, Result, Store, Tx, items, settings, transfer};
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;

/// Refused lines collected before an import gives up.
const MAX_REFUSED: usize = 1_000;

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
    let (some, rest) = first(rows);
    let size = some.len();
    let rows = some.into_iter().chain(rest);
    let (owned, named) = (caller.clone(), project.map(str::to_owned));
    let work: Work<Imported> = Box::new(move |tx, notes| {
        Box::pin(async move {
            let context = Context::in_one_project(&mut tx.conn, &owned, named.as_deref()).await?;
            notes.project = Some((context.project.id, context.project.key.clone()));
            let imported = apply_in(tx, context, rows, &progress, notes).await?;
            Ok(Imported { dry_run, ..imported })
        })
    });
    if size <= MAX_DIRECT_OPERATIONS {
        return large::direct(service, caller, dry_run, work).await;
    }
    let place = async {
        let mut conn = service.store.read().await?;
        Context::in_one_project(&mut conn, caller, project).await
    };
    let extent = CopyExtent::All(place.await?.project.id);
    let (mut imported, shown) = large::staged(service, caller, extent, dry_run, work).await?;
    for row in &mut imported.rows {
        row.reference_id = shown.shift.apply(&row.reference_id);
    }
    imported.warnings.extend(shown.warning());
    Ok(imported)
}

/// The first rows, one more than fit into one transaction, and the rest.
fn first(mut rows: Rows) -> (Vec<Ruled<Row>>, Rows) {
    let some = rows.by_ref().take(MAX_DIRECT_OPERATIONS + 1).collect();
    (some, rows)
}

async fn apply_in(
    tx: &mut Tx,
    context: Context,
    rows: impl Iterator<Item = Ruled<Row>>,
    progress: &Progress,
    notes: &mut Notes,
) -> Result<Imported> {
    let mut imported = Imported {
        project: context.project.key.clone(),
        ..Imported::default()
    };
    let mut applying = Applying {
        context,
        names: HashMap::new(),
        doubled: 0,
        workflows: HashMap::new(),
    };
    let mut refused: Vec<Refusal> = Vec::new();
    for row in rows {
        match applying.next(tx, row, notes).await {
            Ok(outcome) => {
                imported.count(outcome);
                progress(imported.rows.len() as u64);
            }
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
    //= specs/spexus.md#transfer
    //# An import that makes items which say the same as items that are there SHOULD warn that it may be the second one.
    if applying.doubled > 0 {
        imported.warnings.push(format!(
            "{} new items say the same as items that are there already. Was the file imported before? Reference ids in it \
             (an export has them) make an import change items instead of making them again.",
            applying.doubled
        ));
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
    /// New items without a reference id that say what another one says already.
    doubled: u64,
    workflows: HashMap<Kind, Workflow>,
}

impl Applying {
    //= specs/spexus.md#transfer
    //# An import that is refused MUST name every line at fault, also those that belong to a refused one.
    /// Applies a row. One that is refused leaves a substitute behind, so that what belongs to it is checked as well; an
    /// import with a refused row is undone as a whole, and the substitute with it.
    async fn next(&mut self, tx: &mut Tx, row: Ruled<Row>, notes: &mut Notes) -> Result<RowOutcome> {
        let row = row?;
        let (line, name) = (row.line, fold(&row.name));
        let named = Reference::parse(&row.name).and_then(|reference| reference.kind());
        let (kind, parent) = (row.kind.or(named), row.parent.clone());
        let refused = match self.row(tx, row, notes).await {
            Ok(outcome) => {
                notes.line(tx.seq(), line);
                return Ok(outcome);
            }
            Err(Error::Refused(refusal)) => refusal,
            Err(other) => return Err(other),
        };
        if let Some(kind) = kind
            && !name.is_empty()
            && !self.names.contains_key(&name)
            && refused.code != Code::EntityDuplicate
        {
            let parent = parent.map(|name| self.local(name));
            if let Some(id) = self.substitute(tx, kind, parent).await? {
                self.names.insert(name, id);
            }
        }
        Err(at_line(line, refused.into()))
    }

    /// An item of a kind that says nothing, in the container wanted or, where that cannot be, in a substitute of it.
    fn substitute<'a>(
        &'a mut self,
        tx: &'a mut Tx,
        kind: Kind,
        parent: Option<String>,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Uuid>>> + Send + 'a>> {
        Box::pin(async move {
            let rules = kind.rules();
            let input = |parent: Option<String>| NewItem {
                title: if rules.title_required { "…" } else { "" }.to_owned(),
                description: "…".to_owned(),
                parent,
                ..NewItem::default()
            };
            let locals = Locals::default();
            let made = create_in(tx, &self.context, &locals, kind, input(parent)).await;
            match (made, rules.parent) {
                (Ok(item), _) => Ok(Some(item.id)),
                (Err(Error::Refused(_)), Some(container)) => {
                    let Some(container) = self.substitute(tx, container, None).await? else {
                        return Ok(None);
                    };
                    let inside = input(Some(container.to_string()));
                    let made = create_in(tx, &self.context, &locals, kind, inside).await;
                    Ok(made.ok().map(|item| item.id))
                }
                (Err(Error::Refused(_)), None) => Ok(None),
                (Err(other), _) => Err(other),
            }
        })
    }

    async fn row(&mut self, tx: &mut Tx, mut row: Row, notes: &mut Notes) -> Result<RowOutcome> {
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
            Some(item) => {
                refuse_stale(notes.live.as_ref(), &item, &row).await?;
                self.change(tx, &item, row).await?
            }
            None => {
                if let Some(reference) = &reference {
                    notes.absent(reference.to_string(), line);
                }
                (RowAction::Created, self.make(tx, reference.as_ref(), row).await?)
            }
        };
        if action == RowAction::Unchanged {
            notes.unchanged(item.id, line);
        }
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
        if reference.is_none() && transfer::says_the_same(&mut tx.conn, &item).await? {
            self.doubled += 1;
        }
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

/// Refuses a stale revision by the history of the real database, which a scratch copy does not have.
async fn refuse_stale(live: Option<&Store>, item: &Item, row: &Row) -> Result<()> {
    match (live, row.patch.expect_rev) {
        (Some(live), Some(expected)) if expected != item.rev => {
            check_rev(&mut live.read().await?, item, Some(expected)).await
        }
        _ => Ok(()),
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
