use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Params};
use crate::respond::{Answer, Json};
use axum::extract::State;
use serde::Deserialize;
use spexus_domain::item_context::{ContextRequest, ItemContext};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item;
use utoipa::IntoParams;

/// What a request for a working context may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ContextParams {
    /// The key of the project the id is looked up in. Left out: that of the token, else the only one that has the id.
    project: Option<String>,
    /// What it is for: implement, review or test.
    purpose: Option<String>,
    /// The tokens the answer may have, 600 to 12000; 4000 when left out.
    max_tokens: Option<i64>,
    /// The `hash` of an earlier answer: where nothing changed since, only that is told.
    if_changed: Option<String>,
}

/// Read everything that is needed to work on an item, in one answer of a size that is asked for.
#[utoipa::path(
    get, path = "/api/v1/items/{id}/context", tag = "items",
    params(("id" = String, Path, description = "A UUID or a reference id, in any letter case."), ContextParams),
    responses((status = 200, body = ItemContext), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_context(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<ContextParams>,
) -> Answer<Json<ItemContext>> {
    let request = ContextRequest {
        purpose: params.purpose,
        max_tokens: params.max_tokens,
        if_changed: params.if_changed,
    };
    let project = params.project.as_deref();
    Ok(Json(
        item::context(&app.service, &caller, project, &id, request).await?,
    ))
}
