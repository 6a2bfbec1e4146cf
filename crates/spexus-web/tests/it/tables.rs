//! The table: filters in the address, pages, groups, cells, bulk changes, undo; and what a reader is not given.

use crate::harness::{Browser, World, both};
use spexus_domain::Kind;
use spexus_domain::item::ItemPatch;
use spexus_service::account::user;
use spexus_service::{item, member};

both![
    a_table_shows_what_its_address_says,
    pages_and_groups_hold_every_row_once,
    a_cell_is_edited_without_a_script_and_undone,
    a_stale_cell_keeps_what_was_entered_and_says_who_was_quicker,
    a_step_that_is_not_allowed_says_why,
    several_rows_are_previewed_and_changed_together,
    a_pasted_column_goes_to_its_rows,
    a_reader_sees_rows_and_no_way_to_change_them,
];

/// Six requirements of one story, `REQ-001` to `REQ-006`.
async fn six(world: &World) {
    world.seed().await;
    for title in ["Second", "Third", "Fourth", "Fifth", "Sixth"] {
        world.item(Kind::Requirement, Some("US-001"), title, "").await;
    }
}

async fn set(world: &World, reference: &str, patch: ItemPatch) {
    item::update(
        &world.service,
        &world.admin,
        Some("default"),
        None,
        reference,
        patch,
    )
    .await
    .unwrap();
}

/// The references of the rows, in order.
fn rows(text: &str) -> Vec<String> {
    let parts = text.split("<tr data-ref=\"").skip(1);
    parts
        .map(|part| part.split('"').next().unwrap().to_owned())
        .collect()
}

/// Where an answer leads.
fn goes_to(page: &crate::harness::Page) -> String {
    assert_eq!(page.status, 303, "{}", page.text);
    page.header("location").to_owned()
}

fn link<'t>(text: &'t str, before: &str) -> Option<&'t str> {
    let at = text.find(before)?;
    text[..at].rsplit_once("href=\"")?.1.split('"').next()
}

async fn a_table_shows_what_its_address_says(world: &mut World) {
    six(world).await;
    let status = |name: &str| ItemPatch {
        status: Some(name.into()),
        ..ItemPatch::default()
    };
    set(world, "REQ-002", status("Active")).await;
    set(
        world,
        "REQ-003",
        ItemPatch {
            assignee: Some(Some("admin".into())),
            priority: spexus_domain::item::Priority::from_number(1),
            ..ItemPatch::default()
        },
    )
    .await;
    let mut browser = world.signed_in().await;
    for (query, expected) in [
        (
            "",
            vec!["REQ-001", "REQ-002", "REQ-003", "REQ-004", "REQ-005", "REQ-006"],
        ),
        ("?status=Active", vec!["REQ-002"]),
        (
            "?status=Draft&status=Active&sort=-created_at&limit=2",
            vec!["REQ-006", "REQ-005"],
        ),
        ("?owner=me", vec!["REQ-003"]),
        ("?priority=1", vec!["REQ-003"]),
        ("?query=fourth", vec!["REQ-004"]),
        ("?kind=all&limit=1", vec!["EP-001"]),
        ("?kind=user_story", vec!["US-001"]),
        ("?under=EP-001&sort=title&limit=1", vec!["REQ-005"]),
    ] {
        let page = browser.see(&format!("/p/default/table{query}")).await;
        assert_eq!(rows(&page.text), expected, "{query}");
    }
    let page = browser.see("/p/default/table?status=Active&owner=none").await;
    page.shows("<b>Active</b>")
        .shows("href=\"/p/default/table?owner=none\"");
    let page = browser.see("/p/default/table?columns=title,revision").await;
    page.lacks("?sort=status").shows("Revision");
    for wrong in [
        "?status=Actve",
        "?sort=colour",
        "?columns=colour",
        "?limit=201",
        "?cursor=x",
        "?colour=red",
    ] {
        let page = browser.get(&format!("/p/default/table{wrong}")).await;
        assert!((400..500).contains(&page.status), "{wrong}: {}", page.status);
    }
    page.shows("data-ref=\"REQ-001\"");
    world.browser().get("/p/default/table").await.lacks("REQ-001");
}

