//! Work that outlives its request, in both published forms.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_protocol::{Arguments, Ask, TASKS_EXTENSION, TaskSupport, ToolResult};
use mcp_server::{Context, Server, Stop, Tool};
use refusal::{Code, Refusal};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::client::{Client, codes, refusal, server, server_with};

struct Job {
    started: Arc<Notify>,
    release: Arc<Notify>,
    alive: Arc<AtomicBool>,
}

struct Alive(Arc<AtomicBool>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

fn jobs(server: &Server) -> Job {
    let job = Job {
        started: Arc::default(),
        release: Arc::default(),
        alive: Arc::new(AtomicBool::new(true)),
    };
    let (tell, wait, alive) = (job.started.clone(), job.release.clone(), job.alive.clone());
    let form = || {
        Ask::form(
            "Sure?",
            json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] }),
        )
    };
    server
        .add_tools(vec![
            Tool::new("job", "Waits to be let go.", move |_: Context, _: Arguments| {
                let (tell, wait, held) = (tell.clone(), wait.clone(), Alive(alive.clone()));
                async move {
                    tell.notify_one();
                    wait.notified().await;
                    drop(held);
                    Ok::<_, Stop>(ToolResult::text("done"))
                }
            })
            .tasks(TaskSupport::Optional),
            Tool::new("required", "Fails as a task.", |_: Context, _: Arguments| async {
                Err::<ToolResult, _>(Refusal::new(Code::RuleViolated, "no"))
            })
            .tasks(TaskSupport::Required),
            Tool::new("broken", "Panics as a task.", |_: Context, _: Arguments| async {
                if true {
                    panic!("broken");
                }
                Ok::<_, Stop>(ToolResult::default())
            })
            .tasks(TaskSupport::Optional),
            Tool::new(
                "asking",
                "Asks as a task.",
                move |cx: Context, _: Arguments| async move {
                    let answers = cx.ask_all(vec![("a", form()), ("b", form())]).await?;
                    Ok::<_, Stop>(ToolResult::text(format!(
                        "{} {}",
                        answers["a"]["content"]["ok"], answers["b"]["content"]["ok"]
                    )))
                },
            )
            .tasks(TaskSupport::Optional),
            Tool::ready("never", "Never a task.", |_| Ok(ToolResult::text("at once"))),
        ])
        .unwrap();
    job
}

fn able() -> Value {
    json!({ "elicitation": {}, "extensions": { TASKS_EXTENSION: {} } })
}

//= specs/mcp-server.md#tasks
//= type=test
//# A call MUST become a task only when the tool allows it and the client asked for it or declared that it can follow tasks.
#[tokio::test]
async fn the_first_form_waits_for_the_result() {
    let server = server();
    let job = jobs(&server);
    let mut client = Client::ready(&server).await;
    let made = client
        .request("tools/call", json!({ "name": "job", "task": { "ttl": 60_000 } }))
        .await["result"]["task"]
        .clone();
    assert_eq!(
        (&made["status"], &made["ttl"]),
        (&json!("working"), &json!(60_000))
    );
    job.started.notified().await;
    let id = made["taskId"].clone();
    assert_eq!(
        client.request("tasks/get", json!({ "taskId": id })).await["result"]["status"],
        "working"
    );
    assert_eq!(
        client.request("tasks/list", json!({})).await["result"]["tasks"][0]["taskId"],
        id
    );
    let waiting = client.start("tasks/result", json!({ "taskId": id })).await;
    job.release.notify_one();
    let result = client.answer(&json!(waiting)).await["result"].clone();
    assert_eq!(result["content"][0]["text"], "done");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/related-task"]["taskId"],
        id
    );
    assert_eq!(
        client.request("tasks/get", json!({ "taskId": id })).await["result"]["status"],
        "completed"
    );
    assert_eq!(
        codes(&client.request("tasks/cancel", json!({ "taskId": id })).await),
        (-32602, 1021)
    );
    let forbidden = client
        .request("tools/call", json!({ "name": "never", "task": {} }))
        .await;
    assert_eq!(forbidden["error"]["code"], -32601);
    assert_eq!(client.call("required", json!({})).await["error"]["code"], -32601);
    let mut other = Client::ready(&server).await;
    assert_eq!(
        codes(&other.request("tasks/get", json!({ "taskId": id })).await),
        (-32602, 1021),
        "tasks are private"
    );
    let mut old = Client::ready_with(&server, "2025-06-18", json!({})).await;
    assert_eq!(
        old.request("tools/call", json!({ "name": "never", "task": {} }))
            .await["result"]["content"][0]["text"],
        "at once"
    );
}

