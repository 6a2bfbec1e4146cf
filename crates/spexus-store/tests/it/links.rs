//! Links: once each, followed for cycles, suspect after an edit, falling and coming back with their ends.

use crate::world::{World, both, refused};
use spexus_domain::item::Item;
use spexus_domain::query::PageRequest;
use spexus_domain::visibility::Visibility;
use spexus_domain::{Code, Kind, Reference};
use spexus_store::links::{End, LinkFilter};
use spexus_store::{Result, items, links};
use std::collections::BTreeSet;

both![
    a_link_reads_from_both_ends,
    an_item_with_many_links_shows_each_once_page_by_page,
    many_items_give_their_links_at_once,
    the_same_link_twice_is_refused,
    a_removed_link_can_be_made_again,
    a_cycle_through_three_is_seen,
    a_cycle_that_exists_does_not_catch_the_search,
    a_cycle_longer_than_ten_thousand_is_seen,
    an_edit_makes_a_link_suspect_until_it_is_confirmed,
    links_fall_with_their_ends_and_come_back,
    a_link_stays_down_while_an_end_is_down,
    a_link_made_again_meanwhile_is_not_doubled,
];

async fn three(world: &World) -> [Item; 3] {
    [
        world.epic("a").await,
        world.epic("b").await,
        world.epic("c").await,
    ]
}

async fn links_of(world: &World, item: &Item) -> Vec<spexus_domain::link::Link> {
    let (filter, page) = (LinkFilter::default(), PageRequest::default());
    let mut conn = world.read().await;
    let found = links::of_item(&mut conn, item.id, &filter, Visibility::EVERY, &page).await;
    found.unwrap().page.data
}

async fn remove(world: &World, id: spexus_domain::Uuid) -> Result<()> {
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let link = links::by_id(&mut tx.conn, id).await?;
                links::soft_delete(tx, link.as_slice(), None).await
            })
        })
        .await
}

//= specs/spexus-store.md#links
//= type=test
//# The links of many items MUST come in a number of statements that does not grow with the items, each link once, oldest first,
//# and cut at a number that is asked for.
async fn many_items_give_their_links_at_once(world: World) {
    let [a, b, c] = three(&world).await;
    let lonely = world.epic("lonely").await;
    for (source, target) in [(&a, &b), (&b, &c), (&c, &lonely)] {
        world.link("relates_to", source, target).await.unwrap();
    }
    world.link("depends_on", &a, &c).await.unwrap();
    let items = [a.id, b.id, c.id];
    let any = LinkFilter::default();
    let mut conn = world.read().await;
    let all = links::of_items(&mut conn, a.project_id, &items, &any, Visibility::EVERY, 10);
    let (all, more) = all.await.unwrap();
    assert_eq!(
        (all.len(), more),
        (4, false),
        "a link both ends of which were asked for comes once"
    );
    assert!(all.is_sorted_by_key(|link| link.created_at));
    let cut = links::of_items(&mut conn, a.project_id, &items, &any, Visibility::EVERY, 3);
    let (cut, more) = cut.await.unwrap();
    assert_eq!((&cut[..], more), (&all[..3], true));
    let ending = LinkFilter {
        link_type: Some("relates_to".into()),
        end: Some(End::Target),
    };
    let ending = links::of_items(&mut conn, a.project_id, &items, &ending, Visibility::EVERY, 10);
    assert_eq!(ending.await.unwrap().0.len(), 2);
    let none = links::of_items(&mut conn, a.project_id, &[], &any, Visibility::EVERY, 10);
    assert_eq!(none.await.unwrap(), (Vec::new(), false));
}

