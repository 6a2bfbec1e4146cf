//! The audit trail: a chain for each day, dropped only as a whole.

use crate::world::{Place, World, both, user};
use spexus_domain::audit::{AuditEvent, EventFilter, day_of};
use spexus_domain::query::PageRequest;
use spexus_domain::{Timestamp, Uuid};
use spexus_store::audit_verification::{DayFault, TrailVerdict, verify};
use spexus_store::{Actor, Clock, Store, StoreOptions, audit, audit_days, checkpoints};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

both![
    each_day_is_a_chain_of_its_own,
    a_day_that_is_over_enters_the_ledger_and_does_not_grow,
    retention_drops_whole_days_and_says_so,
    a_statement_can_only_add_to_the_trail,
    whatever_is_done_to_the_trail_is_found,
    a_day_that_is_not_over_is_in_the_checkpoint,
    nodes_that_write_at_once_share_one_chain,
    words_taken_out_of_the_trail_leave_a_chain_that_verifies,
];

const DAY: i64 = 86_400_000_000;
const MONDAY: i64 = 1_700_006_400_000_000;

/// A node with a clock that only moves when it is told to.
struct Node {
    store: Store,
    now: Arc<AtomicI64>,
}

impl Node {
    async fn at(place: &Place) -> Self {
        let now = Arc::new(AtomicI64::new(MONDAY));
        let told = now.clone();
        let clock: Clock = Arc::new(move || Timestamp(told.fetch_add(1_000, Ordering::Relaxed)));
        let (store, _) = Store::open(&place.location, &StoreOptions::default(), clock)
            .await
            .unwrap();
        Self { store, now }
    }

    fn next_day(&self) {
        self.now.fetch_add(DAY, Ordering::Relaxed);
    }

    async fn note(&self, names: &[&str]) {
        let events: Vec<AuditEvent> = names.iter().map(|name| event(name)).collect();
        let job = self.store.write(actor(), move |tx| {
            Box::pin(async move {
                let mut events = events;
                for event in &mut events {
                    (event.id, event.at) = (tx.new_id(), tx.now());
                }
                audit::insert(tx, &events).await
            })
        });
        job.await.unwrap();
    }

    async fn seal(&self) {
        let job = self
            .store
            .write(actor(), |tx| Box::pin(audit_days::seal_finished(tx)));
        job.await.unwrap();
    }

    async fn drop_before(&self, day: i64) -> i64 {
        let job = self
            .store
            .write(actor(), move |tx| Box::pin(audit_days::drop_before(tx, day)));
        job.await.unwrap()
    }

    async fn verdict(&self) -> TrailVerdict {
        verify(&mut self.store.read().await.unwrap()).await.unwrap()
    }

    async fn fault(&self) -> Option<DayFault> {
        self.verdict().await.faults.into_iter().next()
    }
}

fn actor() -> Actor {
    crate::world::actor_of(&user("kim"))
}

fn event(name: &str) -> AuditEvent {
    AuditEvent {
        id: Uuid::nil(),
        at: Timestamp(0),
        event: "login".into(),
        username: name.into(),
        token_id: None,
        address: "10.0.0.1".into(),
        client: "test".into(),
        detail: String::new(),
        target_id: None,
        target: String::new(),
        times: 1,
    }
}

/// Three events on each of three days, of which the third is not over.
async fn three_days(place: &Place) -> Node {
    let node = Node::at(place).await;
    for day in 0..3 {
        if day > 0 {
            node.next_day();
        }
        node.note(&["kim"]).await;
        node.note(&["sam", "ann"]).await;
    }
    node
}

//= specs/spexus-store.md#audit-trail
//= type=test
//# Each day (UTC) of the audit trail MUST be a chain of its own, whose hashes cover every event, however many nodes write at once.
async fn each_day_is_a_chain_of_its_own(world: World) {
    let node = three_days(&world.place).await;
    let verdict = node.verdict().await;
    assert_eq!((verdict.days, verdict.events, verdict.faults), (3, 9, vec![]));
    let numbers = "SELECT CAST(number AS TEXT) FROM audit ORDER BY day, number";
    assert_eq!(
        world.place.texts(numbers).await,
        ["1", "2", "3", "1", "2", "3", "1", "2", "3"]
    );
    let mut conn = node.store.read().await.unwrap();
    let page = audit::page(&mut conn, &EventFilter::default(), &PageRequest::default()).await;
    let names: Vec<String> = page
        .unwrap()
        .data
        .into_iter()
        .map(|event| event.username)
        .collect();
    assert_eq!(names[..3], ["ann", "sam", "kim"], "the newest first");
}

