//! What agents work with: everything about an item in one answer, several items at once, who one is, and no blind writes.

use crate::world::{Refused, World, both};
use serde_json::{Value, json};
use spexus_domain::item_context::ContextRequest;
use spexus_service::evidence::{self, PushBody};

both![
    one_answer_has_everything_to_work_on_an_item,
    a_context_says_when_nothing_changed_and_what_did,
    a_context_leads_to_code_and_tests,
    a_context_shows_nothing_of_projects_of_others,
    several_items_are_read_at_once,
    a_caller_is_told_who_it_is,
    an_agent_does_not_write_blindly,
    a_plan_becomes_a_tree,
];

fn wanted(purpose: &str, max_tokens: i64, hash: Option<&Value>) -> ContextRequest {
    ContextRequest {
        purpose: Some(purpose.to_owned()),
        max_tokens: Some(max_tokens),
        if_changed: hash.map(|hash| hash.as_str().unwrap().to_owned()),
    }
}

/// The seed, with all that a context can tell of.
async fn full(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let criterion = json!({"user_story_id": "US-001", "description": "IF the passkey is unknown THEN the door stays shut."});
    admin.create("acceptance_criterion", criterion).await.unwrap();
    let other = json!({"user_story_id": "US-001", "title": "Keys MUST be kept", "description": "In hardware. Nowhere else."});
    admin.create("requirement", other).await.unwrap();
    let document = json!({"title": "Style", "description": "Write plainly."});
    admin.create("steering_document", document).await.unwrap();
    admin.link("STD-001", "guides", "EP-001").await.unwrap();
    admin.link("REQ-001", "depends_on", "REQ-002").await.unwrap();
    for (on, content) in [("REQ-001", "Which curve?"), ("US-001", "For guests, too?")] {
        admin.comment(on, json!({"content": content})).await.unwrap();
    }
    let settled = admin
        .comment("REQ-001", json!({"content": "Settled."}))
        .await
        .unwrap();
    let id = crate::client::uuid(&settled["id"]);
    admin.update_comment(id, json!({"resolved": true})).await.unwrap();
}

//= specs/spexus-service.md#working-context
//= type=test
//# The working context of an item MUST be one answer with the item and its revision, what contains it, all acceptance criteria, its
//# links with title and state, open comments, the steering documents of its epic, its siblings, and what changed.
async fn one_answer_has_everything_to_work_on_an_item(world: &World) {
    full(world).await;
    let found = world
        .admin
        .context("REQ-001", ContextRequest::default())
        .await
        .unwrap();
    assert_eq!(found["item"]["reference_id"], "REQ-001");
    assert_eq!(found["item"]["rev"], 1);
    let lines: Vec<&str> = found["within"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["line"].as_str().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "EP-001 [Backlog] P1: Sign in",
            "US-001 [Backlog] P3: With a passkey"
        ]
    );
    let criteria = json!([
        {"id": "AC-001", "served": true, "text": "The passkey prompt opens within a second."},
        {"id": "AC-002", "text": "IF the passkey is unknown THEN the door stays shut."},
    ]);
    assert_eq!(found["criteria"], criteria);
    let link = json!([{"reads": "depends_on", "line": "REQ-002 [Draft] P3: Keys MUST be kept", "says": "In hardware. Nowhere else."}]);
    assert_eq!(found["links"], link);
    let comments = json!([
        {"on": "REQ-001", "by": "admin", "text": "Which curve?"},
        {"on": "US-001", "by": "admin", "text": "For guests, too?"},
    ]);
    assert_eq!(found["comments"], comments, "what is settled is not told");
    assert_eq!(
        found["steering"],
        json!([{"id": "STD-001", "title": "Style", "text": "Write plainly."}])
    );
    assert_eq!(
        found["siblings"],
        json!(["REQ-002 [Draft] P3: Keys MUST be kept"])
    );
    assert!(found.get("omitted").is_none(), "{found}");
    // From the other end, and for the other kinds.
    let other = world
        .admin
        .context("REQ-002", ContextRequest::default())
        .await
        .unwrap();
    assert_eq!(other["links"][0]["reads"], "is_required_by");
    let story = world
        .admin
        .context("US-001", ContextRequest::default())
        .await
        .unwrap();
    assert_eq!(story["contains"].as_array().unwrap().len(), 2);
    assert_eq!(story["criteria"].as_array().unwrap().len(), 2);
    let epic = world
        .admin
        .context("EP-001", ContextRequest::default())
        .await
        .unwrap();
    assert_eq!(epic["contains"], json!(["US-001 [Backlog] P3: With a passkey"]));
    let criterion = world
        .admin
        .context("AC-001", ContextRequest::default())
        .await
        .unwrap();
    assert_eq!(
        criterion["contains"],
        json!(["REQ-001 [Draft] P3: Passkeys MUST work"])
    );
    let document = world
        .admin
        .context("STD-001", ContextRequest::default())
        .await
        .unwrap();
    assert_eq!(document["item"]["description"], "Write plainly.");
    let refusal = world
        .admin
        .context("REQ-001", wanted("plan", 4_000, None))
        .await
        .refused(1021);
    assert!(refusal.faults[0].allowed.contains("implement"), "{refusal:?}");
    let long = "A long text. ".repeat(2_000);
    world
        .admin
        .update("REQ-001", json!({"description": long}))
        .await
        .unwrap();
    let cut = world
        .admin
        .context("REQ-001", wanted("test", 600, None))
        .await
        .unwrap();
    let last = cut["omitted"].as_array().unwrap().last().unwrap();
    let shown = cut["item"]["description"].as_str().unwrap().chars().count();
    assert_eq!(last["get"], format!("get_item {{id: REQ-001, offset: {shown}}}"));
}

