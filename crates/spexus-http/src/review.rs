//! Reviews.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params};
use crate::item::InProject;
use crate::respond::{Answer, Json, Tagged};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::query::{Page, PageRequest};
use spexus_domain::review::{NewReview, NewVerdict, Review, ReviewPatch};
use spexus_domain::{Code, Refusal, Ruled, text};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::review::{self, ReviewQuery};
use utoipa::IntoParams;

/// Which reviews are wanted, and which page of them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReviewPage {
    /// The key of the project. Left out: the token's, else the default one.
    project: Option<String>,
    /// open, approved, rejected or closed; all when left out.
    state: Option<String>,
    /// Only those that wait for whoever asks.
    asks_me: Option<bool>,
    /// Rows of the page, 1 to 200.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List the reviews of a project, the newest first.
#[utoipa::path(
    get, path = "/api/v1/reviews", tag = "reviews", params(ReviewPage),
    responses((status = 200, body = Page<Review>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_reviews(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<ReviewPage>,
) -> Answer<Json<Page<Review>>> {
    let page = PageRequest::new(params.limit, params.cursor)?;
    let query = ReviewQuery {
        project: params.project,
        state: params.state,
        asks_me: params.asks_me.unwrap_or(false),
    };
    let found = review::list(&app.service, &caller, &query).await?;
    Ok(Json(found.part(&page)))
}

/// Ask for a review of items, or of everything that differs from a baseline.
#[utoipa::path(
    post, path = "/api/v1/reviews", tag = "reviews", request_body = NewReview,
    responses((status = 201, body = Review), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_review(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Input(input): Input<NewReview>,
) -> Answer<impl IntoResponse> {
    let made = review::create(&app.service, &caller, input).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Get a review.
#[utoipa::path(
    get, path = "/api/v1/reviews/{number}", tag = "reviews",
    params(("number" = String, Path, description = "The number of the review."), InProject),
    responses((status = 200, body = Review), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_review(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(number): Id,
    Params(params): Params<InProject>,
) -> Answer<impl IntoResponse> {
    let project = params.project.as_deref();
    let found = review::get(&app.service, &caller, project, number_of(&number)?).await?;
    Ok(Tagged::ok(found.rev, found))
}

/// Change who is asked, ask again about the items as they are now, or take a review back.
#[utoipa::path(
    patch, path = "/api/v1/reviews/{number}", tag = "reviews", request_body = ReviewPatch,
    params(("number" = String, Path, description = "The number of the review."), InProject),
    responses((status = 200, body = Review), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn update_review(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(number): Id,
    Params(params): Params<InProject>,
    Input(patch): Input<ReviewPatch>,
) -> Answer<impl IntoResponse> {
    let project = params.project.as_deref();
    let done = review::update(&app.service, &caller, project, number_of(&number)?, patch).await?;
    Ok(Tagged::ok(done.rev, done))
}

/// Approve or reject a review one is asked for.
#[utoipa::path(
    post, path = "/api/v1/reviews/{number}/verdict", tag = "reviews", request_body = NewVerdict,
    params(("number" = String, Path, description = "The number of the review."), InProject),
    responses((status = 200, body = Review), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn decide_review(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(number): Id,
    Params(params): Params<InProject>,
    Input(input): Input<NewVerdict>,
) -> Answer<impl IntoResponse> {
    let project = params.project.as_deref();
    let done = review::decide(&app.service, &caller, project, number_of(&number)?, input).await?;
    Ok(Tagged::ok(done.rev, done))
}

fn number_of(text: &str) -> Ruled<i64> {
    text.parse().map_err(|_| {
        let problem = format!("{:?} is no number", text::excerpt(text, 40));
        Refusal::field(Code::InvalidParams, "number", problem, "the number of a review")
    })
}
