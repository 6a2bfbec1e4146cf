//! Reading a project from JSON lines, with the ids, numbers, times and names it brings.

use super::evidence::ReadEvidence;
use super::history::Carried;
use super::record::{CHANGE_LINE, ChangeRecord, Header, ProjectRecord, Record, Totals};
use super::settings::Taking;
use super::{MAX_LINE_BYTES, PLAIN, WITH_HISTORY};
use crate::Service;
use crate::context::NO_PROJECT;
use crate::transfer::large::{self, ImportJob, Notes};
use crate::transfer::people::People;
use crate::transfer::{Imported, Input, Progress, at_line, broken_file};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::attribute::{self, Attributes};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::link::LinkType;
use spexus_domain::member::ProjectRole;
use spexus_domain::permission::Operation;
use spexus_domain::project::{self, Project};
use spexus_domain::workflow::Workflow;
use spexus_domain::{Code, Kind, Reference, Refusal, Ruled, Uuid, text};
use spexus_store::scratch_copy::CopyExtent;
use spexus_store::staging::MAX_DIRECT_OPERATIONS;
use spexus_store::transfer::{self, Known};
use spexus_store::{Conn, Result, Store, Tx, items, projects};
use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead as _, Read as _};

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// Whether everything is tried and nothing kept.
    pub dry_run: bool,
    /// Whether the history is taken that the file has; without it the project begins a new one.
    pub history: bool,
}

/// Reads a project into an empty one, all of it or nothing. It is called what the file calls it, or as `key` says. With its
/// history it takes the place of the empty one.
#[boxed]
pub async fn import(
    service: &Service,
    caller: &Caller,
    key: Option<&str>,
    input: Input,
    reading: ImportOptions,
    progress: Progress,
) -> Ruled<Imported> {
    for operation in [
        Operation::ManageProjects,
        Operation::ManageSettings,
        Operation::ManageUsers,
    ] {
        caller.may(operation)?;
    }
    let ImportOptions { dry_run, history } = reading;
    let (input, is_large) = measured(input, history)?;
    let file = File {
        input,
        people: People::new(&service.passwords).await?,
        key: key.map(str::to_owned),
        default_role: service.default_role,
        reading,
        progress,
    };
    //= specs/spexus.md#transfer
    //# An import MUST be all or nothing, also when the process is killed.
    let owned = caller.clone();
    let work: ImportJob<Imported> = Box::new(move |service, notes| {
        Box::pin(async move {
            let job = service.change_anywhere(&owned, Operation::ManageProjects, move |tx, _| {
                Box::pin(file.read(tx, notes))
            });
            job.await
        })
    });
    if !is_large {
        return large::direct(service, caller, dry_run, work).await;
    }
    let (mut imported, shown) = large::staged(service, caller, CopyExtent::Each, dry_run, work).await?;
    imported.warnings.extend(shown.warning());
    Ok(imported)
}

/// What is to be read, and how.
struct File {
    input: Input,
    people: People,
    key: Option<String>,
    default_role: ProjectRole,
    reading: ImportOptions,
    progress: Progress,
}

impl File {
    async fn read(mut self, tx: &mut Tx, mut notes: Notes) -> Result<(Imported, Notes)> {
        let everything = match notes.had_items {
            Some(had_items) => !had_items,
            None => !transfer::has_items(&mut tx.conn, None).await?,
        };
        notes.is_alone = true;
        let mut reader = Reader::new(self.people, Taking::new(everything), self.key, self.default_role);
        reader.wants_history = self.reading.history;
        reader.live = notes.live.clone();
        let mut line = 0;
        while let Some(read) = next(&mut self.input, &mut line)? {
            reader.line = line;
            let taken = match read {
                Line::Record(record) => reader.take(tx, record).await,
                Line::Change(change) => reader.change(tx, change).await,
            };
            large::at(&mut notes, tx, line, taken)?;
            (self.progress)(line);
        }
        let project = reader.target()?;
        notes.project = Some((project.id, project.key.clone()));
        notes.instead_of = reader.instead_of;
        let imported = reader.finish(tx, &notes, line, self.reading.dry_run).await?;
        Ok((imported, notes))
    }
}

/// The input as it was, and whether it is more than fits into one transaction. What comes with its history is proven on a
/// scratch copy, whatever its size.
fn measured(mut input: Input, history: bool) -> Ruled<(Input, bool)> {
    let mut beginning = Vec::new();
    let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut lines = 0;
    while lines <= MAX_DIRECT_OPERATIONS && beginning.len() <= MAX_LINE_BYTES {
        let read = input.by_ref().take(limit).read_until(b'\n', &mut beginning);
        if read.map_err(|error| broken_file(&error))? == 0 {
            let carries = history && version_of(&beginning) == Some(WITH_HISTORY);
            return Ok((Box::new(std::io::Cursor::new(beginning)), carries));
        }
        lines += 1;
    }
    let whole = std::io::Cursor::new(beginning).chain(input);
    Ok((Box::new(std::io::BufReader::new(whole)), true))
}

