use super::{PageBelow, SomeBelow};
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Params};
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use spexus_domain::Kind;
use spexus_domain::item::Item;
use spexus_domain::query::Page;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item;

/// List what an item directly contains, in order.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}/children", operation_id = "list_children",
    params(("id" = String, Path, description = "Any id."), SomeBelow),
    responses((status = 200, body = Page<Item>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_children(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<SomeBelow>,
) -> Answer<Json<Page<Item>>> {
    let kinds = params
        .only
        .as_deref()
        .map(|name| Kind::parse("only", name))
        .transpose()?;
    let kinds = kinds.into_iter().collect();
    Ok(Json(
        item::children(
            &app.service,
            &caller,
            params.project.as_deref(),
            Some(kind),
            &id,
            kinds,
            params.page()?,
        )
        .await?,
    ))
}

/// List what an item contains of one kind, in order.
#[utoipa::path(
    get, path = "/api/v1/{kind}/{id}/{child}", operation_id = "list_children_of_kind",
    params(("id" = String, Path, description = "Any id of the container."), PageBelow),
    responses((status = 200, body = Page<Item>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_children_of_kind(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<PageBelow>,
) -> Answer<Json<Page<Item>>> {
    let project = params.project.as_deref();
    Ok(Json(
        item::children(
            &app.service,
            &caller,
            project,
            kind.rules().parent,
            &id,
            vec![kind],
            params.page()?,
        )
        .await?,
    ))
}
