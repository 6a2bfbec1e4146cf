//! Members: a project is there for those who belong to it, as far as they do, and for nobody else.

use crate::client::{Client, text, uuid};
use crate::world::{PASSWORD, Refused, World, both};
use serde_json::{Value, json};
use spexus_domain::Ruled;
use spexus_domain::member::ProjectRole;

both![
    a_project_does_not_exist_for_who_is_no_member,
    every_role_does_what_the_table_says_and_no_more,
    what_may_not_be_seen_is_refused_in_the_words_of_what_is_not_there,
    a_link_into_a_project_one_does_not_see_is_counted_and_not_told,
    a_link_needs_the_right_at_both_ends,
    a_reference_is_looked_for_only_where_one_is_a_member,
    whoever_makes_a_project_owns_it_alone,
    an_open_project_takes_whoever_has_an_account,
    the_role_of_the_account_is_the_most_one_can_be,
    the_last_owner_stays,
    a_group_makes_its_users_what_it_is,
    a_group_is_unknown_to_who_is_far_from_it,
    what_becomes_of_members_is_in_the_history_and_in_the_audit_trail,
    a_service_account_is_never_more_than_its_owner,
    a_service_account_stops_with_its_owner,
    a_service_account_has_no_password,
    tokens_of_agents_are_known_as_such,
    an_answer_kept_for_a_key_is_not_given_to_who_left,
];

/// A closed project `web` with EP-001 to REQ-001 and a comment; `kim` works in a project of her own.
struct Closed {
    kim: String,
    ids: Value,
    comment: String,
}

impl Closed {
    async fn make(world: &World) -> Self {
        let admin = &world.admin;
        for key in ["web", "own"] {
            let input = json!({"key": key, "default_role": "none"});
            admin.create_project(input).await.unwrap();
        }
        admin
            .update_project("default", json!({"default_role": "none"}))
            .await
            .unwrap();
        let operations = json!([
            {"op": "create", "ref": "ep", "kind": "epic", "title": "Secret epic"},
            {"op": "create", "ref": "us", "kind": "user_story", "parent": "@ep", "title": "Secret story"},
            {"op": "create", "ref": "ac", "kind": "acceptance_criterion", "parent": "@us", "description": "Secret criterion"},
            {"op": "create", "ref": "req", "kind": "requirement", "parent": "@us", "title": "Secret requirement"},
        ]);
        let batch = json!({"project": "web", "operations": operations});
        let made = admin.batch(batch).await.unwrap();
        let mut ids = json!({});
        for result in made["results"].as_array().unwrap() {
            ids[result["ref"].as_str().unwrap()] = result["id"].clone();
        }
        let comment = json!({"content": "Secret words"});
        let comment = admin.comment("web/EP-001", comment).await.unwrap();
        let kim = world.user("kim", "User").await;
        admin.naming("own").put_member("kim", "author").await.unwrap();
        Self {
            kim,
            ids,
            comment: text(&comment["id"]),
        }
    }

    fn id(&self, name: &str) -> &str {
        self.ids[name].as_str().unwrap()
    }

    /// Kim, with the rights as they are now.
    async fn kim(&self, world: &World) -> Client {
        world.client(&self.kim).await.unwrap()
    }
}

