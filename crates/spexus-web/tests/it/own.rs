//! What is one's own: tokens, the password, an agent's text; and a project that is empty.

use crate::harness::{ADMIN_PASSWORD, World, both};

both![
    a_token_is_shown_once,
    an_agent_gets_its_text_and_no_more_than_writing,
    a_new_password_ends_the_session,
    an_empty_project_says_how_to_begin,
    home_shows_what_is_mine_and_new,
    a_change_of_language_and_theme_stays,
    own_sessions_are_listed_and_ended,
];

//= specs/spexus-service.md#logging-in
//= type=test
//# Whoever is signed in MUST be told their own sessions and no others, and MUST be able to end each.
async fn own_sessions_are_listed_and_ended(world: &mut World) {
    let mut kim = world.person("kim", "User").await;
    let other = world.signed_in_as("kim", crate::harness::PASSWORD).await;
    let mut stranger = world.signed_in().await;
    let page = kim.see("/settings").await;
    let ids: Vec<String> = page
        .text
        .split("/settings/sessions/")
        .skip(1)
        .map(|part| part[..36].to_owned())
        .collect();
    assert_eq!(ids.len(), 2);
    let foreign = stranger
        .post(&format!("/settings/sessions/{}/end", ids[0]), &[])
        .await;
    assert_eq!(foreign.status, 404);
    // The newest stands first: that of the other browser.
    let page = kim
        .submit(&format!("/settings/sessions/{}/end", ids[0]), &[])
        .await;
    assert_eq!(page.text.matches("/settings/sessions/").count(), 1);
    let mut other = other;
    assert_eq!(
        other.get("/settings").await.status,
        303,
        "it has to sign in again"
    );
}

//= specs/spexus-web.md#tokens
//= type=test
//# The secret of a token MUST be shown on the page that answers its making and on no other.
async fn a_token_is_shown_once(world: &mut World) {
    let mut browser = world.signed_in().await;
    let once = browser.see("/settings").await.hidden("once").to_owned();
    let fields = [
        ("name", "laptop"),
        ("scope", "read"),
        ("expires", "30d"),
        ("once", once.as_str()),
    ];
    let page = browser.post("/settings/tokens", &fields).await;
    assert_eq!(page.status, 200);
    let secret = page
        .text
        .split("id=\"secret\">")
        .nth(1)
        .unwrap()
        .split('<')
        .next()
        .unwrap()
        .to_owned();
    assert!(secret.starts_with("mcp_pat_"), "{secret}");
    // The same form again makes nothing and shows nothing.
    let again = browser.submit("/settings/tokens", &fields).await;
    again.lacks(&secret).shows("laptop");
    assert_eq!(
        again.text.matches("laptop").count(),
        2,
        "one row, with its button"
    );
    let programs = reqwest::Client::new();
    let asked = |secret: String| {
        programs
            .get(format!("{}/api/v1/projects", world.url))
            .bearer_auth(secret)
            .send()
    };
    assert_eq!(asked(secret.clone()).await.unwrap().status(), 200);
    let id = again.text.split("/settings/tokens/").nth(1).unwrap()[..36].to_owned();
    browser
        .submit(&format!("/settings/tokens/{id}/revoke"), &[])
        .await
        .lacks("laptop");
    assert_eq!(asked(secret).await.unwrap().status(), 401);
}

async fn an_agent_gets_its_text_and_no_more_than_writing(world: &mut World) {
    let mut browser = world.signed_in().await;
    let once = browser
        .see("/connect?project=default")
        .await
        .shows("mcp_pat_…")
        .hidden("once")
        .to_owned();
    let fields = [
        ("host", "claude-code"),
        ("name", "builder"),
        ("project", "default"),
        ("scope", "admin"),
        ("once", once.as_str()),
    ];
    let page = browser.post("/connect", &fields).await;
    assert_eq!(page.status, 200);
    page.shows(&format!(
        "claude mcp add --transport http spexus {}/api/v1/mcp",
        world.url
    ));
    let secret = page
        .text
        .split("Bearer ")
        .nth(1)
        .unwrap()
        .split(['&', '"'])
        .next()
        .unwrap()
        .to_owned();
    let listed = browser.see("/settings").await;
    listed.shows("builder").shows(">write<").lacks(&secret);
    // It really opens the endpoint of agents.
    let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let client = reqwest::Client::new();
    let answer = client
        .post(format!("{}/api/v1/mcp", world.url))
        .bearer_auth(secret)
        .json(&call)
        .send();
    assert_ne!(answer.await.unwrap().status(), 401);
}

async fn a_new_password_ends_the_session(world: &mut World) {
    let mut browser = world.signed_in().await;
    let wrong = browser
        .post(
            "/settings/password",
            &[("current", ADMIN_PASSWORD), ("new", "short")],
        )
        .await;
    assert_eq!(wrong.status, 400);
    wrong.shows("id=\"new-fault\"").lacks("value=\"short\"");
    let new = [("current", ADMIN_PASSWORD), ("new", "another long secret")];
    let changed = browser.post("/settings/password", &new).await;
    assert_eq!((changed.status, changed.header("location")), (303, "/login"));
    assert_eq!(browser.get("/settings").await.status, 303);
    world.signed_in_as("admin", "another long secret").await;
}

async fn an_empty_project_says_how_to_begin(world: &mut World) {
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default").await;
    page.shows("/p/default/example")
        .shows("value=\"epic\"")
        .shows("/connect?project=default");
    for _ in 0..2 {
        browser
            .submit("/p/default/example", &[])
            .await
            .shows("<th scope=\"row\">");
    }
    // A second press fills nothing a second time.
    let listed = spexus_service::report::status(&world.service, &world.admin, Some("default"), None)
        .await
        .unwrap();
    assert_eq!(listed.total_count, 120);
}

async fn home_shows_what_is_mine_and_new(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let page = browser.see("/").await;
    page.shows("Nothing is assigned to you.")
        .shows("<tr data-ref=\"REQ-001\">");
    browser
        .submit("/p/default/REQ-001/edit", &[("rev", "1"), ("assignee", "admin")])
        .await;
    let page = browser.see("/").await;
    page.lacks("Nothing is assigned to you.");
    assert_eq!(page.text.matches("<tr data-ref=\"REQ-001\">").count(), 2);
}

async fn a_change_of_language_and_theme_stays(world: &mut World) {
    let mut browser = world.signed_in().await;
    let page = browser
        .submit("/settings/look", &[("language", "ru"), ("next", "/settings")])
        .await;
    page.shows("<html lang=\"ru\">").shows("Настройки");
    let page = browser
        .submit("/settings/look", &[("theme", "dark"), ("next", "/")])
        .await;
    page.shows("<html lang=\"ru\" data-theme=\"dark\">");
}
