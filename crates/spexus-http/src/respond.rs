//! Rendering: values, refusals, revisions.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use spexus_domain::query::Page;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::envelope::ErrorEnvelope;

/// What a handler answers when it refuses.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Refusal);

/// What handlers answer.
pub(crate) type Answer<T> = Result<T, Refused>;

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

//= specs/spexus-http.md#refusals
//# Every refusal MUST come in one envelope with the code, the name, a message and a hint of the table of refusals.
impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let refusal = self.0.clone();
        add_headers(
            &refusal,
            (status, Json(ErrorEnvelope::from(self.0))).into_response(),
        )
    }
}

/// Adds the headers that belong to a refusal.
pub(crate) fn add_headers(refusal: &Refusal, mut response: Response) -> Response {
    let facts = refusal.facts.iter();
    let wait = facts
        .filter(|(name, _)| *name == "retry_after_seconds")
        .find_map(|(_, value)| HeaderValue::from_str(value).ok());
    let status = response.status();
    let headers = response.headers_mut();
    if let Some(wait) = wait {
        headers.insert(header::RETRY_AFTER, wait);
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"spexus\""),
        );
    }
    response.extensions_mut().insert(refusal.code);
    response
}

/// A value as JSON, written into one text; `axum::Json` writes into a buffer that asks for room at every comma.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(text) => {
                let kind = HeaderValue::from_static("application/json");
                ([(header::CONTENT_TYPE, kind)], text).into_response()
            }
            Err(error) => {
                tracing::error!(%error, "an answer could not be written");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// A value with its revision as ETag.
pub(crate) struct Tagged<T> {
    pub(crate) status: StatusCode,
    pub(crate) rev: i64,
    pub(crate) value: T,
    /// Where it stands, when it was made.
    pub(crate) location: Option<String>,
}

impl<T> Tagged<T> {
    pub(crate) fn ok(rev: i64, value: T) -> Self {
        Self {
            status: StatusCode::OK,
            rev,
            value,
            location: None,
        }
    }

    pub(crate) fn created(rev: i64, location: String, value: T) -> Self {
        Self {
            status: StatusCode::CREATED,
            rev,
            value,
            location: Some(location),
        }
    }
}

/// The header that tells where something stands that was made.
//= specs/spexus-http.md#description
//# Every answer to something made that has an address MUST name it as `Location`, and no answer MUST name an address that
//# cannot be read.
fn located(path: &str) -> [(header::HeaderName, HeaderValue); 1] {
    // Addresses are made of keys, user names and UUIDs; what a header cannot hold is escaped.
    let escaped: String = path
        .bytes()
        .map(|byte| match byte {
            b'!'..=b'~' if !b"\"<>\\^`{|}".contains(&byte) => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    let value = HeaderValue::from_str(&escaped).unwrap_or(HeaderValue::from_static("/"));
    [(header::LOCATION, value)]
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.value)).into_response();
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", self.rev)) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        if let Some(path) = self.location {
            response.headers_mut().extend(located(&path));
        }
        response
    }
}

/// Whether the client has this revision already.
pub(crate) fn is_known(headers: &HeaderMap, rev: i64) -> bool {
    let tag = format!("\"{rev}\"");
    headers.get(header::IF_NONE_MATCH).is_some_and(|known| {
        known.to_str().is_ok_and(|known| {
            known
                .split(',')
                .any(|known| known.trim().trim_start_matches("W/") == tag)
        })
    })
}

/// The revision a write is made against, from `If-Match`.
pub(crate) fn expected_rev(headers: &HeaderMap) -> Ruled<Option<i64>> {
    let Some(tag) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let text = tag.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(None);
    }
    let number = text
        .trim_start_matches("W/")
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match number.and_then(|number| number.parse().ok()) {
        Some(rev) => Ok(Some(rev)),
        None => Err(Refusal::field(
            Code::InvalidHeader,
            "If-Match",
            "is not a revision",
            "the ETag of the item, such as \"7\"",
        )),
    }
}

/// The revision a write is made against, from `If-Match` or from the body, which must not be two.
pub(crate) fn one_rev(headers: &HeaderMap, body: Option<i64>) -> Ruled<Option<i64>> {
    match (expected_rev(headers)?, body) {
        (Some(header), Some(body)) if header != body => {
            let problem = format!("is {body}, but If-Match says {header}");
            Err(Refusal::field(
                Code::InvalidParams,
                "expect_rev",
                problem,
                "one of the two",
            ))
        }
        (header, body) => Ok(header.or(body)),
    }
}

/// Only the fields asked for, from a fixed shape: an unknown name is refused with the known ones.
pub(crate) fn select(value: &impl Serialize, wanted: Option<&str>, known: &[&str]) -> Ruled<Value> {
    let value = serde_json::to_value(value)
        .map_err(|_| Refusal::new(Code::InternalError, "the answer could not be written"))?;
    let Some(wanted) = wanted else { return Ok(value) };
    let wanted: Vec<&str> = wanted
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    if wanted.is_empty() {
        return Err(spexus_domain::nearest::miss("fields", "", known.iter().copied()));
    }
    for name in &wanted {
        if !known.contains(name) {
            return Err(spexus_domain::nearest::miss(
                "fields",
                name,
                known.iter().copied(),
            ));
        }
    }
    let Value::Object(mut fields) = value else {
        return Ok(value);
    };
    let selected: Map<String, Value> = wanted
        .iter()
        .filter_map(|name| fields.remove_entry(*name))
        .collect();
    Ok(Value::Object(selected))
}

/// A page with only the fields asked for in each row.
pub(crate) fn select_page<T: Serialize>(
    page: Page<T>,
    wanted: Option<&str>,
    known: &[&str],
) -> Ruled<Page<Value>> {
    let data = page
        .data
        .iter()
        .map(|row| select(row, wanted, known))
        .collect::<Ruled<Vec<_>>>()?;
    Ok(Page::new(data, page.total(), page.next_cursor))
}
