//! Who belongs to projects: members and groups.

use super::admin::{done, name, row};
use super::items::{pages, rows};
use super::spec::{Effect, Invocation, Spec};
use super::structure::page_request;
use crate::render::{Answer, part_of};
use crate::schema::{choice, text};
use mcp_protocol::Arguments;
use serde_json::json;
use spexus_domain::Ruled;
use spexus_domain::member::{Group, Member, NewGroup, NewMember, ProjectRole};
use spexus_domain::permission::Operation;
use spexus_service::{group, member};

const WHO: &str = "a user, or group:NAME";

/// The tools of members and groups.
pub(super) fn tools() -> Vec<Spec> {
    let roles = ProjectRole::ALL.map(ProjectRole::name);
    vec![
        row(
            "list_members",
            "List members",
            "Lists who belongs to a project, and as what.",
            Effect::Read,
            Operation::Read,
            [text("project", "")].into_iter().chain(pages()),
            rows(),
            list_members,
        ),
        row(
            "put_member",
            "Set a member",
            "Makes somebody a member of a project, or changes what they are in it. `none` shuts one person out.",
            Effect::Set,
            Operation::ManageMembers,
            [
                text("project", ""),
                text("member", WHO).required(),
                choice("role", &roles, "").required(),
            ],
            done(),
            put_member,
        ),
        row(
            "remove_member",
            "Remove a member",
            "Takes somebody's place in a project away.",
            Effect::Remove,
            Operation::OwnAccount,
            [text("project", ""), text("member", WHO).required()],
            done(),
            remove_member,
        ),
        row(
            "list_groups",
            "List groups",
            "Lists groups of users.",
            Effect::Read,
            Operation::ReadSettings,
            pages(),
            rows(),
            list_groups,
        ),
        row(
            "create_group",
            "Create a group",
            "Makes a group of users, with nobody in it.",
            Effect::Add,
            Operation::ManageUsers,
            [name("name")],
            done(),
            create_group,
        ),
        row(
            "delete_group",
            "Delete a group",
            "Removes a group, and with it what it was in projects.",
            Effect::Remove,
            Operation::ManageUsers,
            [name("name")],
            done(),
            delete_group,
        ),
        row(
            "add_to_group",
            "Add to a group",
            "Takes a user into a group.",
            Effect::Set,
            Operation::ManageUsers,
            [name("name"), name("user")],
            done(),
            add_to_group,
        ),
        row(
            "remove_from_group",
            "Remove from a group",
            "Takes a user out of a group.",
            Effect::Remove,
            Operation::ManageUsers,
            [name("name"), name("user")],
            done(),
            remove_from_group,
        ),
    ]
}

async fn list_members(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = member::list(&invocation.service, &invocation.caller, arguments.text("project")).await?;
    let page = page_request(&arguments)?;
    let row = |one: &Member| json!(format!("{}: {}", one.member, one.role.name()));
    Ok(part_of("members", found, &page, row))
}

async fn put_member(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let role = arguments.text("role").unwrap_or_default().to_owned();
    let made = member::put(
        &invocation.service,
        &invocation.caller,
        arguments.text("project"),
        arguments.text("member").unwrap_or_default(),
        NewMember { role },
    )
    .await?;
    Ok(Answer::new(
        format!("{} is {}.", made.member, made.role.name()),
        json!({ "done": made }),
    ))
}

async fn remove_member(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let wanted = arguments.text("member").unwrap_or_default();
    let project = arguments.text("project");
    member::remove(&invocation.service, &invocation.caller, project, wanted).await?;
    Ok(Answer::new(
        format!("{wanted} has no place of their own any more."),
        json!({ "done": { "member": wanted, "removed": true } }),
    ))
}

async fn list_groups(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = group::list(&invocation.service, &invocation.caller).await?;
    let page = page_request(&arguments)?;
    Ok(part_of("groups", found, &page, |one| json!(one)))
}

async fn create_group(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let name = arguments.text("name").unwrap_or_default().to_owned();
    let made = group::create(&invocation.service, &invocation.caller, NewGroup { name }).await?;
    Ok(summary("Created", &made))
}

async fn delete_group(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let name = arguments.text("name").unwrap_or_default();
    let gone = group::delete(&invocation.service, &invocation.caller, name).await?;
    Ok(summary("Removed", &gone))
}

async fn add_to_group(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (name, user) = named(&arguments);
    let changed = group::add(&invocation.service, &invocation.caller, name, user).await?;
    Ok(summary("Changed", &changed))
}

async fn remove_from_group(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (name, user) = named(&arguments);
    let changed = group::remove(&invocation.service, &invocation.caller, name, user).await?;
    Ok(summary("Changed", &changed))
}

fn named(arguments: &Arguments) -> (&str, &str) {
    let text = |field| arguments.text(field).unwrap_or_default();
    (text("name"), text("user"))
}

fn summary(what: &str, group: &Group) -> Answer {
    Answer::new(
        format!("{what} the group {}.", group.name),
        json!({ "done": group }),
    )
}