fn version_of(beginning: &[u8]) -> Option<u32> {
    let first = beginning.split(|byte| *byte == b'\n').next()?;
    match serde_json::from_slice(first) {
        Ok(Record::Header(header)) => Some(header.version),
        _ => None,
    }
}

/// What stands on a line.
enum Line {
    Record(Record),
    Change(ChangeRecord),
}

/// The next record; `None` behind the last.
fn next(input: &mut Input, line: &mut u64) -> Result<Option<Line>> {
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
        let read = match text.starts_with(CHANGE_LINE) {
            true => serde_json::from_slice(&text).map(Line::Change),
            false => serde_json::from_slice(&text).map(Line::Record),
        };
        let read = read.map_err(|error| {
            let problem = format!("cannot be read: {}", text::excerpt(&error.to_string(), 200));
            at_line(
                *line,
                refused("record", problem, "a record as `spexus export` writes it").into(),
            )
        })?;
        return Ok(Some(read));
    }
}

/// What was read so far, and what is needed to read on.
pub(super) struct Reader {
    key: Option<String>,
    /// What whoever has an account is in the project, when it is made here.
    default_role: ProjectRole,
    /// The version of the file, once its first line is read.
    version: Option<u32>,
    wants_history: bool,
    /// The real database, while all else happens in the scratch copy.
    pub(super) live: Option<Store>,
    /// The line that is being read.
    pub(super) line: u64,
    /// The ledger that came with the project.
    pub(super) carried: Option<Carried>,
    /// The empty project it takes the place of.
    pub(super) instead_of: Option<Uuid>,
    /// What the file has as deleted and is not taken, because the history is not.
    pub(super) left_out: (HashSet<Reference>, HashSet<Uuid>),
    /// Living items, comments and links.
    pub(super) living: Totals,
    pub(super) project: Option<Project>,
    pub(super) counters: BTreeMap<String, i64>,
    taking: Taking,
    pub(super) people: People,
    pub(super) workflows: BTreeMap<Kind, Workflow>,
    pub(super) types: Option<Vec<String>>,
    pub(super) link_types: Option<Vec<LinkType>>,
    /// What the last item was contained in; siblings follow each other.
    pub(super) container: Option<(Reference, Known)>,
    pub(super) read: Totals,
    pub(super) evidence: ReadEvidence,
    end: Option<Totals>,
}

impl Reader {
    fn new(people: People, taking: Taking, key: Option<String>, default_role: ProjectRole) -> Self {
        Self {
            key,
            default_role,
            version: None,
            wants_history: false,
            live: None,
            line: 0,
            carried: None,
            instead_of: None,
            left_out: Default::default(),
            living: Totals::default(),
            project: None,
            counters: BTreeMap::new(),
            taking,
            people,
            workflows: BTreeMap::new(),
            types: None,
            link_types: None,
            container: None,
            read: Totals::default(),
            evidence: ReadEvidence::default(),
            end: None,
        }
    }