//= specs/spexus-service.md#working-context
//= type=test
//# Whoever sends the hash of an earlier context MUST be told only that nothing changed, where nothing did.
async fn a_context_says_when_nothing_changed_and_what_did(world: &World) {
    full(world).await;
    let admin = &world.admin;
    let first = admin
        .context("REQ-001", wanted("implement", 4_000, None))
        .await
        .unwrap();
    let again = wanted("implement", 900, Some(&first["hash"]));
    let same = admin.context("REQ-001", again.clone()).await.unwrap();
    assert_eq!(same, json!({"hash": first["hash"], "unchanged": true}));
    // A criterion counts as much as the item itself.
    admin
        .update("AC-002", json!({"description": "The door stays shut."}))
        .await
        .unwrap();
    let moved = admin.context("REQ-001", again.clone()).await.unwrap();
    assert_ne!(moved["hash"], first["hash"]);
    assert!(
        moved.get("changes").is_none(),
        "the item itself is as it was: {moved}"
    );
    admin
        .update("REQ-001", json!({"title": "Passkeys MUST open", "priority": 1}))
        .await
        .unwrap();
    let moved = admin.context("REQ-001", again).await.unwrap();
    let change = &moved["changes"][0];
    assert_eq!((&change["rev"], &change["by"]), (&json!(2), &json!("admin")));
    let what = change["what"].as_str().unwrap();
    assert!(
        what.contains("title: \"Passkeys MUST work\" → \"Passkeys MUST open\""),
        "{what}"
    );
    let review = admin
        .context("REQ-001", wanted("review", 4_000, None))
        .await
        .unwrap();
    assert_eq!(review["changes"].as_array().unwrap().len(), 2, "{review}");
}

async fn a_context_shows_nothing_of_projects_of_others(world: &World) {
    full(world).await;
    let admin = &world.admin;
    admin
        .create_project(json!({"key": "web", "default_role": "none"}))
        .await
        .unwrap();
    let web = admin.naming("web");
    web.create("epic", json!({"title": "SECRET plan"})).await.unwrap();
    admin
        .link("default/EP-001", "relates_to", "web/EP-001")
        .await
        .unwrap();
    let kim = world.user("kim", "User").await;
    let kim = world.client(&kim).await.unwrap();
    for id in ["EP-001", "REQ-001"] {
        let found = kim.context(id, ContextRequest::default()).await.unwrap();
        assert!(!found.to_string().contains("SECRET"), "{found}");
    }
    let epic = kim.context("EP-001", ContextRequest::default()).await.unwrap();
    assert_eq!(epic["omitted"][0]["part"], "links", "it is counted: {epic}");
    web.context("REQ-001", ContextRequest::default())
        .await
        .refused(1046);
    kim.context("web/EP-001", ContextRequest::default())
        .await
        .refused(1046);
}

