//! Two projects with the same numbers in them: nothing is ever done in the wrong one, and nothing is guessed.

use crate::harness::{Server, on_both};
use reqwest::Method;
use serde_json::{Value, json};
use spexus_service::account::login;
use spexus_service::item;

/// `default` and `web`, each with EP-001, US-001, AC-001 and REQ-001; `web` has REQ-002 beside it. The ids of web's.
async fn twins(server: &Server) -> Value {
    server.seed().await;
    let web = json!({"key": "web"});
    server.post("/api/v1/projects", web).await.created();
    let operations = json!([
        {"op": "create", "ref": "ep", "kind": "epic", "title": "Web epic"},
        {"op": "create", "ref": "us", "kind": "user_story", "parent": "@ep", "title": "Web story"},
        {"op": "create", "ref": "ac", "kind": "acceptance_criterion", "parent": "@us", "description": "Web criterion"},
        {"op": "create", "ref": "req", "kind": "requirement", "parent": "@us", "title": "Web requirement"},
        {"op": "create", "ref": "two", "kind": "requirement", "parent": "@us", "title": "Web's second"},
    ]);
    let batch = json!({"project": "web", "operations": operations});
    let made = server.post("/api/v1/batch", batch).await.ok();
    let mut ids = json!({});
    for result in made["results"].as_array().unwrap() {
        ids[result["ref"].as_str().unwrap()] = result["id"].clone();
    }
    ids
}

fn id<'a>(ids: &'a Value, name: &str) -> &'a str {
    ids[name].as_str().unwrap()
}

/// A token of a user, bound to a project.
async fn bound(server: &Server, user: &str, name: &str, project: &str) -> String {
    let input = json!({"name": name, "project": project, "scopes": ["admin"]});
    let made = server.post(&format!("/api/v1/tokens?user={user}"), input).await;
    made.created()["token"].as_str().unwrap().to_owned()
}

