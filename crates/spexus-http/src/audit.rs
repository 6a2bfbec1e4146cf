//! The audit trail.

use crate::app::App;
use crate::auth::Authenticated;
use crate::extract::Params;
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use spexus_domain::Timestamp;
use spexus_domain::audit::{AuditEvent, EventFilter};
use spexus_domain::query::{Page, PageRequest};
use spexus_service::audit;
use spexus_service::envelope::ErrorEnvelope;
use utoipa::{IntoParams, ToSchema};

/// Which page of the trail is wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TrailParams {
    /// Rows of the page, 1 to 200.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// What happened, such as `login_failed`.
    event: Option<String>,
    /// Who did it, or whom it was done to.
    user: Option<String>,
    /// Not before this time.
    since: Option<String>,
    /// Before this time.
    until: Option<String>,
}

/// List what happened at the door, newest first.
#[utoipa::path(
    get, path = "/api/v1/audit/events", tag = "audit", params(TrailParams),
    responses((status = 200, body = Page<AuditEvent>), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_events(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<TrailParams>,
) -> Answer<Json<Page<AuditEvent>>> {
    let time = |field: &str, text: &Option<String>| {
        text.as_deref()
            .map(|text| Timestamp::parse(field, text))
            .transpose()
    };
    let filter = EventFilter {
        since: time("since", &params.since)?,
        until: time("until", &params.until)?,
        event: params.event,
        user: params.user,
    };
    let page = PageRequest::new(params.limit, params.cursor)?;
    Ok(Json(audit::list(&app.service, &caller, &filter, page).await?))
}

/// What verifying the history found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Verification {
    /// Whether nothing was altered, removed or slipped in.
    intact: bool,
    /// How many changes were looked at.
    changes: i64,
    /// One hash over the ends of all ledgers, to be kept elsewhere.
    head: String,
    /// The first change that does not fit, or the first item, comment or link that is not what the history made of it, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
    /// The last hash of the one chain there was before there were ledgers; every ledger begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    former_head: Option<String>,
}

/// Verify the whole history.
#[utoipa::path(
    get, path = "/api/v1/audit/verify", tag = "audit",
    responses((status = 200, body = Verification), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn verify(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
) -> Answer<Json<Verification>> {
    let verdict = audit::verify(&app.service, &caller, &[]).await?;
    let intact = verdict.is_whole();
    let states = verdict.state.into_iter().flat_map(|state| state.differences);
    let fault = verdict
        .fault
        .map(|fault| format!("change {}: {}", fault.seq, fault.problem))
        .or_else(|| {
            states
                .map(|one| format!("{} {} {}: {}", one.entity, one.label, one.id, one.problem))
                .next()
        });
    Ok(Json(Verification {
        intact,
        changes: verdict.changes,
        head: verdict.head,
        fault,
        former_head: verdict.former.map(|former| former.head),
    }))
}
