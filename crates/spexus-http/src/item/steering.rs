use super::{InProject, PageBelow};
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Ids, Params};
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use spexus_domain::Kind;
use spexus_domain::link::{Link, NewLink};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::link::{self, GUIDES, IS_GUIDED_BY, Links};

/// List the steering documents an epic follows.
#[utoipa::path(
    get, path = "/api/v1/epics/{id}/steering-documents", tag = "epics",
    params(("id" = String, Path, description = "Any id of the epic."), PageBelow),
    responses((status = 200, body = Links), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_steering(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<PageBelow>,
) -> Answer<Json<Links>> {
    let (project, of_kind, page) = (params.project.as_deref(), Some(Kind::Epic), params.page()?);
    Ok(Json(
        link::list(
            &app.service,
            &caller,
            project,
            of_kind,
            &id,
            Some(IS_GUIDED_BY),
            page,
        )
        .await?,
    ))
}

/// Let an epic follow a steering document.
#[utoipa::path(
    post, path = "/api/v1/epics/{id}/steering-documents/{document}", tag = "epics",
    params(("id" = String, Path, description = "Any id of the epic."),
        ("document" = String, Path, description = "Any id of the steering document."), InProject),
    responses((status = 201, body = Link), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn add_steering(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Ids(epic, document): Ids,
    Params(params): Params<InProject>,
) -> Answer<impl IntoResponse> {
    let input = NewLink {
        source: document,
        target: epic,
        link_type: GUIDES.into(),
    };
    let link = link::create(&app.service, &caller, params.project.as_deref(), input).await?;
    Ok((StatusCode::CREATED, Json(link)))
}

/// Let an epic no longer follow a steering document.
#[utoipa::path(
    delete, path = "/api/v1/epics/{id}/steering-documents/{document}", tag = "epics",
    params(("id" = String, Path, description = "Any id of the epic."),
        ("document" = String, Path, description = "Any id of the steering document."), InProject),
    responses((status = 200, body = Link), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn remove_steering(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Ids(epic, document): Ids,
    Params(params): Params<InProject>,
) -> Answer<Json<Link>> {
    let project = params.project.as_deref();
    Ok(Json(
        link::unfollow(&app.service, &caller, project, &epic, &document).await?,
    ))
}
