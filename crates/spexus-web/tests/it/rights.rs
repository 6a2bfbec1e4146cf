//! What a role may not use is neither shown nor accepted.

use crate::harness::{World, both};
use spexus_domain::Kind;
use spexus_service::member;

both![a_role_sees_and_gets_what_it_may, who_is_no_member_finds_nothing];

/// What leads to a form on the page, its address below the item, its fields, and the least role.
type ItemForm = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    usize,
);

/// The forms of an item.
const FORMS: &[ItemForm] = &[
    (
        "/REQ-001/edit\"",
        "edit",
        &[("rev", "1"), ("title", "Changed")],
        AUTHOR,
    ),
    ("/REQ-001/delete\"", "delete", &[("rev", "1")], AUTHOR),
    (
        "/REQ-001/links\"",
        "links",
        &[("type", "relates_to"), ("target", "REQ-002")],
        AUTHOR,
    ),
    (
        "/REQ-001/comments\"",
        "comments",
        &[("content", "x"), ("once", "0198f3f6-0000-7000-8000-000000000000")],
        COMMENTER,
    ),
];

const ROLES: [&str; 5] = ["reader", "commenter", "reviewer", "author", "owner"];
const COMMENTER: usize = 1;
const AUTHOR: usize = 3;

//= specs/spexus-web.md#safety
//= type=test
//# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the same.
async fn a_role_sees_and_gets_what_it_may(world: &mut World) {
    for (at, role) in ROLES.into_iter().enumerate() {
        let project = project(world, role, Some(role)).await;
        let mut browser = world
            .signed_in_as(&format!("is-{role}"), crate::harness::PASSWORD)
            .await;
        let page = browser.see(&format!("/p/{project}/REQ-001")).await;
        for (link, _, _, least) in FORMS {
            let shown = page.text.contains(link);
            assert_eq!(shown, at >= *least, "{role}: {link}");
        }
        assert_eq!(
            page.text.contains(&format!("/p/{project}/new")),
            at >= AUTHOR,
            "{role}"
        );
        let form = browser.get(&format!("/p/{project}/new")).await;
        assert_eq!(form.status == 200, at >= AUTHOR, "{role}");
        let new = [("kind", "epic"), ("once", role), ("title", "New")];
        assert_eq!(
            browser.post(&format!("/p/{project}/new"), &new).await.status == 303,
            at >= AUTHOR,
            "{role}"
        );
        // The one that ends the item goes last.
        let order = [0, 2, 3, 1];
        for (_, path, fields, least) in order.map(|form| FORMS[form]) {
            let path = format!("/p/{project}/REQ-001/{path}");
            if path.ends_with("edit") || path.ends_with("delete") || path.ends_with("links") {
                assert_eq!(
                    browser.get(&path).await.status == 200,
                    at >= least,
                    "{role}: {path}"
                );
            }
            let fields: Vec<(&str, &str)> = fields
                .iter()
                .map(|(name, value)| (*name, if path.ends_with("delete") { "2" } else { *value }))
                .collect();
            let answer = browser.post(&path, &fields).await;
            let wanted = if at >= least { 303 } else { 403 };
            assert_eq!(answer.status, wanted, "{role}: {path}: {}", answer.text);
        }
    }
}

async fn who_is_no_member_finds_nothing(world: &mut World) {
    let project = project(world, "stranger", None).await;
    let mut browser = world.signed_in_as("is-stranger", crate::harness::PASSWORD).await;
    browser.see("/").await.lacks(&project).lacks("Secret");
    for path in [
        "",
        "/new",
        "/REQ-001",
        "/REQ-001/edit",
        "/REQ-001/history",
        "/REQ-001/delete",
        "/REQ-001/links",
    ] {
        let page = browser.get(&format!("/p/{project}{path}")).await;
        assert_eq!(page.status, 404, "{path}");
        page.lacks("Secret");
    }
    for (_, path, fields, _) in FORMS {
        let page = browser
            .post(&format!("/p/{project}/REQ-001/{path}"), fields)
            .await;
        assert_eq!(page.status, 404, "{path}");
    }
}

/// A closed project with a requirement and one account beside the administrator's, which is this in it.
async fn project(world: &World, name: &str, role: Option<&str>) -> String {
    let key = format!("of-{name}");
    let input = serde_json::json!({"key": key, "name": "Secret", "default_role": "none"});
    let input = serde_json::from_value(input).unwrap();
    spexus_service::project::create(&world.service, &world.admin, input)
        .await
        .unwrap();
    world.person(&format!("is-{name}"), "User").await;
    if let Some(role) = role {
        let input = serde_json::json!({"role": role});
        let input = serde_json::from_value(input).unwrap();
        member::put(
            &world.service,
            &world.admin,
            Some(&key),
            &format!("is-{name}"),
            input,
        )
        .await
        .unwrap();
    }
    for (kind, parent) in [
        (Kind::Epic, None),
        (Kind::UserStory, Some("EP-001")),
        (Kind::Requirement, Some("US-001")),
        (Kind::Requirement, Some("US-001")),
    ] {
        world.item_in(&key, kind, parent, "Secret", "").await;
    }
    key
}
