//! What one app does is no concern of another.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::host::{Host, refusal};

// proves 002 Req-App-005
//= specs/mcp-apps.md#isolation
//= type=test
//# The end of an app, however often, MUST NOT make a call to another app fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_killed_a_hundred_times_fails_no_call_to_another() {
    let host = Host::with(|options| options.limits.longest_pause_ms = 10).await;
    host.install("steady", &[]).await;
    host.install("mortal", &[]).await;
    let mut client = host.user().await;
    let calling = tokio::spawn(async move {
        let mut sent = Vec::new();
        for n in 0..10_000 {
            let params = json!({ "name": "steady_echo", "arguments": { "text": n.to_string() } });
            sent.push((n, client.start("tools/call", params).await));
            // A hundred under way at a time.
            if sent.len() == 100 {
                for (n, id) in sent.drain(..) {
                    let answer = client.answer(id).await;
                    assert_eq!(answer["result"]["content"][0]["text"], n.to_string(), "{answer}");
                }
            }
        }
    });
    let mut killed = 0;
    while killed < 100 {
        let notices = mcp_apps::statuses(&host.options).unwrap();
        let mortal = notices
            .iter()
            .find(|notice| notice.app == "mortal")
            .and_then(|notice| notice.process);
        if let Some(process) = mortal
            && rustix::process::Pid::from_raw(process.cast_signed())
                .is_some_and(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok())
        {
            killed += 1;
            let is_new =
                |notice: &mcp_apps::AppStatus| notice.app == "mortal" && notice.process != Some(process);
            crate::host::until(|| mcp_apps::statuses(&host.options).unwrap().iter().any(is_new)).await;
        } else {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    tokio::time::timeout(Duration::from_secs(120), calling)
        .await
        .expect("all are answered")
        .unwrap();
    host.apps.close().await;
}

// proves 002 Req-App-005
//= specs/mcp-apps.md#isolation
//= type=test
//# A call to an app MUST NOT wait for another app.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apps_that_hang_crash_and_flood_delay_nobody_else() {
    let host = Host::with(|options| {
        options.limits.call_timeout_ms = 30_000;
        options.limits.first_pause_ms = 10;
    })
    .await;
    host.install("steady", &[]).await;
    host.install("hanging", &[]).await;
    host.install("noisy", &["garbage", "flood"]).await;
    host.install("crashing", &[]).await;
    let mut client = host.user().await;
    let mut stuck = Vec::new();
    for _ in 0..50 {
        stuck.push(
            client
                .start("tools/call", json!({ "name": "hanging_hang", "arguments": {} }))
                .await,
        );
    }
    let crashed = client
        .start("tools/call", json!({ "name": "crashing_crash", "arguments": {} }))
        .await;
    let began = Instant::now();
    for n in 0..200 {
        assert_eq!(
            client
                .text_of("steady_echo", json!({ "text": n.to_string() }))
                .await,
            n.to_string()
        );
    }
    // The only limit that could have delayed them is the hanging app's own.
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "nobody waited for the app that hangs"
    );
    assert_eq!(
        client
            .text_of("noisy_echo", json!({ "text": "through the noise" }))
            .await,
        "through the noise"
    );
    // However late the crash was noticed: once it is answered, only the calls of the app that hangs are left.
    assert_eq!(refusal(&client.answer(crashed).await), 1080);
    assert_eq!(host.server.in_flight(), stuck.len());
    host.apps.close().await;
    for id in stuck {
        assert_eq!(refusal(&client.answer(id).await), 1080);
    }
}

//= specs/mcp-apps.md#isolation
//= type=test
//# The memory of each process of an app MUST be limited as configured.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_app_that_eats_too_much_ends_and_nobody_else_does() {
    let host = Host::with(|options| options.limits.max_memory_bytes = 64 << 20).await;
    host.install("greedy", &[]).await;
    let mut client = host.user().await;
    assert_eq!(
        client.text_of("greedy_eat", json!({ "bytes": 1 << 20 })).await,
        (1 << 20).to_string()
    );
    assert_eq!(
        refusal(&client.call("greedy_eat", json!({ "bytes": 1_u64 << 30 })).await),
        1080
    );
}

#[tokio::test]
async fn an_app_sees_only_the_variables_it_is_given() {
    let host = Host::with(|options| {
        options
            .environment
            .insert("LANG".to_owned(), "C.UTF-8".to_owned());
    })
    .await;
    host.install("trouble", &[]).await;
    let seen = host.user().await.text_of("trouble_environment", json!({})).await;
    assert_eq!(seen, "LANG=C.UTF-8\n");
}

//= specs/mcp-apps.md#isolation
//= type=test
//# The memory of each process of an app MUST be limited as configured.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_an_app_starts_at_once_is_limited_as_well() {
    let host = Host::with(|options| options.limits.max_memory_bytes = 512 << 20).await;
    let noted = tempfile::NamedTempFile::new().unwrap();
    // The very first thing the program does is to start another one that looks at its limit.
    let script = format!("sh -c 'ulimit -d' >> {}; exec \"$0\"", noted.path().display());
    let mut quick = crate::host::manifest("quick", &[]);
    let config = &mut quick["server"]["mcp_config"];
    *config = json!({ "command": "/bin/sh", "args": ["-c", script, crate::host::troublemaker()] });
    host.apps
        .install(crate::host::request_for(mcp_apps::AppSource::Manifest(quick)))
        .await
        .unwrap();
    let limits = std::fs::read_to_string(noted.path()).unwrap();
    assert!(!limits.is_empty());
    assert!(
        limits.lines().all(|limit| limit == (512 << 10).to_string()),
        "{limits}"
    );
}
