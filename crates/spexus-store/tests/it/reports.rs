//! The report of gaps: its totals are what plain counts say, its pages show everything once, and what belongs to another
//! project is told only to those who may see it.

use crate::world::{World, both};
use spexus_domain::item::Item;
use spexus_domain::query::PageRequest;
use spexus_domain::report::Section;
use spexus_store::report::{self, ReportScope};
use std::collections::BTreeSet;

both!(
    the_totals_of_gaps_are_what_plain_counts_say,
    a_circle_is_told_by_items_and_not_by_their_names,
    links_into_another_project_are_out_of_sight_where_they_must_be,
);

/// Every section with the plain question it answers, for a project.
const PLAIN: [(Section, &str); 7] = [
    (
        Section::EpicsWithoutStories,
        "kind = 'epic' AND id NOT IN (SELECT parent_id FROM item WHERE kind = 'user_story' AND deleted_at IS NULL AND parent_id IS NOT NULL)",
    ),
    (
        Section::StoriesWithoutCriteria,
        "kind = 'user_story' AND id NOT IN (SELECT parent_id FROM item WHERE kind = 'acceptance_criterion' AND deleted_at IS NULL AND parent_id IS NOT NULL)",
    ),
    (
        Section::StoriesWithoutRequirements,
        "kind = 'user_story' AND id NOT IN (SELECT parent_id FROM item WHERE kind = 'requirement' AND deleted_at IS NULL AND parent_id IS NOT NULL)",
    ),
    (
        Section::CriteriaWithoutRequirements,
        "kind = 'acceptance_criterion' AND id NOT IN (SELECT criterion_id FROM item WHERE deleted_at IS NULL AND criterion_id IS NOT NULL)",
    ),
    (
        Section::RequirementsWithoutCriterion,
        "kind = 'requirement' AND criterion_id IS NULL",
    ),
    (
        Section::RequirementsWithoutLinks,
        "kind = 'requirement' AND id NOT IN (SELECT source_id FROM link WHERE deleted_at IS NULL) AND id NOT IN (SELECT target_id FROM link WHERE deleted_at IS NULL)",
    ),
    (Section::SuspectLinks, ""),
];

//= specs/spexus-service.md#reports
//= type=test
//# The total of each section of a report MUST be counted to its end, and its rows MUST come in pages.
async fn the_totals_of_gaps_are_what_plain_counts_say(world: World) {
    let other = World {
        store: world.store.clone(),
        user: world.user.clone(),
        project: world.another_project("web").await,
        place: crate::world::Place::of(world.place.location.clone()),
    };
    let root = furnish(&world, 7).await;
    let foreign = furnish(&other, 2).await;
    world.link("relates_to", &root, &foreign).await.unwrap();
    for (section, plain) in PLAIN {
        let sql = match section {
            Section::SuspectLinks => "SELECT count(*) FROM link l JOIN item s ON s.id = l.source_id JOIN item e ON e.id = l.target_id JOIN project p \
                 ON p.id = l.project_id WHERE p.key = 'default' AND l.deleted_at IS NULL AND (l.source_hash <> s.content_hash OR \
                 l.target_hash <> e.content_hash)"
                .to_owned(),
            _ => format!(
                "SELECT count(*) FROM item WHERE deleted_at IS NULL AND project_id = (SELECT id FROM project WHERE key = 'default') AND {plain}"
            ),
        };
        let expected = world.place.number(&sql).await;
        assert!(expected > 1, "{section:?} has something to count");
        let scope = whole(&world);
        assert_eq!(all_rows(&world, &scope, section).await, expected, "{section:?}");
    }
    // Below one item the same questions are asked of what is there.
    let below = ReportScope {
        under: Some(root.id),
        ..whole(&world)
    };
    let stories = all_rows(&world, &below, Section::StoriesWithoutRequirements).await;
    let all = all_rows(&world, &whole(&world), Section::StoriesWithoutRequirements).await;
    assert!(0 < stories && stories < all, "{stories} of {all}");
}

/// The total of a section; its pages of two show as many rows, each once.
async fn all_rows(world: &World, scope: &ReportScope, section: Section) -> i64 {
    let mut conn = world.read().await;
    let mut page = PageRequest {
        limit: 2,
        ..PageRequest::default()
    };
    let mut seen = BTreeSet::new();
    loop {
        let found = report::section(&mut conn, scope, section, &page).await.unwrap();
        for row in found.data {
            assert!(seen.insert(row.clone()), "{row} twice in {section:?}");
        }
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            assert_eq!(found.total_count, Some(seen.len() as i64), "{section:?}");
            return seen.len() as i64;
        }
        assert_eq!(
            report::section_of(page.cursor.as_deref().unwrap()).unwrap(),
            section
        );
    }
}

