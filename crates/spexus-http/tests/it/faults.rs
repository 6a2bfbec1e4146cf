//! The faults of the system this one takes the place of, each with a test that shows us free of it. The numbers are the
//! sections of the survey of that system; what concerns MCP and the stdio bridge is tested where those live.

use crate::harness::{Server, on_both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_domain::id::PROMPT_PREFIX;
use spexus_domain::{Kind, Uuid};
use spexus_store::{Actor, items};

fn references(page: &Value) -> Vec<&str> {
    let rows = page["data"].as_array().unwrap().iter();
    rows.map(|row| row["reference_id"].as_str().unwrap()).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Lets the numbers of a prefix go on after `number`.
async fn count_on_from(server: &Server, project: Uuid, prefix: &'static str, number: i64) {
    let actor = Actor {
        user_id: Uuid::nil(),
        username: "test".into(),
        token_id: None,
        client: String::new(),
    };
    let job = server.service.store().write(actor, move |tx| {
        Box::pin(async move { items::reserve_number(&mut tx.conn, project, prefix, number).await })
    });
    job.await.unwrap();
}

on_both![
    a_refused_item_burns_no_number,
    every_id_form_works_on_every_route,
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
    an_item_has_one_shape_everywhere,
    lists_refuse_what_they_do_not_understand,
    every_refusal_has_the_one_envelope,
    two_writers_do_not_undo_each_other,
    a_bad_user_is_not_a_duplicate,
    a_token_does_not_expire_before_it_is_made,
    a_requirement_needs_only_what_is_new,
    nobody_writes_in_another_name,
    a_link_is_not_removed_by_a_stranger,
    every_list_works_without_parameters,
    steering_documents_are_read_by_all,
    prompts_are_made_over_rest,
    types_are_read_and_named_by_everyone,
    a_hierarchy_has_its_children,
    a_token_opens_rest_and_its_scope_counts,
    a_commenter_cannot_write,
    no_other_site_is_let_in,
    search_input_is_never_query_syntax,
    an_unknown_kind_in_a_search_is_told,
    search_filters_hold_for_every_kind,
    search_is_ranked,
    russian_words_are_found_in_all_forms,
    search_knows_what_was_written_a_moment_ago,
    duplicate_steering_link_is_a_conflict,
    previews_are_cut_between_characters,
    many_steps_are_one_transaction,
    order_by_is_never_sql,
];

// 1.1: a rejected epic burned EP-002.
async fn a_refused_item_burns_no_number(server: &mut Server) {
    for (body, status) in [
        (json!({"title": " "}), 400),
        (json!({"title": "x", "status": "Nope"}), 400),
        (json!({"title": "x", "assignee": "nobody"}), 400),
    ] {
        assert_eq!(server.post("/api/v1/epics", body).await.status, status);
    }
    assert_eq!(
        server
            .post("/api/v1/epics", json!({"title": "x"}))
            .await
            .created()["reference_id"],
        "EP-001"
    );
}

// 1.1: look-up by reference id was case-sensitive, and many routes took a UUID only (2, "u").
async fn every_id_form_works_on_every_route(server: &mut Server) {
    server.seed().await;
    let id = text(&server.get("/api/v1/epics/EP-001").await.ok()["id"]);
    for form in ["EP-001", "ep-1", "Ep-0001", &id, &id.to_uppercase()] {
        for tail in [
            "",
            "/children",
            "/links",
            "/comments",
            "/history",
            "/deletion-preview",
            "/user-stories",
            "/steering-documents",
        ] {
            server.get(&format!("/api/v1/epics/{form}{tail}")).await.ok();
        }
        server.get(&format!("/api/v1/hierarchy/{form}")).await.ok();
        server
            .patch(&format!("/api/v1/epics/{form}"), json!({"description": form}))
            .await
            .ok();
        server
            .post(
                &format!("/api/v1/epics/{form}/user-stories"),
                json!({"title": form}),
            )
            .await
            .created();
    }
}

// 1.1, 7.2: STD and PROMPT numbers broke at 1000; the migration of sequences compared ids as text.
async fn numbers_grow_past_999_for_every_kind_and_prompts(server: &mut Server) {
    server.seed().await;
    let project = text(&server.get("/api/v1/projects/default").await.ok()["id"])
        .parse()
        .unwrap();
    for kind in Kind::ALL {
        count_on_from(server, project, kind.rules().prefix, 998).await;
        let body = match kind {
            Kind::Epic | Kind::SteeringDocument => json!({"title": "x"}),
            Kind::UserStory => json!({"title": "x", "parent": "EP-001"}),
            Kind::AcceptanceCriterion => json!({"description": "x", "parent": "US-001"}),
            Kind::Requirement => json!({"title": "x", "parent": "US-001"}),
        };
        let path = format!("/api/v1/{}", kind.rules().path);
        for number in ["999", "1000", "1001"] {
            let made = server.post(&path, body.clone()).await.created();
            assert_eq!(made["reference_id"], format!("{}-{number}", kind.rules().prefix));
        }
        let last = format!("{}-1000", kind.rules().prefix);
        assert_eq!(
            server.get(&format!("{path}/{last}")).await.ok()["reference_id"],
            *last
        );
        let newest = server
            .get(&format!("{path}?order_by=-created_at&limit=2"))
            .await
            .ok();
        assert!(references(&newest)[0].ends_with("-1001") && references(&newest)[1].ends_with("-1000"));
    }
    count_on_from(server, Uuid::nil(), PROMPT_PREFIX, 999).await;
    let prompt = json!({"name": "late", "messages": [{"role": "user", "text": "x"}]});
    assert_eq!(
        server.post("/api/v1/prompts", prompt).await.created()["reference_id"],
        "PROMPT-1000"
    );
}

// 1.3: over-long descriptions were not refused over REST.
async fn the_longest_description_is_enforced(server: &mut Server) {
    let longest = "ж".repeat(50_000);
    server
        .post("/api/v1/epics", json!({"title": "x", "description": longest}))
        .await
        .created();
    let error = server
        .post(
            "/api/v1/epics",
            json!({"title": "x", "description": format!("{longest}ж")}),
        )
        .await
        .refused(400, 1021);
    assert_eq!(
        (&error["fields"][0]["field"], &error["fields"][0]["allowed"]),
        (&json!("description"), &json!("at most 50000"))
    );
}

// 1.3: a story had to be written in an English template.
async fn a_story_can_be_told_in_any_language(server: &mut Server) {
    server.seed().await;
    let story = json!({"epic_id": "EP-001", "title": "Вход", "description": "Хочу войти без пароля."});
    server.post("/api/v1/user-stories", story).await.created();
    server
        .post(
            "/api/v1/user-stories",
            json!({"epic_id": "EP-001", "title": "No text at all"}),
        )
        .await
        .created();
}

// 1.3: no way to move a story to another epic.
async fn a_story_moves_to_another_epic(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/epics", json!({"title": "Second"}))
        .await
        .created();
    server
        .post("/api/v1/user-stories/US-001/move", json!({"epic_id": "EP-002"}))
        .await
        .ok();
    assert_eq!(
        server.get("/api/v1/hierarchy/EP-002").await.ok()["total_count"],
        4
    );
}

// 1.3: the linked criterion was not checked to belong to the same story, and could not be cleared.
//= specs/spexus-service.md#rules
//= type=test
//# The criterion a requirement serves MUST belong to the requirement's own story.
async fn a_requirement_serves_a_criterion_of_its_own_story(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/epics/EP-001/user-stories", json!({"title": "Second"}))
        .await
        .created();
    server
        .post(
            "/api/v1/user-stories/US-002/acceptance-criteria",
            json!({"description": "Other."}),
        )
        .await
        .created();
    server
        .patch(
            "/api/v1/requirements/REQ-001",
            json!({"acceptance_criteria_id": "AC-002"}),
        )
        .await
        .refused(409, 1054);
    let foreign = json!({"user_story_id": "US-001", "title": "x", "acceptance_criteria_id": "AC-002"});
    server
        .post("/api/v1/requirements", foreign)
        .await
        .refused(409, 1054);
    let cleared = server
        .patch(
            "/api/v1/requirements/REQ-001",
            json!({"acceptance_criteria_id": null}),
        )
        .await
        .ok();
    assert!(cleared.get("acceptance_criterion").is_none());
}

// 1.3: A depends_on B and B depends_on A were both accepted.
//= specs/spexus-service.md#rules
//= type=test
//# Links of a type that forbids cycles MUST NOT form one.
async fn dependencies_form_no_circle(server: &mut Server) {
    server.seed().await;
    server
        .post(
            "/api/v1/requirements",
            json!({"user_story_id": "US-001", "title": "Second"}),
        )
        .await
        .created();
    server
        .post(
            "/api/v1/links",
            json!({"source": "REQ-001", "target": "REQ-002", "type": "depends_on"}),
        )
        .await
        .created();
    server
        .post(
            "/api/v1/links",
            json!({"source": "REQ-002", "target": "REQ-001", "type": "depends_on"}),
        )
        .await
        .refused(409, 1054);
}

// 1.3: offsets were bytes, and character offsets failed for Cyrillic with 500.
async fn anchors_count_characters(server: &mut Server) {
    server.seed().await;
    server
        .patch("/api/v1/epics/EP-001", json!({"description": "да нет да"}))
        .await
        .ok();
    let anchored = json!({"content": "второе", "anchor": {"quote": "да", "start": 7}});
    let made = server
        .post("/api/v1/epics/EP-001/comments", anchored)
        .await
        .created();
    assert_eq!(
        (&made["anchor"]["start"], &made["anchor"]["end"]),
        (&json!(7), &json!(9))
    );
    let beyond = json!({"content": "x", "anchor": {"quote": "да", "start": 1_000_000_000_000_u64}});
    server
        .post("/api/v1/epics/EP-001/comments", beyond)
        .await
        .refused(400, 1021);
}

// 1.3, 7.2: editing a description left anchors pointing elsewhere, and "hiding" rewrote the comment's text.
async fn an_edit_moves_anchors_and_never_touches_what_was_said(server: &mut Server) {
    server.seed().await;
    server
        .patch("/api/v1/epics/EP-001", json!({"description": "It is fast."}))
        .await
        .ok();
    let made = server
        .post(
            "/api/v1/epics/EP-001/comments",
            json!({"content": "How fast?", "anchor": {"quote": "fast"}}),
        )
        .await
        .created();
    let path = format!("/api/v1/comments/{}", text(&made["id"]));
    server
        .patch(
            "/api/v1/epics/EP-001",
            json!({"description": "Said before: it is fast."}),
        )
        .await
        .ok();
    assert_eq!(server.get(&path).await.ok()["anchor"]["start"], 19);
    server
        .patch("/api/v1/epics/EP-001", json!({"description": "Gone."}))
        .await
        .ok();
    let lost = server.get(&path).await.ok();
    assert_eq!(
        (
            &lost["content"],
            &lost["anchor"]["quote"],
            &lost["anchor"]["lost"]
        ),
        (&json!("How fast?"), &json!("fast"), &json!(true))
    );
}

// 1.3, 7.1.6: the workflow was configuration without effect; 7.1.5: a bad status was a 500, a lower-case one a riddle.
async fn the_workflow_has_effect(server: &mut Server) {
    server.seed().await;
    server
        .patch("/api/v1/epics/EP-001/status", json!({"status": "Done"}))
        .await
        .refused(409, 1054);
    let error = server
        .patch("/api/v1/epics/EP-001", json!({"status": "Finished"}))
        .await
        .refused(400, 1021);
    assert!(
        text(&error["fields"][0]["allowed"]).contains("In Progress"),
        "{error}"
    );
    assert_eq!(
        server
            .patch("/api/v1/epics/EP-001", json!({"status": "in progress"}))
            .await
            .ok()["status"],
        "In Progress"
    );
}

// 1.4: statuses were deleted without asking who has them.
async fn a_status_in_use_stays(server: &mut Server) {
    server.seed().await;
    let without = json!({"statuses": [{"name": "New", "initial": true}], "transitions": []});
    server
        .put("/api/v1/workflows/epic", without)
        .await
        .refused(409, 1054);
}

// 1.4: deleting a user was a foreign key failure, 500.
async fn a_user_with_a_history_can_go(server: &mut Server) {
    let kim = server.user("kim", "User").await;
    let epic = Some(json!({"title": "Mine", "assignee": "me"}));
    server
        .send(&kim, Method::POST, "/api/v1/epics", epic, &[])
        .await
        .created();
    server
        .send(
            &kim,
            Method::POST,
            "/api/v1/epics/EP-001/comments",
            Some(json!({"content": "Mine too."})),
            &[],
        )
        .await
        .created();
    assert_eq!(server.delete("/api/v1/users/kim").await.ok()["active"], false);
    let epic = server.get("/api/v1/epics/EP-001").await.ok();
    assert_eq!(
        (&epic["creator"], &epic["assignee"]),
        (&json!("kim"), &json!("kim"))
    );
}

// 1.4, 7.2: a plain deletion orphaned the comments, which could still be counted and edited.
async fn comments_go_with_what_they_are_on(server: &mut Server) {
    server.seed().await;
    let made = server
        .post(
            "/api/v1/requirements/REQ-001/comments",
            json!({"content": "Orphan?"}),
        )
        .await
        .created();
    server.delete("/api/v1/requirements/REQ-001").await.ok();
    let path = format!("/api/v1/comments/{}", text(&made["id"]));
    server.get(&path).await.refused(404, 1046);
    server
        .patch(&path, json!({"content": "Edited."}))
        .await
        .refused(404, 1046);
    assert_eq!(
        server.get("/api/v1/search?query=orphan").await.ok()["total_count"],
        0
    );
}

// 1.4, 7.1.1: there was a deletion for show that always answered 401, and an audit id that pointed at nothing.
//= specs/spexus-service.md#rules
//= type=test
//# What was deleted together MUST come back together.
async fn a_deletion_is_in_the_history_and_can_be_undone(server: &mut Server) {
    server.seed().await;
    server.delete("/api/v1/epics/EP-001?force=true").await.ok();
    let feed = server.get("/api/v1/changes?limit=200").await.ok();
    let deleted = feed["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["action"] == "deleted")
        .count();
    assert_eq!(deleted, 4, "{feed}");
    server.post("/api/v1/epics/EP-001/restore", json!({})).await.ok();
    assert_eq!(
        server.get("/api/v1/hierarchy/EP-001").await.ok()["total_count"],
        4
    );
}

// 1.5, 7.1.4: creates, gets and lists showed different shapes, and lists never the people and the parent.
//= specs/spexus-http.md#answers
//= type=test
//# An item MUST have the same shape in every answer that holds it.
async fn an_item_has_one_shape_everywhere(server: &mut Server) {
    server
        .post("/api/v1/epics", json!({"title": "Sign in"}))
        .await
        .created();
    let story = json!({"epic_id": "EP-001", "title": "Story", "assignee": "me"});
    let made = server.post("/api/v1/user-stories", story).await.created();
    assert_eq!(
        (&made["creator"], &made["assignee"], &made["parent"]),
        (&json!("admin"), &json!("admin"), &json!("EP-001"))
    );
    assert_eq!(server.get("/api/v1/user-stories/US-001").await.ok(), made);
    assert_eq!(server.get("/api/v1/user-stories").await.ok()["data"][0], made);
    assert_eq!(
        server.get("/api/v1/epics/EP-001/children").await.ok()["data"][0],
        made
    );
    assert_eq!(
        server.get("/api/v1/epics/EP-001/user-stories").await.ok()["data"][0],
        made
    );
    assert_eq!(
        server
            .patch("/api/v1/user-stories/US-001", json!({"title": "Story"}))
            .await
            .ok(),
        made
    );
}

// 2.1: `limit` had no upper bound, and bad filter values were ignored in silence.
//= specs/spexus-http.md#refusals
//= type=test
//# An unknown field of a body and an unknown parameter of a query MUST be refused, not ignored.
async fn lists_refuse_what_they_do_not_understand(server: &mut Server) {
    for query in [
        "limit=100000",
        "limit=0",
        "priority=9",
        "status=Nope",
        "creator=nobody",
        "type=Nope",
        "created_from=soon",
        "colour=red",
        "parent=x",
    ] {
        let reply = server.get(&format!("/api/v1/epics?{query}")).await;
        assert!(reply.status == 400, "{query}: {} {}", reply.status, reply.body);
        let field = query.split('=').next().unwrap();
        assert_eq!(reply.body["error"]["fields"][0]["field"], field, "{}", reply.body);
    }
}

// 2.1: three formats of errors were in use.
//= specs/spexus-http.md#refusals
//= type=test
//# Every refusal MUST come in one envelope with the code, the name, a message and a hint of the table of refusals.
async fn every_refusal_has_the_one_envelope(server: &mut Server) {
    server.seed().await;
    let replies = [
        server.get("/api/v1/epics/EP-999").await,
        server.get("/api/v1/nothing").await,
        server.put("/api/v1/epics/EP-001", json!({})).await,
        server.post("/api/v1/epics", json!({"title": 1})).await,
        server.delete("/api/v1/epics/EP-001").await,
        server.get("/api/v1/search?query=x&kinds=nope").await,
        server.send("", Method::GET, "/api/v1/epics", None, &[]).await,
        server
            .send("mcp_pat_wrong", Method::GET, "/api/v1/epics", None, &[])
            .await,
        server
            .send(
                "",
                Method::POST,
                "/api/v1/auth/login",
                Some(json!({"username": "x", "password": "y"})),
                &[],
            )
            .await,
    ];
    for reply in replies {
        let (status, code) = (reply.status, reply.body["error"]["code"].as_u64().unwrap_or(0));
        assert!(
            (400..500).contains(&status) && reply.body["error"]["name"].is_string(),
            "{status} {}",
            reply.body
        );
        reply.refused(status, u16::try_from(code).unwrap());
    }
}

// 2.1, 7.2: the last writer won on the whole row.
async fn two_writers_do_not_undo_each_other(server: &mut Server) {
    server.seed().await;
    server
        .patch("/api/v1/epics/EP-001", json!({"title": "One", "expect_rev": 1}))
        .await
        .ok();
    server
        .patch("/api/v1/epics/EP-001", json!({"title": "Two", "expect_rev": 1}))
        .await
        .refused(412, 1053);
    let other = server
        .patch("/api/v1/epics/EP-001", json!({"description": "Beside."}))
        .await
        .ok();
    assert_eq!(
        (&other["title"], &other["rev"]),
        (&json!("One"), &json!(3)),
        "other fields stay as they are"
    );
}

// 2.2: any database error on making a user was a 409; duplicates and nonsense are told apart.
async fn a_bad_user_is_not_a_duplicate(server: &mut Server) {
    server.user("kim", "User").await;
    server
        .post(
            "/api/v1/users",
            json!({"username": "KIM", "password": "long enough", "role": "User"}),
        )
        .await
        .refused(409, 1052);
    server
        .post(
            "/api/v1/users",
            json!({"username": "a b", "password": "long enough", "role": "User"}),
        )
        .await
        .refused(400, 1021);
    server
        .post(
            "/api/v1/users",
            json!({"username": "sam", "password": "long enough", "role": "King"}),
        )
        .await
        .refused(400, 1021);
    server
        .post(
            "/api/v1/users",
            json!({"username": "sam", "password": "short", "role": "User"}),
        )
        .await
        .refused(400, 1021);
}

// 2.3: an expiry in the past was accepted; a duplicate name was a 400.
//= specs/spexus-service.md#tokens
//= type=test
//# A token MUST NOT be made with an expiry that has passed.
async fn a_token_does_not_expire_before_it_is_made(server: &mut Server) {
    for expires in ["2020-01-01", "2020-01-01T00:00:00Z", "0d", "-1d", "yesterday"] {
        let error = server
            .post("/api/v1/tokens", json!({"name": "t", "expires": expires}))
            .await
            .refused(400, 1021);
        assert_eq!(error["fields"][0]["field"], "expires");
    }
    server
        .post("/api/v1/tokens", json!({"name": "t", "expires": "90d"}))
        .await
        .created();
    server
        .post("/api/v1/tokens", json!({"name": "t"}))
        .await
        .refused(409, 1052);
}

// 2.7: a requirement had to carry `creator_id`, and the nested route still demanded the story in the body.
async fn a_requirement_needs_only_what_is_new(server: &mut Server) {
    server.seed().await;
    let made = server
        .post(
            "/api/v1/user-stories/US-001/requirements",
            json!({"title": "Just this"}),
        )
        .await
        .created();
    assert_eq!(
        (&made["creator"], &made["type"], &made["parent"]),
        (&json!("admin"), &json!("Functional"), &json!("US-001"))
    );
}

// 2.7, 7.3: `created_by` of a link, and thus the author, could be made up by the client.
async fn nobody_writes_in_another_name(server: &mut Server) {
    server.seed().await;
    server.user("kim", "User").await;
    server
        .post(
            "/api/v1/requirements",
            json!({"user_story_id": "US-001", "title": "Second"}),
        )
        .await
        .created();
    let link = json!({"source": "REQ-001", "target": "REQ-002", "type": "blocks"});
    for (path, body, field) in [
        ("/api/v1/links", link, "created_by"),
        ("/api/v1/epics", json!({"title": "x"}), "creator"),
        ("/api/v1/epics", json!({"title": "x"}), "creator_id"),
        ("/api/v1/epics/EP-001/comments", json!({"content": "x"}), "author"),
    ] {
        let mut forged = body;
        forged[field] = json!("kim");
        let error = server.post(path, forged).await.refused(400, 1021);
        assert_eq!(error["fields"][0]["field"], field);
    }
}

// 2.7, 7.3: a link could be deleted by anyone, without a token.
async fn a_link_is_not_removed_by_a_stranger(server: &mut Server) {
    server.seed().await;
    server
        .post(
            "/api/v1/requirements",
            json!({"user_story_id": "US-001", "title": "Second"}),
        )
        .await
        .created();
    let link = server
        .post(
            "/api/v1/links",
            json!({"source": "REQ-001", "target": "REQ-002", "type": "blocks"}),
        )
        .await
        .created();
    let path = format!("/api/v1/links/{}", text(&link["id"]));
    server
        .send("", Method::DELETE, &path, None, &[])
        .await
        .refused(401, 1015);
    assert_eq!(
        server.get("/api/v1/requirements/REQ-001/links").await.ok()["total_count"],
        1
    );
}

// 2.8: a list demanded `limit`.
//= specs/spexus-http.md#answers
//= type=test
//# Every list MUST come in one envelope with `data`, `total_count` and, where there is a next page, `next_cursor`.
async fn every_list_works_without_parameters(server: &mut Server) {
    server.seed().await;
    let lists = [
        "epics",
        "user-stories",
        "acceptance-criteria",
        "requirements",
        "steering-documents",
        "prompts",
        "projects",
        "users",
        "tokens",
        "requirement-types",
        "link-types",
        "workflows",
        "baselines",
        "audit/events",
        "epics/EP-001/comments",
        "epics/EP-001/history",
        "epics/EP-001/links",
        "epics/EP-001/children",
        "search?query=x",
        "search",
    ];
    for list in lists {
        let page = server.get(&format!("/api/v1/{list}")).await.ok();
        assert!(
            page["data"].is_array() && page["total_count"].is_i64(),
            "{list}: {page}"
        );
    }
}

// 2.9: people saw only their own steering documents, and commenters none.
async fn steering_documents_are_read_by_all(server: &mut Server) {
    server
        .post("/api/v1/steering-documents", json!({"title": "Security"}))
        .await
        .created();
    let carl = server.user("carl", "Commenter").await;
    let (status, page) = server
        .as_token(&carl, Method::GET, "/api/v1/steering-documents", None)
        .await;
    assert_eq!((status, &page["total_count"]), (200, &json!(1)));
}

// 2.10, 7.1.2: prompts could not be made over REST; 7.1.7: a duplicate name was a 500; 1.3: a fresh installation had none.
async fn prompts_are_made_over_rest(server: &mut Server) {
    server.get("/api/v1/prompts/active").await.ok();
    let prompt = json!({"name": "reviewer", "messages": [{"role": "user", "text": "Review."}]});
    server.post("/api/v1/prompts", prompt.clone()).await.created();
    server.post("/api/v1/prompts", prompt).await.refused(409, 1051);
}

// 2.11: people who may write could not list the types they had to name, and had to name them by UUID.
async fn types_are_read_and_named_by_everyone(server: &mut Server) {
    server.seed().await;
    let kim = server.user("kim", "User").await;
    for list in ["requirement-types", "link-types", "workflows", "users"] {
        assert_eq!(
            server
                .as_token(&kim, Method::GET, &format!("/api/v1/{list}"), None)
                .await
                .0,
            200
        );
    }
    let body = Some(json!({"user_story_id": "US-001", "title": "x", "type": "business rule"}));
    assert_eq!(
        server
            .send(&kim, Method::POST, "/api/v1/requirements", body, &[])
            .await
            .created()["type"],
        "Business Rule"
    );
}

// 2.12, 7.1.3: hierarchies came without children; 7.2: their total was the size of the page.
async fn a_hierarchy_has_its_children(server: &mut Server) {
    server.seed().await;
    let tree = server.get("/api/v1/hierarchy/EP-001").await.ok();
    assert_eq!(
        tree["root"]["children"][0]["children"].as_array().unwrap().len(),
        2
    );
    let cut = server.get("/api/v1/hierarchy/EP-001?depth=1").await.ok();
    assert_eq!(cut["root"]["children"][0]["reference_id"], "US-001");
}

// 4: tokens opened the MCP endpoint only; scopes were never looked at.
async fn a_token_opens_rest_and_its_scope_counts(server: &mut Server) {
    let made = server
        .post("/api/v1/tokens", json!({"name": "reader", "scopes": ["read"]}))
        .await
        .created();
    let token = text(&made["token"]);
    assert!(token.starts_with("mcp_pat_") && token.len() == 51);
    assert_eq!(
        server
            .as_token(&token, Method::GET, "/api/v1/epics", None)
            .await
            .0,
        200
    );
    let reply = server
        .send(
            &token,
            Method::POST,
            "/api/v1/epics",
            Some(json!({"title": "x"})),
            &[],
        )
        .await;
    reply.refused(403, 1014);
}

// 4, 7.3: a Commenter could create, edit and force-delete everything.
async fn a_commenter_cannot_write(server: &mut Server) {
    server.seed().await;
    let carl = server.user("carl", "Commenter").await;
    let tries = [
        (Method::POST, "/api/v1/epics", Some(json!({"title": "x"}))),
        (Method::PATCH, "/api/v1/epics/EP-001", Some(json!({"title": "x"}))),
        (Method::DELETE, "/api/v1/epics/EP-001?force=true", None),
        (
            Method::POST,
            "/api/v1/batch",
            Some(json!({"operations": [{"op": "delete", "id": "EP-001", "force": true}]})),
        ),
    ];
    for (method, path, body) in tries {
        server
            .send(&carl, method, path, body, &[])
            .await
            .refused(403, 1014);
    }
    assert_eq!(
        server.get("/api/v1/hierarchy/EP-001").await.ok()["total_count"],
        4
    );
}

// 4: any origin was reflected with credentials allowed.
async fn no_other_site_is_let_in(server: &mut Server) {
    let headers = [("Origin", "https://evil.example")];
    let reply = server
        .send(&server.token, Method::GET, "/api/v1/epics", None, &headers)
        .await;
    assert!(
        reply
            .headers
            .keys()
            .all(|name| !name.as_str().starts_with("access-control-")),
        "{:?}",
        reply.headers
    );
}

// 5: a search with an apostrophe or bracket was a 500 with the database's words.
async fn search_input_is_never_query_syntax(server: &mut Server) {
    server
        .post("/api/v1/epics", json!({"title": "The user's (login) page"}))
        .await
        .created();
    assert_eq!(
        references(&server.get("/api/v1/search?query=user's%20(login)").await.ok()),
        ["EP-001"]
    );
}

// 5: an unknown kind in a search was a 500.
async fn an_unknown_kind_in_a_search_is_told(server: &mut Server) {
    let error = server
        .get("/api/v1/search?query=x&kinds=epos")
        .await
        .refused(400, 1021);
    assert_eq!(error["fields"][0]["field"], "kinds");
    assert!(text(&error["fields"][0]["allowed"]).contains("epic"), "{error}");
}

// 5: filters did not apply to criteria, which appeared in every filtered result; `epic_id` restricted stories only.
async fn search_filters_hold_for_every_kind(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/epics", json!({"title": "Passkey elsewhere"}))
        .await
        .created();
    assert_eq!(
        references(&server.get("/api/v1/search?query=passkey&priority=1").await.ok()),
        Vec::<&str>::new()
    );
    let below = server.get("/api/v1/search?query=passkey&under=EP-001").await.ok();
    let mut found = references(&below);
    found.sort_unstable();
    assert_eq!(found, ["AC-001", "REQ-001", "US-001"]);
}

// 5: the order was validated and ignored, rank was dropped.
async fn search_is_ranked(server: &mut Server) {
    server
        .post(
            "/api/v1/epics",
            json!({"title": "Other", "description": "Something about payment."}),
        )
        .await
        .created();
    server
        .post("/api/v1/epics", json!({"title": "Payment"}))
        .await
        .created();
    let found = server.get("/api/v1/search?query=payment").await.ok();
    assert_eq!(
        references(&found),
        ["EP-002", "EP-001"],
        "a title counts more than a text"
    );
    assert!(found["data"][0]["score"].as_f64() > found["data"][1]["score"].as_f64());
    assert_eq!(
        references(&server.get("/api/v1/search?order_by=title").await.ok()),
        ["EP-001", "EP-002"]
    );
}

// 5: Cyrillic words were not stemmed.
async fn russian_words_are_found_in_all_forms(server: &mut Server) {
    server
        .post("/api/v1/epics", json!({"title": "Оплата банковскими картами"}))
        .await
        .created();
    for word in ["карта", "картой", "банковская", "оплаты"] {
        assert_eq!(
            references(&server.get(&format!("/api/v1/search?query={word}")).await.ok()),
            ["EP-001"],
            "{word}"
        );
    }
}

// 5: new items were missing from search for up to five minutes.
async fn search_knows_what_was_written_a_moment_ago(server: &mut Server) {
    for number in 1..=3 {
        assert_eq!(
            server.get("/api/v1/search?query=fresh").await.ok()["total_count"],
            number - 1
        );
        server
            .post("/api/v1/epics", json!({"title": "Fresh"}))
            .await
            .created();
    }
}

// 7.1.7: a steering document linked twice was a 500.
async fn duplicate_steering_link_is_a_conflict(server: &mut Server) {
    server.seed().await;
    server
        .post("/api/v1/steering-documents", json!({"title": "Security"}))
        .await
        .created();
    server
        .post("/api/v1/epics/EP-001/steering-documents/STD-001", json!({}))
        .await
        .created();
    server
        .post("/api/v1/epics/EP-001/steering-documents/STD-001", json!({}))
        .await
        .refused(409, 1052);
}

// 7.2: texts were cut inside a character in previews and paths.
async fn previews_are_cut_between_characters(server: &mut Server) {
    server.seed().await;
    let long = "Ж".repeat(300);
    server
        .post(
            "/api/v1/user-stories/US-001/acceptance-criteria",
            json!({"description": long}),
        )
        .await
        .created();
    let preview = server.get("/api/v1/epics/EP-001/deletion-preview").await.ok();
    let titles: Vec<&str> = preview["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["title"].as_str())
        .collect();
    assert!(
        titles
            .iter()
            .any(|title| title.starts_with("ЖЖЖ") && title.ends_with('…')),
        "{titles:?}"
    );
}

// 7.2: making a document and linking it were two steps, and the failure of the second was swallowed.
async fn many_steps_are_one_transaction(server: &mut Server) {
    server.seed().await;
    let steps = json!([
        {"op": "create", "ref": "d", "kind": "steering_document", "title": "Security"},
        {"op": "link", "source": "@d", "target": "EP-999", "type": "guides"},
    ]);
    server
        .post("/api/v1/batch", json!({"operations": steps}))
        .await
        .refused(404, 1046);
    assert_eq!(
        server.get("/api/v1/steering-documents").await.ok()["total_count"],
        0
    );
}

// 7.3: `order_by` reached the database as SQL; pg_sleep ran.
async fn order_by_is_never_sql(server: &mut Server) {
    for order in [
        "(SELECT pg_sleep(9))",
        "title; DROP TABLE item",
        "title,(select 1)",
        "1",
        "title--",
        "\"title\"",
        "-",
        "title desc nulls first",
        "project_id",
    ] {
        let query = [("order_by", order)];
        let query = reqwest::Url::parse_with_params("http://x/", &query).unwrap();
        for list in [
            "epics",
            "user-stories",
            "acceptance-criteria",
            "requirements",
            "steering-documents",
            "search",
        ] {
            let error = server
                .get(&format!("/api/v1/{list}?{}", query.query().unwrap()))
                .await
                .refused(400, 1021);
            assert_eq!(error["fields"][0]["field"], "order_by");
        }
    }
}
