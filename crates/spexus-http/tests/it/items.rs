//! What people do with items, told over REST.

use crate::harness::{Server, on_both};
use reqwest::Method;
use serde_json::{Value, json};

fn references(page: &Value) -> Vec<&str> {
    page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["reference_id"].as_str().unwrap())
        .collect()
}

on_both! {
    //= specs/spexus-service.md#history
    //= type=test
    //# A write that changes nothing SHOULD make no new revision.
    async fn a_project_is_written_read_and_changed(server) {
        server.seed().await;
        let requirement = server.get("/api/v1/requirements/req-1").await;
        assert_eq!(requirement.headers["etag"], "\"1\"");
        let requirement = requirement.ok();
        let expected = json!({
            "reference_id": "REQ-001", "project": "default", "kind": "requirement", "title": "Passkeys MUST work",
            "status": "Draft", "priority": 3, "type": "Functional", "parent": "US-001", "acceptance_criterion": "AC-001",
            "creator": "admin", "rev": 1,
        });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&requirement[name], value, "{name}");
        }
        let by_uuid = server.get(&format!("/api/v1/items/{}", requirement["id"].as_str().unwrap())).await.ok();
        assert_eq!(by_uuid, requirement);

        let changed = server.patch("/api/v1/requirements/REQ-001", json!({"title": "Passkeys MUST work everywhere", "priority": "high"})).await.ok();
        assert_eq!((&changed["rev"], &changed["priority"]), (&json!(2), &json!(2)));
        let cleared = server.patch("/api/v1/requirements/REQ-001", json!({"acceptance_criterion": null})).await.ok();
        assert!(cleared.get("acceptance_criterion").is_none());
        let same = server.patch("/api/v1/requirements/REQ-001", json!({"priority": 2})).await.ok();
        assert_eq!(same["rev"], 3, "nothing changed, so no new revision");
    }

    //= specs/spexus-http.md#answers
    //= type=test
    //# A write with a stale `If-Match` MUST be refused with who changed what.
    async fn a_stale_write_is_refused_with_who_changed_what(server) {
        server.seed().await;
        server.patch("/api/v1/epics/EP-001", json!({"title": "Sign in fast"})).await.ok();
        let headers = [("If-Match", "\"1\"")];
        let reply = server.send(&server.token, Method::PATCH, "/api/v1/epics/EP-001", Some(json!({"title": "Mine"})), &headers).await;
        let error = reply.refused(412, 1053);
        assert_eq!(error["facts"]["current_rev"], "2");
        assert_eq!(error["fields"][0]["field"], "title");
        let problem = error["fields"][0]["problem"].as_str().unwrap();
        assert!(problem.starts_with("changed to \"Sign in fast\" by admin at "), "{problem}");
        let body = json!({"title": "Mine", "expect_rev": 1});
        server.patch("/api/v1/epics/EP-001", body).await.refused(412, 1053);
        let headers = [("If-Match", "\"2\"")];
        let reply = server.send(&server.token, Method::PATCH, "/api/v1/epics/EP-001", Some(json!({"title": "Mine"})), &headers).await;
        assert_eq!(reply.ok()["title"], "Mine");
        let unchanged = server.send(&server.token, Method::GET, "/api/v1/epics/EP-001", None, &[("If-None-Match", "\"3\"")]).await;
        assert_eq!(unchanged.status, 304);
    }

    //= specs/spexus-service.md#rules
    //= type=test
    //# A status MUST change only along the workflow of the kind.
    async fn the_workflow_is_enforced_and_can_be_changed(server) {
        server.seed().await;
        let error = server.patch("/api/v1/epics/EP-001/status", json!({"status": "Done"})).await.refused(409, 1054);
        assert_eq!(error["fields"][0]["allowed"], "one of: Draft, In Progress, Cancelled");
        assert_eq!(server.patch("/api/v1/epics/EP-001/status", json!({"status": "in progress"})).await.ok()["status"], "In Progress");
        server.patch("/api/v1/epics/EP-001/status", json!({"status": "Nonsense"})).await.refused(400, 1021);

        let mut workflow = server.get("/api/v1/workflows/epic").await.ok();
        workflow["statuses"].as_array_mut().unwrap().push(json!({"name": "In Review"}));
        workflow["transitions"].as_array_mut().unwrap().push(json!({"from": "In Progress", "to": "In Review"}));
        let input = json!({"statuses": workflow["statuses"], "transitions": workflow["transitions"]});
        server.put("/api/v1/workflows/epic", input).await.ok();
        assert_eq!(server.patch("/api/v1/epics/EP-001/status", json!({"status": "In Review"})).await.ok()["status"], "In Review");
        let without = json!({"statuses": [{"name": "Backlog", "initial": true}], "transitions": []});
        let error = server.put("/api/v1/workflows/epic", without).await.refused(409, 1054);
        assert!(error["message"].as_str().unwrap().contains("\"In Review\" is missing, but items have it"), "{error}");
    }

    async fn lists_filter_order_and_page(server) {
        server.seed().await;
        for (title, priority) in [("Beta", 2), ("Alpha", 4), ("Gamma", 1)] {
            server.post("/api/v1/epics", json!({"title": title, "priority": priority})).await.created();
        }
        let page = server.get("/api/v1/epics?order_by=title&limit=2").await.ok();
        assert_eq!((references(&page), &page["total_count"]), (vec!["EP-003", "EP-002"], &json!(4)));
        let next = page["next_cursor"].as_str().unwrap();
        let page = server.get(&format!("/api/v1/epics?order_by=title&limit=2&cursor={next}")).await.ok();
        assert_eq!(references(&page), ["EP-004", "EP-001"]);
        assert!(page.get("next_cursor").is_none());
        assert_eq!(references(&server.get("/api/v1/epics?priority=critical,low&order_by=-created_at").await.ok()), ["EP-004", "EP-003", "EP-001"]);
        assert_eq!(references(&server.get("/api/v1/epics?status=backlog&assignee=none&creator=me").await.ok()).len(), 4);
        let slim = server.get("/api/v1/epics?fields=reference_id,title&limit=1").await.ok();
        assert_eq!(slim["data"][0], json!({"reference_id": "EP-001", "title": "Sign in"}));
        assert_eq!(references(&server.get("/api/v1/requirements?under=EP-001").await.ok()), ["REQ-001"]);
        assert_eq!(references(&server.get("/api/v1/epics/EP-001/user-stories").await.ok()), ["US-001"]);
        server.get(&format!("/api/v1/epics?order_by=-priority&cursor={next}")).await.refused(400, 1021);
    }

    async fn the_hierarchy_is_the_whole_tree(server) {
        server.seed().await;
        let tree = server.get("/api/v1/hierarchy/EP-001").await.ok();
        assert_eq!((&tree["total_count"], &tree["truncated"]), (&json!(4), &json!(false)));
        let story = &tree["root"]["children"][0];
        assert_eq!(story["reference_id"], "US-001");
        let below: Vec<&Value> = story["children"].as_array().unwrap().iter().map(|child| &child["reference_id"]).collect();
        assert_eq!(below, ["AC-001", "REQ-001"]);
        let shallow = server.get("/api/v1/hierarchy/EP-001?depth=1").await.ok();
        assert_eq!((&shallow["total_count"], &shallow["truncated"]), (&json!(2), &json!(true)));
        assert_eq!(references(&server.get("/api/v1/hierarchy/REQ-001/path").await.ok()), ["EP-001", "US-001", "REQ-001"]);
    }

    async fn items_move_between_containers_and_places(server) {
        server.seed().await;
        server.post("/api/v1/epics", json!({"title": "Other"})).await.created();
        for title in ["Second", "Third"] {
            server.post("/api/v1/epics/EP-001/user-stories", json!({"title": title})).await.created();
        }
        server.post("/api/v1/user-stories/US-003/move", json!({"before": "US-001"})).await.ok();
        assert_eq!(references(&server.get("/api/v1/epics/EP-001/children").await.ok()), ["US-003", "US-001", "US-002"]);
        for _ in 0..60 {
            server.post("/api/v1/user-stories/US-002/move", json!({"after": "US-003"})).await.ok();
            server.post("/api/v1/user-stories/US-001/move", json!({"after": "US-003"})).await.ok();
        }
        assert_eq!(references(&server.get("/api/v1/epics/EP-001/children").await.ok()), ["US-003", "US-001", "US-002"]);
        assert_eq!(server.post("/api/v1/user-stories/US-002/move", json!({"parent": "EP-002"})).await.ok()["parent"], "EP-002");
        server.post("/api/v1/user-stories/US-002/move", json!({"parent": "US-001"})).await.refused(400, 1021);
        let error = server.post("/api/v1/requirements/REQ-001/move", json!({"parent": "US-002"})).await.refused(409, 1054);
        assert!(error["message"].as_str().unwrap().contains("it serves AC-001, which stays behind"), "{error}");
        server.post("/api/v1/acceptance-criteria/AC-001/move", json!({"parent": "US-002"})).await.refused(409, 1054);
    }

    //= specs/spexus-service.md#rules
    //= type=test
    //# An item that others depend on MUST be deleted only with `force`, after a preview that tells what falls with it.
    async fn deletion_is_told_before_needs_force_and_can_be_undone(server) {
        server.seed().await;
        server.post("/api/v1/epics/EP-001/comments", json!({"content": "Why passkeys?"})).await.created();
        let preview = server.get("/api/v1/epics/EP-001/deletion-preview").await.ok();
        assert_eq!((&preview["can_delete"], preview["items"].as_array().unwrap().len(), &preview["comments"]), (&json!(false), 3, &json!(1)));
        server.delete("/api/v1/epics/EP-001").await.refused(409, 1055);
        assert_eq!(server.delete("/api/v1/epics/EP-001?force=true").await.ok()["items"].as_array().unwrap().len(), 3);
        let error = server.get("/api/v1/requirements/REQ-001").await.refused(404, 1046);
        assert_eq!(error["hint"], "Restore it first.");
        assert_eq!(references(&server.get("/api/v1/user-stories?deleted=true").await.ok()), ["US-001"]);
        let error = server.post("/api/v1/user-stories/US-001/restore", json!({})).await.ok();
        assert_eq!(error["reference_id"], "US-001", "what fell together comes back together");
        assert_eq!(server.get("/api/v1/hierarchy/EP-001").await.ok()["total_count"], 4);
        assert_eq!(server.get("/api/v1/epics/EP-001/comments").await.ok()["total_count"], 1);
        assert_eq!(server.get("/api/v1/requirements/REQ-001").await.ok()["acceptance_criterion"], "AC-001");
        server.post("/api/v1/epics/EP-001/restore", json!({})).await.refused(409, 1054);
    }

    async fn numbers_have_no_gaps_and_are_never_given_twice(server) {
        server.post("/api/v1/epics", json!({"title": ""})).await.refused(400, 1021);
        server.post("/api/v1/epics", json!({"title": "x", "assignee": "nobody"})).await.refused(400, 1021);
        assert_eq!(server.post("/api/v1/epics", json!({"title": "x"})).await.created()["reference_id"], "EP-001");
        server.delete("/api/v1/epics/EP-001").await.ok();
        assert_eq!(server.post("/api/v1/epics", json!({"title": "y"})).await.created()["reference_id"], "EP-002");
    }

    //= specs/spexus-service.md#rules
    //= type=test
    //# The last criterion of a story MUST stay as long as the story does.
    async fn the_last_criterion_of_a_story_cannot_go(server) {
        server.seed().await;
        server.delete("/api/v1/acceptance-criteria/AC-001?force=true").await.refused(409, 1054);
        server.post("/api/v1/user-stories/US-001/acceptance-criteria", json!({"description": "It works offline."})).await.created();
        let preview = server.get("/api/v1/acceptance-criteria/AC-001/deletion-preview").await.ok();
        assert_eq!(preview["unpointed"], json!(["REQ-001"]));
        server.delete("/api/v1/acceptance-criteria/AC-001").await.refused(409, 1055);
        server.delete("/api/v1/acceptance-criteria/AC-001?force=true").await.ok();
        assert!(server.get("/api/v1/requirements/REQ-001").await.ok().get("acceptance_criterion").is_none());
    }

    async fn links_have_types_directions_and_rules(server) {
        server.seed().await;
        for title in ["Second", "Third"] {
            server.post("/api/v1/user-stories/US-001/requirements", json!({"title": title})).await.created();
        }
        let link = server.post("/api/v1/links", json!({"source": "REQ-001", "target": "REQ-002", "type": "depends_on"})).await.created();
        assert_eq!((&link["inverse"], &link["suspect"]), (&json!("is_required_by"), &json!(false)));
        server.post("/api/v1/links", json!({"source": "REQ-001", "target": "REQ-002", "type": "depends_on"})).await.refused(409, 1052);
        server.post("/api/v1/links", json!({"source": "REQ-001", "target": "REQ-001", "type": "depends_on"})).await.refused(409, 1054);
        let swapped = server.post("/api/v1/links", json!({"source": "REQ-003", "target": "REQ-002", "type": "is required by"})).await.created();
        assert_eq!((&swapped["source"]["reference_id"], &swapped["target"]["reference_id"]), (&json!("REQ-002"), &json!("REQ-003")));
        let error = server.post("/api/v1/links", json!({"source": "REQ-003", "target": "REQ-001", "type": "depends_on"})).await.refused(409, 1054);
        assert!(error["message"].as_str().unwrap().contains("REQ-001 already depends_on REQ-003"), "{error}");
        server.post("/api/v1/links", json!({"source": "EP-001", "target": "REQ-001", "type": "verifies"})).await.refused(409, 1054);
        server.patch("/api/v1/requirements/REQ-002", json!({"description": "More exact now."})).await.ok();
        let links = server.get("/api/v1/requirements/REQ-002/links").await.ok();
        assert!(links["data"].as_array().unwrap().iter().all(|link| link["suspect"] == true), "{links}");
        let id = links["data"][0]["id"].as_str().unwrap();
        assert_eq!(server.post(&format!("/api/v1/links/{id}/confirm"), json!({})).await.ok()["suspect"], false);
        assert_eq!(server.get("/api/v1/requirements/REQ-002/links?type=is_required_by").await.ok()["total_count"], 1);
        server.delete(&format!("/api/v1/links/{id}")).await.ok();
        server.delete(&format!("/api/v1/links/{id}")).await.refused(404, 1046);
    }

    //= specs/spexus-service.md#comments
    //= type=test
    //# The anchor of a comment MUST follow the words it quotes when the text around them changes.
    async fn comments_are_threads_with_anchors_that_follow_the_text(server) {
        server.seed().await;
        server.patch("/api/v1/epics/EP-001", json!({"description": "Система должна отвечать быстро."})).await.ok();
        let anchored = json!({"content": "Как быстро?", "anchor": {"quote": "быстро"}});
        let comment = server.post("/api/v1/epics/EP-001/comments", anchored).await.created();
        assert_eq!((&comment["anchor"]["start"], &comment["anchor"]["end"]), (&json!(24), &json!(30)), "characters, not bytes");
        let id = comment["id"].as_str().unwrap();
        let answer = server.post("/api/v1/epics/EP-001/comments", json!({"content": "Одна секунда.", "parent_id": id})).await.created();
        assert_eq!(answer["depth"], 1);
        server.patch("/api/v1/epics/EP-001", json!({"description": "Всегда: система должна отвечать быстро."})).await.ok();
        assert_eq!(server.get(&format!("/api/v1/comments/{id}")).await.ok()["anchor"]["start"], 32);
        server.patch("/api/v1/epics/EP-001", json!({"description": "Иначе."})).await.ok();
        assert_eq!(server.get(&format!("/api/v1/comments/{id}")).await.ok()["anchor"]["lost"], true);
        assert_eq!(server.patch(&format!("/api/v1/comments/{id}"), json!({"resolved": true})).await.ok()["resolved"], true);
        assert_eq!(server.get("/api/v1/epics/EP-001/comments?only=unresolved").await.ok()["total_count"], 1);
        server.delete(&format!("/api/v1/comments/{id}")).await.refused(409, 1054);
        server.post("/api/v1/user-stories/US-001/comments", json!({"content": "x", "parent_id": id})).await.refused(409, 1054);
        server.post("/api/v1/epics/EP-001/comments", json!({"content": "x", "anchor": {"quote": "нет"}})).await.refused(400, 1021);
    }

    //= specs/spexus-service.md#history
    //= type=test
    //# Every change MUST be told in the history with who made it and what each field was before and after.
    async fn history_tells_every_field_and_baselines_compare(server) {
        server.seed().await;
        server.post("/api/v1/baselines", json!({"name": "v1"})).await.created();
        server.patch("/api/v1/epics/EP-001", json!({"title": "Sign in fast", "assignee": "admin"})).await.ok();
        server.patch("/api/v1/epics/EP-001", json!({"title": "Sign in very fast"})).await.ok();
        server.post("/api/v1/epics", json!({"title": "New"})).await.created();
        server.post("/api/v1/baselines", json!({"name": "v2"})).await.created();
        server.post("/api/v1/baselines", json!({"name": "v2"})).await.refused(409, 1052);
        let history = server.get("/api/v1/epics/EP-001/history").await.ok();
        assert_eq!(history["total_count"], 3);
        assert_eq!(history["data"][0]["fields"], json!([{"field": "title", "before": "Sign in fast", "after": "Sign in very fast"}]));
        let paged = server.get("/api/v1/epics/EP-001/history?limit=1").await.ok();
        let next = paged["next_cursor"].as_str().unwrap();
        assert_eq!(server.get(&format!("/api/v1/epics/EP-001/history?limit=1&cursor={next}")).await.ok()["data"][0]["rev"], 2);
        let diff = server.get("/api/v1/baselines/diff?from=v1&to=v2").await.ok();
        assert_eq!(references(&diff), ["EP-001", "EP-002"]);
        assert_eq!(diff["data"][0]["difference"], "changed");
        assert_eq!(diff["data"][0]["fields"][1], json!({"field": "title", "before": "Sign in", "after": "Sign in very fast"}));
        assert_eq!(diff["data"][1]["difference"], "added");
        server.get("/api/v1/baselines/diff?from=v2&to=v1").await.refused(400, 1021);
        let first = server.get("/api/v1/baselines/diff?from=v1&limit=1").await.ok();
        assert_eq!((references(&first), &first["total_count"]), (vec!["EP-001"], &json!(2)));
        let next = first["next_cursor"].as_str().unwrap();
        // What happens between two pages belongs to the next question.
        server.post("/api/v1/epics", json!({"title": "Later"})).await.created();
        let second = server.get(&format!("/api/v1/baselines/diff?from=v1&limit=1&cursor={next}")).await.ok();
        assert_eq!((references(&second), second.get("next_cursor")), (vec!["EP-002"], None));
        server.get(&format!("/api/v1/baselines/diff?from=v2&cursor={next}")).await.refused(400, 1021);
        assert_eq!(server.get("/api/v1/audit/verify").await.ok()["intact"], true);
    }

    //= specs/spexus-service.md#reports
    //= type=test
    //# A report of status and of gaps MUST be the same to agents, by REST and on the command line.
    async fn reports_count_and_name_gaps(server) {
        server.seed().await;
        server.post("/api/v1/epics", json!({"title": "Empty"})).await.created();
        let counted = server.get("/api/v1/reports/status").await.ok();
        assert_eq!((&counted["total_count"], &counted["kinds"]["epic"]["total"]), (&json!(5), &json!(2)));
        let gaps = server.get("/api/v1/reports/gaps").await.ok();
        assert_eq!(gaps["sections"]["epics_without_stories"], json!({"data": ["EP-002"], "total_count": 1}));
        let below = server.get("/api/v1/reports/gaps?under=US-001").await.ok();
        assert_eq!(below["sections"]["epics_without_stories"], json!({"data": [], "total_count": 0}));
        server.post("/api/v1/epics", json!({"title": "Empty, too"})).await.created();
        let page = server.get("/api/v1/reports/gaps?section=epics_without_stories&limit=1").await.ok();
        assert_eq!((&page["total_count"], page["sections"].as_object().unwrap().len()), (&json!(2), 1));
        let next = page["sections"]["epics_without_stories"]["next_cursor"].as_str().unwrap();
        let rest = server.get(&format!("/api/v1/reports/gaps?limit=1&cursor={next}")).await.ok();
        assert_eq!(rest["sections"], json!({"epics_without_stories": {"data": ["EP-003"], "total_count": 2}}));
        server.get(&format!("/api/v1/reports/gaps?section=cycles&cursor={next}")).await.refused(400, 1021);
        server.get("/api/v1/reports/gaps?section=epics").await.refused(400, 1021);
        server.get("/api/v1/reports/status?under=EP-999").await.refused(404, 1046);
        server.get("/api/v1/reports/status?below=EP-001").await.refused(400, 1021);
    }

    //= specs/spexus-service.md#writing-once
    //= type=test
    //# A request with an idempotency key MUST be carried out once and answered alike every time.
    async fn an_idempotency_key_does_a_thing_once(server) {
        let headers = [("Idempotency-Key", "once-1")];
        let body = Some(json!({"title": "Once"}));
        let first = server.send(&server.token, Method::POST, "/api/v1/epics", body.clone(), &headers).await.created();
        let again = server.send(&server.token, Method::POST, "/api/v1/epics", body, &headers).await.created();
        assert_eq!(first, again);
        assert_eq!(server.get("/api/v1/epics").await.ok()["total_count"], 1);
        let other = server.send(&server.token, Method::POST, "/api/v1/epics", Some(json!({"title": "Other"})), &headers).await;
        other.refused(409, 1054);
    }

    //= specs/spexus-service.md#writing-once
    //= type=test
    //# A batch MUST be carried out whole or not at all.
    //= specs/spexus-service.md#writing-once
    //= type=test
    //# A trial MUST keep nothing.
    async fn a_batch_is_all_or_nothing_and_speaks_of_itself(server) {
        let good = json!([
            {"op": "create", "ref": "e", "kind": "epic", "title": "Reports"},
            {"op": "create", "ref": "s", "kind": "user_story", "parent": "@e", "title": "Export"},
            {"op": "create", "ref": "c", "kind": "acceptance_criterion", "parent": "@s", "description": "A file is downloaded."},
            {"op": "create", "ref": "r", "kind": "requirement", "parent": "@s", "title": "CSV", "acceptance_criterion": "@c"},
            {"op": "link", "source": "@c", "target": "@r", "type": "verifies"},
            {"op": "comment", "item": "@r", "content": "And Excel?"},
            {"op": "update", "id": "@e", "status": "In Progress"},
        ]);
        let trial = server.post("/api/v1/batch", json!({"operations": good, "dry_run": true})).await.ok();
        assert_eq!((&trial["dry_run"], trial["results"].as_array().unwrap().len()), (&json!(true), 7));
        assert_eq!(server.get("/api/v1/epics").await.ok()["total_count"], 0, "a trial keeps nothing");
        let done = server.post("/api/v1/batch", json!({"operations": good})).await.ok();
        assert_eq!(done["results"][3]["label"], "REQ-001");
        assert_eq!(server.get("/api/v1/epics/EP-001").await.ok()["status"], "In Progress");
        let bad = json!([
            {"op": "create", "ref": "e", "kind": "epic", "title": "Lost"},
            {"op": "create", "kind": "user_story", "parent": "@x", "title": "Never"},
        ]);
        let error = server.post("/api/v1/batch", json!({"operations": bad})).await.refused(400, 1021);
        assert_eq!(error["fields"][0]["field"], "operations[1].epic_id");
        assert_eq!(server.get("/api/v1/epics").await.ok()["total_count"], 1, "nothing of it was kept");
        assert_eq!(server.post("/api/v1/epics", json!({"title": "Next"})).await.created()["reference_id"], "EP-002", "and no number was lost");
    }

    async fn projects_have_their_own_numbers_and_attributes(server) {
        server.seed().await;
        let rules = json!([{"name": "team", "type": "choice", "options": ["red", "blue"], "required": true}]);
        server.post("/api/v1/projects", json!({"key": "WEB", "attributes": rules})).await.created();
        let epic = server.post("/api/v1/epics?project=web", json!({"title": "Shop", "attributes": {"team": "red"}})).await.created();
        assert_eq!((&epic["reference_id"], &epic["project"]), (&json!("EP-001"), &json!("web")));
        server.post("/api/v1/epics?project=web", json!({"title": "No team"})).await.refused(400, 1021);
        assert_eq!(server.get("/api/v1/epics/web/EP-001").await.status, 404, "a slash in an id is encoded");
        assert_eq!(server.get("/api/v1/epics/web%2FEP-001").await.ok()["title"], "Shop");
        assert_eq!(server.get("/api/v1/epics/default%2FEP-001").await.ok()["title"], "Sign in");
        server.get("/api/v1/epics/EP-001").await.refused(400, 1021);
        server.get("/api/v1/epics?project=none").await.refused(404, 1046);
        let story = server.post("/api/v1/user-stories", json!({"parent": "web/EP-001", "title": "Cart", "attributes": {"team": "blue"}})).await.created();
        assert_eq!((&story["project"], &story["reference_id"]), (&json!("web"), &json!("US-001")));
    }

    async fn steering_documents_guide_epics(server) {
        server.seed().await;
        server.post("/api/v1/steering-documents", json!({"title": "Security", "description": "No passwords."})).await.created();
        server.post("/api/v1/epics/EP-001/steering-documents/STD-001", json!({})).await.created();
        server.post("/api/v1/epics/ep-1/steering-documents/std-1", json!({})).await.refused(409, 1052);
        let guides = server.get("/api/v1/epics/EP-001/steering-documents").await.ok();
        assert_eq!(guides["data"][0]["source"]["reference_id"], "STD-001");
        server.delete("/api/v1/epics/EP-001/steering-documents/STD-001").await.ok();
        server.delete("/api/v1/epics/EP-001/steering-documents/STD-001").await.refused(404, 1046);
    }

    async fn prompts_are_numbered_and_one_is_active(server) {
        let shipped = server.get("/api/v1/prompts/active").await.ok();
        assert_eq!((&shipped["name"], &shipped["reference_id"]), (&json!("requirements-analyst"), &json!("PROMPT-001")));
        let prompt = json!({"name": "reviewer", "messages": [{"role": "user", "text": "Review {{item}}."}], "arguments": [{"name": "item"}]});
        server.post("/api/v1/prompts", prompt.clone()).await.created();
        server.post("/api/v1/prompts", prompt).await.refused(409, 1051);
        server.post("/api/v1/prompts/reviewer/activate", json!({})).await.ok();
        assert_eq!(server.get("/api/v1/prompts/active").await.ok()["name"], "reviewer");
        assert_eq!(server.get("/api/v1/prompts/PROMPT-001").await.ok()["active"], false);
        server.post("/api/v1/prompts/prompt-2/activate", json!({"active": false})).await.ok();
        server.get("/api/v1/prompts/active").await.refused(404, 1050);
        server.delete("/api/v1/prompts/reviewer").await.ok();
    }
}
