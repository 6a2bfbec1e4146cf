//! The history of a project that comes with it. Each change is held against the one before it as its line is read; everything
//! the file has of the project is held against what the ledger makes of it before any of it is kept.

use super::import::{Reader, known, refused};
use super::record::{self, BaselineRecord, ChangeRecord, CommentRecord, LedgerRecord, PersonRecord};
use crate::transfer::large::Notes;
use crate::transfer::{at_line, refused_at};
use spexus_domain::attribute::Attributes;
use spexus_domain::baseline::Baseline;
use spexus_domain::change::{Action, Entity, FormerHead, NewChange};
use spexus_domain::project::Project;
use spexus_domain::{Code, Reference, Refusal, Ruled, Uuid, text};
use spexus_store::carry::{self, Deletion, SealedChange};
use spexus_store::ledger_head::LedgerHead;
use spexus_store::ledger_origin::LedgerOrigin;
use spexus_store::transfer::Known;
use spexus_store::{Conn, Result, Tx, projects};
use std::collections::{BTreeMap, BTreeSet};

/// A ledger that is being read.
pub(super) struct Carried {
    ledger: Uuid,
    /// Where it began, and where it shall end.
    origin: LedgerOrigin,
    /// How far it was read.
    end: LedgerHead,
    is_read: bool,
    /// Other names that people are told by.
    names: BTreeMap<String, BTreeSet<String>>,
}

impl Reader {
    /// The id of a project that comes with its history; it must not be here.
    pub(super) async fn itself(&self, tx: &mut Tx, key: &str, id: Option<Uuid>) -> Result<Option<Uuid>> {
        let Some(id) = id.filter(|_| self.carries()) else {
            return match self.carries() {
                true => Err(refused("id", "is missing", "the id of the project").into()),
                false => Ok(None),
            };
        };
        //= specs/spexus-service.md#carrying
        //# A project whose history is here already MUST be refused.
        if let Some(present) = projects::by_id(&mut tx.conn, id).await?
            && present.key != key
        {
            let problem = format!("is the project {:?} here", present.key);
            return Err(
                Refusal::field(Code::EntityDuplicate, "id", problem, "a project that is not here").into(),
            );
        }
        if let Some(live) = &self.live
            && carry::has_history(&mut live.read().await?, id).await?
        {
            return Err(carry::is_here().into());
        }
        Ok(Some(id))
    }

    /// Puts a project in the place of the empty one that has its key.
    //= specs/spexus-service.md#carrying
    //# A project that comes with its history MUST keep its id, the ids and references of its items, and its ledger with every number
    //# and hash, and the ledger MUST go on and verify where it came.
    pub(super) async fn take_place_of(
        &mut self,
        tx: &mut Tx,
        empty: &Project,
        project: &Project,
    ) -> Result<()> {
        self.instead_of = Some(empty.id);
        carry::make_room(tx, empty.id).await?;
        let fields = Attributes::from_iter([("name".to_owned(), empty.name.clone().into())]);
        let change = NewChange::new(
            Entity::Project,
            empty.id,
            &empty.key,
            Action::Deleted,
            empty.rev + 1,
        )
        .fields(Some(fields), Attributes::new());
        tx.record(change).await?;
        projects::insert(tx, project).await
    }

    pub(super) async fn ledger(&mut self, tx: &mut Tx, wanted: LedgerRecord) -> Result<()> {
        self.refuse_without_history()?;
        if !self.carries() {
            return Ok(());
        }
        let ledger = self.target()?.id;
        if self.carried.is_some() {
            return Err(refused("record", "is a second ledger", "one ledger in a file").into());
        }
        let former = match wanted.former {
            None => FormerHead::NONE,
            Some(former) => FormerHead {
                changes: former.changes,
                hash: record::hash("former.hash", &former.hash)?,
            },
        };
        let origin = LedgerOrigin {
            installation: record::hash("installation", &wanted.installation).map(hex::encode)?,
            former,
            number: wanted.end.changes,
            hash: record::hash("end.hash", &wanted.end.hash)?,
        };
        let end = carry::begin(tx, ledger, &origin).await?;
        self.carried = Some(Carried {
            ledger,
            origin,
            end,
            is_read: false,
            names: BTreeMap::new(),
        });
        Ok(())
    }

