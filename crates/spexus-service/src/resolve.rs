//! Which item an id means.
//!
//! Inside the system an item is its UUID. A reference id is a name within one project, so it is looked up in one: in the
//! project the request names, in the one the token is bound to, or, where the caller sees several and names none, in
//! the only one that has it. What could mean several items is refused with all of them, because a wrong guess writes
//! into somebody else's work.

use crate::context::Context;
use spexus_domain::item::Item;
use spexus_domain::link::Link;
use spexus_domain::project::Project;
use spexus_domain::{AnyId, Code, Kind, Reference, Refusal, Uuid, nearest};
use spexus_store::{Conn, Error, Result, items, projects};

/// Candidates told of an ambiguous reference at most.
const MAX_CANDIDATES: usize = 10;

impl Context {
    /// A living item by any id; with a kind, only of that kind.
    pub(crate) async fn item(
        &self,
        conn: &mut Conn,
        field: &str,
        id: &str,
        kind: Option<Kind>,
    ) -> Result<Item> {
        let id = AnyId::parse(field, id)?;
        let item = self.any_item(conn, field, &id).await?;
        living(item, kind)
    }

    /// A living item that has to be in the project of another one: its container, its criterion, its sibling. A
    /// reference is looked up there.
    pub(crate) async fn item_beside(
        &self,
        conn: &mut Conn,
        (field, id): (&str, &str),
        kind: Option<Kind>,
        project_id: Uuid,
    ) -> Result<Item> {
        let id = AnyId::parse(field, id)?;
        let item = self.find(conn, field, &id, Some(project_id)).await?;
        living(item, kind)
    }

    /// An item by any id, deleted or not.
    pub(crate) async fn any_item(&self, conn: &mut Conn, field: &str, id: &AnyId) -> Result<Item> {
        let place = self.fixed_place().map(|project| project.id);
        self.find(conn, field, id, place).await
    }

    /// An item by any id; a reference without a project is looked up in `place`, or in all that can be seen.
    //= specs/spexus-http.md#permissions
    //# A token bound to a project MUST show and change nothing of another project.
    async fn find(&self, conn: &mut Conn, field: &str, id: &AnyId, place: Option<Uuid>) -> Result<Item> {
        self.check_key(id)?;
        let found = match (id, place) {
            (
                AnyId::Reference {
                    project: None,
                    reference,
                },
                None,
            ) => self.only_one(conn, field, reference).await?,
            (id, place) => items::by_any_id(conn, place.unwrap_or_default(), id).await?,
        };
        let found = found.filter(|item| self.caller.sees(item.project_id));
        let Some(item) = found else {
            return Err(self.not_found(conn, id).await?.into());
        };
        //= specs/spexus-service.md#projects
        //# A request that names a project MUST be refused when an id it gives, be it a UUID, belongs to another project.
        if let Some(named) = self.named()?
            && item.project_id != named.id
        {
            let own = item.reference_id.in_project(&item.project);
            return Err(contradicted(named, &own, &item.project));
        }
        self.check_right(item.project_id)?;
        Ok(item)
    }

    /// The refusal for what is not there; where the project it names is none of those the caller sees, with the nearest of them.
    //= specs/spexus-service.md#projects
    //# A reference id with the key of a project that the caller does not see MUST be refused with the nearest key the caller sees.
    async fn not_found(&self, conn: &mut Conn, id: &AnyId) -> Result<Refusal> {
        let refusal = items::not_found(id);
        let AnyId::Reference {
            project: Some(wanted),
            ..
        } = id
        else {
            return Ok(refusal);
        };
        let seen: Vec<String> = match self.caller.visibility().is_complete() {
            true => {
                let all = projects::all(conn).await?;
                all.into_iter().map(|project| project.key).collect()
            }
            false => {
                let own = self.caller.memberships.iter();
                own.filter(|own| self.caller.sees(own.project_id))
                    .map(|own| own.key.clone())
                    .collect()
            }
        };
        if seen.contains(wanted) {
            return Ok(refusal);
        }
        let keys: Vec<&str> = seen.iter().map(String::as_str).collect();
        let hint = match nearest::closest(wanted, &keys) {
            Some(near) => format!("You see no project of this key. Did you mean {near:?}?"),
            None => "You see no project of this key.".to_owned(),
        };
        Ok(refusal.hint(hint))
    }

