//! Two projects with the same numbers in them: nothing is ever done in the wrong one, and nothing is guessed.

use crate::client::{Client, uuid};
use crate::world::{Refused, World, both};
use serde_json::{Value, json};
use spexus_domain::{Refusal, Ruled};
use spexus_service::item;

both![
    projects_have_their_own_numbers_and_attributes,
    a_reference_two_projects_have_is_never_guessed,
    a_uuid_of_another_project_than_the_one_named_is_refused,
    a_child_is_made_where_its_container_is,
    a_list_below_an_item_of_another_project_is_not_empty,
    a_batch_never_writes_into_the_wrong_project,
    a_project_that_is_given_is_obeyed_or_refused,
    consent_to_a_deletion_never_deletes_another_projects_twin,
    a_bound_token_neither_reads_nor_ends_a_link_into_another_project,
];

/// `default` and `web`, each with EP-001, US-001, AC-001 and REQ-001; `web` has REQ-002 beside it. The ids of web's.
async fn twins(world: &World) -> Value {
    world.seed().await;
    world.admin.create_project(json!({"key": "web"})).await.unwrap();
    let operations = json!([
        {"op": "create", "ref": "ep", "kind": "epic", "title": "Web epic"},
        {"op": "create", "ref": "us", "kind": "user_story", "parent": "@ep", "title": "Web story"},
        {"op": "create", "ref": "ac", "kind": "acceptance_criterion", "parent": "@us", "description": "Web criterion"},
        {"op": "create", "ref": "req", "kind": "requirement", "parent": "@us", "title": "Web requirement"},
        {"op": "create", "ref": "two", "kind": "requirement", "parent": "@us", "title": "Web's second"},
    ]);
    let batch = json!({"project": "web", "operations": operations});
    let made = world.admin.batch(batch).await.unwrap();
    let mut ids = json!({});
    for result in made["results"].as_array().unwrap() {
        ids[result["ref"].as_str().unwrap()] = result["id"].clone();
    }
    ids
}

fn id<'a>(ids: &'a Value, name: &str) -> &'a str {
    ids[name].as_str().unwrap()
}

async fn projects_have_their_own_numbers_and_attributes(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let rules = json!([{"name": "team", "type": "choice", "options": ["red", "blue"], "required": true}]);
    admin
        .create_project(json!({"key": "WEB", "attributes": rules}))
        .await
        .unwrap();
    let web = admin.naming("web");
    let epic = json!({"title": "Shop", "attributes": {"team": "red"}});
    let epic = web.create("epic", epic).await.unwrap();
    assert_eq!(
        (&epic["reference_id"], &epic["project"]),
        (&json!("EP-001"), &json!("web"))
    );
    web.create("epic", json!({"title": "No team"}))
        .await
        .refused(1021);
    assert_eq!(admin.get("web/EP-001").await.unwrap()["title"], "Shop");
    assert_eq!(admin.get("default/EP-001").await.unwrap()["title"], "Sign in");
    admin.get("EP-001").await.refused(1021);
    admin.naming("none").list("epic", json!({})).await.refused(1046);
    let story = json!({"parent": "web/EP-001", "title": "Cart", "attributes": {"team": "blue"}});
    let story = admin.create("user_story", story).await.unwrap();
    assert_eq!(
        (&story["project"], &story["reference_id"]),
        (&json!("web"), &json!("US-001"))
    );
}

/// Everything that can be asked with a reference, one after the other.
async fn every_question(client: &Client, requirement: &str) -> Vec<(&'static str, Ruled<Value>)> {
    let update = json!({"operations": [{"op": "update", "id": requirement, "priority": 1}]});
    vec![
        ("get", client.get(requirement).await),
        ("history", client.history(requirement).await),
        ("links", client.links(requirement, None).await),
        ("path", client.path(requirement).await),
        ("preview", client.preview(requirement).await),
        ("update", client.update(requirement, json!({"priority": 1})).await),
        ("move", client.move_to(requirement, json!({})).await),
        ("delete", client.delete(requirement, false).await),
        (
            "comment",
            client.comment(requirement, json!({"content": "x"})).await,
        ),
        ("link", client.link("REQ-002", "blocks", requirement).await),
        ("batch", client.batch(update).await),
    ]
}

