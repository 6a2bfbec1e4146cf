//! What a token bound to a project hears of another over streams, at every node. What it is shown is tested with the tools.

use super::Notices;
use super::pair::{self, SECRET, WEB, Who};
use crate::harness::{Server, both};
use serde_json::{Value, json};
use spexus_http::{HttpOptions, McpOptions};

const UPDATED: &str = "notifications/resources/updated";

/// Nothing of the other project stands in it.
fn is_clean(what: &str, answer: &Value) {
    assert!(
        !answer.to_string().contains(SECRET),
        "{what} tells of another project: {answer}"
    );
}

both![
    equal_numbers_of_two_projects_give_no_false_news,
    equal_numbers_give_a_member_of_one_project_no_false_news,
    a_session_at_another_node_hears_of_its_own_project_alone,
    a_session_of_a_member_at_another_node_hears_of_their_project_alone,
    who_is_no_longer_a_member_hears_nothing_more,
];

//= specs/spexus-mcp.md#changes
//= type=test
//# What the caller cannot see MUST be refused like what is not there, and MUST NOT be told of.
//= specs/spexus-mcp.md#changes
//= type=test
//# News MUST be matched by item and project, so that equal references of two projects are never taken for each other.
async fn equal_numbers_of_two_projects_give_no_false_news(server: &mut Server) {
    compare_news(server, Who::BoundToken).await;
}

async fn equal_numbers_give_a_member_of_one_project_no_false_news(server: &mut Server) {
    compare_news(server, Who::Member).await;
}

async fn compare_news(server: &Server, who: Who) {
    pair::seed(server).await;
    let bound = who.agent(server).await;
    let mut notices = bound.listen().await;
    let wishes = [
        "epic://EP-001",
        "epic://EP-001/hierarchy",
        "epic://EP-001/history",
        "requirements://epics",
        "requirements://search?query=x",
        "requirement://REQ-001/comments",
    ];
    for uri in wishes {
        bound.ask("resources/subscribe", json!({ "uri": uri })).await;
    }
    let token = who.token(server, &["read"]).await;
    let mut listener = Notices::listening(server, &token, &wishes).await;
    let free = pair::agent(server, None).await;
    let mut everything = free.listen().await;
    free.ask("resources/subscribe", json!({ "uri": "epic://web/EP-001" }))
        .await;
    // The other project is busy; then one thing happens here.
    server
        .patch(
            "/api/v1/epics/EP-001?project=default",
            json!({ "title": format!("{SECRET} changed") }),
        )
        .await
        .ok();
    server
        .post("/api/v1/epics", json!({ "title": SECRET, "project": "default" }))
        .await
        .created();
    server
        .post(
            "/api/v1/requirements/REQ-001/comments?project=default",
            json!({ "content": SECRET }),
        )
        .await
        .created();
    server
        .patch(
            "/api/v1/epics/EP-001?project=web",
            json!({ "title": format!("{WEB} changed") }),
        )
        .await
        .ok();
    server
        .post(
            "/api/v1/requirements/REQ-001/comments?project=web",
            json!({ "content": WEB }),
        )
        .await
        .created();
    for notices in [&mut notices, &mut listener] {
        let heard = notices.until("requirement://REQ-001/comments").await;
        let uri = |params: &Value| params["uri"].as_str().map(str::to_owned);
        let mut uris: Vec<String> = heard.iter().filter_map(|one| uri(&one["params"])).collect();
        // Lists and searches may be told of after single items.
        while uris.len() < wishes.len() {
            uris.extend(uri(&notices.next(UPDATED).await.unwrap()));
        }
        let mut wanted = wishes.to_vec();
        wanted.sort_unstable();
        uris.sort_unstable();
        assert_eq!(
            uris, wanted,
            "each once, for the change that was made here: {heard:?}"
        );
        let lists = heard
            .iter()
            .filter(|one| one["method"] == "notifications/resources/list_changed")
            .count();
        assert_eq!(lists, 0, "no item came or went here: {heard:?}");
        heard.iter().for_each(|one| is_clean("a notification", one));
    }
    assert_eq!(
        everything.next(UPDATED).await.unwrap()["uri"],
        "epic://web/EP-001"
    );
    server
        .post("/api/v1/epics", json!({ "title": WEB, "project": "web" }))
        .await
        .created();
    assert!(
        notices
            .next("notifications/resources/list_changed")
            .await
            .is_some()
    );
}

/// A session that goes on at another node hears there what it would have heard here.
async fn a_session_at_another_node_hears_of_its_own_project_alone(server: &mut Server) {
    go_on_elsewhere(server, Who::BoundToken).await;
}

async fn a_session_of_a_member_at_another_node_hears_of_their_project_alone(server: &mut Server) {
    go_on_elsewhere(server, Who::Member).await;
}

async fn go_on_elsewhere(server: &Server, who: Who) {
    pair::seed(server).await;
    let two = Server::second_node(server, HttpOptions::default()).await;
    let bound = who.agent(server).await;
    bound
        .ask("resources/subscribe", json!({ "uri": "epic://EP-001" }))
        .await;
    bound
        .ask("resources/subscribe", json!({ "uri": "requirement://REQ-001" }))
        .await;
    let mut there = bound.at(&two).listen().await;
    server
        .patch(
            "/api/v1/epics/EP-001?project=default",
            json!({ "title": format!("{SECRET} changed") }),
        )
        .await
        .ok();
    server
        .post("/api/v1/epics", json!({ "title": SECRET, "project": "default" }))
        .await
        .created();
    server
        .patch(
            "/api/v1/requirements/REQ-001?project=web",
            json!({ "title": format!("{WEB} changed") }),
        )
        .await
        .ok();
    let heard = there.until("requirement://REQ-001").await;
    // The other node may hear only now that somebody became a member, which is about tools.
    let of_resources = |one: &&Value| {
        one["method"]
            .as_str()
            .is_some_and(|name| name.contains("resources"))
    };
    assert_eq!(heard.iter().filter(of_resources).count(), 1, "{heard:?}");
    drop(there);
    two.stop().await;
}

