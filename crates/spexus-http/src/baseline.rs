//! Baselines.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Input, Params};
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::baseline::{Baseline, ItemDifference, NewBaseline};
use spexus_domain::query::{Page, PageRequest};
use spexus_service::baseline::{self, DiffQuery};
use spexus_service::envelope::ErrorEnvelope;
use utoipa::IntoParams;

/// Whose baselines are meant, and which page of them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BaselinePage {
    /// The key of the project. Left out: the token's, else the default one.
    project: Option<String>,
    /// Rows of the page, 1 to 200.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List the baselines of a project.
#[utoipa::path(
    get, path = "/api/v1/baselines", tag = "history", params(BaselinePage),
    responses((status = 200, body = Page<Baseline>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_baselines(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<BaselinePage>,
) -> Answer<Json<Page<Baseline>>> {
    let page = PageRequest::new(params.limit, params.cursor)?;
    let found = baseline::list(&app.service, &caller, params.project.as_deref()).await?;
    Ok(Json(found.part(&page)))
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