//= specs/spexus-service.md#projects
//= type=test
//# A reference id without a project MUST mean the item of the only project that has it; where several have it, it MUST be
//# refused with all of them.
async fn a_reference_two_projects_have_is_never_guessed(world: &World) {
    let ids = twins(world).await;
    let admin = &world.admin;
    let head = world.chain_head().await;
    let mut asked = every_question(admin, "REQ-001").await;
    let child = json!({"title": "x", "parent": "US-001"});
    asked.extend([
        ("another way to write it", admin.get("req-1").await),
        ("hierarchy", admin.hierarchy("EP-001", None).await),
        (
            "list",
            admin.list("requirement", json!({"parent": "US-001"})).await,
        ),
        ("report", admin.status(Some("EP-001")).await),
        ("create", admin.create("requirement", child).await),
    ]);
    for (what, answer) in asked {
        let refusal = answer.refused(1021);
        let allowed = &refusal.faults[0].allowed;
        assert!(
            allowed.starts_with("default/") && allowed.contains(", web/"),
            "{what}: {refusal:?}"
        );
    }
    assert_eq!(world.chain_head().await, head, "nothing was written anywhere");
    // What only one project has needs no name, and each of the twins has one.
    assert_eq!(admin.get("REQ-002").await.unwrap()["id"], ids["two"]);
    assert_eq!(admin.get("web/REQ-001").await.unwrap()["id"], ids["req"]);
    assert_eq!(
        admin.naming("web").get("REQ-001").await.unwrap()["id"],
        ids["req"]
    );
    assert_eq!(admin.get("default/REQ-001").await.unwrap()["project"], "default");
    // A deleted twin keeps its name: who means it must not hit the other.
    admin.delete("web/REQ-001", false).await.unwrap();
    admin
        .update("REQ-001", json!({"priority": 1}))
        .await
        .refused(1021);
    assert_eq!(admin.restore("web/REQ-001").await.unwrap()["id"], ids["req"]);
}

//= specs/spexus-service.md#projects
//= type=test
//# A request that names a project MUST be refused when an id it gives, be it a UUID, belongs to another project.
async fn a_uuid_of_another_project_than_the_one_named_is_refused(world: &World) {
    let ids = twins(world).await;
    let (head, req) = (world.chain_head().await, id(&ids, "req"));
    let named = world.admin.naming("default");
    let check = |what: &str, refusal: &Refusal| {
        let fault = &refusal.faults[0];
        assert!(fault.field.ends_with("project"), "{what}: {refusal:?}");
        assert_eq!(fault.allowed, "web, or leave it out", "{what}");
    };
    for wanted in [req, "web/REQ-001", "web/REQ-099"] {
        for (what, answer) in every_question(&named, wanted).await {
            // Its source is not in the project either, and is looked at first.
            if what != "link" {
                check(what, &answer.refused(1021));
            }
        }
        check(
            "link",
            &named.link("REQ-001", "blocks", wanted).await.refused(1021),
        );
    }
    let child = json!({"title": "x", "parent": id(&ids, "us")});
    named.create("requirement", child).await.refused(1021);
    let inside = json!({"parent": id(&ids, "us")});
    named.list("requirement", inside).await.refused(1021);
    assert_eq!(world.chain_head().await, head, "nothing was written anywhere");
}

