//! The faults of the system this one takes the place of, each with a test that shows us free of it. The numbers are the
//! sections of the survey of that system; what only a surface can get wrong is tested where that surface lives.

use crate::client::{references, text, uuid};
use crate::world::{Refused, World, both};
use serde_json::json;
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::{Kind, Uuid};
use spexus_store::{Actor, items};

both![
    a_refused_item_burns_no_number,
    numbers_grow_past_999_for_every_kind_and_prompts,
    the_longest_description_is_enforced,
    a_story_can_be_told_in_any_language,
    a_story_moves_to_another_epic,
    a_requirement_serves_a_criterion_of_its_own_story,
    dependencies_form_no_circle,
    anchors_count_characters,
    an_edit_moves_anchors_and_never_touches_what_was_said,
    the_workflow_has_effect,
    a_status_in_use_stays,
    a_user_with_a_history_can_go,
    comments_go_with_what_they_are_on,
    a_deletion_is_in_the_history_and_can_be_undone,
    two_writers_do_not_undo_each_other,
    a_bad_user_is_not_a_duplicate,
    a_token_does_not_expire_before_it_is_made,
    steering_documents_are_read_by_all,
    a_hierarchy_has_its_children,
    a_commenter_cannot_write,
    search_input_is_never_query_syntax,
    search_filters_hold_for_every_kind,
    search_is_ranked,
    russian_words_are_found_in_all_forms,
    search_knows_what_was_written_a_moment_ago,
    previews_are_cut_between_characters,
    many_steps_are_one_transaction,
];

/// Lets the numbers of a prefix go on after `number`.
async fn count_on_from(world: &World, project: Uuid, prefix: &'static str, number: i64) {
    let actor = Actor {
        user_id: Uuid::nil(),
        username: "test".into(),
        token_id: None,
        client: String::new(),
    };
    let job = world.service.store().write(actor, move |tx| {
        Box::pin(async move { items::reserve_number(&mut tx.conn, project, prefix, number).await })
    });
    job.await.unwrap();
}

// 1.1: a rejected epic burned EP-002.
async fn a_refused_item_burns_no_number(world: &World) {
    for refused in [
        json!({"title": " "}),
        json!({"title": "x", "status": "Nope"}),
        json!({"title": "x", "assignee": "nobody"}),
    ] {
        let refusal = world.admin.create("epic", refused).await.unwrap_err();
        assert_eq!(refusal.code.http_status(), 400, "{refusal:?}");
    }
    let made = world.admin.create("epic", json!({"title": "x"})).await.unwrap();
    assert_eq!(made["reference_id"], "EP-001");
}

// 1.1, 7.2: STD and PROMPT numbers broke at 1000; the migration of sequences compared ids as text.
async fn numbers_grow_past_999_for_every_kind_and_prompts(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let project = uuid(&admin.get_project("default").await.unwrap()["id"]);
    for kind in Kind::ALL {
        let (name, prefix) = (kind.rules().name, kind.rules().prefix);
        count_on_from(world, project, prefix, 998).await;
        let body = match kind {
            Kind::Epic | Kind::SteeringDocument => json!({"title": "x"}),
            Kind::UserStory => json!({"title": "x", "parent": "EP-001"}),
            Kind::AcceptanceCriterion => json!({"description": "x", "parent": "US-001"}),
            Kind::Requirement => json!({"title": "x", "parent": "US-001"}),
        };
        for number in ["999", "1000", "1001"] {
            let made = admin.create(name, body.clone()).await.unwrap();
            assert_eq!(made["reference_id"], format!("{prefix}-{number}"));
        }
        let last = format!("{prefix}-1000");
        assert_eq!(admin.get(&last).await.unwrap()["reference_id"], *last);
        let newest = json!({"order_by": "-created_at", "limit": 2});
        let newest = admin.list(name, newest).await.unwrap();
        assert_eq!(references(&newest), [format!("{prefix}-1001"), last]);
    }
    count_on_from(world, Uuid::nil(), PROMPT_PREFIX, 999).await;
    let prompt = json!({"name": "late", "messages": [{"role": "user", "text": "x"}]});
    let made = admin.create_prompt(prompt).await.unwrap();
    assert_eq!(made["reference_id"], "PROMPT-1000");
}

// 1.3: over-long descriptions were not refused over REST.
async fn the_longest_description_is_enforced(world: &World) {
    let longest = "ж".repeat(50_000);
    let epic = |description: String| json!({"title": "x", "description": description});
    world.admin.create("epic", epic(longest.clone())).await.unwrap();
    let longer = world.admin.create("epic", epic(format!("{longest}ж"))).await;
    let refusal = longer.refused(1021);
    let fault = &refusal.faults[0];
    assert_eq!(
        (fault.field.as_str(), fault.allowed.as_str()),
        ("description", "at most 50000")
    );
}

