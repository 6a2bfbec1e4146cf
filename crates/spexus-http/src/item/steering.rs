use super::InProject;
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Ids, Params};
use crate::respond::Answer;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use spexus_domain::link::{Link, NewLink};
use spexus_domain::{Code, Kind, Refusal};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::link::Links;
use spexus_service::{item, link};

/// The link type that joins a steering document to the epics that follow it.
const GUIDES: &str = "guides";

/// List the steering documents an epic follows.
#[utoipa::path(
    get, path = "/api/v1/epics/{id}/steering-documents", tag = "epics",
    params(("id" = String, Path, description = "Any id of the epic."), InProject),
    responses((status = 200, body = Links), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_steering(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
) -> Answer<Json<Links>> {
    let (project, guided) = (params.project.as_deref(), Some("is_guided_by"));
    Ok(Json(
        link::list(&app.service, &caller, project, Some(Kind::Epic), &id, guided).await?,
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
    let document = item::get(
        &app.service,
        &caller,
        project,
        Some(Kind::SteeringDocument),
        &document,
    )
    .await?;
    let links = link::list(
        &app.service,
        &caller,
        project,
        Some(Kind::Epic),
        &epic,
        Some("is_guided_by"),
    )
    .await?;
    let found = links.data.iter().find(|link| link.source.id == document.id);
    let missing = || {
        Refusal::new(
            Code::ResourceNotFound,
            format!("{epic} does not follow {}", document.reference_id),
        )
    };
    let id = found.ok_or_else(missing)?.id;
    Ok(Json(link::delete(&app.service, &caller, id).await?))
}
