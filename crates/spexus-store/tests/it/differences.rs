//! What differs between two positions of the history, compared with what stood at each of them.

use crate::world::{World, both, content_hash};
use spexus_domain::attribute::Attributes;
use spexus_domain::baseline::Difference;
use spexus_domain::change::{Action, Entity, NewChange, difference, field_changes};
use spexus_domain::item::Item;
use spexus_domain::query::{Count, PageRequest};
use spexus_domain::{Kind, Uuid};
use spexus_store::differences::{self, DiffLimits, HistoryRange};
use spexus_store::items;
use std::collections::BTreeMap;

both!(
    a_difference_is_what_a_replay_of_any_history_says,
    a_long_difference_is_not_cut_and_its_total_is_not_a_guess,
);

/// What stood at a position: the fields of every living item.
type State = BTreeMap<Uuid, Attributes>;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

//= specs/spexus-service.md#baselines
//= type=test
//# A difference MUST show every item that differs exactly once, over as many pages as it takes, whatever its size.
async fn a_difference_is_what_a_replay_of_any_history_says(world: World) {
    for seed in 1..=3 {
        let positions = history(&world, seed).await;
        // Item by item and as it stands, a few rows at a time: a batch ends in the middle of an item's changes.
        let walked = limits(3, 2, -1);
        let looked_through = limits(3, 2, i64::MAX);
        for (at, (after, before)) in positions.iter().enumerate() {
            for (until, now) in &positions[at..] {
                let expected = replayed(before, now);
                for limits in [&walked, &looked_through, &DiffLimits::default()] {
                    let range = HistoryRange {
                        project_id: world.project.id,
                        after: *after,
                        until: *until,
                    };
                    let found = all_pages(&world, &range, limits).await;
                    assert_eq!(found, expected, "seed {seed}, {range:?}, {limits:?}");
                }
            }
        }
    }
}

async fn a_long_difference_is_not_cut_and_its_total_is_not_a_guess(world: World) {
    let from = world
        .place
        .number("SELECT coalesce(max(seq), 0) FROM change")
        .await;
    world.epic("first").await;
    crate::totals::crowd(&world, 450, "many").await;
    let until = world.place.number("SELECT max(seq) FROM change").await;
    let range = HistoryRange {
        project_id: world.project.id,
        after: from,
        until,
    };
    let limits = limits(50, 50, 100);
    let mut conn = world.read().await;
    let first = PageRequest {
        limit: 200,
        ..PageRequest::default()
    };
    let page = differences::page(&mut conn, &range, &first, &limits)
        .await
        .unwrap();
    assert_eq!((page.data.len(), page.total_count), (200, None));
    assert_eq!(page.total_at_least, Some(201));
    let exact = PageRequest {
        count: Count::Exact,
        ..first
    };
    let page = differences::page(&mut conn, &range, &exact, &limits)
        .await
        .unwrap();
    assert_eq!(page.total_count, Some(451));
    drop(conn);
    assert_eq!(all_pages(&world, &range, &limits).await.len(), 451);
}

fn limits(batch_items: u32, batch_steps: u32, max_short_steps: i64) -> DiffLimits {
    DiffLimits {
        batch_items,
        batch_steps,
        max_short_steps,
        max_counted_steps: 10,
    }
}

type Told = BTreeMap<Uuid, (String, serde_json::Value)>;

/// Everything the pages show; none of them shows an item twice, and the last one knows the total.
async fn all_pages(world: &World, range: &HistoryRange, limits: &DiffLimits) -> Told {
    let mut conn = world.read().await;
    let mut found = Told::new();
    let mut request = PageRequest {
        limit: 3,
        ..PageRequest::default()
    };
    loop {
        let page = differences::page(&mut conn, range, &request, limits)
            .await
            .unwrap();
        assert!(page.data.len() <= 3);
        for one in page.data {
            let told = (
                format!("{:?}", one.difference),
                serde_json::to_value(one.fields).unwrap(),
            );
            assert_eq!(found.insert(one.id, told), None, "{} twice", one.reference_id);
        }
        request.cursor = page.next_cursor;
        if request.cursor.is_none() {
            assert_eq!(page.total_count, Some(found.len() as i64));
            return found;
        }
    }
}