//= specs/spexus-service.md#projects
//= type=test
//# What is made inside something MUST be made in the project of that.
async fn a_child_is_made_where_its_container_is(world: &World) {
    let ids = twins(world).await;
    let admin = &world.admin;
    for parent in [id(&ids, "us"), "web/US-001"] {
        let made = json!({"title": "x", "parent": parent});
        let made = admin.create("requirement", made).await.unwrap();
        assert_eq!(
            (&made["project"], &made["parent"]),
            (&json!("web"), &json!("US-001")),
            "{made}"
        );
    }
    // What has to be in the same project is looked up there.
    let served = json!({"title": "x", "parent": "web/US-001", "acceptance_criterion": "AC-001"});
    let served = admin.create("requirement", served).await.unwrap();
    assert_eq!(
        (&served["project"], &served["acceptance_criterion"]),
        (&json!("web"), &json!("AC-001"))
    );
    let serving = json!({"acceptance_criterion": id(&ids, "ac")});
    let serving = admin.list("requirement", serving).await.unwrap();
    assert_eq!(serving["data"][0]["id"], served["id"]);
    let moved = admin
        .move_to("REQ-002", json!({"before": "REQ-001"}))
        .await
        .unwrap();
    assert_eq!(moved["project"], "web");
    let epic = admin.create("epic", json!({"title": "x"})).await.unwrap();
    assert_eq!(epic["project"], "default");
}

//= specs/spexus-service.md#projects
//= type=test
//# A list of what is in or below an item MUST be of the project of that item.
async fn a_list_below_an_item_of_another_project_is_not_empty(world: &World) {
    let ids = twins(world).await;
    let admin = &world.admin;
    for mut filter in [json!({"parent": id(&ids, "us")}), json!({"under": "web/EP-001"})] {
        let found = admin.list("requirement", filter.clone()).await.unwrap();
        assert_eq!(found["total_count"], 2, "{filter}: {found}");
        filter["kinds"] = json!("requirement");
        let hits = admin.search("web", filter.clone()).await.unwrap();
        assert_eq!(hits["data"].as_array().unwrap().len(), 2, "{filter}: {hits}");
    }
    let two = json!({"parent": id(&ids, "us"), "under": "default/EP-001"});
    admin.list("requirement", two).await.refused(1021);
}

// The review's D1: a local name became the reference id, which the next operation looked up in the default project.
//= specs/spexus-service.md#projects
//= type=test
//# A local name of a batch MUST mean the item it was given to, in whichever project that is.
async fn a_batch_never_writes_into_the_wrong_project(world: &World) {
    twins(world).await;
    let admin = &world.admin;
    let before = admin.naming("default").changes().await.unwrap();
    let operations = json!([
        {"op": "create", "ref": "epic", "kind": "epic", "title": "W2", "project": "web"},
        {"op": "create", "ref": "story", "kind": "user_story", "parent": "@epic", "title": "meant for web"},
        {"op": "comment", "item": "@epic", "content": "meant for web"},
        {"op": "update", "id": "@epic", "expect_rev": 1, "priority": 1},
        {"op": "move", "id": "@story", "project": "web"},
        {"op": "link", "source": "@epic", "target": "web/EP-001", "type": "relates_to"},
    ]);
    let done = admin.batch(json!({ "operations": operations })).await.unwrap();
    let epic = admin.get(id(&done["results"][0], "id")).await.unwrap();
    let facts = json!([epic["project"], epic["reference_id"], epic["priority"]]);
    assert_eq!(facts, json!(["web", "EP-002", 1]));
    let story = admin.get("US-002").await.unwrap();
    assert_eq!(
        (&story["project"], &story["parent"]),
        (&json!("web"), &json!("EP-002"))
    );
    assert_eq!(admin.comments("EP-002", None).await.unwrap()["total_count"], 1);
    let after = admin.naming("default").changes().await.unwrap();
    assert_eq!(after, before, "default was not touched");
}

