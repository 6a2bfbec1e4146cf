//! The feed of changes: asked for and listened to, from this process and from others.

use crate::harness::{Server, both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_domain::{Kind, Timestamp, item::NewItem};
use spexus_service::{Service, ServiceOptions, account::login, item};
use std::sync::Arc;

fn label(change: &Value) -> &str {
    change["label"].as_str().unwrap()
}

both![
    a_stream_ends_for_who_is_no_longer_a_member,
    a_client_that_asks_again_misses_nothing,
    a_cursor_of_another_history_is_refused,
    the_feed_of_the_installation_gives_every_change_of_every_ledger_once,
    a_listener_hears_what_rest_does,
    a_listener_hears_what_another_process_does,
    a_broken_connection_goes_on_where_it_broke,
    a_listener_hears_only_its_project,
    a_stream_ends_with_the_right_to_it,
    a_stream_ends_when_the_server_stops,
];

//= specs/spexus-http.md#feed
//= type=test
//# The feed MUST give every change of a project once and in order to a client that sends `next_since` back.
async fn a_client_that_asks_again_misses_nothing(server: &mut Server) {
    server.seed().await;
    let (mut since, mut seen) = ("0".to_owned(), vec![]);
    loop {
        let page = server
            .get(&format!("/api/v1/changes?limit=1&since={since}"))
            .await
            .ok();
        let Some(change) = page["data"].get(0) else {
            assert_eq!(
                page["next_since"], since,
                "an empty answer leaves the cursor where it is"
            );
            break;
        };
        since = page["next_since"].as_str().unwrap().to_owned();
        let number = change["number"].to_string();
        assert_eq!(since.split('-').next(), Some(number.as_str()));
        seen.push(label(change).to_owned());
    }
    assert_eq!(&seen[seen.len() - 4..], ["EP-001", "US-001", "AC-001", "REQ-001"]);
    let all = server.get("/api/v1/changes?limit=200").await.ok();
    assert_eq!(all["data"].as_array().unwrap().len(), seen.len());
}

//= specs/spexus-http.md#feed
//= type=test
//# A cursor of another history or project, and a bare number of older versions, MUST be refused with what to do.
async fn a_cursor_of_another_history_is_refused(server: &mut Server) {
    server.seed().await;
    let feed = "/api/v1/changes?since=";
    let last = server.get("/api/v1/changes?limit=200").await.ok()["next_since"].clone();
    let last = last.as_str().unwrap();
    let (number, rest) = last.split_once('-').unwrap();
    let (ledger, hash) = rest.split_once('-').unwrap();
    let forged = hash.chars().rev().collect::<String>();
    let number: u64 = number.parse().unwrap();
    let restored = [
        format!(
            "{number}-{ledger}-{}",
            if forged == hash { "00000000" } else { &forged }
        ),
        format!("{}-{ledger}-{hash}", number + 1),
    ];
    for cursor in restored {
        let refused = server.get(&format!("{feed}{cursor}")).await.refused(400, 1021);
        let told = refused.to_string();
        assert!(
            told.contains("another_history") && told.contains("anew"),
            "{told}"
        );
        let stream = format!("/api/v1/changes/stream?since={cursor}");
        server.get(&stream).await.refused(400, 1021);
    }
    for (cursor, why) in [
        (format!("{number}-00000000-{hash}"), "another project"),
        (number.to_string(), "bare number"),
        ("-5".to_owned(), "not the cursor"),
        (i64::MAX.to_string(), "bare number"),
    ] {
        let refused = server.get(&format!("{feed}{cursor}")).await.refused(400, 1021);
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

//= specs/spexus-http.md#feed
//= type=test
//# The feed of the installation MUST give an administrator every change of every ledger once and in one order.
async fn the_feed_of_the_installation_gives_every_change_of_every_ledger_once(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/projects", json!({"key": "web"}))
        .await
        .created();
    for title in ["One", "Two"] {
        let epic = json!({"title": title, "project": "web"});
        server.post("/api/v1/epics", epic).await.created();
    }
    let (mut since, mut seen) = ("0".to_owned(), vec![]);
    loop {
        let page = server
            .get(&format!("/api/v1/changes/all?limit=3&since={since}"))
            .await
            .ok();
        let data = page["data"].as_array().unwrap().clone();
        if data.is_empty() {
            assert_eq!(page["next_since"], since);
            break;
        }
        since = page["next_since"].as_str().unwrap().to_owned();
        seen.extend(data);
    }
    let arrival: Vec<i64> = seen
        .iter()
        .map(|change| change["seq"].as_i64().unwrap())
        .collect();
    assert!(arrival.is_sorted_by(|a, b| a < b), "{arrival:?}");
    for project in ["default", "web"] {
        let own = server
            .get(&format!("/api/v1/changes?limit=200&project={project}"))
            .await
            .ok();
        let own = own["data"].as_array().unwrap();
        let place = format!("/api/v1/projects/{project}");
        let id = server.get(&place).await.ok()["id"].clone();
        let mut told = seen.clone();
        told.retain(|change| change["project_id"] == id);
        for change in &mut told {
            change.as_object_mut().unwrap().remove("project_id");
        }
        assert_eq!(&told, own, "{project}");
    }
    let of_accounts = |change: &&Value| change["entity"] == "user" && change["project_id"].is_null();
    assert!(seen.iter().any(|change| of_accounts(&change)));
    let (number, rest) = since.split_once('-').unwrap();
    let own = server.get("/api/v1/changes?limit=200").await.ok()["next_since"].clone();
    for (cursor, why) in [
        (own.as_str().unwrap().to_owned(), "of a project"),
        (format!("{}0-{rest}", number), "another history"),
        (number.to_owned(), "bare number"),
    ] {
        let path = format!("/api/v1/changes/all?since={cursor}");
        let refused = server.get(&path).await.refused(400, 1021);
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let path = format!("/api/v1/changes?since={since}");
    let refused = server.get(&path).await.refused(400, 1021);
    assert!(refused.to_string().contains("another project"), "{refused}");
}

async fn a_stream_ends_for_who_is_no_longer_a_member(server: &mut Server) {
    let web = json!({"key": "web", "default_role": "none"});
    server.post("/api/v1/projects", web).await.created();
    let kim = server.user("kim", "User").await;
    let place = "/api/v1/projects/web/members/kim";
    server.put(place, json!({"role": "reader"})).await.ok();
    let mut events = server.listen(&kim, "?project=web", &[]).await;
    let epic = json!({"title": "Seen", "project": "web"});
    server.post("/api/v1/epics", epic).await.created();
    assert_eq!(label(&events.next().await.unwrap().1), "EP-001");
    server.delete(place).await;
    let epic = json!({"title": "Hidden", "project": "web"});
    server.post("/api/v1/epics", epic).await.created();
    assert!(events.next().await.is_none(), "the stream ended");
}

async fn a_listener_hears_what_rest_does(server: &mut Server) {
    let mut events = server.listen(&server.token, "", &[]).await;
    server
        .post("/api/v1/epics", json!({"title": "Heard"}))
        .await
        .created();
    let (id, change) = events.next().await.unwrap();
    assert_eq!(
        (label(&change), &change["action"], &change["user"]),
        ("EP-001", &json!("created"), &json!("admin")),
        "{change}"
    );
    server
        .patch("/api/v1/epics/EP-001", json!({"title": "Heard again"}))
        .await
        .ok();
    let (next, change) = events.next().await.unwrap();
    assert_ne!(next, id);
    assert_eq!(
        change["fields"],
        json!([{"field": "title", "before": "Heard", "after": "Heard again"}])
    );
}

//= specs/spexus-http.md#feed
//= type=test
//# A listener MUST hear of changes made by other processes on the same database.
async fn a_listener_hears_what_another_process_does(server: &mut Server) {
    let clock = Arc::new(|| Timestamp(1_790_000_500_000_000));
    let (other, _) = Service::open(&server.location, ServiceOptions::for_testing(), clock)
        .await
        .unwrap();
    let mut events = server.listen(&server.token, "", &[]).await;
    let caller = login::local(&other, None, "test").await.unwrap();
    let epic = NewItem {
        title: "From afar".into(),
        ..NewItem::default()
    };
    item::create(&other, &caller, Kind::Epic, epic, None)
        .await
        .unwrap();
    assert_eq!(label(&events.next().await.unwrap().1), "EP-001");
    other.close().await;
}

//= specs/spexus-http.md#feed
//= type=test
//# A listener that sends `Last-Event-ID` MUST be given everything that happened after that event.
async fn a_broken_connection_goes_on_where_it_broke(server: &mut Server) {
    let mut events = server.listen(&server.token, "", &[]).await;
    server
        .post("/api/v1/epics", json!({"title": "One"}))
        .await
        .created();
    let (last, _) = events.next().await.unwrap();
    drop(events);
    server
        .post("/api/v1/epics", json!({"title": "Two"}))
        .await
        .created();
    server
        .post("/api/v1/epics", json!({"title": "Three"}))
        .await
        .created();
    let mut events = server
        .listen(&server.token, "", &[("Last-Event-ID", &last.to_string())])
        .await;
    for expected in ["EP-002", "EP-003"] {
        assert_eq!(label(&events.next().await.unwrap().1), expected);
    }
    let mut events = server.listen(&server.token, &format!("?since={last}"), &[]).await;
    assert_eq!(label(&events.next().await.unwrap().1), "EP-002");
    let odd = [("Last-Event-ID", "latest")];
    server
        .send(&server.token, Method::GET, "/api/v1/changes/stream", None, &odd)
        .await
        .refused(400, 1025);
}

async fn a_listener_hears_only_its_project(server: &mut Server) {
    server
        .post("/api/v1/projects", json!({"key": "web"}))
        .await
        .created();
    let made = server
        .post("/api/v1/tokens", json!({"name": "web", "project": "web"}))
        .await
        .created();
    let mut events = server.listen(made["token"].as_str().unwrap(), "", &[]).await;
    server
        .post("/api/v1/epics", json!({"title": "Default's"}))
        .await
        .created();
    server
        .post("/api/v1/epics?project=web", json!({"title": "Web's"}))
        .await
        .created();
    let (_, change) = events.next().await.unwrap();
    assert!(change.to_string().contains("Web's"), "{change}");
}

//= specs/spexus-http.md#feed
//= type=test
//# A stream MUST end when the token or session it was opened with ends.
async fn a_stream_ends_with_the_right_to_it(server: &mut Server) {
    let token = server.user("kim", "User").await;
    let session = server.login("kim", "long enough").await["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let id = server.get("/api/v1/tokens?user=kim").await.ok()["data"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let (mut by_token, mut by_session) = (
        server.listen(&token, "", &[]).await,
        server.listen(&session, "", &[]).await,
    );
    server.delete(&format!("/api/v1/tokens/{id}")).await.ok();
    assert!(by_token.next().await.is_none(), "revoked");
    server
        .post("/api/v1/epics", json!({"title": "x"}))
        .await
        .created();
    assert_eq!(
        label(&by_session.next().await.unwrap().1),
        "EP-001",
        "the session lives on"
    );
    server
        .put("/api/v1/users/kim/password", json!({"password": "another one"}))
        .await;
    assert!(by_session.next().await.is_none(), "a new password ends sessions");
    let session = server.login("kim", "another one").await["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut events = server.listen(&session, "", &[]).await;
    server
        .patch("/api/v1/users/kim", json!({"role": "Commenter"}))
        .await
        .ok();
    server
        .post("/api/v1/epics", json!({"title": "y"}))
        .await
        .created();
    assert_eq!(
        label(&events.next().await.unwrap().1),
        "EP-002",
        "commenters read"
    );
    server.delete("/api/v1/users/kim").await.ok();
    assert!(events.next().await.is_none(), "disabled");
}

//= specs/spexus-http.md#stopping
//= type=test
//# Streams MUST end when the server stops.
async fn a_stream_ends_when_the_server_stops(server: &mut Server) {
    let mut events = server.listen(&server.token, "", &[]).await;
    server.begin_stop();
    assert!(events.next().await.is_none());
}
