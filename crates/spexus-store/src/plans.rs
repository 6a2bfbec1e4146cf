//! How SQLite answers what is asked often: from an index, without scanning or sorting what may be many.

use crate::engine::Conn;
use crate::{Location, Store, StoreOptions, changes, comments, items, links, listing, search, tokens, tree};
use futures_util::future::BoxFuture;
use spexus_domain::query::{ItemFilter, Order, OrderField, PageRequest};
use spexus_domain::search::Query;
use spexus_domain::{AnyId, Kind, Uuid};
use std::sync::Arc;

const SOME: Uuid = Uuid::from_u128(7);

/// Asks, and fails when a step of a plan is one that grows with the database.
async fn check(what: &str, ask: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, ()>) {
    for (sql, plan) in plans(ask).await {
        let grows = plan.iter().find(|step| grows(&sql, step));
        assert_eq!(grows, None, "{what}\n{sql}\n{}", plan.join("\n"));
    }
}

/// Every statement that was made to answer, with the steps of its plan.
async fn plans(ask: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, ()>) -> Vec<(String, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::File(folder.path().join("plans.db"));
    let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(0));
    let (store, _) = Store::open(&location, &StoreOptions::default(), clock)
        .await
        .unwrap();
    let mut conn = store.read().await.unwrap();
    ask(&mut conn).await;
    let mut plans = Vec::new();
    for (sql, params) in std::mem::take(&mut conn.asked) {
        let rows = conn
            .all(format!("EXPLAIN QUERY PLAN {sql}"), params)
            .await
            .unwrap();
        plans.push((sql, rows.iter().map(|row| row.text("detail").unwrap()).collect()));
    }
    assert!(!plans.is_empty());
    plans
}

/// Tables are searched, not scanned, and indexes give the order. Trees and the few that point to a criterion are sorted.
fn grows(sql: &str, step: &str) -> bool {
    let tables = [
        "i", "o", "p", "c", "a", "m", "l", "s", "e", "item", "change", "comment", "link", "t",
    ];
    let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
    let small = sql.contains("RECURSIVE") || sql.contains("criterion_id = $1");
    scanned.is_some_and(|table| tables.contains(&table))
        || step.contains("AUTOMATIC")
        || (step.contains("TEMP B-TREE FOR ORDER BY") && !small)
}

#[tokio::test]
async fn an_item_is_found_by_its_id() {
    check("by id", |conn| {
        Box::pin(async move {
            items::by_id(conn, SOME).await.unwrap();
            for id in ["REQ-7", "web/REQ-7"] {
                let id = AnyId::parse("id", id).unwrap();
                items::by_any_id(conn, SOME, &id).await.unwrap();
            }
            items::count_children(conn, SOME, Kind::Requirement)
                .await
                .unwrap();
            items::pointing_to(conn, SOME).await.unwrap();
            items::last_position(conn, SOME, Kind::Requirement, Some(SOME))
                .await
                .unwrap();
            items::fallen_with(conn, SOME).await.unwrap();
        })
    })
    .await;
}

//= specs/spexus-store.md#lists
//= type=test
//# The cost of a page, a tree and a point read SHOULD NOT grow with the number of items.
#[tokio::test]
async fn a_page_of_a_list_is_read_in_its_order() {
    for kinds in [vec![Kind::Requirement], vec![Kind::Epic, Kind::UserStory], vec![]] {
        for field in OrderField::ALL {
            for descending in [false, true] {
                let order = Order { field, descending };
                let filter = ItemFilter {
                    project_id: Some(SOME),
                    kinds: kinds.clone(),
                    ..ItemFilter::default()
                };
                check(&format!("{kinds:?} {order:?}"), move |conn| {
                    Box::pin(async move {
                        listing::items(conn, &filter, order, &PageRequest::default())
                            .await
                            .unwrap();
                        let page = PageRequest {
                            limit: 10,
                            cursor: Some(listing::a_cursor(field)),
                        };
                        listing::items(conn, &filter, order, &page).await.unwrap();
                    })
                })
                .await;
            }
        }
    }
}

//= specs/spexus-service.md#tokens
//= type=test
//# A token MUST be found by one indexed look-up of its hash, however many there are.
#[tokio::test]
async fn trees_links_comments_and_history_are_followed_by_index() {
    check("around an item", |conn| {
        Box::pin(async move {
            tree::path(conn, SOME).await.unwrap();
            links::of_item(conn, SOME).await.unwrap();
            links::between(conn, "blocks", SOME, SOME).await.unwrap();
            links::leads_to(conn, "blocks", SOME, SOME).await.unwrap();
            comments::of_item(conn, SOME, None, &PageRequest::default())
                .await
                .unwrap();
            comments::anchored(conn, SOME).await.unwrap();
            changes::of_item(conn, SOME, 9, 9).await.unwrap();
            changes::since(conn, Some(SOME), 9, 9).await.unwrap();
            changes::since(conn, None, 9, 9).await.unwrap();
            changes::since_rev(conn, SOME, SOME, 1).await.unwrap();
            tokens::grant_by_hash(conn, [0; 32]).await.unwrap();
            tree::below(conn, SOME, 9, 9).await.unwrap();
        })
    })
    .await;
}

/// The words are looked up first, newest documents first, and only what was found is joined to its item and sorted.
#[tokio::test]
async fn a_search_ranks_only_what_it_found() {
    let of_kind = ItemFilter {
        project_id: Some(SOME),
        kinds: vec![Kind::Requirement],
        ..ItemFilter::default()
    };
    let of_status = ItemFilter {
        statuses: vec!["Draft".into()],
        ..of_kind.clone()
    };
    for filter in [of_kind, of_status] {
        let plans = plans(|conn| {
            Box::pin(async move {
                let (query, page) = (Query::parse("word"), PageRequest::default());
                search::search(conn, &query, &filter, &page).await.unwrap();
            })
        })
        .await;
        let (sql, plan) = &plans[0];
        let steps: Vec<&String> = plan
            .iter()
            .filter(|step| {
                step.starts_with("SCAN t") || step.starts_with("SEARCH") || step.contains("B-TREE")
            })
            .collect();
        assert!(
            steps[0].starts_with("SCAN t VIRTUAL TABLE"),
            "{sql}\n{}",
            plan.join("\n")
        );
        let sorts = steps.iter().filter(|step| step.contains("B-TREE")).count();
        assert_eq!(sorts, 1, "only the ranking sorts\n{sql}\n{}", plan.join("\n"));
    }
}
