//! Lists: every order pages through everything exactly once, every filter filters, totals are true.

use crate::world::{World, both, pointer, refused};
use spexus_domain::item::{Item, Person, Priority};
use spexus_domain::query::{ItemFilter, Order, OrderField, PageRequest};
use spexus_domain::{Code, Kind, Timestamp};
use spexus_store::listing;
use std::collections::BTreeSet;

both![
    every_order_pages_through_everything_once,
    every_order_is_an_order,
    every_filter_filters,
    totals_are_true_after_every_kind_of_change,
    a_cursor_of_another_list_is_refused,
    deleted_items_are_listed_apart,
    counts_are_told_by_kind_and_status,
];

/// Items with many ties: the same times, titles, priorities and positions, in two projects' worth of kinds.
async fn crowd(world: &World) -> Vec<Item> {
    let epic = world.epic("same").await;
    let mut made = vec![epic.clone()];
    for at in 0..6_i64 {
        let mut draft = world.draft(Kind::Epic, if at % 2 == 0 { "same" } else { "Другое" });
        draft.priority = Priority::from_number(1 + at % 3);
        draft.status = Some(["Backlog", "Draft", "Done"][usize::try_from(at % 3).unwrap()].to_owned());
        draft.created_at = Some(Timestamp(1_700_000_000_000_000 + at / 3));
        made.push(world.create(draft).await);
    }
    let story = world.story(&epic, "story").await;
    for text in ["first", "second"] {
        made.push(world.criterion(&story, text).await);
    }
    made.push(story);
    made.push(world.create(world.draft(Kind::SteeringDocument, "same")).await);
    made
}

fn orders() -> impl Iterator<Item = Order> {
    OrderField::ALL
        .into_iter()
        .flat_map(|field| [false, true].map(|descending| Order { field, descending }))
}

async fn walk(world: &World, filter: &ItemFilter, order: Order, limit: u32) -> Vec<Item> {
    let mut seen = Vec::new();
    let mut page = PageRequest {
        limit,
        ..PageRequest::default()
    };
    loop {
        let found = world.list(filter, order, &page).await;
        assert!(found.data.len() <= limit as usize);
        seen.extend(found.data);
        assert!(seen.len() <= 1_000, "it never ends");
        match found.next_cursor {
            None => break,
            cursor => page.cursor = cursor,
        }
    }
    seen
}

//= specs/spexus-store.md#lists
//= type=test
//# A list MUST show every item that passes its filter exactly once in every order, also where values are equal.
async fn every_order_pages_through_everything_once(world: World) {
    let made = crowd(&world).await;
    let all: BTreeSet<_> = made.iter().map(|item| item.id).collect();
    let of_project = ItemFilter {
        project_id: Some(world.project.id),
        ..ItemFilter::default()
    };
    let epics = ItemFilter {
        kinds: vec![Kind::Epic],
        ..of_project.clone()
    };
    for order in orders() {
        for limit in 1..=12 {
            let seen = walk(&world, &of_project, order, limit).await;
            assert_eq!(seen.len(), all.len(), "{order:?} by {limit}");
            assert_eq!(seen.iter().map(|item| item.id).collect::<BTreeSet<_>>(), all);
        }
        let (some, more) = (
            walk(&world, &epics, order, 3).await,
            walk(&world, &epics, order, 100).await,
        );
        assert_eq!(some, more, "{order:?}: pages do not change the order");
        assert_eq!(more.len(), 7);
    }
}

async fn every_order_is_an_order(world: World) {
    crowd(&world).await;
    let filter = ItemFilter::default();
    for order in orders() {
        let seen = walk(&world, &filter, order, 4).await;
        let key = |item: &Item| -> (i64, String) {
            match order.field {
                OrderField::CreatedAt => (item.created_at.0, String::new()),
                OrderField::UpdatedAt => (item.updated_at.0, String::new()),
                OrderField::Priority => (item.priority.map_or(9, |p| i64::from(p.number())), String::new()),
                OrderField::Title => (0, item.title.clone()),
                OrderField::Status => (
                    0,
                    format!("{} {}", item.status.clone().unwrap_or_default(), item.created_at),
                ),
                OrderField::Position => (item.position, String::new()),
            }
        };
        let keys: Vec<_> = seen.iter().map(|item| (key(item), item.id)).collect();
        let sorted = if order.descending {
            keys.is_sorted_by(|a, b| a > b)
        } else {
            keys.is_sorted()
        };
        assert!(sorted, "{order:?}: {keys:?}");
    }
}

