//! A request against the OpenAPI document: what an operation does not name there is refused, not ignored. Handlers that read
//! a query refuse the rest of it themselves; this is for those that read none and would never look. Two headers promise
//! something, that it is done once or only to what was seen: who sends them to an operation that keeps no such promise has
//! to hear of it.

use crate::openapi;
use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use serde_json::Value;
use spexus_domain::{Code, Refusal, text};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The headers an operation reads or refuses.
const PROMISES: [&str; 2] = ["Idempotency-Key", "If-Match"];

/// What an operation reads.
#[derive(Default)]
struct Reads {
    query: bool,
    headers: [bool; PROMISES.len()],
}

/// What every operation reads, by method and path.
static READS: LazyLock<HashMap<(String, String), Reads>> = LazyLock::new(|| {
    let document = openapi::openapi();
    let mut found = HashMap::new();
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            found.insert((method.to_uppercase(), path.clone()), reads(operation));
        }
    }
    found
});

fn reads(operation: &Value) -> Reads {
    let parameters = || operation["parameters"].as_array().into_iter().flatten();
    let in_header = |name: &str| {
        let mut all = parameters();
        all.any(|parameter| parameter["in"] == "header" && parameter["name"] == name)
    };
    Reads {
        query: parameters().any(|parameter| parameter["in"] == "query"),
        headers: PROMISES.map(in_header),
    }
}

/// Refuses what the operation would not read.
pub(crate) fn refuse_unread(request: &Request) -> Result<(), Refusal> {
    let query = request.uri().query().unwrap_or_default();
    let name = form_urlencoded::parse(query.as_bytes())
        .next()
        .map(|(name, _)| name);
    let promises = PROMISES.map(|header| request.headers().contains_key(header));
    if name.is_none() && promises == [false; PROMISES.len()] {
        return Ok(());
    }
    let Some(route) = request.extensions().get::<MatchedPath>() else {
        return Ok(());
    };
    // Whatever is asked for by GET may be asked for by HEAD.
    let method = match request.method() {
        &Method::HEAD => Method::GET.as_str(),
        method => method.as_str(),
    };
    let operation = (method.to_owned(), route.as_str().to_owned());
    let Some(reads) = READS.get(&operation) else {
        return Ok(());
    };
    let operation = format!("{method} {}", route.as_str());
    //= specs/spexus-http.md#refusals
    //# An unknown field of a body and an unknown parameter of a query MUST be refused, not ignored.
    if let Some(name) = name.filter(|_| !reads.query) {
        return Err(Refusal::field(
            Code::InvalidParams,
            text::excerpt(&name, 100),
            format!("{operation} reads no query"),
            "no query; fields stand in the body, by the names /docs gives",
        ));
    }
    //= specs/spexus-http.md#refusals
    //# `Idempotency-Key` and `If-Match` MUST be refused by an operation that does not read them.
    for (at, header) in PROMISES.iter().enumerate() {
        if promises[at] && !reads.headers[at] {
            return Err(Refusal::field(
                Code::InvalidHeader,
                *header,
                format!("{operation} does not read it"),
                "leave it out; /docs names the operations that read it",
            ));
        }
    }
    Ok(())
}
