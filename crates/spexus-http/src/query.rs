//! The query of a URL against the OpenAPI document: what an operation does not name there is refused, not ignored. Handlers
//! that read a query refuse the rest of it themselves; this is for those that read none and would never look.

use crate::openapi;
use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use serde_json::Value;
use spexus_domain::{Code, Refusal, text};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Method and path of the operations that take nothing from the query.
static WITHOUT_QUERY: LazyLock<HashSet<(String, String)>> = LazyLock::new(|| {
    let document = openapi::openapi();
    let mut found = HashSet::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let parameters = operation["parameters"].as_array();
            if !parameters.is_some_and(|all| all.iter().any(is_in_query)) {
                found.insert((method.to_uppercase(), path.clone()));
            }
        }
    }
    found
});

fn is_in_query(parameter: &Value) -> bool {
    parameter["in"] == "query"
}

//= specs/spexus-http.md#refusals
//# An unknown field of a body and an unknown parameter of a query MUST be refused, not ignored.
/// Refuses a query that the operation would not read.
pub(crate) fn refuse_unread(request: &Request) -> Result<(), Refusal> {
    let query = request.uri().query().unwrap_or_default();
    let Some((name, _)) = form_urlencoded::parse(query.as_bytes()).next() else {
        return Ok(());
    };
    let Some(route) = request.extensions().get::<MatchedPath>() else {
        return Ok(());
    };
    // Whatever is asked for by GET may be asked for by HEAD.
    let method = match request.method() {
        &Method::HEAD => Method::GET.as_str(),
        method => method.as_str(),
    };
    let operation = (method.to_owned(), route.as_str().to_owned());
    if !WITHOUT_QUERY.contains(&operation) {
        return Ok(());
    }
    let refusal = Refusal::field(
        Code::InvalidParams,
        text::excerpt(&name, 100),
        format!("{method} {} reads no query", route.as_str()),
        "no query; fields stand in the body, by the names /docs gives",
    );
    Err(refusal)
}
