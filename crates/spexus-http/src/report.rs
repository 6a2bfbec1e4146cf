//! Reports: how far the work has come, and where the tree has gaps.

use crate::app::App;
use crate::extract::{Params, Who};
use crate::respond::Answer;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use spexus_domain::report::Analysis;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::report::{self, StatusReport};
use utoipa::IntoParams;

/// What a report is about.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReportParams {
    /// The key of the project; the token's or the default one when left out.
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
    Who(caller): Who,
    Params(params): Params<ReportParams>,
) -> Answer<Json<StatusReport>> {
    let (project, under) = (params.project.as_deref(), params.under.as_deref());
    Ok(Json(report::status(&app.service, &caller, project, under).await?))
}

/// Find gaps and contradictions: what lacks stories, criteria, requirements or links, suspect links, cycles.
#[utoipa::path(
    get, path = "/api/v1/reports/gaps", tag = "reports", params(ReportParams),
    responses((status = 200, body = Analysis), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn report_gaps(
    State(app): State<App>,
    Who(caller): Who,
    Params(params): Params<ReportParams>,
) -> Answer<Json<Analysis>> {
    let (project, under) = (params.project.as_deref(), params.under.as_deref());
    Ok(Json(
        report::analysis(&app.service, &caller, project, under).await?,
    ))
}
