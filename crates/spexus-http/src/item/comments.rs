use super::{InProject, SomeBelow};
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params};
use crate::respond::Json;
use crate::respond::{Answer, Tagged};
use axum::extract::State;
use axum::response::IntoResponse;
use spexus_domain::comment::{Comment, NewComment};
use spexus_domain::query::Page;
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_service::comment;
use spexus_service::envelope::ErrorEnvelope;

/// List the comments of an item, oldest first.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}/comments", operation_id = "list_comments",
    params(("id" = String, Path, description = "Any id."), SomeBelow),
    responses((status = 200, body = Page<Comment>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_comments(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<SomeBelow>,
) -> Answer<Json<Page<Comment>>> {
    let resolved = resolved(params.only.as_deref())?;
    let project = params.project.as_deref();
    Ok(Json(
        comment::list(
            &app.service,
            &caller,
            project,
            Some(kind),
            &id,
            resolved,
            params.page()?,
        )
        .await?,
    ))
}

/// Comment on an item, or answer a comment on it.
#[utoipa::path(
    post, path = "/api/v1/{kind}/{id}/comments", operation_id = "create_comment", request_body = NewComment,
    params(("id" = String, Path, description = "Any id."), InProject),
    responses((status = 201, body = Comment), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_comment(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    Input(input): Input<NewComment>,
) -> Answer<impl IntoResponse> {
    let comment = comment::create(
        &app.service,
        &caller,
        params.project.as_deref(),
        Some(kind),
        &id,
        input,
    )
    .await?;
    Ok(Tagged::created(
        comment.rev,
        format!("/api/v1/comments/{}", comment.id),
        comment,
    ))
}

fn resolved(only: Option<&str>) -> Ruled<Option<bool>> {
    match only {
        None => Ok(None),
        Some("true" | "resolved") => Ok(Some(true)),
        Some("false" | "unresolved" | "open") => Ok(Some(false)),
        Some(other) => {
            let problem = format!("{:?} is not known", spexus_domain::text::excerpt(other, 60));
            Err(Refusal::field(
                Code::InvalidParams,
                "only",
                problem,
                "resolved or unresolved",
            ))
        }
    }
}
