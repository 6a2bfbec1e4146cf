//! Administration and baselines: what an administrator can do, and that nobody else can.

use crate::harness::{World, both};

both![
    whoever_does_not_administer_finds_none_of_it,
    an_administrator_makes_people_projects_and_members,
    a_workflow_and_a_type_are_changed,
    the_audit_trail_is_filtered,
    baselines_are_made_and_compared,
];

const PAGES: [&str; 6] = [
    "/admin",
    "/admin/users",
    "/admin/projects",
    "/admin/workflows",
    "/admin/types",
    "/admin/audit",
];

//= specs/spexus-web.md#safety
//= type=test
//# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the same.
async fn whoever_does_not_administer_finds_none_of_it(world: &mut World) {
    world.seed().await;
    let mut person = world.person("kim", "User").await;
    for path in PAGES {
        assert_eq!(person.get(path).await.status, 403, "{path}");
    }
    for path in ["/", "/p/default", "/settings"] {
        person.see(path).await.lacks("href=\"/admin").lacks("/members\"");
    }
    assert_eq!(person.get("/p/default/members").await.status, 403);
    for (path, fields) in [
        (
            "/admin/users",
            [
                ("username", "eve"),
                ("password", "long enough"),
                ("role", "Administrator"),
            ]
            .as_slice(),
        ),
        ("/admin/users/admin", &[("active", "false")]),
        ("/admin/projects", &[("key", "mine")]),
        ("/admin/workflows/requirement", &[("0>1", "on")]),
        ("/admin/types", &[("name", "Mine")]),
        ("/p/default/members", &[("member", "kim"), ("role", "owner")]),
    ] {
        assert_eq!(person.post(path, fields).await.status, 403, "{path}");
    }
    let mut admin = world.signed_in().await;
    for path in PAGES {
        admin.see(path).await.shows("href=\"/admin\"");
    }
}

async fn an_administrator_makes_people_projects_and_members(world: &mut World) {
    let mut browser = world.signed_in().await;
    let short = [("username", "kim"), ("password", "short"), ("role", "User")];
    let refused = browser.post("/admin/users", &short).await;
    assert_eq!(refused.status, 400);
    refused.shows("value=\"kim\"").shows("aria-invalid");
    let fields = [("username", "kim"), ("password", "long enough"), ("role", "User")];
    browser.submit("/admin/users", &fields).await.shows("kim");
    browser
        .submit("/admin/projects", &[("key", "web"), ("name", "Web")])
        .await
        .shows("Members");
    let page = browser
        .submit("/p/web/members", &[("member", "kim"), ("role", "reader")])
        .await;
    page.shows("<td>reader</td>");
    let mut kim = world.signed_in_as("kim", "long enough").await;
    kim.see("/p/web").await;
    browser
        .submit("/p/web/members/remove", &[("member", "kim")])
        .await
        .lacks("<td>reader</td>");
    let shut_out = [("member", "kim"), ("role", "none")];
    browser.submit("/p/web/members", &shut_out).await;
    assert_eq!(kim.get("/p/web").await.status, 404);
    browser
        .submit("/admin/users/kim", &[("active", "false")])
        .await
        .shows("Enable");
    assert_eq!(kim.get("/").await.status, 303, "a disabled account is signed out");
}

async fn a_workflow_and_a_type_are_changed(world: &mut World) {
    let mut browser = world.signed_in().await;
    let page = browser.see("/admin/workflows").await;
    page.shows("aria-label=\"Draft → Active\" checked");
    // Draft, Active, Obsolete: only forward, and one more to go to.
    let steps = [("rev", "1"), ("0>1", "on"), ("1>2", "on"), ("added", "Proposed")];
    let page = browser.submit("/admin/workflows/requirement", &steps).await;
    page.shows("Proposed")
        .lacks("aria-label=\"Obsolete → Active\" checked");
    assert_eq!(
        browser.post("/admin/workflows/requirement", &steps).await.status,
        412
    );
    assert_eq!(
        browser
            .post("/admin/workflows/requirement", &[("rev", "2"), ("0>9", "on")])
            .await
            .status,
        400
    );
    browser
        .submit(
            "/admin/types",
            &[("name", "Safety"), ("description", "Nobody is hurt.")],
        )
        .await
        .shows("Nobody is hurt.");
}

async fn the_audit_trail_is_filtered(world: &mut World) {
    let mut browser = world.signed_in().await;
    let wrong = [("username", "mallory"), ("password", "a guess")];
    world.browser().post("/login", &wrong).await;
    world.service.flush().await;
    browser
        .see("/admin/audit")
        .await
        .shows("mallory")
        .shows("<code>login</code>");
    browser
        .see("/admin/audit?event=login_failed")
        .await
        .shows("mallory")
        .lacks("<code>login</code>");
    browser
        .see("/admin/audit?event=&user=admin")
        .await
        .lacks("mallory");
    assert_eq!(browser.get("/admin/audit?since=yesterday").await.status, 400);
}

async fn baselines_are_made_and_compared(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let page = browser
        .submit(
            "/p/default/baselines",
            &[("name", "1.0"), ("description", "Shipped")],
        )
        .await;
    page.shows("Shipped").shows("compare?from=1");
    let twice = browser.post("/p/default/baselines", &[("name", "1.0")]).await;
    assert_eq!(twice.status, 409);
    twice.shows("id=\"name-fault\"").shows("value=\"1.0\"");
    browser
        .submit(
            "/p/default/REQ-001/edit",
            &[("rev", "1"), ("title", "Passkeys always work")],
        )
        .await;
    let page = browser.see("/p/default/baselines/compare?from=1.0&to=now").await;
    page.shows("data-ref=\"REQ-001\"")
        .shows("<ins>always </ins>")
        .lacks("data-ref=\"US-001\"");
}