//= specs/spexus-store.md#links
//= type=test
//# The links of an item MUST come in pages, each link once and oldest first, with the number of all of them.
async fn an_item_with_many_links_shows_each_once_page_by_page(world: World) {
    let hub = world.epic("hub").await;
    for at in 0..7 {
        let other = world.epic(&format!("other {at}")).await;
        let (source, target) = if at % 2 == 0 {
            (&hub, &other)
        } else {
            (&other, &hub)
        };
        world.link("depends_on", source, target).await.unwrap();
    }
    let outgoing = LinkFilter {
        link_type: Some("depends_on".into()),
        end: Some(End::Source),
    };
    let blocking = LinkFilter {
        link_type: Some("blocks".into()),
        end: None,
    };
    for (filter, total) in [(LinkFilter::default(), 7), (outgoing, 4), (blocking, 0)] {
        let (mut seen, mut times) = (BTreeSet::new(), Vec::new());
        let mut page = PageRequest::new(Some(2), None).unwrap();
        loop {
            let mut conn = world.read().await;
            let found = links::of_item(&mut conn, hub.id, &filter, Visibility::EVERY, &page).await;
            let found = found.unwrap();
            assert_eq!((found.page.total_count, found.hidden_count), (Some(total), 0));
            assert!(found.page.data.len() <= 2);
            for link in &found.page.data {
                assert!(seen.insert(link.id), "{link:?} twice");
                times.push(link.created_at);
            }
            page.cursor = found.page.next_cursor;
            if page.cursor.is_none() {
                break;
            }
        }
        assert_eq!(i64::try_from(seen.len()).unwrap(), total);
        assert!(times.is_sorted(), "{times:?}");
    }
    let elsewhere = Visibility::bound_to(spexus_domain::Uuid::nil());
    let (filter, page) = (LinkFilter::default(), PageRequest::default());
    let mut conn = world.read().await;
    let found = links::of_item(&mut conn, hub.id, &filter, elsewhere, &page)
        .await
        .unwrap();
    assert_eq!((found.page.total_count, found.hidden_count), (Some(0), 7));
    assert!(found.page.data.is_empty());
}

async fn a_link_reads_from_both_ends(world: World) {
    let [a, b, _] = three(&world).await;
    let id = world.link("depends_on", &a, &b).await.unwrap();
    let (from, to) = (links_of(&world, &a).await, links_of(&world, &b).await);
    assert_eq!(from, to);
    let link = &from[0];
    assert_eq!(
        (link.link_type.as_str(), link.inverse.as_str()),
        ("depends_on", "is_required_by")
    );
    assert_eq!(
        (link.source.title.as_str(), link.target.title.as_str()),
        ("a", "b")
    );
    assert!(!link.suspect);
    let mut conn = world.read().await;
    assert_eq!(links::by_id(&mut conn, id).await.unwrap().as_ref(), Some(link));
    let between = links::between(&mut conn, "depends_on", a.id, b.id).await;
    assert_eq!(between.unwrap(), Some(id));
    let reverse = links::between(&mut conn, "depends_on", b.id, a.id).await;
    assert_eq!(reverse.unwrap(), None);
}

async fn the_same_link_twice_is_refused(world: World) {
    let [a, b, _] = three(&world).await;
    world.link("depends_on", &a, &b).await.unwrap();
    let again = world.link("depends_on", &a, &b).await;
    assert_eq!(refused(again), Code::EntityDuplicate);
    world.link("blocks", &a, &b).await.unwrap();
    world.link("depends_on", &b, &a).await.unwrap();
}

async fn a_removed_link_can_be_made_again(world: World) {
    let [a, b, _] = three(&world).await;
    let id = world.link("depends_on", &a, &b).await.unwrap();
    remove(&world, id).await.unwrap();
    assert!(links_of(&world, &a).await.is_empty());
    world.link("depends_on", &a, &b).await.unwrap();
    assert_eq!(links_of(&world, &a).await.len(), 1);
}

async fn leads(world: &World, from: &Item, to: &Item) -> bool {
    links::leads_to(&mut world.read().await, "depends_on", from.id, to.id)
        .await
        .unwrap()
}

async fn a_cycle_through_three_is_seen(world: World) {
    let [a, b, c] = three(&world).await;
    world.link("depends_on", &a, &b).await.unwrap();
    world.link("depends_on", &b, &c).await.unwrap();
    world.link("blocks", &c, &a).await.unwrap();
    assert!(leads(&world, &a, &c).await, "c may not depend on a");
    assert!(!leads(&world, &c, &a).await, "another type does not count");
    let id = links_of(&world, &c).await[0].id;
    remove(&world, id).await.unwrap();
    assert!(!leads(&world, &a, &c).await, "a removed link does not count");
}

async fn a_cycle_that_exists_does_not_catch_the_search(world: World) {
    let [a, b, c] = three(&world).await;
    world.link("depends_on", &a, &b).await.unwrap();
    world.link("depends_on", &b, &a).await.unwrap();
    assert!(!leads(&world, &a, &c).await);
}

