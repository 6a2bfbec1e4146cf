use super::InProject;
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Params};
use crate::respond::Json;
use crate::respond::{Answer, Tagged, expected_rev};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::Kind;
use spexus_domain::deletion::DeletionPreview;
use spexus_domain::item::Item;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item;
use utoipa::IntoParams;

/// How an item is deleted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeleteParams {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    project: Option<String>,
    /// Delete also what falls with it.
    #[serde(default)]
    force: bool,
}

/// Delete an item; what falls with it needs `force`. Nothing is erased: it can be restored.
#[utoipa::path(
    delete, path = "/api/v1/{kind}/{id}", operation_id = "delete",
    params(("id" = String, Path, description = "Any id."), DeleteParams,
        ("If-Match" = Option<String>, Header, description = "The ETag the deletion was decided on.")),
    responses((status = 200, body = DeletionPreview, description = "What was deleted."), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_item(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<DeleteParams>,
    headers: HeaderMap,
) -> Answer<Json<DeletionPreview>> {
    let rev = expected_rev(&headers)?;
    let project = params.project.as_deref();
    Ok(Json(
        item::delete(&app.service, &caller, project, Some(kind), &id, params.force, rev).await?,
    ))
}

/// Tell what deleting an item would do.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}/deletion-preview", operation_id = "preview_deletion",
    params(("id" = String, Path, description = "Any id."), InProject),
    responses((status = 200, body = DeletionPreview), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn preview_deletion(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
) -> Answer<Json<DeletionPreview>> {
    Ok(Json(
        item::preview(&app.service, &caller, params.project.as_deref(), Some(kind), &id).await?,
    ))
}

/// Bring a deleted item back, with everything that fell with it.
#[utoipa::path(
    post, path = "/api/v1/{kind}/{id}/restore", operation_id = "restore",
    params(("id" = String, Path, description = "Any id."), InProject),
    responses((status = 200, body = Item), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn restore_item(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
) -> Answer<impl IntoResponse> {
    let item = item::restore(&app.service, &caller, params.project.as_deref(), Some(kind), &id).await?;
    Ok(Tagged::ok(item.rev, item))
}