    async fn take(&mut self, tx: &mut Tx, record: Record) -> Result<()> {
        if self.end.is_some() {
            return Err(refused("record", "stands behind the end", "nothing").into());
        }
        if self.version.is_none() && !matches!(record, Record::Header(_)) {
            let allowed = "a file whose first line is {\"record\":\"header\",…}";
            return Err(refused("record", "is not a header", allowed).into());
        }
        match record {
            Record::Item(_)
            | Record::Comment(_)
            | Record::Link(_)
            | Record::Baseline(_)
            | Record::Push(_)
            | Record::Review(_)
            | Record::TraceReview(_)
            | Record::End(_) => self.end_ledger(tx).await?,
            _ => {}
        }
        if !matches!(record, Record::Part(_)) {
            self.end_evidence()?;
        }
        match record {
            Record::Header(header) => Ok(self.begin(&header)?),
            Record::Project(wanted) => self.project(tx, wanted).await,
            Record::Ledger(wanted) => self.ledger(tx, wanted).await,
            Record::Person(wanted) => Ok(self.person(wanted)?),
            Record::Baseline(wanted) => self.baseline(tx, wanted).await,
            Record::Review(wanted) => self.review(tx, *wanted).await,
            Record::Push(wanted) => self.push(tx, wanted).await,
            Record::Part(wanted) => self.part(tx, wanted).await,
            Record::State(wanted) => self.state(tx, *wanted).await,
            Record::TraceReview(wanted) => self.trace_review(tx, wanted).await,
            Record::TraceHead(wanted) => self.trace_head(tx, wanted).await,
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
        if self.version.is_some() || header.format != "spexus" {
            return Err(refused(
                "format",
                format!("{:?} is not known", text::excerpt(&header.format, 60)),
                "spexus, once",
            ));
        }
        if ![PLAIN, WITH_HISTORY].contains(&header.version) {
            let problem = format!(
                "is {}, this program reads {PLAIN} and {WITH_HISTORY}",
                header.version
            );
            return Err(refused("version", problem, "a file of this version")
                .hint("Use the spexus that wrote the file, or a newer one."));
        }
        self.version = Some(header.version);
        // How it is carried out was decided by the first line.
        match self.carries() && self.live.is_none() {
            true => Err(refused(
                "record",
                "is not on the first line",
                "a file that begins with its header",
            )),
            false => Ok(()),
        }
    }

    /// Whether the file has a history.
    pub(super) fn has_history(&self) -> bool {
        self.version == Some(WITH_HISTORY)
    }

    /// Whether the project comes with its history.
    //= specs/spexus-service.md#carrying
    //# A file with history from which the history is not taken MUST be imported as one without, as a project with a history that
    //# begins there.
    pub(super) fn carries(&self) -> bool {
        self.wants_history && self.has_history()
    }

    async fn project(&mut self, tx: &mut Tx, wanted: ProjectRecord) -> Result<()> {
        if self.project.is_some() {
            return Err(refused("record", "is a second project", "one project in a file").into());
        }
        let key = project::key("key", self.key.as_deref().unwrap_or(&wanted.key))?;
        let found = projects::by_key(&mut tx.conn, &key).await?;
        attribute::check_rules(&wanted.attributes)?;
        if let Some(found) = &found {
            refuse_used(&mut tx.conn, found).await?;
        }
        let itself = self.itself(tx, &key, wanted.id).await?;
        let present = found.as_ref().map_or_else(|| tx.new_id(), |found| found.id);
        let project = Project {
            id: itself.unwrap_or(present),
            key,
            name: text::title("name", &wanted.name)?,
            description: text::description("description", &wanted.description)?,
            attributes: wanted.attributes,
            default_role: found
                .as_ref()
                .map_or(self.default_role, |found| found.default_role),
            prefix_references: wanted.prefix_references,
            rev: wanted.rev.max(1),
            created_at: wanted.created_at,
            updated_at: wanted.updated_at,
        };
        let action = match &found {
            Some(found) if found.id == project.id => {
                transfer::put_project(tx, &project).await?;
                Action::Updated
            }
            Some(found) => {
                self.take_place_of(tx, found, &project).await?;
                Action::Created
            }
            None => {
                projects::insert(tx, &project).await?;
                Action::Created
            }
        };
        // What comes with its history has been made already.
        if itself.is_none() {
            let fields = Attributes::from_iter([("name".to_owned(), project.name.clone().into())]);
            let change = NewChange::new(Entity::Project, project.id, &project.key, action, project.rev)
                .in_project(project.id)
                .fields(None, fields);
            tx.record(change).await?;
        }
        self.counters = wanted.counters;
        self.project = Some(project);
        Ok(())
    }

    async fn finish(mut self, tx: &mut Tx, notes: &Notes, lines: u64, dry_run: bool) -> Result<Imported> {
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
        let changes = self.arrive(tx, notes, &project).await?;
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
            created: self.living.items,
            links: self.living.links,
            comments: self.living.comments,
            changes,
            new_users: self.people.made,
            ..Imported::default()
        })
    }

    /// The project everything goes into.
    pub(super) fn target(&self) -> Ruled<&Project> {
        self.project
            .as_ref()
            .ok_or_else(|| refused("record", "stands before the project", "the project first"))
    }
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

pub(super) fn refused(field: &str, problem: impl Into<String>, allowed: impl Into<String>) -> Refusal {
    Refusal::field(Code::InvalidParams, field, problem, allowed)
}

/// A living item that stands above this line.
pub(super) async fn known(
    conn: &mut Conn,
    project: &Project,
    field: &str,
    reference: &Reference,
) -> Result<Known> {
    let found = transfer::known(conn, project.id, reference).await?;
    Ok(found.ok_or_else(|| {
        refused(
            field,
            format!("{reference} does not stand above this line"),
            "an item above this line",
        )
    })?)
}