//= specs/spexus-mcp.md#rights
//= type=test
//# Whoever is no longer a member of a project MUST be told nothing of it from then on, by sessions and listeners that are open.
async fn who_is_no_longer_a_member_hears_nothing_more(server: &mut Server) {
    pair::seed(server).await;
    let member = Who::Member.agent(server).await;
    let default = "/api/v1/projects/default/members/member";
    server.put(default, json!({ "role": "reader" })).await.ok();
    let wishes = ["epic://web/EP-001", "epic://default/EP-001"];
    let mut notices = member.listen().await;
    for uri in wishes {
        member.ask("resources/subscribe", json!({ "uri": uri })).await;
    }
    let token = Who::Member.token(server, &["read"]).await;
    let mut listener = Notices::listening(server, &token, &wishes).await;
    let change = async |project: &str, title: &str| {
        let path = format!("/api/v1/epics/EP-001?project={project}");
        server.patch(&path, json!({ "title": title })).await.ok();
    };
    change("default", "Seen").await;
    for notices in [&mut notices, &mut listener] {
        notices.until("epic://default/EP-001").await;
    }
    server.delete(default).await;
    change("default", SECRET).await;
    server
        .post("/api/v1/epics", json!({ "title": SECRET, "project": "default" }))
        .await
        .created();
    change("web", "Mine").await;
    for notices in [&mut notices, &mut listener] {
        let heard = notices.until("epic://web/EP-001").await;
        let told = json!(heard).to_string();
        assert!(!told.contains("default"), "{told}");
        assert!(!told.contains("resources/list_changed"), "{told}");
    }
    let refused = member
        .refused("resources/read", json!({ "uri": "epic://default/EP-001" }))
        .await;
    is_clean("resources/read", &refused);
    // And again when they are back.
    server.put(default, json!({ "role": "reader" })).await.ok();
    change("default", "Seen again").await;
    for notices in [&mut notices, &mut listener] {
        notices.until("epic://default/EP-001").await;
    }
}

// proves 002 Req-Res-011
//= specs/spexus-mcp.md#rights
//= type=test
//# File roots and apps belong to no project: a token bound to one MUST NOT see or use them, unless the operator says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_installation_are_for_bound_tokens_only_where_the_operator_says_so() {
    for shares in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("plan.md"), SECRET).unwrap();
        let options = McpOptions {
            roots: vec![folder.path().to_owned()],
            share_with_bound_tokens: shares,
            ..McpOptions::default()
        };
        let server = Server::with(options).await;
        pair::seed(&server).await;
        let root = pair::agent(&server, None)
            .await
            .ask("roots/list", json!({}))
            .await;
        let uri = format!("{}/plan.md", root["roots"][0]["uri"].as_str().unwrap());
        let bound = pair::agent(&server, Some("web")).await;
        for (method, params) in [
            ("roots/list", json!({})),
            ("resources/read", json!({ "uri": uri })),
            ("resources/subscribe", json!({ "uri": uri })),
        ] {
            let answer = bound.request(method, params).await;
            assert_eq!(answer.get("error").is_some(), !shares, "{method}: {answer}");
        }
        // Found by review: the pattern of files could be completed with the names of them all.
        let completed = async |pattern: &str| {
            let reference = json!({ "type": "ref/resource", "uri": pattern });
            let wish = json!({ "ref": reference, "argument": { "name": "path", "value": "" } });
            let answer = bound.request("completion/complete", wish).await;
            (
                answer["result"].clone(),
                answer["error"].to_string().replace(pattern, ""),
            )
        };
        let free = pair::agent(&server, None).await;
        let patterns = free.ask("resources/templates/list", json!({})).await;
        let patterns = patterns["resourceTemplates"].as_array().unwrap();
        let pattern = patterns
            .iter()
            .find_map(|one| one["uriTemplate"].as_str().filter(|uri| uri.starts_with("file:")));
        let (names, refused) = completed(pattern.unwrap()).await;
        assert_eq!(names.is_null(), !shares, "{names} {refused}");
        assert_eq!(names.to_string().contains("plan.md"), shares, "{names} {refused}");
        if !shares {
            assert_eq!(refused, completed("file:///{+none}").await.1);
        }
        let nothing = format!("{}/none.md", root["roots"][0]["uri"].as_str().unwrap());
        if !shares {
            let there = bound.refused("resources/read", json!({ "uri": uri })).await;
            let missing = bound.refused("resources/read", json!({ "uri": nothing })).await;
            assert_eq!(
                there.to_string().replace(&uri, ""),
                missing.to_string().replace(&nothing, ""),
                "whether a file is there is not told"
            );
        }
        let templates = bound.ask("resources/templates/list", json!({})).await.to_string();
        assert_eq!(templates.contains("file:"), shares, "{templates}");
        let mut listed = bound.ask("resources/list", json!({})).await;
        let mut all = listed.to_string();
        while let Some(cursor) = listed.get("nextCursor").cloned() {
            listed = bound.ask("resources/list", json!({ "cursor": cursor })).await;
            all.push_str(&listed.to_string());
        }
        assert_eq!(all.contains("plan.md"), shares, "{all}");
        server.stop().await;
    }
}
