//! Running the installation: people, tokens, projects, types, workflows and the audit trail.

use super::items::{pages, rows};
use super::links::uuid;
use super::spec::{Effect, Invocation, Spec, read, take};
use super::structure::page_request;
use crate::Toolset;
use crate::render::{Answer, part_of, rows_of};
use crate::schema::{Field, answer, choice, field, flag, number, object, text};
use mcp_protocol::Arguments;
use serde_json::{Value, json};
use spexus_domain::account::UserPatch;
use spexus_domain::audit::EventFilter;
use spexus_domain::permission::Operation;
use spexus_domain::project::{NewProject, Project, ProjectPatch};
use spexus_domain::{Kind, Ruled};
use spexus_service::account::{token, user};
use spexus_service::audit::Verdict;
use spexus_service::{audit, project, settings};
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::watch;

/// The tools of administrators.
pub(super) fn tools() -> Vec<Spec> {
    let read = Operation::ReadSettings;
    vec![
        row(
            "list_users",
            "List users",
            "Lists the users with their roles.",
            Effect::Read,
            read,
            pages(),
            rows(),
            list_users,
        ),
        row(
            "update_user",
            "Update a user",
            "Changes a user's role or e-mail address, or disables the account.",
            Effect::Set,
            Operation::ManageUsers,
            [
                name("user"),
                choice("role", &["Administrator", "User", "Commenter"], ""),
                text("email", ""),
                flag("active", ""),
                number("expect_rev", ""),
            ],
            done(),
            update_user,
        ),
        row(
            "list_tokens",
            "List tokens",
            "Lists tokens without their secrets: one's own, or a user's.",
            Effect::Read,
            Operation::OwnAccount,
            [text("user", "")].into_iter().chain(pages()),
            rows(),
            list_tokens,
        ),
        row(
            "revoke_token",
            "Revoke a token",
            "Ends a token at once.",
            Effect::Remove,
            Operation::OwnAccount,
            [text("token_id", "UUID").required()],
            done(),
            revoke_token,
        ),
        row(
            "list_projects",
            "List projects",
            "Lists the projects.",
            Effect::Read,
            read,
            pages(),
            rows(),
            list_projects,
        ),
        row(
            "create_project",
            "Create a project",
            "Makes a project.",
            Effect::Add,
            Operation::ManageProjects,
            [
                text("key", "lower-case letters, digits, dashes").required(),
                text("name", ""),
                text("description", ""),
                attributes(),
                default_role(),
                prefix_references(),
            ],
            done(),
            create_project,
        ),
        row(
            "update_project",
            "Update a project",
            "Changes a project; fields left out stay.",
            Effect::Set,
            Operation::UpdateProject,
            [
                name("key"),
                text("name", ""),
                text("description", ""),
                attributes(),
                default_role(),
                prefix_references(),
                number("expect_rev", ""),
            ],
            done(),
            update_project,
        ),
        row(
            "put_requirement_type",
            "Set a requirement type",
            "Makes a requirement type or changes what it means.",
            Effect::Set,
            Operation::ManageSettings,
            [name("name"), text("description", "")],
            done(),
            put_type,
        ),
        row(
            "delete_requirement_type",
            "Delete a requirement type",
            "Removes a requirement type nothing uses.",
            Effect::Remove,
            Operation::ManageSettings,
            [name("name")],
            done(),
            delete_type,
        ),
        row(
            "put_relationship_type",
            "Set a relationship type",
            "Makes a relationship type or changes its rules.",
            Effect::Set,
            Operation::ManageSettings,
            [
                name("name"),
                name("inverse"),
                text("description", ""),
                kinds("sources"),
                kinds("targets"),
                flag("acyclic", ""),
            ],
            done(),
            put_link_type,
        ),
        row(
            "delete_relationship_type",
            "Delete a relationship type",
            "Removes a relationship type nothing uses.",
            Effect::Remove,
            Operation::ManageSettings,
            [name("name")],
            done(),
            delete_link_type,
        ),
        row(
            "put_workflow",
            "Set a workflow",
            "Replaces the statuses and transitions of a kind; a transition may demand evidence.",
            Effect::Set,
            Operation::ManageSettings,
            [
                name("kind"),
                objects("statuses", "{name, initial, final}"),
                objects("transitions", "{from, to, evidence?: passed, executed, affirmed}"),
                number("expect_rev", ""),
            ],
            done(),
            put_workflow,
        ),
        row(
            "list_audit_events",
            "List audit events",
            "Lists logins, tokens used and operations of agents, newest first.",
            Effect::Read,
            Operation::Audit,
            pages(),
            rows(),
            list_events,
        ),
        row(
            "verify_history",
            "Verify the history",
            "Checks that nobody altered the history.",
            Effect::Read,
            Operation::Audit,
            [],
            done(),
            verify,
        )
        .alone()
        .long(),
    ]
}