//= specs/spexus-service.md#members
//= type=test
//# A project MUST NOT exist for a caller who is no member of it, on any surface.
async fn a_project_does_not_exist_for_who_is_no_member(world: &World) {
    let closed = Closed::make(world).await;
    let kim = closed.kim(world).await;
    assert_eq!(kim.projects().await, ["own"]);
    for id in ["EP-001", "web/EP-001", closed.id("ep")] {
        kim.get(id).await.refused(1046);
        kim.history(id).await.refused(1046);
        kim.update(id, json!({"title": "Mine"})).await.refused(1046);
        kim.comment(id, json!({"content": "Hello?"})).await.refused(1046);
    }
    kim.get_comment(uuid(&json!(closed.comment))).await.refused(1046);
    let web = kim.naming("web");
    web.list("epic", json!({})).await.refused(1046);
    web.search("secret", json!({})).await.refused(1046);
    web.changes().await.refused(1046);
    web.status(None).await.refused(1046);
    web.members().await.refused(1046);
    web.create("epic", json!({"title": "Mine"})).await.refused(1046);
    web.put_member("kim", "owner").await.refused(1014);
    assert_eq!(
        kim.search("secret", json!({})).await.unwrap()["data"],
        json!([]),
        "her own project is the only one there is"
    );
    world
        .admin
        .naming("web")
        .put_member("kim", "reader")
        .await
        .unwrap();
    let kim = closed.kim(world).await;
    assert_eq!(kim.projects().await, ["own", "web"]);
    kim.get("EP-001").await.unwrap();
    world.admin.naming("web").remove_member("kim").await.unwrap();
    closed.kim(world).await.get("EP-001").await.refused(1046);
}

/// Does one thing of each sort in `web`; whether it was refused for want of a right.
async fn attempts(client: &Client, closed: &Closed, other: &str) -> Vec<(&'static str, bool)> {
    let web = client.naming("web");
    let comment = uuid(&json!(closed.comment));
    let forbidden = |outcome: Ruled<Value>| match outcome {
        Err(refusal) => refusal.code.number() == 1014,
        Ok(_) => false,
    };
    let title = json!({"title": format!("Title by {}", client.caller.username)});
    vec![
        ("read", forbidden(web.get("EP-001").await)),
        (
            "comment",
            forbidden(web.comment("EP-001", json!({"content": "x"})).await),
        ),
        (
            "resolve",
            forbidden(web.update_comment(comment, json!({"resolved": true})).await),
        ),
        (
            "moderate",
            forbidden(web.update_comment(comment, json!({"content": "y"})).await),
        ),
        (
            "create",
            forbidden(web.create("epic", json!({"title": "x"})).await),
        ),
        ("update", forbidden(web.update("EP-001", title).await)),
        ("baseline", forbidden(web.baseline(other).await)),
        (
            "link",
            forbidden(web.link("US-001", "relates_to", "REQ-001").await),
        ),
        ("members", forbidden(web.put_member(other, "reader").await)),
        (
            "project",
            forbidden(web.update_project("web", json!({"name": other})).await),
        ),
        ("accounts", forbidden(web.create_group(other).await)),
    ]
}

//= specs/spexus-service.md#members
//= type=test
//# What happens in a project MUST be refused to a member whose role there is below the least one of the operation.
async fn every_role_does_what_the_table_says_and_no_more(world: &World) {
    let closed = Closed::make(world).await;
    let order = [
        "read", "comment", "resolve", "create", "update", "baseline", "link", "moderate", "members",
        "project", "accounts",
    ];
    for (role, allowed) in [
        ("reader", 1),
        ("commenter", 2),
        ("reviewer", 3),
        ("author", 7),
        ("owner", 10),
    ] {
        let secret = world.user(&format!("a-{role}"), "User").await;
        let other = format!("other-{role}");
        world.user(&other, "User").await;
        let name = format!("a-{role}");
        world.admin.naming("web").put_member(&name, role).await.unwrap();
        let client = world.client(&secret).await.unwrap();
        assert_eq!(client.caller.visibility().highest().name(), role);
        for (what, forbidden) in attempts(&client, &closed, &other).await {
            let at = order.iter().position(|known| *known == what).unwrap();
            assert_eq!(forbidden, at >= allowed, "{role}: {what}");
        }
    }
    for (what, forbidden) in attempts(&world.admin, &closed, "kim").await {
        assert!(!forbidden, "administrator: {what}");
    }
}

