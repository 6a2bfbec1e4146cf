//! A project read as a specification, and taken along as a file.

use crate::harness::{World, both};
use spexus_domain::Kind;

both![
    headings_are_numbered_and_what_stands_below_is_shown,
    a_long_document_comes_in_parts_that_hold_every_row_once,
    it_is_exported_in_three_forms,
];

async fn headings_are_numbered_and_what_stands_below_is_shown(world: &mut World) {
    world.seed().await;
    world.item(Kind::Epic, None, "Pay", "").await;
    world
        .item(Kind::UserStory, Some("EP-002"), "With a card", "")
        .await;
    world
        .item(Kind::UserStory, Some("EP-002"), "With an invoice", "")
        .await;
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default/document").await;
    page.shows(
        "<span class=\"no\">2.2</span><div><h3><a href=\"/p/default/US-003\">With an invoice</a></h3>",
    )
    .shows("id=\"REQ-001\" data-ref=\"REQ-001\"")
    .shows("The service <strong>shall</strong> accept passkeys.")
    .shows("href=\"#US-001\"")
    .lacks("rel=\"next\"");
    let one = browser.see("/p/default/document?under=EP-002").await;
    one.shows("With a card").lacks("data-ref=\"REQ-001\"");
    // The outline highlights one epic: the one this part begins with.
    for (page, number) in [(&page, 1), (&one, 2)] {
        let outline = page.text.split("class=\"outline").nth(1).unwrap();
        assert_eq!(outline.matches("aria-current=\"true\"").count(), 1);
        let open = format!("aria-current=\"true\"><span class=\"no\">{number}</span>");
        assert!(outline.contains(&open), "{outline}");
    }
}

async fn a_long_document_comes_in_parts_that_hold_every_row_once(world: &mut World) {
    let mut wanted = Vec::new();
    for epic in 1..=3 {
        wanted.push(
            world
                .item(Kind::Epic, None, "Chapter", "")
                .await
                .reference_id
                .to_string(),
        );
        let above = format!("EP-{epic:03}");
        let story = world
            .item(Kind::UserStory, Some(&above), "Story", "")
            .await
            .reference_id
            .to_string();
        wanted.push(story.clone());
        for _ in 0..[10, 215, 199][epic - 1] {
            let below = world
                .item(Kind::Requirement, Some(&story), "Requirement", "")
                .await;
            wanted.push(below.reference_id.to_string());
        }
    }
    let mut browser = world.signed_in().await;
    let (mut shown, mut path): (Vec<String>, _) = (Vec::new(), "/p/default/document".to_owned());
    loop {
        let page = browser.see(&path).await;
        let rows = page
            .text
            .split("\" data-ref=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned());
        let rows: Vec<String> = rows.collect();
        assert!((1..=200).contains(&rows.len()), "{path}: {}", rows.len());
        shown.extend(rows);
        let Some((before, _)) = page.text.split_once("\" rel=\"next\"") else {
            break;
        };
        path = before
            .rsplit('"')
            .next()
            .unwrap()
            .replace("&#38;", "&")
            .replace("&amp;", "&");
    }
    assert_eq!(shown, wanted);
}

async fn it_is_exported_in_three_forms(world: &mut World) {
    world.seed().await;
    world
        .item(
            Kind::Requirement,
            Some("US-001"),
            "Odd",
            "<script>alert(1)</script>",
        )
        .await;
    let mut browser = world.signed_in().await;
    for (form, kind, piece) in [
        ("md", "text/markdown", "The service **shall** accept passkeys."),
        ("csv", "text/csv", "REQ-001"),
        (
            "html",
            "text/html",
            "The service <strong>shall</strong> accept passkeys.",
        ),
    ] {
        let page = browser
            .see(&format!("/p/default/document/export?form={form}&under=EP-001"))
            .await;
        assert!(page.header("content-type").starts_with(kind), "{form}");
        assert_eq!(
            page.header("content-disposition"),
            format!("attachment; filename=\"default-EP-001.{form}\"")
        );
        page.shows(piece);
        if form == "html" {
            page.shows("<style>").lacks("<script").lacks("src=");
        }
    }
    assert_eq!(
        browser.get("/p/default/document/export?form=exe").await.status,
        400
    );
}
