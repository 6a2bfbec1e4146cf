//! Reading a project from JSON lines, with the ids, numbers, times and names it brings.

use super::record::{CommentRecord, Header, ItemRecord, LinkRecord, ProjectRecord, Record, Totals};
use super::settings::Taking;
use super::{MAX_LINE_BYTES, VERSION};
use crate::context::NO_PROJECT;
use crate::item::record;
use crate::transfer::people::People;
use crate::transfer::{Imported, Input, Progress, at_line, broken_file};
use crate::{Service, told};
use spexus_domain::account::Caller;
use spexus_domain::attribute::{self, Attributes};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::comment::{self, Comment};
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::item::{Item, NewItem, Pointer};
use spexus_domain::limits::MAX_COMMENT_DEPTH;
use spexus_domain::link::{LinkType, find_type};
use spexus_domain::permission::Operation;
use spexus_domain::project::{self, Project};
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Reference, Refusal, Ruled, nearest, text};
use spexus_store::transfer::{self, Known, LinkRow};
use spexus_store::{Actor, Conn, Result, Tx, comments, items, links, projects, settings};
use std::collections::BTreeMap;
use std::io::{BufRead as _, Read as _};

/// Reads a project into an empty one, all of it or nothing. It is called what the file calls it, or as `key` says.
pub async fn import(
    service: &Service,
    caller: &Caller,
    key: Option<&str>,
    mut input: Input,
    dry_run: bool,
    progress: Progress,
) -> Ruled<Imported> {
    for operation in [
        Operation::ManageProjects,
        Operation::ManageSettings,
        Operation::ManageUsers,
    ] {
        caller.may(operation)?;
    }
    let people = People::new(&service.passwords).await?;
    let key = key.map(str::to_owned);
    let job = service.store.write(Actor::from(caller), move |tx| {
        Box::pin(async move {
            let everything = !transfer::has_items(&mut tx.conn, None).await?;
            let mut reader = Reader::new(people, Taking::new(everything), key);
            let mut line = 0;
            while let Some(record) = next(&mut input, &mut line)? {
                reader
                    .take(tx, record)
                    .await
                    .map_err(|error| at_line(line, error))?;
                progress(line);
            }
            let imported = reader.finish(tx, line, dry_run).await?;
            if dry_run {
                tx.discard();
            }
            Ok(imported)
        })
    });
    job.await.map_err(told)
}

/// The next record; `None` behind the last.
fn next(input: &mut Input, line: &mut u64) -> Result<Option<Record>> {
    loop {
        let mut text = Vec::new();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX) + 1;
        let read = input
            .by_ref()
            .take(limit)
            .read_until(b'\n', &mut text)
            .map_err(|error| broken_file(&error))?;
        if read == 0 {
            return Ok(None);
        }
        *line += 1;
        if text.len() > MAX_LINE_BYTES {
            let refusal = refused("record", "is too long", format!("at most {MAX_LINE_BYTES} bytes"));
            return Err(at_line(*line, refusal.into()));
        }
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let record = serde_json::from_slice(&text).map_err(|error| {
            let problem = format!("cannot be read: {}", text::excerpt(&error.to_string(), 200));
            at_line(
                *line,
                refused("record", problem, "a record as `spexus export` writes it").into(),
            )
        })?;
        return Ok(Some(record));
    }
}

struct Reader {
    key: Option<String>,
    header: bool,
    project: Option<Project>,
    counters: BTreeMap<String, i64>,
    taking: Taking,
    people: People,
    workflows: BTreeMap<Kind, Workflow>,
    types: Option<Vec<String>>,
    link_types: Option<Vec<LinkType>>,
    /// What the last item was contained in; siblings follow each other.
    container: Option<(Reference, Known)>,
    read: Totals,
    end: Option<Totals>,
}