async fn every_filter_filters(world: World) {
    let lee = crate::world::user("lee");
    let second = lee.clone();
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { spexus_store::accounts::insert(tx, &second, "").await })
        })
        .await
        .unwrap();
    let epic = world.epic("epic").await;
    let story = world.story(&epic, "story").await;
    let criterion = world.criterion(&story, "criterion").await;
    let mut draft = world.draft(Kind::Requirement, "requirement").under(&story);
    draft.criterion = Some(pointer(&criterion));
    draft.status = Some("Active".into());
    draft.priority = Priority::from_number(1);
    draft.creator = lee.clone();
    draft.assignee = Some(Person {
        id: lee.id,
        username: lee.username.clone(),
    });
    let requirement = world.create(draft).await;
    let edited = world.edit(&epic, |item| item.title = "epic, edited".into()).await;

    let any = ItemFilter::default();
    let check = async |what: &str, filter: ItemFilter, expect: &[&str]| {
        let page = world
            .list(&filter, Order::default(), &PageRequest::default())
            .await;
        let found: Vec<String> = page
            .data
            .iter()
            .map(|item| item.reference_id.to_string())
            .collect();
        assert_eq!(found, expect, "{what}");
        assert_eq!(page.total_count, Some(expect.len() as i64), "{what}: total");
    };
    check("none", any.clone(), &["EP-001", "US-001", "AC-001", "REQ-001"]).await;
    check(
        "project",
        ItemFilter {
            project_id: Some(world.project.id),
            ..any.clone()
        },
        &["EP-001", "US-001", "AC-001", "REQ-001"],
    )
    .await;
    check(
        "another project",
        ItemFilter {
            project_id: Some(lee.id),
            ..any.clone()
        },
        &[],
    )
    .await;
    check(
        "kinds",
        ItemFilter {
            kinds: vec![Kind::Epic, Kind::Requirement],
            ..any.clone()
        },
        &["EP-001", "REQ-001"],
    )
    .await;
    check(
        "statuses",
        ItemFilter {
            statuses: vec!["Active".into()],
            ..any.clone()
        },
        &["REQ-001"],
    )
    .await;
    check(
        "priorities",
        ItemFilter {
            priorities: vec![Priority::MEDIUM],
            ..any.clone()
        },
        &["EP-001", "US-001"],
    )
    .await;
    check(
        "types",
        ItemFilter {
            types: vec!["Functional".into()],
            ..any.clone()
        },
        &["REQ-001"],
    )
    .await;
    check(
        "assignee",
        ItemFilter {
            assignee: Some(Some(lee.id)),
            ..any.clone()
        },
        &["REQ-001"],
    )
    .await;
    check(
        "nobody",
        ItemFilter {
            assignee: Some(None),
            ..any.clone()
        },
        &["EP-001", "US-001", "AC-001"],
    )
    .await;
    check(
        "creator",
        ItemFilter {
            creator: Some(lee.id),
            ..any.clone()
        },
        &["REQ-001"],
    )
    .await;
    check(
        "parent",
        ItemFilter {
            parent: Some(epic.id),
            ..any.clone()
        },
        &["US-001"],
    )
    .await;
    check(
        "under",
        ItemFilter {
            under: Some(epic.id),
            ..any.clone()
        },
        &["US-001", "AC-001", "REQ-001"],
    )
    .await;
    check(
        "criterion",
        ItemFilter {
            acceptance_criterion: Some(criterion.id),
            ..any.clone()
        },
        &["REQ-001"],
    )
    .await;
    check(
        "created_from",
        ItemFilter {
            created_from: Some(requirement.created_at),
            ..any.clone()
        },
        &["REQ-001"],
    )
    .await;
    check(
        "created_to",
        ItemFilter {
            created_to: Some(story.created_at),
            ..any.clone()
        },
        &["EP-001"],
    )
    .await;
    check(
        "updated_from",
        ItemFilter {
            updated_from: Some(edited.updated_at),
            ..any.clone()
        },
        &["EP-001"],
    )
    .await;
    check(
        "updated_to",
        ItemFilter {
            updated_to: Some(criterion.updated_at),
            ..any.clone()
        },
        &["US-001"],
    )
    .await;
    check(
        "several",
        ItemFilter {
            project_id: Some(world.project.id),
            kinds: vec![Kind::Epic, Kind::UserStory],
            statuses: vec!["Draft".into()],
            ..any.clone()
        },
        &["EP-001", "US-001"],
    )
    .await;
}