fn whole(world: &World) -> ReportScope {
    ReportScope {
        project_id: world.project.id,
        under: None,
        seen: None,
    }
}

/// Items with every sort of gap, twice as often in bigger worlds; returns an epic with some of them below it.
async fn furnish(world: &World, many: usize) -> Item {
    let mut epics = Vec::new();
    for at in 0..many {
        let epic = world.epic(&format!("epic {at}")).await;
        world.epic(&format!("empty {at}")).await;
        let bare = world.story(&epic, "bare").await;
        let story = world.story(&epic, "story").await;
        world.criterion(&story, "unserved").await;
        let criterion = world.criterion(&story, "served").await;
        let mut serving = world
            .draft(spexus_domain::Kind::Requirement, "serving")
            .under(&story);
        serving.criterion = Some(crate::world::pointer(&criterion));
        let serving = world.create(serving).await;
        let unlinked = world.requirement(&story, "unlinked").await;
        world.requirement(&story, "also unlinked").await;
        let linked = world.requirement(&story, "linked").await;
        world.link("depends_on", &serving, &linked).await.unwrap();
        world
            .edit(&linked, |item| item.title = "changed since".into())
            .await;
        if at % 2 == 0 {
            world.delete(&[&unlinked]).await;
            world.delete(&[&bare]).await;
        }
        epics.push(epic);
    }
    epics.swap_remove(1)
}

async fn a_circle_is_told_by_items_and_not_by_their_names(world: World) {
    let other = World {
        store: world.store.clone(),
        user: world.user.clone(),
        project: world.another_project("web").await,
        place: crate::world::Place::of(world.place.location.clone()),
    };
    let mut here = Vec::new();
    let mut there = Vec::new();
    for (world, list) in [(&world, &mut here), (&other, &mut there)] {
        let story = world.story(&world.epic("e").await, "s").await;
        for at in 0..3 {
            list.push(world.requirement(&story, &format!("{at}")).await);
        }
    }
    // REQ-001 → web/REQ-002 and REQ-002 → REQ-001 meet in their names only.
    world.link("blocks", &here[0], &there[1]).await.unwrap();
    world.link("blocks", &here[1], &here[0]).await.unwrap();
    let scope = whole(&world);
    let mut conn = world.read().await;
    let page = PageRequest::default();
    let found = report::section(&mut conn, &scope, Section::Cycles, &page)
        .await
        .unwrap();
    assert_eq!((found.total_count, found.data), (Some(0), vec![]));
    drop(conn);
    world.link("blocks", &here[0], &here[2]).await.unwrap();
    world.link("blocks", &here[2], &here[1]).await.unwrap();
    let mut conn = world.read().await;
    let found = report::section(&mut conn, &scope, Section::Cycles, &page)
        .await
        .unwrap();
    assert_eq!(found.total_count, Some(1));
    let told = &found.data[0];
    assert!(
        told.starts_with("blocks: ") && told.matches('→').count() == 3 && !told.contains("web/"),
        "{told}"
    );
}

async fn links_into_another_project_are_out_of_sight_where_they_must_be(world: World) {
    let other = World {
        store: world.store.clone(),
        user: world.user.clone(),
        project: world.another_project("web").await,
        place: crate::world::Place::of(world.place.location.clone()),
    };
    let story = world.story(&world.epic("e").await, "s").await;
    let here = world.requirement(&story, "here").await;
    let there = other
        .requirement(&other.story(&other.epic("e").await, "s").await, "there")
        .await;
    world.link("depends_on", &here, &there).await.unwrap();
    other.edit(&there, |item| item.title = "secret".into()).await;
    let page = PageRequest::default();
    for (only_inside, suspect, unlinked) in [(false, 1, 0), (true, 0, 1)] {
        let scope = ReportScope {
            seen: only_inside.then(|| vec![world.project.id]),
            ..whole(&world)
        };
        let mut conn = world.read().await;
        let found = report::section(&mut conn, &scope, Section::SuspectLinks, &page)
            .await
            .unwrap();
        assert_eq!(found.total_count, Some(suspect));
        assert!(
            found
                .data
                .iter()
                .all(|row| row == "REQ-001 depends_on web/REQ-001"),
            "{found:?}"
        );
        let found = report::section(&mut conn, &scope, Section::RequirementsWithoutLinks, &page)
            .await
            .unwrap();
        assert_eq!(found.total_count, Some(unlinked), "only inside: {only_inside}");
    }
}
