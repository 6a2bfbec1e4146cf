//! Two agents and a person at the same items: what can be begun, who holds what, and that nothing is lost.

use crate::client::Client;
use crate::world::{Refused, World, both, fact};
use serde_json::{Value, json};
use spexus_service::lease::WorkQuery;

both![
    work_is_offered_with_its_reason,
    an_item_has_one_holder_until_its_time_is_over,
    leases_are_released_and_handed_over,
    work_on_linked_items_is_warned_of,
    what_an_agent_wants_is_kept_with_its_changes,
    two_agents_and_a_person_lose_nothing,
];

/// An agent of a user who is made for it.
async fn agent(world: &World, name: &str) -> Client {
    world.user(name, "User").await;
    let token = json!({"name": "laptop", "scopes": ["write"], "agent": true});
    world.client(&world.token_of(name, token).await).await.unwrap()
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|one| one[field].as_str().unwrap().to_owned())
        .collect()
}

//= specs/spexus-service.md#leases
//= type=test
//# Work MUST be offered in the order of its priority, with the reason, when its state is open, nobody else holds it, and nothing it
//# depends on holds it back.
async fn work_is_offered_with_its_reason(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    for (title, priority) in [("Second", 1), ("Third", 2), ("Gone", 1)] {
        let one = json!({"user_story_id": "US-001", "title": title, "priority": priority});
        admin.create("requirement", one).await.unwrap();
    }
    admin
        .update("REQ-004", json!({"status": "Obsolete"}))
        .await
        .unwrap();
    admin.link("REQ-002", "depends_on", "REQ-001").await.unwrap();
    let (ann, bob) = (agent(world, "ann").await, agent(world, "bob").await);
    let work = ann.next_work(WorkQuery::default()).await.unwrap();
    let ready = json!(["REQ-003", "REQ-001"]);
    assert_eq!(
        json!(texts(&work["ready"], "id")),
        ready,
        "by priority, and nothing that is over: {work}"
    );
    assert!(
        work["ready"][0]["because"]
            .as_str()
            .unwrap()
            .contains("US-001 [Backlog]"),
        "{work}"
    );
    let waits = "it waits for REQ-001 [Draft] P3: Passkeys MUST work";
    assert_eq!(texts(&work["waiting"], "because"), [waits]);
    // Once it is agreed, what waits for it can be begun.
    admin
        .update("REQ-001", json!({"status": "Active"}))
        .await
        .unwrap();
    bob.claim("REQ-003", 10, "Try it").await.unwrap();
    let work = ann.next_work(WorkQuery::default()).await.unwrap();
    assert_eq!(texts(&work["ready"], "id"), ["REQ-002", "REQ-001"]);
    assert!(
        work["waiting"][0]["because"]
            .as_str()
            .unwrap()
            .starts_with("bob (laptop) works on it until")
    );
    assert_eq!(work["leases"][0]["intent"], "Try it");
    let own = bob.next_work(WorkQuery::default()).await.unwrap();
    assert!(own["ready"].to_string().contains("you hold it"), "{own}");
    let one = WorkQuery {
        limit: Some(1),
        under: Some("EP-001".into()),
        ..WorkQuery::default()
    };
    assert_eq!(
        ann.next_work(one).await.unwrap()["ready"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // Nothing below what is over is work.
    admin
        .update("US-001", json!({"status": "Cancelled"}))
        .await
        .unwrap();
    let work = ann.next_work(WorkQuery::default()).await.unwrap();
    assert_eq!(work["ready"], json!([]));
    for odd in [0, 51] {
        let query = WorkQuery {
            limit: Some(odd),
            ..WorkQuery::default()
        };
        ann.next_work(query).await.refused(1021);
    }
    let query = WorkQuery {
        kind: Some("acceptance_criterion".into()),
        ..WorkQuery::default()
    };
    ann.next_work(query).await.refused(1021);
}

//= specs/spexus-service.md#leases
//= type=test
//# An item MUST be held by one holder at a time, also when several claim it at the same moment; claiming again MUST renew the lease,
//# and a lease MUST end when its time is over by the clock of the service.
//= specs/spexus-service.md#leases
//= type=test
//# A write by an agent to an item that somebody else holds MUST be refused with who holds it and until when; people MUST be
//# able to write and to take it over.
async fn an_item_has_one_holder_until_its_time_is_over(world: &World) {
    world.seed().await;
    let (ann, bob) = (agent(world, "ann").await, agent(world, "bob").await);
    let second = json!({"name": "desk", "scopes": ["write"], "agent": true});
    let other_ann = world.client(&world.token_of("ann", second).await).await.unwrap();
    let held = ann.claim("REQ-001", 10, "Implement it").await.unwrap();
    assert_eq!(held["rev"], 1);
    let until = &held["lease"]["until"];
    for other in [&bob, &other_ann] {
        let refusal = other.claim("REQ-001", 10, "").await.refused(1054);
        assert_eq!(fact(&refusal, "held_by"), "ann (laptop)");
        assert_eq!(&json!(fact(&refusal, "held_until")), until);
        let patch = json!({"priority": 1, "expect_rev": 1});
        other.update("REQ-001", patch).await.refused(1054);
        other
            .move_to("REQ-001", json!({"expect_rev": 1}))
            .await
            .refused(1054);
        other.delete("REQ-001", true).await.refused(1054);
        other.delete("EP-001", true).await.refused(1054);
        let batch =
            json!({"operations": [{"op": "update", "id": "REQ-001", "priority": 1, "expect_rev": 1}]});
        other.batch(batch).await.refused(1054);
        other
            .comment("REQ-001", json!({"content": "May I?"}))
            .await
            .unwrap();
    }
    // Its holder may, and holds it longer.
    ann.update("REQ-001", json!({"priority": 1, "expect_rev": 1}))
        .await
        .unwrap();
    world.jump(9 * 60);
    let longer = ann.claim("REQ-001", 10, "").await.unwrap();
    assert_eq!(longer["lease"]["intent"], "Implement it");
    assert_eq!(longer["lease"]["since"], held["lease"]["since"]);
    world.jump(9 * 60);
    bob.claim("REQ-001", 10, "").await.refused(1054);
    // The clock jumps, and the lease is over.
    world.jump(3_600);
    assert_eq!(bob.leases().await.unwrap(), json!([]));
    bob.claim("REQ-001", 240, "").await.unwrap();
    ann.update("REQ-001", json!({"priority": 2, "expect_rev": 2}))
        .await
        .refused(1054);
    // It goes back: nobody has it twice.
    world.jump(-7_200);
    ann.claim("REQ-001", 1, "").await.refused(1054);
    // A person writes, and takes it over.
    world
        .admin
        .update("REQ-001", json!({"priority": 3}))
        .await
        .unwrap();
    let taken = world.admin.claim("REQ-001", 5, "").await.unwrap();
    assert_eq!(taken["taken_from"], "bob (laptop)");
    bob.update("REQ-001", json!({"priority": 4, "expect_rev": 3}))
        .await
        .refused(1054);
    for odd in [0, 241] {
        ann.claim("US-001", odd, "").await.refused(1021);
    }
    let context = ann.context("REQ-001", Default::default()).await.unwrap();
    assert!(
        context["held"].as_str().unwrap().starts_with("admin until"),
        "{context}"
    );
}

//= specs/spexus-service.md#leases
//= type=test
//# A lease MUST be ended or handed over by its holder or a person, and by no other agent.
async fn leases_are_released_and_handed_over(world: &World) {
    world.seed().await;
    let (ann, bob) = (agent(world, "ann").await, agent(world, "bob").await);
    ann.claim("REQ-001", 10, "").await.unwrap();
    bob.release("REQ-001", None).await.refused(1054);
    let handed = ann.release("REQ-001", Some("bob")).await.unwrap();
    assert_eq!(handed["holder"], "bob");
    ann.update("REQ-001", json!({"priority": 1, "expect_rev": 1}))
        .await
        .refused(1054);
    bob.update("REQ-001", json!({"priority": 1, "expect_rev": 1}))
        .await
        .unwrap();
    assert_eq!(bob.leases().await.unwrap().as_array().unwrap().len(), 1);
    bob.release("REQ-001", None).await.unwrap();
    assert_eq!(bob.release("REQ-001", None).await.unwrap(), Value::Null);
    ann.claim("REQ-001", 10, "").await.unwrap();
    world.admin.release("REQ-001", None).await.unwrap();
    assert_eq!(ann.leases().await.unwrap(), json!([]));
    let refusal = ann.release("REQ-001", Some("nobody")).await;
    assert_eq!(refusal.unwrap(), Value::Null, "nobody held it");
    ann.claim("REQ-001", 10, "").await.unwrap();
    ann.release("REQ-001", Some("bbo")).await.refused(1021);
}

//= specs/spexus-service.md#leases
//= type=test
//# Whoever claims an item MUST be told who else works on items it is linked with.
async fn work_on_linked_items_is_warned_of(world: &World) {
    world.seed().await;
    let other = json!({"user_story_id": "US-001", "title": "Keys"});
    world.admin.create("requirement", other).await.unwrap();
    world
        .admin
        .link("REQ-001", "depends_on", "REQ-002")
        .await
        .unwrap();
    let (ann, bob) = (agent(world, "ann").await, agent(world, "bob").await);
    assert!(
        ann.claim("REQ-002", 10, "")
            .await
            .unwrap()
            .get("warnings")
            .is_none()
    );
    let warned = bob.claim("REQ-001", 10, "").await.unwrap();
    let warning = warned["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("REQ-001 depends_on REQ-002: ann (laptop) works on REQ-002"),
        "{warning}"
    );
}

//= specs/spexus-service.md#leases
//= type=test
//# What an agent says it wants MUST be kept with its changes, sealed like them, and told in the history.
async fn what_an_agent_wants_is_kept_with_its_changes(world: &World) {
    world.seed().await;
    let ann = agent(world, "ann").await;
    let said = json!({"priority": 1, "expect_rev": 1, "intent": "It is urgent"});
    ann.update("REQ-001", said).await.unwrap();
    ann.claim("REQ-001", 10, "Implement passkeys").await.unwrap();
    ann.update("REQ-001", json!({"priority": 2, "expect_rev": 2}))
        .await
        .unwrap();
    let batch = json!({"intent": "Split it", "operations": [
        {"op": "create", "kind": "requirement", "parent": "US-001", "title": "Part", "ref": "p"},
        {"op": "update", "id": "@p", "priority": 1, "intent": "First"},
    ]});
    ann.batch(batch).await.unwrap();
    let intents = |page: Value| {
        let rows = page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["intent"].clone());
        rows.collect::<Vec<_>>()
    };
    let first = intents(ann.history("REQ-001").await.unwrap());
    assert_eq!(
        first,
        [json!("Implement passkeys"), json!("It is urgent"), Value::Null]
    );
    let second = intents(ann.history("REQ-002").await.unwrap());
    assert_eq!(second, [json!("First"), json!("Split it")]);
    let fields = ann.history("REQ-001").await.unwrap();
    assert!(
        !fields["data"][0]["fields"].to_string().contains("intent"),
        "{fields}"
    );
}

/// Edits each of them makes.
const EDITS: u64 = 334;

/// Two agents claim, read and write five items; a person writes without asking. Every edit that was answered is in the history
/// once, and no item was held by two at once.
async fn two_agents_and_a_person_lose_nothing(world: &World) {
    world.seed().await;
    for at in 2..=5 {
        let one = json!({"user_story_id": "US-001", "title": format!("Number {at}")});
        world.admin.create("requirement", one).await.unwrap();
    }
    let (ann, bob) = (agent(world, "ann").await, agent(world, "bob").await);
    let (one, two, three) = tokio::join!(work(ann, 0), work(bob, 2), write(world.admin.clone()));
    let made = one + two + three;
    let mut told = 0;
    for at in 1..=5 {
        let id = format!("REQ-{at:03}");
        let item = world.admin.get(&id).await.unwrap();
        let history = world.admin.history(&id).await.unwrap();
        assert_eq!(item["rev"], history["total_count"], "{id}");
        told += item["rev"].as_u64().unwrap() - 1;
    }
    assert_eq!(told, made, "every edit that was answered is there, and no other");
    assert!(made >= 1_000, "{one} {two} {three}");
    assert_eq!(world.admin.leases().await.unwrap(), json!([]));
}

/// Claims, reads, writes and lets go, item after item, until its share is done; what somebody else holds is left to them. Nobody is at
/// an item that it holds: every other agent is refused.
async fn work(agent: Client, from: usize) -> u64 {
    let mut made = 0;
    for at in 0.. {
        if made == EDITS {
            break;
        }
        let id = format!("REQ-{:03}", (at + from) % 5 + 1);
        let Ok(claim) = agent.claim(&id, 5, "").await else {
            tokio::task::yield_now().await;
            continue;
        };
        let patch = json!({"description": format!("Edit {at}."), "expect_rev": claim["rev"]});
        match agent.update(&id, patch).await {
            Ok(_) => made += 1,
            // The person was there in between.
            Err(refusal) => {
                assert_eq!(refusal.code.number(), 1053, "{refusal:?}");
            }
        }
        let released = agent.release(&id, None).await.unwrap();
        assert_eq!(
            released["holder"], claim["lease"]["holder"],
            "nobody else held it meanwhile"
        );
    }
    made
}

async fn write(person: Client) -> u64 {
    for at in 0..EDITS {
        let id = format!("REQ-{:03}", at % 5 + 1);
        let title = json!({"title": format!("Title {at}")});
        person.update(&id, title).await.unwrap();
    }
    EDITS
}
