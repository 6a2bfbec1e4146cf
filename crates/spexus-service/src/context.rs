//! What every use case needs first: the project it happens in, and the items it speaks of.

use crate::{Service, told};
use spexus_domain::account::Caller;
use spexus_domain::batch::Locals;
use spexus_domain::item::Item;
use spexus_domain::permission::Operation;
use spexus_domain::project::{self, DEFAULT_KEY, Project};
use spexus_domain::{AnyId, Code, Kind, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Result, items, projects};

/// Who asks, and where.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) caller: Caller,
    pub(crate) project: Project,
}

/// Projects by what a caller asked for, each good for one generation of accounts.
pub(crate) type Projects = moka::sync::Cache<(u64, Option<Uuid>, Option<String>), Project>;

/// A connection to read with, for a caller who may.
pub(crate) async fn reading(service: &Service, caller: &Caller, operation: Operation) -> Ruled<Conn> {
    //= specs/spexus-service.md#permissions
    //# Every use case MUST ask for its right before it reads or writes anything.
    caller.may(operation)?;
    service.store.read().await.map_err(told)
}

impl Context {
    /// The context of a request that only reads. The project is remembered until accounts or projects change, so that
    /// a point read is one statement.
    pub(crate) async fn of_read(
        service: &Service,
        conn: &mut Conn,
        caller: &Caller,
        wanted: Option<&str>,
    ) -> Result<Self> {
        let generation = service.store.accounts_generation();
        let key = (generation, caller.bound_project, wanted.map(str::to_owned));
        if let Some(project) = service.projects.get(&key) {
            return Ok(Self {
                caller: caller.clone(),
                project,
            });
        }
        let context = Self::new(conn, caller, wanted).await?;
        service.projects.insert(key, context.project.clone());
        Ok(context)
    }

    /// The context of a request that names a project, or none.
    pub(crate) async fn new(conn: &mut Conn, caller: &Caller, wanted: Option<&str>) -> Result<Self> {
        let project = project_of(conn, caller, wanted).await?;
        Ok(Self {
            caller: caller.clone(),
            project,
        })
    }

    /// A living item by any id; with a kind, only of that kind.
    pub(crate) async fn item(
        &self,
        conn: &mut Conn,
        field: &str,
        id: &str,
        kind: Option<Kind>,
    ) -> Result<Item> {
        self.local_item(conn, &Locals::default(), field, id, kind).await
    }

    /// A living item by any id or by the local name an earlier operation of a batch gave it.
    pub(crate) async fn local_item(
        &self,
        conn: &mut Conn,
        locals: &Locals,
        field: &str,
        id: &str,
        kind: Option<Kind>,
    ) -> Result<Item> {
        let id = locals.resolve(field, id)?;
        let item = self.any_item(conn, &id).await?;
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

    /// An item by any id, deleted or not. A token bound to a project does not see the others.
    //= specs/spexus-http.md#permissions
    //# A token bound to a project MUST show and change nothing of another project.
    pub(crate) async fn any_item(&self, conn: &mut Conn, id: &AnyId) -> Result<Item> {
        let item = items::by_any_id(conn, self.project.id, id).await?;
        let visible = |item: &Item| {
            self.caller
                .bound_project
                .is_none_or(|bound| bound == item.project_id)
        };
        item.filter(visible).ok_or_else(|| items::not_found(id).into())
    }
}

/// The project a caller means: the one named, the one the token is bound to, or the default one.
pub(crate) async fn project_of(conn: &mut Conn, caller: &Caller, wanted: Option<&str>) -> Result<Project> {
    let wanted = wanted.map(|text| project::key("project", text)).transpose()?;
    let found = match (caller.bound_project, &wanted) {
        (Some(bound), _) => projects::by_id(conn, bound).await?,
        (None, wanted) => projects::by_key(conn, wanted.as_deref().unwrap_or(DEFAULT_KEY)).await?,
    };
    match (found, wanted) {
        (Some(project), Some(wanted)) if project.key != wanted => {
            let message = format!("this token works only in the project {}", project.key);
            Err(Refusal::new(Code::AuthzForbidden, message).into())
        }
        (Some(project), _) => Ok(project),
        (None, wanted) => {
            let key = wanted.unwrap_or_else(|| DEFAULT_KEY.into());
            Err(Refusal::field(
                Code::ResourceNotFound,
                "project",
                format!("there is no project {key:?}"),
                "the key of a project",
            )
            .into())
        }
    }
}

/// Refuses a stale revision of something that is not an item: those tell who changed what.
pub(crate) fn check_rev(what: &str, current: i64, expected: Option<i64>) -> Ruled<()> {
    match expected {
        Some(expected) if expected != current => {
            let message = format!("{what} has revision {current} now, not {expected}");
            Err(Refusal::new(Code::StaleRevision, message).fact("current_rev", current))
        }
        _ => Ok(()),
    }
}

/// The nil id marks what belongs to no project: prompts are counted under it.
pub(crate) const NO_PROJECT: Uuid = Uuid::nil();
