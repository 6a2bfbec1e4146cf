//! Rows of a sheet or a document as someone could have typed them: each makes an item or changes one, by the same rules
//! as everywhere. A name in the reference column that nothing has yet stands for what the row makes, and later rows can
//! use it.

use super::large::{self, ImportJob, Notes};
use super::status_path::status_path;
use super::{Imported, Progress, all_refused, refused_at};
use crate::Service;
use crate::context::{Context, project_of};
use crate::item;
use crate::item::update::check_rev;
use crate::link;
use serde::Serialize;
use spexus_domain::account::Caller;
use spexus_domain::item::{Item, ItemPatch, Move, NewItem};
use spexus_domain::link::NewLink;
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::workflow::Workflow;
use spexus_domain::{AnyId, Code, Kind, Reference, Refusal, Ruled, ShownReference, Uuid};
use spexus_store::scratch_copy::CopyExtent;
use spexus_store::staging::MAX_DIRECT_OPERATIONS;
use spexus_store::{Store, changes, items, settings, transfer};
use std::collections::HashMap;
use std::pin::Pin;

/// Refused lines told of an import; it gives up at the next one.
pub(super) const MAX_REFUSED: usize = 1_000;

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

/// A link between two rows, by the names they have in the file.
#[derive(Clone, Debug)]
pub(super) struct RowLink {
    /// Where it stands.
    pub(super) line: u64,
    /// The name of the row it begins at.
    pub(super) source: String,
    /// The name of the row it ends at.
    pub(super) target: String,
    /// The name of its type.
    pub(super) link_type: String,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowOutcome {
    /// Where it stands.
    pub line: u64,
    /// What was done.
    pub action: RowAction,
    /// The item.
    pub reference_id: ShownReference,
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
    links: Vec<RowLink>,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Imported> {
    caller.may(Operation::CreateItem)?;
    caller.may(Operation::UpdateItem)?;
    let (some, rest) = first(rows);
    let size = some.len() + links.len();
    let rows = some.into_iter().chain(rest);
    let (owned, named) = (caller.clone(), project.map(str::to_owned));
    let work: ImportJob<Imported> = Box::new(move |service, notes| {
        Box::pin(async move {
            let applying = Applying::begin(service, &owned, named.as_deref(), notes).await?;
            let (imported, notes) = applying.all(rows, links, &progress).await?;
            Ok((Imported { dry_run, ..imported }, notes))
        })
    });
    if size <= MAX_DIRECT_OPERATIONS {
        return large::direct(service, caller, dry_run, work).await;
    }
    let place = project_of(
        &mut service.store.read().await?,
        caller,
        Operation::CreateItem,
        project,
    )
    .await?;
    let extent = CopyExtent::All(place.id);
    let (mut imported, shown) = large::staged(service, caller, extent, dry_run, work).await?;
    for row in &mut imported.rows {
        let moved = shown.shift.apply(row.reference_id.plain());
        row.reference_id = row.reference_id.prefix().show(moved);
    }
    imported.warnings.extend(shown.warning());
    Ok(imported)
}

/// The first rows, one more than fit into one transaction, and the rest.
fn first(mut rows: Rows) -> (Vec<Ruled<Row>>, Rows) {
    let some = rows.by_ref().take(MAX_DIRECT_OPERATIONS + 1).collect();
    (some, rows)
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

/// An import inside its transaction.
struct Applying {
    service: Service,
    context: Context,
    project: Project,
    notes: Notes,
    names: HashMap<String, Uuid>,
    /// New items without a reference id that say what another one says already.
    doubled: u64,
    workflows: HashMap<Kind, Workflow>,
}

impl Applying {
    async fn begin(
        service: Service,
        caller: &Caller,
        project: Option<&str>,
        mut notes: Notes,
    ) -> Ruled<Self> {
        let operation = Operation::CreateItem;
        let (context, project) = {
            let mut conn = service.store.read().await?;
            let place = project_of(&mut conn, caller, operation, project).await?;
            (
                Context::new(&mut conn, caller, operation, Some(&place.key)).await?,
                place,
            )
        };
        notes.project = Some((project.id, project.key.clone()));
        Ok(Self {
            service,
            context,
            project,
            notes,
            names: HashMap::new(),
            doubled: 0,
            workflows: HashMap::new(),
        })
    }

    async fn all(
        mut self,
        rows: impl Iterator<Item = Ruled<Row>>,
        links: Vec<RowLink>,
        progress: &Progress,
    ) -> Ruled<(Imported, Notes)> {
        let mut imported = Imported {
            project: self.project.key.clone(),
            ..Imported::default()
        };
        let mut refused: Vec<Refusal> = Vec::new();
        for row in rows {
            match self.next(row).await {
                Ok(outcome) => {
                    imported.count(outcome);
                    progress(imported.rows.len() as u64);
                }
                Err(failure) if is_failure(&failure) => return Err(failure),
                Err(refusal) => {
                    refused.push(refusal);
                    if refused.len() > MAX_REFUSED {
                        break;
                    }
                }
            }
        }
        //= specs/spexus.md#transfer
        //# An import that makes items which say the same as items that are there SHOULD warn that it may be the second one.
        if self.doubled > 0 {
            imported.warnings.push(format!(
                "{} new items say the same as items that are there already. Was the file imported before? Reference ids in it \
                 (an export has them) make an import change items instead of making them again.",
                self.doubled
            ));
        }
        if let Some(refusal) = all_refused(refused) {
            return Err(refusal);
        }
        for link in links {
            self.link(link, &mut imported).await?;
        }
        Ok((imported, self.notes))
    }

    /// Makes a link that is not there yet; one the rules do not allow is told and left out.
    async fn link(&mut self, wanted: RowLink, imported: &mut Imported) -> Ruled<()> {
        let input = NewLink {
            source: self.local(wanted.source),
            target: self.local(wanted.target),
            link_type: wanted.link_type,
        };
        let (caller, project) = (&self.context.caller, &self.project.key);
        match link::create(&self.service, caller, Some(project), input).await {
            Ok(_) => {
                imported.links += 1;
                self.note_end(wanted.line).await
            }
            Err(failure) if is_failure(&failure) => Err(failure),
            Err(refusal) if refusal.code == Code::EntityDuplicate => Ok(()),
            Err(refusal) => {
                let why = format!("line {}: a link was left out: {}", wanted.line, refusal.message);
                imported.warnings.push(why);
                Ok(())
            }
        }
    }

    //= specs/spexus.md#transfer
    //# An import that is refused MUST name every line at fault, also those that belong to a refused one.
    /// Applies a row. One that is refused leaves a substitute behind, so that what belongs to it is checked as well; an
    /// import with a refused row is undone as a whole, and the substitute with it.
    async fn next(&mut self, row: Ruled<Row>) -> Ruled<RowOutcome> {
        let row = row?;
        let (line, name) = (row.line, self.fold(&row.name));
        let named = self.reference(&row.name).and_then(|reference| reference.kind());
        let (kind, parent) = (row.kind.or(named), row.parent.clone());
        let refused = match self.row(row).await {
            Ok(outcome) => {
                self.note_end(line).await?;
                return Ok(outcome);
            }
            Err(failure) if is_failure(&failure) => return Err(failure),
            Err(refused) => refused,
        };
        if let Some(kind) = kind
            && !name.is_empty()
            && !self.names.contains_key(&name)
            && refused.code != Code::EntityDuplicate
        {
            let parent = parent.map(|name| self.local(name));
            if let Some(id) = self.substitute(kind, parent).await? {
                self.names.insert(name, id);
            }
        }
        Err(refused_at(line, refused))
    }

    /// Notes with which change a line ended, where everything is shown later.
    async fn note_end(&mut self, line: u64) -> Ruled<()> {
        if self.notes.live.is_some() {
            let seq = changes::head(&mut self.service.store.read().await?).await?;
            self.notes.line(seq, line);
        }
        Ok(())
    }

    /// An item of a kind that says nothing, in the container wanted or, where that cannot be, in a substitute of it.
    fn substitute(
        &mut self,
        kind: Kind,
        parent: Option<String>,
    ) -> Pin<Box<dyn Future<Output = Ruled<Option<Uuid>>> + Send + '_>> {
        Box::pin(async move {
            let rules = kind.rules();
            let input = |parent: Option<String>| NewItem {
                title: if rules.title_required { "…" } else { "" }.to_owned(),
                description: "…".to_owned(),
                parent,
                ..NewItem::default()
            };
            let made = self.create(kind, input(parent)).await;
            match (made, rules.parent) {
                (Ok(item), _) => Ok(Some(item.id)),
                (Err(failure), _) if is_failure(&failure) => Err(failure),
                (Err(_), Some(container)) => {
                    let Some(container) = self.substitute(container, None).await? else {
                        return Ok(None);
                    };
                    let made = self.create(kind, input(Some(container.to_string()))).await;
                    Ok(made.ok().map(|item| item.id))
                }
                (Err(_), None) => Ok(None),
            }
        })
    }

    async fn create(&self, kind: Kind, input: NewItem) -> Ruled<Item> {
        let input = NewItem {
            project: Some(self.project.key.clone()),
            ..input
        };
        item::create(&self.service, &self.context.caller, kind, input, None).await
    }

    async fn update(&self, id: &str, patch: ItemPatch) -> Ruled<Item> {
        let (caller, project) = (&self.context.caller, &self.project.key);
        item::update(&self.service, caller, Some(project), None, id, patch).await
    }

    async fn row(&mut self, mut row: Row) -> Ruled<RowOutcome> {
        row.parent = row.parent.map(|name| self.local(name));
        row.patch.acceptance_criterion = row
            .patch
            .acceptance_criterion
            .map(|wanted| wanted.map(|name| self.local(name)));
        let reference = self.reference(&row.name);
        if let (Some(kind), Some(named)) = (row.kind, reference.as_ref().and_then(Reference::kind))
            && kind != named
        {
            let problem = format!("{} is not that of {}", row.name, kind.rules().label);
            return Err(Refusal::field(
                Code::InvalidParams,
                "reference_id",
                problem,
                "one that fits the kind",
            ));
        }
        let known = self.known(reference.as_ref()).await?;
        let name = self.fold(&row.name);
        let line = row.line;
        let (action, item) = match known {
            Some(item) => {
                refuse_stale(self.notes.live.as_ref(), &item, &row).await?;
                self.change(&item, row).await?
            }
            None => {
                if let Some(reference) = &reference {
                    self.notes.absent(reference.to_string(), line);
                }
                (RowAction::Created, self.make(reference.as_ref(), row).await?)
            }
        };
        if action == RowAction::Unchanged {
            self.notes.unchanged(item.id, line);
        }
        if !name.is_empty() && self.names.insert(name, item.id).is_some() {
            let problem = "stands twice in the file";
            return Err(Refusal::field(
                Code::InvalidParams,
                "reference_id",
                problem,
                "each item once",
            ));
        }
        Ok(RowOutcome {
            line,
            action,
            title: item.heading(),
            reference_id: item.reference_id,
        })
    }

    /// The item that has a reference id already.
    async fn known(&self, reference: Option<&Reference>) -> Ruled<Option<Item>> {
        let Some(reference) = reference else {
            return Ok(None);
        };
        let id = AnyId::Reference {
            project: None,
            reference: reference.clone(),
        };
        let mut conn = self.service.store.read().await?;
        Ok(items::by_any_id(&mut conn, self.project.id, &id).await?)
    }

    async fn change(&mut self, item: &Item, row: Row) -> Ruled<(RowAction, Item)> {
        let id = item.id.to_string();
        let mut changed = self.update(&id, row.patch).await?;
        if let Some(parent) = row.parent {
            let container = {
                let mut conn = self.service.store.read().await?;
                self.context.item(&mut conn, "parent", &parent, None).await?
            };
            if changed.parent.as_ref().map(|present| present.id) != Some(container.id) {
                let to = Move {
                    parent: Some(parent),
                    ..Move::default()
                };
                let (caller, project) = (&self.context.caller, &self.project.key);
                changed = item::move_to(&self.service, caller, Some(project), None, &id, to).await?;
            }
        }
        let action = if changed.rev == item.rev {
            RowAction::Unchanged
        } else {
            RowAction::Updated
        };
        Ok((action, changed))
    }

    async fn make(&mut self, reference: Option<&Reference>, row: Row) -> Ruled<Item> {
        let kind = row.kind.or_else(|| reference.and_then(Reference::kind));
        let Some(kind) = kind else {
            return Err(Refusal::field(
                Code::MissingRequiredField,
                "kind",
                "is missing",
                "the kind of the new item",
            ));
        };
        let steps = match &row.patch.status {
            Some(wanted) => self.steps(kind, wanted).await?,
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
            intent: None,
        };
        let mut item = self.create(kind, input).await?;
        if reference.is_none() && self.is_doubled(&item).await? {
            self.doubled += 1;
        }
        for status in steps.into_iter().skip(1) {
            let step = ItemPatch {
                status: Some(status),
                expect_rev: Some(item.rev),
                ..ItemPatch::default()
            };
            item = self.update(&item.id.to_string(), step).await?;
        }
        Ok(item)
    }

    async fn is_doubled(&self, item: &Item) -> Ruled<bool> {
        let mut conn = self.service.store.read().await?;
        Ok(transfer::says_the_same(&mut conn, item).await?)
    }

    /// The statuses a new item goes through to stand where the row says, the first one included.
    async fn steps(&mut self, kind: Kind, wanted: &str) -> Ruled<Vec<String>> {
        if !self.workflows.contains_key(&kind) {
            let mut conn = self.service.store.read().await?;
            if let Some(workflow) = settings::workflow(&mut conn, kind).await? {
                self.workflows.insert(kind, workflow);
            }
        }
        let path = self
            .workflows
            .get(&kind)
            .and_then(|workflow| status_path(workflow, wanted));
        // Without a way the workflow itself says what is wrong.
        Ok(path.unwrap_or_else(|| vec![wanted.to_owned()]))
    }

    /// The reference a name is, be it with the key of this project before it. That of another is a name like any other.
    fn reference(&self, name: &str) -> Option<Reference> {
        match AnyId::parse("reference_id", name) {
            Ok(AnyId::Reference { project, reference })
                if project.as_ref().is_none_or(|key| *key == self.project.key) =>
            {
                Some(reference)
            }
            _ => None,
        }
    }

    /// References are the same with any number of zeros, in any letter case and with the key of their project before them in either
    /// form; names are so in any letter case.
    fn fold(&self, name: &str) -> String {
        match (self.reference(name), AnyId::parse("reference_id", name)) {
            (Some(reference), _) => reference.to_string(),
            (None, Ok(id @ AnyId::Reference { .. })) => id.to_string(),
            (None, _) => name.trim().to_lowercase(),
        }
    }

    /// What an id of the file stands for: something made above, or what it says.
    fn local(&self, name: String) -> String {
        self.names.get(&self.fold(&name)).map_or(name, Uuid::to_string)
    }
}

/// Whether it is no fault of the line, so that looking at the next makes no sense.
fn is_failure(refusal: &Refusal) -> bool {
    refusal.code.http_status() >= 500
}

/// Refuses a stale revision by the history of the real database, which a scratch copy does not have.
async fn refuse_stale(live: Option<&Store>, item: &Item, row: &Row) -> Ruled<()> {
    match (live, row.patch.expect_rev) {
        (Some(live), Some(expected)) if expected != item.rev => {
            Ok(check_rev(&mut live.read().await?, item, Some(expected)).await?)
        }
        _ => Ok(()),
    }
}