// 1.3: a story had to be written in an English template.
async fn a_story_can_be_told_in_any_language(world: &World) {
    world.seed().await;
    for story in [
        json!({"epic_id": "EP-001", "title": "Вход", "description": "Хочу войти без пароля."}),
        json!({"epic_id": "EP-001", "title": "No text at all"}),
    ] {
        world.admin.create("user_story", story).await.unwrap();
    }
}

// 1.3: no way to move a story to another epic.
async fn a_story_moves_to_another_epic(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin.create("epic", json!({"title": "Second"})).await.unwrap();
    admin
        .move_to("US-001", json!({"epic_id": "EP-002"}))
        .await
        .unwrap();
    assert_eq!(admin.hierarchy("EP-002", None).await.unwrap()["total_count"], 4);
}

// 1.3: the linked criterion was not checked to belong to the same story, and could not be cleared.
//= specs/spexus-service.md#rules
//= type=test
//# The criterion a requirement serves MUST belong to the requirement's own story.
async fn a_requirement_serves_a_criterion_of_its_own_story(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let second = json!({"epic_id": "EP-001", "title": "Second"});
    admin.create("user_story", second).await.unwrap();
    let other = json!({"user_story_id": "US-002", "description": "Other."});
    admin.create("acceptance_criterion", other).await.unwrap();
    let serving = |criterion| json!({"acceptance_criteria_id": criterion});
    admin
        .update("REQ-001", serving(Some("AC-002")))
        .await
        .refused(1054);
    let foreign = json!({"user_story_id": "US-001", "title": "x", "acceptance_criteria_id": "AC-002"});
    admin.create("requirement", foreign).await.refused(1054);
    let cleared = admin.update("REQ-001", serving(None)).await.unwrap();
    assert!(cleared.get("acceptance_criterion").is_none());
}

// 1.3: A depends_on B and B depends_on A were both accepted.
//= specs/spexus-service.md#rules
//= type=test
//# Links of a type that forbids cycles MUST NOT form one.
async fn dependencies_form_no_circle(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let second = json!({"user_story_id": "US-001", "title": "Second"});
    admin.create("requirement", second).await.unwrap();
    admin.link("REQ-001", "depends_on", "REQ-002").await.unwrap();
    admin.link("REQ-002", "depends_on", "REQ-001").await.refused(1054);
}

// 1.3: offsets were bytes, and character offsets failed for Cyrillic with 500.
async fn anchors_count_characters(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let described = json!({"description": "да нет да"});
    admin.update("EP-001", described).await.unwrap();
    let at = |start: u64| json!({"content": "второе", "anchor": {"quote": "да", "start": start}});
    let made = admin.comment("EP-001", at(7)).await.unwrap();
    let anchor = &made["anchor"];
    assert_eq!((&anchor["start"], &anchor["end"]), (&json!(7), &json!(9)));
    admin.comment("EP-001", at(1_000_000_000_000)).await.refused(1021);
}

// 1.3, 7.2: editing a description left anchors pointing elsewhere, and "hiding" rewrote the comment's text.
async fn an_edit_moves_anchors_and_never_touches_what_was_said(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let describe = async |text: &str| {
        let patch = json!({"description": text});
        admin.update("EP-001", patch).await.unwrap();
    };
    describe("It is fast.").await;
    let asked = json!({"content": "How fast?", "anchor": {"quote": "fast"}});
    let id = uuid(&admin.comment("EP-001", asked).await.unwrap()["id"]);
    describe("Said before: it is fast.").await;
    assert_eq!(admin.get_comment(id).await.unwrap()["anchor"]["start"], 19);
    describe("Gone.").await;
    let lost = admin.get_comment(id).await.unwrap();
    let anchor = &lost["anchor"];
    assert_eq!(
        (&lost["content"], &anchor["quote"], &anchor["lost"]),
        (&json!("How fast?"), &json!("fast"), &json!(true))
    );
}

// 1.3, 7.1.6: the workflow was configuration without effect; 7.1.5: a bad status was a 500, a lower-case one a riddle.
async fn the_workflow_has_effect(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let status = |status: &str| json!({"status": status});
    admin.update("EP-001", status("Done")).await.refused(1054);
    let refusal = admin.update("EP-001", status("Finished")).await.refused(1021);
    assert!(refusal.faults[0].allowed.contains("In Progress"), "{refusal:?}");
    let begun = admin.update("EP-001", status("in progress")).await.unwrap();
    assert_eq!(begun["status"], "In Progress");
}

// 1.4: statuses were deleted without asking who has them.
async fn a_status_in_use_stays(world: &World) {
    world.seed().await;
    let without = json!({"statuses": [{"name": "New", "initial": true}], "transitions": []});
    world.admin.put_workflow("epic", without).await.refused(1054);
}

