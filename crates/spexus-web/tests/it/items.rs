//! An item in a browser without scripts: read, made, edited, linked, discussed, deleted.

use crate::harness::{World, both};
use spexus_domain::Kind;
use spexus_domain::item::ItemPatch;
use spexus_service::item;

both![
    an_item_is_shown_with_what_belongs_to_it,
    an_item_is_made_once,
    a_form_that_does_not_fit_comes_back_with_what_was_typed,
    an_edit_is_saved_and_told,
    a_stale_save_merges_what_does_not_clash,
    links_are_found_made_and_ended,
    comments_are_written_answered_and_settled,
    what_falls_is_shown_before,
    long_lists_come_in_parts,
    what_people_wrote_stays_text,
    a_text_is_previewed_before_it_is_saved,
    an_item_leads_to_its_neighbours,
];

//= specs/spexus-web.md#documents
//= type=test
//# Everything that shows an item as a row or a card MUST name it in `data-ref`.
async fn an_item_is_shown_with_what_belongs_to_it(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default/REQ-001").await;
    page.shows("<h1 class=\"ttl\">Passkeys work</h1>")
        .shows("The service <strong>shall</strong> accept passkeys.")
        .shows("<article data-ref=\"REQ-001\">")
        .shows("href=\"/p/default/US-001\"")
        .shows("href=\"/p/default/REQ-001/edit\"");
    let story = browser.see("/p/default/US-001").await;
    story
        .shows("<tr data-ref=\"AC-001\">")
        .shows("<tr data-ref=\"REQ-001\">")
        .shows("The passkey prompt opens within a second.");
    // A criterion without a title is headed by its text.
    browser
        .see("/p/default/AC-001")
        .await
        .shows("<h1 class=\"ttl\">The passkey prompt opens within a second.</h1>");
}

//= specs/spexus-web.md#documents
//= type=test
//# A form that was sent twice MUST make one thing.
async fn an_item_is_made_once(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let form = browser.see("/p/default/new?kind=requirement&parent=US-001").await;
    form.shows("<option value=\"US-001\" selected>");
    let once = form.hidden("once").to_owned();
    let fields = [
        ("kind", "requirement"),
        ("once", once.as_str()),
        ("title", "Sessions end"),
        ("description", "After an hour."),
        ("parent", "US-001"),
        ("priority", "1"),
        ("type", "Functional"),
        ("assignee", "admin"),
    ];
    for _ in 0..2 {
        let made = browser.post("/p/default/new", &fields).await;
        assert_eq!(
            (made.status, made.header("location")),
            (303, "/p/default/REQ-002")
        );
    }
    browser
        .see("/p/default/REQ-002")
        .await
        .shows("Sessions end")
        .shows("data-p=\"1\"");
    assert_eq!(browser.get("/p/default/REQ-003").await.status, 404);
}

//= specs/spexus-web.md#documents
//= type=test
//# A form that does not fit MUST be shown again with the entered texts, each fault at its field with what is allowed.
async fn a_form_that_does_not_fit_comes_back_with_what_was_typed(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let fields = [
        ("kind", "requirement"),
        ("once", "x"),
        ("title", ""),
        ("description", "Every <b>word</b> stays."),
        ("parent", "EP-001"),
    ];
    let page = browser.post("/p/default/new", &fields).await;
    assert_eq!(page.status, 400, "{}", page.text);
    page.shows("id=\"title-fault\"")
        .shows("Every &#60;b&#62;word&#60;/b&#62; stays.");
    let long = "x".repeat(600);
    let page = browser
        .post(
            "/p/default/REQ-001/edit",
            &[("rev", "1"), ("title", &long), ("description", "kept")],
        )
        .await;
    assert_eq!(page.status, 400, "{}", page.text);
    page.shows("title-fault").shows("500").shows(&long).shows("kept");
    for fields in [
        [("rev", "1"), ("colour", "red")],
        [("rev", "one"), ("title", "T")],
    ] {
        let page = browser.post("/p/default/REQ-001/edit", &fields).await;
        assert_eq!(page.status, 400, "{}", page.text);
    }
    browser.see("/p/default/REQ-001").await.shows("Passkeys work");
}

