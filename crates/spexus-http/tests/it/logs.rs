//! What is logged: a whole story with everything recorded, and none of its secrets or texts in it.

use crate::harness::{ADMIN_PASSWORD, Server};
use reqwest::Method;
use serde_json::json;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

/// Writes every field of every span and event of our crates down.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<String>>);

impl tracing::field::Visit for Recorder {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        writeln!(self.0.lock().unwrap(), "{field}={value:?}").unwrap();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, _: &tracing::Id, _: Context<'_, S>) {
        if attributes.metadata().target().starts_with("spexus") {
            attributes.record(&mut self.clone());
        }
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("spexus") {
            writeln!(self.0.lock().unwrap(), "[{}]", event.metadata().target()).unwrap();
            event.record(&mut self.clone());
        }
    }
}

//= specs/spexus-http.md#logs
//= type=test
//# No log line, at any level, MUST hold a token, a password, the secret of a session or a text of a body.
#[test]
fn nothing_secret_is_logged() {
    let (written, secrets) = recorded(story());
    assert!(
        written.contains("login_failed") && written.contains("route=") && written.contains("status="),
        "{written}"
    );
    for secret in secrets {
        assert!(!written.contains(&secret), "{secret:?} is in the log:\n{written}");
    }
}

/// Everything our crates log while a story is told, and what the story gives.
pub(crate) fn recorded<T: Send + 'static>(story: impl Future<Output = T> + Send + 'static) -> (String, T) {
    let recorder = Recorder::default();
    let subscriber = Registry::default().with(recorder.clone());
    // With only one subscriber in the process, tracing asks the thread that meets a line first whether anyone wants it, and
    // remembers the answer for all. That thread may belong to another test; a second subscriber makes it ask everyone.
    let _second = tracing::Dispatch::new(Registry::default());
    let dispatch = tracing::Dispatch::new(subscriber);
    // Every thread of the story writes to the recorder, and no other test's thread does.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&dispatch)))
        .build()
        .unwrap();
    let told = runtime.block_on(async { tokio::spawn(story).await.unwrap() });
    drop(runtime);
    let written = recorder.0.lock().unwrap().clone();
    (written, told)
}

/// Does a bit of everything; tells what must not be in the log.
async fn story() -> Vec<String> {
    let server = Server::on_sqlite().await;
    let mut secrets = vec![ADMIN_PASSWORD.to_owned(), server.token.clone()];
    secrets.push(server.user("kim", "User").await);
    let session = server.login("kim", "long enough").await;
    secrets.push(session["token"].as_str().unwrap().to_owned());
    server.seed().await;
    server
        .post(
            "/api/v1/epics",
            json!({"title": "Whispered title", "description": "Whispered text"}),
        )
        .await
        .created();
    server
        .post(
            "/api/v1/epics/EP-001/comments",
            json!({"content": "Whispered comment"}),
        )
        .await
        .created();
    server
        .post(
            "/api/v1/epics",
            json!({"title": "Whispered mistake", "colour": "whispered colour"}),
        )
        .await
        .refused(400, 1021);
    server.get("/api/v1/search?query=whispered%20query").await.ok();
    server
        .send("mcp_pat_guessed_token", Method::GET, "/api/v1/epics", None, &[])
        .await
        .refused(401, 1011);
    let login = json!({"username": "kim", "password": "wrong whisper"});
    server
        .send("", Method::POST, "/api/v1/auth/login", Some(login), &[])
        .await
        .refused(401, 1013);
    let change = json!({"current_password": "long enough", "new_password": "newly whispered"});
    server
        .send(
            &secrets[3],
            Method::POST,
            "/api/v1/auth/password",
            Some(change),
            &[],
        )
        .await;
    server
        .put("/api/v1/users/kim/password", json!({"password": "reset whisper"}))
        .await;
    server.service.flush().await;
    server.stop().await;
    secrets.extend(
        [
            "hispered",
            "wrong whisper",
            "reset whisper",
            "long enough",
            "guessed_token",
        ]
        .map(str::to_owned),
    );
    secrets
}