//= specs/spexus-store.md#audit-trail
//= type=test
//# The end of a day that is over MUST enter the ledger of the installation.
//= specs/spexus-store.md#audit-trail
//= type=test
//# An event MUST NOT be written into a day that is over on another node, or that is sealed.
async fn a_day_that_is_over_enters_the_ledger_and_does_not_grow(world: World) {
    let node = three_days(&world.place).await;
    node.seal().await;
    node.seal().await;
    let told = "SELECT after FROM change WHERE label = 'audit trail'";
    let told = world.place.texts(told).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("\"2023-11-15\":\"3 ") && told[0].contains("\"2023-11-16\":\"3 "),
        "{told:?}"
    );
    // A node whose clock lags writes behind those that do not.
    let late = Node::at(&world.place).await;
    late.note(&["late"]).await;
    let last = "SELECT CAST(max(number) AS TEXT) FROM audit GROUP BY day ORDER BY day";
    assert_eq!(world.place.texts(last).await, ["3", "3", "4"]);
    assert_eq!(node.fault().await, None);
    let seal_early = "UPDATE audit_day SET sealed_at = 7 WHERE sealed_at IS NULL";
    world.place.drop_triggers().await;
    world.place.meddle(seal_early).await;
    late.note(&["later"]).await;
    assert_eq!(world.place.texts(last).await, ["3", "3", "4", "1"]);
}

//= specs/spexus-store.md#audit-trail
//= type=test
//# Retention MUST drop whole days that are sealed, and MUST be told in the ledger of the installation with who did it and with
//# what the days ended with.
//= specs/spexus-store.md#audit-trail
//= type=test
//# Verification MUST find an event that was altered, removed or added and a day that is missing, and MUST tell a day that
//# retention dropped from one that is missing.
async fn retention_drops_whole_days_and_says_so(world: World) {
    let node = three_days(&world.place).await;
    let tomorrow = day_of(Timestamp(MONDAY + 3 * DAY));
    assert_eq!(node.drop_before(tomorrow).await, 0, "nothing is sealed");
    node.seal().await;
    assert_eq!(node.drop_before(day_of(Timestamp(MONDAY)) + 1).await, 3);
    // Swept in small steps: what is left in between is no fault.
    for (left, swept) in [(1, 2), (0, 1)] {
        let job = node.store.write(actor(), |tx| Box::pin(audit_days::sweep(tx, 2)));
        assert_eq!(job.await.unwrap(), swept);
        let verdict = node.verdict().await;
        assert_eq!(
            (verdict.days, verdict.dropped, verdict.events, verdict.faults),
            (3, 1, 6 + left, vec![])
        );
    }
    assert_eq!(
        node.drop_before(tomorrow).await,
        3,
        "the day that is not over stays"
    );
    let told = "SELECT before FROM change WHERE label = 'audit trail' AND action = 'deleted' ORDER BY seq";
    let told = world.place.texts(told).await;
    assert!(told[0].contains("\"2023-11-15\":\"3 "), "{told:?}");
    // Whoever removes a day by hand is not retention.
    world.place.drop_triggers().await;
    world
        .place
        .meddle(
            "UPDATE audit_day SET dropped_at = 7, sealed_at = 7 WHERE dropped_at IS NULL; DELETE FROM audit",
        )
        .await;
    let fault = node.fault().await.unwrap();
    assert_eq!(fault.problem, "it is not sealed as the history has it");
    world
        .place
        .meddle("DELETE FROM audit_day WHERE dropped_at <> 7")
        .await;
    let fault = node.fault().await.unwrap();
    assert!(
        node.verdict()
            .await
            .faults
            .iter()
            .any(|fault| fault.problem.contains("it is missing")),
        "{fault:?}"
    );
}

//= specs/spexus-store.md#audit-trail
//= type=test
//# Nothing of the audit trail MUST be changed or removed by a statement, but for the words of a person, which can be taken out,
//# and the events of a day that was dropped.
async fn a_statement_can_only_add_to_the_trail(world: World) {
    let node = three_days(&world.place).await;
    node.seal().await;
    for sql in [
        "DELETE FROM audit",
        "DELETE FROM audit_day",
        "UPDATE audit SET times = 2",
        "UPDATE audit SET username = 'x'",
        "UPDATE audit SET salt = salt, detail = 'x'",
        "UPDATE audit_day SET events = events - 1",
        "UPDATE audit_day SET sealed_at = NULL WHERE sealed_at IS NOT NULL",
        "UPDATE audit_day SET dropped_at = 7 WHERE sealed_at IS NULL",
        "UPDATE audit_day SET head = salt FROM audit WHERE sealed_at IS NOT NULL",
    ] {
        let refused = world.place.try_to_meddle(sql).await.unwrap_err();
        assert!(
            refused.contains("the audit trail is only added to"),
            "{sql}: {refused}"
        );
    }
    if !world.is_sqlite() {
        world.place.try_to_meddle("TRUNCATE audit").await.unwrap_err();
    }
    assert_eq!(node.fault().await, None);
}