//= specs/spexus-web.md#documents
//= type=test
//# Every page MUST be readable, and simple edits possible, without a script.
//= specs/spexus-web.md#documents
//= type=test
//# An answer to a form MUST lead to a page that can be reloaded without doing it again.
async fn an_edit_is_saved_and_told(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let form = browser.see("/p/default/REQ-001/edit").await;
    form.shows("value=\"Passkeys work\"").lacks("(not from");
    let rev = form.hidden("rev").to_owned();
    let fields = [
        ("rev", rev.as_str()),
        ("title", "Passkeys always work"),
        (
            "description",
            "The service **shall** accept passkeys\r\nof every maker.",
        ),
        ("status", "Active"),
        ("priority", "1"),
        ("type", "Functional"),
        ("assignee", "admin"),
        ("acceptance_criterion", "AC-001"),
        ("new.name", "release"),
        ("new.value", "0.6"),
    ];
    let page = browser.submit("/p/default/REQ-001/edit", &fields).await;
    page.shows("Passkeys always work")
        .shows("<ins>always </ins>")
        .shows("<dt>release</dt><dd>0.6</dd>")
        .shows("href=\"/p/default/AC-001\"")
        .shows("data-st=\"active\"");
    // One step by a form that holds nothing else.
    let page = browser
        .submit("/p/default/REQ-001/edit", &[("rev", "2"), ("status", "Obsolete")])
        .await;
    page.shows("data-st=\"obsolete\"").shows("Passkeys always work");
    let page = browser.see("/p/default/REQ-001/history").await;
    page.shows("<del>Active</del> → <ins>Obsolete</ins>")
        .shows("made it");
    // A step the workflow does not have is refused at its field.
    let refused = browser
        .post("/p/default/REQ-001/edit", &[("rev", "3"), ("status", "Draft")])
        .await;
    assert_eq!(refused.status, 409);
    refused
        .shows("id=\"status-fault\"")
        .shows("Draft (not from Obsolete)");
}

//= specs/spexus-web.md#documents
//= type=test
//# A save for a revision that is no longer the last MUST show what was before, what others made of it and what was typed, with
//# everything merged that does not clash, and MUST NOT overwrite anything.
async fn a_stale_save_merges_what_does_not_clash(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let patch = ItemPatch {
        title: Some("Passkeys of every maker work".into()),
        description: Some("The payment service **shall** accept passkeys.".into()),
        ..ItemPatch::default()
    };
    item::update(
        &world.service,
        &world.admin,
        Some("default"),
        None,
        "REQ-001",
        patch,
    )
    .await
    .unwrap();
    let mine = [
        ("rev", "1"),
        ("title", "Passkeys work"),
        (
            "description",
            "The service **shall** accept passkeys within a second.",
        ),
        ("priority", "2"),
    ];
    let page = browser.post("/p/default/REQ-001/edit", &mine).await;
    assert_eq!(page.status, 412, "{}", page.text);
    page.shows("role=\"alert\"")
        .shows("<fieldset data-field=\"description\">")
        .shows("<fieldset data-field=\"priority\">")
        .shows("<fieldset data-field=\"title\">")
        .shows("<input type=\"hidden\" name=\"rev\" value=\"2\">")
        .shows("The payment service **shall** accept passkeys within a second.</textarea>");
    let now = item::get(&world.service, &world.admin, Some("default"), None, "REQ-001")
        .await
        .unwrap();
    assert_eq!((now.rev, now.title.as_str()), (2, "Passkeys of every maker work"));
    let settled = [
        ("rev", "2"),
        ("description", mine[2].1),
        ("pick.description", "both"),
        (
            "both.description",
            "The payment service **shall** accept passkeys within a second.",
        ),
        ("priority", "2"),
    ];
    let page = browser.submit("/p/default/REQ-001/edit", &settled).await;
    page.shows("Passkeys of every maker work")
        .shows("The payment service <strong>shall</strong> accept passkeys within a second.")
        .shows("data-p=\"2\"");
    // Theirs is what stands, mine what was typed.
    let chosen = [("rev", "3"), ("title", "Mine"), ("pick.title", "theirs")];
    browser
        .submit("/p/default/REQ-001/edit", &chosen)
        .await
        .shows("Passkeys of every maker work");
    let chosen = [("rev", "3"), ("title", "Mine"), ("pick.title", "mine")];
    browser
        .submit("/p/default/REQ-001/edit", &chosen)
        .await
        .shows("<h1 class=\"ttl\">Mine</h1>");
}