    pub(super) fn person(&mut self, wanted: PersonRecord) -> Ruled<()> {
        self.refuse_without_history()?;
        if let Some(carried) = &mut self.carried {
            carried
                .names
                .entry(wanted.username)
                .or_default()
                .extend(wanted.names);
        }
        Ok(())
    }

    /// Adds a change to the ledger, where it fits.
    //= specs/spexus-service.md#carrying
    //# A ledger with a hole, an altered change, a change of another ledger or another end than it says MUST be refused with the line
    //# and the number of the change, and nothing MUST be written.
    pub(super) async fn change(&mut self, tx: &mut Tx, wanted: ChangeRecord) -> Result<()> {
        self.refuse_without_history()?;
        self.read.changes += 1;
        if !self.carries() {
            return Ok(());
        }
        let Some(carried) = self.carried.as_mut().filter(|carried| !carried.is_read) else {
            return Err(refused(
                "record",
                "is a change that stands where none belongs",
                "changes behind the ledger, before items",
            )
            .into());
        };
        let change = SealedChange::try_from(wanted)?;
        refuse_unknown(&change)?;
        carried.end = carried
            .end_behind(&change)
            .map_err(|problem| unfit("number", problem))?;
        carry::add(tx, carried.ledger, &change).await
    }

    /// Makes sure that the ledger is whole, before anything is read that it is held against.
    pub(super) async fn end_ledger(&mut self, tx: &mut Tx) -> Result<()> {
        if !self.carries() {
            return Ok(());
        }
        let Some(carried) = &mut self.carried else {
            return Err(refused("record", "stands before the ledger", "the ledger first").into());
        };
        if carried.is_read {
            return Ok(());
        }
        let (end, told) = (carried.end, &carried.origin);
        if end.number != told.number {
            let problem = format!(
                "the ledger ends with change {}, and shall have {}",
                end.number, told.number
            );
            return Err(unfit("record", problem).into());
        }
        if end.hash != told.hash {
            let problem = format!(
                "the ledger does not end as it says: change {} has another hash",
                end.number
            );
            return Err(unfit("record", problem).into());
        }
        carried.is_read = true;
        carry::index(tx).await
    }

    pub(super) async fn baseline(&mut self, tx: &mut Tx, wanted: BaselineRecord) -> Result<()> {
        self.refuse_without_history()?;
        self.read.baselines += 1;
        if !self.carries() {
            return Ok(());
        }
        let project = self.target()?.clone();
        let person = self.people.find(tx, "created_by", &wanted.created_by).await?;
        let made_on = (wanted.number, person.id);
        let baseline = Baseline {
            id: wanted.id,
            project: project.key,
            name: text::name("name", &wanted.name)?,
            description: text::description("description", &wanted.description)?,
            seq: 0,
            hash: wanted.hash,
            created_by: person.username,
            created_at: wanted.created_at,
        };
        match carry::insert_baseline(tx, project.id, &baseline, made_on).await? {
            true => Ok(()),
            false => {
                let problem = format!("the baseline {:?} was made on another history", baseline.name);
                Err(unfit("hash", problem).into())
            }
        }
    }

