//! Baselines.

use crate::app::App;
use crate::extract::{Input, Params, Who};
use crate::item::InProject;
use crate::respond::Answer;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline};
use spexus_domain::query::Page;
use spexus_service::baseline;
use spexus_service::envelope::ErrorEnvelope;
use utoipa::IntoParams;

/// List the baselines of a project.
#[utoipa::path(
    get, path = "/api/v1/baselines", tag = "history", params(InProject),
    responses((status = 200, body = Page<Baseline>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_baselines(
    State(app): State<App>,
    Who(caller): Who,
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
    Who(caller): Who,
    Input(input): Input<NewBaseline>,
) -> Answer<impl IntoResponse> {
    Ok((
        StatusCode::CREATED,
        Json(baseline::create(&app.service, &caller, input).await?),
    ))
}

/// Which two baselines are compared.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DiffParams {
    /// The key of the project; the token's or the default one when left out.
    project: Option<String>,
    /// The name of the earlier baseline.
    from: String,
    /// The name of the later one; the present when left out.
    to: Option<String>,
}

/// Tell what differs between two baselines, item by item.
#[utoipa::path(
    get, path = "/api/v1/baselines/diff", tag = "history", params(DiffParams),
    responses((status = 200, body = Page<ItemDifference>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn diff_baselines(
    State(app): State<App>,
    Who(caller): Who,
    Params(params): Params<DiffParams>,
) -> Answer<Json<Page<ItemDifference>>> {
    let to = params.to.as_deref().unwrap_or("now");
    Ok(Json(
        baseline::difference(&app.service, &caller, params.project.as_deref(), &params.from, to).await?,
    ))
}
