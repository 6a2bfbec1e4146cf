//! Search: what people type, and what they find.

use crate::client::{references, uuid};
use crate::world::{Refused, World, both};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

both![
    words_are_found_in_any_form,
    a_phrase_is_words_in_this_order,
    one_typing_error_is_forgiven,
    what_fits_best_comes_first_with_the_place,
    a_reference_id_comes_first,
    pages_hold_everything_once,
    filters_hold_for_every_field,
    comments_and_steering_documents_are_found,
    search_follows_every_write,
    a_bound_token_finds_only_its_own,
    no_text_is_an_error,
];

async fn find(world: &World, query: &str, filters: Value) -> Value {
    world.admin.search(query, filters).await.unwrap()
}

/// The references found, sorted.
async fn found(world: &World, query: &str, filters: Value) -> Vec<String> {
    let page = find(world, query, filters).await;
    let mut found: Vec<String> = references(&page).into_iter().map(str::to_owned).collect();
    found.sort();
    found
}

/// A filter by one field.
fn by(name: &str, value: &str) -> Value {
    let value = match value {
        "true" => json!(true),
        text => json!(text),
    };
    json!({ name: value })
}

async fn epic(world: &World, title: &str, description: &str) {
    let epic = json!({"title": title, "description": description});
    world.admin.create("epic", epic).await.unwrap();
}

//= specs/spexus-service.md#search
//= type=test
//# Search MUST find words in any of their forms, in English and in Russian, and beginnings of words.
async fn words_are_found_in_any_form(world: &World) {
    epic(world, "Payments are processed quickly", "").await;
    let text = "Обработка платежей происходит быстро.";
    epic(world, "Пользователи оплачивают заказы", text).await;
    for query in ["payment", "processing", "PROCESS", "quick", "pay", "proc"] {
        assert_eq!(found(world, query, json!({})).await, ["EP-001"], "{query}");
    }
    for query in [
        "пользователь",
        "заказ",
        "ЗАКАЗА",
        "платёж",
        "обработке",
        "пользов",
        "оплач",
    ] {
        assert_eq!(found(world, query, json!({})).await, ["EP-002"], "{query}");
    }
    let none = found(world, "payments missing", json!({})).await;
    assert_eq!(none, [""; 0], "all words must be found");
}

async fn a_phrase_is_words_in_this_order(world: &World) {
    epic(world, "One", "The login page opens the report.").await;
    epic(world, "Two", "The page of the login report.").await;
    for (query, expected) in [
        ("login page", vec!["EP-001", "EP-002"]),
        ("\"login page\"", vec!["EP-001"]),
        ("«login page»", vec!["EP-001"]),
        // A quote that is never closed reaches to the end.
        ("\"login page", vec!["EP-001"]),
    ] {
        assert_eq!(found(world, query, json!({})).await, expected, "{query}");
    }
}

async fn one_typing_error_is_forgiven(world: &World) {
    epic(world, "Authentication", "").await;
    epic(world, "Безопасность", "").await;
    for (query, expected) in [
        ("authentcation", "EP-001"),
        ("authentictaion", "EP-001"),
        ("безопастность", "EP-002"),
    ] {
        assert_eq!(found(world, query, json!({})).await, [expected], "{query}");
    }
}

async fn what_fits_best_comes_first_with_the_place(world: &World) {
    let long =
        "Somewhere in a long text about invoices stands one word: dashboard. The rest is about printing.";
    epic(world, "Other", long).await;
    epic(world, "Dashboard", "Dashboard of the dashboard.").await;
    let page = find(world, "dashboard", json!({})).await;
    assert_eq!(references(&page), ["EP-002", "EP-001"]);
    let place = page["data"][1]["snippet"].as_str().unwrap();
    assert!(place.contains("**dashboard**"), "{page}");
    assert_eq!(page["total_count"], 2);
}

