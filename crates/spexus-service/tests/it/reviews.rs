//! Reviews: who is asked, who decides, what an approval is good for, and what the ledger keeps of it.

use crate::client::{Client, text};
use crate::world::{Refused, World, both};
use serde_json::{Value, json};

both![
    a_review_is_decided_by_those_who_are_asked,
    what_was_changed_is_asked_about_again,
    a_review_of_everything_since_a_baseline,
    an_agent_is_asked_and_answers,
    who_may_not_see_the_project_finds_no_review,
    what_does_not_fit_is_refused,
];

/// Somebody who is this in the project `default`.
async fn member(world: &World, name: &str, role: &str) -> Client {
    // What everybody is there must not be more than what this one is.
    let closed = json!({"default_role": "none"});
    world.admin.update_project("default", closed).await.unwrap();
    let secret = world.user(name, "User").await;
    world
        .admin
        .naming("default")
        .put_member(name, role)
        .await
        .unwrap();
    world.client(&secret).await.unwrap()
}

fn asked(items: Value, reviewers: Value) -> Value {
    json!({"title": "Passkeys", "items": items, "reviewers": reviewers})
}

fn yes() -> Value {
    json!({"verdict": "approved"})
}

fn no() -> Value {
    json!({"verdict": "rejected", "reason": "too vague"})
}

//= specs/spexus-service.md#reviews
//= type=test
//# Only who is asked MAY approve or reject, and a rejection MUST have a reason.
//= specs/spexus-service.md#reviews
//= type=test
//# What is asked and what is said MUST be in the ledger of the project, with who, when and why.
async fn a_review_is_decided_by_those_who_are_asked(world: &World) {
    world.seed().await;
    let author = member(world, "ann", "author").await;
    let (rita, rob) = (
        member(world, "rita", "reviewer").await,
        member(world, "rob", "reviewer").await,
    );
    let wanted = asked(json!(["REQ-001", "US-001", "REQ-001"]), json!(["rita", "rob"]));
    let made = author.ask_review(wanted).await.unwrap();
    assert_eq!((&made["number"], &made["state"]), (&json!(1), &json!("open")));
    assert_eq!(made["items"].as_array().unwrap().len(), 2, "each once");
    assert_eq!(
        rita.reviews(json!({"asks_me": true})).await.unwrap()["data"][0]["number"],
        1
    );
    author.decide(1, yes()).await.refused(1054);
    rita.decide(1, json!({"verdict": "rejected"})).await.refused(1021);
    rita.decide(1, json!({"verdict": "perhaps"})).await.refused(1021);
    assert_eq!(rita.decide(1, no()).await.unwrap()["state"], "rejected");
    assert_eq!(rita.decide(1, yes()).await.unwrap()["state"], "open");
    rob.decide(1, json!({"verdict": "approved", "expect_rev": 1}))
        .await
        .refused(1053);
    assert_eq!(rob.decide(1, yes()).await.unwrap()["state"], "approved");
    assert_eq!(
        rob.reviews(json!({"asks_me": true})).await.unwrap()["data"],
        json!([])
    );
    assert_eq!(
        author.reviews(json!({"state": "approved"})).await.unwrap()["total_count"],
        1
    );
    let history = world.admin.naming("default").changes().await.unwrap();
    let told: Vec<String> = history
        .as_array()
        .unwrap()
        .iter()
        .filter(|change| change["entity"] == "review")
        .map(Value::to_string)
        .collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(
        told[0].contains("REQ-001 revision 1; US-001 revision 1"),
        "{told:?}"
    );
    assert!(
        told[1].contains("rejected: too vague") && told[1].contains("rita"),
        "{told:?}"
    );
    rita.close_review(1).await.refused(1014);
    assert_eq!(author.close_review(1).await.unwrap()["state"], "closed");
    rita.decide(1, no()).await.refused(1054);
    author.close_review(1).await.refused(1054);
}

//= specs/spexus-service.md#reviews
//= type=test
//# An item MUST count as approved only while it says what it said when an approved review asked about it.
//= specs/spexus-service.md#reviews
//= type=test
//# What was changed since it was asked about MUST NOT be approved until it is asked about again.
async fn what_was_changed_is_asked_about_again(world: &World) {
    world.seed().await;
    let rita = member(world, "rita", "reviewer").await;
    let admin = &world.admin;
    admin
        .ask_review(asked(json!(["REQ-001"]), json!(["rita"])))
        .await
        .unwrap();
    assert!(!admin.is_approved("REQ-001").await);
    admin
        .update("REQ-001", json!({"description": "Otherwise."}))
        .await
        .unwrap();
    rita.decide(1, yes()).await.refused(1054);
    assert_eq!(rita.review(1).await.unwrap()["items"][0]["is_as_asked"], false);
    rita.decide(1, no()).await.unwrap();
    let again = admin.update_review(1, json!({"ask_again": true})).await.unwrap();
    assert_eq!(
        (&again["state"], &again["items"][0]["rev"]),
        (&json!("open"), &json!(2))
    );
    assert_eq!(again["reviewers"][0].get("verdict"), None, "{again}");
    rita.decide(1, yes()).await.unwrap();
    assert!(admin.is_approved("REQ-001").await);
    // What people say of a requirement is approved; who does it is not what was asked.
    admin
        .update("REQ-001", json!({"assignee": "admin"}))
        .await
        .unwrap();
    assert!(admin.is_approved("REQ-001").await);
    admin
        .update("REQ-001", json!({"title": "Something else"}))
        .await
        .unwrap();
    assert!(!admin.is_approved("REQ-001").await);
    admin.delete("REQ-001", true).await.unwrap();
    admin
        .update_review(1, json!({"ask_again": true}))
        .await
        .refused(1054);
}

