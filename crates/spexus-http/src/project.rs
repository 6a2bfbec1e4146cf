//! Projects.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, PageParams, Params};
use crate::respond::Json;
use crate::respond::{Answer, Tagged, one_rev};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use spexus_domain::project::{NewProject, Project, ProjectPatch};
use spexus_domain::query::Page;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::project;

/// List the projects.
#[utoipa::path(
    get, path = "/api/v1/projects", tag = "projects", params(PageParams),
    responses((status = 200, body = Page<Project>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_projects(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<PageParams>,
) -> Answer<Json<Page<Project>>> {
    let page = params.page()?;
    Ok(Json(project::list(&app.service, &caller).await?.part(&page)))
}

/// Read a project.
#[utoipa::path(
    get, path = "/api/v1/projects/{key}", tag = "projects", params(("key" = String, Path, description = "Its key.")),
    responses((status = 200, body = Project), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_project(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(key): Id,
) -> Answer<impl IntoResponse> {
    let project = project::get(&app.service, &caller, &key).await?;
    Ok(Tagged::ok(project.rev, project))
}

/// Make a project.
#[utoipa::path(
    post, path = "/api/v1/projects", tag = "projects", request_body = NewProject,
    responses((status = 201, body = Project), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_project(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Input(input): Input<NewProject>,
) -> Answer<impl IntoResponse> {
    let project = project::create(&app.service, &caller, input).await?;
    Ok(Tagged::created(
        project.rev,
        format!("/api/v1/projects/{}", project.key),
        project,
    ))
}

/// Change a project.
#[utoipa::path(
    patch, path = "/api/v1/projects/{key}", tag = "projects", request_body = ProjectPatch,
    params(("key" = String, Path, description = "Its key."),
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Project), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn update_project(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(key): Id,
    headers: HeaderMap,
    Input(mut patch): Input<ProjectPatch>,
) -> Answer<impl IntoResponse> {
    patch.expect_rev = one_rev(&headers, patch.expect_rev)?;
    let project = project::update(&app.service, &caller, &key, patch).await?;
    Ok(Tagged::ok(project.rev, project))
}
