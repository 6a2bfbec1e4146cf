//! Writing what was planned: straight to the tables, with the numbers of a whole transaction taken at once, but with the
//! same counters, search entries and history as items that someone typed.

use super::Filled;
use super::phrases::USERS;
use super::plan::{Planned, PlannedEpic, Said};
use crate::comment::joined;
use crate::item::record;
use crate::transfer::people::People;
use spexus_domain::account::Role;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::comment::Comment;
use spexus_domain::item::{Item, Person, Pointer, Priority};
use spexus_domain::link::LinkType;
use spexus_domain::project::Project;
use spexus_domain::{Kind, Reference, Timestamp, Uuid, told};
use spexus_store::{Result, Tx, accounts, comments, items, links, settings, transfer};
use std::collections::HashMap;

/// How long the project has been going on.
const HISTORY_MICROS: i64 = 180 * 86_400 * 1_000_000;

pub(super) struct Writer {
    project: Project,
    pub(super) filled: Filled,
    people: Vec<Person>,
    statuses: HashMap<Kind, Vec<String>>,
    types: Vec<String>,
    link_types: Vec<LinkType>,
    /// The last number given out for each kind.
    numbers: HashMap<Kind, i64>,
}

impl Writer {
    pub(super) async fn begin(tx: &mut Tx, project: Project, people: &People) -> Result<Self> {
        let mut statuses = HashMap::new();
        for kind in Kind::ALL {
            if let Some(workflow) = settings::workflow(&mut tx.conn, kind).await? {
                statuses.insert(
                    kind,
                    workflow.statuses.into_iter().map(|status| status.name).collect(),
                );
            }
        }
        let counters: HashMap<String, i64> = transfer::counters(&mut tx.conn, project.id)
            .await?
            .into_iter()
            .collect();
        let numbers = Kind::ALL.map(|kind| (kind, counters.get(kind.rules().prefix).copied().unwrap_or(0)));
        let types = settings::requirement_types(&mut tx.conn).await?;
        let mut writer = Self {
            filled: Filled {
                project: project.key.clone(),
                ..Filled::default()
            },
            project,
            people: Vec::new(),
            statuses,
            types: types.into_iter().map(|known| known.name).collect(),
            link_types: settings::link_types(&mut tx.conn).await?,
            numbers: HashMap::from(numbers),
        };
        for name in USERS {
            writer.person(tx, people, name).await?;
        }
        Ok(writer)
    }

    pub(super) async fn finish(self, tx: &mut Tx) -> Result<Filled> {
        for (kind, number) in self.numbers {
            if number > 0 {
                items::reserve_number(&mut tx.conn, self.project.id, kind.rules().prefix, number).await?;
            }
        }
        Ok(self.filled)
    }

    pub(super) async fn epic(&mut self, tx: &mut Tx, planned: PlannedEpic) -> Result<()> {
        let mut guides = Vec::new();
        for document in &planned.steering {
            guides.push(
                self.item(tx, Kind::SteeringDocument, document, None, None, 0)
                    .await?,
            );
        }
        if planned.epic.title.is_empty() {
            return Ok(());
        }
        let epic = self.item(tx, Kind::Epic, &planned.epic, None, None, 0).await?;
        for guide in &guides {
            self.link(tx, "guides", guide, &epic).await?;
        }
        let mut requirements = Vec::new();
        for (at, story) in planned.stories.iter().enumerate() {
            let parent = self
                .item(tx, Kind::UserStory, &story.story, Some(&epic), None, at)
                .await?;
            let mut criteria = Vec::new();
            for (at, criterion) in story.criteria.iter().enumerate() {
                criteria.push(
                    self.item(tx, Kind::AcceptanceCriterion, criterion, Some(&parent), None, at)
                        .await?,
                );
            }
            for (at, (requirement, serves)) in story.requirements.iter().enumerate() {
                let serves = serves.and_then(|at| criteria.get(at));
                let at = at + criteria.len();
                let made = self
                    .item(tx, Kind::Requirement, requirement, Some(&parent), serves, at)
                    .await?;
                if let Some(criterion) = serves.filter(|_| requirement.progress > 70) {
                    self.link(tx, "verifies", criterion, &made).await?;
                }
                requirements.push(made);
            }
        }
        for (later, earlier, depends) in planned.dependencies {
            if let (Some(source), Some(target)) = (requirements.get(later), requirements.get(earlier)) {
                let name = if depends { "depends_on" } else { "relates_to" };
                self.link(tx, name, source, target).await?;
            }
        }
        Ok(())
    }

    async fn person(&mut self, tx: &mut Tx, people: &People, name: &str) -> Result<()> {
        let user = match accounts::by_name(&mut tx.conn, name).await? {
            Some(found) => found.user,
            None => {
                self.filled.users += 1;
                people.make(tx, "user", name, Role::User, true).await?
            }
        };
        self.people.push(Person {
            id: user.id,
            username: user.username,
        });
        Ok(())
    }

