//! Items: numbers, places among siblings, trees, deletion.

use crate::world::{World, actor_of, both, create_in, make, pointer, refused};
use spexus_domain::item::Item;
use spexus_domain::query::{ItemFilter, Order, PageRequest};
use spexus_domain::{AnyId, Code, Kind, Refusal};
use spexus_store::{Error, items, listing, tree};

both![
    an_item_comes_back_as_it_was_written,
    an_item_is_found_by_any_id,
    numbers_have_no_gaps_after_a_failed_write,
    numbers_are_never_reused,
    numbers_grow_past_999,
    reserved_numbers_are_not_given_out,
    each_project_and_kind_counts_for_itself,
    items_made_together_keep_their_order,
    siblings_keep_the_order_they_are_given,
    room_between_siblings_never_runs_out,
    a_tree_holds_everything_below,
    a_path_leads_from_the_top,
    requirements_that_point_to_a_criterion_are_found,
    what_fell_together_comes_back_together,
    what_fell_together_is_told_containers_first,
    burying_twice_counts_once,
];

async fn an_item_comes_back_as_it_was_written(world: World) {
    let epic = world.epic("Log in").await;
    let story = world.story(&epic, "By password").await;
    let criterion = world.criterion(&story, "Ничего не теряется — «ёлки» 🎄").await;
    let mut draft = world.draft(Kind::Requirement, "Hash it").under(&story);
    draft.criterion = Some(pointer(&criterion));
    draft.assignee = Some(epic.creator.clone());
    let requirement = world.create(draft).await;
    for written in [epic, story, criterion, requirement] {
        let read = items::by_id(&mut world.read().await, written.id).await.unwrap();
        assert_eq!(read, Some(written));
    }
}

async fn an_item_is_found_by_any_id(world: World) {
    let epic = world.epic("Log in").await;
    let mut conn = world.read().await;
    let uuid = epic.id.to_string();
    for id in [uuid.as_str(), "EP-001", "ep-1", "default/EP-001"] {
        let id = AnyId::parse("id", id).unwrap();
        let found = items::by_any_id(&mut conn, world.project.id, &id).await.unwrap();
        assert_eq!(found.map(|item| item.id), Some(epic.id), "{id}");
    }
    for id in ["EP-002", "US-001", "other/EP-001", "PROMPT-001"] {
        let id = AnyId::parse("id", id).unwrap();
        let found = items::by_any_id(&mut conn, world.project.id, &id).await.unwrap();
        assert_eq!(found, None, "{id}");
    }
}

//= specs/spexus-store.md#numbers
//= type=test
//# The numbers of a kind in a project MUST have no gaps, whatever writes failed in between.
async fn numbers_have_no_gaps_after_a_failed_write(world: World) {
    world.epic("first").await;
    let draft = world.draft(Kind::Epic, "never");
    let failed = world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                make(tx, &draft).await?;
                Err::<(), _>(Error::from(Refusal::new(Code::RuleViolated, "changed my mind")))
            })
        })
        .await;
    assert_eq!(refused(failed), Code::RuleViolated);
    assert_eq!(world.epic("second").await.reference_id.to_string(), "EP-002");
}

//= specs/spexus-store.md#numbers
//= type=test
//# A number MUST NOT be given out a second time, also after the item that had it was deleted.
async fn numbers_are_never_reused(world: World) {
    let first = world.epic("first").await;
    world.delete(&[&first]).await;
    assert_eq!(world.epic("second").await.reference_id.to_string(), "EP-002");
}

async fn numbers_grow_past_999(world: World) {
    let project = world.project.id;
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { items::reserve_number(&mut tx.conn, project, "STD", 999).await })
        })
        .await
        .unwrap();
    let document = world.create(world.draft(Kind::SteeringDocument, "Style")).await;
    assert_eq!(document.reference_id.to_string(), "STD-1000");
    let id = AnyId::parse("id", "std-1000").unwrap();
    let found = items::by_any_id(&mut world.read().await, project, &id)
        .await
        .unwrap();
    assert_eq!(found, Some(document));
}

async fn reserved_numbers_are_not_given_out(world: World) {
    let project = world.project.id;
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                items::reserve_number(&mut tx.conn, project, "EP", 7).await?;
                items::reserve_number(&mut tx.conn, project, "EP", 3).await
            })
        })
        .await
        .unwrap();
    assert_eq!(world.epic("next").await.reference_id.to_string(), "EP-008");
}

async fn each_project_and_kind_counts_for_itself(world: World) {
    let other = world.another_project("other").await;
    world.epic("here").await;
    let mut draft = world.draft(Kind::Epic, "there");
    draft.project = other;
    assert_eq!(world.create(draft).await.reference_id.to_string(), "EP-001");
    let document = world.create(world.draft(Kind::SteeringDocument, "Style")).await;
    assert_eq!(document.reference_id.to_string(), "STD-001");
}