// 1.4: deleting a user was a foreign key failure, 500.
async fn a_user_with_a_history_can_go(world: &World) {
    let kim = world.user("kim", "User").await;
    let kim = world.client(&kim).await.unwrap();
    let mine = json!({"title": "Mine", "assignee": "me"});
    kim.create("epic", mine).await.unwrap();
    kim.comment("EP-001", json!({"content": "Mine too."}))
        .await
        .unwrap();
    let gone = world.admin.disable_user("kim").await.unwrap();
    assert_eq!(gone["active"], false);
    let epic = world.admin.get("EP-001").await.unwrap();
    assert_eq!(
        (&epic["creator"], &epic["assignee"]),
        (&json!("kim"), &json!("kim"))
    );
}

// 1.4, 7.2: a plain deletion orphaned the comments, which could still be counted and edited.
async fn comments_go_with_what_they_are_on(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let made = admin
        .comment("REQ-001", json!({"content": "Orphan?"}))
        .await
        .unwrap();
    let id = uuid(&made["id"]);
    admin.delete("REQ-001", false).await.unwrap();
    admin.get_comment(id).await.refused(1046);
    let edit = json!({"content": "Edited."});
    admin.update_comment(id, edit).await.refused(1046);
    assert_eq!(admin.search("orphan", json!({})).await.unwrap()["total_count"], 0);
}

// 1.4, 7.1.1: there was a deletion for show that always answered 401, and an audit id that pointed at nothing.
//= specs/spexus-service.md#rules
//= type=test
//# What was deleted together MUST come back together.
async fn a_deletion_is_in_the_history_and_can_be_undone(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin.delete("EP-001", true).await.unwrap();
    let feed = admin.changes().await.unwrap();
    let changes = feed.as_array().unwrap().iter();
    let deleted = changes.filter(|change| change["action"] == "deleted").count();
    assert_eq!(deleted, 4, "{feed}");
    admin.restore("EP-001").await.unwrap();
    assert_eq!(admin.hierarchy("EP-001", None).await.unwrap()["total_count"], 4);
}

// 2.1, 7.2: the last writer won on the whole row.
async fn two_writers_do_not_undo_each_other(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let titled = |title: &str| json!({"title": title, "expect_rev": 1});
    admin.update("EP-001", titled("One")).await.unwrap();
    admin.update("EP-001", titled("Two")).await.refused(1053);
    let beside = json!({"description": "Beside."});
    let other = admin.update("EP-001", beside).await.unwrap();
    assert_eq!(
        (&other["title"], &other["rev"]),
        (&json!("One"), &json!(3)),
        "other fields stay as they are"
    );
}

// 2.2: any database error on making a user was a 409; duplicates and nonsense are told apart.
async fn a_bad_user_is_not_a_duplicate(world: &World) {
    world.user("kim", "User").await;
    for (username, password, code) in [
        ("KIM", "long enough", 1052),
        ("a b", "long enough", 1021),
        ("sam", "short", 1021),
    ] {
        let wanted = json!({"username": username, "password": password, "role": "User"});
        world.admin.create_user(wanted).await.refused(code);
    }
}

// 2.3: an expiry in the past was accepted; a duplicate name was a 400.
//= specs/spexus-service.md#tokens
//= type=test
//# A token MUST NOT be made with an expiry that has passed.
async fn a_token_does_not_expire_before_it_is_made(world: &World) {
    let expiring = |expires: &str| json!({"name": "t", "expires": expires});
    for expires in ["2020-01-01", "2020-01-01T00:00:00Z", "0d", "-1d", "yesterday"] {
        let refusal = world
            .admin
            .create_token(None, expiring(expires))
            .await
            .refused(1021);
        assert_eq!(refusal.faults[0].field, "expires");
    }
    world.admin.create_token(None, expiring("90d")).await.unwrap();
    let again = json!({"name": "t"});
    world.admin.create_token(None, again).await.refused(1052);
}

// 2.9: people saw only their own steering documents, and commenters none.
async fn steering_documents_are_read_by_all(world: &World) {
    let document = json!({"title": "Security"});
    world.admin.create("steering_document", document).await.unwrap();
    let carl = world.user("carl", "Commenter").await;
    let carl = world.client(&carl).await.unwrap();
    let page = carl.list("steering_document", json!({})).await.unwrap();
    assert_eq!(page["total_count"], 1);
}

// 2.12, 7.1.3: hierarchies came without children; 7.2: their total was the size of the page.
async fn a_hierarchy_has_its_children(world: &World) {
    world.seed().await;
    let tree = world.admin.hierarchy("EP-001", None).await.unwrap();
    let below = tree["root"]["children"][0]["children"].as_array();
    assert_eq!(below.unwrap().len(), 2);
    let cut = world.admin.hierarchy("EP-001", Some(1)).await.unwrap();
    assert_eq!(cut["root"]["children"][0]["reference_id"], "US-001");
}

