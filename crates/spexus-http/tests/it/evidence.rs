//! Evidence over REST: larger than any other body, read as it arrives, and nothing of it kept where it does not arrive whole.

use crate::harness::{Server, both};
use serde_json::{Value, json};
use spexus_http::HttpOptions;
use tokio::io::AsyncWriteExt;

both![a_report_comes_as_it_is_and_may_be_large];

const PUSH: &str = "/api/v1/trace/push";

/// A report of so many tests, all of one requirement.
fn report(tests: usize) -> String {
    let property = "<properties><property name=\"requirement\" value=\"REQ-001\"/></properties>";
    let case = |at: usize| format!("<testcase classname=\"pkg\" name=\"t{at}\">{property}</testcase>\n");
    let cases: String = (0..tests).map(case).collect();
    format!("<testsuite name=\"pkg\">{cases}</testsuite>")
}

async fn send(server: &Server, query: &str, media: &str, body: String) -> (u16, Value) {
    let request = server
        .client
        .post(format!("{}{PUSH}{query}", server.url))
        .bearer_auth(&server.token);
    let reply = request
        .header("content-type", media)
        .body(body)
        .send()
        .await
        .unwrap();
    let status = reply.status().as_u16();
    (
        status,
        serde_json::from_str(&reply.text().await.unwrap()).unwrap(),
    )
}

//= specs/spexus-http.md#limits
//= type=test
//# A report that is pushed as it is MUST be read as it arrives, and one that is cut off or larger than its limit MUST leave
//# nothing behind.
async fn a_report_comes_as_it_is_and_may_be_large(server: &Server) {
    server.seed().await;
    let query = "?commit=abcdef1&format=junit&name=junit.xml";
    let large = report(20_000);
    assert!(large.len() > 2 << 20, "it is larger than any other body may be");
    // Announced whole, and cut off.
    let mut stream = server.connect().await;
    let head = server.head("POST", &format!("{PUSH}{query}"), large.len());
    let head = head.replace("application/json", "application/xml");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
        .write_all(&large.as_bytes()[..large.len() / 2])
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    drop(stream);
    let (status, body) = send(server, query, "application/xml", large.clone()).await;
    assert_eq!(
        (status, &body["sources"][0]["passed"]),
        (201, &json!(20_000)),
        "{body}"
    );
    assert_eq!(body["states"], json!({"passed": 1}));
    let (status, body) = send(server, query, "application/xml", large.clone()).await;
    assert_eq!((status, &body["already_known"]), (200, &json!(true)));
    let json = json!({"commit": "abcdef2", "reports": [{"format": "junit", "text": large}]});
    let (status, body) = send(server, "", "application/json", json.to_string()).await;
    assert_eq!(status, 201, "{body}");
    for (query, media, field) in [
        ("?format=junit", "application/xml", "commit"),
        ("?commit=abcdef1", "application/xml", "format"),
        ("?commit=abcdef1&format=xunit", "application/xml", "format"),
        ("?commit=abcdef1", "application/json", "query"),
    ] {
        let (status, body) = send(server, query, media, json!({"commit": "abcdef3"}).to_string()).await;
        let field_at_fault = &body["error"]["fields"][0]["field"];
        assert_eq!((status, field_at_fault), (400, &json!(field)), "{body}");
    }
}

//= specs/spexus-http.md#limits
//= type=test
//# A push of evidence MUST have a limit of its own, and one beyond it MUST be answered 413 with its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_has_a_limit_of_its_own() {
    let options = HttpOptions {
        max_push_bytes: 10_000,
        ..HttpOptions::default()
    };
    let server = Server::with(options).await;
    server.seed().await;
    let large = report(200);
    let json = json!({"commit": "abcdef1", "reports": [{"format": "junit", "text": large}]}).to_string();
    for (query, media, body) in [
        ("?commit=abcdef1&format=junit", "application/xml", large.clone()),
        ("", "application/json", json),
    ] {
        let (status, body) = send(&server, query, media, body).await;
        let limit = &body["error"]["facts"]["max_push_bytes"];
        assert_eq!((status, limit), (413, &json!("10000")), "{media}: {body}");
    }
    let trace = server.get("/api/v1/requirements/REQ-001/trace").await;
    assert_eq!(trace.body["state"], "none", "nothing of it was kept");
    server.stop().await;
}
