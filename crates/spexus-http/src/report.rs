//! Reports: how far the work has come, and where the tree has gaps.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::Params;
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use serde::Deserialize;
use spexus_domain::report::GapReport;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::report::{self, GapQuery, StatusReport};
use utoipa::IntoParams;

/// What a report is about.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReportParams {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    project: Option<String>,
    /// Any id: only this item and what is below it.
    under: Option<String>,
}

/// Count items by kind, status, type and assignee.
#[utoipa::path(
    get, path = "/api/v1/reports/status", tag = "reports", params(ReportParams),
    responses((status = 200, body = StatusReport), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn report_status(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<ReportParams>,
) -> Answer<Json<StatusReport>> {
    let (project, under) = (params.project.as_deref(), params.under.as_deref());
    Ok(Json(report::status(&app.service, &caller, project, under).await?))
}

/// Find gaps and contradictions: what lacks stories, criteria, requirements or links, suspect links, cycles. Each section
/// has its whole count and a page of its rows; the next page of a section is asked for with its `next_cursor`.
#[utoipa::path(
    get, path = "/api/v1/reports/gaps", tag = "reports", params(GapQuery),
    responses((status = 200, body = GapReport), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn report_gaps(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(query): Params<GapQuery>,
) -> Answer<Json<GapReport>> {
    Ok(Json(report::gaps(&app.service, &caller, &query).await?))
}