//= specs/spexus-store.md#audit-trail
//= type=test
//# Verification MUST find an event that was altered, removed or added and a day that is missing, and MUST tell a day that
//# retention dropped from one that is missing.
async fn whatever_is_done_to_the_trail_is_found(world: World) {
    let node = three_days(&world.place).await;
    node.seal().await;
    world.place.drop_triggers().await;
    let keep = match world.is_sqlite() {
        true => "CREATE TABLE kept AS SELECT * FROM audit; CREATE TABLE kept_day AS SELECT * FROM audit_day",
        false => "CREATE TABLE kept AS TABLE audit; CREATE TABLE kept_day AS TABLE audit_day",
    };
    world.place.meddle(keep).await;
    let first = "WHERE day = (SELECT min(day) FROM audit) AND number = 2";
    let day = "WHERE day = (SELECT min(day) FROM audit)";
    for sql in [
        format!("UPDATE audit SET username = 'eve' {first}"),
        format!("UPDATE audit SET address = 'x' {first}"),
        format!("UPDATE audit SET client = 'x' {first}"),
        format!("UPDATE audit SET detail = 'x' {first}"),
        format!("UPDATE audit SET target = 'x' {first}"),
        format!("UPDATE audit SET event = 'logout' {first}"),
        format!("UPDATE audit SET times = 2 {first}"),
        format!("UPDATE audit SET at = at + 1 {first}"),
        format!("UPDATE audit SET salt = hash {first}"),
        format!("UPDATE audit SET payload_hash = hash {first}"),
        format!("UPDATE audit SET hash = payload_hash {first}"),
        format!("UPDATE audit SET number = 9 {first}"),
        format!("UPDATE audit SET day = day + 9 {first}"),
        format!("DELETE FROM audit {first}"),
        format!("DELETE FROM audit {day}"),
        "DELETE FROM audit WHERE number = 3".to_owned(),
        format!("DELETE FROM audit_day {day}"),
        format!("UPDATE audit_day SET events = 2 {day}"),
        format!("UPDATE audit_day SET sealed_at = 7 {day}"),
        format!("UPDATE audit_day SET dropped_at = 7 {day}"),
        format!("DELETE FROM audit {day}; DELETE FROM audit_day WHERE day NOT IN (SELECT day FROM audit)"),
    ] {
        world.place.meddle(&sql).await;
        assert!(node.fault().await.is_some(), "{sql}");
        world
            .place
            .meddle(
                "DELETE FROM audit; DELETE FROM audit_day; INSERT INTO audit SELECT * FROM kept; \
                 INSERT INTO audit_day SELECT * FROM kept_day",
            )
            .await;
        assert_eq!(node.fault().await, None, "{sql}");
    }
}

//= specs/spexus-store.md#audit-trail
//= type=test
//# What the day that is not over has come to MUST be in every checkpoint.
async fn a_day_that_is_not_over_is_in_the_checkpoint(world: World) {
    let node = three_days(&world.place).await;
    let job = node
        .store
        .write(actor(), |tx| Box::pin(checkpoints::take(tx, "a key")));
    job.await.unwrap();
    node.note(&["later"]).await;
    assert_eq!(node.fault().await, None, "it goes on behind the checkpoint");
    world.place.drop_triggers().await;
    // A day that was cut off and fits itself: only what the checkpoint knows tells.
    let (last, sealed) = ("(SELECT max(day) FROM audit)", "sealed_at IS NULL");
    let sql = format!(
        "DELETE FROM audit WHERE day = {last} AND number > 2; UPDATE audit_day SET events = 2, \
         head = (SELECT hash FROM audit WHERE day = {last} AND number = 2) WHERE {sealed}"
    );
    world.place.meddle(&sql).await;
    let fault = node.fault().await.unwrap();
    assert_eq!(fault.problem, "the history knows 3 events: the rest was cut off");
}

async fn nodes_that_write_at_once_share_one_chain(world: World) {
    let nodes = [Node::at(&world.place).await, Node::at(&world.place).await];
    let writing = nodes.iter().map(|node| async {
        for _ in 0..20 {
            node.note(&["kim", "sam"]).await;
        }
    });
    futures_util::future::join_all(writing).await;
    let verdict = nodes[0].verdict().await;
    assert_eq!((verdict.events, verdict.faults), (80, vec![]));
}

async fn words_taken_out_of_the_trail_leave_a_chain_that_verifies(world: World) {
    let node = three_days(&world.place).await;
    let (salt, who) = (
        if world.is_sqlite() { "x''" } else { "''" },
        "WHERE username = 'sam'",
    );
    let sql = format!(
        "UPDATE audit SET salt = {salt}, username = '', address = '', client = '', detail = '', target = '' {who}"
    );
    world.place.meddle(&sql).await;
    let verdict = node.verdict().await;
    assert_eq!((verdict.erased, verdict.faults), (3, vec![]));
}
