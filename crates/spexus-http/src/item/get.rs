use super::{ITEM_FIELDS, InProject, OneItem};
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Params};
use crate::respond::Json;
use crate::respond::{Answer, Tagged, is_known, select};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use spexus_domain::item::Item;
use spexus_domain::query::Page;
use spexus_domain::{Kind, Refusal};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item::{self, read::Hierarchy};
use utoipa::IntoParams;

/// Read an item.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}", operation_id = "get",
    params(("id" = String, Path, description = "A UUID or a reference id, in any letter case."), OneItem),
    responses((status = 200, body = Item), (status = 304), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_item(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<OneItem>,
    headers: HeaderMap,
) -> Answer<Response> {
    let item = item::get(&app.service, &caller, params.project.as_deref(), Some(kind), &id).await?;
    Ok(shown(&item, params.fields.as_deref(), &headers)?)
}

/// Read an item of any kind.
#[utoipa::path(
    get, path = "/api/v1/items/{id}", tag = "items",
    params(("id" = String, Path, description = "A UUID or a reference id, in any letter case."), OneItem),
    responses((status = 200, body = Item), (status = 304), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_any_item(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<OneItem>,
    headers: HeaderMap,
) -> Answer<Response> {
    let item = item::get(&app.service, &caller, params.project.as_deref(), None, &id).await?;
    Ok(shown(&item, params.fields.as_deref(), &headers)?)
}

fn shown(item: &Item, fields: Option<&str>, headers: &HeaderMap) -> Result<Response, Refusal> {
    if is_known(headers, item.rev) {
        return Ok(StatusCode::NOT_MODIFIED.into_response());
    }
    Ok(match fields {
        None => Tagged::ok(item.rev, item).into_response(),
        Some(fields) => Tagged::ok(item.rev, select(item, Some(fields), ITEM_FIELDS)?).into_response(),
    })
}

/// How much of a tree is wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TreeParams {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    project: Option<String>,
    /// How many levels below the root; all when left out.
    depth: Option<u32>,
}

/// Read the whole tree below an item of any kind.
#[utoipa::path(
    get, path = "/api/v1/hierarchy/{id}", tag = "items",
    params(("id" = String, Path, description = "Any id."), TreeParams),
    responses((status = 200, body = Hierarchy), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_hierarchy(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<TreeParams>,
) -> Answer<Json<Hierarchy>> {
    Ok(Json(
        item::hierarchy(
            &app.service,
            &caller,
            params.project.as_deref(),
            &id,
            params.depth,
        )
        .await?,
    ))
}

/// Read what contains an item, from the top down to the item itself.
#[utoipa::path(
    get, path = "/api/v1/hierarchy/{id}/path", tag = "items",
    params(("id" = String, Path, description = "Any id."), InProject),
    responses((status = 200, body = Page<Item>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_path(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
) -> Answer<Json<Page<Item>>> {
    Ok(Json(
        item::path(&app.service, &caller, params.project.as_deref(), &id).await?,
    ))
}
