//! Requirement types, link types and workflows.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input};
use crate::respond::Json;
use crate::respond::{Answer, Tagged, one_rev};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::Kind;
use spexus_domain::link::LinkType;
use spexus_domain::query::Page;
use spexus_domain::requirement_type::RequirementType;
use spexus_domain::workflow::{Workflow, WorkflowInput};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::settings;
use utoipa::ToSchema;

/// List the requirement types.
#[utoipa::path(
    get, path = "/api/v1/requirement-types", tag = "settings",
    responses((status = 200, body = Page<RequirementType>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_requirement_types(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<Page<RequirementType>>> {
    Ok(Json(settings::requirement_types(&app.service, &caller).await?))
}

/// What a requirement type means.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TypeInput {
    /// What it means.
    #[serde(default)]
    description: String,
}

/// Make a requirement type, or change what it means.
#[utoipa::path(
    put, path = "/api/v1/requirement-types/{name}", tag = "settings", request_body = TypeInput,
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = RequirementType), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn put_requirement_type(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
    Input(input): Input<TypeInput>,
) -> Answer<Json<RequirementType>> {
    let wanted = RequirementType {
        name,
        description: input.description,
    };
    Ok(Json(
        settings::put_requirement_type(&app.service, &caller, wanted).await?,
    ))
}

/// Remove a requirement type nothing uses.
#[utoipa::path(
    delete, path = "/api/v1/requirement-types/{name}", tag = "settings", params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = RequirementType), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_requirement_type(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
) -> Answer<Json<RequirementType>> {
    Ok(Json(
        settings::delete_requirement_type(&app.service, &caller, &name).await?,
    ))
}

/// List the link types.
#[utoipa::path(
    get, path = "/api/v1/link-types", tag = "settings",
    responses((status = 200, body = Page<LinkType>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_link_types(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<Page<LinkType>>> {
    Ok(Json(settings::link_types(&app.service, &caller).await?))
}

/// The rules of a link type; its name stands in the address.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkTypeInput {
    /// How it reads from the target.
    inverse: String,
    /// What it means.
    #[serde(default)]
    description: String,
    /// The kinds it may start from; empty means any.
    #[serde(default)]
    sources: Vec<Kind>,
    /// The kinds it may point to; empty means any.
    #[serde(default)]
    targets: Vec<Kind>,
    /// Whether links of this type may not form a cycle.
    #[serde(default)]
    acyclic: bool,
}

/// Make a link type, or change its rules.
#[utoipa::path(
    put, path = "/api/v1/link-types/{name}", tag = "settings", request_body = LinkTypeInput,
    params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = LinkType), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn put_link_type(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
    Input(input): Input<LinkTypeInput>,
) -> Answer<Json<LinkType>> {
    let LinkTypeInput {
        inverse,
        description,
        sources,
        targets,
        acyclic,
    } = input;
    let wanted = LinkType {
        name,
        inverse,
        description,
        sources,
        targets,
        acyclic,
    };
    Ok(Json(
        settings::put_link_type(&app.service, &caller, wanted).await?,
    ))
}

/// Remove a link type nothing uses.
#[utoipa::path(
    delete, path = "/api/v1/link-types/{name}", tag = "settings", params(("name" = String, Path, description = "Its name.")),
    responses((status = 200, body = LinkType), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_link_type(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(name): Id,
) -> Answer<Json<LinkType>> {
    Ok(Json(
        settings::delete_link_type(&app.service, &caller, &name).await?,
    ))
}

/// List the workflows of all kinds that have a status.
#[utoipa::path(
    get, path = "/api/v1/workflows", tag = "settings",
    responses((status = 200, body = Page<Workflow>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_workflows(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<Page<Workflow>>> {
    Ok(Json(settings::workflows(&app.service, &caller).await?))
}

/// Read the workflow of a kind.
#[utoipa::path(
    get, path = "/api/v1/workflows/{kind_name}", tag = "settings", params(("kind_name" = String, Path, description = "The name of the kind.")),
    responses((status = 200, body = Workflow), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_workflow(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(kind): Id,
) -> Answer<impl IntoResponse> {
    let workflow = settings::workflow(&app.service, &caller, Kind::parse("kind", &kind)?).await?;
    Ok(Tagged::ok(workflow.rev, workflow))
}

/// Replace the workflow of a kind; statuses that items have must stay.
#[utoipa::path(
    put, path = "/api/v1/workflows/{kind_name}", tag = "settings", request_body = WorkflowInput,
    params(("kind_name" = String, Path, description = "The name of the kind."),
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Workflow), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn put_workflow(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(kind): Id,
    headers: HeaderMap,
    Input(mut input): Input<WorkflowInput>,
) -> Answer<impl IntoResponse> {
    input.expect_rev = one_rev(&headers, input.expect_rev)?;
    let workflow = settings::put_workflow(&app.service, &caller, Kind::parse("kind", &kind)?, input).await?;
    Ok(Tagged::ok(workflow.rev, workflow))
}
