//! Saved views.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params};
use crate::item::{InProject, PageBelow};
use crate::respond::{Answer, Json};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use spexus_domain::query::Page;
use spexus_domain::saved_view::{NewView, SavedView, ViewPatch};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::saved_view;

/// List the views of a project: one's own, and those that are shared.
#[utoipa::path(
    get, path = "/api/v1/views", tag = "views", params(PageBelow),
    responses((status = 200, body = Page<SavedView>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_views(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<PageBelow>,
) -> Answer<Json<Page<SavedView>>> {
    let page = params.page()?;
    let found = saved_view::list(&app.service, &caller, params.project.as_deref()).await?;
    Ok(Json(found.part(&page)))
}

/// Save what a page shows.
#[utoipa::path(
    post, path = "/api/v1/views", tag = "views", request_body = NewView,
    responses((status = 201, body = SavedView), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_view(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Input(input): Input<NewView>,
) -> Answer<impl IntoResponse> {
    let made = saved_view::create(&app.service, &caller, input).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Get a view.
#[utoipa::path(
    get, path = "/api/v1/views/{id}", tag = "views",
    params(("id" = String, Path, description = "The id or the name of the view."), InProject),
    responses((status = 200, body = SavedView), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_view(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
) -> Answer<Json<SavedView>> {
    let project = params.project.as_deref();
    Ok(Json(saved_view::get(&app.service, &caller, project, &id).await?))
}

/// Rename a view, share it or not, or have it show something else.
#[utoipa::path(
    patch, path = "/api/v1/views/{id}", tag = "views", request_body = ViewPatch,
    params(("id" = String, Path, description = "The id or the name of the view."), InProject),
    responses((status = 200, body = SavedView), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn update_view(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    Input(patch): Input<ViewPatch>,
) -> Answer<Json<SavedView>> {
    let project = params.project.as_deref();
    Ok(Json(
        saved_view::update(&app.service, &caller, project, &id, patch).await?,
    ))
}

/// Remove a view; tells what it was.
#[utoipa::path(
    delete, path = "/api/v1/views/{id}", tag = "views",
    params(("id" = String, Path, description = "The id or the name of the view."), InProject),
    responses((status = 200, body = SavedView), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_view(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
) -> Answer<Json<SavedView>> {
    let project = params.project.as_deref();
    Ok(Json(
        saved_view::delete(&app.service, &caller, project, &id).await?,
    ))
}