//= specs/spexus-web.md#tables
//= type=test
//# A table MUST show at most 200 rows at a time, read from the list the service keeps, and MUST NOT count or sort what it does not show.
async fn pages_and_groups_hold_every_row_once(world: &mut World) {
    six(world).await;
    let status = ItemPatch {
        status: Some("Active".into()),
        ..ItemPatch::default()
    };
    set(world, "REQ-001", status.clone()).await;
    set(world, "REQ-004", status).await;
    let mut browser = world.signed_in().await;
    for (query, expected) in [
        (
            "limit=2",
            ["REQ-001", "REQ-002", "REQ-003", "REQ-004", "REQ-005", "REQ-006"],
        ),
        (
            "limit=4",
            ["REQ-001", "REQ-002", "REQ-003", "REQ-004", "REQ-005", "REQ-006"],
        ),
        (
            "group=status&limit=3",
            ["REQ-002", "REQ-003", "REQ-005", "REQ-006", "REQ-001", "REQ-004"],
        ),
        (
            "group=owner&limit=5",
            ["REQ-001", "REQ-002", "REQ-003", "REQ-004", "REQ-005", "REQ-006"],
        ),
    ] {
        let mut next = Some(format!("/p/default/table?{query}"));
        let mut seen = Vec::new();
        while let Some(address) = next {
            let page = browser
                .see(&address.replace("&amp;", "&").replace("&#38;", "&"))
                .await;
            seen.extend(rows(&page.text));
            next = link(&page.text, "\" rel=\"next\"").map(str::to_owned);
            assert!(seen.len() <= 6, "{query}: {seen:?}");
        }
        assert_eq!(seen, expected, "{query}");
    }
    let page = browser.see("/p/default/table?group=status").await;
    assert_eq!(
        page.text.matches("<tr class=\"grp\">").count(),
        2,
        "empty groups are not shown"
    );
}

async fn a_cell_is_edited_without_a_script_and_undone(world: &mut World) {
    six(world).await;
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default/table?status=Draft").await;
    page.shows("href=\"/p/default/table?status=Draft&amp;edit=REQ-002.title\"");
    let page = browser
        .see("/p/default/table?status=Draft&edit=REQ-002.title")
        .await;
    page.shows("name=\"value\" value=\"Second\"")
        .shows("value=\"REQ-002@1\"");
    let only = browser
        .see("/p/default/table/cell?status=Draft&edit=REQ-002.title")
        .await;
    only.shows("name=\"value\" value=\"Second\"").lacks("<nav");
    let saved = save(&mut browser, "REQ-002@1", "title", "Better \"words\" & <b>").await;
    let after = goes_to(&saved);
    assert_eq!(after, "/p/default/table?status=Draft&undo=title%3AREQ-002%402");
    let page = browser.see(&after).await;
    page.shows("REQ-002: Title saved as revision 2")
        .lacks("<b>\"")
        .shows("&lt;b&gt;");
    let undone = [("undo", "title:REQ-002@2"), ("back", "status=Draft")];
    assert_eq!(
        goes_to(&browser.post("/p/default/table/undo", &undone).await),
        "/p/default/table?status=Draft"
    );
    browser.see("/p/default/table").await.shows(">Second</a>");
    let again = browser.post("/p/default/table/undo", &undone).await;
    assert_eq!(
        again.status, 412,
        "what was changed since is not undone: {}",
        again.text
    );
    let saved = save(&mut browser, "REQ-002@3", "owner", "admin").await;
    browser.see(&goes_to(&saved)).await.shows("</span>admin</span>");
    let freed = save(&mut browser, "REQ-002@4", "owner", "").await;
    goes_to(&freed);
    let same = save(&mut browser, "REQ-002@5", "title", "Second").await;
    assert_eq!(
        goes_to(&same),
        "/p/default/table?status=Draft",
        "nothing changed, nothing to undo"
    );
    for (field, value) in [
        ("priority", "urgent"),
        ("type", "Nonsense"),
        ("owner", "nobody-known"),
        ("title", " "),
    ] {
        let refused = save(&mut browser, "REQ-002@5", field, value).await;
        assert!((400..500).contains(&refused.status), "{field}");
        refused.shows("id=\"cell-fault\"");
    }
    let kept = save(&mut browser, "REQ-002@5", "owner", "<i>nobody").await;
    kept.shows("value=\"&#60;i&#62;nobody\"");
}

