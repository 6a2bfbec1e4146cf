//! Projects, and who is what in each.

use super::shell;
use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form};
use crate::mark::{Markup, icon, person};
use crate::shell::Shell;
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::member::{Member, NewMember, ProjectRole};
use spexus_domain::permission::Operation;
use spexus_domain::project::{NewProject, Project};
use spexus_service::account::user;
use spexus_service::{member, project};

#[derive(Template)]
#[template(path = "admin_projects.html")]
struct ProjectsPage {
    shell: Shell,
    projects: Vec<Project>,
    key: String,
    name: String,
    faults: Faults,
}

async fn page(visit: &Visit) -> Answer<ProjectsPage> {
    Ok(ProjectsPage {
        shell: shell(visit, Operation::ManageProjects, visit.texts().projects)?,
        projects: project::list(visit.service(), &visit.caller).await?.data,
        key: String::new(),
        name: String::new(),
        faults: Faults::default(),
    })
}

/// The list.
pub(crate) async fn list(visit: Visit) -> Answer {
    html(&page(&visit).await?)
}

/// A new project.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectRequest {
    #[serde(default)]
    key: String,
    #[serde(default)]
    name: String,
}

/// Makes a project.
pub(crate) async fn create(visit: Visit, Form(wanted): Form<ProjectRequest>) -> Answer {
    let input = NewProject {
        key: wanted.key.clone(),
        name: Some(wanted.name.clone()).filter(|name| !name.trim().is_empty()),
        ..NewProject::default()
    };
    match project::create(visit.service(), &visit.caller, input).await {
        Ok(made) => Ok(see(&format!("/p/{}/members", made.key))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => {
            let again = ProjectsPage {
                key: wanted.key,
                name: wanted.name,
                faults: Faults::of(&refusal),
                ..page(&visit).await?
            };
            faulty(&again, &refusal)
        }
    }
}

#[derive(Template)]
#[template(path = "admin_members.html")]
struct MembersPage {
    shell: Shell,
    project: Project,
    members: Vec<(Member, Markup)>,
    people: Vec<String>,
    roles: [ProjectRole; 6],
}

/// Who is what in a project; for its owners too.
pub(crate) async fn members(visit: Visit, Path(key): Path<String>) -> Answer {
    let project = visit.project(&key).await?;
    visit.ask(Operation::ManageMembers, &project)?;
    let (service, caller, t) = (visit.service(), &visit.caller, visit.texts());
    let found = member::list(service, caller, Some(&project.key)).await?;
    let row = |member: Member| {
        let since = when(t, member.since, visit.now());
        (member, since)
    };
    let people = user::names(service, caller).await?;
    html(&MembersPage {
        shell: visit
            .shell_in(&project, crate::shell::View::Inside, t.members)
            .await?,
        members: found.data.into_iter().map(row).collect(),
        people: people
            .data
            .into_iter()
            .filter(|known| known.active)
            .map(|known| known.username)
            .collect(),
        roles: ProjectRole::ALL,
        project,
    })
}

/// Who is to be what.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Put {
    member: String,
    role: String,
}

/// Makes somebody something in a project.
pub(crate) async fn put_member(visit: Visit, Path(key): Path<String>, Form(put): Form<Put>) -> Answer {
    let input = NewMember { role: put.role };
    member::put(visit.service(), &visit.caller, Some(&key), &put.member, input).await?;
    Ok(see(&format!("/p/{key}/members")))
}

/// Whose place is to go.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gone {
    member: String,
}

/// Takes somebody's place in a project away.
pub(crate) async fn remove_member(visit: Visit, Path(key): Path<String>, Form(gone): Form<Gone>) -> Answer {
    member::remove(visit.service(), &visit.caller, Some(&key), &gone.member).await?;
    Ok(see(&format!("/p/{key}/members")))
}