//= specs/mcp-server.md#tasks
//= type=test
//# Cancelling a task MUST stop its work, and a task that is over MUST keep its outcome.
#[tokio::test]
async fn a_cancelled_task_stops_in_both_forms() {
    for stateless in [false, true] {
        let server = server();
        let job = jobs(&server);
        let mut client = Client::ready(&server).await;
        let id = if stateless {
            client
                .stateless("tools/call", json!({ "name": "job" }), able())
                .await["result"]["taskId"]
                .clone()
        } else {
            client
                .request("tools/call", json!({ "name": "job", "task": {} }))
                .await["result"]["task"]["taskId"]
                .clone()
        };
        job.started.notified().await;
        let status = if stateless {
            let ack = client
                .stateless("tasks/cancel", json!({ "taskId": id }), able())
                .await["result"]
                .clone();
            assert!(ack.get("taskId").is_none());
            assert_eq!(
                client
                    .stateless("tasks/cancel", json!({ "taskId": id }), able())
                    .await["result"]["resultType"],
                "complete"
            );
            client
                .stateless("tasks/get", json!({ "taskId": id }), able())
                .await["result"]["status"]
                .clone()
        } else {
            let waiting = client.start("tasks/result", json!({ "taskId": id })).await;
            let status =
                client.request("tasks/cancel", json!({ "taskId": id })).await["result"]["status"].clone();
            assert_eq!(refusal(&client.answer(&json!(waiting)).await), 1021);
            status
        };
        assert_eq!(status, "cancelled");
        while job.alive.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn the_second_form_carries_result_error_and_questions() {
    let server = server();
    let job = jobs(&server);
    let mut client = Client::silent(&server);
    let made = client
        .stateless("tools/call", json!({ "name": "job" }), able())
        .await["result"]
        .clone();
    assert_eq!(
        (&made["resultType"], &made["status"]),
        (&json!("task"), &json!("working"))
    );
    assert!(made["ttlMs"].is_u64() && made["pollIntervalMs"].is_u64() && made.get("task").is_none());
    job.release.notify_one();
    let done = settled(&mut client, &made["taskId"]).await;
    assert_eq!(
        (&done["status"], &done["result"]["content"][0]["text"]),
        (&json!("completed"), &json!("done"))
    );
    for (tool, status) in [("required", "completed"), ("broken", "failed")] {
        let made = client
            .stateless("tools/call", json!({ "name": tool }), able())
            .await["result"]
            .clone();
        let done = settled(&mut client, &made["taskId"]).await;
        assert_eq!(done["status"], status, "{done}");
        match status {
            "completed" => assert_eq!(done["result"]["isError"], true),
            _ => assert_eq!(done["error"]["code"], -32603),
        }
    }
    let made = client
        .stateless("tools/call", json!({ "name": "asking" }), able())
        .await["result"]
        .clone();
    let asked = until(&mut client, &made["taskId"], |task| {
        task["inputRequests"].as_object().map_or(0, |q| q.len()) == 2
    })
    .await;
    assert_eq!(asked["status"], "input_required");
    let reply = |ok: Value| json!({ "action": "accept", "content": { "ok": ok } });
    let mut update = async |answers: Value| {
        let params = json!({ "taskId": made["taskId"], "inputResponses": answers });
        assert_eq!(
            client.stateless("tasks/update", params, able()).await["result"]["resultType"],
            "complete"
        );
    };
    update(json!({ "a": reply(json!(true)) })).await;
    update(json!({ "b": reply(json!("nonsense")) })).await;
    let again = until(&mut client, &made["taskId"], |task| {
        task["inputRequests"].get("b").is_some()
    })
    .await;
    assert_eq!(
        again["inputRequests"].as_object().unwrap().len(),
        1,
        "only what is open is asked again"
    );
    let params = json!({ "taskId": made["taskId"], "inputResponses": { "b": reply(json!(false)) } });
    client.stateless("tasks/update", params, able()).await;
    assert_eq!(
        settled(&mut client, &made["taskId"]).await["result"]["content"][0]["text"],
        "true false"
    );
}

#[tokio::test]
async fn questions_may_come_before_the_task() {
    let server = server();
    let form = || Ask::form("Who?", json!({ "type": "object", "required": ["name"] }));
    let mut tool = Tool::new(
        "first",
        "Asks first.",
        move |cx: Context, _: Arguments| async move {
            Ok::<_, Stop>(ToolResult::text(
                cx.ask("who", form()).await?["content"]["name"].to_string(),
            ))
        },
    )
    .tasks(TaskSupport::Required);
    tool.first_asks = vec![("who".into(), form())];
    server.add_tool(tool).unwrap();
    let mut client = Client::silent(&server);
    let round = client
        .stateless("tools/call", json!({ "name": "first" }), able())
        .await["result"]
        .clone();
    assert_eq!(round["resultType"], "input_required");
    let answers = json!({ "who": { "action": "accept", "content": { "name": "Ada" } } });
    let params = json!({ "name": "first", "requestState": round["requestState"], "inputResponses": answers });
    let made = client.stateless("tools/call", params, able()).await["result"].clone();
    assert_eq!(made["resultType"], "task");
    assert_eq!(
        settled(&mut client, &made["taskId"]).await["result"]["content"][0]["text"],
        "\"Ada\""
    );
    let unable = json!({ "extensions": { TASKS_EXTENSION: {} } });
    assert_eq!(
        client
            .stateless("tools/call", json!({ "name": "first" }), unable)
            .await["error"]["code"],
        -32021
    );
}

#[tokio::test]
async fn who_did_not_declare_tasks_gets_none() {
    let server = server();
    let job = jobs(&server);
    let mut client = Client::silent(&server);
    job.release.notify_one();
    let plain = client
        .stateless("tools/call", json!({ "name": "job" }), json!({}))
        .await["result"]
        .clone();
    assert_eq!(
        (&plain["resultType"], &plain["content"][0]["text"]),
        (&json!("complete"), &json!("done"))
    );
    let required = client
        .stateless("tools/call", json!({ "name": "required" }), json!({}))
        .await;
    assert_eq!(codes(&required).0, -32021);
    assert_eq!(
        required["error"]["data"]["requiredCapabilities"],
        json!({ "extensions": { TASKS_EXTENSION: {} } })
    );
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let params = json!({ "taskId": "x", "inputResponses": {} });
        assert_eq!(
            client.stateless(method, params, json!({})).await["error"]["code"],
            -32021
        );
    }
    assert_eq!(
        client.stateless("tasks/list", json!({}), able()).await["error"]["code"],
        -32601
    );
}

#[tokio::test]
async fn only_so_many_tasks_are_remembered() {
    let server = server_with(|s| s.limits.max_tasks = 1);
    jobs(&server);
    let mut client = Client::ready(&server).await;
    client
        .request("tools/call", json!({ "name": "job", "task": {} }))
        .await;
    let full = client
        .request("tools/call", json!({ "name": "job", "task": {} }))
        .await;
    assert_eq!(codes(&full), (1089, 1089));
}

async fn settled(client: &mut Client, id: &Value) -> Value {
    until(client, id, |task| {
        ["completed", "failed", "cancelled"].contains(&task["status"].as_str().unwrap())
    })
    .await
}

async fn until(client: &mut Client, id: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let task = client
            .stateless("tasks/get", json!({ "taskId": id }), able())
            .await["result"]
            .clone();
        if wanted(&task) {
            return task;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_task_of_another_node_is_refused_with_where_it_lives() {
    let (here, there) = (server(), server());
    jobs(&there);
    let mut began = Client::ready(&there).await;
    let made = began
        .request("tools/call", json!({ "name": "job", "task": {} }))
        .await;
    let task = json!({ "taskId": made["result"]["task"]["taskId"] });
    assert!(
        began
            .request("tasks/get", task.clone())
            .await
            .get("result")
            .is_some()
    );
    let mut other = Client::ready(&here).await;
    let refused = other.request("tasks/get", task).await;
    assert_eq!(codes(&refused), (-32602, 1021));
    let hint = refused["error"]["data"]["refusal"]["hint"].as_str().unwrap();
    assert!(hint.contains("the process that began it"), "{hint}");
}