async fn a_review_of_everything_since_a_baseline(world: &World) {
    world.seed().await;
    member(world, "rita", "reviewer").await;
    let admin = &world.admin;
    admin.baseline("v1").await.unwrap();
    let nothing = json!({"title": "All", "baseline": "v1", "reviewers": ["rita"]});
    admin.ask_review(nothing.clone()).await.refused(1021);
    admin.update("REQ-001", json!({"title": "Better"})).await.unwrap();
    let made = admin.ask_review(nothing).await.unwrap();
    assert_eq!(made["items"].as_array().unwrap().len(), 1);
    assert_eq!(made["items"][0]["reference_id"], "REQ-001");
    let unknown = json!({"title": "All", "baseline": "v9", "reviewers": ["rita"]});
    admin.ask_review(unknown).await.refused(1021);
}

async fn an_agent_is_asked_and_answers(world: &World) {
    world.seed().await;
    let ann = member(world, "ann", "author").await;
    let robot = json!({"username": "robot", "role": "User", "owner": "ann"});
    world.admin.create_user(robot).await.unwrap();
    world
        .admin
        .naming("default")
        .put_member("robot", "reviewer")
        .await
        .unwrap();
    let token = json!({"name": "ci", "scopes": ["write"], "agent": true});
    let agent = world.client(&world.token_of("robot", token).await).await.unwrap();
    ann.ask_review(asked(json!(["REQ-001"]), json!(["robot"])))
        .await
        .unwrap();
    assert_eq!(agent.decide(1, yes()).await.unwrap()["state"], "approved");
}

async fn who_may_not_see_the_project_finds_no_review(world: &World) {
    world.seed().await;
    let admin = &world.admin;
    admin
        .update_project("default", json!({"default_role": "none"}))
        .await
        .unwrap();
    member(world, "rita", "reviewer").await;
    admin
        .ask_review(asked(json!(["REQ-001"]), json!(["rita"])))
        .await
        .unwrap();
    let stranger = world.client(&world.user("stranger", "User").await).await.unwrap();
    let stranger = stranger.naming("default");
    stranger.review(1).await.refused(1046);
    stranger.reviews(json!({})).await.refused(1046);
    stranger.decide(1, yes()).await.refused(1014);
    admin
        .create_project(json!({"key": "web", "default_role": "none"}))
        .await
        .unwrap();
    admin.naming("web").review(1).await.refused(1046);
    // Whoever left is asked no more, and cannot answer.
    admin.naming("default").remove_member("rita").await.unwrap();
    let token = json!({"name": "x", "scopes": ["write"]});
    let gone = world.client(&world.token_of("rita", token).await).await.unwrap();
    gone.naming("default").decide(1, yes()).await.refused(1014);
}

//= specs/spexus-service.md#reviews
//= type=test
//# Nobody MUST be asked who may not review in the project, and nobody reviews what they ask about themselves.
async fn what_does_not_fit_is_refused(world: &World) {
    world.seed().await;
    let author = member(world, "ann", "author").await;
    let rita = member(world, "rita", "reviewer").await;
    member(world, "carl", "commenter").await;
    let one = json!(["REQ-001"]);
    for (reviewers, code) in [
        (json!(["carl"]), 1054),
        (json!(["ann"]), 1054),
        (json!(["nobody-of-this-name"]), 1021),
        (json!([]), 1021),
    ] {
        author
            .ask_review(asked(one.clone(), reviewers))
            .await
            .refused(code);
    }
    author
        .ask_review(asked(json!([]), json!(["rita"])))
        .await
        .refused(1021);
    author
        .ask_review(asked(json!(["REQ-999"]), json!(["rita"])))
        .await
        .refused(1046);
    let many: Vec<&str> = vec!["REQ-001"; 201];
    author
        .ask_review(asked(json!(many), json!(["rita"])))
        .await
        .refused(1021);
    rita.ask_review(asked(one.clone(), json!(["ann"])))
        .await
        .refused(1014);
    let made = author.ask_review(asked(one, json!(["rita"]))).await.unwrap();
    assert_eq!(text(&made["created_by"]), "ann");
    author
        .update_review(1, json!({"reviewers": ["carl"]}))
        .await
        .refused(1054);
    author
        .update_review(1, json!({"expect_rev": 7, "title": "x"}))
        .await
        .refused(1053);
    author.update_review(9, json!({"title": "x"})).await.refused(1046);
    // Who is no more asked is asked no more; who stays keeps what was said.
    member(world, "rob", "reviewer").await;
    rita.decide(1, yes()).await.unwrap();
    let both = author
        .update_review(1, json!({"reviewers": ["rob", "rita"]}))
        .await
        .unwrap();
    assert_eq!(both["state"], "open");
    let only = author
        .update_review(1, json!({"reviewers": ["rita"]}))
        .await
        .unwrap();
    assert_eq!(only["state"], "approved");
}
