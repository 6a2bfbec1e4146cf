//! Calls to an app: what is passed on, and what becomes of those that do not come back.

use serde_json::json;

use crate::host::{Host, refusal};

//= specs/mcp-apps.md#calls
//= type=test
//# What an app answers MUST be passed on as it is, also when the app says that the tool failed.
#[tokio::test]
async fn answers_are_passed_on_as_they_are() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    let failed = client.call("trouble_fail", json!({})).await;
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(
        failed["result"]["structuredContent"],
        json!({ "why": "bad luck" })
    );
    let refused = client.call("trouble_refuse", json!({})).await;
    assert_eq!(
        refused["result"]["structuredContent"]["error"]["refusal"]["code"], 1021,
        "{refused}"
    );
    assert!(
        refused["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("not like this")
    );
    let unfit = client.call("trouble_echo", json!({ "text": 7 })).await;
    assert_eq!(
        unfit["result"]["isError"], true,
        "arguments are checked before the app is asked: {unfit}"
    );
    assert_eq!(refusal(&client.call("trouble_nonsense", json!({})).await), 1080);
}

//= specs/mcp-apps.md#names
//= type=test
//# A resource of an app MUST be listed under `app://`, the app's name and its own address, and be readable there.
#[tokio::test]
async fn resources_and_prompts_are_reached_by_their_names_here() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    for uri in client.names("resources/list", "resources", "uri").await {
        let read = client.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["result"]["contents"][0]["uri"], uri.as_str(), "{read}");
    }
    let read = client
        .request("resources/read", json!({ "uri": "app://trouble/trouble/item/7" }))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "this is trouble://item/7");
    let linked = client.call("trouble_link", json!({})).await;
    let hidden = linked["result"]["content"][0]["uri"].clone();
    assert_eq!(hidden, "app://trouble/trouble/hidden/1");
    let read = client.request("resources/read", json!({ "uri": hidden })).await;
    assert_eq!(
        read["result"]["contents"][0]["text"],
        "this is trouble://hidden/1"
    );
    let missing = client
        .request("resources/read", json!({ "uri": "app://trouble/other/x" }))
        .await;
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    let got = client
        .request(
            "prompts/get",
            json!({ "name": "trouble_greet", "arguments": { "name": "Anna" } }),
        )
        .await;
    assert_eq!(got["result"]["messages"][0]["content"]["text"], "Greet Anna.");
}

// proves 002 Req-Tool-005
#[tokio::test]
async fn progress_of_an_app_reaches_whoever_asked_for_it() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    let params =
        json!({ "name": "trouble_slow", "arguments": { "steps": 5 }, "_meta": { "progressToken": "mine" } });
    let id = client.start("tools/call", params).await;
    let heard = client.notice("notifications/progress").await;
    assert_eq!(heard["params"]["progressToken"], "mine");
    assert_eq!(heard["params"]["total"], 5.0);
    assert_eq!(client.answer(id).await["result"]["content"][0]["text"], "done");
}

//= specs/mcp-apps.md#calls
//= type=test
//# A call that is cancelled MUST be cancelled at the app.
#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_app() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    let params = json!({ "name": "trouble_late", "arguments": {}, "_meta": { "progressToken": "t" } });
    let id = client.start("tools/call", params).await;
    // It has arrived there: it was begun.
    client.notice("notifications/progress").await;
    client
        .notify("notifications/cancelled", json!({ "requestId": id }))
        .await;
    let mut asked = 0;
    while client.text_of("trouble_cancelled", json!({})).await == "0" {
        asked += 1;
        assert!(asked < 10_000, "the app never hears of it");
    }
}

//= specs/mcp-apps.md#calls
//= type=test
//# A call that an app does not answer within its time limit MUST be answered with 1069 and the app's name.
#[tokio::test]
async fn a_call_that_is_not_answered_is_given_up_with_the_name_of_the_app() {
    let host = Host::with(|options| options.limits.call_timeout_ms = 100).await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    let answer = client.call("trouble_late", json!({})).await;
    assert_eq!(refusal(&answer), 1069, "{answer}");
    assert_eq!(answer["error"]["data"]["app"], "trouble");
    // It gives a sign of life, so it is left alone.
    assert_eq!(
        client.text_of("trouble_echo", json!({ "text": "here" })).await,
        "here"
    );
    assert_eq!(mcp_apps::statuses(&host.options).unwrap()[0].restarts, 0);
}

// proves 002 Resil-001
//= specs/mcp-apps.md#calls
//= type=test
//# After five failures in a row an app's calls MUST be refused with 1086 and its name until one call succeeded.
#[tokio::test]
async fn an_app_that_fails_again_and_again_is_paused_and_tried_again() {
    let host = Host::with(|options| {
        options.limits.call_timeout_ms = 50;
        options.limits.breaker.pause_ms = 300;
    })
    .await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    for _ in 0..5 {
        assert_eq!(refusal(&client.call("trouble_late", json!({})).await), 1069);
    }
    let paused = client.call("trouble_echo", json!({ "text": "?" })).await;
    assert_eq!(refusal(&paused), 1086, "{paused}");
    assert!(paused["error"]["message"].as_str().unwrap().contains("trouble"));
    assert_eq!(
        refusal(
            &client
                .request("resources/read", json!({ "uri": "app://trouble/trouble:/two" }))
                .await
        ),
        1086
    );
    while client
        .call("trouble_echo", json!({ "text": "!" }))
        .await
        .get("result")
        .is_none()
    {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(
        client.text_of("trouble_echo", json!({ "text": "closed" })).await,
        "closed"
    );
}
