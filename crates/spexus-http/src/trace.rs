//! Evidence: pushed, and asked for.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params, Pushed};
use crate::item::InProject;
use crate::respond::{Answer, Json};
use crate::streamed_body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use spexus_domain::Kind;
use spexus_domain::query::Page;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::evidence::{
    self, CheckQuery, CheckReport, NewReview, PushAnswer, PushBody, ReportQuery, TraceAnswer, TraceGap,
};

/// Push evidence about a commit: reports of tests, coverage, and marks of its tree. All of it or nothing; the same push again does
/// nothing. The body is JSON with everything in it, or one report as it is, of which the query says what it is of.
#[utoipa::path(
    post, path = "/api/v1/trace/push", tag = "trace", params(ReportQuery),
    request_body(content((PushBody = "application/json"), (String = "application/octet-stream"))),
    responses((status = 201, body = PushAnswer), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn push_evidence(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(query): Params<ReportQuery>,
    body: Pushed<PushBody>,
) -> Answer<impl IntoResponse> {
    let pushed = match body {
        Pushed::Json(input) => {
            query.refuse_beside_json()?;
            evidence::push(&app.service, &caller, input.into_push()?).await?
        }
        Pushed::Report(body) => {
            //= specs/spexus-http.md#limits
            //# A report that is pushed as it is MUST be read as it arrives, and one that is cut off or larger than its limit MUST leave
            //# nothing behind.
            let (reader, arriving) = streamed_body::stream(&app, body);
            let pushed = evidence::push(&app.service, &caller, query.into_push(Box::new(reader))?);
            let (arrived, pushed) = tokio::join!(arriving, pushed);
            arrived?;
            pushed?
        }
    };
    let status = match pushed.already_known {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    Ok((status, Json(pushed)))
}

/// Tell how far an item has come from its text to a test that passed, what that rests on, and which link is the weakest.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}/trace", operation_id = "get_trace",
    params(("id" = String, Path, description = "Any id."), InProject),
    responses((status = 200, body = TraceAnswer), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_trace(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
) -> Answer<Json<TraceAnswer>> {
    let found = evidence::trace(&app.service, &caller, params.project.as_deref(), Some(kind), &id).await?;
    Ok(Json(found))
}

/// Say something about the evidence of an item: that its tests still show its text, that it is what it should be, or that it may
/// stand below the gate for a while.
#[utoipa::path(
    post, path = "/api/v1/{kind}/{id}/trace/reviews", operation_id = "review_evidence", request_body = NewReview,
    params(("id" = String, Path, description = "Any id.")),
    responses((status = 200, body = TraceAnswer), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn review_evidence(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Input(input): Input<NewReview>,
) -> Answer<Json<TraceAnswer>> {
    Ok(Json(evidence::review(&app.service, &caller, &id, input).await?))
}

/// List the requirements that stand below a rung, each with its weakest link and what to do about it.
#[utoipa::path(
    get, path = "/api/v1/trace/gaps", tag = "trace", params(CheckQuery),
    responses((status = 200, body = Page<TraceGap>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_gaps(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(query): Params<CheckQuery>,
) -> Answer<Json<Page<TraceGap>>> {
    Ok(Json(evidence::gaps(&app.service, &caller, &query).await?))
}

/// Tell whether every requirement stands on a rung or above it, and how many stand where.
#[utoipa::path(
    get, path = "/api/v1/trace/check", tag = "trace", params(CheckQuery),
    responses((status = 200, body = CheckReport), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn check_trace(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(query): Params<CheckQuery>,
) -> Answer<Json<CheckReport>> {
    let mut found = evidence::check(&app.service, &caller, &query).await?;
    found
        .gaps
        .truncate(query.limit.unwrap_or(MAX_GAPS_SHOWN) as usize);
    Ok(Json(found))
}

/// Gaps in the answer of a check; all of them are in the list of gaps.
const MAX_GAPS_SHOWN: u32 = 200;
