//! Importing a specification in Markdown.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::Input;
use crate::item::idempotency_key;
use crate::respond::{Answer, Json};
use axum::extract::State;
use axum::http::HeaderMap;
use spexus_domain::plan::{PlanInput, PlanResult};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::plan;

/// Make the tree a specification in Markdown describes, all of it or nothing.
#[utoipa::path(
    post, path = "/api/v1/plans", tag = "batch", request_body = PlanInput,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key with the same request is done once.")),
    responses((status = 200, body = PlanResult), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn import_plan(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    Input(input): Input<PlanInput>,
) -> Answer<Json<PlanResult>> {
    let key = idempotency_key(&headers)?;
    Ok(Json(plan::import(&app.service, &caller, input, key).await?))
}
