//! Saved views: whose they are, who finds them, and who may change them.

use crate::client::{Client, text};
use crate::world::{Refused, World, both};
use serde_json::{Value, json};

both![
    a_view_is_its_owners_until_it_is_shared,
    a_shared_view_is_changed_by_authors_only,
    views_have_names_of_their_own_and_there_are_not_too_many,
];

/// Somebody who is this in the project `default`.
async fn member(world: &World, role: &str) -> Client {
    let name = format!("a-{role}");
    // What everybody is there must not be more than what this one is.
    let closed = json!({"default_role": "none"});
    world.admin.update_project("default", closed).await.unwrap();
    let secret = world.user(&name, "User").await;
    world
        .admin
        .naming("default")
        .put_member(&name, role)
        .await
        .unwrap();
    world.client(&secret).await.unwrap()
}

fn names(page: &Value) -> Vec<&str> {
    let rows = page["data"].as_array().unwrap().iter();
    rows.map(|row| row["name"].as_str().unwrap()).collect()
}

//= specs/spexus-service.md#saved-views
//= type=test
//# A view that is not shared MUST be found by nobody but who saved it, and a shared one by whoever may see the project.
async fn a_view_is_its_owners_until_it_is_shared(world: &World) {
    let (author, reader) = (member(world, "author").await, member(world, "reader").await);
    let drafts = json!({"name": "Drafts", "page": "table", "query": "?status=Draft&cursor=x"});
    let made = author.save_view(drafts).await.unwrap();
    assert_eq!(
        (&made["query"], &made["shared"]),
        (&json!("status=Draft"), &json!(false))
    );
    let id = text(&made["id"]);
    assert_eq!(names(&author.views().await.unwrap()), ["Drafts"]);
    for other in [&reader, &world.admin] {
        assert_eq!(names(&other.views().await.unwrap()), [""; 0]);
        for named in [id.as_str(), "Drafts"] {
            other.view(named).await.refused(1046);
            other
                .update_view(named, json!({"shared": true}))
                .await
                .refused(1046);
            other.delete_view(named).await.refused(1046);
        }
    }
    author.update_view(&id, json!({"shared": true})).await.unwrap();
    assert_eq!(reader.view("Drafts").await.unwrap()["owner"], "a-author");
    assert_eq!(names(&reader.views().await.unwrap()), ["Drafts"]);
    // Elsewhere it is not there, whatever it is called by.
    world
        .admin
        .create_project(json!({"key": "web", "default_role": "none"}))
        .await
        .unwrap();
    world.admin.naming("web").view(&id).await.refused(1046);
    let closed = json!({"default_role": "none"});
    world.admin.update_project("default", closed).await.unwrap();
    let stranger = world.user("stranger", "User").await;
    let stranger = world.client(&stranger).await.unwrap().naming("default");
    stranger.views().await.refused(1046);
    stranger.view(&id).await.refused(1046);
}

//= specs/spexus-service.md#saved-views
//= type=test
//# Only authors MAY share a view with a project, and change or remove one that is shared.
async fn a_shared_view_is_changed_by_authors_only(world: &World) {
    let author = member(world, "author").await;
    let board = json!({"name": "Ours", "page": "board", "shared": true});
    let shared = text(&author.save_view(board).await.unwrap()["id"]);
    for role in ["reader", "commenter", "reviewer"] {
        let client = member(world, role).await;
        let own = json!({"name": "Mine", "page": "tree"});
        let own = text(&client.save_view(own).await.unwrap()["id"]);
        client
            .update_view(&own, json!({"shared": true}))
            .await
            .refused(1014);
        client.update_view(&own, json!({"name": "My own"})).await.unwrap();
        client.delete_view(&own).await.unwrap();
        let ours = json!({"name": "Everybody's", "page": "tree", "shared": true});
        client.save_view(ours).await.refused(1014);
        client
            .update_view(&shared, json!({"name": "Taken"}))
            .await
            .refused(1014);
        client
            .update_view(&shared, json!({"shared": false}))
            .await
            .refused(1014);
        client.delete_view(&shared).await.refused(1014);
    }
    let stale = json!({"name": "Team", "expect_rev": 7});
    world.admin.update_view(&shared, stale).await.refused(1053);
    let done = world
        .admin
        .update_view(&shared, json!({"name": "Team"}))
        .await
        .unwrap();
    assert_eq!(
        (&done["name"], &done["owner"]),
        (&json!("Team"), &json!("a-author"))
    );
    world.admin.delete_view("Team").await.unwrap();
}

async fn views_have_names_of_their_own_and_there_are_not_too_many(world: &World) {
    let (author, reader) = (member(world, "author").await, member(world, "reader").await);
    let named = |shared: bool| json!({"name": "Drafts", "page": "table", "shared": shared});
    author.save_view(named(true)).await.unwrap();
    author.save_view(named(true)).await.refused(1052);
    let own = author.save_view(named(false)).await.unwrap();
    author.save_view(named(false)).await.refused(1052);
    reader.save_view(named(false)).await.unwrap();
    assert_eq!(
        author.view("Drafts").await.unwrap()["id"],
        own["id"],
        "one's own first"
    );
    let shared = author
        .update_view(&text(&own["id"]), json!({"shared": true}))
        .await;
    shared.refused(1052);
    let odd = json!({"name": "x", "page": "colour"});
    reader.save_view(odd).await.refused(1021);
    for at in 1..100 {
        let one = json!({"name": format!("view {at}"), "page": "table"});
        reader.save_view(one).await.unwrap();
    }
    let one = json!({"name": "one more", "page": "table"});
    reader.save_view(one).await.refused(1054);
}