#[allow(clippy::too_many_arguments, reason = "one row of a table")]
pub(super) fn row<F, Fut>(
    tool: &'static str,
    title: &'static str,
    description: &str,
    effect: Effect,
    right: Operation,
    fields: impl IntoIterator<Item = Field>,
    output: Value,
    run: F,
) -> Spec
where
    F: Fn(Invocation, Arguments) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Ruled<Answer>> + Send + 'static,
{
    Spec::new(tool, title, description, run)
        .does(effect, right)
        .set(Toolset::Admin)
        .takes(object(fields), output)
}

async fn list_users(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = user::names(&invocation.service, &invocation.caller).await?;
    let row = |one: &user::Profile| {
        let mark = if one.active { "" } else { " (disabled)" };
        let role = one.role.map_or(String::new(), |role| format!(" {}", role.name()));
        json!(format!("{}{role}{mark}", one.username))
    };
    Ok(part_of("users", found, &page_request(&arguments)?, row))
}

async fn update_user(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let wanted = take(&mut arguments, "user").unwrap_or_default();
    let patch: UserPatch = read(arguments)?;
    let changed = user::update(&invocation.service, &invocation.caller, &wanted, patch).await?;
    Ok(Answer::new(
        format!("Updated {}.", changed.username),
        json!({ "done": changed }),
    ))
}

async fn list_tokens(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = token::list(&invocation.service, &invocation.caller, arguments.text("user")).await?;
    let page = page_request(&arguments)?;
    Ok(part_of("tokens", found, &page, |one| json!(one)))
}

async fn revoke_token(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let id = uuid("token_id", arguments.text("token_id").unwrap_or_default())?;
    let gone = token::revoke(&invocation.service, &invocation.caller, id).await?;
    Ok(Answer::new(
        format!("Revoked {} of {}.", gone.name, gone.user),
        json!({ "done": gone }),
    ))
}

async fn list_projects(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let found = project::list(&invocation.service, &invocation.caller).await?;
    let row = |one: &Project| json!(format!("{}: {}", one.key, one.name));
    Ok(part_of("projects", found, &page_request(&arguments)?, row))
}

async fn create_project(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let input: NewProject = read(arguments.0)?;
    let made = project::create(&invocation.service, &invocation.caller, input).await?;
    Ok(Answer::new(
        format!("Created the project {}.", made.key),
        json!({ "done": made }),
    ))
}

async fn update_project(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let key = take(&mut arguments, "key").unwrap_or_default();
    let patch: ProjectPatch = read(arguments)?;
    let changed = project::update(&invocation.service, &invocation.caller, &key, patch).await?;
    Ok(Answer::new(
        format!("Updated the project {}.", changed.key),
        json!({ "done": changed }),
    ))
}

async fn put_type(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let kept =
        settings::put_requirement_type(&invocation.service, &invocation.caller, read(arguments.0)?).await?;
    Ok(Answer::new(
        format!("{} is a requirement type.", kept.name),
        json!({ "done": kept }),
    ))
}

