//! Saved views on the pages: the menu, the address that is sent, and who sees what.

use crate::harness::{PASSWORD, World, both};
use spexus_service::{member, saved_view};

both![
    a_page_is_saved_as_it_is_and_sent_by_an_address,
    a_role_saves_and_shares_what_it_may
];

async fn role(world: &World, name: &str, role: &str) {
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
}

//= specs/spexus-web.md#saved-views
//= type=test
//# A page that is saved MUST open as it was by an address that can be sent.
async fn a_page_is_saved_as_it_is_and_sent_by_an_address(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let page = browser
        .see("/p/default/table?kind=user_story&sort=-title&cursor=")
        .await;
    page.shows("action=\"/p/default/views\"")
        .shows("name=\"query\" value=\"kind=user_story&#38;sort=-title\"");
    browser.see("/p/default/document").await.lacks("id=\"saved\"");
    let form = [
        ("name", "Stories <b>"),
        ("page", "table"),
        ("query", "kind=user_story&sort=-title"),
        ("shared", "true"),
    ];
    let saved = browser.post("/p/default/views", &form).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let sent = saved.header("location").to_owned();
    let view = browser.get(&sent).await;
    assert_eq!(
        (view.status, view.header("location")),
        (303, "/p/default/table?kind=user_story&sort=-title")
    );
    let there = view.header("location").to_owned();
    let page = browser.see(&there).await;
    page.shows("data-ref=\"US-001\"")
        .lacks("data-ref=\"REQ-001\"")
        .shows(&format!("href=\"{sent}\" aria-current=\"true\""));
    // The same name again keeps what was typed.
    let again = browser.post("/p/default/views", &form).await;
    assert_eq!(again.status, 409);
    again
        .shows("value=\"kind=user_story&#38;sort=-title\"")
        .shows("is taken")
        .lacks("Stories <b>");
    for (page, query) in [
        ("board", "kind=epic"),
        ("tree", "open=EP-001"),
        ("matrix", ""),
        ("graph", ""),
    ] {
        browser
            .see(&format!("/p/default/{page}?{query}"))
            .await
            .shows(&format!("name=\"page\" value=\"{page}\""));
    }
    let form = [("name", "Stories"), ("rev", "1")];
    let list = browser.submit(&sent, &form).await;
    list.shows(">Stories</a>").lacks("<td>shared");
    let list = browser.submit(&format!("{sent}/remove"), &[]).await;
    list.lacks(">Stories</a>");
    assert_eq!(browser.get(&sent).await.status, 404);
}

//= specs/spexus-web.md#safety
//= type=test
//# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the same.
async fn a_role_saves_and_shares_what_it_may(world: &mut World) {
    world.seed().await;
    let shared = serde_json::json!({"name": "Ours", "page": "board", "shared": true, "project": "default"});
    let shared = serde_json::from_value(shared).unwrap();
    let ours = saved_view::create(&world.service, &world.admin, shared)
        .await
        .unwrap();
    let own = serde_json::json!({"name": "Of the administrator", "page": "board", "project": "default"});
    let own = serde_json::from_value(own).unwrap();
    let hidden = saved_view::create(&world.service, &world.admin, own)
        .await
        .unwrap();
    for (name, is_author) in [("reader", false), ("author", true)] {
        role(world, name, name).await;
        let mut browser = world.signed_in_as(name, PASSWORD).await;
        let page = browser.see("/p/default/board").await;
        page.shows(">Ours</a>").lacks("Of the administrator");
        assert_eq!(page.text.contains("name=\"shared\""), is_author, "{name}");
        let list = browser.see("/p/default/views").await;
        list.shows(">Ours</a>").lacks("Of the administrator");
        let address = format!("/p/default/views/{}", ours.id);
        assert_eq!(
            list.text.contains(&format!("action=\"{address}\"")),
            is_author,
            "{name}"
        );
        assert_eq!(
            browser
                .get(&format!("/p/default/views/{}", hidden.id))
                .await
                .status,
            404
        );
        let form = [
            ("name", name),
            ("page", "board"),
            ("query", ""),
            ("shared", "true"),
        ];
        let answer = browser.post("/p/default/views", &form).await;
        assert_eq!(answer.status, if is_author { 303 } else { 403 }, "{name}");
        let answer = browser.post("/p/default/views", &form[..3]).await;
        assert_eq!(answer.status, 303, "{name}: {}", answer.text);
        if !is_author {
            let form = [("name", "Mine"), ("rev", "1")];
            assert_eq!(browser.post(&address, &form).await.status, 403);
            assert_eq!(browser.post(&format!("{address}/remove"), &[]).await.status, 403);
        }
    }
    let mut stranger = world.person("stranger", "User").await;
    for path in ["".to_owned(), format!("/{}", ours.id)] {
        assert_eq!(stranger.get(&format!("/p/default/views{path}")).await.status, 404);
    }
}