//= specs/spexus-service.md#members
//= type=test
//# What a caller may not see MUST be refused in the words and with the look-ups of what does not exist.
async fn what_may_not_be_seen_is_refused_in_the_words_of_what_is_not_there(world: &World) {
    let closed = Closed::make(world).await;
    let kim = closed.kim(world).await;
    let nowhere = "0191d5e5-0000-7000-8000-000000000000";
    let same = |hidden: Ruled<Value>, missing: Ruled<Value>, (there, absent): (&str, &str)| {
        let (hidden, missing) = (hidden.unwrap_err(), missing.unwrap_err());
        let words = |refusal: &spexus_domain::Refusal| format!("{refusal:?}");
        assert_eq!(words(&hidden).replace(there, absent), words(&missing));
    };
    let ids = (closed.id("ep"), nowhere);
    same(kim.get(ids.0).await, kim.get(ids.1).await, ids);
    same(kim.links(ids.0, None).await, kim.links(ids.1, None).await, ids);
    same(kim.delete(ids.0, true).await, kim.delete(ids.1, true).await, ids);
    let named = ("web/EP-001", "nix/EP-001");
    same(kim.get(named.0).await, kim.get(named.1).await, named);
    let keys = ("web", "nix");
    let (web, nix) = (kim.naming("web"), kim.naming("nix"));
    same(
        web.list("epic", json!({})).await,
        nix.list("epic", json!({})).await,
        keys,
    );
    same(web.get(ids.0).await, nix.get(ids.0).await, keys);
    same(web.members().await, nix.members().await, keys);
    let comments = (closed.comment.as_str(), nowhere);
    same(
        kim.get_comment(uuid(&json!(comments.0))).await,
        kim.get_comment(uuid(&json!(comments.1))).await,
        comments,
    );
    let link = world
        .admin
        .link("web/US-001", "relates_to", "web/REQ-001")
        .await
        .unwrap();
    let links = (text(&link["id"]), nowhere.to_owned());
    same(
        kim.unlink(uuid(&json!(links.0))).await,
        kim.unlink(uuid(&json!(links.1))).await,
        (&links.0, &links.1),
    );
}

async fn a_link_into_a_project_one_does_not_see_is_counted_and_not_told(world: &World) {
    let closed = Closed::make(world).await;
    let kim = closed.kim(world).await;
    let own = kim
        .naming("own")
        .create("epic", json!({"title": "Mine"}))
        .await
        .unwrap();
    let link = world
        .admin
        .link("own/EP-001", "relates_to", "web/EP-001")
        .await
        .unwrap();
    let links = kim.links("EP-001", None).await.unwrap();
    assert_eq!((&links["data"], &links["hidden_count"]), (&json!([]), &json!(1)));
    let told = [
        kim.history(own["id"].as_str().unwrap()).await.unwrap(),
        kim.changes().await.unwrap(),
        kim.gaps(json!({})).await.unwrap(),
        kim.preview("EP-001").await.unwrap(),
    ];
    for told in told {
        let told = told.to_string();
        assert!(!told.contains("web") && !told.contains(closed.id("ep")), "{told}");
    }
    // It would be written into the other project's history.
    let refusal = kim.unlink(uuid(&link["id"])).await.refused(1014);
    assert!(!format!("{refusal:?}").contains("web"), "{refusal:?}");
    kim.delete("EP-001", true).await.unwrap_err();
    // A member of both sees it whole.
    world
        .admin
        .naming("web")
        .put_member("kim", "author")
        .await
        .unwrap();
    let kim = closed.kim(world).await;
    let links = kim.links("own/EP-001", None).await.unwrap();
    assert_eq!(links["data"].as_array().unwrap().len(), 1);
    kim.unlink(uuid(&link["id"])).await.unwrap();
}

//= specs/spexus-service.md#projects
//= type=test
//# A link MUST be made, confirmed, ended or brought back only by a caller who may see both its ends and has the right in the projects
//# of both.
async fn a_link_needs_the_right_at_both_ends(world: &World) {
    let closed = Closed::make(world).await;
    let web = world.admin.naming("web");
    web.put_member("kim", "reviewer").await.unwrap();
    let kim = closed.kim(world).await;
    let epic = json!({"title": "Mine"});
    kim.naming("own").create("epic", epic).await.unwrap();
    for (from, to) in [("own/EP-001", "web/EP-001"), ("web/EP-001", "own/EP-001")] {
        kim.link(from, "relates_to", to).await.refused(1014);
    }
    let link = world.admin.link("own/EP-001", "relates_to", "web/EP-001").await;
    let link = uuid(&link.unwrap()["id"]);
    kim.unlink(link).await.refused(1014);
    kim.delete("own/EP-001", true).await.refused(1014);
    web.update("EP-001", json!({"title": "Changed"})).await.unwrap();
    kim.confirm(link).await.unwrap();
    web.put_member("kim", "author").await.unwrap();
    closed.kim(world).await.delete("own/EP-001", true).await.unwrap();
}

