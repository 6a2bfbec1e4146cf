use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Params};
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use serde::Deserialize;
use spexus_domain::Kind;
use spexus_domain::query::PageRequest;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::link::{self, Links};
use utoipa::IntoParams;

/// Which links of an item are wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LinkParams {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    project: Option<String>,
    /// Only links of this type; an inverse name means links that point here.
    #[serde(rename = "type")]
    #[param(rename = "type")]
    link_type: Option<String>,
    /// Rows of the page, 1 to 200.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// List the links of an item, in both directions, oldest first.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}/links", operation_id = "list_links",
    params(("id" = String, Path, description = "Any id."), LinkParams),
    responses((status = 200, body = Links), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_links(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<LinkParams>,
) -> Answer<Json<Links>> {
    let page = PageRequest::new(params.limit, params.cursor)?;
    let (project, link_type) = (params.project.as_deref(), params.link_type.as_deref());
    Ok(Json(
        link::list(&app.service, &caller, project, Some(kind), &id, link_type, page).await?,
    ))
}
