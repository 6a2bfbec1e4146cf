//! Batches.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::Input;
use crate::item::idempotency_key;
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use spexus_domain::batch::{BatchInput, BatchResult};
use spexus_service::batch;
use spexus_service::envelope::ErrorEnvelope;

/// Do many operations, all or nothing.
#[utoipa::path(
    post, path = "/api/v1/batch", tag = "batch", request_body = BatchInput,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key with the same request is done once.")),
    responses((status = 200, body = BatchResult), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn run_batch(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    headers: HeaderMap,
    Input(input): Input<BatchInput>,
) -> Answer<Json<BatchResult>> {
    let key = idempotency_key(&headers)?;
    Ok(Json(batch::run(&app.service, &caller, input, key).await?))
}
