//! However requests, cancels, timeouts, panics, draining, shutdown and the end of input mix: one answer each, or
//! cancelled.

use std::collections::HashMap;
use std::time::Duration;

use mcp_protocol::{Arguments, ToolResult};
use mcp_server::{Context, Stop, Tool};
use proptest::prelude::*;
use refusal::{Code, Refusal};
use serde_json::{Value, json};

use crate::client::{Client, server_with};

#[derive(Clone, Debug)]
enum Step {
    Call(&'static str),
    Batch(Vec<&'static str>),
    /// Cancels the n-th request counted from the last.
    Cancel(usize),
    Ping,
    Nonsense,
    Pause,
    /// The server stops taking requests.
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    let tool = || {
        prop_oneof![
            Just("ready"),
            Just("quick"),
            Just("slow"),
            Just("stuck"),
            Just("panic"),
            Just("panic_inline"),
            Just("refuse"),
            Just("none")
        ]
    };
    prop_oneof![
        16 => tool().prop_map(Step::Call),
        1 => proptest::collection::vec(tool(), 1..4).prop_map(Step::Batch),
        5 => (0usize..6).prop_map(Step::Cancel),
        1 => Just(Step::Ping),
        1 => Just(Step::Nonsense),
        2 => Just(Step::Pause),
        1 => Just(Step::Drain),
    ]
}

fn tools() -> Vec<Tool> {
    vec![
        Tool::ready("ready", "At once.", |_| Ok(ToolResult::text("ready"))),
        Tool::ready("panic_inline", "Panics at once.", |_| panic!("inline")),
        Tool::new("quick", "Soon.", |_, _: Arguments| async {
            Ok::<_, Stop>(ToolResult::text("quick"))
        }),
        Tool::new("slow", "Later.", |cx: Context, _: Arguments| async move {
            tokio::time::sleep(Duration::from_millis(5)).await;
            cx.progress(1.0, None, None).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, Stop>(ToolResult::text("slow"))
        }),
        Tool::new("stuck", "Never.", |_, _: Arguments| async {
            std::future::pending::<()>().await;
            Ok::<_, Stop>(ToolResult::default())
        })
        .timeout(Duration::from_millis(20)),
        Tool::new("panic", "Panics in the middle.", |_, _: Arguments| async {
            tokio::time::sleep(Duration::from_millis(3)).await;
            panic!("in the middle");
            #[allow(unreachable_code)]
            Ok::<_, Stop>(ToolResult::default())
        }),
        Tool::new("refuse", "Refuses.", |_, _: Arguments| async {
            Err::<ToolResult, _>(Refusal::new(Code::RuleViolated, "no"))
        }),
    ]
}

fn request(id: u64, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "_meta": { "progressToken": id } } })
}

/// Plays the steps, asks for shutdown or just ends the input, and gives how often each request was answered.
async fn play(
    steps: Vec<Step>,
    shutdown: bool,
    drain_ms: u64,
    in_flight: usize,
) -> (HashMap<u64, usize>, Vec<u64>, u64) {
    let server = server_with(|s| {
        s.limits.drain_timeout_ms = drain_ms;
        s.limits.max_in_flight_per_session = in_flight;
        s.limits.admission_wait_ms = 1;
    });
    server.add_tools(tools()).unwrap();
    let mut client = Client::ready_with(&server, "2025-03-26", json!({})).await;
    let (first, mut next, mut cancelled) = (1_000, 1_000, Vec::new());
    for step in steps {
        match step {
            Step::Call(tool) => {
                client.send(&request(next, tool)).await;
                next += 1;
            }
            Step::Batch(tools) => {
                let batch: Vec<Value> = tools
                    .iter()
                    .enumerate()
                    .map(|(n, tool)| request(next + n as u64, tool))
                    .collect();
                next += batch.len() as u64;
                client.send(&json!(batch)).await;
            }
            Step::Cancel(back) => {
                let Some(id) = next.checked_sub(1 + back as u64).filter(|id| *id >= first) else {
                    continue;
                };
                cancelled.push(id);
                client
                    .notify("notifications/cancelled", json!({ "requestId": id }))
                    .await;
            }
            Step::Ping => drop(client.start("ping", json!({})).await),
            Step::Nonsense => client.send_text("{\"jsonrpc\":").await,
            Step::Drain => drop(tokio::spawn({
                let server = server.clone();
                async move { server.drain().await }
            })),
            Step::Pause => tokio::time::sleep(Duration::from_millis(4)).await,
        }
    }
    if shutdown {
        client.start("shutdown", json!({})).await;
    }
    let (rest, _) = client.finish().await;
    let mut answers: HashMap<u64, usize> = (first..next).map(|id| (id, 0)).collect();
    for message in rest {
        let batch = message.as_array().cloned().unwrap_or_else(|| vec![message]);
        for answer in batch.iter().filter(|m| m.get("method").is_none()) {
            if let Some(count) = answer["id"].as_u64().and_then(|id| answers.get_mut(&id)) {
                *count += 1;
            }
        }
    }
    assert_eq!(server.in_flight(), 0, "nothing is left running");
    (answers, cancelled, next - first)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    //= specs/mcp-server.md#messages
    //= type=test
    //# Every request MUST get exactly one answer, unless the client cancelled it.
    #[test]
    fn every_request_is_answered_once_or_was_cancelled(
        steps in proptest::collection::vec(step(), 0..60),
        shutdown in any::<bool>(),
        drain_ms in prop_oneof![Just(0u64), Just(7), Just(10_000)],
        in_flight in prop_oneof![Just(2usize), Just(1_000)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let (answers, cancelled, sent) = runtime.block_on(play(steps, shutdown, drain_ms, in_flight));
        prop_assert_eq!(answers.len() as u64, sent);
        for (id, count) in answers {
            let allowed = if cancelled.contains(&id) { 0..=1 } else { 1..=1 };
            prop_assert!(allowed.contains(&count), "request {} was answered {} times", id, count);
        }
    }
}
