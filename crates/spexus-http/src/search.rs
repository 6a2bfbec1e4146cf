//! Search.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::plain_pairs;
use crate::respond::Json;
use crate::respond::{Answer, select_page};
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use spexus_domain::decode;
use spexus_domain::query::Page;
use spexus_domain::search::Hit;
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item::ItemQuery;
use spexus_service::search::{self, SearchQuery};

/// The names `fields=` may hold.
const HIT_FIELDS: &[&str] = &[
    "id",
    "reference_id",
    "kind",
    "title",
    "status",
    "priority",
    "comment_id",
    "snippet",
    "score",
    "updated_at",
];

/// Search items of all kinds and their comments; every filter of the lists works here too.
#[utoipa::path(
    get, path = "/api/v1/search", tag = "search", params(SearchQuery, ItemQuery),
    responses((status = 200, body = Page<Hit>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn search(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    RawQuery(raw): RawQuery,
) -> Answer<Response> {
    let raw = raw.unwrap_or_default();
    // The words of the search and the filters of the list stand in one query; each part refuses what is not its own.
    let (words, filters): (Vec<_>, Vec<_>) = form_urlencoded::parse(raw.as_bytes())
        .partition(|(name, _)| matches!(name.as_ref(), "query" | "q" | "kinds" | "entity_types"));
    let wanted: SearchQuery = decode::pairs(words.into_iter())?;
    let filters: ItemQuery = plain_pairs(filters)?;
    let page = search::search(&app.service, &caller, &wanted, &filters).await?;
    Ok(match filters.fields.as_deref() {
        None => Json(page).into_response(),
        fields => Json(select_page(page, fields, HIT_FIELDS)?).into_response(),
    })
}
