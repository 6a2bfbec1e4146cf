//! The feed of changes, to be asked for or to be listened to.

use crate::app::App;
use crate::auth::{Authenticated, RequestOrigin, Secret, StreamAuth};
use crate::extract::Params;
use crate::limits::OwnerPermit;
use crate::respond::Answer;
use crate::respond::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use spexus_domain::change::Change;
use spexus_domain::feed::ArrivedChange;
use spexus_domain::{Code, Refusal, Ruled, Uuid};
use spexus_service::envelope::ErrorEnvelope;
use spexus_service::{Service, changes};
use std::collections::VecDeque;
use std::convert::Infallible;
use tokio::sync::watch;
use utoipa::{IntoParams, ToSchema};

/// From where the feed is wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FeedParams {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    project: Option<String>,
    /// The `next_since` of the answer before, unchanged; 0 or nothing for everything.
    since: Option<String>,
    /// Rows of the answer, 1 to 200.
    limit: Option<u32>,
}

/// From where the feed of the installation is wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InstallationFeedParams {
    /// The `next_since` of the answer before, unchanged; 0 or nothing for everything.
    since: Option<String>,
    /// Rows of the answer, 1 to 200.
    limit: Option<u32>,
}

/// From where the stream is wanted.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamParams {
    /// The key of the project. Left out: the token's, else that of the items named, else the default one.
    project: Option<String>,
    /// The id of the last event known, or a `next_since`; the present when left out.
    since: Option<String>,
}

/// A part of the feed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Feed {
    /// The changes, oldest first.
    data: Vec<Change>,
    /// What to send as `since` next time.
    next_since: String,
}

/// Tell what changed since a cursor, oldest first.
#[utoipa::path(
    get, path = "/api/v1/changes", tag = "history", params(FeedParams),
    responses((status = 200, body = Feed), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_changes(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<FeedParams>,
) -> Answer<Json<Feed>> {
    let since = params.since.unwrap_or_else(|| changes::START.to_owned());
    let data = changes::since(
        &app.service,
        &caller,
        params.project.as_deref(),
        &since,
        params.limit,
    )
    .await?;
    //= specs/spexus-http.md#feed
    //# The feed MUST give every change of a project once and in order to a client that sends `next_since` back.
    let next_since = data.last().map_or(since, changes::behind);
    Ok(Json(Feed { data, next_since }))
}

/// A part of the feed of the installation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstallationFeed {
    /// The changes, in the order of their arrival.
    data: Vec<ArrivedChange>,
    /// What to send as `since` next time.
    next_since: String,
}

/// Tell what changed in all projects and in the installation itself since a cursor, in the order of arrival.
#[utoipa::path(
    get, path = "/api/v1/changes/all", tag = "history", params(InstallationFeedParams),
    responses((status = 200, body = InstallationFeed), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn list_all_changes(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    Params(params): Params<InstallationFeedParams>,
) -> Answer<Json<InstallationFeed>> {
    let since = params.since.unwrap_or_else(|| changes::START.to_owned());
    let data = changes::since_of_all(&app.service, &caller, &since, params.limit).await?;
    let next_since = data
        .last()
        .map_or(since, |last| changes::behind_of_all(&last.change));
    Ok(Json(InstallationFeed { data, next_since }))
}

/// Listen to changes as server-sent events; `Last-Event-ID` continues where a connection broke.
#[utoipa::path(
    get, path = "/api/v1/changes/stream", tag = "history", params(StreamParams),
    responses((status = 200, content_type = "text/event-stream", body = String), (status = "4XX", body = ErrorEnvelope))
)]
pub(crate) async fn stream_changes(
    State(app): State<App>,
    Authenticated(caller): Authenticated,
    RequestOrigin(origin): RequestOrigin,
    Params(params): Params<StreamParams>,
    headers: HeaderMap,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let since = match last_event_id(&headers)?.or(params.since) {
        Some(since) => since,
        None => changes::now(&app.service, &caller, params.project.as_deref()).await?,
    };
    // Whether the project can be read is told now, not in the middle of the stream.
    changes::since(&app.service, &caller, params.project.as_deref(), &since, Some(1)).await?;
    let secret = Secret::of(&headers).map_or("", Secret::text);
    let permit = app.streams.acquire(caller.user_id);
    let permit = permit.ok_or_else(|| app.streams.refusal("streams"))?;
    let follower = ChangeFollower {
        _permit: permit,
        auth: StreamAuth::new(&app, secret, origin),
        stopping: app.stopping.clone(),
        service: app.service.clone(),
        project: params.project,
        since,
        waiting: VecDeque::new(),
    };
    Ok(
        Sse::new(futures_util::stream::unfold(follower, ChangeFollower::next))
            .keep_alive(KeepAlive::default()),
    )
}

//= specs/spexus-http.md#feed
//# A listener that sends `Last-Event-ID` MUST be given everything that happened after that event.
/// Where a connection broke. One that cannot be read is refused, because going on elsewhere would lose events in silence.
fn last_event_id(headers: &HeaderMap) -> Ruled<Option<String>> {
    let Some(id) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let cursor = id.to_str().ok().map(str::trim).filter(|id| id.contains('-'));
    let refusal = || {
        Refusal::field(
            Code::InvalidHeader,
            "Last-Event-ID",
            "is not the id of an event",
            "the `id` of the last event received",
        )
    };
    cursor.map(|id| Some(id.to_owned())).ok_or_else(refusal)
}

/// A follower of the change log: reads from the chain after its own cursor, so it is never too slow and misses nothing.
struct ChangeFollower {
    _permit: OwnerPermit<Uuid>,
    service: Service,
    auth: StreamAuth,
    project: Option<String>,
    since: String,
    waiting: VecDeque<Change>,
    stopping: watch::Receiver<bool>,
}

impl ChangeFollower {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if let Some(change) = self.waiting.pop_front() {
                let event = Event::default()
                    .id(changes::behind(&change))
                    .event("change")
                    .json_data(&change)
                    .ok()?;
                return Some((Ok(event), self));
            }
            //= specs/spexus-http.md#feed
            //# A stream MUST end when the token or session it was opened with ends.
            // A token revoked or a role changed since the last event ends or narrows the stream now.
            let (caller, head) = self.auth.authenticate().await.ok()?;
            let project = self.project.as_deref();
            let mut found = changes::stream_since(&self.service, &caller, project, &self.since)
                .await
                .ok()?;
            // What was written since the right was asked for may be what took it away, or come after that.
            found.retain(|change| change.seq <= head);
            if let Some(last) = found.last() {
                self.since = changes::behind(last);
                self.waiting.extend(found);
                continue;
            }
            tokio::select! {
                changed = self.auth.changed() => changed?,
                //= specs/spexus-http.md#stopping
                //# Streams MUST end when the server stops.
                _ = self.stopping.wait_for(|stopping| *stopping) => return None,
            }
        }
    }
}
