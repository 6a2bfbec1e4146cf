//! Search by address: what only a request line can say. What is found is tested in the service.

use crate::harness::{Server, both};
use reqwest::Url;

both![
    a_search_is_asked_by_its_address,
    a_text_too_long_for_an_address_is_no_fault
];

async fn a_search_is_asked_by_its_address(server: &mut Server) {
    server.seed().await;
    let long = server
        .get("/api/v1/search?query=passkey&kinds=user_story")
        .await
        .ok();
    let short = server
        .get("/api/v1/search?q=passkey&entity_types=user_story")
        .await
        .ok();
    assert_eq!(long, short, "both names work");
    assert_eq!(
        (&long["total_count"], &long["data"][0]["reference_id"]),
        (&1.into(), &"US-001".into())
    );
    for text in ["\u{0}", "a\u{0}b", "%", "\"", "a&b=c", "#", "🙂"] {
        let url = Url::parse_with_params("http://x/", [("query", text)]).unwrap();
        server
            .get(&format!("/api/v1/search?{}", url.query().unwrap()))
            .await
            .ok();
    }
}

async fn a_text_too_long_for_an_address_is_no_fault(server: &mut Server) {
    let long = "x".repeat(20_000);
    let reply = server.get(&format!("/api/v1/search?query={long}")).await;
    // A line longer than the server reads is refused before it is a search.
    assert!([200, 414, 431].contains(&reply.status), "{}", reply.status);
}
