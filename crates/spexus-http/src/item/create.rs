use super::{InProject, one_project};
use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::{Id, Input, Params};
use crate::respond::{Answer, Tagged};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use spexus_domain::item::{Item, NewItem};
use spexus_domain::{Code, Kind, Refusal, Ruled};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::item;

/// Make an item.
#[utoipa::path(
    post, path = "/api/v1/{kind}", operation_id = "create", request_body = NewItem, params(InProject,
        ("Idempotency-Key" = Option<String>, Header, description = "The same key with the same request makes the item once.")),
    responses((status = 201, body = Item), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_item(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Params(params): Params<InProject>,
    headers: HeaderMap,
    Input(mut input): Input<NewItem>,
) -> Answer<impl IntoResponse> {
    input.project = one_project(params.project, input.project)?;
    let key = idempotency_key(&headers)?;
    let item = item::create(&app.service, &caller, kind, input, key)
        .await
        .map_err(|refusal| refusal.naming(kind.rules().parent_field, "parent"))?;
    Ok(made(item))
}

/// Make an item inside another one.
#[utoipa::path(
    post, path = "/api/v1/{kind}/{id}/{child}", operation_id = "create_child", request_body = NewItem,
    params(("id" = String, Path, description = "Any id of the container."), InProject,
        ("Idempotency-Key" = Option<String>, Header, description = "The same key with the same request makes the item once.")),
    responses((status = 201, body = Item), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn create_child(
    State(app): State<App>,
    State(kind): State<Kind>,
    Authenticated(caller): Authenticated,
    Id(id): Id,
    Params(params): Params<InProject>,
    headers: HeaderMap,
    Input(mut input): Input<NewItem>,
) -> Answer<impl IntoResponse> {
    if input.parent.replace(id.clone()).is_some_and(|given| given != id) {
        return Err(Refusal::field(
            Code::InvalidParams,
            "parent",
            "differs from the one in the address",
            "leave it out",
        )
        .into());
    }
    input.project = one_project(params.project, input.project)?;
    let key = idempotency_key(&headers)?;
    let item = item::create(&app.service, &caller, kind, input, key)
        .await
        .map_err(|refusal| refusal.naming(kind.rules().parent_field, "parent"))?;
    Ok(made(item))
}

/// A new item, with where it stands.
fn made(item: Item) -> Tagged<Item> {
    let location = format!("/api/v1/{}/{}", item.kind.rules().path, item.id);
    Tagged::created(item.rev, location, item)
}

/// The idempotency key of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Ruled<Option<&str>> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let text = key.to_str().map_err(|_| {
        Refusal::field(
            Code::InvalidHeader,
            "Idempotency-Key",
            "has characters that are not allowed",
            "visible ASCII characters",
        )
    })?;
    Ok(Some(text))
}