on_both! {
    //= specs/spexus-service.md#projects
    //= type=test
    //# A reference id without a project MUST mean the item of the only project that has it; where several have it, it MUST be
    //# refused with all of them.
    async fn a_reference_two_projects_have_is_never_guessed(server) {
        let ids = twins(server).await;
        let head = server.chain_head().await;
        for (method, path, body) in [
            (Method::GET, "/api/v1/requirements/REQ-001", None),
            (Method::GET, "/api/v1/items/req-1", None),
            (Method::GET, "/api/v1/hierarchy/EP-001", None),
            (Method::GET, "/api/v1/requirements/REQ-001/history", None),
            (Method::GET, "/api/v1/requirements/REQ-001/links", None),
            (Method::GET, "/api/v1/requirements?parent=US-001", None),
            (Method::GET, "/api/v1/reports/status?under=EP-001", None),
            (Method::PATCH, "/api/v1/requirements/REQ-001", Some(json!({"priority": 1}))),
            (Method::DELETE, "/api/v1/requirements/REQ-001", None),
            (Method::POST, "/api/v1/requirements/REQ-001/comments", Some(json!({"content": "x"}))),
            (Method::POST, "/api/v1/user-stories/US-001/requirements", Some(json!({"title": "x"}))),
            (Method::POST, "/api/v1/links", Some(json!({"source": "REQ-002", "target": "REQ-001", "type": "blocks"}))),
            (Method::POST, "/api/v1/batch", Some(json!({"operations": [{"op": "update", "id": "REQ-001", "priority": 1}]}))),
        ] {
            let error = server.send(&server.token, method.clone(), path, body, &[]).await.refused(400, 1021);
            let allowed = error["fields"][0]["allowed"].as_str().unwrap();
            assert!(allowed.starts_with("default/") && allowed.contains(", web/"), "{method} {path}: {error}");
        }
        assert_eq!(server.chain_head().await, head, "nothing was written anywhere");
        // What only one project has needs no name, and each of the twins has one.
        assert_eq!(server.get("/api/v1/requirements/REQ-002").await.ok()["id"], ids["two"]);
        assert_eq!(server.get("/api/v1/requirements/web%2FREQ-001").await.ok()["id"], ids["req"]);
        assert_eq!(server.get("/api/v1/requirements/REQ-001?project=web").await.ok()["id"], ids["req"]);
        assert_eq!(server.get("/api/v1/requirements/default%2FREQ-001").await.ok()["project"], "default");
        // A deleted twin keeps its name: who means it must not hit the other.
        server.delete("/api/v1/requirements/web%2FREQ-001").await.ok();
        server.patch("/api/v1/requirements/REQ-001", json!({"priority": 1})).await.refused(400, 1021);
        assert_eq!(server.post("/api/v1/requirements/web%2FREQ-001/restore", json!({})).await.ok()["id"], ids["req"]);
    }

    //= specs/spexus-service.md#projects
    //= type=test
    //# A request that names a project MUST be refused when an id it gives, be it a UUID, belongs to another project.
    async fn a_uuid_of_another_project_than_the_one_named_is_refused(server) {
        let ids = twins(server).await;
        let (head, req) = (server.chain_head().await, id(&ids, "req"));
        for wanted in [req, "web%2FREQ-001", "web%2FREQ-099"] {
            for (method, tail, body) in [
                (Method::GET, "", None),
                (Method::PATCH, "", Some(json!({"priority": 1}))),
                (Method::DELETE, "", None),
                (Method::POST, "/comments", Some(json!({"content": "x"}))),
            ] {
                let path = format!("/api/v1/requirements/{wanted}{tail}?project=default");
                let error = server.send(&server.token, method, &path, body, &[]).await.refused(400, 1021);
                assert_eq!(error["fields"][0]["field"], "project", "{error}");
                assert_eq!(error["fields"][0]["allowed"], "web, or leave it out", "{error}");
            }
        }
        let child = json!({"title": "x", "parent": id(&ids, "us"), "project": "default"});
        server.post("/api/v1/requirements", child).await.refused(400, 1021);
        let link = json!({"source": "REQ-001", "target": req, "type": "blocks"});
        server.post("/api/v1/links?project=default", link).await.refused(400, 1021);
        server.get(&format!("/api/v1/requirements?parent={}&project=default", id(&ids, "us"))).await.refused(400, 1021);
        assert_eq!(server.chain_head().await, head, "nothing was written anywhere");
    }

    //= specs/spexus-service.md#projects
    //= type=test
    //# What is made inside something MUST be made in the project of that.
    async fn a_child_is_made_where_its_container_is(server) {
        let ids = twins(server).await;
        for parent in [id(&ids, "us"), "web/US-001"] {
            let made = server.post("/api/v1/requirements", json!({"title": "x", "parent": parent})).await.created();
            assert_eq!((&made["project"], &made["parent"]), (&json!("web"), &json!("US-001")), "{made}");
        }
        // What has to be in the same project is looked up there.
        let served = json!({"title": "x", "parent": "web/US-001", "acceptance_criterion": "AC-001"});
        let served = server.post("/api/v1/requirements", served).await.created();
        assert_eq!((&served["project"], &served["acceptance_criterion"]), (&json!("web"), &json!("AC-001")));
        let serving = format!("/api/v1/requirements?acceptance_criterion={}", id(&ids, "ac"));
        assert_eq!(server.get(&serving).await.ok()["data"][0]["id"], served["id"]);
        let moved = server.post("/api/v1/requirements/REQ-002/move", json!({"before": "REQ-001"})).await.ok();
        assert_eq!(moved["project"], "web");
        assert_eq!(server.post("/api/v1/epics", json!({"title": "x"})).await.created()["project"], "default");
    }

    //= specs/spexus-service.md#projects
    //= type=test
    //# A list of what is in or below an item MUST be of the project of that item.
    async fn a_list_below_an_item_of_another_project_is_not_empty(server) {
        let ids = twins(server).await;
        for filter in [format!("parent={}", id(&ids, "us")), "under=web%2FEP-001".to_owned()] {
            let found = server.get(&format!("/api/v1/requirements?{filter}")).await.ok();
            assert_eq!(found["total_count"], 2, "{filter}: {found}");
            let hits = server.get(&format!("/api/v1/search?query=web&{filter}&kinds=requirement")).await.ok();
            assert_eq!(hits["data"].as_array().unwrap().len(), 2, "{filter}: {hits}");
        }
        let two = format!("/api/v1/requirements?parent={}&under=default%2FEP-001", id(&ids, "us"));
        server.get(&two).await.refused(400, 1021);
    }

    // The review's D1: a local name became the reference id, which the next operation looked up in the default project.
    //= specs/spexus-service.md#projects
    //= type=test
    //# A local name of a batch MUST mean the item it was given to, in whichever project that is.
    async fn a_batch_never_writes_into_the_wrong_project(server) {
        twins(server).await;
        let before = server.get("/api/v1/changes?project=default&limit=200").await.ok();
        let operations = json!([
            {"op": "create", "ref": "epic", "kind": "epic", "title": "W2", "project": "web"},
            {"op": "create", "ref": "story", "kind": "user_story", "parent": "@epic", "title": "meant for web"},
            {"op": "comment", "item": "@epic", "content": "meant for web"},
            {"op": "update", "id": "@epic", "expect_rev": 1, "priority": 1},
            {"op": "move", "id": "@story", "project": "web"},
            {"op": "link", "source": "@epic", "target": "web/EP-001", "type": "relates_to"},
        ]);
        let done = server.post("/api/v1/batch", json!({"operations": operations})).await.ok();
        let epic = server.get(&format!("/api/v1/items/{}", done["results"][0]["id"].as_str().unwrap())).await.ok();
        assert_eq!((&epic["project"], &epic["reference_id"], &epic["priority"]), (&json!("web"), &json!("EP-002"), &json!(1)));
        let story = server.get("/api/v1/user-stories/US-002").await.ok();
        assert_eq!((&story["project"], &story["parent"]), (&json!("web"), &json!("EP-002")));
        assert_eq!(server.get("/api/v1/epics/EP-002/comments").await.ok()["total_count"], 1);
        assert_eq!(server.get("/api/v1/changes?project=default&limit=200").await.ok(), before, "default was not touched");
    }

    // The review's D4: `project` of an operation was accepted and ignored.
    //= specs/spexus-service.md#projects
    //= type=test
    //# A `project` that is accepted MUST be obeyed, and one that contradicts what the request names otherwise MUST be refused.
    async fn a_project_that_is_given_is_obeyed_or_refused(server) {
        let ids = twins(server).await;
        let made = json!({"operations": [{"op": "create", "kind": "epic", "title": "X", "project": "web"}]});
        let made = server.post("/api/v1/batch", made).await.ok();
        let made = server.get(&format!("/api/v1/epics/{}", made["results"][0]["id"].as_str().unwrap())).await.ok();
        assert_eq!(made["project"], "web");
        let head = server.chain_head().await;
        for (batch, field) in [
            (json!({"project": "default", "operations": [{"op": "create", "kind": "epic", "title": "X", "project": "web"}]}), "operations[0].project"),
            (json!({"operations": [{"op": "update", "id": ids["req"], "priority": 1, "project": "default"}]}), "operations[0].project"),
            (json!({"project": "default", "operations": [{"op": "delete", "id": "web/REQ-001"}]}), "operations[0].project"),
            (json!({"operations": [
                {"op": "create", "ref": "e", "kind": "epic", "title": "X", "project": "web"},
                {"op": "comment", "item": "@e", "content": "x", "project": "default"}]}), "operations[1].project"),
            (json!({"operations": [{"op": "unlink", "id": ids["req"], "project": "web"}]}), "operations[0].project"),
            (json!({"operations": [{"op": "create", "kind": "epic", "title": "X", "project": "nowhere"}]}), "operations[0].project"),
        ] {
            let reply = server.post("/api/v1/batch", batch.clone()).await;
            assert!([400, 404].contains(&reply.status), "{batch}: {}", reply.body);
            assert_eq!(reply.body["error"]["fields"][0]["field"], field, "{batch}: {}", reply.body);
        }
        assert_eq!(server.chain_head().await, head);
    }

    //= specs/spexus-http.md#refusals
    //= type=test
    //# What a request says twice, in its address or a header and in its body, MUST be said alike, else it MUST be refused.
    async fn what_is_said_twice_is_said_alike(server) {
        twins(server).await;
        let epic = json!({"title": "x", "project": "web"});
        let error = server.post("/api/v1/epics?project=default", epic.clone()).await.refused(400, 1021);
        assert_eq!(error["fields"][0]["field"], "project");
        assert_eq!(server.post("/api/v1/epics?project=WEB", epic).await.created()["project"], "web");
        let patch = Some(json!({"priority": 1, "expect_rev": 1}));
        let headers = [("If-Match", "\"2\"")];
        let path = "/api/v1/requirements/REQ-002";
        let error = server.send(&server.token, Method::PATCH, path, patch.clone(), &headers).await.refused(400, 1021);
        assert_eq!(error["fields"][0]["field"], "expect_rev");
        server.send(&server.token, Method::PATCH, path, patch, &[("If-Match", "\"1\"")]).await.ok();
        for query in ["history?only=x", "history?fields=id"] {
            server.get(&format!("{path}/{query}")).await.refused(400, 1021);
        }
        server.get("/api/v1/epics/web%2FEP-001/user-stories?only=epic").await.refused(400, 1021);
        server.get("/api/v1/changes/stream?limit=5").await.refused(400, 1021);
        server.get("/api/v1/search?query=sign&order_by=title").await.refused(400, 1021);
        server.get("/api/v1/search?query=sign&fields=nonsense").await.refused(400, 1021);
        let hits = server.get("/api/v1/search?query=sign&fields=reference_id,title").await.ok();
        assert_eq!(hits["data"][0], json!({"reference_id": "EP-001", "title": "Sign in"}));
    }

    // The review's H4 and D2: consent to the deletion of web/REQ-001 deleted default/REQ-001.
    //= specs/spexus-service.md#rules
    //= type=test
    //# What was shown MUST be deleted by its UUID and in the revision that was shown.
    async fn consent_to_a_deletion_never_deletes_another_projects_twin(server) {
        let ids = twins(server).await;
        // One link each, so that nothing but the item itself differs between the two.
        let web = json!({"source": ids["req"], "target": ids["two"], "type": "relates_to"});
        server.post("/api/v1/links", web).await.created();
        server.post("/api/v1/requirements?project=default", json!({"title": "y", "parent": "US-001"})).await.created();
        let other = json!({"source": "REQ-001", "target": "REQ-002", "type": "relates_to"});
        server.post("/api/v1/links?project=default", other).await.created();
        let service = &server.service;
        let caller = login::local(service, None, "exam").await.unwrap();
        let shown = item::preview(service, &caller, None, None, id(&ids, "req")).await.unwrap();
        assert_eq!((shown.id.to_string(), shown.rev), (id(&ids, "req").to_owned(), 1));
        assert_eq!((shown.project.as_str(), shown.title.as_str()), ("web", "Web requirement"));
        // A revision later it is not what was shown any more.
        server.patch("/api/v1/requirements/web%2FREQ-001", json!({"title": "Changed"})).await.ok();
        let stale = item::delete_agreed(service, &caller, None, shown, None).await.unwrap_err();
        assert_eq!(stale.code.name(), "STALE_REVISION");
        let shown = item::preview(service, &caller, None, None, "web/REQ-001").await.unwrap();
        let named = item::delete_agreed(service, &caller, Some("default"), shown.clone(), None).await.unwrap_err();
        assert_eq!(named.faults[0].field, "project", "another project than the one shown");
        item::delete_agreed(service, &caller, None, shown, None).await.unwrap();
        assert_eq!(server.get("/api/v1/requirements/web%2FREQ-001").await.status, 404);
        assert_eq!(server.get("/api/v1/requirements/default%2FREQ-001").await.ok()["rev"], 1);
    }

    // The review's H7: a key was answered whichever project its token was bound to.
    //= specs/spexus-service.md#writing-once
    //= type=test
    //# A key MUST count only among requests with the same binding to a project that name the same project.
    async fn two_tokens_of_one_user_do_not_share_an_idempotency_key(server) {
        twins(server).await;
        server.user("kim", "User").await;
        let (web, default) = (bound(server, "kim", "w", "web").await, bound(server, "kim", "d", "default").await);
        let key = [("Idempotency-Key", "once")];
        let epic = || Some(json!({"title": "Once"}));
        let mut made = Vec::new();
        for (token, path) in [(&web, "/api/v1/epics"), (&default, "/api/v1/epics")] {
            let first = server.send(token, Method::POST, path, epic(), &key).await.created();
            let again = server.send(token, Method::POST, path, epic(), &key).await.created();
            assert_eq!(first, again);
            made.push(first["project"].clone());
        }
        assert_eq!(made, ["web", "default"]);
        let batch = || Some(json!({"operations": [{"op": "create", "kind": "epic", "title": "Once more"}]}));
        let key = [("Idempotency-Key", "more")];
        let first = server.send(&web, Method::POST, "/api/v1/batch", batch(), &key).await.ok();
        let other = server.send(&default, Method::POST, "/api/v1/batch", batch(), &key).await.ok();
        assert_ne!(first["results"][0]["id"], other["results"][0]["id"]);
        // The same key in two projects of one token does not clash either.
        let key = [("Idempotency-Key", "third")];
        let mut ids = Vec::new();
        for path in ["/api/v1/epics?project=web", "/api/v1/epics?project=default", "/api/v1/epics?project=web"] {
            ids.push(server.send(&server.token, Method::POST, path, epic(), &key).await.created()["id"].clone());
        }
        assert!(ids[0] != ids[1] && ids[0] == ids[2], "{ids:?}");
    }

    //= specs/spexus-service.md#projects
    //= type=test
    //# A token bound to a project MUST list and revoke only tokens bound to the same project.
    //= specs/spexus-service.md#projects
    //= type=test
    //# A token bound to a project MUST be told no more of other people than their names.
    async fn a_bound_token_knows_neither_its_owners_other_tokens_nor_other_peoples_roles(server) {
        twins(server).await;
        let free = server.user("root", "Administrator").await;
        let web = bound(server, "root", "TOPSECRET-web", "web").await;
        bound(server, "root", "second", "web").await;
        bound(server, "root", "elsewhere", "default").await;
        let all = server.send(&free, Method::GET, "/api/v1/tokens", None, &[]).await.ok();
        let names = |page: &Value| -> Vec<String> {
            let rows = page["data"].as_array().unwrap().iter();
            rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&all).len(), 4);
        let own = server.send(&web, Method::GET, "/api/v1/tokens", None, &[]).await.ok();
        assert_eq!(names(&own), ["TOPSECRET-web", "second"]);
        for token in all["data"].as_array().unwrap() {
            let path = format!("/api/v1/tokens/{}", token["id"].as_str().unwrap());
            let expect = match token["name"].as_str().unwrap() {
                "TOPSECRET-web" => continue,
                "second" => 200,
                _ => 404,
            };
            assert_eq!(server.send(&web, Method::DELETE, &path, None, &[]).await.status, expect, "{token}");
        }
        let people = server.send(&web, Method::GET, "/api/v1/users", None, &[]).await.ok();
        for person in people["data"].as_array().unwrap() {
            let told: Vec<&String> = person.as_object().unwrap().keys().collect();
            assert_eq!(told, ["active", "id", "username"], "{person}");
        }
        assert_eq!(server.get("/api/v1/users").await.ok()["data"][0]["role"], "Administrator");
    }

    // The review's H7: a bound token read the other end of a link, confirmed it and ended it.
    //= specs/spexus-service.md#projects
    //= type=test
    //# A link whose other end is in a project the caller may not see MUST be counted, and nothing else of that end shown.
    //= specs/spexus-service.md#projects
    //= type=test
    //# A link MUST be made, confirmed, ended or brought back only by a caller who may see both its ends.
    //= specs/spexus-service.md#projects
    //= type=test
    //# The history and the feed MUST NOT name an item the caller may not see.
    async fn a_bound_token_neither_reads_nor_ends_a_link_into_another_project(server) {
        let ids = twins(server).await;
        server.user("kim", "User").await;
        let web = bound(server, "kim", "w", "web").await;
        server.post("/api/v1/requirements?project=default", json!({"title": "TOPSECRET text", "parent": "US-001"})).await.created();
        let secret = server.get("/api/v1/requirements/default%2FREQ-002").await.ok();
        let link = json!({"source": ids["req"], "target": secret["id"], "type": "depends_on"});
        let out = server.post("/api/v1/links", link).await.created();
        let link = json!({"source": secret["id"], "target": ids["two"], "type": "blocks"});
        let inward = server.post("/api/v1/links", link).await.created();
        server.patch("/api/v1/requirements/default%2FREQ-002", json!({"title": "TOPSECRET still"})).await.ok();
        let other = format!("/api/v1/requirements/{}/history", secret["id"].as_str().unwrap());
        let before = server.get(&other).await.ok();
        let ask = |method: Method, path: String, body: Option<Value>| {
            let (server, web) = (&*server, &web);
            async move { server.send(web, method, &path, body, &[]).await }
        };
        for (own, hidden) in [("REQ-001", &out), ("REQ-002", &inward)] {
            let links = ask(Method::GET, format!("/api/v1/requirements/{own}/links"), None).await.ok();
            assert_eq!(links, json!({"data": [], "total_count": 0, "hidden_count": 1}));
            let history = ask(Method::GET, format!("/api/v1/requirements/{own}/history"), None).await.ok();
            assert!(history.to_string().contains("(another project)"), "{history}");
            let id = hidden["id"].as_str().unwrap();
            ask(Method::POST, format!("/api/v1/links/{id}/confirm"), None).await.refused(403, 1014);
            ask(Method::DELETE, format!("/api/v1/links/{id}"), None).await.refused(403, 1014);
            let unlink = json!({"operations": [{"op": "unlink", "id": id}]});
            ask(Method::POST, "/api/v1/batch".into(), Some(unlink)).await.refused(403, 1014);
            // Deleting the end that can be seen would end the link all the same.
            let preview = ask(Method::GET, format!("/api/v1/requirements/{own}/deletion-preview"), None).await.ok();
            assert_eq!((&preview["forbidden"], &preview["links"]), (&json!(true), &json!(1)), "{preview}");
            ask(Method::DELETE, format!("/api/v1/requirements/{own}?force=true"), None).await.refused(409, 1054);
        }
        ask(Method::DELETE, "/api/v1/epics/EP-001?force=true".into(), None).await.refused(409, 1054);
        assert_eq!(server.get(&other).await.ok(), before, "the other project's history is as it was");
        // Who may see both ends is shown both, with their projects.
        let links = server.get("/api/v1/requirements/web%2FREQ-001/links").await.ok();
        assert_eq!((&links["data"][0]["target"]["project"], &links["data"][0]["target"]["title"]), (&json!("default"), &json!("TOPSECRET still")));
        assert_eq!(links.get("hidden_count"), None);
        // What fell with the link comes back only by someone who may bring the link back.
        server.delete("/api/v1/requirements/web%2FREQ-001?force=true").await.ok();
        ask(Method::POST, "/api/v1/requirements/REQ-001/restore".into(), None).await.refused(403, 1014);
        server.post("/api/v1/requirements/web%2FREQ-001/restore", json!({})).await.ok();
    }
}