impl Reader {
    fn new(people: People, taking: Taking, key: Option<String>) -> Self {
        Self {
            key,
            header: false,
            project: None,
            counters: BTreeMap::new(),
            taking,
            people,
            workflows: BTreeMap::new(),
            types: None,
            link_types: None,
            container: None,
            read: Totals::default(),
            end: None,
        }
    }

    async fn take(&mut self, tx: &mut Tx, record: Record) -> Result<()> {
        if self.end.is_some() {
            return Err(refused("record", "stands behind the end", "nothing").into());
        }
        if !self.header && !matches!(record, Record::Header(_)) {
            let allowed = "a file whose first line is {\"record\":\"header\",…}";
            return Err(refused("record", "is not a header", allowed).into());
        }
        match record {
            Record::Header(header) => Ok(self.begin(&header)?),
            Record::Project(wanted) => self.project(tx, wanted).await,
            Record::RequirementType(wanted) => self.taking.requirement_type(tx, wanted).await,
            Record::LinkType(wanted) => self.taking.link_type(tx, wanted).await,
            Record::Workflow(wanted) => self.taking.workflow(tx, wanted).await,
            Record::Prompt(wanted) => self.taking.prompt(tx, &mut self.people, wanted).await,
            Record::Item(wanted) => self.item(tx, *wanted).await,
            Record::Comment(wanted) => self.comment(tx, wanted).await,
            Record::Link(wanted) => self.link(tx, wanted).await,
            Record::End(totals) => {
                self.end = Some(totals);
                Ok(())
            }
        }
    }

    fn begin(&mut self, header: &Header) -> Ruled<()> {
        if self.header || header.format != "spexus" {
            return Err(refused(
                "format",
                format!("{:?} is not known", text::excerpt(&header.format, 60)),
                "spexus, once",
            ));
        }
        if header.version != VERSION {
            let problem = format!("is {}, this program reads {VERSION}", header.version);
            return Err(refused("version", problem, "a file of this version")
                .hint("Use the spexus that wrote the file, or a newer one."));
        }
        self.header = true;
        Ok(())
    }

    async fn project(&mut self, tx: &mut Tx, wanted: ProjectRecord) -> Result<()> {
        if self.project.is_some() {
            return Err(refused("record", "is a second project", "one project in a file").into());
        }
        let key = project::key("key", self.key.as_deref().unwrap_or(&wanted.key))?;
        let found = projects::by_key(&mut tx.conn, &key).await?;
        attribute::check_rules(&wanted.attributes)?;
        let project = Project {
            id: found.as_ref().map_or_else(|| tx.new_id(), |found| found.id),
            key,
            name: text::title("name", &wanted.name)?,
            description: text::description("description", &wanted.description)?,
            attributes: wanted.attributes,
            rev: wanted.rev.max(1),
            created_at: wanted.created_at,
            updated_at: wanted.updated_at,
        };
        let action = if found.is_some() {
            refuse_used(&mut tx.conn, &project).await?;
            transfer::put_project(tx, &project).await?;
            Action::Updated
        } else {
            projects::insert(tx, &project).await?;
            Action::Created
        };
        let fields = Attributes::from_iter([("name".to_owned(), project.name.clone().into())]);
        let change = NewChange::new(Entity::Project, project.id, &project.key, action, project.rev)
            .in_project(project.id)
            .fields(None, fields);
        tx.record(change).await?;
        self.counters = wanted.counters;
        self.project = Some(project);
        Ok(())
    }

    async fn item(&mut self, tx: &mut Tx, wanted: ItemRecord) -> Result<()> {
        let project = self.target()?.clone();
        let Some(kind) = wanted.reference_id.kind() else {
            return Err(refused("reference_id", "is not that of an item", "such as REQ-012").into());
        };
        check_fields(kind, &wanted)?;
        refuse_known_id(tx, &wanted).await?;
        attribute::check(&project.attributes, kind, &wanted.attributes)?;
        let parent = self.parent(tx, &project, kind, wanted.parent.as_ref()).await?;
        let criterion = self
            .criterion(
                tx,
                &project,
                wanted.acceptance_criterion.as_ref(),
                parent.as_ref(),
            )
            .await?;
        let status = self.status(tx, kind, wanted.status).await?;
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
            reference_id: wanted.reference_id,
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
        record(tx, Action::Created, None, &item).await
    }

