use super::ITEM_FIELDS;
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::Params;
use crate::respond::Json;
use crate::respond::{Answer, select_page};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use spexus_domain::Kind;
use spexus_domain::item::Item;
use spexus_domain::query::Page;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item::{self, ItemQuery};

/// List the items of a kind.
#[utoipa::path(
    get, path = "/api/v1/{kind}", operation_id = "list", params(ItemQuery),
    responses((status = 200, body = Page<Item>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_items(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Params(query): Params<ItemQuery>,
) -> Answer<Response> {
    let page = item::list(&app.service, &caller, Some(kind), &query).await?;
    Ok(match query.fields.as_deref() {
        None => Json(page).into_response(),
        fields => Json(select_page(page, fields, ITEM_FIELDS)?).into_response(),
    })
}
