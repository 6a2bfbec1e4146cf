//! What is counted: versions in use, outcomes, times; and what is told from memory.

use super::{Agent, hello};
use crate::harness::Server;
use metrics::{
    Counter, CounterFn, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Remembers how often each measure was taken, by its name and labels.
#[derive(Clone, Default)]
struct Tally(Arc<Mutex<BTreeMap<String, u64>>>);

struct One(Tally, String);

impl One {
    fn count(&self, times: u64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += times;
    }
}

impl CounterFn for One {
    fn increment(&self, times: u64) {
        self.count(times);
    }

    fn absolute(&self, _: u64) {}
}

impl HistogramFn for One {
    fn record(&self, _: f64) {
        self.count(1);
    }
}

impl Tally {
    fn one(&self, key: &Key) -> Arc<One> {
        let labels: Vec<String> = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        Arc::new(One(self.clone(), format!("{} {}", key.name(), labels.join(" "))))
    }
}

impl Recorder for Tally {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.one(key))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.one(key))
    }
}

// proves 001 D11
//= specs/spexus-mcp.md#audit
//= type=test
//# The versions of the protocol in use MUST be counted.
#[tokio::test]
async fn versions_outcomes_and_times_are_counted() {
    let tally = Tally::default();
    // Other tests of this process are counted too, which does not matter: only more than nothing is asked for.
    assert!(metrics::set_global_recorder(tally.clone()).is_ok());
    let server = Server::on_sqlite().await;
    let agent = Agent::with(&server, &server.token, "2025-03-26", &[]).await;
    agent.call("list_epics", json!({})).await;
    agent.fails("get_item", json!({ "id": "EP-999" })).await;
    Agent::fresh(&server).send(&hello("1999-01-01")).await;
    let counted = tally.0.lock().unwrap().clone();
    for measure in [
        "spexus_mcp_greetings_total version=2025-03-26",
        "spexus_mcp_operations_total method=tools/call outcome=ok",
        "spexus_mcp_operations_total method=tools/call outcome=RESOURCE_NOT_FOUND",
        "spexus_mcp_operation_seconds method=tools/call",
        "mcp_version_refusals_total ",
    ] {
        assert!(
            counted.get(measure).is_some_and(|times| *times > 0),
            "{measure}: {counted:?}"
        );
    }
    server.stop().await;
}

// proves 003 R15.3
#[tokio::test]
async fn names_are_told_from_memory_until_something_changes() {
    let server = Server::on_sqlite().await;
    let agent = Agent::connect(&server).await;
    agent.call("list_vocabulary", json!({})).await;
    let before = server.service.store().reads();
    agent.call("list_vocabulary", json!({})).await;
    assert_eq!(server.service.store().reads(), before);
    server
        .put(
            "/api/v1/requirement-types/Safety",
            json!({ "description": "Keeps people from harm." }),
        )
        .await
        .ok();
    let words = agent.call("list_vocabulary", json!({})).await;
    assert!(
        words["types"].as_array().unwrap().contains(&json!("Safety")),
        "{words}"
    );
    server.stop().await;
}
