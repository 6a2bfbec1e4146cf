//! The history: every change of every field, newest first.

use crate::client::{Client, page};
use crate::world::{World, both};
use serde_json::{Value, json};
use spexus_domain::Timestamp;
use spexus_domain::limits::{MAX_DESCRIPTION_CHARS, MAX_PAGE_BYTES};
use spexus_service::account::login;
use spexus_service::{Service, ServiceOptions, changes};
use spexus_store::Location;
use std::sync::Arc;

both![
    history_tells_every_field,
    a_page_of_long_changes_ends_before_it_is_too_long,
    a_cursor_from_before_a_restore_goes_on_or_is_refused,
];

//= specs/spexus-service.md#history
//= type=test
//# Every change MUST be told in the history with who made it and what each field was before and after.
async fn history_tells_every_field(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let patch = json!({"title": "Sign in fast", "assignee": "admin"});
    admin.update("EP-001", patch).await.unwrap();
    admin
        .update("EP-001", json!({"title": "Sign in very fast"}))
        .await
        .unwrap();
    let history = admin.history("EP-001").await.unwrap();
    assert_eq!(
        (&history["total_count"], &history["data"][0]["user"]),
        (&json!(3), &json!("admin"))
    );
    let fields = json!([{"field": "title", "before": "Sign in fast", "after": "Sign in very fast"}]);
    assert_eq!(history["data"][0]["fields"], fields);
    let first = admin.history_page("EP-001", page(Some(1), None)).await.unwrap();
    let next = first["next_cursor"].as_str();
    let second = admin.history_page("EP-001", page(Some(1), next)).await.unwrap();
    assert_eq!(second["data"][0]["rev"], 2);
}

//= specs/spexus-http.md#feed
//= type=test
//# A cursor of another history or project, and a bare number of older versions, MUST be refused with what to do.
async fn a_cursor_from_before_a_restore_goes_on_or_is_refused(world: &World) {
    world.seed().await;
    let now = async |service: &Service, of: &Client| changes::now(service, &of.caller, None).await.unwrap();
    let kept = now(&world.service, &world.admin).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    spexus_store::backup::backup(world.service.store(), &file)
        .await
        .unwrap();
    let renamed = |title: &str| json!({ "title": title });
    world.admin.update("EP-001", renamed("Lost")).await.unwrap();
    let lost = now(&world.service, &world.admin).await;

    let clock = Arc::new(|| Timestamp(1_790_000_500_000_000));
    let (restored, _) = Service::open(&Location::File(file), ServiceOptions::for_testing(), clock)
        .await
        .unwrap();
    let admin = Client::new(&restored, login::local(&restored, None, "exam").await.unwrap());
    assert_eq!(
        now(&restored, &admin).await,
        kept,
        "the same history has the same cursor"
    );
    let read = async |cursor: &str| changes::since(&restored, &admin.caller, None, cursor, None).await;
    for title in ["Other", "Another"] {
        let refused = read(&lost).await.unwrap_err();
        assert!(format!("{refused:?}").contains("another_history"), "{refused:?}");
        admin.update("EP-001", renamed(title)).await.unwrap();
    }
    let news = read(&kept).await.unwrap();
    assert_eq!(news.len(), 2, "who knows nothing that was lost goes on");
    assert!(read("17").await.is_err());
    assert!(read(changes::START).await.unwrap().len() > 2);
    restored.close().await;
}

/// Thirty changes of 100,000 bytes before and after: 200 of them would have been 40 megabytes in one answer.
//= specs/spexus-store.md#lists
//= type=test
//# A page of the history or of the feed MUST end before its texts exceed the bytes one answer may hold, before they are read,
//# and the next page MUST go on from there.
//= specs/spexus-http.md#feed
//= type=test
//# A stream MUST NOT read further ahead of its reader than one small page.
async fn a_page_of_long_changes_ends_before_it_is_too_long(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    for round in 0..30 {
        let text = ["я", "ю"][round % 2].repeat(MAX_DESCRIPTION_CHARS);
        admin
            .update("EP-001", json!({ "description": text }))
            .await
            .unwrap();
    }
    admin.link("EP-001", "relates_to", "US-001").await.unwrap();
    let mut revs: Vec<Value> = Vec::new();
    let (mut cursor, mut pages) = (None, 0);
    loop {
        let page = page(Some(200), cursor.as_deref());
        let found = admin.history_page("EP-001", page).await.unwrap();
        assert_eq!(found["total_count"], 32);
        let rows = found["data"].as_array().unwrap();
        assert!(bytes(rows) <= MAX_PAGE_BYTES, "{}", bytes(rows));
        let items = rows.iter().filter(|row| row["entity"] == "item");
        revs.extend(items.map(|row| row["rev"].clone()));
        pages += 1;
        cursor = found["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(
        (json!(revs), pages),
        (json!((1..=31).rev().collect::<Vec<_>>()), 2)
    );
    let all: Vec<i64> = every_change(async |after| {
        let (service, caller) = (&world.service, &admin.caller);
        changes::since(service, caller, None, &after, Some(200))
            .await
            .unwrap()
    })
    .await;
    let streamed = every_change(async |after| {
        let (service, caller) = (&world.service, &admin.caller);
        let found = changes::stream_since(service, caller, None, &after)
            .await
            .unwrap();
        let long = found.iter().filter(|one| one.rev > 1).count();
        assert!(long <= 1, "{long} at once");
        found
    })
    .await;
    assert!(all.len() >= 35 && all == streamed, "{all:?} {streamed:?}");
}

/// The numbers of all changes, page by page.
async fn every_change(mut read: impl AsyncFnMut(String) -> Vec<spexus_domain::change::Change>) -> Vec<i64> {
    let (mut all, mut after) = (Vec::new(), changes::START.to_owned());
    loop {
        let page = read(after.clone()).await;
        let rows: Vec<Value> = page.iter().map(|change| json!(change)).collect();
        assert!(bytes(&rows) <= MAX_PAGE_BYTES, "{}", bytes(&rows));
        let Some(last) = page.last() else { return all };
        after = changes::behind(last);
        all.extend(page.iter().map(|change| change.seq));
    }
}

/// What the texts of changes take.
fn bytes(changes: &[Value]) -> usize {
    let fields = changes
        .iter()
        .flat_map(|change| change["fields"].as_array().unwrap());
    fields
        .flat_map(|field| [&field["before"], &field["after"]])
        .map(|value| value.as_str().map_or(0, str::len))
        .sum()
}