async fn save(browser: &mut Browser, item: &str, field: &str, value: &str) -> crate::harness::Page {
    let fields = [
        ("cell", "1"),
        ("items", item),
        ("field", field),
        ("value", value),
        ("back", "status=Draft"),
    ];
    browser.post("/p/default/table/edit", &fields).await
}

//= specs/spexus-web.md#tables
//= type=test
//# A cell MUST be saved for the revision that was shown; one that is stale MUST be shown again with what was entered and with who
//# changed it.
async fn a_stale_cell_keeps_what_was_entered_and_says_who_was_quicker(world: &mut World) {
    six(world).await;
    let mut browser = world.signed_in().await;
    let theirs = ItemPatch {
        title: Some("Theirs".into()),
        ..ItemPatch::default()
    };
    set(world, "REQ-002", theirs).await;
    let page = save(&mut browser, "REQ-002@1", "title", "Mine").await;
    assert_eq!(page.status, 412, "{}", page.text);
    page.shows("value=\"Mine\"")
        .shows("value=\"REQ-002@2\"")
        .shows("by admin at");
    let now = item::get(&world.service, &world.admin, Some("default"), None, "REQ-002")
        .await
        .unwrap();
    assert_eq!((now.title.as_str(), now.rev), ("Theirs", 2), "nothing was lost");
    goes_to(&save(&mut browser, "REQ-002@2", "title", "Mine").await);
}

//= specs/spexus-web.md#tables
//= type=test
//# A step of the workflow that is not allowed MUST say why before it is tried.
async fn a_step_that_is_not_allowed_says_why(world: &mut World) {
    six(world).await;
    let mut browser = world.signed_in().await;
    let page = browser
        .see("/p/default/table?kind=user_story&edit=US-001.status")
        .await;
    page.shows(
        "<option value=\"Done\" disabled title=\"no step leads from &#34;Backlog&#34; to &#34;Done&#34;",
    );
    page.shows("<option value=\"Draft\">");
    let refused = save(&mut browser, "US-001@1", "status", "Done").await;
    assert_eq!(refused.status, 409, "{}", refused.text);
}

//= specs/spexus-web.md#tables
//= type=test
//# A change of several rows MUST be shown before it is made, with the reason of every row that cannot be changed, and MUST be made
//# in one transaction.
//= specs/spexus-web.md#tables
//= type=test
//# What was changed in a table MUST be undone as a whole or not at all, and never what others have changed since.
async fn several_rows_are_previewed_and_changed_together(world: &mut World) {
    six(world).await;
    let mut browser = world.signed_in().await;
    set(
        world,
        "REQ-003",
        ItemPatch {
            status: Some("Obsolete".into()),
            ..ItemPatch::default()
        },
    )
    .await;
    let picked = [
        ("items", "REQ-001@1"),
        ("items", "REQ-002@1"),
        ("items", "REQ-003@1"),
        ("field", "status"),
        ("value", "active"),
        ("values", ""),
        ("back", "group=status"),
    ];
    let preview = browser.post("/p/default/table/edit", &picked).await;
    assert_eq!(preview.status, 200, "{}", preview.text);
    preview
        .shows("Rows to be changed: 2")
        .shows("Rows that cannot be changed: 1")
        .shows("changed to");
    preview.shows("name=\"items\" value=\"REQ-001@1,REQ-002@1\"");
    browser
        .see("/p/default/table?status=Active")
        .await
        .lacks("data-ref");
    let sure = |items: &'static str| {
        [
            ("items", items),
            ("field", "status"),
            ("values", "active\nactive"),
            ("sure", "1"),
            ("back", "group=status"),
        ]
    };
    // One of them was changed meanwhile: nothing happens, and the preview says so.
    let late = browser
        .post("/p/default/table/edit", &sure("REQ-001@1,REQ-003@1"))
        .await;
    assert_eq!(late.status, 412, "{}", late.text);
    late.shows("role=\"alert\"");
    browser
        .see("/p/default/table?status=Active")
        .await
        .lacks("data-ref");
    let done = browser
        .post("/p/default/table/edit", &sure("REQ-001@1,REQ-002@1"))
        .await;
    let after = goes_to(&done);
    assert_eq!(
        after,
        "/p/default/table?group=status&undo=status%3AREQ-001%402%2CREQ-002%402"
    );
    browser.see(&after).await.shows("Rows changed: 2 (Status)");
    assert_eq!(
        rows(&browser.see("/p/default/table?status=Active").await.text),
        ["REQ-001", "REQ-002"]
    );
    let priority = [
        ("items", "REQ-001@2,REQ-002@2"),
        ("field", "priority"),
        ("values", "1\nlow"),
        ("sure", "1"),
    ];
    goes_to(&browser.post("/p/default/table/edit", &priority).await);
    set(
        world,
        "REQ-002",
        ItemPatch {
            title: Some("Since".into()),
            ..ItemPatch::default()
        },
    )
    .await;
    let undo = [("undo", "priority:REQ-001@3,REQ-002@3")];
    assert_eq!(browser.post("/p/default/table/undo", &undo).await.status, 412);
    assert_eq!(
        rows(&browser.see("/p/default/table?priority=1").await.text),
        ["REQ-001"],
        "all or nothing"
    );
    let undo = [("undo", "priority:REQ-001@3")];
    goes_to(&browser.post("/p/default/table/undo", &undo).await);
    browser.see("/p/default/table?priority=1").await.lacks("data-ref");
}

