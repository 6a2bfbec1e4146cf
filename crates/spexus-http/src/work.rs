//! Working beside each other: what can be begun, and who holds what.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params};
use crate::item::{InProject, PageBelow};
use crate::respond::{Answer, Json};
use axum::extract::State;
use serde::Deserialize;
use spexus_domain::lease::{ClaimedLease, Lease, NewLease};
use spexus_domain::query::Page;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::lease::{self, OfferedWork, WorkQuery};
use utoipa::IntoParams;

/// Which work is looked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WorkParams {
    /// The key of the project. Left out: the token's, else that of the item named, else the default one.
    project: Option<String>,
    /// requirement, user_story or epic; requirement when left out.
    kind: Option<String>,
    /// Only below this item.
    under: Option<String>,
    /// How many at most, 1 to 50; 5 when left out.
    limit: Option<i64>,
}

/// Tell what can be begun now, and what waits for what.
#[utoipa::path(
    get, path = "/api/v1/work/next", tag = "work", params(WorkParams),
    responses((status = 200, body = OfferedWork), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn next_work(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<WorkParams>,
) -> Answer<Json<OfferedWork>> {
    let query = WorkQuery {
        project: params.project,
        kind: params.kind,
        under: params.under,
        limit: params.limit,
    };
    Ok(Json(lease::next_work(&app.service, &caller, query).await?))
}

/// List who works on what.
#[utoipa::path(
    get, path = "/api/v1/work/leases", tag = "work", params(PageBelow),
    responses((status = 200, body = Page<Lease>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_leases(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<PageBelow>,
) -> Answer<Json<Page<Lease>>> {
    let page = params.page()?;
    let found = lease::list(&app.service, &caller, params.project.as_deref()).await?;
    Ok(Json(Page::whole(found).part(&page)))
}

/// Hold an item for a while, or longer.
#[utoipa::path(
    put, path = "/api/v1/items/{id}/lease", tag = "work", request_body = NewLease,
    params(("id" = String, Path, description = "Any id."), InProject),
    responses((status = 200, body = ClaimedLease), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn claim_item(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    Input(input): Input<NewLease>,
) -> Answer<Json<ClaimedLease>> {
    let project = params.project.as_deref();
    Ok(Json(
        lease::claim(&app.service, &caller, project, &id, input).await?,
    ))
}

/// To whom a lease goes.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReleaseParams {
    /// The key of the project the id is looked up in. Left out: that of the token, else the only one that has the id.
    project: Option<String>,
    /// The user it is handed over to; nobody when left out.
    to: Option<String>,
}

/// Let go of an item, or hand it over; tells the lease that is there now or was there before, if any.
#[utoipa::path(
    delete, path = "/api/v1/items/{id}/lease", tag = "work",
    params(("id" = String, Path, description = "Any id."), ReleaseParams),
    responses((status = 200, body = Option<Lease>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn release_item(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<ReleaseParams>,
) -> Answer<Json<Option<Lease>>> {
    let (project, to) = (params.project.as_deref(), params.to.as_deref());
    Ok(Json(
        lease::release(&app.service, &caller, project, &id, to).await?,
    ))
}
