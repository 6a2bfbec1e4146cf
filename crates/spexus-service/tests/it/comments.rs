//! Comments: threads, anchors, and whose they are.

use crate::client::uuid;
use crate::world::{Refused, World, both};
use serde_json::json;

both![
    comments_are_threads_with_anchors_that_follow_the_text,
    comments_belong_to_their_authors
];

//= specs/spexus-service.md#comments
//= type=test
//# The anchor of a comment MUST follow the words it quotes when the text around them changes.
async fn comments_are_threads_with_anchors_that_follow_the_text(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    let describe = async |text: &str| {
        admin
            .update("EP-001", json!({ "description": text }))
            .await
            .unwrap()
    };
    describe("Система должна отвечать быстро.").await;
    let anchored = json!({"content": "Как быстро?", "anchor": {"quote": "быстро"}});
    let comment = admin.comment("EP-001", anchored).await.unwrap();
    let place = (&comment["anchor"]["start"], &comment["anchor"]["end"]);
    assert_eq!(place, (&json!(24), &json!(30)), "characters, not bytes");
    let id = uuid(&comment["id"]);
    let answer = json!({"content": "Одна секунда.", "parent_id": id});
    let answer = admin.comment("EP-001", answer).await.unwrap();
    assert_eq!(answer["depth"], 1);
    describe("Всегда: система должна отвечать быстро.").await;
    assert_eq!(admin.get_comment(id).await.unwrap()["anchor"]["start"], 32);
    describe("Иначе.").await;
    assert_eq!(admin.get_comment(id).await.unwrap()["anchor"]["lost"], true);
    let settled = admin.update_comment(id, json!({"resolved": true})).await.unwrap();
    assert_eq!(settled["resolved"], true);
    assert_eq!(
        admin.comments("EP-001", Some(false)).await.unwrap()["total_count"],
        1
    );
    admin.delete_comment(id).await.refused(1054);
    let elsewhere = json!({"content": "x", "parent_id": id});
    admin.comment("US-001", elsewhere).await.refused(1054);
    let nowhere = json!({"content": "x", "anchor": {"quote": "нет"}});
    admin.comment("EP-001", nowhere).await.refused(1021);
}

//= specs/spexus-service.md#comments
//= type=test
//# Only its author, the owners of the project and administrators MAY change or remove what a comment says.
async fn comments_belong_to_their_authors(world: &World) {
    world.seed().await;
    let mut people = Vec::new();
    for (name, role) in [("carl", "Commenter"), ("kim", "User"), ("ann", "Commenter")] {
        let secret = world.user(name, role).await;
        people.push(world.client(&secret).await.unwrap());
    }
    let [carl, kim, ann] = &people[..] else {
        panic!("three people")
    };
    let made = carl.comment("EP-001", json!({"content": "Mine."})).await.unwrap();
    let id = uuid(&made["id"]);
    for other in [kim, ann] {
        other
            .update_comment(id, json!({"content": "Not mine."}))
            .await
            .refused(1014);
        other.delete_comment(id).await.refused(1014);
    }
    let resolved = || json!({"resolved": true});
    ann.update_comment(id, resolved()).await.refused(1014);
    assert_eq!(
        kim.update_comment(id, resolved()).await.unwrap()["resolved"],
        true
    );
    let own = carl
        .update_comment(id, json!({"content": "Still mine."}))
        .await
        .unwrap();
    assert_eq!(own["author"], "carl");
    let moderated = world
        .admin
        .update_comment(id, json!({"content": "Moderated."}))
        .await
        .unwrap();
    assert_eq!(moderated["author"], "carl");
    carl.delete_comment(id).await.unwrap();
}