//= specs/spexus-service.md#working-context
//= type=test
//# Up to 50 items MUST be read by one request, each by any id; one that is not there MUST be refused with its place.
async fn several_items_are_read_at_once(world: &World) {
    world.seed().await;
    let epic = world.admin.get("EP-001").await.unwrap();
    let uuid = epic["id"].as_str().unwrap();
    let found = world.admin.several(&["req-1", uuid, "AC-001"]).await.unwrap();
    let ids: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["reference_id"])
        .collect();
    assert_eq!(ids, ["REQ-001", "EP-001", "AC-001"]);
    let refusal = world.admin.several(&["EP-001", "REQ-009"]).await.refused(1046);
    assert_eq!(refusal.faults[0].field, "ids[1]");
    world.admin.several(&[]).await.refused(1021);
    world.admin.several(&["EP-001"; 51]).await.refused(1021);
    assert_eq!(
        world
            .admin
            .several(&["EP-001"; 50])
            .await
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        50
    );
}

//= specs/spexus-service.md#working-context
//= type=test
//# A caller MUST be told its user, role, scope, project, and whether it counts as an agent, and nothing of projects it does not see.
async fn a_caller_is_told_who_it_is(world: &World) {
    let admin = &world.admin;
    admin
        .create_project(json!({"key": "web", "default_role": "none"}))
        .await
        .unwrap();
    let me = admin.whoami().await.unwrap();
    assert_eq!(
        (&me["user"], &me["agent"], &me["projects_count"]),
        (&json!("admin"), &json!(false), &json!(2))
    );
    world.user("kim", "User").await;
    let token = json!({"name": "laptop", "scopes": ["write"], "agent": true});
    let token = world.token_of("kim", token).await;
    let kim = world.client(&token).await.unwrap().whoami().await.unwrap();
    assert_eq!(
        (&kim["token"], &kim["scope"], &kim["agent"]),
        (&json!("laptop"), &json!("write"), &json!(true))
    );
    assert_eq!(kim["projects"], json!([{"key": "default", "role": "author"}]));
    assert_eq!(
        (&kim["project"], &kim["bound"]),
        (&json!("default"), &json!(false))
    );
    assert!(
        kim["expires_at"].is_string() && !kim.to_string().contains("web"),
        "{kim}"
    );
    admin.naming("web").put_member("kim", "reader").await.unwrap();
    let bound = world.bound("kim", "one", "web").await.whoami().await.unwrap();
    assert_eq!(bound["projects"], json!([{"key": "web", "role": "reader"}]));
    assert_eq!(
        (&bound["project"], &bound["bound"]),
        (&json!("web"), &json!(true))
    );
}

//= specs/spexus-service.md#agents
//= type=test
//# A change of an item by an agent MUST be refused where it does not name the revision it was made for.
async fn an_agent_does_not_write_blindly(world: &World) {
    world.seed().await;
    world.user("kim", "User").await;
    let token = json!({"name": "laptop", "scopes": ["write"], "agent": true});
    let agent = world.client(&world.token_of("kim", token).await).await.unwrap();
    let refusal = agent
        .update("REQ-001", json!({"priority": 1}))
        .await
        .refused(1028);
    assert_eq!(refusal.faults[0].field, "expect_rev");
    agent
        .update("REQ-001", json!({"priority": 1, "expect_rev": 1}))
        .await
        .unwrap();
    agent
        .update("REQ-001", json!({"priority": 2, "expect_rev": 1}))
        .await
        .refused(1053);
    let blind = json!({"operations": [{"op": "update", "id": "REQ-001", "priority": 3}]});
    let refusal = agent.batch(blind).await.refused(1028);
    assert_eq!(refusal.faults[0].field, "operations[0].expect_rev");
    // What the batch itself wrote was seen by nobody else.
    let own = json!({"operations": [
        {"op": "create", "kind": "epic", "title": "New", "ref": "e"},
        {"op": "update", "id": "@e", "priority": 1},
        {"op": "update", "id": "@e", "title": "Newer"},
    ]});
    assert_eq!(agent.batch(own).await.unwrap()["results"][2]["rev"], 3);
    // People may.
    world
        .admin
        .update("REQ-001", json!({"priority": 4}))
        .await
        .unwrap();
}