//= specs/spexus-service.md#rules
//= type=test
//# Links of a type that forbids cycles MUST NOT form one.
async fn a_cycle_longer_than_ten_thousand_is_seen(world: World) {
    const LONG: u32 = 10_050;
    let [first, ..] = three(&world).await;
    let id = |number: &str| match world.is_sqlite() {
        true => format!("CAST(printf('%016d', {number}) AS BLOB)"),
        false => format!("CAST(lpad(CAST({number} AS TEXT), 32, '0') AS UUID)"),
    };
    let numbers =
        format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {LONG})");
    let item = format!(
        "INSERT INTO item (id, project_id, kind, number, position, title, description, creator_id, attributes, rev, \
         content_hash, created_at, updated_at) {numbers} SELECT {}, a.project_id, a.kind, 1000 + n.i, n.i, \
         CASE n.i WHEN {LONG} THEN 'last' ELSE 'between' END, '', a.creator_id, a.attributes, 1, '', 1, 1 \
         FROM n CROSS JOIN item a WHERE a.title = 'a'",
        id("n.i")
    );
    world.place.meddle(&item).await;
    let link = format!(
        "INSERT INTO link (id, project_id, type, source_project_id, source_id, target_project_id, target_id, source_hash, \
         target_hash, rev, created_by, created_at) {numbers} SELECT {own}, a.project_id, 'depends_on', a.project_id, \
         CASE n.i WHEN 1 THEN a.id ELSE {before} END, a.project_id, {own}, '', '', 1, \
         a.creator_id, 1 FROM n CROSS JOIN item a WHERE a.title = 'a'",
        own = id("n.i"),
        before = id("(n.i - 1)"),
    );
    world.place.meddle(&link).await;
    let last = Reference::of_kind(Kind::Epic, 1_000 + i64::from(LONG));
    let last = items::of_projects(&mut world.read().await, &last, None, 2)
        .await
        .unwrap()
        .remove(0);
    assert!(
        leads(&world, &first, &last).await,
        "the last may not depend on the first"
    );
    assert!(!leads(&world, &last, &first).await);
}

async fn an_edit_makes_a_link_suspect_until_it_is_confirmed(world: World) {
    let [a, b, _] = three(&world).await;
    let id = world.link("depends_on", &a, &b).await.unwrap();
    world.edit(&b, |item| item.status = Some("Done".into())).await;
    assert!(
        !links_of(&world, &a).await[0].suspect,
        "a status says nothing else about it"
    );
    for end in [&a, &b] {
        world.edit(end, |item| item.title.push('!')).await;
        assert!(links_of(&world, &a).await[0].suspect);
        let confirmed = world
            .store
            .write(world.actor(), move |tx| {
                Box::pin(async move {
                    let link = links::by_id(&mut tx.conn, id).await?.unwrap();
                    links::confirm(tx, &link).await
                })
            })
            .await;
        assert_eq!(confirmed.unwrap().len(), 2);
        assert!(!links_of(&world, &a).await[0].suspect);
    }
}

async fn links_fall_with_their_ends_and_come_back(world: World) {
    let [a, b, c] = three(&world).await;
    world.link("depends_on", &a, &b).await.unwrap();
    world.link("relates_to", &c, &b).await.unwrap();
    let alone = world.link("blocks", &a, &b).await.unwrap();
    remove(&world, alone).await.unwrap();
    let deletion = world.delete(&[&b]).await;
    assert!(links_of(&world, &a).await.is_empty());
    assert!(links_of(&world, &c).await.is_empty());
    world.restore(deletion).await;
    let kept = |links: Vec<spexus_domain::link::Link>| -> Vec<String> {
        links.into_iter().map(|link| link.link_type).collect()
    };
    assert_eq!(kept(links_of(&world, &a).await), ["depends_on"]);
    assert_eq!(kept(links_of(&world, &c).await), ["relates_to"]);
}

async fn a_link_stays_down_while_an_end_is_down(world: World) {
    let [a, b, _] = three(&world).await;
    world.link("depends_on", &a, &b).await.unwrap();
    let first = world.delete(&[&b]).await;
    let second = world.delete(&[&a]).await;
    world.restore(first).await;
    assert!(links_of(&world, &b).await.is_empty(), "its source is still gone");
    world.restore(second).await;
    assert!(
        links_of(&world, &b).await.is_empty(),
        "it fell in the first deletion, which was restored without it"
    );
}

async fn a_link_made_again_meanwhile_is_not_doubled(world: World) {
    let [a, b, _] = three(&world).await;
    world.link("depends_on", &a, &b).await.unwrap();
    let deletion = world.delete(&[&b]).await;
    world
        .place
        .meddle("UPDATE item SET deleted_at = NULL WHERE title = 'b'")
        .await;
    world.link("depends_on", &a, &b).await.unwrap();
    world.restore(deletion).await;
    assert_eq!(links_of(&world, &a).await.len(), 1);
}