//= specs/spexus-service.md#search
//= type=test
//# An item whose reference id was typed MUST come first, once, and only when the filters let it through.
async fn a_reference_id_comes_first(world: &World) {
    world.seed().await;
    epic(world, "See REQ-001 for passkeys", "REQ-001 REQ-001 REQ-001").await;
    for query in ["REQ-001", "req-1", " Req-0001 "] {
        let page = find(world, query, json!({})).await;
        assert_eq!(references(&page)[0], "REQ-001", "{query}: {page}");
    }
    assert_eq!(found(world, "REQ-001", json!({})).await, ["EP-002", "REQ-001"]);
    // Found here: the item typed ignored every filter but the project.
    for (name, value) in [
        ("kinds", "epic"),
        ("status", "Obsolete"),
        ("priority", "1"),
        ("type", "Data"),
        ("assignee", "admin"),
        ("created_to", "2020-01-01"),
        ("deleted", "true"),
        ("parent", "EP-001"),
    ] {
        let found = found(world, "REQ-001", by(name, value)).await;
        assert!(!found.contains(&"REQ-001".to_owned()), "{name}={value}");
    }
    for (name, value) in [
        ("kinds", "requirement"),
        ("status", "Draft"),
        ("type", "Functional"),
        ("under", "EP-001"),
        ("parent", "US-001"),
        ("acceptance_criterion", "AC-001"),
    ] {
        assert_eq!(
            found(world, "REQ-001", by(name, value)).await,
            ["REQ-001"],
            "{name}={value}"
        );
    }
}

// Found here: the item that went first pushed another one off the page, and it was on no page.
async fn pages_hold_everything_once(world: &World) {
    for number in 0..7 {
        epic(world, &format!("Shared words {number}"), "It depends on EP-003.").await;
    }
    for (query, total) in [("shared", 7), ("EP-003", 7)] {
        for limit in [1, 2, 3, 200] {
            let mut seen = all_pages(world, query, limit).await;
            if query == "EP-003" {
                assert_eq!(seen[0], "EP-003");
            }
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), total, "{query} by {limit}: {seen:?}");
        }
    }
}

async fn all_pages(world: &World, query: &str, limit: usize) -> Vec<String> {
    let (mut seen, mut filters) = (vec![], json!({ "limit": limit }));
    loop {
        let page = find(world, query, filters.clone()).await;
        assert!(references(&page).len() <= limit);
        seen.extend(references(&page).into_iter().map(str::to_owned));
        match page.get("next_cursor") {
            Some(next) => filters["cursor"] = next.clone(),
            None => return seen,
        }
    }
}

async fn filters_hold_for_every_field(world: &World) {
    world.seed().await;
    world.user("kim", "User").await;
    let patch = json!({"status": "Active", "priority": 2, "type": "Data", "assignee": "kim"});
    world.admin.update("REQ-001", patch).await.unwrap();
    for (name, value) in [
        ("status", "active"),
        ("priority", "2"),
        ("priority", "high"),
        ("type", "data"),
        ("assignee", "kim"),
        ("acceptance_criterion", "AC-001"),
        ("kinds", "requirement"),
    ] {
        for query in ["passkey", ""] {
            let found = found(world, query, by(name, value)).await;
            assert_eq!(found, ["REQ-001"], "{query:?}: {name}={value}");
        }
    }
    assert_eq!(found(world, "passkey", by("parent", "EP-001")).await, ["US-001"]);
    assert_eq!(found(world, "passkey", by("creator", "kim")).await, [""; 0]);
    assert_eq!(
        found(world, "passkey", by("created_from", "2099-01-01")).await,
        [""; 0]
    );
    let times = json!({"updated_from": "2020-01-01", "created_to": "2099-01-01"});
    assert_eq!(found(world, "passkey", times).await.len(), 3);
}

async fn comments_and_steering_documents_are_found(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let policy = json!({"title": "Policy", "description": "Use cryptography."});
    admin.create("steering_document", policy).await.unwrap();
    let comment = json!({"content": "What about biometrics?"});
    let comment = admin.comment("EP-001", comment).await.unwrap();
    assert_eq!(found(world, "cryptography", json!({})).await, ["STD-001"]);
    let page = find(world, "biometrics", json!({})).await;
    assert_eq!(
        (references(&page), &page["data"][0]["comment_id"]),
        (vec!["EP-001"], &comment["id"])
    );
    let id = uuid(&comment["id"]);
    let other = json!({"content": "What about fingerprints?"});
    admin.update_comment(id, other).await.unwrap();
    assert_eq!(found(world, "biometrics", json!({})).await, [""; 0]);
    assert_eq!(found(world, "fingerprint", json!({})).await.len(), 1);
    admin.delete_comment(id).await.unwrap();
    assert_eq!(found(world, "fingerprint", json!({})).await, [""; 0]);
}

