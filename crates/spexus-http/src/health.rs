//! Whether the server lives, whether it can work, and its numbers.

use crate::app::App;
use crate::auth::{Anonymous, authenticate, spend_anonymous};
use crate::respond::Answer;
use crate::respond::Json;
use crate::sender::Sender;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use spexus_domain::permission::Operation;
use spexus_service::Service;
use spexus_service::envelope::ErrorEnvelope;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long an answer about the database holds: whoever asks more often is told the same.
const READY_HOLDS: Duration = Duration::from_secs(1);

/// Tell that the process answers.
#[utoipa::path(get, path = "/health/live", tag = "operations", security(()), responses((status = 200, body = Value)))]
pub(crate) async fn live(_: Anonymous) -> Json<Value> {
    Json(json!({"status": "live"}))
}

/// Tell whether requests can be served: the database answers and the server is not stopping.
#[utoipa::path(
    get, path = "/health/ready", tag = "operations", security(()),
    responses((status = 200, body = Value), (status = 503, body = Value))
)]
pub(crate) async fn ready(State(app): State<App>, _: Anonymous) -> Response {
    let stopping = *app.stopping.borrow();
    let database = app.readiness.database(&app.service).await;
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

/// Whether the database answered lately. One asks, the others wait for the same answer, so that no number of questions
/// takes more than one connection.
#[derive(Default)]
pub(crate) struct Readiness(Mutex<Option<(Instant, bool)>>);

impl Readiness {
    //= specs/spexus-http.md#limits
    //# Questions about readiness MUST NOT use more than one connection to the database, however many there are.
    async fn database(&self, service: &Service) -> bool {
        let mut last = self.0.lock().await;
        if let Some((at, answer)) = *last
            && at.elapsed() < READY_HOLDS
        {
            return answer;
        }
        let answer = service.ping().await.is_ok();
        *last = Some((Instant::now(), answer));
        answer
    }
}

/// Show the metrics in Prometheus' text form: to programs on the same machine, and to administrators.
#[utoipa::path(get, path = "/metrics", tag = "operations", security(()), responses((status = 200, content_type = "text/plain", body = String), (status = "4XX", body = ErrorEnvelope)))]
pub(crate) async fn metrics(State(app): State<App>, parts: Parts) -> Answer<impl IntoResponse> {
    //= specs/spexus-http.md#permissions
    //# Metrics MUST be shown only to administrators, and without a token to programs on the same machine that no proxy stands before.
    let is_local = parts
        .extensions
        .get::<Sender>()
        .is_some_and(|sender| sender.is_local);
    //= specs/spexus-http.md#permissions
    //# A request that names a foreign `Host` or comes from a page of one MUST NOT be shown metrics without a token.
    match is_local && app.hosts.check(&parts).is_ok() {
        true => spend_anonymous(&app, &parts)?,
        false => authenticate(&app, &parts).await?.may(Operation::Audit)?,
    }
    let text = (app.options.metrics)();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text))
}
