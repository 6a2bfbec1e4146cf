//! Members: who is what in a project, by name or by group. It counts from the next request on, and open streams and
//! subscriptions of whoever is out end.

use crate::audit::{self, Happening};
use crate::context::{Context, reading};
use crate::{Service, group, people};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::{Caller, Role, User};
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::member::{GROUP_PREFIX, Group, Member, NewMember, ProjectRole, check_role};
use spexus_domain::permission::Operation;
use spexus_domain::project::Project;
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, Uuid, text};
use spexus_store::{Conn, Result, Tx, members};

/// The members of a project: people by name, then groups.
#[boxed]
pub async fn list(service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<Page<Member>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let found = members::of_project(&mut conn, context.project()?.id).await?;
    Ok(Page::whole(found))
}

/// Makes somebody something in a project, whatever they were before. A group is named `group:NAME`.
#[boxed]
pub async fn put(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    wanted: &str,
    input: NewMember,
) -> Ruled<Member> {
    let wanted = wanted.to_owned();
    let job = service.change(caller, Operation::ManageMembers, project, move |tx, context| {
        Box::pin(async move {
            let project = context.project()?;
            let role = ProjectRole::parse("role", &input.role)?;
            let who = Who::find(&mut tx.conn, &context.caller, &wanted).await?;
            who.check(role)?;
            set(tx, project, &who, Some(role)).await?;
            refuse_without_owner(tx, &context.caller, project).await?;
            Ok(Member {
                member: who.name(),
                id: who.id(),
                role,
                since: tx.now(),
            })
        })
    });
    job.await
}

/// Takes somebody's place in a project away: what is left is what their groups and the project's default role give. Owners
/// take anyone's, and everybody their own.
#[boxed]
pub async fn remove(service: &Service, caller: &Caller, project: Option<&str>, wanted: &str) -> Ruled<()> {
    let (right, wanted) = match is_oneself(caller, wanted) {
        true => (Operation::OwnAccount, "me".to_owned()),
        false => (Operation::ManageMembers, wanted.to_owned()),
    };
    let job = service.change(caller, right, project, move |tx, context| {
        Box::pin(async move {
            let project = context.project()?;
            let who = Who::find(&mut tx.conn, &context.caller, &wanted).await?;
            if who.role(&mut tx.conn, project.id).await?.is_none() {
                let problem = format!("{} is no member of {} by name", who.name(), project.key);
                return Err(Refusal::field(
                    Code::ResourceNotFound,
                    "member",
                    problem,
                    "a member of the project",
                )
                .into());
            }
            set(tx, project, &who, None).await?;
            refuse_without_owner(tx, &context.caller, project).await
        })
    });
    job.await
}

/// Makes whoever makes a project its owner.
pub(crate) async fn make_owner(tx: &mut Tx, project: &Project, caller: &Caller) -> Result<()> {
    let who = Who::find(&mut tx.conn, caller, "me").await?;
    set(tx, project, &who, Some(ProjectRole::Owner)).await
}

/// A member: a user or a group.
enum Who {
    User(User),
    Group(Group),
}

impl Who {
    async fn find(conn: &mut Conn, caller: &Caller, wanted: &str) -> Result<Self> {
        Ok(match wanted.trim().strip_prefix(GROUP_PREFIX) {
            Some(name) => Who::Group(group::find(conn, caller, name).await?),
            None => Who::User(people::find(conn, caller, "member", wanted).await?),
        })
    }

    fn name(&self) -> String {
        match self {
            Who::User(user) => user.username.clone(),
            Who::Group(group) => format!("{GROUP_PREFIX}{}", group.name),
        }
    }

    fn id(&self) -> Uuid {
        match self {
            Who::User(user) => user.id,
            Who::Group(group) => group.id,
        }
    }

    /// Refuses what would be told and not hold.
    fn check(&self, role: ProjectRole) -> Ruled<()> {
        match self {
            Who::User(user) => check_role(user, role),
            Who::Group(_) if role == ProjectRole::None => Err(Refusal::field(
                Code::RuleViolated,
                "role",
                "none shuts one person out, and a group is many",
                "a role, or remove the group from the project",
            )),
            Who::Group(_) => Ok(()),
        }
    }

    async fn role(&self, conn: &mut Conn, project_id: Uuid) -> Result<Option<ProjectRole>> {
        match self {
            Who::User(user) => members::of_user(conn, project_id, user.id).await,
            Who::Group(group) => members::of_group(conn, project_id, group.id).await,
        }
    }

    async fn store(&self, tx: &mut Tx, project_id: Uuid, role: Option<ProjectRole>) -> Result<()> {
        match (self, role) {
            (Who::User(user), Some(role)) => members::put(tx, project_id, user.id, role).await,
            (Who::User(user), None) => members::remove(tx, project_id, user.id).await,
            (Who::Group(group), Some(role)) => members::put_group(tx, project_id, group.id, role).await,
            (Who::Group(group), None) => members::remove_group(tx, project_id, group.id).await,
        }
    }
}

fn is_oneself(caller: &Caller, wanted: &str) -> bool {
    let wanted = wanted.trim();
    wanted.eq_ignore_ascii_case("me")
        || wanted.to_lowercase() == caller.username.to_lowercase()
        || Uuid::try_parse(wanted) == Ok(caller.user_id)
}

/// Writes what somebody is from now on, with its history and its line in the audit trail.
//= specs/spexus-service.md#members
//# A change of members MUST be told in the history and in the audit trail, and MUST count from the next request on.
async fn set(tx: &mut Tx, project: &Project, who: &Who, role: Option<ProjectRole>) -> Result<()> {
    let before = who.role(&mut tx.conn, project.id).await?;
    if before == role {
        return Ok(());
    }
    who.store(tx, project.id, role).await?;
    let action = match (before, role) {
        (None, _) => Action::Created,
        (Some(_), None) => Action::Deleted,
        (Some(_), Some(_)) => Action::Updated,
    };
    let fields = |role: ProjectRole| Attributes::from_iter([("role".to_owned(), role.name().into())]);
    let label = format!("{} in {}", who.name(), project.key);
    let change = NewChange::new(Entity::Member, who.id(), &label, action, 1)
        .in_project(project.id)
        .fields(before.map(fields), role.map(fields).unwrap_or_default());
    tx.record(change).await?;
    let named = |role: Option<ProjectRole>| role.map_or("no member", ProjectRole::name);
    let detail = format!("{}: {} to {}", project.key, named(before), named(role));
    audit::record(tx, Happening::MemberChanged, Some(who.id()), &who.name(), &detail).await
}

/// Refuses to leave a project without an owner; administrators may, because they can always name another.
//= specs/spexus-service.md#members
//# The last owner of a project MUST NOT leave it or give the role up; an administrator MAY take it.
async fn refuse_without_owner(tx: &mut Tx, caller: &Caller, project: &Project) -> Result<()> {
    if caller.role == Role::Administrator || members::count_owners(&mut tx.conn, project.id).await? > 0 {
        return Ok(());
    }
    let message = format!("{} would have no owner", text::excerpt(&project.key, 60));
    Err(Refusal::new(Code::RuleViolated, message)
        .hint("Make somebody else an owner first.")
        .into())
}