async fn a_reference_is_looked_for_only_where_one_is_a_member(world: &World) {
    let closed = Closed::make(world).await;
    let kim = closed.kim(world).await;
    let epic = json!({"title": "Mine"});
    kim.create("epic", epic).await.unwrap();
    // In web there is an EP-001 too, which she cannot have meant.
    assert_eq!(kim.get("EP-001").await.unwrap()["project"], "own");
    world
        .admin
        .naming("web")
        .put_member("kim", "reader")
        .await
        .unwrap();
    let kim = closed.kim(world).await;
    let refusal = kim.get("EP-001").await.refused(1021);
    assert!(
        refusal.faults[0].problem.contains("own/EP-001, web/EP-001"),
        "{refusal:?}"
    );
    // With two projects and none of them the usual one, she has to say which.
    let refusal = kim.list("epic", json!({})).await.refused(1046);
    assert_eq!(refusal.hint, "Name one of yours: own, web.");
}

//= specs/spexus-service.md#members
//= type=test
//# Whoever makes a project MUST be its owner, and nobody else MUST be a member of it unless its default role says so.
async fn whoever_makes_a_project_owns_it_alone(world: &World) {
    let input = json!({"key": "web", "default_role": "none"});
    world.admin.create_project(input).await.unwrap();
    let members = world.admin.naming("web").members().await.unwrap();
    assert_eq!(members["total_count"], 1);
    assert_eq!(
        (&members["data"][0]["member"], &members["data"][0]["role"]),
        (&json!("admin"), &json!("owner"))
    );
    let refusal = world
        .admin
        .create_project(json!({"key": "all", "default_role": "owner"}))
        .await
        .refused(1021);
    assert_eq!(refusal.faults[0].field, "default_role");
}

async fn an_open_project_takes_whoever_has_an_account(world: &World) {
    let input = json!({"key": "web", "default_role": "reviewer"});
    world.admin.create_project(input).await.unwrap();
    let (kim, carl) = (
        world.user("kim", "User").await,
        world.user("carl", "Commenter").await,
    );
    let role = async |secret: &str| {
        let client = world.client(secret).await.unwrap();
        let web = client.caller.memberships.by_key("web");
        web.map(|id| client.caller.visibility().role(id))
    };
    assert_eq!(role(&kim).await, Some(ProjectRole::Reviewer));
    assert_eq!(role(&carl).await, Some(ProjectRole::Commenter));
    let web = world.admin.naming("web");
    web.put_member("kim", "none").await.unwrap();
    assert_eq!(role(&kim).await, None, "shut out by name");
    web.remove_member("kim").await.unwrap();
    world
        .admin
        .update_project("web", json!({"default_role": "none"}))
        .await
        .unwrap();
    assert_eq!((role(&kim).await, role(&carl).await), (None, None));
}

async fn the_role_of_the_account_is_the_most_one_can_be(world: &World) {
    let closed = Closed::make(world).await;
    world.user("carl", "Commenter").await;
    let web = world.admin.naming("web");
    let refusal = web.put_member("carl", "author").await.refused(1054);
    assert_eq!(refusal.faults[0].allowed, "commenter at most");
    web.put_member("carl", "commenter").await.unwrap();
    web.put_member("kim", "author").await.unwrap();
    let kim = closed.kim(world).await.naming("web");
    kim.update("EP-001", json!({"title": "x"})).await.unwrap();
    let role = json!({"role": "Commenter"});
    world.admin.update_user("kim", role).await.unwrap();
    let kim = closed.kim(world).await.naming("web");
    kim.update("EP-001", json!({"title": "y"})).await.refused(1014);
    kim.comment("EP-001", json!({"content": "z"})).await.unwrap();
}

