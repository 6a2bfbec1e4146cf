//! What a bridge tells of itself while it runs.

use crate::place::{Backend, Host, PATIENCE, settings};
use serde_json::json;
use spexus_bridge::{BridgeLimits, BridgeSettings};
use std::fmt::{Debug, Write as _};
use tokio::sync::watch;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::{Layer, Registry};

/// Keeps every line that tells how the bridge is.
struct Vitals(watch::Sender<Vec<String>>);

struct Fields(String);

impl tracing::field::Visit for Fields {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Vitals {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        if fields.0.contains("message=vitals") {
            self.0.send_modify(|lines| lines.push(fields.0));
        }
    }
}

// proves 003 R15.9
//= specs/spexus-bridge.md#logs
//= type=test
//# The bridge MUST log from time to time how much memory it holds and how many requests run, were tried again and failed.
#[tokio::test]
async fn how_the_bridge_is_is_logged_again_and_again_while_its_host_is_there() {
    let (told, mut lines) = watch::channel(Vec::new());
    let _logging = tracing::subscriber::set_default(Registry::default().with(Vitals(told)));
    // With one subscriber in the process, whether anyone wants a line may have been asked on another test's thread.
    let _second = tracing::Dispatch::new(Registry::default());
    let backend = Backend::start().await;
    let often = BridgeSettings {
        limits: BridgeLimits {
            stats_every_ms: 20,
            ..settings(backend.address).limits
        },
        ..settings(backend.address)
    };
    let mut host = Host::greeted(often, "2025-11-25").await;
    host.call("echo", json!({ "title": "work" })).await;
    let begun = lines.borrow().len();
    let more = lines.wait_for(|lines| lines.len() >= begun + 2);
    let lines = tokio::time::timeout(PATIENCE, more)
        .await
        .unwrap()
        .unwrap()
        .clone();
    for figure in [
        "in_flight=0",
        "requests=2",
        "retries=0",
        "failures=0",
        "resident_kb=",
    ] {
        assert!(lines.last().unwrap().contains(figure), "{figure} in {lines:?}");
    }
    assert!(!host.bridge.is_finished(), "its host is still there");
}