async fn a_pasted_column_goes_to_its_rows(world: &mut World) {
    six(world).await;
    let mut browser = world.signed_in().await;
    let pasted = [
        ("items", "REQ-001@1,REQ-002@1,REQ-003@1"),
        ("field", "title"),
        ("values", "First, anew\r\nSecond, anew"),
    ];
    let preview = browser.post("/p/default/table/edit", &pasted).await;
    preview
        .shows("First, anew\nSecond, anew</textarea>")
        .shows("Rows to be changed: 2");
    for (items, field) in [("", "title"), ("REQ-001", "title"), ("REQ-001@1", "colour")] {
        let wrong = [("items", items), ("field", field), ("value", "x")];
        let refused = browser.post("/p/default/table/edit", &wrong).await;
        assert!((400..500).contains(&refused.status), "{items} {field}");
    }
}

//= specs/spexus-web.md#safety
//= type=test
//# A page, a form or a button that the caller may not use MUST NOT be shown, and MUST be refused when it is asked for all the same.
async fn a_reader_sees_rows_and_no_way_to_change_them(world: &mut World) {
    six(world).await;
    let reader = serde_json::from_value(
        serde_json::json!({"username": "rita", "password": "long enough", "role": "Commenter"}),
    );
    user::create(&world.service, &world.admin, reader.unwrap())
        .await
        .unwrap();
    let role = serde_json::from_value(serde_json::json!({"role": "reader"})).unwrap();
    member::put(&world.service, &world.admin, Some("default"), "rita", role)
        .await
        .unwrap();
    let mut browser = world.signed_in_as("rita", "long enough").await;
    let page = browser.see("/p/default/table").await;
    page.shows("data-ref=\"REQ-001\"")
        .lacks("checkbox\" form")
        .lacks("data-edit")
        .lacks("edit=REQ")
        .lacks("id=\"bulk\"");
    browser
        .see("/p/default/table?edit=REQ-001.title")
        .await
        .lacks("name=\"value\" value");
    assert!(
        browser
            .get("/p/default/table/cell?edit=REQ-001.title")
            .await
            .status
            >= 400
    );
    for path in ["edit", "undo"] {
        let fields: &[(&str, &str)] = match path {
            "edit" => &[
                ("items", "REQ-001@1"),
                ("field", "title"),
                ("value", "x"),
                ("sure", "1"),
            ],
            _ => &[("undo", "title:REQ-001@1")],
        };
        let page = browser.post(&format!("/p/default/table/{path}"), fields).await;
        assert!(matches!(page.status, 403 | 404), "{path}: {}", page.status);
    }
}