    async fn item(
        &mut self,
        tx: &mut Tx,
        kind: Kind,
        planned: &Planned,
        parent: Option<&Item>,
        serves: Option<&Item>,
        at: usize,
    ) -> Result<Item> {
        let rules = kind.rules();
        let number = self.numbers.entry(kind).or_default();
        *number += 1;
        let reference = Reference::of_kind(kind, *number);
        let position = if parent.is_some() { at as i64 + 1 } else { *number } << 20;
        let status = self
            .statuses
            .get(&kind)
            .map(|known| known[planned.progress * known.len() / 100].clone());
        let requirement_type = rules
            .has_type
            .then(|| self.types[planned.type_at % self.types.len()].clone());
        let created_at = self.time(tx.now(), planned.age);
        let attributes = Attributes::new();
        let item = Item {
            id: tx.new_id(),
            reference_id: self.project.prefix().show(reference),
            project: self.project.key.clone(),
            project_id: self.project.id,
            kind,
            content_hash: Item::hash(
                &planned.title,
                &planned.description,
                requirement_type.as_deref(),
                &attributes,
            ),
            title: planned.title.clone(),
            description: planned.description.clone(),
            status,
            priority: Priority::from_number(planned.priority).filter(|_| rules.has_priority),
            requirement_type,
            parent: parent.map(pointer),
            acceptance_criterion: serves.map(pointer),
            assignee: planned
                .assignee
                .filter(|_| rules.has_assignee)
                .map(|at| self.people[at].clone()),
            creator: self.people[planned.creator].clone(),
            position,
            attributes,
            rev: 1,
            created_at,
            updated_at: created_at,
            deleted_at: None,
        };
        items::insert(tx, &item).await?;
        record(tx, Action::Created, None, &item).await?;
        self.filled.items += 1;
        self.discussion(tx, &item, &planned.comments).await?;
        Ok(item)
    }

    async fn discussion(&mut self, tx: &mut Tx, item: &Item, said: &[Said]) -> Result<()> {
        let mut last: Option<(Uuid, usize)> = None;
        for (at, said) in said.iter().enumerate() {
            let author = &self.people[said.author];
            let answered = last.filter(|_| said.answers);
            let written_at = Timestamp(
                item.created_at
                    .0
                    .saturating_add(3_600_000_000 * (at as i64 + 1))
                    .min(tx.now().0),
            );
            let comment = Comment {
                id: tx.new_id(),
                item_id: item.id,
                item: item.reference_id.clone(),
                parent_id: answered.map(|(id, _)| id),
                depth: answered.map_or(0, |(_, depth)| depth + 1),
                author: author.username.clone(),
                author_id: author.id,
                content: said.content.clone(),
                resolved: said.resolved,
                anchor: None,
                rev: 1,
                created_at: written_at,
                updated_at: written_at,
            };
            comments::insert(tx, item.project_id, &comment).await?;
            last = Some((comment.id, comment.depth));
            self.filled.comments += 1;
            let fields = Attributes::from_iter([
                ("content".to_owned(), comment.content.clone().into()),
                ("resolved".to_owned(), comment.resolved.into()),
            ]);
            let change = NewChange::new(
                Entity::Comment,
                comment.id,
                format!("comment on {}", item.reference_id.plain()),
                Action::Created,
                1,
            )
            .in_project(self.project.id)
            .on_item(item.id, None)
            .fields(None, fields)
            .made(
                comment.author_id,
                comment.created_at,
                comment.updated_at,
                (tx.actor().user_id, tx.now()),
            );
            tx.record(joined(change, &comment)).await?;
        }
        Ok(())
    }

    /// Links two items, where the installation has the type.
    async fn link(&mut self, tx: &mut Tx, name: &str, source: &Item, target: &Item) -> Result<()> {
        let Some(link_type) = self.link_types.iter().find(|known| known.name == name) else {
            return Ok(());
        };
        if link_type
            .check_ends((source.id, source.kind), (target.id, target.kind))
            .is_err()
        {
            return Ok(());
        }
        let id = tx.new_id();
        links::insert(tx, id, link_type, source, target).await?;
        self.filled.links += 1;
        let (from, to) = (source.reference_id.plain(), target.reference_id.plain());
        let fields = Attributes::from_iter([
            ("type".to_owned(), name.into()),
            ("source".to_owned(), from.to_string().into()),
            ("target".to_owned(), to.to_string().into()),
        ]);
        let label = format!("{from} {name} {to}");
        let change = NewChange::new(Entity::Link, id, label, Action::Created, 1)
            .in_project(self.project.id)
            .on_item(source.id, Some(target.id))
            .fields(None, fields)
            .telling(
                told::HASHES,
                vec![source.content_hash.clone(), target.content_hash.clone()],
            );
        tx.record(change).await.map(drop)
    }

    /// When something was made: evenly over the history of the project, and never twice at the same moment.
    fn time(&self, now: Timestamp, age: u64) -> Timestamp {
        let part = i64::try_from(age).unwrap_or(0);
        let order = i64::try_from(self.filled.items).unwrap_or(0);
        let back = HISTORY_MICROS / 1_000_000 * (1_000_000 - part);
        Timestamp((now.0 - back + order).min(now.0))
    }
}

fn pointer(item: &Item) -> Pointer {
    Pointer {
        id: item.id,
        reference_id: item.reference_id.clone(),
    }
}
