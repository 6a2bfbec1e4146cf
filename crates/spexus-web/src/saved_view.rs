//! Saved views: the list of them, and the address by which a view is sent to somebody.

use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form};
use crate::mark::{icon, person};
use crate::shell::{Shell, View};
use crate::visit::Visit;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::Refusal;
use spexus_domain::permission::Operation;
use spexus_domain::saved_view::{NewView, SavedView, ViewPatch};
use spexus_service::saved_view;

/// The address of a view that can be sent: what it leads to follows the view.
pub(crate) fn address(view: &SavedView) -> String {
    format!("/p/{}/views/{}", view.project, view.id)
}

#[derive(Template)]
#[template(path = "views.html")]
struct ViewsPage {
    shell: Shell,
    key: String,
    rows: Vec<Row>,
    can_share: bool,
    /// What was to be saved and could not be.
    new: Option<Named>,
    faults: Faults,
}

struct Row {
    view: SavedView,
    page: &'static str,
    can_change: bool,
}

async fn page(visit: &Visit, key: &str) -> Answer<ViewsPage> {
    let project = visit.project(key).await?;
    let t = visit.texts();
    let found = saved_view::list(visit.service(), &visit.caller, Some(&project.key)).await?;
    let can_save = visit.may(Operation::SaveView, &project);
    let can_share = visit.may(Operation::ShareView, &project);
    let row = |view: SavedView| Row {
        page: View::of_saved(view.page).words(t),
        can_change: if view.shared { can_share } else { can_save },
        view,
    };
    Ok(ViewsPage {
        shell: visit.shell_in(&project, View::Inside, t.saved_views).await?,
        rows: found.data.into_iter().map(row).collect(),
        can_share,
        new: None,
        faults: Faults::default(),
        key: project.key,
    })
}

/// All views of a project.
pub(crate) async fn list(visit: Visit, Path(key): Path<String>) -> Answer {
    html(&page(&visit, &key).await?)
}

/// To what a view shows.
//= specs/spexus-web.md#saved-views
//# A page that is saved MUST open as it was by an address that can be sent.
pub(crate) async fn open(visit: Visit, Path((key, id)): Path<(String, String)>) -> Answer {
    let view = saved_view::get(visit.service(), &visit.caller, Some(&key), &id).await?;
    Ok(see(&view.address()))
}

/// What is saved, under which name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    #[serde(default)]
    name: String,
    page: String,
    #[serde(default)]
    query: String,
    #[serde(default)]
    shared: bool,
}

/// Saves a page as it is.
pub(crate) async fn create(visit: Visit, Path(key): Path<String>, Form(named): Form<Named>) -> Answer {
    let input = NewView {
        name: named.name.clone(),
        page: named.page.clone(),
        query: named.query.clone(),
        shared: named.shared,
        project: Some(key.clone()),
    };
    match saved_view::create(visit.service(), &visit.caller, input).await {
        Ok(made) => Ok(see(&address(&made))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => again(&visit, &key, Some(named), &refusal).await,
    }
}

/// What a view becomes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Changed {
    name: String,
    rev: i64,
    #[serde(default)]
    shared: bool,
}

/// Renames a view, and shares it or not.
pub(crate) async fn update(
    visit: Visit,
    Path((key, id)): Path<(String, String)>,
    Form(changed): Form<Changed>,
) -> Answer {
    let patch = ViewPatch {
        name: Some(changed.name),
        shared: Some(changed.shared),
        query: None,
        expect_rev: Some(changed.rev),
    };
    match saved_view::update(visit.service(), &visit.caller, Some(&key), &id, patch).await {
        Ok(done) => Ok(see(&format!("/p/{}/views", done.project))),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => again(&visit, &key, None, &refusal).await,
    }
}

/// Removes a view.
pub(crate) async fn remove(visit: Visit, Path((key, id)): Path<(String, String)>) -> Answer {
    let gone = saved_view::delete(visit.service(), &visit.caller, Some(&key), &id).await?;
    Ok(see(&format!("/p/{}/views", gone.project)))
}

async fn again(visit: &Visit, key: &str, new: Option<Named>, refusal: &Refusal) -> Answer {
    let again = ViewsPage {
        new,
        faults: Faults::of(refusal),
        ..page(visit, key).await?
    };
    faulty(&again, refusal)
}
