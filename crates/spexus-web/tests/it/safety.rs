//! What no page lets happen.

use crate::harness::{ADMIN_PASSWORD, World, both};
use reqwest::Method;

both![
    every_page_forbids_what_is_not_ours,
    a_form_of_another_site_is_refused,
    what_is_not_there_is_said_on_a_page,
];

//= specs/spexus-web.md#safety
//= type=test
//# Every page MUST forbid scripts and styles that are not files of this server, frames around it, and markup made by scripts other than our own.
async fn every_page_forbids_what_is_not_ours(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let mut stranger = world.browser();
    for path in ["/", "/p/default", "/p/default/REQ-001", "/p/none"] {
        let pages = [browser.get(path).await, stranger.get("/login").await];
        for page in pages {
            let policy = page.header("content-security-policy");
            for rule in [
                "default-src 'none'",
                "script-src 'self'",
                "style-src 'self'",
                "frame-ancestors 'none'",
                "base-uri 'none'",
                "form-action 'self'",
                "require-trusted-types-for 'script'",
            ] {
                assert!(
                    policy.split(';').any(|part| part.trim() == rule),
                    "{path}: {rule} is not in {policy}"
                );
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(page.header("x-frame-options"), "DENY");
            assert_eq!(page.header("x-content-type-options"), "nosniff");
            page.lacks("<style")
                .lacks(" style=")
                .lacks(" onclick=")
                .lacks("javascript:");
            for script in page.text.split("<script").skip(1) {
                assert!(
                    script.starts_with(" type=\"module\" src=\"/assets/"),
                    "{path}: {script}"
                );
            }
        }
    }
}

//= specs/spexus-web.md#safety
//= type=test
//# A form MUST be refused unless it was sent from a page of this server.
async fn a_form_of_another_site_is_refused(world: &mut World) {
    let mut browser = world.signed_in().await;
    let sign_in = [("username", "admin"), ("password", ADMIN_PASSWORD)];
    for origin in ["https://example.org", "null", ""] {
        let headers: &[(&str, &str)] = if origin.is_empty() {
            &[]
        } else {
            &[("Origin", origin)]
        };
        for (path, fields) in [
            ("/login", sign_in.as_slice()),
            ("/logout", &[]),
            ("/settings/look", &[("theme", "dark")]),
        ] {
            let page = browser.send(Method::POST, path, fields, headers).await;
            assert_eq!(page.status, 403, "{path} from {origin:?}");
            assert_eq!(page.header("set-cookie"), "", "{path} from {origin:?}");
        }
    }
    browser.see("/").await;
}

async fn what_is_not_there_is_said_on_a_page(world: &mut World) {
    let mut browser = world.signed_in().await;
    for path in [
        "/p/none",
        "/p/none/REQ-001",
        "/p/default/REQ-999",
        "/p/default/nothing",
    ] {
        let page = browser.get(path).await;
        assert!([404, 422, 400].contains(&page.status), "{path}: {}", page.status);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
        page.shows("role=\"alert\"").shows("href=\"/\"");
    }
}