    async fn parent(
        &mut self,
        tx: &mut Tx,
        project: &Project,
        kind: Kind,
        wanted: Option<&Reference>,
    ) -> Result<Option<Pointer>> {
        kind.check_parent(wanted.and_then(Reference::kind))?;
        let Some(reference) = wanted else { return Ok(None) };
        let known = match &self.container {
            Some((last, known)) if last == reference => known.clone(),
            _ => known(&mut tx.conn, project, "parent", reference).await?,
        };
        self.container = Some((reference.clone(), known.clone()));
        Ok(Some(Pointer {
            id: known.id,
            reference_id: reference.clone(),
        }))
    }

    async fn criterion(
        &mut self,
        tx: &mut Tx,
        project: &Project,
        wanted: Option<&Reference>,
        story: Option<&Pointer>,
    ) -> Result<Option<Pointer>> {
        let Some(reference) = wanted else { return Ok(None) };
        let found = known(&mut tx.conn, project, "acceptance_criterion", reference).await?;
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
            reference_id: reference.clone(),
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

    async fn comment(&mut self, tx: &mut Tx, wanted: CommentRecord) -> Result<()> {
        let project = self.target()?.clone();
        let item = known(&mut tx.conn, &project, "item", &wanted.item).await?;
        let depth = match wanted.parent_id {
            None => 0,
            Some(parent) => match comments::by_id(&mut tx.conn, parent).await? {
                Some(parent) if parent.item_id == item.id && parent.depth < MAX_COMMENT_DEPTH => {
                    parent.depth + 1
                }
                _ => {
                    return Err(refused(
                        "parent_id",
                        "is not a comment on the same item that can be answered",
                        "a comment above this line",
                    )
                    .into());
                }
            },
        };
        let author = self.people.find(tx, "author", &wanted.author).await?;
        let comment = Comment {
            id: wanted.id,
            item_id: item.id,
            item: wanted.item,
            parent_id: wanted.parent_id,
            depth,
            author: author.username,
            author_id: author.id,
            content: comment::content(&wanted.content)?,
            resolved: wanted.resolved,
            anchor: wanted.anchor,
            rev: wanted.rev.max(1),
            created_at: wanted.created_at,
            updated_at: wanted.updated_at,
        };
        comments::insert(tx, &comment).await?;
        self.read.comments += 1;
        let fields = Attributes::from_iter([
            ("content".to_owned(), comment.content.into()),
            ("resolved".to_owned(), comment.resolved.into()),
        ]);
        let label = format!("comment on {}", comment.item);
        let change = NewChange::new(Entity::Comment, comment.id, label, Action::Created, comment.rev)
            .in_project(project.id)
            .on_item(item.id, None)
            .fields(None, fields);
        tx.record(change).await.map(drop)
    }

    async fn link(&mut self, tx: &mut Tx, wanted: LinkRecord) -> Result<()> {
        let project = self.target()?.clone();
        let source = known(&mut tx.conn, &project, "source", &wanted.source).await?;
        let target = known(&mut tx.conn, &project, "target", &wanted.target).await?;
        if self.link_types.is_none() {
            self.link_types = Some(settings::link_types(&mut tx.conn).await?);
        }
        let types = self.link_types.as_deref().unwrap_or_default();
        let (link_type, swapped) = find_type(types, &wanted.link_type)?;
        let kinds = wanted.source.kind().zip(wanted.target.kind());
        if let (Some((from, to)), false) = (kinds, swapped) {
            link_type.check_ends((source.id, from), (target.id, to))?;
        }
        if link_type.acyclic && links::leads_to(&mut tx.conn, &link_type.name, target.id, source.id).await? {
            return Err(link_type.cycle(&wanted.source, &wanted.target).into());
        }
        let name = link_type.name.clone();
        let maker = self.people.find(tx, "created_by", &wanted.created_by).await?;
        let fields = Attributes::from_iter([
            ("type".to_owned(), name.clone().into()),
            ("source".to_owned(), wanted.source.to_string().into()),
            ("target".to_owned(), wanted.target.to_string().into()),
        ]);
        let change = NewChange::new(
            Entity::Link,
            wanted.id,
            format!("{} {name} {}", wanted.source, wanted.target),
            Action::Created,
            wanted.rev.max(1),
        )
        .in_project(project.id)
        .on_item(source.id, Some(target.id))
        .fields(None, fields);
        let link = LinkRow {
            id: wanted.id,
            link_type: name,
            source_confirmed: wanted.source_hash.is_none(),
            target_confirmed: wanted.target_hash.is_none(),
            source_hash: wanted.source_hash.unwrap_or(source.content_hash),
            target_hash: wanted.target_hash.unwrap_or(target.content_hash),
            source: (source.id, wanted.source),
            target: (target.id, wanted.target),
            rev: wanted.rev.max(1),
            created_by: (maker.id, maker.username),
            created_at: wanted.created_at,
        };
        transfer::insert_link(tx, project.id, &link).await?;
        self.read.links += 1;
        tx.record(change).await.map(drop)
    }

    async fn finish(self, tx: &mut Tx, lines: u64, dry_run: bool) -> Result<Imported> {
        let project = self.target()?.clone();
        if self.end != Some(self.read) {
            let message = match self.end {
                None => format!("the file is cut off after line {lines}: its last line is missing"),
                Some(end) => format!(
                    "the file says it has {} items, {} links and {} comments, but it does not",
                    end.items, end.links, end.comments
                ),
            };
            return Err(Refusal::new(Code::InvalidParams, message)
                .hint("Export it again; nothing was imported.")
                .into());
        }
        for (prefix, last) in &self.counters {
            match prefix.as_str() {
                PROMPT_PREFIX if self.taking.everything => {
                    items::reserve_number(&mut tx.conn, NO_PROJECT, prefix, *last).await?
                }
                PROMPT_PREFIX => {}
                _ => items::reserve_number(&mut tx.conn, project.id, prefix, *last).await?,
            }
        }
        Ok(Imported {
            project: project.key,
            dry_run,
            created: self.read.items,
            links: self.read.links,
            comments: self.read.comments,
            new_users: self.people.made,
            ..Imported::default()
        })
    }

    fn target(&self) -> Ruled<&Project> {
        self.project
            .as_ref()
            .ok_or_else(|| refused("record", "stands before the project", "the project first"))
    }
}

async fn known(conn: &mut Conn, project: &Project, field: &str, reference: &Reference) -> Result<Known> {
    let found = transfer::known(conn, project.id, reference).await?;
    Ok(found.ok_or_else(|| {
        refused(
            field,
            format!("{reference} does not stand above this line"),
            "an item above this line",
        )
    })?)
}

async fn refuse_used(conn: &mut Conn, project: &Project) -> Result<()> {
    if !transfer::has_items(conn, Some(project.id)).await? {
        return Ok(());
    }
    let problem = format!("the project {:?} is not empty", project.key);
    Err(Refusal::field(
        Code::RuleViolated,
        "project",
        problem,
        "an empty project, or a new one",
    )
    .hint("Name another with --project KEY, or import CSV to change items that exist.")
    .into())
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

fn refused(field: &str, problem: impl Into<String>, allowed: impl Into<String>) -> Refusal {
    Refusal::field(Code::InvalidParams, field, problem, allowed)
}
