//! Traceability: the page says what the check says.

use crate::harness::{World, both};
use spexus_domain::Kind;
use spexus_service::evidence::{self, CheckQuery, PushBody, ReportBody};
use spexus_service::project;

both![
    a_trace_page_says_what_the_check_says,
    an_item_says_why_it_is_not_verified,
    a_timeline_is_drawn_from_its_numbers,
];

const REPORT: &str = r#"<testsuites><testsuite name="s">
<testcase classname="s" name="good"><properties><property name="requirement" value="REQ-001"/></properties></testcase>
<testcase classname="s" name="bad"><properties><property name="requirement" value="REQ-002"/></properties><failure message="no"/></testcase>
</testsuite></testsuites>"#;

//= specs/spexus-web.md#traceability
//= type=test
//# The page of traceability MUST show the same states and gaps as `spexus trace check`, at most 100 requirements at a time.
async fn a_trace_page_says_what_the_check_says(world: &mut World) {
    world.seed().await;
    for number in 2..=104 {
        let title = format!("Requirement {number} <b>");
        world.item(Kind::Requirement, Some("US-001"), &title, "").await;
    }
    let mut browser = world.signed_in().await;
    browser
        .see("/p/default/trace")
        .await
        .shows("spexus trace push --project default");
    let push = PushBody {
        project: Some("default".into()),
        commit: "0123456789abcdef0123456789abcdef01234567".into(),
        reports: vec![ReportBody {
            format: "junit".into(),
            text: REPORT.into(),
            ..ReportBody::default()
        }],
        ..PushBody::default()
    };
    evidence::push(&world.service, &world.admin, push.into_push().unwrap())
        .await
        .unwrap();

    let checked = evidence::check(&world.service, &world.admin, &CheckQuery::default())
        .await
        .unwrap();
    let page = browser.see("/p/default/trace").await;
    page.lacks("spexus trace push")
        .lacks("data-ref=\"REQ-001\"")
        .lacks("<b>\"")
        .shows("data-s=\"ran\" data-f=\"failed\"")
        .shows(&format!(
            "{} of {} are passed or better",
            checked.checked - checked.gaps.len(),
            checked.checked
        ));
    let mut seen = page.text.matches("<tr data-ref=").count();
    assert_eq!(seen, 100);
    for gap in &checked.gaps[..100] {
        page.shows(&format!("data-ref=\"{}\"", gap.reference_id));
    }
    let next = page.text.split("rel=\"next\"").next().unwrap();
    let next = next.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    let rest = browser
        .see(&next.replace("&#38;", "&").replace("&amp;", "&"))
        .await;
    seen += rest.text.matches("<tr data-ref=").count();
    assert_eq!(seen, checked.gaps.len());
    rest.lacks("rel=\"next\"");
    // A lower demand leaves fewer, and one nobody knows is refused with those there are.
    browser
        .see("/p/default/trace?level=ran")
        .await
        .lacks("data-ref=\"REQ-002\"");
    browser.get("/p/default/trace?level=high").await.shows("affirmed");

    // Who is no member finds nothing.
    let closed = serde_json::json!({"key": "closed", "name": "Closed", "default_role": "none"});
    let closed = serde_json::from_value(closed).unwrap();
    project::create(&world.service, &world.admin, closed)
        .await
        .unwrap();
    assert_eq!(browser.get("/p/closed/trace").await.status, 200);
    let mut stranger = world.person("kim", "User").await;
    assert_eq!(stranger.get("/p/closed/trace").await.status, 404);
}

async fn pushed(world: &World, commit: &str, report: &str) {
    let push = PushBody {
        project: Some("default".into()),
        commit: commit.repeat(40),
        reports: vec![ReportBody {
            format: "junit".into(),
            text: report.into(),
            ..ReportBody::default()
        }],
        marks: Some(serde_json::from_value(serde_json::json!([
            {"id": "REQ-001", "role": "code", "path": "src/<a>.rs", "line": 3, "end_line": 9, "hash": "h", "by": "citation"},
            {"id": "REQ-001", "role": "sentence", "path": "specs/s.md", "line": 7, "end_line": 7, "hash": "h", "by": "mark", "quote": "It MUST."},
        ])).unwrap()),
        ..PushBody::default()
    };
    evidence::push(&world.service, &world.admin, push.into_push().unwrap())
        .await
        .unwrap();
}

//= specs/spexus-web.md#traceability
//= type=test
//# The page of an item MUST show the same state, weakest link, tests and places as its trace, each place with its file and line.
async fn an_item_says_why_it_is_not_verified(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    browser
        .see("/p/default/REQ-001")
        .await
        .shows("Why is this not verified?")
        .shows("<p><span class=\"ev\" data-s=\"none\">");
    pushed(world, "a", REPORT).await;
    let told = evidence::trace(&world.service, &world.admin, None, None, "REQ-001")
        .await
        .unwrap();
    assert_eq!(told.trace.state.name(), "passed");
    let words = told.trace.weakest.split('`').next().unwrap();
    browser
        .see("/p/default/REQ-001")
        .await
        .shows("data-s=\"passed\"")
        .shows("<code>specs/s.md:7</code>")
        .shows("<code>src/&lt;a&gt;.rs:3–9</code>")
        .shows("<code>s::good</code>")
        .shows("1 of 1")
        .shows("<li class=\"weak\">")
        .shows(&words.replace('<', "&lt;").replace('>', "&gt;"));
    // An epic has no ladder of its own: it stands where the lowest below it does, and says which that is.
    browser
        .see("/p/default/EP-001")
        .await
        .shows("data-s=\"passed\"")
        .lacks("class=\"ladder\"");
}

//= specs/spexus-web.md#traceability
//= type=test
//# The timeline MUST be drawn by the server, with its numbers beside it and its last number that of the check.
async fn a_timeline_is_drawn_from_its_numbers(world: &mut World) {
    world.seed().await;
    let mut browser = world.signed_in().await;
    pushed(world, "a", REPORT).await;
    browser.see("/p/default/trace").await.lacks("<polyline");
    pushed(
        world,
        "b",
        &REPORT.replace("name=\"good\">", "name=\"good\"><failure message=\"no\"/>"),
    )
    .await;
    let checked = evidence::check(&world.service, &world.admin, &CheckQuery::default())
        .await
        .unwrap();
    let reached = checked.checked - checked.gaps.len();
    let page = browser.see("/p/default/trace").await;
    page.shows("<polyline points=\"6.0,6.0 634.0,114.0\"/>")
        .shows("<td><code>bbbbbbbbbbbb</code></td>")
        .shows(&format!(
            "<td class=\"num\">{reached} of {}</td>",
            checked.checked
        ));
    let rows: Vec<&str> = page
        .text
        .split("<td><code>")
        .skip(1)
        .map(|row| &row[..12])
        .collect();
    assert_eq!(rows, ["bbbbbbbbbbbb", "aaaaaaaaaaaa"]);
}