    /// The project the request names.
    fn named(&self) -> Result<Option<&Project>> {
        Ok(match self.is_named {
            true => Some(self.project()?),
            false => None,
        })
    }

    /// Refuses `web/REQ-001` in a request that names another project, whether there is such an item or not.
    fn check_key(&self, id: &AnyId) -> Result<()> {
        match (id, self.named()?) {
            (
                AnyId::Reference {
                    project: Some(key), ..
                },
                Some(named),
            ) if *key != named.key => Err(contradicted(named, &id.to_string(), key)),
            _ => Ok(()),
        }
    }

    /// Refuses a link in a request that names a project in which it has no end.
    //= specs/spexus-service.md#projects
    //# A request that names a project MUST be refused when a link it gives has no end in it.
    pub(crate) fn check_link(&self, link: &Link) -> Result<()> {
        let ends = [&link.source, &link.target];
        match self.named()? {
            Some(named) if ends.iter().all(|end| end.project_id != named.id) => {
                let label = link.label(self.caller.visibility());
                Err(contradicted(
                    named,
                    &format!("the link {label}"),
                    &link.source.project,
                ))
            }
            _ => Ok(()),
        }
    }

    /// The only item of all projects the caller sees that has a reference. A deleted one counts too: its number is not free,
    /// and who names it must not hit another project's item because of it.
    //= specs/spexus-service.md#projects
    //# A reference id without a project MUST mean the item of the only project that has it; where several have it, it MUST be
    //# refused with all of them.
    async fn only_one(&self, conn: &mut Conn, field: &str, reference: &Reference) -> Result<Option<Item>> {
        let seen = self.caller.visibility().projects();
        let limit = MAX_CANDIDATES as u32 + 1;
        let mut found = items::of_projects(conn, reference, seen.as_deref(), limit).await?;
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => Err(ambiguous(field, reference, found)),
        }
    }
}

fn contradicted(named: &Project, item: &str, key: &str) -> Error {
    let problem = format!("is {}, but {item} is not in it", named.key);
    Refusal::field(
        Code::InvalidParams,
        "project",
        problem,
        format!("{key}, or leave it out"),
    )
    .into()
}

fn ambiguous(field: &str, reference: &Reference, mut found: Vec<Item>) -> Error {
    let more = if found.len() > MAX_CANDIDATES { ", …" } else { "" };
    found.truncate(MAX_CANDIDATES);
    let candidates: Vec<String> = found
        .iter()
        .map(|item| item.reference_id.in_project(&item.project))
        .collect();
    let candidates = format!("{}{more}", candidates.join(", "));
    let problem = format!("{reference} exists in several projects: {candidates}");
    Refusal::field(Code::InvalidParams, field, problem, candidates.clone())
        .hint("Name the one you mean with its project, or send `project`.")
        .fact("candidates", candidates)
        .into()
}

/// Refuses a deleted item, and one of another kind.
fn living(item: Item, kind: Option<Kind>) -> Result<Item> {
    if let Some(at) = item.deleted_at {
        let message = format!("{} was deleted at {at}", item.reference_id);
        return Err(Refusal::new(Code::ResourceNotFound, message)
            .hint("Restore it first.")
            .into());
    }
    match kind {
        Some(kind) if kind != item.kind => {
            let message = format!("{} is no {}", item.reference_id, kind.rules().label);
            let hint = format!("It is of the kind {}; use that.", item.kind.name());
            Err(Refusal::new(Code::ResourceNotFound, message).hint(hint).into())
        }
        _ => Ok(item),
    }
}