/// Items of one batch share one moment; listed by it they still stand in the order of their numbers.
async fn items_made_together_keep_their_order(world: World) {
    let draft = world.draft(Kind::Epic, "one of many");
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                for _ in 0..50 {
                    make(tx, &draft).await?;
                }
                Ok(())
            })
        })
        .await
        .unwrap();
    let page = world
        .list(&ItemFilter::default(), Order::default(), &PageRequest::default())
        .await;
    let numbers: Vec<i64> = page.data.iter().map(|item| item.reference_id.number()).collect();
    assert_eq!(numbers, (1..=50).collect::<Vec<_>>());
}

async fn siblings_keep_the_order_they_are_given(world: World) {
    let epic = world.epic("Log in").await;
    let (a, b, c) = (
        world.story(&epic, "a").await,
        world.story(&epic, "b").await,
        world.story(&epic, "c").await,
    );
    assert_eq!(children(&world, &epic).await, "abc");
    move_beside(&world, &c, &a, true).await;
    assert_eq!(children(&world, &epic).await, "acb");
    move_beside(&world, &b, &a, false).await;
    assert_eq!(children(&world, &epic).await, "bac");
}

async fn room_between_siblings_never_runs_out(world: World) {
    let epic = world.epic("Log in").await;
    let (a, b, c) = (
        world.story(&epic, "a").await,
        world.story(&epic, "b").await,
        world.story(&epic, "c").await,
    );
    for _ in 0..30 {
        move_beside(&world, &b, &a, true).await;
        move_beside(&world, &c, &a, true).await;
    }
    assert_eq!(children(&world, &epic).await, "acb");
    let (one, two, three) = (epic, world.epic("two").await, world.epic("three").await);
    for _ in 0..30 {
        move_beside(&world, &two, &one, true).await;
        move_beside(&world, &three, &one, true).await;
    }
    let order = Order::parse("position").unwrap();
    let filter = ItemFilter {
        kinds: vec![Kind::Epic],
        ..ItemFilter::default()
    };
    let page = world.list(&filter, order, &PageRequest::default()).await;
    let titles: Vec<&str> = page.data.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(titles, ["Log in", "three", "two"]);
}

async fn a_tree_holds_everything_below(world: World) {
    let epic = world.epic("e").await;
    let s1 = world.story(&epic, "s1").await;
    world.story(&epic, "s2").await;
    let requirement = world.requirement(&s1, "r").await;
    let gone = world.requirement(&s1, "gone").await;
    world.criterion(&s1, "c").await;
    world.delete(&[&gone]).await;
    let mut conn = world.read().await;
    let mut show = async |root: &Item, max_depth, max_nodes| -> Vec<String> {
        let tree = tree::within(&mut conn, root.id, &up_to(max_depth, max_nodes))
            .await
            .unwrap();
        let node = |node: tree::Node| format!("{}{}", node.depth, node.item.heading());
        tree.nodes.into_iter().map(node).collect()
    };
    assert_eq!(show(&epic, 10, 100).await, ["0e", "1s1", "1s2", "2r", "2c"]);
    assert_eq!(show(&epic, 1, 100).await, ["0e", "1s1", "1s2"]);
    assert_eq!(show(&epic, 10, 2).await, ["0e", "1s1"]);
    assert_eq!(show(&requirement, 10, 100).await, ["0r"]);
}

async fn a_path_leads_from_the_top(world: World) {
    let epic = world.epic("e").await;
    let story = world.story(&epic, "s").await;
    let requirement = world.requirement(&story, "r").await;
    let path = tree::path(&mut world.read().await, requirement.id).await.unwrap();
    assert_eq!(path, [epic, story, requirement]);
}

async fn requirements_that_point_to_a_criterion_are_found(world: World) {
    let epic = world.epic("e").await;
    let story = world.story(&epic, "s").await;
    let criterion = world.criterion(&story, "c").await;
    let mut draft = world.draft(Kind::Requirement, "r").under(&story);
    draft.criterion = Some(pointer(&criterion));
    let pointing = world.create(draft).await;
    world.requirement(&story, "does not point").await;
    let mut conn = world.read().await;
    let found = items::pointing_to(&mut conn, criterion.id).await.unwrap();
    assert_eq!(found, [pointing]);
    let children = items::count_children(&mut conn, story.id, Kind::Requirement).await;
    assert_eq!(children.unwrap(), 2);
}

