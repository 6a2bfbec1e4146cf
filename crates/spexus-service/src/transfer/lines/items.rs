//! The items of a file, checked as if someone made them, but written with the ids, numbers and times they bring.

use super::history::of_file;
use super::import::{Reader, refused};
use super::record::ItemRecord;
use crate::item::record;
use spexus_domain::change::Action;
use spexus_domain::item::{Item, NewItem, Pointer};
use spexus_domain::project::Project;
use spexus_domain::{Code, Kind, Reference, Refusal, Ruled, attribute, nearest};
use spexus_store::{Result, Tx, carry, items, settings};

impl Reader {
    pub(super) async fn item(&mut self, tx: &mut Tx, wanted: ItemRecord) -> Result<()> {
        let project = self.target()?.clone();
        let Some(kind) = wanted.reference_id.kind() else {
            return Err(refused("reference_id", "is not that of an item", "such as REQ-012").into());
        };
        let deletion = wanted.deletion();
        self.refuse_deleted(deletion)?;
        if deletion.is_some() && !self.carries() {
            self.left_out.0.insert(wanted.reference_id);
            self.read.items += 1;
            return Ok(());
        }
        check_fields(kind, &wanted)?;
        refuse_known_id(tx, &wanted).await?;
        if deletion.is_none() {
            attribute::check(&project.attributes, kind, &wanted.attributes)?;
        }
        let parent = self
            .parent(tx, &project, (kind, deletion.is_some()), wanted.parent.as_ref())
            .await?;
        let criterion = self
            .criterion(
                tx,
                &project,
                (wanted.acceptance_criterion.as_ref(), deletion.is_some()),
                parent.as_ref(),
            )
            .await?;
        let status = match deletion {
            // It had it when it was deleted, whatever the workflow is now.
            Some(_) => wanted.status,
            None => self.status(tx, kind, wanted.status).await?,
        };
        let requirement_type = self.requirement_type(tx, kind, wanted.requirement_type).await?;
        let creator = self.people.find(tx, "creator", &wanted.creator).await?;
        let assignee = match &wanted.assignee {
            Some(name) => Some(self.people.find(tx, "assignee", name).await?),
            None => None,
        };
        let number = wanted.reference_id.number();
        let last = self.counters.entry(kind.rules().prefix.to_owned()).or_default();
        *last = number.max(*last);
        let item = Item {
            content_hash: Item::hash(
                &wanted.title,
                &wanted.description,
                requirement_type.as_deref(),
                &wanted.attributes,
            ),
            id: wanted.id,
            reference_id: project.prefix().show(wanted.reference_id),
            project: project.key,
            project_id: project.id,
            kind,
            title: wanted.title,
            description: wanted.description,
            status,
            priority: wanted.priority,
            requirement_type,
            parent,
            acceptance_criterion: criterion,
            assignee,
            creator,
            position: wanted.position,
            attributes: wanted.attributes,
            rev: wanted.rev.max(1),
            created_at: wanted.created_at,
            updated_at: wanted.updated_at,
            deleted_at: None,
        };
        items::insert(tx, &item).await?;
        self.read.items += 1;
        match deletion {
            Some(deletion) => carry::mark_item_deleted(tx, &item, deletion).await?,
            None => self.living.items += 1,
        }
        match self.carries() {
            true => carry::note_line(tx, item.id, self.line).await,
            false => record(tx, Action::Created, None, &item).await,
        }
    }

    async fn parent(
        &mut self,
        tx: &mut Tx,
        project: &Project,
        (kind, is_deleted): (Kind, bool),
        wanted: Option<&Reference>,
    ) -> Result<Option<Pointer>> {
        kind.check_parent(wanted.and_then(Reference::kind))?;
        let Some(reference) = wanted else { return Ok(None) };
        let known = match &self.container {
            Some((last, known)) if last == reference => known.clone(),
            _ => of_file(&mut tx.conn, project, ("parent", is_deleted), reference).await?,
        };
        if !is_deleted {
            self.container = Some((reference.clone(), known.clone()));
        }
        Ok(Some(Pointer {
            id: known.id,
            reference_id: reference.clone().into(),
        }))
    }