//= specs/spexus-service.md#members
//= type=test
//# The last owner of a project MUST NOT leave it or give the role up; an administrator MAY take it.
async fn the_last_owner_stays(world: &World) {
    let closed = Closed::make(world).await;
    let web = world.admin.naming("web");
    web.put_member("kim", "owner").await.unwrap();
    web.remove_member("admin").await.unwrap();
    let kim = closed.kim(world).await.naming("web");
    kim.remove_member("me").await.refused(1054);
    kim.remove_member("KIM").await.refused(1054);
    kim.put_member("kim", "author").await.refused(1054);
    world.user("sam", "User").await;
    kim.put_member("sam", "owner").await.unwrap();
    kim.remove_member("me").await.unwrap();
    closed
        .kim(world)
        .await
        .naming("web")
        .members()
        .await
        .refused(1046);
    // An administrator steps in, whoever is left.
    web.remove_member("sam").await.unwrap();
    web.put_member("kim", "owner").await.unwrap();
    // A member who is no owner may leave, and send nobody else away.
    world.user("pat", "User").await;
    kim.naming("web").members().await.unwrap();
    let kim = closed.kim(world).await.naming("web");
    kim.put_member("pat", "reader").await.unwrap();
    let pat = world
        .token_of("pat", json!({"name": "two", "scopes": ["admin"]}))
        .await;
    let pat = world.client(&pat).await.unwrap().naming("web");
    pat.remove_member("kim").await.refused(1014);
    pat.remove_member("me").await.unwrap();
    pat.remove_member("me").await.refused(1046);
}

//= specs/spexus-service.md#members
//= type=test
//# A change of members MUST be told in the history and in the audit trail, and MUST count from the next request on.
async fn a_group_makes_its_users_what_it_is(world: &World) {
    let closed = Closed::make(world).await;
    let admin = &world.admin;
    admin.create_group("Backend").await.unwrap();
    admin.create_group("backend").await.refused(1052);
    admin
        .naming("web")
        .put_member("group:backend", "none")
        .await
        .refused(1054);
    admin
        .naming("web")
        .put_member("group:backend", "author")
        .await
        .unwrap();
    closed.kim(world).await.get("web/EP-001").await.refused(1046);
    let group = admin.change_group("backend", "kim", true).await.unwrap();
    assert_eq!(group["users"], json!(["kim"]));
    let kim = closed.kim(world).await;
    kim.update("web/EP-001", json!({"title": "Ours"})).await.unwrap();
    admin.naming("web").put_member("kim", "none").await.unwrap();
    closed.kim(world).await.get("web/EP-001").await.refused(1046);
    admin.naming("web").remove_member("kim").await.unwrap();
    admin.change_group("backend", "kim", false).await.unwrap();
    closed.kim(world).await.get("web/EP-001").await.refused(1046);
    admin.change_group("backend", "kim", true).await.unwrap();
    closed.kim(world).await.get("web/EP-001").await.unwrap();
    admin.delete_group("backend").await.unwrap();
    closed.kim(world).await.get("web/EP-001").await.refused(1046);
    admin.change_group("backend", "kim", true).await.refused(1046);
}