async fn what_fell_together_comes_back_together(world: World) {
    let epic = world.epic("falls").await;
    let story = world.story(&epic, "falls too").await;
    world.comment(&story, "spoken about").await;
    world.epic("stays").await;
    let deletion = world.delete(&[&story, &epic]).await;
    let mut conn = world.read().await;
    assert_eq!(
        items::deletion_of(&mut conn, epic.id).await.unwrap(),
        Some(deletion)
    );
    assert_eq!(counted(&world).await, "epic 1");
    let deleted = items::by_id(&mut conn, epic.id).await.unwrap().unwrap();
    assert!(deleted.deleted_at.is_some());
    assert_eq!(deleted.rev, epic.rev + 1);
    assert!(world.finds("falls").await.is_empty());

    world.restore(deletion).await;
    assert_eq!(counted(&world).await, "epic 2, user_story 1");
    assert_eq!(items::deletion_of(&mut conn, epic.id).await.unwrap(), None);
    assert_eq!(world.finds("falls").await.len(), 2);
    assert_eq!(
        world.finds("spoken").await,
        [story.reference_id.to_string()],
        "with its comments"
    );
    world.chain_is_whole().await;
}

/// A story can be older than the epic it was moved into.
async fn what_fell_together_is_told_containers_first(world: World) {
    let old = world.epic("old").await;
    let story = world.story(&old, "moved").await;
    let new = world.epic("new").await;
    let target = pointer(&new);
    let story = world.edit(&story, move |item| item.parent = Some(target)).await;
    let deletion = world.delete(&[&story, &new]).await;
    let fallen = items::deleted_by(&mut world.read().await, world.project.id, deletion)
        .await
        .unwrap();
    assert_eq!(fallen, [(new.id, None), (story.id, Some(new.id))]);
}

async fn burying_twice_counts_once(world: World) {
    let (epic, _stays) = (world.epic("falls").await, world.epic("stays").await);
    let first = world.delete(&[&epic]).await;
    world.delete(&[&epic]).await;
    assert_eq!(counted(&world).await, "epic 1");
    let now = items::deletion_of(&mut world.read().await, epic.id)
        .await
        .unwrap();
    assert_eq!(now, Some(first), "it still belongs to the deletion it fell in");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_writers_on_one_database_share_the_numbers_sqlite() {
    two_writers_share_the_numbers(World::on_sqlite().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_writers_on_one_database_share_the_numbers_postgres() {
    if let Some(world) = World::on_postgres().await {
        two_writers_share_the_numbers(world).await;
    }
}

async fn two_writers_share_the_numbers(world: World) {
    let (other, _) = world.place.open().await.unwrap();
    let mut running = tokio::task::JoinSet::new();
    for at in 0..60 {
        let store = if at % 2 == 0 { &world.store } else { &other }.clone();
        let (actor, draft) = (actor_of(&world.user), world.draft(Kind::Epic, "one of many"));
        running.spawn(async move { create_in(&store, actor, draft).await.unwrap() });
    }
    let made = running.join_all().await;
    let mut numbers: Vec<i64> = made.iter().map(|item| item.reference_id.number()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
    world.chain_is_whole().await;
}

fn up_to(max_depth: u32, max_nodes: u32) -> tree::SubtreeLimits {
    tree::SubtreeLimits {
        max_depth,
        max_nodes,
        max_bytes: usize::MAX,
        brief: false,
    }
}

async fn children(world: &World, epic: &spexus_domain::item::Item) -> String {
    let tree = tree::within(&mut world.read().await, epic.id, &up_to(1, 100))
        .await
        .unwrap();
    tree.nodes[1..]
        .iter()
        .map(|node| node.item.title.as_str())
        .collect()
}

async fn move_beside(
    world: &World,
    item: &spexus_domain::item::Item,
    sibling: &spexus_domain::item::Item,
    after: bool,
) {
    let sibling = sibling.clone();
    let position = world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move { items::position_beside(tx, &sibling, after).await })
        })
        .await
        .unwrap();
    world.edit(item, move |item| item.position = position).await;
}

/// How many living items there are of each kind, as the kept counts say and as counting says.
async fn counted(world: &World) -> String {
    let kept = listing::counts(&mut world.read().await, world.project.id)
        .await
        .unwrap();
    let mut lines = Vec::new();
    for kind in Kind::ALL {
        let kept: i64 = kept
            .iter()
            .filter(|(of, _, _)| *of == kind)
            .map(|(_, _, n)| n)
            .sum();
        let sql = "SELECT count(*) FROM item WHERE deleted_at IS NULL AND kind =";
        let real = world.place.number(&format!("{sql} '{}'", kind.name())).await;
        assert_eq!(kept, real, "{}", kind.name());
        if kept > 0 {
            lines.push(format!("{} {kept}", kind.name()));
        }
    }
    lines.join(", ")
}
