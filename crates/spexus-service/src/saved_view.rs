//! Saved views: names for what pages show, one's own or shared with the project.
//!
//! A view that is not shared is there for who saved it and for nobody else; one that is shared is the project's.

use crate::Service;
use crate::context::{Context, check_rev, reading};
use async_recursion::async_recursion as boxed;
use spexus_domain::account::Caller;
use spexus_domain::limits::{MAX_NAME_CHARS, MAX_VIEWS_PER_OWNER};
use spexus_domain::permission::Operation;
use spexus_domain::query::Page;
use spexus_domain::saved_view::{self, NewView, SavedView, ViewPage, ViewPatch};
use spexus_domain::{Code, Refusal, Ruled, Uuid, text};
use spexus_store::{Conn, Result, Tx, saved_views};

/// Views of one answer: those of a hundred people who share all of theirs are too many to choose from.
const MAX_VIEWS_TOLD: u32 = 1_000;

/// The views of a project: one's own, and those that are shared.
#[boxed]
pub async fn list(service: &Service, caller: &Caller, project: Option<&str>) -> Ruled<Page<SavedView>> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    let project_id = context.project()?.id;
    let found = saved_views::of_project(&mut conn, project_id, caller.user_id, MAX_VIEWS_TOLD + 1).await?;
    Ok(Page::beginning(found, MAX_VIEWS_TOLD))
}

/// One view.
#[boxed]
pub async fn get(service: &Service, caller: &Caller, project: Option<&str>, id: &str) -> Ruled<SavedView> {
    let mut conn = reading(service, caller, Operation::Read).await?;
    let context = Context::of_read(service, &mut conn, caller, project).await?;
    Ok(find(&mut conn, &context, id).await?)
}

/// Saves what a page shows.
#[boxed]
pub async fn create(service: &Service, caller: &Caller, input: NewView) -> Ruled<SavedView> {
    let project = input.project.clone();
    let place = (project.as_deref(), None);
    let job = service.change_in(caller, Operation::SaveView, place, move |tx, context| {
        Box::pin(async move {
            let project = context.project()?.clone();
            let view = SavedView {
                id: tx.new_id(),
                project: project.key.clone(),
                name: text::name("name", &input.name)?,
                page: ViewPage::parse("page", &input.page)?,
                query: saved_view::query("query", &input.query)?,
                shared: input.shared,
                owner: tx.actor().username.clone(),
                owner_id: context.caller.user_id,
                rev: 1,
                created_at: tx.now(),
                updated_at: tx.now(),
            };
            if view.shared {
                context.caller.may_in(Operation::ShareView, project.id)?;
            }
            check_room(&mut tx.conn, project.id, &view).await?;
            keep(tx, project.id, &view).await?;
            Ok(view)
        })
    });
    job.await
}

/// Renames a view, shares it or not, or has it show something else.
#[boxed]
pub async fn update(
    service: &Service,
    caller: &Caller,
    project: Option<&str>,
    id: &str,
    patch: ViewPatch,
) -> Ruled<SavedView> {
    let id = id.to_owned();
    let job = service.change_in(
        caller,
        Operation::SaveView,
        (project, None),
        move |tx, context| {
            Box::pin(async move {
                let project_id = context.project()?.id;
                let before = find(&mut tx.conn, &context, &id).await?;
                check_right(&context, project_id, &before)?;
                check_rev("this view", before.rev, patch.expect_rev)?;
                let mut view = before.clone();
                if let Some(name) = &patch.name {
                    view.name = text::name("name", name)?;
                }
                if let Some(query) = &patch.query {
                    view.query = saved_view::query("query", query)?;
                }
                view.shared = patch.shared.unwrap_or(view.shared);
                if view == before {
                    return Ok(before);
                }
                check_right(&context, project_id, &view)?;
                view.rev += 1;
                view.updated_at = tx.now();
                keep(tx, project_id, &view).await?;
                Ok(view)
            })
        },
    );
    job.await
}

/// Removes a view.
#[boxed]
pub async fn delete(service: &Service, caller: &Caller, project: Option<&str>, id: &str) -> Ruled<SavedView> {
    let id = id.to_owned();
    let job = service.change_in(
        caller,
        Operation::SaveView,
        (project, None),
        move |tx, context| {
            Box::pin(async move {
                let project_id = context.project()?.id;
                let view = find(&mut tx.conn, &context, &id).await?;
                check_right(&context, project_id, &view)?;
                saved_views::remove(tx, project_id, view.id).await?;
                Ok(view)
            })
        },
    );
    job.await
}

/// A view of the context's project that the caller finds, by its id or its name; one's own before one that is shared.
//= specs/spexus-service.md#saved-views
//# A view that is not shared MUST be found by nobody but who saved it, and a shared one by whoever may see the project.
async fn find(conn: &mut Conn, context: &Context, id: &str) -> Result<SavedView> {
    let project = context.project()?;
    let user_id = context.caller.user_id;
    let found = match Uuid::try_parse(id) {
        Ok(id) => saved_views::by_id(conn, project.id, user_id, id).await?,
        Err(_) => saved_views::by_name(conn, project.id, user_id, id.trim()).await?,
    };
    let missing = || {
        let id = text::excerpt(id, MAX_NAME_CHARS);
        Refusal::new(Code::ResourceNotFound, format!("there is no view {id:?}"))
    };
    Ok(found.ok_or_else(missing)?)
}

/// What is shared is the project's, and needs more than what is one's own.
//= specs/spexus-service.md#saved-views
//# Only authors MAY share a view with a project, and change or remove one that is shared.
fn check_right(context: &Context, project_id: Uuid, view: &SavedView) -> Ruled<()> {
    match view.shared {
        true => context.caller.may_in(Operation::ShareView, project_id),
        false => Ok(()),
    }
}

async fn check_room(conn: &mut Conn, project_id: Uuid, view: &SavedView) -> Result<()> {
    let saved = saved_views::count(conn, project_id, view.owner_id).await?;
    if saved < MAX_VIEWS_PER_OWNER as i64 {
        return Ok(());
    }
    let message = format!(
        "{} has {saved} views in this project, which is the most",
        view.owner
    );
    let refusal = Refusal::new(Code::RuleViolated, message);
    Err(refusal.hint("Remove one that is no longer used.").into())
}

async fn keep(tx: &mut Tx, project_id: Uuid, view: &SavedView) -> Result<()> {
    if saved_views::is_taken(&mut tx.conn, project_id, view).await? {
        let problem = format!("{:?} is taken", view.name);
        return Err(Refusal::field(Code::EntityDuplicate, "name", problem, "another name").into());
    }
    saved_views::put(tx, project_id, view).await
}