//= specs/spexus-service.md#members
//= type=test
//# A group MUST NOT exist for a caller who is not in it and sees no project it is a member of.
async fn a_group_is_unknown_to_who_is_far_from_it(world: &World) {
    let closed = Closed::make(world).await;
    let admin = &world.admin;
    for name in ["far", "near", "hers"] {
        admin.create_group(name).await.unwrap();
    }
    admin
        .naming("web")
        .put_member("group:far", "reader")
        .await
        .unwrap();
    admin
        .naming("own")
        .put_member("group:near", "reader")
        .await
        .unwrap();
    admin.change_group("hers", "kim", true).await.unwrap();
    assert_eq!(admin.groups().await, ["far", "hers", "near"]);
    let kim = closed.kim(world).await;
    assert_eq!(kim.groups().await, ["hers", "near"]);
    kim.create_group("x").await.refused(1014);
    kim.change_group("hers", "admin", true).await.refused(1014);
    admin.naming("own").put_member("kim", "owner").await.unwrap();
    let kim = closed.kim(world).await.naming("own");
    let hidden = kim.put_member("group:far", "reader").await.refused(1046);
    let missing = kim.put_member("group:nix", "reader").await.refused(1046);
    assert_eq!(
        format!("{hidden:?}").replace("far", "nix"),
        format!("{missing:?}")
    );
    kim.put_member("group:hers", "reader").await.unwrap();
}

async fn what_becomes_of_members_is_in_the_history_and_in_the_audit_trail(world: &World) {
    Closed::make(world).await;
    let web = world.admin.naming("web");
    web.put_member("kim", "reader").await.unwrap();
    let before = world.chain_head().await;
    web.put_member("kim", "reader").await.unwrap();
    assert_eq!(world.chain_head().await, before, "nothing changed");
    web.put_member("kim", "author").await.unwrap();
    web.remove_member("kim").await.unwrap();
    let changes = web.changes().await.unwrap();
    let told: Vec<String> = changes
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["entity"] == "member" && change["label"] == "kim in web")
        .map(|change| text(&change["action"]))
        .collect();
    assert_eq!(told, ["created", "updated", "deleted"]);
    let filter = spexus_domain::audit::EventFilter {
        event: Some("member_changed".into()),
        ..Default::default()
    };
    let events = spexus_service::audit::list(
        &world.service,
        &world.admin.caller,
        &filter,
        crate::client::page(None, None),
    );
    let details: Vec<String> = events
        .await
        .unwrap()
        .data
        .into_iter()
        .filter(|event| event.target == "kim" && event.detail.starts_with("web"))
        .map(|event| event.detail)
        .collect();
    assert_eq!(
        details,
        [
            "web: author to no member",
            "web: reader to author",
            "web: no member to reader"
        ]
    );
}

/// A service account of kim's with a token of its own.
async fn robot(world: &World) -> String {
    let input = json!({"username": "robot", "role": "User", "owner": "kim"});
    let made = world.admin.create_user(input).await.unwrap();
    assert_eq!(made["owner"], "kim");
    world
        .token_of("robot", json!({"name": "ci", "scopes": ["admin"]}))
        .await
}

//= specs/spexus-service.md#service-accounts
//= type=test
//# A service account MUST NOT have more rights than its owner has at the time of the request, in the installation or in any
//# project.
async fn a_service_account_is_never_more_than_its_owner(world: &World) {
    let closed = Closed::make(world).await;
    let robot = robot(world).await;
    let web = world.admin.naming("web");
    web.put_member("robot", "author").await.unwrap();
    let get = async || {
        let client = world.client(&robot).await.unwrap().naming("web");
        client
            .update(
                "EP-001",
                json!({"title": format!("T{}", world.chain_head().await), "expect_rev": 1}),
            )
            .await
    };
    let seen = world.client(&robot).await.unwrap().naming("web");
    seen.get("EP-001").await.refused(1046);
    web.put_member("kim", "reader").await.unwrap();
    get().await.refused(1014);
    web.put_member("kim", "owner").await.unwrap();
    get().await.unwrap();
    let as_robot = world.client(&robot).await.unwrap().naming("web");
    as_robot.put_member("kim", "reader").await.refused(1014);
    world
        .client(&robot)
        .await
        .unwrap()
        .get("own/EP-001")
        .await
        .refused(1046);
    web.put_member("kim", "reader").await.unwrap();
    get().await.refused(1014);
    drop(closed);
    let more = json!({"username": "root-robot", "role": "Administrator", "owner": "kim"});
    world.admin.create_user(more).await.refused(1054);
    let chain = json!({"username": "second", "role": "User", "owner": "robot"});
    world.admin.create_user(chain).await.refused(1054);
    // One that was allowed to administer is not, once its owner no longer is.
    let up = json!({"role": "Administrator"});
    world.admin.update_user("kim", up.clone()).await.unwrap();
    world.admin.update_user("robot", up).await.unwrap();
    let client = world.client(&robot).await.unwrap();
    client.create_group("made-by-robot").await.unwrap();
    world
        .admin
        .update_user("kim", json!({"role": "User"}))
        .await
        .unwrap();
    let client = world.client(&robot).await.unwrap();
    client.create_group("again").await.refused(1014);
    client.get("default/EP-001").await.refused(1046);
}

