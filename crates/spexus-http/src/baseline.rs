//! Baselines.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Input, Params};
use crate::item::InProject;
use crate::respond::Answer;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline};
use spexus_domain::query::Page;
use spexus_service::baseline::{self, DiffQuery};
use spexus_service::envelope::ErrorEnvelope;

/// List the baselines of a project.
#[utoipa::path(
    get, path = "/api/v1/baselines", tag = "history", params(InProject),
    responses((status = 200, body = Page<Baseline>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_baselines(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<InProject>,
) -> Answer<Json<Page<Baseline>>> {
    Ok(Json(
        baseline::list(&app.service, &caller, params.project.as_deref()).await?,
    ))
}

/// Name the present position in the history.
#[utoipa::path(
    post, path = "/api/v1/baselines", tag = "history", request_body = NewBaseline,
    responses((status = 201, body = Baseline), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_baseline(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Input(input): Input<NewBaseline>,
) -> Answer<impl IntoResponse> {
    Ok((
        StatusCode::CREATED,
        Json(baseline::create(&app.service, &caller, input).await?),
    ))
}

/// Tell what differs between two baselines, item by item.
#[utoipa::path(
    get, path = "/api/v1/baselines/diff", tag = "history", params(DiffQuery),
    responses((status = 200, body = Page<ItemDifference>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn diff_baselines(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(query): Params<DiffQuery>,
) -> Answer<Json<Page<ItemDifference>>> {
    Ok(Json(baseline::difference(&app.service, &caller, &query).await?))
}
