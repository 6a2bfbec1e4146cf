use super::InProject;
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params};
use crate::respond::{Answer, Tagged, one_rev};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::Kind;
use spexus_domain::item::{Item, ItemPatch, Move};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item;
use utoipa::ToSchema;

/// Change an item; fields left out stay as they are.
#[utoipa::path(
    patch, path = "/api/v1/{kind}/{id}", operation_id = "update", request_body = ItemPatch,
    params(("id" = String, Path, description = "Any id."), InProject,
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Item), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn update_item(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    headers: HeaderMap,
    Input(mut patch): Input<ItemPatch>,
) -> Answer<impl IntoResponse> {
    patch.expect_rev = one_rev(&headers, patch.expect_rev)?;
    let item = item::update(
        &app.service,
        &caller,
        params.project.as_deref(),
        Some(kind),
        &id,
        patch,
    )
    .await?;
    Ok(Tagged::ok(item.rev, item))
}

/// A step in the workflow.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatusInput {
    /// The status it moves to.
    status: String,
    /// The revision this change was made against.
    expect_rev: Option<i64>,
}

/// Move an item along its workflow.
#[utoipa::path(
    patch, path = "/api/v1/{kind}/{id}/status", operation_id = "set_status", request_body = StatusInput,
    params(("id" = String, Path, description = "Any id."), InProject,
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Item), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn set_status(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    headers: HeaderMap,
    Input(input): Input<StatusInput>,
) -> Answer<impl IntoResponse> {
    let expect_rev = one_rev(&headers, input.expect_rev)?;
    let patch = ItemPatch {
        status: Some(input.status),
        expect_rev,
        ..ItemPatch::default()
    };
    let item = item::update(
        &app.service,
        &caller,
        params.project.as_deref(),
        Some(kind),
        &id,
        patch,
    )
    .await?;
    Ok(Tagged::ok(item.rev, item))
}

/// Who is to work on an item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssignInput {
    /// A user name, or `null` for nobody.
    #[serde(alias = "assignee_id")]
    assignee: Option<String>,
    /// The revision this change was made against.
    expect_rev: Option<i64>,
}

/// Assign an item to someone, or to nobody.
#[utoipa::path(
    patch, path = "/api/v1/{kind}/{id}/assign", operation_id = "assign", request_body = AssignInput,
    params(("id" = String, Path, description = "Any id."), InProject,
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Item), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn assign(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    headers: HeaderMap,
    Input(input): Input<AssignInput>,
) -> Answer<impl IntoResponse> {
    let expect_rev = one_rev(&headers, input.expect_rev)?;
    let patch = ItemPatch {
        assignee: Some(input.assignee),
        expect_rev,
        ..ItemPatch::default()
    };
    let item = item::update(
        &app.service,
        &caller,
        params.project.as_deref(),
        Some(kind),
        &id,
        patch,
    )
    .await?;
    Ok(Tagged::ok(item.rev, item))
}

/// Move an item to another container or another place.
#[utoipa::path(
    post, path = "/api/v1/{kind}/{id}/move", operation_id = "move", request_body = Move,
    params(("id" = String, Path, description = "Any id."), InProject,
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Item), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn move_item(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    headers: HeaderMap,
    Input(mut to): Input<Move>,
) -> Answer<impl IntoResponse> {
    to.expect_rev = one_rev(&headers, to.expect_rev)?;
    let item = item::move_to(
        &app.service,
        &caller,
        params.project.as_deref(),
        Some(kind),
        &id,
        to,
    )
    .await?;
    Ok(Tagged::ok(item.rev, item))
}
