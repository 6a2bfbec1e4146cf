//! Totals: exact, or told to be a lower bound.

use crate::world::{World, both, make};
use spexus_domain::item::Priority;
use spexus_domain::limits::{MAX_DESCRIPTION_CHARS, MAX_PAGE_BYTES};
use spexus_domain::query::{Count, ItemFilter, Order, PageRequest};
use spexus_domain::search::Query;
use spexus_domain::{Kind, Uuid};
use spexus_store::listing::MAX_COUNTED_ROWS;
use spexus_store::tree::{self, SubtreeLimits};
use spexus_store::{listing, search};
use std::collections::HashSet;

both!(
    a_search_that_finds_thousands_does_not_call_its_first_thousand_the_total,
    a_list_that_nobody_counted_to_the_end_says_at_least,
    a_page_of_long_texts_ends_before_it_is_too_long,
    a_tree_is_cut_by_bytes_and_counts_what_was_cut,
);

/// So many epics of one title, in one write.
pub(crate) async fn crowd(world: &World, many: usize, title: &str) {
    let draft = world.draft(Kind::Epic, title);
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                for _ in 0..many {
                    make(tx, &draft).await?;
                }
                Ok(())
            })
        })
        .await
        .unwrap();
}

//= specs/spexus-store.md#search
//= type=test
//# The total of a search MUST be the number of places found or say that it is a lower bound, and every place MUST be reachable
//# page by page.
async fn a_search_that_finds_thousands_does_not_call_its_first_thousand_the_total(world: World) {
    crowd(&world, 1_130, "harbour").await;
    crowd(&world, 3, "lighthouse").await;
    let mut page = PageRequest {
        limit: 200,
        ..PageRequest::default()
    };
    let mut conn = world.read().await;
    let (query, filter) = (Query::parse("harbour"), ItemFilter::default());
    let first = search::search(&mut conn, &query, &filter, &page).await.unwrap();
    assert_eq!((first.total_count, first.total_at_least), (None, Some(1_000)));
    page.count = Count::Exact;
    let counted = search::search(&mut conn, &query, &filter, &page).await.unwrap();
    assert_eq!((counted.total_count, counted.total_at_least), (Some(1_130), None));
    page.count = Count::Cheap;
    let mut seen: HashSet<Uuid> = HashSet::new();
    loop {
        let found = search::search(&mut conn, &query, &filter, &page).await.unwrap();
        let fresh = found.data.iter().filter(|hit| seen.insert(hit.id)).count();
        assert_eq!(fresh, found.data.len(), "nothing comes twice");
        assert!(found.total().at_least() >= seen.len() as i64);
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            assert_eq!(found.total_count, Some(1_130), "the last page knows it");
            break;
        }
    }
    assert_eq!(seen.len(), 1_130);
    let few = search::search(
        &mut conn,
        &Query::parse("lighthouse"),
        &filter,
        &PageRequest::default(),
    )
    .await;
    assert_eq!(few.unwrap().total_count, Some(3));
}

//= specs/spexus-store.md#lists
//= type=test
//# The total of a list MUST be the number of items that pass its filter, or say that it is a lower bound.
async fn a_list_that_nobody_counted_to_the_end_says_at_least(world: World) {
    let many = MAX_COUNTED_ROWS as usize + 50;
    crowd(&world, many, "many").await;
    let by_priority = ItemFilter {
        project_id: Some(world.project.id),
        priorities: vec![Priority::MEDIUM],
        ..ItemFilter::default()
    };
    let cheap = PageRequest::default();
    let page = world.list(&by_priority, Order::default(), &cheap).await;
    assert_eq!(page.total_count, None);
    assert_eq!(page.total_at_least, Some(i64::from(MAX_COUNTED_ROWS)));
    let exact = PageRequest {
        count: Count::Exact,
        ..cheap.clone()
    };
    let page = world.list(&by_priority, Order::default(), &exact).await;
    assert_eq!((page.total_count, page.total_at_least), (Some(many as i64), None));
    // What is kept with every write is exact for nothing.
    let by_kind = ItemFilter {
        project_id: Some(world.project.id),
        kinds: vec![Kind::Epic],
        ..ItemFilter::default()
    };
    let page = world.list(&by_kind, Order::default(), &cheap).await;
    assert_eq!(page.total_count, Some(many as i64));
}

//= specs/spexus-store.md#lists
//= type=test
//# A page MUST end before its texts exceed the bytes one answer may hold, and the next page MUST go on from there.
async fn a_page_of_long_texts_ends_before_it_is_too_long(world: World) {
    let text = "я".repeat(MAX_DESCRIPTION_CHARS);
    for at in 0..45 {
        let draft = world.draft(Kind::Epic, &format!("{at}")).saying(&text);
        world.create(draft).await;
    }
    let mut page = PageRequest {
        limit: 200,
        ..PageRequest::default()
    };
    let mut pages = Vec::new();
    loop {
        let mut conn = world.read().await;
        let found = listing::items(&mut conn, &ItemFilter::default(), Order::default(), &page).await;
        let found = found.unwrap();
        let bytes: usize = found.data.iter().map(|item| item.description.len()).sum();
        assert!(bytes <= MAX_PAGE_BYTES, "{bytes}");
        pages.push(found.data.len());
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, [41, 4]);
}

//= specs/spexus-store.md#trees
//= type=test
//# A tree MUST be cut by the bytes of its texts before they are read, and its total MUST count what was cut.
async fn a_tree_is_cut_by_bytes_and_counts_what_was_cut(world: World) {
    let epic = world.epic("root").await;
    for at in 0..5 {
        let draft = world.draft(Kind::UserStory, &format!("story {at}")).under(&epic);
        let story = world.create(draft.saying(&"x".repeat(1_000))).await;
        world.requirement(&story, "leaf").await;
    }
    let extent = |max_depth, max_bytes, brief| SubtreeLimits {
        max_depth,
        max_nodes: 100,
        max_bytes,
        brief,
    };
    let mut conn = world.read().await;
    let mut ask = async |extent: SubtreeLimits| tree::within(&mut conn, epic.id, &extent).await.unwrap();
    let whole = ask(extent(10, 1_000_000, false)).await;
    assert_eq!((whole.nodes.len(), whole.total, whole.deeper), (11, 11, false));
    let cut = ask(extent(10, 4_000, false)).await;
    assert_eq!((cut.nodes.len(), cut.total, cut.deeper), (3, 11, false));
    assert_eq!(cut.nodes[..], whole.nodes[..3], "it is the beginning");
    let brief = ask(extent(10, 4_000, true)).await;
    assert!(brief.nodes.len() > cut.nodes.len() && brief.nodes[1].item.description.len() == 200);
    let shallow = ask(extent(1, 1_000_000, false)).await;
    assert_eq!((shallow.nodes.len(), shallow.total, shallow.deeper), (6, 6, true));
    let tiny = ask(extent(10, 1, false)).await;
    assert_eq!(
        (tiny.nodes.len(), tiny.total),
        (1, 11),
        "the item itself is always shown"
    );
}