    async fn criterion(
        &mut self,
        tx: &mut Tx,
        project: &Project,
        (wanted, is_deleted): (Option<&Reference>, bool),
        story: Option<&Pointer>,
    ) -> Result<Option<Pointer>> {
        let Some(reference) = wanted else { return Ok(None) };
        let field = ("acceptance_criterion", is_deleted);
        let found = of_file(&mut tx.conn, project, field, reference).await?;
        let fits = reference.kind() == Some(Kind::AcceptanceCriterion)
            && found.parent_id == story.map(|story| story.id);
        if !fits {
            let problem = format!("{reference} is no criterion of the same story");
            return Err(Refusal::field(
                Code::RuleViolated,
                "acceptance_criterion",
                problem,
                "a criterion of the same story",
            )
            .into());
        }
        Ok(Some(Pointer {
            id: found.id,
            reference_id: reference.clone().into(),
        }))
    }

    async fn status(&mut self, tx: &mut Tx, kind: Kind, wanted: Option<String>) -> Result<Option<String>> {
        if !kind.rules().has_status {
            return Ok(None);
        }
        if !self.workflows.contains_key(&kind)
            && let Some(workflow) = settings::workflow(&mut tx.conn, kind).await?
        {
            self.workflows.insert(kind, workflow);
        }
        let statuses = self
            .workflows
            .get(&kind)
            .map(|workflow| workflow.statuses.as_slice())
            .unwrap_or_default();
        let wanted = wanted.ok_or_else(|| {
            Refusal::field(
                Code::MissingRequiredField,
                "status",
                "is missing",
                "a status of its workflow",
            )
        })?;
        match nearest::find(statuses, |status| &status.name, &wanted) {
            Some(found) => Ok(Some(found.name.clone())),
            None => Err(nearest::miss(
                "status",
                &wanted,
                statuses.iter().map(|status| status.name.as_str()),
            )
            .into()),
        }
    }

    async fn requirement_type(
        &mut self,
        tx: &mut Tx,
        kind: Kind,
        wanted: Option<String>,
    ) -> Result<Option<String>> {
        if !kind.rules().has_type {
            return Ok(None);
        }
        if self.types.is_none() {
            let known = settings::requirement_types(&mut tx.conn).await?;
            self.types = Some(known.into_iter().map(|known| known.name).collect());
        }
        let known = self.types.as_deref().unwrap_or_default();
        let wanted = wanted.ok_or_else(|| {
            Refusal::field(
                Code::MissingRequiredField,
                "type",
                "is missing",
                "a requirement type",
            )
        })?;
        match nearest::find(known, |name| name, &wanted) {
            Some(found) => Ok(Some(found.clone())),
            None => Err(nearest::miss("type", &wanted, known.iter().map(String::as_str)).into()),
        }
    }
}

async fn refuse_known_id(tx: &mut Tx, wanted: &ItemRecord) -> Result<()> {
    match items::by_id(&mut tx.conn, wanted.id).await? {
        None => Ok(()),
        Some(other) => {
            let problem = format!(
                "{} is {} of the project {:?} already",
                wanted.id, other.reference_id, other.project
            );
            Err(Refusal::field(Code::EntityDuplicate, "id", problem, "an id nothing has").into())
        }
    }
}

/// The same rules as for an item someone makes.
fn check_fields(kind: Kind, wanted: &ItemRecord) -> Ruled<()> {
    let as_new = NewItem {
        title: wanted.title.clone(),
        description: wanted.description.clone(),
        status: wanted.status.clone(),
        priority: wanted.priority,
        requirement_type: wanted.requirement_type.clone(),
        acceptance_criterion: wanted.acceptance_criterion.as_ref().map(ToString::to_string),
        assignee: wanted.assignee.clone(),
        ..NewItem::default()
    };
    as_new.check(kind)?;
    if kind.rules().has_priority && wanted.priority.is_none() {
        return Err(Refusal::field(
            Code::MissingRequiredField,
            "priority",
            "is missing",
            "1 to 4",
        ));
    }
    Ok(())
}
