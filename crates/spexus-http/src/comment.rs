//! Comments, by their own ids.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, uuid};
use crate::respond::Json;
use crate::respond::{Answer, Tagged, one_rev};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use spexus_domain::comment::{Comment, CommentPatch};
use spexus_service::comment;
use spexus_service::envelope::ErrorEnvelope;

/// Read a comment.
#[utoipa::path(
    get, path = "/api/v1/comments/{id}", tag = "comments", params(("id" = String, Path, description = "The id of the comment.")),
    responses((status = 200, body = Comment), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_comment(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
) -> Answer<impl IntoResponse> {
    let comment = comment::get(&app.service, &caller, uuid(&id)?).await?;
    Ok(Tagged::ok(comment.rev, comment))
}

/// Edit a comment, or settle its thread.
#[utoipa::path(
    patch, path = "/api/v1/comments/{id}", tag = "comments", request_body = CommentPatch,
    params(("id" = String, Path, description = "The id of the comment."),
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Comment), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn update_comment(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    headers: HeaderMap,
    Input(mut patch): Input<CommentPatch>,
) -> Answer<impl IntoResponse> {
    patch.expect_rev = one_rev(&headers, patch.expect_rev)?;
    let comment = comment::update(&app.service, &caller, uuid(&id)?, patch).await?;
    Ok(Tagged::ok(comment.rev, comment))
}

/// Remove a comment that nobody answered.
#[utoipa::path(
    delete, path = "/api/v1/comments/{id}", tag = "comments", params(("id" = String, Path, description = "The id of the comment.")),
    responses((status = 200, body = Comment), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_comment(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
) -> Answer<Json<Comment>> {
    Ok(Json(comment::delete(&app.service, &caller, uuid(&id)?).await?))
}