// 4, 7.3: a Commenter could create, edit and force-delete everything.
async fn a_commenter_cannot_write(world: &World) {
    world.seed().await;
    let carl = world.user("carl", "Commenter").await;
    let carl = world.client(&carl).await.unwrap();
    let title = json!({"title": "x"});
    carl.create("epic", title.clone()).await.refused(1014);
    carl.update("EP-001", title).await.refused(1014);
    carl.delete("EP-001", true).await.refused(1014);
    let batch = json!({"operations": [{"op": "delete", "id": "EP-001", "force": true}]});
    carl.batch(batch).await.refused(1014);
    let tree = world.admin.hierarchy("EP-001", None).await.unwrap();
    assert_eq!(tree["total_count"], 4);
}

// 5: a search with an apostrophe or bracket was a 500 with the database's words.
async fn search_input_is_never_query_syntax(world: &World) {
    let epic = json!({"title": "The user's (login) page"});
    world.admin.create("epic", epic).await.unwrap();
    let found = world.admin.search("user's (login)", json!({})).await.unwrap();
    assert_eq!(references(&found), ["EP-001"]);
}

// 5: filters did not apply to criteria, which appeared in every filtered result; `epic_id` restricted stories only.
async fn search_filters_hold_for_every_kind(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let elsewhere = json!({"title": "Passkey elsewhere"});
    admin.create("epic", elsewhere).await.unwrap();
    let urgent = admin.search("passkey", json!({"priority": "1"})).await.unwrap();
    assert_eq!(references(&urgent), Vec::<&str>::new());
    let below = admin.search("passkey", json!({"under": "EP-001"})).await.unwrap();
    let mut found = references(&below);
    found.sort_unstable();
    assert_eq!(found, ["AC-001", "REQ-001", "US-001"]);
}

// 5: the order was validated and ignored, rank was dropped.
async fn search_is_ranked(world: &World) {
    let admin = &world.admin;
    let about = json!({"title": "Other", "description": "Something about payment."});
    admin.create("epic", about).await.unwrap();
    admin.create("epic", json!({"title": "Payment"})).await.unwrap();
    let found = admin.search("payment", json!({})).await.unwrap();
    assert_eq!(
        references(&found),
        ["EP-002", "EP-001"],
        "a title counts more than a text"
    );
    assert!(found["data"][0]["score"].as_f64() > found["data"][1]["score"].as_f64());
    let by_title = admin.search("", json!({"order_by": "title"})).await.unwrap();
    assert_eq!(references(&by_title), ["EP-001", "EP-002"]);
}

// 5: Cyrillic words were not stemmed.
async fn russian_words_are_found_in_all_forms(world: &World) {
    let epic = json!({"title": "Оплата банковскими картами"});
    world.admin.create("epic", epic).await.unwrap();
    for word in ["карта", "картой", "банковская", "оплаты"] {
        let found = world.admin.search(word, json!({})).await.unwrap();
        assert_eq!(references(&found), ["EP-001"], "{word}");
    }
}

// 5: new items were missing from search for up to five minutes.
async fn search_knows_what_was_written_a_moment_ago(world: &World) {
    for number in 1..=3 {
        let found = world.admin.search("fresh", json!({})).await.unwrap();
        assert_eq!(found["total_count"], number - 1);
        world
            .admin
            .create("epic", json!({"title": "Fresh"}))
            .await
            .unwrap();
    }
}

// 7.2: texts were cut inside a character in previews and paths.
async fn previews_are_cut_between_characters(world: &World) {
    world.seed().await;
    let long = json!({"user_story_id": "US-001", "description": "Ж".repeat(300)});
    world.admin.create("acceptance_criterion", long).await.unwrap();
    let preview = world.admin.preview("EP-001").await.unwrap();
    let items = preview["items"].as_array().unwrap().iter();
    let titles: Vec<String> = items.map(|item| text(&item["title"])).collect();
    assert!(
        titles
            .iter()
            .any(|title| title.starts_with("ЖЖЖ") && title.ends_with('…')),
        "{titles:?}"
    );
}

// 7.2: making a document and linking it were two steps, and the failure of the second was swallowed.
async fn many_steps_are_one_transaction(world: &World) {
    world.seed().await;
    let steps = json!([
        {"op": "create", "ref": "d", "kind": "steering_document", "title": "Security"},
        {"op": "link", "source": "@d", "target": "EP-999", "type": "guides"},
    ]);
    world
        .admin
        .batch(json!({"operations": steps}))
        .await
        .refused(1046);
    let documents = world.admin.list("steering_document", json!({})).await.unwrap();
    assert_eq!(documents["total_count"], 0);
}
