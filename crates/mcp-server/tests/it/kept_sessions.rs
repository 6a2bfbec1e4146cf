//! Sessions in a store that outlives the process: another process goes on with them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcp_server::streamable_http::SessionOwner;
use mcp_server::{Change, ChangeSet, Info, List, Server, SessionEdit, SessionRecord, SessionStore, Settings};
use refusal::Refusal;
use serde_json::{Value, json};

use crate::http_client::{Events, Http};

const UPDATED: &str = "notifications/resources/updated";

/// A store several servers share, and the history they follow: address by number.
#[derive(Default)]
struct SharedStore {
    records: Mutex<HashMap<String, SessionRecord>>,
    history: Mutex<Vec<String>>,
}

impl SharedStore {
    /// Something happens; gives the news of it.
    fn happen(&self, uri: &str) -> ChangeSet {
        let mut history = self.history.lock().unwrap();
        history.push(uri.to_owned());
        let up_to = history.len() as u64;
        ChangeSet {
            since: up_to - 1,
            up_to,
            resources: vec![(uri.to_owned(), Change::Updated, None)],
            ..ChangeSet::default()
        }
    }

    fn record(&self, id: &str) -> Option<SessionRecord> {
        self.records.lock().unwrap().get(id).cloned()
    }
}

impl SessionStore for SharedStore {
    fn add(&self, record: SessionRecord, _: usize) -> BoxFuture<'_, Result<Vec<String>, Refusal>> {
        self.records.lock().unwrap().insert(record.id.clone(), record);
        std::future::ready(Ok(Vec::new())).boxed()
    }

    fn edit<'a>(
        &'a self,
        id: &'a str,
        edit: SessionEdit,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>> {
        let mut records = self.records.lock().unwrap();
        let edited = records.get_mut(id).map(|record| {
            edit.apply(record);
            record.rev += 1;
            record.clone()
        });
        std::future::ready(Ok(edited)).boxed()
    }

    fn save(&self, saved: Vec<SessionRecord>) -> BoxFuture<'_, Result<(), Refusal>> {
        let mut records = self.records.lock().unwrap();
        for record in saved {
            if let Some(kept) = records.get_mut(&record.id) {
                (kept.unread, kept.mark) = (record.unread, record.mark);
            }
        }
        std::future::ready(Ok(())).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, Refusal>> {
        std::future::ready(Ok(self.record(id))).boxed()
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Refusal>> {
        self.records.lock().unwrap().remove(id);
        std::future::ready(Ok(())).boxed()
    }

    fn missed(&self, mark: u64, _: bool) -> BoxFuture<'_, Result<ChangeSet, Refusal>> {
        let history = self.history.lock().unwrap();
        let resources = history.iter().skip(mark as usize);
        let news = ChangeSet {
            since: mark,
            up_to: history.len() as u64,
            resources: resources
                .map(|uri| (uri.clone(), Change::Updated, None))
                .collect(),
            ..ChangeSet::default()
        };
        std::future::ready(Ok(news)).boxed()
    }
}

/// A process: a server on the store.
fn process(store: &Arc<SharedStore>, change: impl FnOnce(&mut Settings)) -> Http {
    let mut settings = Settings::default();
    change(&mut settings);
    let server = Server::builder(Info::new("test", "1.0.0"))
        .settings(settings)
        .session_store(store.clone())
        .build();
    server.begin_at(store.history.lock().unwrap().len() as u64);
    for name in ["a", "b", "c"] {
        let resource = mcp_server::Resource::new(
            format!("test:///{name}"),
            name,
            "x",
            "text/plain",
            |_, r: mcp_server::ReadRequest| async move {
                let text = mcp_protocol::ResourceContents::text(r.uri, "text/plain", "x");
                Ok::<_, mcp_server::Stop>(vec![text])
            },
        );
        server.add_resources(vec![resource]).unwrap();
    }
    Http::new(&server)
}