//= specs/spexus-service.md#plans
//= type=test
//# A plan MUST be imported whole or not at all, and the answer MUST tell which item stands in which line; a trial MUST tell the same
//# and keep nothing.
async fn a_plan_becomes_a_tree(world: &World) {
    let plan = "# Gates\nWhy.\n\n## Open by key\n### Logs\n- WHEN the key fits THEN the gate SHALL open\n\n## Close\n- The gate MUST close.\n";
    let trial = world
        .admin
        .plan(json!({"markdown": plan, "dry_run": true}), None)
        .await
        .unwrap();
    world.admin.get("EP-001").await.refused(1046);
    let made = world
        .admin
        .plan(json!({"markdown": plan, "intent": "First plan"}), Some("p1"))
        .await
        .unwrap();
    assert_eq!(made["items"], trial["items"]);
    let lines: Vec<String> = made["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["line"], one["id"].as_str().unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            "1 EP-001",
            "4 US-001",
            "5 REQ-001",
            "6 AC-001",
            "8 US-002",
            "9 REQ-002"
        ]
    );
    let requirement = world.admin.get("REQ-001").await.unwrap();
    assert_eq!(
        (&requirement["parent"], &requirement["acceptance_criterion"]),
        (&json!("US-001"), &json!("AC-001"))
    );
    assert_eq!(world.admin.get("EP-001").await.unwrap()["description"], "Why.");
    assert_eq!(
        world.admin.history("REQ-002").await.unwrap()["data"][0]["intent"],
        "First plan"
    );
    let again = world
        .admin
        .plan(json!({"markdown": plan, "intent": "First plan"}), Some("p1"))
        .await
        .unwrap();
    assert_eq!(again, made);
    // Into what is there; nothing of it where a line makes no sense.
    let more =
        json!({"markdown": "## Ring\n- IF nobody answers THEN the bell SHALL stop\n", "under": "EP-001"});
    let more = world.admin.plan(more, None).await.unwrap();
    assert_eq!(more["items"][1]["id"], "AC-002");
    assert_eq!(world.admin.get("US-003").await.unwrap()["parent"], "EP-001");
    let head = world.chain_head().await;
    let odd = world
        .admin
        .plan(json!({"markdown": "# A\n- It MUST hold\n"}), None)
        .await
        .refused(1021);
    assert!(odd.faults[0].problem.starts_with("line 2"), "{odd:?}");
    world
        .admin
        .plan(json!({"markdown": plan, "under": "AC-001"}), None)
        .await
        .refused(1021);
    assert_eq!(world.chain_head().await, head);
}

//= specs/spexus-service.md#working-context
//= type=test
//# A context MUST tell the code that cites the item, the tests that show it with how they stand, those that did not pass first, and
//# what evidence is missing.
async fn a_context_leads_to_code_and_tests(world: &World) {
    world.seed().await;
    let before = world
        .admin
        .context("REQ-001", wanted("test", 4_000, None))
        .await
        .unwrap();
    assert!(
        before.get("evidence").is_none() && before.get("tests").is_none(),
        "{before}"
    );
    let case = |name: &str, inside: &str| {
        format!(
            "<testcase classname=\"pkg\" name=\"{name}\"><properties><property name=\"requirement\" value=\"REQ-001\"/></properties>{inside}</testcase>"
        )
    };
    let cases = format!(
        "{}{}",
        case("opens", ""),
        case("stays_shut", "<failure message=\"it opened\"/>")
    );
    let text = format!("<testsuites><testsuite name=\"pkg\">{cases}</testsuite></testsuites>");
    let body = json!({"commit": "a".repeat(40), "reports": [{"format": "junit", "name": "junit.xml", "text": text}]});
    let body: PushBody = serde_json::from_value(body).unwrap();
    evidence::push(&world.service, &world.admin.caller, body.into_push().unwrap())
        .await
        .unwrap();
    let again = wanted("test", 4_000, Some(&before["hash"]));
    let found = world.admin.context("REQ-001", again).await.unwrap();
    assert_eq!(found["evidence"]["state"], "ran", "{found}");
    assert_eq!(found["evidence"]["flags"], json!(["failed"]));
    assert_eq!(
        (&found["tests"][0]["name"], &found["tests"][0]["standing"]),
        (&json!("pkg::stays_shut"), &json!("failed"))
    );
    assert_eq!(found["tests"][0]["said"], "it opened");
    assert_eq!(found["tests"][1]["standing"], "passed");
}
