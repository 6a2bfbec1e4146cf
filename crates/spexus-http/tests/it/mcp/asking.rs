//! What only a stream or its want shows of what only a person or a model can say.

use super::{Agent, pair};
use crate::harness::Server;
use serde_json::json;
use spexus_http::HttpOptions;

// Found by review: a request was carried out, and then refused because its answer came as a stream.
//= specs/spexus-mcp.md#endpoint
//= type=test
//# A request that could be answered by a stream MUST be answered without one, where its user has as many open as
//# allowed; nothing MUST be done for a request that is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_is_not_refused_for_want_of_a_stream() {
    let options = HttpOptions {
        max_streams_per_user: 1,
        max_anonymous_requests_per_minute: 10_000,
        ..HttpOptions::default()
    };
    let server = Server::with(options).await;
    server.seed().await;
    let agent = Agent::with(&server, &server.token, "2025-11-25", &[]).await;
    let wish = json!({ "text": "The passkey prompt", "_meta": { "progressToken": 1 } });
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "completion/complete", "params": wish });
    let kind = |answer: &super::HttpAnswer| answer.headers["content-type"].to_str().unwrap().to_owned();
    let streamed = agent.send(&message).await;
    assert_eq!(kind(&streamed), "text/event-stream", "{:?}", streamed.body);
    let held = agent.listen().await;
    let plain = agent.send(&message).await;
    assert_eq!((plain.status, kind(&plain)), (200, "application/json".to_owned()));
    assert_eq!(plain.body["result"], streamed.body["result"]);
    let second = agent.request_to(reqwest::Method::GET).send().await.unwrap();
    assert_eq!(second.status(), 429);
    let wish = json!({ "notifications": { "resourceSubscriptions": ["epic://EP-001"] } });
    let refused = pair::stateless(&server, &server.token, "subscriptions/listen", wish).await;
    assert!(refused.get("error").is_some(), "{refused}");
    drop(held);
    server.stop().await;
}
