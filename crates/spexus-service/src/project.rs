//! Projects.

use crate::context::{Context, check_rev, project_of, reading};
use crate::{Service, member};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::attribute::{self, Attributes};
use spexus_domain::change::{Action, Entity, NewChange};
use spexus_domain::permission::Operation;
use spexus_domain::project::{NewProject, Project, ProjectPatch, default_role, key};
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled, text};
use spexus_store::{Result, Tx, projects};

/// The projects a caller can see.
#[boxed]
pub async fn list(service: &Service, caller: &Caller) -> Ruled<Page<Project>> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let mut all = projects::all(&mut conn).await?;
    all.retain(|project| caller.sees(project.id));
    Ok(Page::whole(all))
}

/// One project by its key.
#[boxed]
pub async fn get(service: &Service, caller: &Caller, wanted: &str) -> Ruled<Project> {
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    project_of(&mut conn, caller, Operation::Read, Some(wanted))
        .await
        .map_err(Refusal::from)
}

/// The key of the project a caller works in without naming one: the one the token is bound to, else the default one.
#[boxed]
pub async fn key_of(service: &Service, caller: &Caller) -> Ruled<String> {
    if let Some(context) = Context::remembered(service, caller, Operation::ReadSettings)? {
        return Ok(context.project()?.key.clone());
    }
    let mut conn = reading(service, caller, Operation::ReadSettings).await?;
    let context = Context::of_read(service, &mut conn, caller, None).await?;
    Ok(context.project()?.key.clone())
}

/// The project a request is about: the one it names, the one its token is bound to, or the default one.
#[boxed]
pub async fn of_request(service: &Service, caller: &Caller, wanted: Option<&str>) -> Ruled<Project> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    project_of(&mut conn, caller, Operation::Read, wanted)
        .await
        .map_err(Refusal::from)
}

/// Makes a project.
#[boxed]
pub async fn create(service: &Service, caller: &Caller, input: NewProject) -> Ruled<Project> {
    let usual = service.default_role;
    let job = service.change_anywhere(caller, Operation::ManageProjects, move |tx, caller| {
        Box::pin(async move {
            let key = key("key", &input.key)?;
            let name = text::title("name", input.name.as_deref().unwrap_or(&key))?;
            attribute::check_rules(&input.attributes)?;
            if projects::by_key(&mut tx.conn, &key).await?.is_some() {
                return Err(Refusal::field(
                    Code::EntityDuplicate,
                    "key",
                    format!("{key:?} is taken"),
                    "another key",
                )
                .into());
            }
            let project = Project {
                id: tx.new_id(),
                key,
                name,
                description: text::description("description", &input.description)?,
                attributes: input.attributes,
                default_role: match &input.default_role {
                    Some(role) => default_role("default_role", role)?,
                    None => usual,
                },
                prefix_references: input.prefix_references,
                rev: 1,
                created_at: tx.now(),
                updated_at: tx.now(),
            };
            projects::insert(tx, &project).await?;
            record(tx, Action::Created, None, &project).await?;
            //= specs/spexus-service.md#members
            //# Whoever makes a project MUST be its owner, and nobody else MUST be a member of it unless its default role says so.
            member::make_owner(tx, &project, &caller).await?;
            Ok(project)
        })
    });
    job.await
}

/// Changes a project.
#[boxed]
pub async fn update(service: &Service, caller: &Caller, wanted: &str, patch: ProjectPatch) -> Ruled<Project> {
    let wanted = wanted.to_owned();
    let job = service.change_anywhere(caller, Operation::UpdateProject, move |tx, caller| {
        Box::pin(async move {
            let before = project_of(&mut tx.conn, &caller, Operation::UpdateProject, Some(&wanted)).await?;
            check_rev("this project", before.rev, patch.expect_rev)?;
            let mut project = before.clone();
            if let Some(name) = &patch.name {
                project.name = text::title("name", name)?;
            }
            if let Some(description) = &patch.description {
                project.description = text::description("description", description)?;
            }
            if let Some(attributes) = patch.attributes {
                attribute::check_rules(&attributes)?;
                project.attributes = attributes;
            }
            if let Some(role) = &patch.default_role {
                project.default_role = default_role("default_role", role)?;
            }
            if let Some(wanted) = patch.prefix_references {
                project.prefix_references = wanted;
            }
            if project == before {
                return Ok(before);
            }
            project.rev += 1;
            project.updated_at = tx.now();
            projects::update(tx, &project).await?;
            record(tx, Action::Updated, Some(&before), &project).await?;
            Ok(project)
        })
    });
    job.await
}

async fn record(tx: &mut Tx, action: Action, before: Option<&Project>, after: &Project) -> Result<()> {
    let fields = |project: &Project| {
        Attributes::from_iter([
            ("name".to_owned(), project.name.clone().into()),
            ("description".to_owned(), project.description.clone().into()),
            ("default_role".to_owned(), project.default_role.name().into()),
            ("prefix_references".to_owned(), project.prefix_references.into()),
            (
                "attributes".to_owned(),
                serde_json::to_value(&project.attributes).unwrap_or_default(),
            ),
        ])
    };
    let change = NewChange::new(Entity::Project, after.id, &after.key, action, after.rev)
        .in_project(after.id)
        .fields(before.map(fields), fields(after));
    tx.record(change).await.map(drop)
}
