//! Links, by their own ids.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params, uuid};
use crate::item::InProject;
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use spexus_domain::link::{Link, NewLink};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::link;

/// Link two items.
#[utoipa::path(
    post, path = "/api/v1/links", tag = "links", request_body = NewLink, params(InProject),
    responses((status = 201, body = Link), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_link(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<InProject>,
    Input(input): Input<NewLink>,
) -> Answer<impl IntoResponse> {
    let link = link::create(&app.service, &caller, params.project.as_deref(), input).await?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// Say that a suspect link still holds.
#[utoipa::path(
    post, path = "/api/v1/links/{id}/confirm", tag = "links", params(("id" = String, Path, description = "The id of the link.")),
    responses((status = 200, body = Link), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn confirm_link(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
) -> Answer<Json<Link>> {
    Ok(Json(link::confirm(&app.service, &caller, uuid(&id)?).await?))
}

/// End a link.
#[utoipa::path(
    delete, path = "/api/v1/links/{id}", tag = "links", params(("id" = String, Path, description = "The id of the link.")),
    responses((status = 200, body = Link), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_link(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
) -> Answer<Json<Link>> {
    Ok(Json(link::delete(&app.service, &caller, uuid(&id)?).await?))
}