async fn links_are_found_made_and_ended(world: &mut World) {
    world.seed().await;
    world
        .item(
            Kind::Requirement,
            Some("US-001"),
            "Challenges are fresh",
            "Used once.",
        )
        .await;
    let mut browser = world.signed_in().await;
    let found = browser
        .see("/p/default/REQ-001/links?type=depends_on&query=challenges")
        .await;
    found
        .shows("data-ref=\"REQ-002\"")
        .shows("value=\"is_required_by\"")
        .lacks("value=\"guides\"");
    let fields = [
        ("type", "depends_on"),
        ("target", "REQ-002"),
        ("query", "challenges"),
    ];
    let page = browser.submit("/p/default/REQ-001/links", &fields).await;
    page.shows("<tr data-ref=\"REQ-002\"><td class=\"dim\">depends on</td>");
    browser.see("/p/default/REQ-002").await.shows("is required by");
    let twice = browser.post("/p/default/REQ-001/links", &fields).await;
    assert_eq!(twice.status, 409);
    twice.shows("role=\"alert\"").shows("value=\"challenges\"");
    // A changed end makes the link suspect until somebody confirms it.
    browser
        .submit(
            "/p/default/REQ-002/edit",
            &[("rev", "1"), ("description", "Used once only.")],
        )
        .await;
    let page = browser.see("/p/default/REQ-001").await;
    let id = page.text.split("/links/").nth(1).unwrap()[..36].to_owned();
    page.shows("suspect").shows(&format!("/links/{id}/confirm"));
    let page = browser
        .submit(&format!("/p/default/REQ-001/links/{id}/confirm"), &[])
        .await;
    page.lacks(&format!("/links/{id}/confirm"));
    let page = browser
        .submit(&format!("/p/default/REQ-001/links/{id}/end"), &[])
        .await;
    page.lacks("<tr data-ref=\"REQ-002\">");
}

async fn comments_are_written_answered_and_settled(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default/REQ-001").await;
    let once = page.hidden("once").to_owned();
    let fields = [
        ("content", "Is *every* maker meant?"),
        ("once", once.as_str()),
        ("quote", "accept passkeys"),
    ];
    // Sent twice, written once.
    browser.submit("/p/default/REQ-001/comments", &fields).await;
    let page = browser.submit("/p/default/REQ-001/comments", &fields).await;
    page.shows("Is <em>every</em> maker meant?")
        .shows("<blockquote>accept passkeys");
    assert_eq!(page.text.matches("Is <em>every</em> maker meant?").count(), 1);
    let id = page.text.split("id=\"comment-").nth(1).unwrap()[..36].to_owned();
    let once = page.hidden("once").to_owned();
    let answer = [
        ("content", "Yes."),
        ("parent", id.as_str()),
        ("once", once.as_str()),
    ];
    let page = browser.submit("/p/default/REQ-001/comments", &answer).await;
    page.shows("<p>Yes.</p>").shows("1 open");
    let page = browser
        .submit(
            &format!("/p/default/REQ-001/comments/{id}/settle"),
            &[("resolved", "true")],
        )
        .await;
    page.shows("settled").lacks("1 open");
    let edited = [("content", "Are all makers meant?"), ("rev", "2")];
    let page = browser
        .submit(&format!("/p/default/REQ-001/comments/{id}/edit"), &edited)
        .await;
    page.shows("Are all makers meant?");
    // A comment that was answered stays; words that are not in the text are refused with what was typed kept.
    assert_eq!(
        browser
            .post(&format!("/p/default/REQ-001/comments/{id}/remove"), &[])
            .await
            .status,
        409
    );
    let once = page.hidden("once").to_owned();
    let lost = [
        ("content", "About what?"),
        ("once", once.as_str()),
        ("quote", "no such words"),
    ];
    let page = browser.post("/p/default/REQ-001/comments", &lost).await;
    assert_eq!(page.status, 400);
    page.shows("About what?</textarea>")
        .shows("value=\"no such words\"")
        .shows("role=\"alert\"");
}

