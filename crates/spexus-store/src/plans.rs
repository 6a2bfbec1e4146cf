//! How SQLite answers what is asked often: from an index, without scanning or sorting what may be many.

use crate::differences::{self, DiffLimits, HistoryRange};
use crate::engine::Conn;
use crate::links::LinkFilter;
use crate::{
    Location, Store, StoreOptions, changes, comments, deletion, items, links, listing, report, search,
    tokens, transfer, tree,
};
use futures_util::future::BoxFuture;
use spexus_domain::query::{ItemFilter, Order, OrderField, PageRequest};
use spexus_domain::report::Section;
use spexus_domain::search::Query;
use spexus_domain::visibility::Visibility;
use spexus_domain::{AnyId, Kind, Reference, Uuid};
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
    for (sql, params) in std::mem::take(&mut conn.statements) {
        let rows = conn
            .all(format!("EXPLAIN QUERY PLAN {sql}"), params)
            .await
            .unwrap();
        plans.push((sql, rows.iter().map(|row| row.text("detail").unwrap()).collect()));
    }
    assert!(!plans.is_empty());
    plans
}

/// Tables are searched, not scanned, and indexes give the order. Trees, the links of one item and the few that point to a
/// criterion are sorted.
fn grows(sql: &str, step: &str) -> bool {
    let tables = [
        "i", "o", "p", "c", "a", "m", "l", "s", "e", "item", "change", "comment", "link", "t", "w",
    ];
    let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
    let small = [
        "FROM link_type",
        "RECURSIVE",
        "criterion_id = $1",
        "ORDER BY l.created_at",
    ]
    .iter()
    .any(|part| sql.contains(part));
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
            let reference = Reference::of_kind(Kind::Requirement, 7);
            for seen in [None, Some(vec![SOME])] {
                items::of_projects(conn, &reference, seen.as_deref(), 10)
                    .await
                    .unwrap();
            }
            items::count_children(conn, SOME, Kind::Requirement)
                .await
                .unwrap();
            items::pointing_to(conn, SOME).await.unwrap();
            items::last_position(conn, SOME, Kind::Requirement, Some(SOME))
                .await
                .unwrap();
            items::deleted_by(conn, SOME, SOME).await.unwrap();
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
                            ..PageRequest::default()
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
            links::of_item(
                conn,
                SOME,
                &LinkFilter::default(),
                Visibility::bound_to(SOME),
                &PageRequest::default(),
            )
            .await
            .unwrap();
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
            let limits = tree::SubtreeLimits {
                max_depth: 9,
                max_nodes: 9,
                max_bytes: 9,
                brief: false,
            };
            tree::within(conn, SOME, &limits).await.unwrap();
        })
    })
    .await;
}

// A page of the tree took three seconds with 100,000 items: the contents of a node were looked for among all items of each kind.
//= specs/spexus-store.md#lists
//= type=test
//# The cost of a page, a tree and a point read SHOULD NOT grow with the number of items.
#[tokio::test]
async fn what_an_item_holds_is_not_looked_for_among_all_items() {
    let within = |filter: fn() -> ItemFilter| {
        plans(move |conn| {
            Box::pin(async move {
                for field in OrderField::ALL {
                    let order = Order {
                        field,
                        descending: true,
                    };
                    listing::items(conn, &filter(), order, &PageRequest::default())
                        .await
                        .unwrap();
                }
            })
        })
    };
    for filter in [
        || ItemFilter {
            parent: Some(SOME),
            ..ItemFilter::default()
        },
        || ItemFilter {
            parent: Some(SOME),
            kinds: vec![Kind::Requirement],
            ..ItemFilter::default()
        },
        || ItemFilter {
            under: Some(SOME),
            kinds: vec![Kind::Requirement],
            project_id: Some(SOME),
            ..ItemFilter::default()
        },
        || ItemFilter {
            acceptance_criterion: Some(SOME),
            kinds: vec![Kind::Requirement],
            ..ItemFilter::default()
        },
    ] as [fn() -> ItemFilter; 4]
    {
        for (sql, plan) in within(filter).await {
            let of_kind = |step: &&String| step.contains("kind=?");
            assert_eq!(plan.iter().find(of_kind), None, "{sql}\n{}", plan.join("\n"));
        }
    }
}

//= specs/spexus-store.md#links
//= type=test
//# The texts of the ends of a link MUST NOT be read beyond what names an item without a title.
#[tokio::test]
async fn links_read_no_whole_text() {
    let asked = plans(|conn| {
        Box::pin(async move {
            let (filter, page) = (LinkFilter::default(), PageRequest::default());
            let found = links::of_item(conn, SOME, &filter, Visibility::EVERY, &page).await;
            found.unwrap();
            links::by_id(conn, SOME).await.unwrap();
        })
    });
    for (sql, _) in asked
        .await
        .into_iter()
        .filter(|(sql, _)| !sql.contains("count(*)"))
    {
        let beginnings = sql.matches(".title = '' THEN substr(").count();
        assert_eq!((beginnings, sql.matches(".description").count()), (2, 2), "{sql}");
    }
}