/// What differs between two states.
fn replayed(before: &State, now: &State) -> Told {
    let mut told = Told::new();
    let ids = before.keys().chain(now.keys());
    for id in ids {
        let kind = match (before.contains_key(id), now.contains_key(id)) {
            (true, true) => Difference::Changed,
            (true, false) => Difference::Removed,
            _ => Difference::Added,
        };
        let side = |state: &State| state.get(id).cloned().unwrap_or_default();
        let (was, is) = difference(side(before), side(now));
        if kind == Difference::Changed && was.is_empty() && is.is_empty() {
            continue;
        }
        let fields = serde_json::to_value(field_changes(was, is)).unwrap();
        told.insert(*id, (format!("{kind:?}"), fields));
    }
    told
}

/// Sixty random changes by the seed, and what stood after some of them.
async fn history(world: &World, seed: u64) -> Vec<(i64, State)> {
    let mut dice = Dice(seed);
    let mut living: Vec<Item> = Vec::new();
    let mut gone: Vec<Item> = Vec::new();
    let mut positions = Vec::new();
    for step in 0..60 {
        if step % 12 == 0 {
            let seq = world
                .place
                .number("SELECT coalesce(max(seq), 0) FROM change")
                .await;
            let state = living.iter().map(|item| (item.id, item.fields())).collect();
            positions.push((seq, state));
        }
        let pick = |dice: &mut Dice, of: &[Item]| usize::try_from(dice.below(of.len() as u64)).unwrap();
        match dice.below(10) {
            0..3 => living.push(add(world, &format!("item {step}")).await),
            3 if !living.is_empty() => {
                let item = living.remove(pick(&mut dice, &living));
                let before = item.fields();
                record(world, &item, Action::Deleted, Some(before), Attributes::new()).await;
                gone.push(item);
            }
            4 if !gone.is_empty() => {
                let item = gone.remove(pick(&mut dice, &gone));
                record(world, &item, Action::Restored, None, item.fields()).await;
                living.push(item);
            }
            _ if !living.is_empty() => {
                let at = pick(&mut dice, &living);
                let before = living[at].fields();
                match dice.below(3) {
                    0 => living[at].title = format!("title {}", dice.below(3)),
                    1 => living[at].description = ["", "one", "two"][dice.below(3) as usize].to_owned(),
                    _ => living[at].status = Some(["Draft", "Done"][dice.below(2) as usize].to_owned()),
                }
                let (item, after) = (living[at].clone(), living[at].fields());
                record(world, &item, Action::Updated, Some(before), after).await;
            }
            _ => {}
        }
    }
    positions
}

async fn add(world: &World, title: &str) -> Item {
    let draft = world.draft(Kind::Epic, title);
    world.create(draft).await
}

/// Records a change of an item as the service layer does.
async fn record(world: &World, item: &Item, action: Action, before: Option<Attributes>, after: Attributes) {
    let item = item.clone();
    world
        .store
        .write(world.actor(), move |tx| {
            Box::pin(async move {
                let present = items::by_id(&mut tx.conn, item.id).await?.unwrap();
                let mut changed = item.clone();
                changed.rev = present.rev + 1;
                changed.content_hash = content_hash(&changed);
                items::update(tx, &present, &changed).await?;
                let change = NewChange::new(
                    Entity::Item,
                    item.id,
                    item.reference_id.to_string(),
                    action,
                    changed.rev,
                );
                let change = change.in_project(item.project_id).on_item(item.id, None);
                tx.record(change.fields(before, after)).await.map(drop)
            })
        })
        .await
        .unwrap();
}