async fn delete_type(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let wanted = arguments.text("name").unwrap_or_default();
    let gone = settings::delete_requirement_type(&invocation.service, &invocation.caller, wanted).await?;
    Ok(Answer::new(
        format!("{} is no requirement type any more.", gone.name),
        json!({ "done": gone }),
    ))
}

async fn put_link_type(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let kept = settings::put_link_type(&invocation.service, &invocation.caller, read(arguments.0)?).await?;
    Ok(Answer::new(
        format!("{} is a relationship type.", kept.name),
        json!({ "done": kept }),
    ))
}

async fn delete_link_type(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let wanted = arguments.text("name").unwrap_or_default();
    let gone = settings::delete_link_type(&invocation.service, &invocation.caller, wanted).await?;
    Ok(Answer::new(
        format!("{} is no relationship type any more.", gone.name),
        json!({ "done": gone }),
    ))
}

async fn put_workflow(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let mut arguments = arguments.0;
    let kind = Kind::parse("kind", &take(&mut arguments, "kind").unwrap_or_default())?;
    let kept =
        settings::put_workflow(&invocation.service, &invocation.caller, kind, read(arguments)?).await?;
    Ok(Answer::new(
        format!("{} has a new workflow.", kind.rules().label),
        json!({ "done": kept }),
    ))
}

async fn list_events(invocation: Invocation, arguments: Arguments) -> Ruled<Answer> {
    let (filter, page) = (EventFilter::default(), page_request(&arguments)?);
    let found = audit::list(&invocation.service, &invocation.caller, &filter, page).await?;
    let rows = found.data.iter().map(|one| json!(one)).collect();
    Ok(rows_of(
        "events",
        rows,
        found.total(),
        found.next_cursor.as_deref(),
    ))
}

async fn verify(invocation: Invocation, _: Arguments) -> Ruled<Answer> {
    let mut verdict = verified(&invocation).await?;
    // Whole ledgers need no line each: there may be thousands.
    verdict.ledgers.retain(|ledger| ledger.fault.is_some());
    Ok(Answer::new(
        "The verdict on the history.",
        json!({ "done": verdict }),
    ))
}

/// The verdict; meanwhile whoever waits is told how many changes were looked at.
async fn verified(invocation: &Invocation) -> Ruled<Verdict> {
    let (service, caller) = (&invocation.service, &invocation.caller);
    let changes = audit::changes(service, caller).await?;
    let total = u64::try_from(changes).ok();
    let (far, mut heard) = watch::channel(0);
    let on_progress = Arc::new(move |done| {
        far.send_replace(done);
    });
    let mut work = pin!(audit::verify_watched(service, caller, &[], on_progress));
    loop {
        tokio::select! {
            verdict = &mut work => return verdict,
            Ok(()) = heard.changed() => {
                let done = *heard.borrow_and_update();
                // The head that was counted moves on while it is read.
                let total = total.map(|total| total.max(done));
                invocation.tell(done, total, "changes verified").await;
            }
        }
    }
}

pub(super) fn name(field: &'static str) -> Field {
    text(field, "").required()
}

fn kinds(field_name: &'static str) -> Field {
    field(
        field_name,
        json!({ "type": "array", "items": { "enum": Kind::ALL.map(Kind::name) } }),
    )
}

fn objects(field_name: &'static str, description: &str) -> Field {
    field(
        field_name,
        json!({ "type": "array", "items": { "type": "object" }, "description": description }),
    )
    .required()
}

fn attributes() -> Field {
    field(
        "attributes",
        json!({ "type": "array", "items": { "type": "object" } }),
    )
}

fn default_role() -> Field {
    let roles = &["author", "reviewer", "commenter", "reader", "none"];
    choice("default_role", roles, "of whoever has an account")
}

fn prefix_references() -> Field {
    flag("prefix_references", "show references as WEB-REQ-012")
}

pub(super) fn done() -> Value {
    answer(&[("done", "object")])
}
