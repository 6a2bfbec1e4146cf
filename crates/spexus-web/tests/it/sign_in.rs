//! Signing in and out, and what is asked of whoever is not.

use crate::harness::{ADMIN_PASSWORD, World, both};
use reqwest::Method;

both![
    one_is_led_to_the_form_and_back,
    a_wrong_password_keeps_the_name,
    signing_out_ends_the_session,
    no_address_leads_to_another_site,
    a_session_is_new_with_every_signing_in,
];

//= specs/spexus-web.md#signing-in
//= type=test
//# A page MUST lead whoever is not signed in to the sign-in form.
//= specs/spexus-web.md#signing-in
//= type=test
//# Signing in MUST lead to the page that was asked for, and never to another site.
async fn one_is_led_to_the_form_and_back(world: &mut World) {
    world.seed().await;
    let mut browser = world.browser();
    let asked = browser.get("/p/default/REQ-001?tab=history").await;
    assert_eq!(asked.status, 303);
    let form = asked.header("location").to_owned();
    assert_eq!(form, "/login?next=%2Fp%2Fdefault%2FREQ-001%3Ftab%3Dhistory");
    browser
        .see(&form)
        .await
        .shows("value=\"/p/default/REQ-001?tab=history\"");
    let fields = [
        ("username", "admin"),
        ("password", ADMIN_PASSWORD),
        ("next", "/p/default/REQ-001?tab=history"),
    ];
    let page = browser.post("/login", &fields).await;
    assert_eq!(
        (page.status, page.header("location")),
        (303, "/p/default/REQ-001?tab=history")
    );
    let cookie = page.header("set-cookie");
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"),
        "{cookie}"
    );
    browser.see("/p/default/REQ-001").await.shows("Passkeys work");
}

async fn a_wrong_password_keeps_the_name(world: &mut World) {
    let mut browser = world.browser();
    let fields = [
        ("username", "admin\"><script>"),
        ("password", "wrong secret"),
        ("next", "/p/default"),
    ];
    let page = browser.post("/login", &fields).await;
    assert_eq!(page.status, 401);
    page.shows("value=\"admin&#34;&#62;&#60;script&#62;\"")
        .shows("aria-invalid")
        .shows("value=\"/p/default\"")
        .lacks("wrong secret");
}

async fn signing_out_ends_the_session(world: &mut World) {
    let mut browser = world.signed_in().await;
    let secret = browser.cookies.clone();
    browser.see("/").await;
    let page = browser.post("/logout", &[]).await;
    assert_eq!((page.status, page.header("location")), (303, "/login"));
    browser.cookies = secret;
    assert_eq!(
        browser.get("/").await.status,
        303,
        "the old cookie still opens pages"
    );
    // A form whose session has ended is answered with the way in, not with silence.
    let form = browser.post("/logout", &[]).await;
    assert_eq!(form.status, 401);
    form.shows("href=\"/login");
}

async fn no_address_leads_to_another_site(world: &mut World) {
    for next in [
        "https://example.org/",
        "//example.org",
        "/\\example.org",
        "\\\\example.org",
        "javascript:alert(1)",
        "/\t/example.org",
        "/\r\nSet-Cookie: a=b",
        "",
        "x",
        " //example.org",
    ] {
        let mut browser = world.browser();
        let fields = [
            ("username", "admin"),
            ("password", ADMIN_PASSWORD),
            ("next", next),
        ];
        let page = browser.post("/login", &fields).await;
        assert_eq!((page.status, page.header("location")), (303, "/"), "{next:?}");
        let origin = world.url.clone();
        let look = [("theme", "dark"), ("next", next)];
        let kept = browser
            .send(Method::POST, "/settings/look", &look, &[("Origin", &origin)])
            .await;
        assert_eq!(kept.header("location"), "/", "{next:?}");
    }
}

/// No session that was planted in a browser becomes somebody's.
async fn a_session_is_new_with_every_signing_in(world: &mut World) {
    let mut browser = world.browser();
    let planted = "spexus_session_planted".to_owned();
    browser.cookies = vec![("spexus_session".into(), planted.clone())];
    let fields = [("username", "admin"), ("password", ADMIN_PASSWORD)];
    assert_eq!(browser.post("/login", &fields).await.status, 303);
    let first = browser.cookies.clone();
    assert_ne!(first[0].1, planted);
    assert_eq!(browser.post("/login", &fields).await.status, 303);
    assert_ne!(first, browser.cookies);
}
