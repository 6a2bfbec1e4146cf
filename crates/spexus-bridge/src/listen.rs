//! `subscriptions/listen` of the stateless era: one request that stays open. The host opens it once; the bridge opens
//! it again whenever the backend goes away.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{self, notification};
use crate::backend::{Fault, Reply};
use crate::call::{Errand, answers};
use crate::events::Events;
use crate::host::Bridge;
use crate::text::one_line;

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
pub(crate) async fn listen(bridge: &Arc<Bridge>, errand: &Errand, params: Option<&str>) -> Vec<u8> {
    let asked: Params = params
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let (mut tries, mut acknowledged) = (0, false);
    loop {
        match open(bridge, errand).await {
            Ok(Ok(events)) => {
                tries = 0;
                let listener = Listener {
                    bridge,
                    errand,
                    filter: &asked.notifications,
                    again: acknowledged,
                };
                acknowledged = true;
                if let Some(refused) = listener.pass_on(events).await {
                    return refused;
                }
            }
            Ok(Err(refused)) => return refused,
            Err(fault) if !acknowledged && tries >= bridge.settings.max_retries => {
                return bridge.refused(errand, answer::unreachable(&fault, true));
            }
            Err(_) => tries += 1,
        }
        tokio::time::sleep(bridge.pause(tries.min(4))).await;
    }
}

/// The answer that ends a listener when the host goes.
pub(crate) fn ended(id: &str) -> Vec<u8> {
    let id_value: Value = serde_json::from_str(id).unwrap_or_default();
    let result = json!({ "resultType": "complete", "_meta": { SUBSCRIPTION_ID: id_value } });
    answer::result(id, &result.to_string())
}

async fn open(bridge: &Bridge, errand: &Errand) -> Result<Result<Events, Vec<u8>>, Fault> {
    let headers = errand.headers.clone().unwrap_or_default();
    match bridge.backend.post(errand.body.clone(), &headers).await? {
        Reply::Events(events) => Ok(Ok(events)),
        Reply::Text {
            status: 502..=504, ..
        } => Err(Fault::NotSent("the backend is not there".into())),
        Reply::Text { body, .. } if answers(&body, &errand.id) => Ok(Err(one_line(&body).into_owned())),
        Reply::Text { status, .. } => Ok(Err(bridge.refused(errand, answer::odd(status)))),
    }
}

struct Listener<'a> {
    bridge: &'a Bridge,
    errand: &'a Errand,
    filter: &'a Filter,
    /// Whether the host was told already that it is listened for.
    again: bool,
}

impl Listener<'_> {
    /// Passes messages on until the stream ends. An answer that is a result only says that the backend leaves.
    async fn pass_on(&self, mut events: Events) -> Option<Vec<u8>> {
        while let Ok(Some(event)) = events.next().await {
            let data = &event.data;
            if answers(data, &self.errand.id) {
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

    /// What may have changed while nobody listened.
    async fn catch_up(&self) {
        let lists = [
            ("tools", self.filter.tools_list_changed),
            ("prompts", self.filter.prompts_list_changed),
            ("resources", self.filter.resources_list_changed),
        ];
        for (list, _) in lists.iter().filter(|(_, wanted)| *wanted) {
            self.tell(&format!("notifications/{list}/list_changed"), json!({}))
                .await;
        }
        for uri in &self.filter.resource_subscriptions {
            let params = json!({ "uri": uri, "resource_uri": uri, "change_type": "updated" });
            self.tell("notifications/resources/updated", params).await;
        }
    }

    async fn tell(&self, method: &str, mut params: Value) {
        let id: Value = serde_json::from_str(&self.errand.id).unwrap_or_default();
        params["_meta"] = json!({ SUBSCRIPTION_ID: id });
        self.bridge.say(&notification(method, &params)).await;
    }
}