// The review's D4: `project` of an operation was accepted and ignored.
//= specs/spexus-service.md#projects
//= type=test
//# A `project` that is accepted MUST be obeyed, and one that contradicts what the request names otherwise MUST be refused.
//= specs/spexus-service.md#projects
//= type=test
//# A request that names a project MUST be refused when a link it gives has no end in it.
async fn a_project_that_is_given_is_obeyed_or_refused(world: &World) {
    let ids = twins(world).await;
    let admin = &world.admin;
    let inside = admin.link(id(&ids, "req"), "relates_to", id(&ids, "two")).await;
    let inside = inside.unwrap()["id"].clone();
    let across = admin.link("default/REQ-001", "relates_to", id(&ids, "two")).await;
    let across = across.unwrap()["id"].clone();
    let made = json!({"operations": [{"op": "create", "kind": "epic", "title": "X", "project": "web"}]});
    let made = admin.batch(made).await.unwrap();
    let made = admin.get(id(&made["results"][0], "id")).await.unwrap();
    assert_eq!(made["project"], "web");
    let agreed = json!({"project": "web", "operations": [{"op": "create", "kind": "epic", "title": "X", "project": "WEB"}]});
    admin.batch(agreed).await.unwrap();
    let head = world.chain_head().await;
    let epic =
        |project: &str| json!({"op": "create", "ref": "e", "kind": "epic", "title": "X", "project": project});
    for (batch, field) in [
        (
            json!({"project": "default", "operations": [epic("web")]}),
            "operations[0].project",
        ),
        (
            json!({"project": "default", "operations": [epic("nowhere")]}),
            "operations[0].project",
        ),
        (
            json!({"operations": [{"op": "update", "id": ids["req"], "priority": 1, "project": "default"}]}),
            "operations[0].project",
        ),
        (
            json!({"project": "default", "operations": [{"op": "delete", "id": "web/REQ-001"}]}),
            "operations[0].project",
        ),
        (
            json!({"operations": [epic("web"), {"op": "comment", "item": "@e", "content": "x", "project": "default"}]}),
            "operations[1].project",
        ),
        (
            json!({"operations": [{"op": "unlink", "id": ids["req"], "project": "web"}]}),
            "operations[0].project",
        ),
        (
            json!({"project": "default", "operations": [{"op": "unlink", "id": inside}]}),
            "operations[0].project",
        ),
        (json!({"operations": [epic("nowhere")]}), "operations[0].project"),
        (
            json!({"project": "nowhere", "operations": [{"op": "create", "kind": "epic", "title": "X"}]}),
            "project",
        ),
    ] {
        let refusal = admin.batch(batch.clone()).await.expect_err("another project");
        assert!(
            [400, 404].contains(&refusal.code.http_status()),
            "{batch}: {refusal:?}"
        );
        assert_eq!(refusal.faults[0].field, field, "{batch}: {refusal:?}");
    }
    assert_eq!(world.chain_head().await, head);
    for link in [inside, across] {
        let unlink = json!({"project": "web", "operations": [{"op": "unlink", "id": link}]});
        admin.batch(unlink).await.unwrap();
    }
}

// The review's H4 and D2: consent to the deletion of web/REQ-001 deleted default/REQ-001.
//= specs/spexus-service.md#rules
//= type=test
//# What was shown MUST be deleted by its UUID and in the revision that was shown.
async fn consent_to_a_deletion_never_deletes_another_projects_twin(world: &World) {
    let ids = twins(world).await;
    let (admin, default) = (&world.admin, world.admin.naming("default"));
    // One link each, so that nothing but the item itself differs between the two.
    admin
        .link(id(&ids, "req"), "relates_to", id(&ids, "two"))
        .await
        .unwrap();
    let second = json!({"title": "y", "parent": "US-001"});
    default.create("requirement", second).await.unwrap();
    default.link("REQ-001", "relates_to", "REQ-002").await.unwrap();
    let (service, caller) = (&world.service, &admin.caller);
    let shown = item::preview(service, caller, None, None, id(&ids, "req"))
        .await
        .unwrap();
    assert_eq!((shown.id.to_string(), shown.rev), (id(&ids, "req").to_owned(), 1));
    assert_eq!(
        (shown.project.as_str(), shown.title.as_str()),
        ("web", "Web requirement")
    );
    // A revision later it is not what was shown any more.
    admin
        .update("web/REQ-001", json!({"title": "Changed"}))
        .await
        .unwrap();
    item::delete_agreed(service, caller, None, shown, None)
        .await
        .refused(1053);
    let shown = item::preview(service, caller, None, None, "web/REQ-001")
        .await
        .unwrap();
    let named = item::delete_agreed(service, caller, Some("default"), shown.clone(), None).await;
    let named = named.unwrap_err();
    assert_eq!(
        named.faults[0].field, "project",
        "another project than the one shown"
    );
    item::delete_agreed(service, caller, None, shown, None)
        .await
        .unwrap();
    admin.get("web/REQ-001").await.refused(1046);
    assert_eq!(admin.get("default/REQ-001").await.unwrap()["rev"], 1);
}

