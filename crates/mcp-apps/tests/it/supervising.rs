//! Apps that end, hang, change and stay behind.

use std::time::Duration;

use serde_json::json;

use crate::host::{Host, refusal, until};

fn exists(process: &str) -> bool {
    // A process that was killed and not yet collected by its new parent is gone for every purpose.
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[tokio::test]
async fn a_crashed_app_costs_its_call_and_is_started_again() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    let crashed = client.call("trouble_crash", json!({})).await;
    assert_eq!(refusal(&crashed), 1080, "{crashed}");
    assert_eq!(crashed["error"]["data"]["app"], "trouble");
    while client
        .call("trouble_echo", json!({ "text": "again" }))
        .await
        .get("result")
        .is_none()
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let notices = mcp_apps::statuses(&host.options).unwrap();
    assert_eq!((notices[0].state.as_str(), notices[0].restarts), ("running", 1));
}

//= specs/mcp-apps.md#supervision
//= type=test
//# An app that was late and then gives no sign of life MUST be ended and started again.
#[tokio::test]
async fn an_app_that_hangs_is_ended_and_started_again() {
    let host = Host::with(|options| {
        options.limits.call_timeout_ms = 100;
        options.limits.ping_timeout_ms = 100;
    })
    .await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    assert_eq!(refusal(&client.call("trouble_hang", json!({})).await), 1069);
    until(|| {
        mcp_apps::statuses(&host.options)
            .unwrap()
            .first()
            .is_some_and(|notice| notice.restarts == 1)
    })
    .await;
    host.until("trouble", "running").await;
    assert_eq!(
        client.text_of("trouble_echo", json!({ "text": "awake" })).await,
        "awake"
    );
}

//= specs/mcp-apps.md#supervision
//= type=test
//# An app that does not shake hands and list what it has within its time limit MUST be ended.
#[tokio::test]
async fn an_app_that_no_longer_starts_is_tried_again_and_says_why() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    host.apps.close().await;
    let path = host.options.folder.join("trouble/app.json");
    let text = std::fs::read_to_string(&path).unwrap();
    for (habit, words) in [("silent", "200 ms"), ("crash-at-start", "exit code 3")] {
        std::fs::write(
            &path,
            text.replace("\"args\": []", &format!("\"args\": [{habit:?}]")),
        )
        .unwrap();
        let mut options = host.options.clone();
        options.limits.start_timeout_ms = 200;
        let again = Host::on(options).await;
        again.until("trouble", "backing-off").await;
        let notice = mcp_apps::statuses(&again.options).unwrap().remove(0);
        until(|| mcp_apps::statuses(&again.options).unwrap()[0].restarts > notice.restarts).await;
        again.until("trouble", "backing-off").await;
        let notice = mcp_apps::statuses(&again.options).unwrap().remove(0);
        if let Some(problem) = notice.problem {
            assert!(problem.contains(words), "{problem}");
        }
        again.apps.close().await;
    }
}

// proves 002 Req-Tool-010: an app's tools come and go while it runs
#[tokio::test]
async fn what_an_app_gains_or_loses_while_it_runs_is_listed_and_told() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    let mut client = host.user().await;
    client.text_of("trouble_grow", json!({})).await;
    client.notice("notifications/tools/list_changed").await;
    assert!(client.tools().await.contains(&"trouble_extra".to_owned()));
    client.text_of("trouble_shrink", json!({})).await;
    client.notice("notifications/tools/list_changed").await;
    assert!(!client.tools().await.contains(&"trouble_extra".to_owned()));
}

//= specs/mcp-apps.md#isolation
//= type=test
//# The process of an app MUST run in a process group of its own, and the whole group MUST end when the app does.
//= specs/mcp-apps.md#supervision
//= type=test
//# When the server ends, every app MUST end with it.
#[tokio::test]
async fn whatever_an_app_started_ends_with_it() {
    let host = Host::new().await;
    host.install("crashing", &[]).await;
    host.install("staying", &["stay"]).await;
    let mut client = host.user().await;
    let of_crashing = client.text_of("crashing_child", json!({})).await;
    let of_staying = client.text_of("staying_child", json!({})).await;
    assert!(exists(&of_crashing) && exists(&of_staying));
    client.call("crashing_crash", json!({})).await;
    until(|| !exists(&of_crashing)).await;
    assert!(exists(&of_staying), "another app's processes are left alone");
    // This one does not end when its input does; it is made to.
    let notices = mcp_apps::statuses(&host.options).unwrap();
    let process = notices
        .iter()
        .find(|notice| notice.app == "staying")
        .unwrap()
        .process
        .unwrap()
        .to_string();
    host.apps.close().await;
    assert!(!exists(&process));
    until(|| !exists(&of_staying)).await;
}

//= specs/mcp-apps.md#supervision
//= type=test
//# Processes of apps that a killed server left behind MUST be ended by the next server that starts with the same folder.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_killed_server_left_behind_is_ended_by_the_next() {
    let host = Host::new().await;
    host.install("trouble", &[]).await;
    until(|| {
        mcp_apps::statuses(&host.options)
            .unwrap()
            .first()
            .is_some_and(|notice| notice.process.is_some())
    })
    .await;
    let mut notice = mcp_apps::statuses(&host.options).unwrap().remove(0);
    host.apps.close().await;
    // Two processes that a server, now dead, would have left: one is what was noted, one has only its number.
    let mut left = std::process::Command::new("sleep");
    let mut left = std::os::unix::process::CommandExt::process_group(left.arg("3600"), 0)
        .spawn()
        .unwrap();
    let mut stranger = std::process::Command::new("sleep").arg("3600").spawn().unwrap();
    let mut dead = std::process::Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let folder = host.options.folder.join(".run");
    let started = |process: u32| {
        let line = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        line.rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .nth(19)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    notice.server = dead.id();
    for (app, process, at) in [
        ("left", left.id(), started(left.id())),
        ("stranger", stranger.id(), 1),
    ] {
        notice.app = app.to_owned();
        notice.process = Some(process);
        notice.process_started = Some(at);
        let path = folder.join(format!("{app}.{}.json", dead.id()));
        std::fs::write(path, serde_json::to_string(&notice).unwrap()).unwrap();
    }
    let next = Host::on(host.options.clone()).await;
    let ended = tokio::task::spawn_blocking(move || left.wait().unwrap());
    let ended = tokio::time::timeout(Duration::from_secs(60), ended)
        .await
        .expect("it is ended")
        .unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9));
    assert!(
        stranger.try_wait().unwrap().is_none(),
        "another process of that number is none of ours"
    );
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    // Only what runs now is noted, as soon as it runs.
    until(|| std::fs::read_dir(&folder).unwrap().count() == 1).await;
    next.apps.close().await;
}
