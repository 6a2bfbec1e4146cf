//! The pages of reviews: asking, reading with the texts in place, commenting, deciding, and what waits for one at home.

use crate::harness::{Browser, PASSWORD, World, both};
use spexus_service::member;

both![
    a_review_is_asked_read_and_decided,
    what_was_changed_is_said_and_asked_again,
    a_role_sees_what_it_may_of_reviews,
];

async fn role(world: &World, name: &str, role: &str) -> Browser {
    // What everybody is there must not be more than what this one is.
    let closed = serde_json::from_value(serde_json::json!({"default_role": "none"})).unwrap();
    spexus_service::project::update(&world.service, &world.admin, "default", closed)
        .await
        .unwrap();
    world.person(name, "User").await;
    let input = serde_json::from_value(serde_json::json!({ "role": role })).unwrap();
    member::put(&world.service, &world.admin, Some("default"), name, input)
        .await
        .unwrap();
    world.signed_in_as(name, PASSWORD).await
}

const ASKED: [(&str, &str); 4] = [
    ("title", "Passkeys <i>"),
    ("items", "REQ-001,\n US-001"),
    ("reviewers", "rita"),
    ("description", "Is it **enough**?"),
];

//= specs/spexus-web.md#reviews
//= type=test
//# A review MUST show its items with their texts and open threads, and MUST be decided and commented on its own page.
//= specs/spexus-web.md#reviews
//= type=test
//# What somebody is asked to review MUST be shown at home until it is answered.
async fn a_review_is_asked_read_and_decided(world: &mut World) {
    world.seed().await;
    let mut rita = role(world, "rita", "reviewer").await;
    let mut browser = world.signed_in().await;
    browser
        .see("/p/default/reviews/new?items=REQ-001&title=Keys")
        .await
        .shows("value=\"Keys\"")
        .shows("REQ-001</textarea>");
    let twice = [
        ASKED.to_vec(),
        vec![("once", "0198f3f6-0000-7000-8000-000000000001")],
    ]
    .concat();
    let page = browser.submit("/p/default/reviews", &twice).await;
    page.shows("Passkeys &#60;i&#62;")
        .shows("Is it <strong>enough</strong>?")
        .shows("data-ref=\"REQ-001\"")
        .shows("data-ref=\"US-001\"")
        .shows("The service <strong>shall</strong> accept passkeys.")
        .lacks("name=\"verdict\"");
    let again = browser.submit("/p/default/reviews", &twice).await;
    assert_eq!(again.text.matches("/p/default/reviews/1\"").count(), 1);
    again.lacks("/p/default/reviews/2\"");
    rita.see("/").await.shows("href=\"/p/default/reviews/1\"");
    let page = rita.see("/p/default/reviews/1").await;
    page.shows("name=\"verdict\" value=\"approved\"");
    let said = [
        ("content", "Which attestation?"),
        ("once", page.hidden("once")),
        ("back", "/p/default/reviews/1?page=1#REQ-001"),
    ];
    let said = rita.post("/p/default/REQ-001/comments", &said).await;
    assert_eq!(
        (said.status, said.header("location")),
        (303, "/p/default/reviews/1?page=1#REQ-001")
    );
    rita.see("/p/default/reviews/1").await.shows("Which attestation?");
    let bare = [("verdict", "rejected"), ("rev", "1")];
    let fault = rita.post("/p/default/reviews/1/verdict", &bare).await;
    assert_eq!(fault.status, 400);
    fault.shows("id=\"reason-fault\"");
    let no = [("verdict", "rejected"), ("reason", "Too <b>vague"), ("rev", "1")];
    let page = rita.submit("/p/default/reviews/1/verdict", &no).await;
    page.shows("Too &#60;b&#62;vague").shows("data-st=\"cancelled\"");
    rita.see("/").await.lacks("href=\"/p/default/reviews/1\"");
    let stale = rita.post("/p/default/reviews/1/verdict", &no).await;
    assert_eq!(stale.status, 412);
    let list = browser.see("/p/default/reviews?state=rejected").await;
    list.shows("/p/default/reviews/1\"").shows("1 / 1");
    browser
        .see("/p/default/reviews?state=open")
        .await
        .lacks("/p/default/reviews/1\"");
    let close = [("action", "close"), ("rev", "2")];
    let page = browser.submit("/p/default/reviews/1", &close).await;
    page.shows("data-st=\"obsolete\"").lacks("name=\"action\"");
}

async fn what_was_changed_is_said_and_asked_again(world: &mut World) {
    world.seed().await;
    let mut rita = role(world, "rita", "reviewer").await;
    let mut browser = world.signed_in().await;
    browser.submit("/p/default/reviews", &ASKED).await;
    let edit = [("rev", "1"), ("description", "Something else.")];
    assert_eq!(browser.post("/p/default/REQ-001/edit", &edit).await.status, 303);
    let page = rita.see("/p/default/reviews/1").await;
    page.shows("Something else.")
        .shows("/p/default/REQ-001/history\"")
        .shows("id=\"changed-hint\"");
    let yes = [("verdict", "approved"), ("rev", "1")];
    let refused = rita.post("/p/default/reviews/1/verdict", &yes).await;
    assert_eq!(refused.status, 409);
    refused.shows("REQ-001");
    let again = [("action", "again"), ("rev", "1")];
    browser
        .submit("/p/default/reviews/1", &again)
        .await
        .lacks("id=\"changed-hint\"");
    let yes = [("verdict", "approved"), ("rev", "2")];
    let page = rita.submit("/p/default/reviews/1/verdict", &yes).await;
    page.shows("data-st=\"done\"");
    rita.see("/p/default/REQ-001")
        .await
        .shows("/p/default/reviews/1\"");
}

//= specs/spexus-web.md#safety
//= type=test
//# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the same.
async fn a_role_sees_what_it_may_of_reviews(world: &mut World) {
    world.seed().await;
    role(world, "rita", "reviewer").await;
    world.signed_in().await.submit("/p/default/reviews", &ASKED).await;
    for (name, may_ask) in [
        ("reader", false),
        ("commenter", false),
        ("reviewer", false),
        ("author", true),
    ] {
        let mut browser = role(world, name, name).await;
        let list = browser.see("/p/default/reviews").await;
        assert_eq!(list.text.contains("/p/default/reviews/new\""), may_ask, "{name}");
        let form = browser.get("/p/default/reviews/new").await;
        assert_eq!(form.status == 200, may_ask, "{name}");
        let made = browser.post("/p/default/reviews", &ASKED).await;
        assert_eq!(
            made.status,
            if may_ask { 303 } else { 403 },
            "{name}: {}",
            made.text
        );
        let page = browser.see("/p/default/reviews/1").await;
        page.lacks("name=\"verdict\"");
        assert_eq!(page.text.contains("name=\"action\""), may_ask, "{name}");
        let yes = [("verdict", "approved"), ("rev", "1")];
        let said = browser.post("/p/default/reviews/1/verdict", &yes).await;
        let wanted = if name == "reader" || name == "commenter" {
            403
        } else {
            409
        };
        assert_eq!(said.status, wanted, "{name}: only who is asked");
        if !may_ask {
            let close = [("action", "close"), ("rev", "1")];
            assert_eq!(browser.post("/p/default/reviews/1", &close).await.status, 403);
        }
    }
    let mut stranger = world.person("stranger", "User").await;
    for path in ["", "/new", "/1"] {
        let page = stranger.get(&format!("/p/default/reviews{path}")).await;
        assert_eq!(page.status, 404, "{path}");
        page.lacks("Passkeys");
    }
}
