//! What every use case needs first: who asks, and the project it happens in. Which item an id means stands in
//! `resolve.rs`.

use crate::Service;
use spexus_domain::account::Caller;
use spexus_domain::permission::Operation;
use spexus_domain::project::{self, DEFAULT_KEY, Project};
use spexus_domain::{Code, ProjectPrefix, Refusal, Ruled, Uuid};
use spexus_store::{Conn, Result, projects};

/// Who asks, what for, and where.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) caller: Caller,
    /// What is asked for. Whatever is found for it is in a project in which the caller may do it.
    operation: Operation,
    /// The project named, the one the token is bound to, or the usual one; none when the caller has no usual one.
    place: Option<Project>,
    /// Whether the request named the project. Then everything it speaks of has to be there.
    pub(crate) is_named: bool,
}

/// Projects by their id, each good for one generation of accounts.
pub(crate) type Projects = moka::sync::Cache<(u64, ProjectRequest), Project>;

/// Which project is meant: one that exists for the caller by its id, or, for those who see all, one by its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProjectRequest {
    Id(Uuid),
    Key(String),
}

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
        named: Option<&str>,
    ) -> Result<Self> {
        let place = match wanted(caller, named)? {
            Some(wanted) => remembered(service, conn, wanted).await?,
            None => None,
        };
        Self::at(caller, Operation::Read, named, place)
    }

    /// The context of a request that only reads and names no project, where its project is remembered.
    pub(crate) fn remembered(
        service: &Service,
        caller: &Caller,
        operation: Operation,
    ) -> Ruled<Option<Self>> {
        caller.may(operation)?;
        let Some(wanted) = wanted(caller, None)? else {
            return Ok(None);
        };
        let known = service
            .projects
            .get(&(service.store.accounts_generation(), wanted));
        Ok(known.map(|project| Self {
            caller: caller.clone(),
            operation: Operation::Read,
            is_named: false,
            place: Some(project),
        }))
    }

    /// The context of a request that names a project, or none.
    pub(crate) async fn new(
        conn: &mut Conn,
        caller: &Caller,
        operation: Operation,
        named: Option<&str>,
    ) -> Result<Self> {
        let place = match wanted(caller, named)? {
            Some(wanted) => look_up(conn, &wanted).await?,
            None => None,
        };
        Self::at(caller, operation, named, place)
    }

    fn at(
        caller: &Caller,
        operation: Operation,
        named: Option<&str>,
        place: Option<Project>,
    ) -> Result<Self> {
        let context = Self {
            caller: caller.clone(),
            operation,
            is_named: named.is_some(),
            place,
        };
        if let Some(named) = named {
            check_named(caller, context.place.as_ref(), named)?;
            context.project()?;
        }
        Ok(context)
    }

    /// The project it happens in, where the caller may do it.
    pub(crate) fn project(&self) -> Ruled<&Project> {
        let project = self
            .place
            .as_ref()
            .ok_or_else(|| no_usual_project(&self.caller))?;
        self.check_right(project.id)?;
        Ok(project)
    }

    /// The id of the project it would happen in.
    pub(crate) fn project_if_any(&self) -> Option<Uuid> {
        self.place.as_ref().map(|project| project.id)
    }

    /// The project it happens in when it is this one, which was found for the caller already.
    pub(crate) fn place_if(&self, id: Uuid) -> Option<&Project> {
        self.place.as_ref().filter(|project| project.id == id)
    }

    /// Refuses what the caller may not do in a project.
    pub(crate) fn check_right(&self, project_id: Uuid) -> Ruled<()> {
        self.caller.may_in(self.operation, project_id)
    }

    /// The project named, or the one the token is bound to: nothing elsewhere is meant by a reference.
    pub(crate) fn fixed_place(&self) -> Option<&Project> {
        let is_fixed = self.is_named || self.caller.bound_project.is_some();
        self.place.as_ref().filter(|_| is_fixed)
    }

    /// The context of a part of the request that may name a project of its own, but not another than the whole does.
    //= specs/spexus-service.md#projects
    //# A `project` that is accepted MUST be obeyed, and one that contradicts what the request names otherwise MUST be refused.
    pub(crate) async fn of_part(&self, conn: &mut Conn, wanted: Option<&str>) -> Result<Self> {
        let Some(wanted) = wanted else {
            return Ok(self.clone());
        };
        let part = Self::new(conn, &self.caller, self.operation, Some(wanted)).await?;
        if self.is_named {
            let (own, whole) = (part.project()?, self.project()?);
            if own.id != whole.id {
                let problem = format!("is {}, but the request names the project {}", own.key, whole.key);
                return Err(Refusal::field(
                    Code::InvalidParams,
                    "project",
                    problem,
                    "one of the two, not both",
                )
                .into());
            }
        }
        Ok(part)
    }
}

