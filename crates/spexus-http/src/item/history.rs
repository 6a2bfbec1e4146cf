use super::PageBelow;
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Params};
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use spexus_domain::Kind;
use spexus_domain::change::Change;
use spexus_domain::query::Page;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item;

/// Tell what happened to an item, newest first, field by field.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}/history", operation_id = "get_history",
    params(("id" = String, Path, description = "Any id; deleted items have a history too."), PageBelow),
    responses((status = 200, body = Page<Change>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn get_history(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<PageBelow>,
) -> Answer<Json<Page<Change>>> {
    let project = params.project.as_deref();
    Ok(Json(
        item::history(&app.service, &caller, project, Some(kind), &id, params.page()?).await?,
    ))
}
