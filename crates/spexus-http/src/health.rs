//! Whether the server lives, whether it can work, and its numbers.

use crate::app::App;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Tell that the process answers.
#[utoipa::path(get, path = "/health/live", tag = "operations", security(()), responses((status = 200, body = Value)))]
pub(crate) async fn live() -> Json<Value> {
    Json(json!({"status": "live"}))
}

/// Tell whether requests can be served: the database answers and the server is not stopping.
#[utoipa::path(
    get, path = "/health/ready", tag = "operations", security(()),
    responses((status = 200, body = Value), (status = 503, body = Value))
)]
pub(crate) async fn ready(State(app): State<App>) -> Response {
    let stopping = *app.stopping.borrow();
    let database = app.service.ping().await.is_ok();
    let status = if database && !stopping {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let word = |good: bool| if good { "ok" } else { "failed" };
    let body = json!({
        "status": if status.is_success() { "ready" } else { "not ready" },
        "checks": {"database": word(database), "accepting": word(!stopping)},
    });
    (status, Json(body)).into_response()
}

/// Show the metrics in Prometheus' text form.
#[utoipa::path(get, path = "/metrics", tag = "operations", security(()), responses((status = 200, content_type = "text/plain", body = String)))]
pub(crate) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        (app.options.metrics)(),
    )
}