//= specs/spexus-store.md#trees
//= type=test
//# What falls with an item MUST be told without reading whole texts, in a number of statements that does not grow with it.
#[tokio::test]
async fn what_falls_is_told_by_one_statement_for_each_question() {
    check("what falls", |conn| Box::pin(ask_what_falls(conn))).await;
    let asked = plans(|conn| Box::pin(ask_what_falls(conn))).await;
    assert_eq!(asked.len(), 4);
    for (sql, _) in asked {
        let whole = sql.replace("substr(i.description, 1, 200)", "");
        assert!(!whole.contains("description"), "{sql}");
    }
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

fn scopes() -> [report::ReportScope; 4] {
    [
        scope(None, false),
        scope(None, true),
        scope(Some(SOME), false),
        scope(Some(SOME), true),
    ]
}

fn scope(under: Option<Uuid>, only_inside: bool) -> report::ReportScope {
    report::ReportScope {
        project_id: SOME,
        under,
        seen: only_inside.then(|| vec![SOME]),
    }
}

async fn ask_what_falls(conn: &mut Conn) {
    deletion::items(conn, SOME, 9).await.unwrap();
    deletion::count_links(conn, SOME, Visibility::EVERY)
        .await
        .unwrap();
    deletion::count_comments(conn, SOME).await.unwrap();
    deletion::unpointed(conn, SOME).await.unwrap();
}

async fn ask_for_gaps(conn: &mut Conn) {
    for scope in &scopes() {
        for section in Section::ALL {
            report::section(conn, scope, section, &PageRequest::default())
                .await
                .unwrap();
        }
    }
}

async fn ask_for_exports(conn: &mut Conn) {
    transfer::comments_after(conn, SOME, 0, SOME).await.unwrap();
    transfer::links_after(conn, SOME, SOME).await.unwrap();
    transfer::count_outward_links(conn, SOME).await.unwrap();
    for kind in Kind::ALL {
        transfer::items_after(conn, SOME, kind, 7).await.unwrap();
    }
}

async fn ask_for_differences(conn: &mut Conn) {
    for max_short_steps in [-1, i64::MAX] {
        let limits = DiffLimits {
            max_short_steps,
            ..DiffLimits::default()
        };
        let range = HistoryRange {
            project_id: SOME,
            after: 1,
            until: 9,
        };
        differences::page(conn, &range, &PageRequest::default(), &limits)
            .await
            .unwrap();
        differences::steps_of(conn, &range, &[SOME, Uuid::nil()])
            .await
            .unwrap();
    }
}

/// A look through all links for each requirement took four minutes at a hundred thousand items.
#[tokio::test]
async fn the_report_of_gaps_looks_into_indexes_and_walks_nothing_twice() {
    check("gaps", |conn| Box::pin(ask_for_gaps(conn))).await;
    for (sql, plan) in plans(|conn| Box::pin(ask_for_gaps(conn))).await {
        let of_kind = |step: &String| step.starts_with("SEARCH c ") && step.contains("kind=?");
        assert!(!plan.iter().any(of_kind), "{sql}\n{}", plan.join("\n"));
    }
}

/// A page that sorted all comments and links before it took five minutes at a million items.
#[tokio::test]
async fn a_page_of_an_export_begins_where_the_last_one_ended() {
    check("export", |conn| Box::pin(ask_for_exports(conn))).await;
}

#[tokio::test]
async fn a_difference_is_walked_in_the_order_of_items() {
    for (sql, plan) in plans(|conn| Box::pin(ask_for_differences(conn))).await {
        let scanned = plan.iter().any(|step| step.starts_with("SCAN"));
        assert!(!scanned, "{sql}\n{}", plan.join("\n"));
        let sorted = plan.iter().any(|step| step.contains("B-TREE"));
        // Only a short range is sorted.
        assert!(
            !sorted || !sql.contains("CASE WHEN c.project_id"),
            "{sql}\n{}",
            plan.join("\n")
        );
    }
}

/// PostgreSQL reads small tables whole because that is cheap; told that it is not, it shows whether an index could serve.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_has_an_index_for_every_step_of_gaps_exports_and_differences() {
    let Some(url) = test_support::fresh_database() else {
        return;
    };
    let clock: crate::Clock = Arc::new(|| spexus_domain::Timestamp(0));
    let (store, _) = Store::open(&Location::Server(url), &StoreOptions::default(), clock)
        .await
        .unwrap();
    let mut conn = store.read().await.unwrap();
    conn.script("SET enable_seqscan = off").await.unwrap();
    ask_for_gaps(&mut conn).await;
    ask_for_exports(&mut conn).await;
    ask_for_differences(&mut conn).await;
    for (sql, params) in std::mem::take(&mut conn.statements) {
        let rows = conn.all(format!("EXPLAIN {sql}"), params).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.text("QUERY PLAN").unwrap()).collect();
        let whole = |step: &&String| {
            let tables = ["item", "link ", "comment", "change"];
            tables
                .iter()
                .any(|table| step.contains(&format!("Seq Scan on {table}")))
        };
        assert_eq!(plan.iter().find(whole), None, "{sql}\n{}", plan.join("\n"));
    }
}
