//! Groups: named sets of users, who are in a project what their group is.

use crate::audit::{self, Happening};
use crate::context::reading;
use crate::{Service, people};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::attribute::Attributes;
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::member::{Group, NewGroup};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, text};
use spexus_store::{Conn, Error, Result, Tx, groups};

/// The groups a caller may know of: for administrators all, for others those they are in and those that are members of a
/// project they can see.
//= specs/spexus-service.md#members
//# A group MUST NOT exist for a caller who is not in it and sees no project it is a member of.
#[boxed]
pub async fn list(service: &Service, caller: &Caller) -> Ruled<Page<Group>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let all = visible(&mut conn, caller).await?;
    Ok(Page::whole(all))
}

/// Makes a group, with nobody in it.
#[boxed]
pub async fn create(service: &Service, caller: &Caller, input: NewGroup) -> Ruled<Group> {
    let job = service.change_anywhere(caller, Operation::ManageUsers, move |tx, _| {
        Box::pin(async move {
            let name = text::username("name", &input.name)?.to_lowercase();
            if groups::by_name(&mut tx.conn, &name).await?.is_some() {
                let problem = format!("{name:?} is taken");
                return Err(Refusal::field(Code::EntityDuplicate, "name", problem, "another name").into());
            }
            let group = Group {
                id: tx.new_id(),
                name,
                users: vec![],
                rev: 1,
                created_at: tx.now(),
            };
            groups::insert(tx, &group).await?;
            record(tx, Action::Created, None, &group).await?;
            Ok(group)
        })
    });
    job.await
}

/// Takes a user into a group.
#[boxed]
pub async fn add(service: &Service, caller: &Caller, name: &str, user: &str) -> Ruled<Group> {
    change(service, caller, name, user, true).await
}

/// Takes a user out of a group.
#[boxed]
pub async fn remove(service: &Service, caller: &Caller, name: &str, user: &str) -> Ruled<Group> {
    change(service, caller, name, user, false).await
}

/// Removes a group, and with it what it was in projects.
#[boxed]
pub async fn delete(service: &Service, caller: &Caller, name: &str) -> Ruled<Group> {
    let name = name.to_owned();
    let job = service.change_anywhere(caller, Operation::ManageUsers, move |tx, caller| {
        Box::pin(async move {
            let group = find(&mut tx.conn, &caller, &name).await?;
            groups::delete(tx, group.id).await?;
            record(tx, Action::Deleted, Some(&group), &group).await?;
            Ok(group)
        })
    });
    job.await
}

/// A group the caller may know of, by its name.
pub(crate) async fn find(conn: &mut Conn, caller: &Caller, name: &str) -> Result<Group> {
    let name = name.trim().to_lowercase();
    let mut all = visible(conn, caller).await?.into_iter();
    let missing = || {
        let problem = format!("there is no group {:?}", text::excerpt(&name, 60));
        Refusal::field(Code::ResourceNotFound, "group", problem, "the name of a group")
    };
    Ok(all.find(|group| group.name == name).ok_or_else(missing)?)
}

async fn visible(conn: &mut Conn, caller: &Caller) -> Result<Vec<Group>> {
    let mut all = groups::all(conn).await?;
    if caller.visibility().is_complete() {
        return Ok(all);
    }
    let places = groups::places(conn).await?;
    let is_near = |group: &Group| {
        let mut places = places.iter();
        places.any(|(id, project_id)| *id == group.id && caller.sees(*project_id))
    };
    let is_in = |group: &Group| caller.bound_project.is_none() && group.users.contains(&caller.username);
    all.retain(|group| is_in(group) || is_near(group));
    Ok(all)
}

async fn change(service: &Service, caller: &Caller, name: &str, user: &str, is_in: bool) -> Ruled<Group> {
    let (name, user) = (name.to_owned(), user.to_owned());
    let job = service.change_anywhere(caller, Operation::ManageUsers, move |tx, caller| {
        Box::pin(async move {
            let before = find(&mut tx.conn, &caller, &name).await?;
            let user = people::find(&mut tx.conn, &caller, "user", &user).await?;
            let changed = match is_in {
                true => groups::add(tx, before.id, user.id).await?,
                false => groups::remove(tx, before.id, user.id).await?,
            };
            if !changed {
                return Ok(before);
            }
            let after = groups::by_name(&mut tx.conn, &before.name).await?;
            let after = after.ok_or_else(|| Error::Broken("a changed group is gone".into()))?;
            record(tx, Action::Updated, Some(&before), &after).await?;
            Ok(after)
        })
    });
    job.await
}

//= specs/spexus-service.md#members
//# A change of members MUST be told in the history and in the audit trail, and MUST count from the next request on.
async fn record(tx: &mut Tx, action: Action, before: Option<&Group>, after: &Group) -> Result<()> {
    let fields = |group: &Group| Attributes::from_iter([("users".to_owned(), group.users.clone().into())]);
    let change = NewChange::new(Entity::Group, after.id, &after.name, action, after.rev)
        .fields(before.map(fields), fields(after));
    tx.record(change).await?;
    let detail = format!("{}: {}", action.name(), after.users.join(", "));
    audit::record(tx, Happening::GroupChanged, Some(after.id), &after.name, &detail).await
}
