//! Stored prompts.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, PageParams, Params};
use crate::respond::Json;
use crate::respond::{Answer, Tagged, one_rev};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::prompt::{NewPrompt, Prompt, PromptPatch};
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::prompt;
use utoipa::ToSchema;

/// List the prompts.
#[utoipa::path(
    get, path = "/api/v1/prompts", tag = "prompts", params(PageParams),
    responses((status = 200, body = Page<Prompt>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_prompts(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<PageParams>,
) -> Answer<Json<Page<Prompt>>> {
    let page = params.page()?;
    Ok(Json(prompt::list(&app.service, &caller).await?.part(&page)))
}

/// Read the active prompt.
#[utoipa::path(
    get, path = "/api/v1/prompts/active", tag = "prompts",
    responses((status = 200, body = Prompt), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_active_prompt(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
) -> Answer<impl IntoResponse> {
    let active = prompt::active(&app.service, &caller).await?;
    let none = || Refusal::new(Code::PromptNotFound, "no prompt is active").hint("Activate one.");
    let active = active.ok_or_else(none)?;
    Ok(Tagged::ok(active.rev, active))
}

/// Read a prompt.
#[utoipa::path(
    get, path = "/api/v1/prompts/{id}", tag = "prompts", params(("id" = String, Path, description = "Any id, or its name.")),
    responses((status = 200, body = Prompt), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_prompt(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
) -> Answer<impl IntoResponse> {
    let prompt = prompt::get(&app.service, &caller, &id).await?;
    Ok(Tagged::ok(prompt.rev, prompt))
}

/// Make a prompt.
#[utoipa::path(
    post, path = "/api/v1/prompts", tag = "prompts", request_body = NewPrompt,
    responses((status = 201, body = Prompt), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_prompt(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Input(input): Input<NewPrompt>,
) -> Answer<impl IntoResponse> {
    let prompt = prompt::create(&app.service, &caller, input).await?;
    Ok(Tagged::created(
        prompt.rev,
        format!("/api/v1/prompts/{}", prompt.id),
        prompt,
    ))
}

/// Change a prompt.
#[utoipa::path(
    patch, path = "/api/v1/prompts/{id}", tag = "prompts", request_body = PromptPatch,
    params(("id" = String, Path, description = "Any id, or its name."),
        ("If-Match" = Option<String>, Header, description = "The ETag the change was made against.")),
    responses((status = 200, body = Prompt), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn update_prompt(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    headers: HeaderMap,
    Input(mut patch): Input<PromptPatch>,
) -> Answer<impl IntoResponse> {
    patch.expect_rev = one_rev(&headers, patch.expect_rev)?;
    let prompt = prompt::update(&app.service, &caller, &id, patch).await?;
    Ok(Tagged::ok(prompt.rev, prompt))
}

/// Whether a prompt is to be the active one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActivateInput {
    /// `false` leaves no prompt active.
    #[serde(default = "yes")]
    active: bool,
}

fn yes() -> bool {
    true
}

/// Make a prompt the active one, or inactive.
#[utoipa::path(
    post, path = "/api/v1/prompts/{id}/activate", tag = "prompts", request_body = ActivateInput,
    params(("id" = String, Path, description = "Any id, or its name.")),
    responses((status = 200, body = Prompt), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn activate_prompt(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Input(input): Input<ActivateInput>,
) -> Answer<impl IntoResponse> {
    let prompt = prompt::activate(&app.service, &caller, &id, input.active).await?;
    Ok(Tagged::ok(prompt.rev, prompt))
}

/// Remove a prompt.
#[utoipa::path(
    delete, path = "/api/v1/prompts/{id}", tag = "prompts", params(("id" = String, Path, description = "Any id, or its name.")),
    responses((status = 200, body = Prompt), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn delete_prompt(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
) -> Answer<Json<Prompt>> {
    Ok(Json(prompt::delete(&app.service, &caller, &id).await?))
}