/// The project a caller means for an operation: the one named, the one the token is bound to, or the usual one.
pub(crate) async fn project_of(
    conn: &mut Conn,
    caller: &Caller,
    operation: Operation,
    named: Option<&str>,
) -> Result<Project> {
    let context = Context::new(conn, caller, operation, named).await?;
    Ok(context.project()?.clone())
}

/// Which project is to be looked up. Who sees only some projects is answered from a list of these, so that a project that may
/// not be seen takes the very way of one that does not exist.
//= specs/spexus-service.md#members
//# What a caller may not see MUST be refused in the words and with the look-ups of what does not exist.
fn wanted(caller: &Caller, named: Option<&str>) -> Ruled<Option<ProjectRequest>> {
    let named = named.map(|text| project::key("project", text)).transpose()?;
    if let Some(bound) = caller.bound_project {
        return Ok(caller.sees(bound).then_some(ProjectRequest::Id(bound)));
    }
    if caller.visibility().is_complete() {
        return Ok(Some(ProjectRequest::Key(
            named.unwrap_or_else(|| DEFAULT_KEY.into()),
        )));
    }
    let known = &caller.memberships;
    let found = match named {
        Some(key) => known.by_key(&key),
        None => known.by_key(DEFAULT_KEY).or_else(|| known.only()),
    };
    Ok(found.map(ProjectRequest::Id))
}

/// What stands before the references of a project, where it is found.
pub(crate) async fn prefix_of(
    service: &Service,
    conn: &mut Conn,
    wanted: ProjectRequest,
) -> Result<ProjectPrefix> {
    let found = remembered(service, conn, wanted).await?;
    Ok(found.map(|project| project.prefix()).unwrap_or_default())
}

async fn remembered(service: &Service, conn: &mut Conn, wanted: ProjectRequest) -> Result<Option<Project>> {
    let key = (service.store.accounts_generation(), wanted);
    if let Some(project) = service.projects.get(&key) {
        return Ok(Some(project));
    }
    let found = look_up(conn, &key.1).await?;
    if let Some(project) = &found {
        service.projects.insert(key, project.clone());
    }
    Ok(found)
}

async fn look_up(conn: &mut Conn, wanted: &ProjectRequest) -> Result<Option<Project>> {
    match wanted {
        ProjectRequest::Id(id) => projects::by_id(conn, *id).await,
        ProjectRequest::Key(key) => projects::by_key(conn, key).await,
    }
}

/// Refuses a project named that is not the one that was found for the caller.
fn check_named(caller: &Caller, found: Option<&Project>, named: &str) -> Ruled<()> {
    let key = project::key("project", named)?;
    match found {
        Some(project) if project.key == key => Ok(()),
        Some(project) => {
            let message = format!("this token works only in the project {}", project.key);
            Err(Refusal::new(Code::AuthzForbidden, message))
        }
        None if caller.bound_project.is_some() => {
            let message = "this token works only in one project, and its owner is no longer a member of it";
            Err(Refusal::new(Code::AuthzForbidden, message))
        }
        None => Err(no_project(&key)),
    }
}

pub(crate) fn no_project(key: &str) -> Refusal {
    Refusal::field(
        Code::ResourceNotFound,
        "project",
        format!("there is no project {key:?}"),
        "the key of a project",
    )
}

/// The refusal for who names no project and has no usual one.
fn no_usual_project(caller: &Caller) -> Refusal {
    let mut keys: Vec<&str> = caller.memberships.iter().map(|own| own.key.as_str()).collect();
    keys.sort_unstable();
    keys.truncate(MAX_KEYS_TOLD);
    let hint = match keys.is_empty() || caller.bound_project.is_some() {
        true => "Ask an owner of a project to make you a member.".to_owned(),
        false => format!("Name one of yours: {}.", keys.join(", ")),
    };
    no_project(DEFAULT_KEY).hint(hint)
}

/// Keys of projects told at most to who named none.
const MAX_KEYS_TOLD: usize = 10;

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