async fn what_falls_is_shown_before(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default/EP-001/delete").await;
    for reference in ["US-001", "AC-001", "REQ-001"] {
        page.shows(&format!("<li data-ref=\"{reference}\">"));
    }
    page.shows("Delete 4 items");
    let stale = browser.post("/p/default/EP-001/delete", &[("rev", "7")]).await;
    assert_eq!(stale.status, 412);
    browser.see("/p/default/EP-001").await;
    let gone = browser.post("/p/default/EP-001/delete", &[("rev", "1")]).await;
    assert_eq!((gone.status, gone.header("location")), (303, "/p/default"));
    assert_eq!(browser.get("/p/default/REQ-001").await.status, 404);
}

//= specs/spexus-web.md#documents
//= type=test
//# Every page MUST show at most 200 rows at a time, however many there are.
async fn long_lists_come_in_parts(world: &mut World) {
    world.item(Kind::Epic, None, "Many", "").await;
    for number in 0..230 {
        world
            .item(Kind::UserStory, Some("EP-001"), &format!("Story {number}"), "")
            .await;
    }
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default/EP-001").await;
    assert_eq!(page.text.matches("<tr data-ref=\"US-").count(), 200);
    page.shows("30 more");
}

async fn what_people_wrote_stays_text(world: &mut World) {
    let payload = "\"><img src=x onerror=alert(1)><script>alert(2)</script>'";
    world.seed().await;
    world
        .item(Kind::Requirement, Some("US-001"), payload, payload)
        .await;
    let mut browser = world.signed_in().await;
    let page = browser.see("/p/default/REQ-002").await;
    let once = page.hidden("once").to_owned();
    browser
        .submit(
            "/p/default/REQ-002/comments",
            &[("content", payload), ("once", &once)],
        )
        .await;
    let fields = [
        ("rev", "1"),
        ("description", "new"),
        ("new.name", "risk"),
        ("new.value", payload),
    ];
    browser.submit("/p/default/REQ-002/edit", &fields).await;
    for path in ["", "/edit", "/history", "/delete", "/links?query=script"] {
        let page = browser.see(&format!("/p/default/REQ-002{path}")).await;
        page.lacks("<img").lacks("<script>");
    }
    let stale = browser
        .post(
            "/p/default/REQ-002/edit",
            &[("rev", "1"), ("title", payload), ("description", payload)],
        )
        .await;
    assert_eq!(stale.status, 412);
    stale.lacks("<img").lacks("<script>");
}

//= specs/spexus-web.md#documents
//= type=test
//# What is typed MUST be shown as it would look before it is saved, made by the same renderer, also without a script.
async fn a_text_is_previewed_before_it_is_saved(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    let typed = [
        ("rev", "1"),
        ("title", "Typed <i>"),
        ("description", "It **must** <script>work</script>."),
        ("preview", "1"),
    ];
    let page = browser.post("/p/default/REQ-001/edit", &typed).await;
    assert_eq!(page.status, 200);
    page.shows("id=\"preview-h\"")
        .shows("It <strong>must</strong>")
        .shows("value=\"Typed &#60;i&#62;\"")
        .lacks("<script>work");
    browser
        .see("/p/default/REQ-001")
        .await
        .shows("Passkeys work")
        .lacks("Typed");
    let typed = [
        ("kind", "epic"),
        ("once", "x"),
        ("title", "New one"),
        ("description", "*soon*"),
        ("preview", "1"),
    ];
    let page = browser.post("/p/default/new", &typed).await;
    assert_eq!(page.status, 200);
    page.shows("<em>soon</em>").shows("value=\"New one\"");
    assert_eq!(browser.get("/p/default/EP-002").await.status, 404);
}

async fn an_item_leads_to_its_neighbours(world: &mut World) {
    world.seed().await;
    for title in ["Second", "Third"] {
        world.item(Kind::Requirement, Some("US-001"), title, "").await;
    }
    world.item(Kind::Epic, None, "Pay", "").await;
    let mut browser = world.signed_in().await;
    let (prev, next) = ("rel=\"prev\"", "rel=\"next\"");
    let page = browser.see("/p/default/REQ-002").await;
    page.shows(&format!("href=\"/p/default/REQ-001\" {prev}"))
        .shows(&format!("href=\"/p/default/REQ-003\" {next}"));
    browser.see("/p/default/REQ-001").await.lacks(prev).shows(next);
    browser.see("/p/default/REQ-003").await.shows(prev).lacks(next);
    let page = browser.see("/p/default/EP-001").await;
    page.lacks(prev)
        .shows(&format!("href=\"/p/default/EP-002\" {next}"));
}