//= specs/spexus-service.md#service-accounts
//= type=test
//# A service account MUST NOT be usable while the account of its owner is disabled.
async fn a_service_account_stops_with_its_owner(world: &World) {
    Closed::make(world).await;
    let robot = robot(world).await;
    world.client(&robot).await.unwrap();
    world.admin.disable_user("kim").await.unwrap();
    world.client(&robot).await.map(drop).refused(1011);
    world
        .admin
        .update_user("kim", json!({"active": true}))
        .await
        .unwrap();
    world.client(&robot).await.unwrap();
}

//= specs/spexus-service.md#service-accounts
//= type=test
//# A service account MUST NOT be logged in to.
async fn a_service_account_has_no_password(world: &World) {
    Closed::make(world).await;
    robot(world).await;
    for password in ["", "-", PASSWORD] {
        world
            .log_in("192.0.2.1", "robot", password)
            .await
            .map(drop)
            .refused(1013);
    }
    let with = json!({"username": "other", "role": "User", "owner": "kim", "password": PASSWORD});
    let refusal = world.admin.create_user(with).await.refused(1021);
    assert_eq!(refusal.faults[0].field, "password");
}

//= specs/spexus-service.md#service-accounts
//= type=test
//# A token MUST be known as an agent's when it is one of a service account or was marked so.
async fn tokens_of_agents_are_known_as_such(world: &World) {
    let closed = Closed::make(world).await;
    let robot = robot(world).await;
    assert!(world.client(&robot).await.unwrap().caller.is_agent);
    let kim = closed.kim(world).await;
    assert!(!kim.caller.is_agent);
    let marked = json!({"name": "laptop", "agent": true});
    let marked = kim.create_token(None, marked).await.unwrap();
    assert_eq!(marked["agent"], true);
    let marked = world.client(&text(&marked["token"])).await.unwrap();
    assert!(marked.caller.is_agent);
    // Kim makes, sees and revokes the tokens of what is hers.
    let made = kim
        .create_token(Some("robot"), json!({"name": "second"}))
        .await
        .unwrap();
    assert_eq!(made["agent"], true);
    let all = kim.tokens(Some("robot")).await.unwrap();
    assert_eq!(all["total_count"], 2);
    kim.revoke(uuid(&made["id"])).await.unwrap();
    let sam = world.user("sam", "User").await;
    let sam = world.client(&sam).await.unwrap();
    sam.tokens(Some("robot")).await.refused(1014);
}

async fn an_answer_kept_for_a_key_is_not_given_to_who_left(world: &World) {
    let closed = Closed::make(world).await;
    let web = world.admin.naming("web");
    web.put_member("kim", "author").await.unwrap();
    let kim = closed.kim(world).await.naming("web");
    let epic = json!({"title": "Mine"});
    let batch = json!({"operations": [{"op": "create", "kind": "epic", "title": "Two"}]});
    let made = kim.create_once("epic", epic.clone(), Some("k1")).await.unwrap();
    kim.batch_once(batch.clone(), Some("k2")).await.unwrap();
    let again = kim.create_once("epic", epic.clone(), Some("k1")).await;
    assert_eq!(again.unwrap()["id"], made["id"]);
    web.remove_member("kim").await.unwrap();
    let kim = closed.kim(world).await.naming("web");
    kim.create_once("epic", epic, Some("k1")).await.refused(1046);
    kim.batch_once(batch, Some("k2")).await.refused(1046);
}
