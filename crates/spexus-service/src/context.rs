//! What every use case needs first: who asks, and the project it happens in. Which item an id means stands in
//! `resolve.rs`.

use crate::Service;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::project::{self, DEFAULT_KEY, Project};
use spexus_domain::visibility::Visibility;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Result, projects};

/// Who asks, and where.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) caller: Caller,
    /// The project named, the one the token is bound to, or the default one: where new things come to be.
    pub(crate) project: Project,
    /// Whether the request named the project. Then everything it speaks of has to be there.
    pub(crate) is_named: bool,
}

/// Projects by what a caller asked for, each good for one generation of accounts.
pub(crate) type Projects = moka::sync::Cache<(u64, Option<Uuid>, Option<String>), Project>;

/// A connection to read with, for a caller who may.
pub(crate) async fn reading(service: &Service, caller: &Caller, operation: Operation) -> Ruled<Conn> {
    //= specs/spexus-service.md#permissions
    //# Every use case MUST ask for its right before it reads or writes anything.
    caller.may(operation)?;
    service.store.read().await.map_err(Refusal::from)
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
                is_named: wanted.is_some(),
            });
        }
        let context = Self::new(conn, caller, wanted).await?;
        service.projects.insert(key, context.project.clone());
        Ok(context)
    }

    /// The context of a request that names a project, or none.
    pub(crate) async fn new(conn: &mut Conn, caller: &Caller, wanted: Option<&str>) -> Result<Self> {
        Ok(Self {
            project: project_of(conn, caller, wanted).await?,
            caller: caller.clone(),
            is_named: wanted.is_some(),
        })
    }

    /// The context of a part of the request that may name a project of its own, but not another than the whole does.
    //= specs/spexus-service.md#projects
    //# A `project` that is accepted MUST be obeyed, and one that contradicts what the request names otherwise MUST be refused.
    pub(crate) async fn of_part(&self, conn: &mut Conn, wanted: Option<&str>) -> Result<Self> {
        let Some(wanted) = wanted else {
            return Ok(self.clone());
        };
        let part = Self::new(conn, &self.caller, Some(wanted)).await?;
        if self.is_named && part.project.id != self.project.id {
            let problem = format!(
                "is {}, but the request names the project {}",
                part.project.key, self.project.key
            );
            return Err(Refusal::field(
                Code::InvalidParams,
                "project",
                problem,
                "one of the two, not both",
            )
            .into());
        }
        Ok(part)
    }
}

/// The project a caller means: the one named, the one the token is bound to, or the default one.
pub(crate) async fn project_of(conn: &mut Conn, caller: &Caller, wanted: Option<&str>) -> Result<Project> {
    let wanted = wanted.map(|text| project::key("project", text)).transpose()?;
    let found = match (caller.visibility(), &wanted) {
        (Visibility::Only(bound), _) => projects::by_id(conn, bound).await?,
        (Visibility::Every, wanted) => {
            projects::by_key(conn, wanted.as_deref().unwrap_or(DEFAULT_KEY)).await?
        }
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