async fn ask(http: &mut Http, method: &str, params: Value) {
    let answer = http
        .post(json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": params }))
        .await;
    assert_eq!(
        (answer.status, &answer.json["result"]),
        (200, &json!({})),
        "{}",
        answer.json
    );
}

async fn watch(http: &mut Http, name: &str) {
    ask(
        http,
        "resources/subscribe",
        json!({ "uri": format!("test:///{name}") }),
    )
    .await;
}

/// The next event about a resource: its id and the address.
async fn updated(stream: &mut Events) -> (String, String) {
    loop {
        let (id, data) = stream.event().await.expect("the stream goes on");
        let message: Value = serde_json::from_str(&data).unwrap_or_default();
        if message["method"] == UPDATED {
            return (id.unwrap(), message["params"]["uri"].as_str().unwrap().to_owned());
        }
    }
}

// proves 002 Req-Proto-011
//= specs/mcp-server.md#sessions
//= type=test
//# A session that comes back MUST have its subscriptions, its level of log messages and the messages its client has not read,
//# and MUST be told what happened while it lived nowhere.
#[tokio::test]
async fn a_session_comes_back_with_what_it_was_not_told() {
    let store = Arc::new(SharedStore::default());
    let mut first = process(&store, |_| {});
    let session = first.open().await;
    first.session = Some(session.clone());
    watch(&mut first, "a").await;
    watch(&mut first, "b").await;
    ask(&mut first, "logging/setLevel", json!({ "level": "error" })).await;
    // Told while nobody reads: one of the history, one of the moment.
    first.server.publish(store.happen("test:///a"));
    first.server.list_changed(List::Tools);
    first.server.drain().await;
    drop(first);
    // Nobody lives.
    store.happen("test:///b");
    store.happen("test:///c");
    let mut second = process(&store, |_| {});
    second.session = Some(session.clone());
    let mut stream = second.stream(&[]).await;
    let mut told = Vec::new();
    while told.len() < 4 {
        let message = stream.message().await;
        told.push(match message["method"].as_str().unwrap() {
            UPDATED => message["params"]["uri"].as_str().unwrap().to_owned(),
            other => other.to_owned(),
        });
    }
    assert_eq!(
        told,
        [
            "test:///a",
            "notifications/tools/list_changed",
            "notifications/capabilities/changed",
            "test:///b"
        ],
        "and nothing of what it does not watch"
    );
    second.server.publish(store.happen("test:///a"));
    assert_eq!(updated(&mut stream).await.1, "test:///a", "it goes on watching");
    let record = store.record(&session).unwrap();
    assert_eq!((record.log_level, record.subscriptions.len()), (4, 2));
}

// proves 002 Req-Proto-010
//= specs/mcp-server.md#sessions
//= type=test
//# A client that comes back with the id of an event of another process MUST be told what happened after it.
#[tokio::test]
async fn a_client_goes_on_behind_the_event_it_saw_elsewhere() {
    let store = Arc::new(SharedStore::default());
    let mut first = process(&store, |_| {});
    let session = first.open().await;
    first.session = Some(session.clone());
    for name in ["a", "b", "c"] {
        watch(&mut first, name).await;
    }
    let mut stream = first.stream(&[]).await;
    for name in ["a", "b"] {
        first.server.publish(store.happen(&format!("test:///{name}")));
    }
    let (_, uri) = updated(&mut stream).await;
    assert_eq!(uri, "test:///a");
    let (last, uri) = updated(&mut stream).await;
    assert_eq!(uri, "test:///b");
    // The process is killed: nothing of the last second was written.
    store.happen("test:///c");
    let mut second = process(&store, |_| {});
    second.session = Some(session.clone());
    let mut stream = second.stream(&[("last-event-id", &last)]).await;
    // The event itself may come again, for it may not have been the last of its moment; what came before it does not.
    assert_eq!(updated(&mut stream).await.1, "test:///b");
    let (last, uri) = updated(&mut stream).await;
    assert_eq!(uri, "test:///c");
    drop(stream);
    let mut stream = second.stream(&[("last-event-id", &last)]).await;
    second.server.publish(store.happen("test:///a"));
    assert_eq!(
        updated(&mut stream).await.1,
        "test:///a",
        "its own streams go on exactly"
    );
    for odd in ["1", "x-1", "1-2-y", "1-2-3-4", "77-1"] {
        let request = second.request("GET", &[("last-event-id", odd)]);
        let request = request.body(http_body_util::Full::default()).unwrap();
        assert_eq!(second.call(request).await.status(), 400, "{odd}");
    }
}

//= specs/mcp-server.md#sessions
//= type=test
//# What another process changed of a session MUST hold here, too, and a session that ended there MUST end here.
#[tokio::test]
async fn what_another_process_did_to_a_session_holds_here() {
    let store = Arc::new(SharedStore::default());
    let (mut here, mut there) = (process(&store, |_| {}), process(&store, |_| {}));
    let session = here.open().await;
    (here.session, there.session) = (Some(session.clone()), Some(session.clone()));
    watch(&mut here, "a").await;
    let mut stream = here.stream(&[]).await;
    watch(&mut there, "b").await;
    ask(&mut there, "resources/unsubscribe", json!({ "uri": "test:///a" })).await;
    // What is asked here builds on what was asked there, heard of or not.
    watch(&mut here, "c").await;
    here.server.session_written(&session, store.record(&session));
    for name in ["a", "b", "c"] {
        here.server.publish(store.happen(&format!("test:///{name}")));
    }
    assert_eq!(updated(&mut stream).await.1, "test:///b");
    assert_eq!(updated(&mut stream).await.1, "test:///c");
    assert_eq!(
        store.record(&session).unwrap().subscriptions,
        ["test:///b", "test:///c"].map(mcp_server::Subscription::at)
    );
    assert_eq!(there.delete().await, 204);
    here.server.session_written(&session, None);
    assert!(stream.event().await.is_none(), "the stream ends");
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    assert_eq!(here.post(list).await.status, 404);
    assert_eq!(here.server.sessions(), 0);
}

// Found by the mutation probe: nobody asked what becomes of an address whose news go by another topic from now on.
#[tokio::test]
async fn an_address_that_another_process_watches_by_another_topic_is_watched_by_that_here() {
    let store = Arc::new(SharedStore::default());
    let mut here = process(&store, |_| {});
    let session = here.open().await;
    here.session = Some(session.clone());
    watch(&mut here, "a").await;
    watch(&mut here, "c").await;
    let mut stream = here.stream(&[]).await;
    let mut record = store.record(&session).unwrap();
    record.rev += 1;
    let address = "test:///a".to_owned();
    let watched = record.subscriptions.iter_mut().find(|one| one.uri == address);
    watched.unwrap().topic = "test:///b".to_owned();
    here.server.session_written(&session, Some(record));
    for topic in ["b", "c"] {
        here.server.publish(store.happen(&format!("test:///{topic}")));
    }
    assert_eq!(updated(&mut stream).await.1, address);
    assert_eq!(updated(&mut stream).await.1, "test:///c");
}

//= specs/mcp-server.md#sessions
//= type=test
//# An owner MUST NOT have more sessions than the limit, and an account not more than its own; the one unheard of for longest MUST end.
#[tokio::test]
async fn an_owner_has_so_many_sessions_and_no_more() {
    let store = Arc::new(SharedStore::default());
    let mut http = process(&store, |settings| settings.limits.max_sessions_per_owner = 2);
    http.owner = Some(SessionOwner("boris".into()));
    let foreign = http.open().await;
    http.owner = Some(SessionOwner("anna".into()));
    let sessions = [http.open().await, http.open().await, http.open().await];
    assert_eq!(http.server.sessions(), 3);
    let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    let mut status = Vec::new();
    for session in sessions.iter().chain([&foreign]) {
        http.session = Some(session.clone());
        status.push(http.post(list.clone()).await.status);
    }
    assert_eq!(status, [404, 200, 200, 404], "boris' is not anna's, and lives");
    http.owner = Some(SessionOwner("boris".into()));
    assert_eq!(http.post(list).await.status, 200);
}

/// What is told while nobody reads is written without anybody asking for it.
#[tokio::test(start_paused = true)]
async fn what_is_not_read_is_written_a_moment_later() {
    let store = Arc::new(SharedStore::default());
    let mut http = process(&store, |_| {});
    let session = http.open().await;
    http.session = Some(session.clone());
    watch(&mut http, "a").await;
    http.server.publish(store.happen("test:///a"));
    let written = || store.record(&session).filter(|record| !record.unread.is_empty());
    assert_eq!(written(), None);
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let record = written().expect("written");
    assert_eq!(
        (record.mark, record.unread.len(), record.unread[0].replayable),
        (1, 1, true)
    );
}