//= specs/spexus-service.md#search
//= type=test
//# Search MUST be current: what a write made, changed or deleted is found so by the next search.
async fn search_follows_every_write(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let passkeys = async || found(world, "passkey", json!({})).await;
    assert_eq!(passkeys().await, ["AC-001", "REQ-001", "US-001"]);
    admin
        .update("US-001", json!({"title": "With a fingerprint"}))
        .await
        .unwrap();
    assert_eq!(passkeys().await, ["AC-001", "REQ-001"]);
    admin.delete("EP-001", true).await.unwrap();
    assert_eq!(passkeys().await, [""; 0]);
    admin.restore("EP-001").await.unwrap();
    assert_eq!(found(world, "fingerprint", json!({})).await, ["US-001"]);
    let refused = json!({"operations": [{"op": "create", "kind": "epic", "title": "Passkey ghost"}, {"op": "delete", "id": "EP-999"}]});
    admin.batch(refused).await.refused(1046);
    assert_eq!(
        found(world, "ghost", json!({})).await,
        [""; 0],
        "what was not kept is not found"
    );
}

async fn a_bound_token_finds_only_its_own(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin.create_project(json!({"key": "web"})).await.unwrap();
    admin
        .naming("web")
        .create("epic", json!({"title": "Passkey on the web"}))
        .await
        .unwrap();
    assert_eq!(found(world, "passkey", by("project", "web")).await, ["EP-001"]);
    assert_eq!(find(world, "passkey", json!({})).await["total_count"], 3);
    world.user("kim", "User").await;
    let kim = world.bound("kim", "bound", "web").await;
    let page = kim.search("passkey", json!({})).await.unwrap();
    assert_eq!(references(&page), ["EP-001"]);
    kim.search("passkey", by("project", "default"))
        .await
        .refused(1014);
}

const NASTY: &[&str] = &[
    "",
    " ",
    "\"",
    "\"\"",
    "\"\"\"",
    "'",
    "''",
    "\\",
    "*",
    "**",
    "a*",
    "*a",
    "-a",
    "a -b",
    "a OR b",
    "a AND",
    "NOT",
    "NEAR/3",
    "NEAR(a,b)",
    "(",
    ")",
    "((a",
    "a:b",
    "title:x",
    "a & b",
    "a | | b",
    "!a",
    "a:*",
    "<->",
    "a <-> b",
    "^a",
    "{a b}",
    "{title}:x",
    "+a",
    "~a",
    "a~2",
    "%",
    "_",
    "a%b",
    "';--",
    "\u{0}",
    "a\u{0}b",
    "\u{1}\u{2}",
    "\n\t",
    "\u{feff}",
    "\u{202e}",
    "\u{10ffff}",
    "🙂",
    "👩‍👩‍👧",
    "é",
    "e\u{301}",
    "İ",
    "ß",
    "Ё",
    "ё",
    "REQ-",
    "REQ-0",
    "-1",
    "REQ-99999999999999999999",
    "0191d5e5-0000-7000-8000-000000000000",
    "ﷺ",
    "中文 検索",
    "ไทย",
    "١٢٣",
    "a\u{300}\u{301}\u{302}",
];

//= specs/spexus-service.md#search
//= type=test
//# No text MUST ever make a search fail.
async fn no_text_is_an_error(world: &World) {
    world.seed().await;
    let (long, many) = ("x".repeat(20_000), "word ".repeat(3_000));
    for text in NASTY.iter().copied().chain([long.as_str(), &many]) {
        find(world, text, json!({})).await;
    }
    let seeded = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), seeded);
    let texts = prop_oneof!["\\PC{0,40}", ".{0,40}", "[\"'*()&|!:<>~^ a-я-]{0,30}"];
    for _ in 0..300 {
        let text = texts.new_tree(&mut runner).unwrap().current();
        find(world, &text, json!({})).await;
    }
}