    /// Holds everything against the ledger, and writes down in that of the installation what came, and from where. Tells how
    /// many changes came.
    pub(super) async fn arrive(&mut self, tx: &mut Tx, notes: &Notes, project: &Project) -> Result<u64> {
        let Some(carried) = self.carried.take() else {
            return Ok(0);
        };
        let origin = &carried.origin;
        let mut fields = Attributes::from_iter([
            ("name".to_owned(), project.name.clone().into()),
            ("installation".to_owned(), origin.installation.clone().into()),
            ("changes".to_owned(), origin.number.into()),
            ("head".to_owned(), hex::encode(origin.hash).into()),
        ]);
        let mut people: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, person) in self.people.met() {
            let mut names = carried.names.get(name).cloned().unwrap_or_default();
            names.insert(name.clone());
            names.remove(&person.username);
            if !names.is_empty() {
                people.entry(person.id.to_string()).or_default().extend(names);
            }
        }
        if !people.is_empty() {
            fields.insert("people".to_owned(), serde_json::json!(people));
        }
        // In the ledger of the installation: that of the project goes on as it came.
        let change = NewChange::new(
            Entity::Project,
            project.id,
            &project.key,
            Action::Created,
            project.rev,
        )
        .fields(None, fields);
        tx.record(change).await?;
        //= specs/spexus-service.md#carrying
        //# A file whose items, comments and links are not what its ledger made of them, or whose ledger ends before them, MUST be
        //# refused with the line.
        match carry::hold_against_ledger(tx, project.id).await? {
            None => Ok(origin.number.unsigned_abs()),
            Some((differs, place)) => {
                let what = match differs.label.as_str() {
                    "" => format!("{} {}", differs.entity, differs.id),
                    label => label.to_owned(),
                };
                let refusal = unfit("ledger", format!("{what}: {}", differs.problem));
                let line = place.map_or_else(|seq| notes.line_of(seq), Some);
                Err(match line {
                    Some(line) => at_line(line, refusal.into()),
                    None => refused_at(self.line, refusal).into(),
                })
            }
        }
    }

    /// Refuses what only a file with history may have.
    pub(super) fn refuse_without_history(&self) -> Ruled<()> {
        match self.has_history() {
            true => Ok(()),
            false => Err(refused(
                "record",
                "belongs to a file with history",
                "a file of version 2",
            )),
        }
    }

    pub(super) fn refuse_deleted(&self, deletion: Option<Deletion>) -> Ruled<()> {
        match deletion {
            None => Ok(()),
            Some(_) => self.refuse_without_history(),
        }
    }

    /// Whether a comment is not taken: it was deleted, or stands on what was or answers what was, and the history is not taken.
    pub(super) fn leaves_out(&self, wanted: &CommentRecord) -> bool {
        let (items, comments) = &self.left_out;
        let answers = wanted.parent_id.is_some_and(|parent| comments.contains(&parent));
        !self.carries() && (wanted.deleted_at.is_some() || items.contains(&wanted.item) || answers)
    }
}

impl Carried {
    fn end_behind(&self, change: &SealedChange) -> std::result::Result<LedgerHead, String> {
        if self.end.number == self.origin.number {
            let end = self.end.number;
            return Err(format!(
                "stands behind change {end}, with which the ledger shall end"
            ));
        }
        change.follow(self.ledger, &self.end)
    }
}

/// An item above this line: a living one, or any where what belongs to it may be deleted too.
pub(super) async fn of_file(
    conn: &mut Conn,
    project: &Project,
    (field, is_deleted): (&str, bool),
    reference: &Reference,
) -> Result<Known> {
    if !is_deleted {
        return known(conn, project, field, reference).await;
    }
    let found = carry::known(conn, project.id, reference).await?;
    Ok(found.ok_or_else(|| {
        refused(
            field,
            format!("{reference} does not stand above this line"),
            "an item above this line",
        )
    })?)
}

/// A change that this program could not tell of.
fn refuse_unknown(change: &SealedChange) -> Ruled<()> {
    if Entity::ALL.iter().all(|known| known.name() != change.entity) {
        let problem = format!("is of the unknown entity {:?}", text::excerpt(&change.entity, 60));
        return Err(refused("entity", problem, "what this program knows")
            .hint("Use the spexus that wrote the file, or a newer one."));
    }
    if Action::ALL.iter().all(|known| known.name() != change.action) {
        let problem = format!("is the unknown action {:?}", text::excerpt(&change.action, 60));
        return Err(refused("action", problem, "what this program knows")
            .hint("Use the spexus that wrote the file, or a newer one."));
    }
    for (field, fields) in [("before", &change.before), ("after", &change.after)] {
        if serde_json::from_str::<Attributes>(fields).is_err() {
            return Err(refused(field, "is no object", "the fields of a change"));
        }
    }
    let names = [&change.username, &change.client, &change.label];
    if names.iter().any(|name| name.contains('\0')) {
        return Err(refused("label", "has a character that no name has", "names"));
    }
    Ok(())
}

pub(super) fn unfit(field: &str, problem: String) -> Refusal {
    refused(field, problem, "the ledger as it was exported")
        .hint("The file is not what was exported. Export it again; nothing was imported.")
}