// The review's H7: a bound token read the other end of a link, confirmed it and ended it.
//= specs/spexus-service.md#projects
//= type=test
//# A link whose other end is in a project the caller may not see MUST be counted, and nothing else of that end shown.
//= specs/spexus-service.md#projects
//= type=test
//# A link MUST be made, confirmed, ended or brought back only by a caller who may see both its ends and has the right in the projects
//# of both.
//= specs/spexus-service.md#projects
//= type=test
//# The history and the feed MUST NOT name an item the caller may not see.
async fn a_bound_token_neither_reads_nor_ends_a_link_into_another_project(world: &World) {
    let ids = twins(world).await;
    let admin = &world.admin;
    world.user("kim", "User").await;
    let web = world.bound("kim", "w", "web").await;
    let secret = json!({"title": "TOPSECRET text", "parent": "US-001"});
    let secret = admin
        .naming("default")
        .create("requirement", secret)
        .await
        .unwrap();
    let secret = id(&secret, "id");
    let out = admin.link(id(&ids, "req"), "depends_on", secret).await.unwrap();
    let inward = admin.link(secret, "blocks", id(&ids, "two")).await.unwrap();
    admin
        .update(secret, json!({"title": "TOPSECRET still"}))
        .await
        .unwrap();
    let before = admin.history(secret).await.unwrap();
    for (own, hidden) in [("REQ-001", &out), ("REQ-002", &inward)] {
        let links = web.links(own, None).await.unwrap();
        assert_eq!(links, json!({"data": [], "total_count": 0, "hidden_count": 1}));
        let history = web.history(own).await.unwrap().to_string();
        assert!(
            history.contains("(another project)") && !history.contains("TOPSECRET"),
            "{history}"
        );
        let link = uuid(&hidden["id"]);
        web.confirm(link).await.refused(1014);
        web.unlink(link).await.refused(1014);
        let unlink = json!({"operations": [{"op": "unlink", "id": link}]});
        web.batch(unlink).await.refused(1014);
        // Deleting the end that can be seen would end the link all the same.
        let preview = web.preview(own).await.unwrap();
        assert_eq!(
            (&preview["forbidden"], &preview["links"]),
            (&json!(true), &json!(1)),
            "{preview}"
        );
        web.delete(own, true).await.refused(1054);
    }
    web.delete("EP-001", true).await.refused(1054);
    let feed = web.changes().await.unwrap().to_string();
    assert!(!feed.contains("TOPSECRET") && !feed.contains(secret), "{feed}");
    assert_eq!(
        admin.history(secret).await.unwrap(),
        before,
        "the other project's history is as it was"
    );
    // Who may see both ends is shown both, with their projects.
    let links = admin.links("web/REQ-001", None).await.unwrap();
    let target = &links["data"][0]["target"];
    assert_eq!(
        (&target["project"], &target["title"]),
        (&json!("default"), &json!("TOPSECRET still"))
    );
    assert_eq!(links.get("hidden_count"), None);
    // What fell with the link comes back only by someone who may bring the link back.
    admin.delete("web/REQ-001", true).await.unwrap();
    web.restore("REQ-001").await.refused(1014);
    admin.restore("web/REQ-001").await.unwrap();
}
