//! `subscriptions/listen` of the stateless era: one request that stays open. The host opens it once; the bridge opens
//! it again whenever the backend goes away.

use std::sync::Arc;

use mcp_client::{HttpReply, SendError, SseReader};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{self, notification};
use crate::bridge::Bridge;
use crate::forward::{RetryableRequest, answers};
use crate::message::one_line;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
const ACKNOWLEDGED: &[u8] = b"\"notifications/subscriptions/acknowledged\"";

#[derive(Debug, Default, Deserialize)]
struct Params {
    #[serde(default)]
    notifications: Filter,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: Vec<String>,
}

/// Listens until the host loses interest; an answer when the backend refuses, or was never there.
pub(crate) async fn listen(
    bridge: &Arc<Bridge>,
    request: &RetryableRequest<'_>,
    params: Option<&str>,
) -> Vec<u8> {
    let asked: Params = params
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let backoff = bridge.settings.limits.backoff();
    let (mut failures, mut acknowledged) = (0, false);
    loop {
        match open(bridge, request).await {
            Ok(Ok(events)) => {
                failures = 0;
                let subscription = Subscription {
                    bridge,
                    request,
                    filter: &asked.notifications,
                    again: acknowledged,
                };
                acknowledged = true;
                if let Some(refused) = subscription.relay_all(events).await {
                    return refused;
                }
            }
            Ok(Err(refused)) => return refused,
            Err(error) if !acknowledged && failures >= bridge.settings.max_retries => {
                return bridge.refused(request, answer::unreachable(&error, true));
            }
            Err(_) => failures += 1,
        }
        tokio::time::sleep(backoff.delay(failures.min(4))).await;
    }
}

/// The answer that ends a subscription when the host goes.
pub(crate) fn ended(id: &str) -> Vec<u8> {
    let id_value: Value = serde_json::from_str(id).unwrap_or_default();
    let result = json!({ "resultType": "complete", "_meta": { SUBSCRIPTION_ID: id_value } });
    answer::result(id, &result.to_string())
}

async fn open(
    bridge: &Bridge,
    request: &RetryableRequest<'_>,
) -> Result<Result<SseReader, Vec<u8>>, SendError> {
    let headers = request.headers.clone().unwrap_or_default();
    let reply = bridge.backend.endpoint.post(request.body.clone(), &headers);
    match reply.await? {
        HttpReply::Events { events, .. } => Ok(Ok(events)),
        HttpReply::Text {
            status: 502..=504, ..
        } => Err(SendError::NotSent("the backend is not there".into())),
        HttpReply::Text { body, .. } if answers(&body, request.id) => Ok(Err(one_line(&body).into_owned())),
        HttpReply::Text { status, .. } => Ok(Err(bridge.refused(request, answer::not_mcp(status)))),
    }
}

struct Subscription<'a> {
    bridge: &'a Bridge,
    request: &'a RetryableRequest<'a>,
    filter: &'a Filter,
    /// Whether the host was told already that it is listened for.
    again: bool,
}

impl Subscription<'_> {
    /// Passes messages on until the stream ends. An answer that is a result only says that the backend leaves.
    async fn relay_all(&self, mut events: SseReader) -> Option<Vec<u8>> {
        while let Ok(Some(event)) = events.next().await {
            let data = &event.data;
            if answers(data, self.request.id) {
                let is_error =
                    serde_json::from_slice::<Value>(data).is_ok_and(|answer| answer.get("error").is_some());
                return is_error.then(|| one_line(data).into_owned());
            }
            if self.again && memchr::memmem::find(data, ACKNOWLEDGED).is_some() {
                self.catch_up().await;
                continue;
            }
            self.bridge.relay(data).await;
        }
        None
    }

    /// Tells of everything that may have changed while nobody listened.
    async fn catch_up(&self) {
        let lists = [
            ("tools", self.filter.tools_list_changed),
            ("prompts", self.filter.prompts_list_changed),
            ("resources", self.filter.resources_list_changed),
        ];
        for (list, _) in lists.iter().filter(|(_, wanted)| *wanted) {
            self.notify(&format!("notifications/{list}/list_changed"), json!({}))
                .await;
        }
        for uri in &self.filter.resource_subscriptions {
            let params = json!({ "uri": uri, "resource_uri": uri, "change_type": "updated" });
            self.notify("notifications/resources/updated", params).await;
        }
    }

    async fn notify(&self, method: &str, mut params: Value) {
        let id: Value = serde_json::from_str(self.request.id).unwrap_or_default();
        params["_meta"] = json!({ SUBSCRIPTION_ID: id });
        self.bridge.send(&notification(method, &params)).await;
    }
}