//= specs/spexus-store.md#lists
//= type=test
//# The total of a list MUST be the number of items that pass its filter, or say that it is a lower bound.
async fn totals_are_true_after_every_kind_of_change(world: World) {
    let total = async |kind: Kind, statuses: &[&str]| {
        let filter = ItemFilter {
            project_id: Some(world.project.id),
            kinds: vec![kind],
            statuses: statuses.iter().map(|status| (*status).to_owned()).collect(),
            ..ItemFilter::default()
        };
        let page = world
            .list(&filter, Order::default(), &PageRequest::default())
            .await;
        assert_eq!(
            page.total_count,
            Some(page.data.len() as i64),
            "the total is what is there"
        );
        page.total().at_least()
    };
    let (a, b) = (world.epic("a").await, world.epic("b").await);
    assert_eq!(total(Kind::Epic, &["Draft"]).await, 2);
    let b = world.edit(&b, |item| item.status = Some("Done".into())).await;
    assert_eq!(
        (
            total(Kind::Epic, &["Draft"]).await,
            total(Kind::Epic, &["Done"]).await
        ),
        (1, 1)
    );
    let deletion = world.delete(&[&a, &b]).await;
    assert_eq!(total(Kind::Epic, &[]).await, 0);
    world.restore(deletion).await;
    assert_eq!(
        (
            total(Kind::Epic, &["Draft"]).await,
            total(Kind::Epic, &["Done"]).await
        ),
        (1, 1)
    );
    let story = world.story(&a, "s").await;
    world.criterion(&story, "c").await;
    assert_eq!(total(Kind::AcceptanceCriterion, &[]).await, 1);
}

//= specs/spexus-store.md#lists
//= type=test
//# A cursor that belongs to another list MUST be refused.
async fn a_cursor_of_another_list_is_refused(world: World) {
    crowd(&world).await;
    let filter = ItemFilter::default();
    let first = PageRequest {
        limit: 2,
        ..PageRequest::default()
    };
    let by_title = Order::parse("title").unwrap();
    let cursor = world.list(&filter, by_title, &first).await.next_cursor;
    let mut conn = world.read().await;
    let foreign = [cursor.unwrap(), "%%%".into(), "bm90IGpzb24".into(), String::new()];
    for cursor in foreign {
        let page = PageRequest {
            limit: 2,
            cursor: Some(cursor),
            ..PageRequest::default()
        };
        let answer = listing::items(&mut conn, &filter, Order::default(), &page).await;
        assert_eq!(refused(answer), Code::InvalidParams);
    }
}

async fn deleted_items_are_listed_apart(world: World) {
    let (a, _b) = (world.epic("a").await, world.epic("b").await);
    world.delete(&[&a]).await;
    let deleted = ItemFilter {
        project_id: Some(world.project.id),
        kinds: vec![Kind::Epic],
        deleted: true,
        ..ItemFilter::default()
    };
    let page = world
        .list(&deleted, Order::default(), &PageRequest::default())
        .await;
    assert_eq!((page.total_count, page.data[0].title.as_str()), (Some(1), "a"));
}

async fn counts_are_told_by_kind_and_status(world: World) {
    let (epic, other) = (world.epic("a").await, world.epic("b").await);
    world.story(&epic, "s").await;
    world.edit(&other, |item| item.status = Some("Done".into())).await;
    let counts = listing::counts(&mut world.read().await, world.project.id)
        .await
        .unwrap();
    let counts: Vec<(Kind, &str, i64)> = counts
        .iter()
        .map(|(kind, status, n)| (*kind, status.as_str(), *n))
        .collect();
    assert_eq!(
        counts,
        [
            (Kind::Epic, "Done", 1),
            (Kind::Epic, "Draft", 1),
            (Kind::UserStory, "Draft", 1)
        ]
    );
}
