//! Search from outside: what people type, and what they find.

use crate::harness::{Server, on_both};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reqwest::Url;
use serde_json::{Value, json};

/// Searches for a text, with further parameters.
async fn find(server: &Server, query: &str, more: &[(&str, &str)]) -> Value {
    let parameters = [("query", query)].into_iter().chain(more.iter().copied());
    let url = Url::parse_with_params("http://x/", parameters).unwrap();
    server
        .get(&format!("/api/v1/search?{}", url.query().unwrap()))
        .await
        .ok()
}

fn references(page: &Value) -> Vec<&str> {
    let rows = page["data"].as_array().unwrap().iter();
    rows.map(|row| row["reference_id"].as_str().unwrap()).collect()
}

/// The references found, sorted.
async fn found(server: &Server, query: &str, more: &[(&str, &str)]) -> Vec<String> {
    let page = find(server, query, more).await;
    let mut found: Vec<String> = references(&page).into_iter().map(str::to_owned).collect();
    found.sort();
    found
}

async fn epic(server: &Server, title: &str, description: &str) {
    server
        .post(
            "/api/v1/epics",
            json!({"title": title, "description": description}),
        )
        .await
        .created();
}

on_both! {
    //= specs/spexus-service.md#search
    //= type=test
    //# Search MUST find words in any of their forms, in English and in Russian, and beginnings of words.
    async fn words_are_found_in_any_form(server) {
        epic(server, "Payments are processed quickly", "").await;
        epic(server, "Пользователи оплачивают заказы", "Обработка платежей происходит быстро.").await;
        for query in ["payment", "processing", "PROCESS", "quick", "pay", "proc"] {
            assert_eq!(found(server, query, &[]).await, ["EP-001"], "{query}");
        }
        for query in ["пользователь", "заказ", "ЗАКАЗА", "платёж", "обработке", "пользов", "оплач"] {
            assert_eq!(found(server, query, &[]).await, ["EP-002"], "{query}");
        }
        assert_eq!(found(server, "payments missing", &[]).await, [""; 0], "all words must be found");
    }

    async fn a_phrase_is_words_in_this_order(server) {
        epic(server, "One", "The login page opens the report.").await;
        epic(server, "Two", "The page of the login report.").await;
        assert_eq!(found(server, "login page", &[]).await, ["EP-001", "EP-002"]);
        assert_eq!(found(server, "\"login page\"", &[]).await, ["EP-001"]);
        assert_eq!(found(server, "«login page»", &[]).await, ["EP-001"]);
        assert_eq!(found(server, "\"login page", &[]).await, ["EP-001"], "a quote that is never closed reaches to the end");
    }

    async fn one_typing_error_is_forgiven(server) {
        epic(server, "Authentication", "").await;
        epic(server, "Безопасность", "").await;
        for (query, expected) in [("authentcation", "EP-001"), ("authentictaion", "EP-001"), ("безопастность", "EP-002")] {
            assert_eq!(found(server, query, &[]).await, [expected], "{query}");
        }
    }

    async fn what_fits_best_comes_first_with_the_place(server) {
        epic(server, "Other", "Somewhere in a long text about invoices stands one word: dashboard. The rest is about printing.").await;
        epic(server, "Dashboard", "Dashboard of the dashboard.").await;
        let page = find(server, "dashboard", &[]).await;
        assert_eq!(references(&page), ["EP-002", "EP-001"]);
        assert!(page["data"][1]["snippet"].as_str().unwrap().contains("**dashboard**"), "{page}");
        assert_eq!(page["total_count"], 2);
    }

    //= specs/spexus-service.md#search
    //= type=test
    //# An item whose reference id was typed MUST come first, once, and only when the filters let it through.
    async fn a_reference_id_comes_first(server) {
        server.seed().await;
        epic(server, "See REQ-001 for passkeys", "REQ-001 REQ-001 REQ-001").await;
        for query in ["REQ-001", "req-1", " Req-0001 "] {
            let page = find(server, query, &[]).await;
            assert_eq!(references(&page)[0], "REQ-001", "{query}: {page}");
        }
        assert_eq!(found(server, "REQ-001", &[]).await, ["EP-002", "REQ-001"]);
        // Found here: the item typed ignored every filter but the project.
        for (name, value) in [("kinds", "epic"), ("status", "Obsolete"), ("priority", "1"), ("type", "Data"), ("assignee", "admin"), ("created_to", "2020-01-01"), ("deleted", "true"), ("parent", "EP-001")] {
            assert!(!found(server, "REQ-001", &[(name, value)]).await.contains(&"REQ-001".to_owned()), "{name}={value}");
        }
        for (name, value) in [("kinds", "requirement"), ("status", "Draft"), ("type", "Functional"), ("under", "EP-001"), ("parent", "US-001"), ("acceptance_criterion", "AC-001")] {
            assert_eq!(found(server, "REQ-001", &[(name, value)]).await, ["REQ-001"], "{name}={value}");
        }
    }

    // Found here: the item that went first pushed another one off the page, and it was on no page.
    async fn pages_hold_everything_once(server) {
        for number in 0..7 {
            epic(server, &format!("Shared words {number}"), "It depends on EP-003.").await;
        }
        for (query, total) in [("shared", 7), ("EP-003", 7)] {
            for limit in ["1", "2", "3", "200"] {
                let (mut seen, mut cursor) = (vec![], None::<String>);
                loop {
                    let more = [("limit", limit), ("cursor", cursor.as_deref().unwrap_or_default())];
                    let page = find(server, query, if cursor.is_some() { &more } else { &more[..1] }).await;
                    assert!(references(&page).len() <= limit.parse().unwrap());
                    seen.extend(references(&page).into_iter().map(str::to_owned));
                    match page["next_cursor"].as_str() {
                        Some(next) => cursor = Some(next.to_owned()),
                        None => break,
                    }
                }
                if query == "EP-003" {
                    assert_eq!(seen[0], "EP-003");
                }
                seen.sort();
                seen.dedup();
                assert_eq!(seen.len(), total, "{query} by {limit}: {seen:?}");
            }
        }
    }

    async fn filters_hold_for_every_field(server) {
        server.seed().await;
        server.user("kim", "User").await;
        server.patch("/api/v1/requirements/REQ-001", json!({"status": "Active", "priority": 2, "type": "Data", "assignee": "kim"})).await.ok();
        let only = vec!["REQ-001".to_owned()];
        for (name, value) in [("status", "active"), ("priority", "2"), ("priority", "high"), ("type", "data"), ("assignee", "kim"), ("acceptance_criterion", "AC-001"), ("kinds", "requirement"), ("entity_types", "requirement")] {
            assert_eq!(found(server, "passkey", &[(name, value)]).await, only, "{name}={value}");
            assert_eq!(found(server, "", &[(name, value)]).await, only, "without words: {name}={value}");
        }
        assert_eq!(found(server, "passkey", &[("parent", "EP-001")]).await, ["US-001"]);
        assert_eq!(found(server, "passkey", &[("creator", "kim")]).await, [""; 0]);
        assert_eq!(found(server, "passkey", &[("created_from", "2099-01-01")]).await, [""; 0]);
        assert_eq!(found(server, "passkey", &[("updated_from", "2020-01-01"), ("created_to", "2099-01-01")]).await.len(), 3);
        assert_eq!(server.get("/api/v1/search?q=passkey&kinds=user_story").await.ok()["total_count"], 1, "the short name of the query works too");
    }

    async fn comments_and_steering_documents_are_found(server) {
        server.seed().await;
        server.post("/api/v1/steering-documents", json!({"title": "Policy", "description": "Use cryptography."})).await.created();
        let comment = server.post("/api/v1/epics/EP-001/comments", json!({"content": "What about biometrics?"})).await.created();
        assert_eq!(found(server, "cryptography", &[]).await, ["STD-001"]);
        let page = find(server, "biometrics", &[]).await;
        assert_eq!((references(&page), &page["data"][0]["comment_id"]), (vec!["EP-001"], &comment["id"]));
        let path = format!("/api/v1/comments/{}", comment["id"].as_str().unwrap());
        server.patch(&path, json!({"content": "What about fingerprints?"})).await.ok();
        assert_eq!((found(server, "biometrics", &[]).await.len(), found(server, "fingerprint", &[]).await.len()), (0, 1));
        server.delete(&path).await.ok();
        assert_eq!(found(server, "fingerprint", &[]).await, [""; 0]);
    }

    //= specs/spexus-service.md#search
    //= type=test
    //# Search MUST be current: what a write made, changed or deleted is found so by the next search.
    async fn search_follows_every_write(server) {
        server.seed().await;
        assert_eq!(found(server, "passkey", &[]).await, ["AC-001", "REQ-001", "US-001"]);
        server.patch("/api/v1/user-stories/US-001", json!({"title": "With a fingerprint"})).await.ok();
        assert_eq!(found(server, "passkey", &[]).await, ["AC-001", "REQ-001"]);
        server.delete("/api/v1/epics/EP-001?force=true").await.ok();
        assert_eq!(found(server, "passkey", &[]).await, [""; 0]);
        server.post("/api/v1/epics/EP-001/restore", json!({})).await.ok();
        assert_eq!(found(server, "fingerprint", &[]).await, ["US-001"]);
        let refused = json!({"operations": [{"op": "create", "kind": "epic", "title": "Passkey ghost"}, {"op": "delete", "id": "EP-999"}]});
        server.post("/api/v1/batch", refused).await.refused(404, 1046);
        assert_eq!(found(server, "ghost", &[]).await, [""; 0], "what was not kept is not found");
    }

    async fn a_bound_token_finds_only_its_own(server) {
        server.seed().await;
        server.post("/api/v1/projects", json!({"key": "web"})).await.created();
        server.post("/api/v1/epics?project=web", json!({"title": "Passkey on the web"})).await.created();
        assert_eq!(found(server, "passkey", &[("project", "web")]).await, ["EP-001"]);
        assert_eq!(find(server, "passkey", &[]).await["total_count"], 3);
    }

    //= specs/spexus-service.md#search
    //= type=test
    //# No text MUST ever make a search fail.
    async fn no_text_is_an_error(server) {
        server.seed().await;
        let long = "x".repeat(20_000);
        let many = "word ".repeat(3_000);
        let nasty = ["", " ", "\"", "\"\"", "\"\"\"", "'", "''", "\\", "*", "**", "a*", "*a", "-a", "a -b", "a OR b", "a AND", "NOT", "NEAR/3", "NEAR(a,b)", "(", ")", "((a", "a:b", "title:x", "a & b", "a | | b", "!a", "a:*", "<->", "a <-> b",
            "^a", "{a b}", "{title}:x", "+a", "~a", "a~2", "%", "_", "a%b", "';--", "\u{0}", "a\u{0}b", "\u{1}\u{2}", "\n\t", "\u{feff}", "\u{202e}", "\u{10ffff}", "🙂", "👩‍👩‍👧", "é", "e\u{301}", "İ", "ß", "Ё", "ё",
            "REQ-", "REQ-0", "-1", "REQ-99999999999999999999", "0191d5e5-0000-7000-8000-000000000000", "ﷺ", "中文 検索", "ไทย", "١٢٣", "a\u{300}\u{301}\u{302}", &long, &many];
        for text in nasty {
            let url = Url::parse_with_params("http://x/", [("query", text)]).unwrap();
            let reply = server.get(&format!("/api/v1/search?{}", url.query().unwrap())).await;
            // A line longer than the server reads is refused before it is a search.
            assert!(reply.status == 200 || (reply.status == 414 || reply.status == 431) && text.len() > 10_000, "{text:.60?}: {} {}", reply.status, reply.body);
        }
        let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]));
        let texts = prop_oneof!["\\PC{0,40}", ".{0,40}", "[\"'*()&|!:<>~^ a-я-]{0,30}"];
        for _ in 0..300 {
            let text = texts.new_tree(&mut runner).unwrap().current();
            find(server, &text, &[]).await;
        }
    }
}
