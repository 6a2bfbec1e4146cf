//! Extractors of input: bodies, queries and ids. What does not fit is refused here, with the field's name. Who sends a
//! request is found out in `auth.rs`.

use crate::app::App;
use crate::respond::Refused;
use axum::body::{Body, HttpBody};
use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spexus_domain::query::PageRequest;
use spexus_domain::{Code, Refusal, Ruled, decode};
use std::borrow::Cow;
use std::time::Duration;
use utoipa::IntoParams;

/// A body up to so many times the limit is read to its end and thrown away, so that its sender can read why.
const DISCARDED_TIMES: usize = 16;

/// A JSON body.
pub(crate) struct Input<T>(pub(crate) T);

impl<S, T> FromRequest<S> for Input<T>
where
    App: FromRef<S>,
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        check_content_type(request.headers())?;
        let body = read_in_time(&App::from_ref(state), request.into_body()).await?;
        Ok(Self(decode_body(&body)?))
    }
}

/// A push of evidence: a JSON body, or a report as it is.
pub(crate) enum Pushed<T> {
    Json(Box<T>),
    Report(Body),
}

impl<S, T> FromRequest<S> for Pushed<T>
where
    App: FromRef<S>,
    S: Send + Sync,
    T: DeserializeOwned,
{
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        let app = App::from_ref(state);
        if request.headers().contains_key(header::CONTENT_TYPE)
            && check_content_type(request.headers()).is_err()
        {
            return Ok(Self::Report(request.into_body()));
        }
        check_content_type(request.headers())?;
        //= specs/spexus-http.md#limits
        //# A push of evidence MUST have a limit of its own, and one beyond it MUST be answered 413 with its name.
        let most = ("max_push_bytes", app.options.max_push_bytes);
        let body = read_most_in_time(&app, request.into_body(), most).await?;
        Ok(Self::Json(Box::new(decode_body(&body)?)))
    }
}

/// A whole body, within its limits of size and time.
pub(crate) async fn read_in_time(app: &App, body: Body) -> Ruled<Bytes> {
    read_most_in_time(app, body, ("max_body_bytes", app.options.max_body_bytes)).await
}

async fn read_most_in_time(app: &App, body: Body, most: (&'static str, usize)) -> Ruled<Bytes> {
    let limit = Duration::from_millis(app.options.read_timeout_ms);
    match tokio::time::timeout(limit, read(body, most)).await {
        Ok(body) => body,
        //= specs/spexus-http.md#limits
        //# A body that does not arrive in its time MUST be refused, and nothing of it written.
        Err(_) => {
            let message = format!(
                "the body did not arrive within {} ms",
                app.options.read_timeout_ms
            );
            Err(Refusal::new(Code::ProtocolError, message).hint("Send the whole body without pauses."))
        }
    }
}

fn check_content_type(headers: &HeaderMap) -> Ruled<()> {
    let given = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media = given.split(';').next().unwrap_or_default().trim();
    if media.eq_ignore_ascii_case("application/json") || media.to_ascii_lowercase().ends_with("+json") {
        return Ok(());
    }
    Err(Refusal::new(
        Code::InvalidContentType,
        format!("the body is {media:?}, not JSON"),
    ))
}

//= specs/spexus-http.md#limits
//# A body larger than the limit MUST be answered 413 without being kept in memory.
async fn read(mut body: Body, (name, max_body_bytes): (&'static str, usize)) -> Ruled<Bytes> {
    let too_large = || too_large(name, max_body_bytes);
    let most = max_body_bytes.saturating_mul(DISCARDED_TIMES);
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let (mut whole, mut seen) = (BytesMut::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| cut_off())?;
        let Ok(data) = frame.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        match seen {
            _ if seen > most => break,
            _ if seen > max_body_bytes => whole = BytesMut::new(),
            _ => whole.extend_from_slice(&data),
        }
    }
    if seen > max_body_bytes {
        return Err(too_large());
    }
    Ok(whole.freeze())
}

/// The refusal of a body that is larger than a limit of this name.
pub(crate) fn too_large(name: &'static str, bytes: usize) -> Refusal {
    let message = format!("the body is larger than {bytes} bytes");
    Refusal::new(Code::MessageTooLarge, message).fact(name, bytes)
}

/// The refusal of a body that ended before its end.
pub(crate) fn cut_off() -> Refusal {
    Refusal::new(Code::ProtocolError, "the body was cut off").hint("Send it again in full.")
}

fn decode_body<T: DeserializeOwned>(body: &[u8]) -> Ruled<T> {
    if body.is_empty() {
        return Err(Refusal::new(Code::InvalidParams, "the body is empty").hint("Send a JSON object."));
    }
    refuse_nul(body)?;
    //= specs/spexus-http.md#description
    //# A body that is not a JSON object MUST be refused, also where its members would fit by their order.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(
            Refusal::new(Code::InvalidParams, "the body is a list, not an object")
                .hint("Send a JSON object with the fields by name."),
        );
    }
    decode::json(body)
}

/// Refuses NUL in any text of a body, by the name of the field: no text has it, and PostgreSQL cannot even look for it.
fn refuse_nul(body: &[u8]) -> Ruled<()> {
    const ESCAPED: &[u8] = b"u0000";
    if memchr::memmem::find(body, ESCAPED).is_none() {
        return Ok(());
    }
    // What is not JSON is told by the decoder that reads it next.
    let value = serde_json::from_slice(body).unwrap_or_default();
    match nul_in(&value, String::new()) {
        Some(field) => Err(control_character(field)),
        None => Ok(()),
    }
}

/// The path of the first text that holds NUL.
fn nul_in(value: &Value, path: String) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then_some(path),
        Value::Array(list) => {
            let inside = list.iter().enumerate();
            inside
                .filter_map(|(at, value)| nul_in(value, format!("{path}[{at}]")))
                .next()
        }
        Value::Object(fields) => {
            let dot = if path.is_empty() { "" } else { "." };
            let inside = fields
                .iter()
                .filter_map(|(name, value)| match name.contains('\0') {
                    true => Some(path.clone()),
                    false => nul_in(value, format!("{path}{dot}{name}")),
                });
            inside.into_iter().next()
        }
        _ => None,
    }
}

fn control_character(field: String) -> Refusal {
    let field = if field.is_empty() {
        "body".to_owned()
    } else {
        field
    };
    Refusal::field(
        Code::InvalidParams,
        field,
        "has a control character",
        "text without control characters",
    )
}

/// What a request for a page of a list may say.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageParams {
    /// Rows of the page, 1 to 200.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl PageParams {
    pub(crate) fn page(self) -> Ruled<PageRequest> {
        PageRequest::new(self.limit, self.cursor)
    }
}

/// The query of the URL.
pub(crate) struct Params<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self(params(parts.uri.query().unwrap_or_default())?))
    }
}

/// Reads a query string whose values are names, ids and numbers: none of them holds a control character.
pub(crate) fn params<T: DeserializeOwned>(text: &str) -> Ruled<T> {
    plain_pairs(form_urlencoded::parse(text.as_bytes()).collect())
}

/// The same for a query string that was taken apart before.
pub(crate) fn plain_pairs<T: DeserializeOwned>(pairs: Vec<(Cow<'_, str>, Cow<'_, str>)>) -> Ruled<T> {
    match pairs.iter().find(|(_, value)| value.contains(char::is_control)) {
        Some((name, _)) => Err(control_character(spexus_domain::text::excerpt(name, 100))),
        None => decode::pairs(pairs.into_iter()),
    }
}

/// One part of the path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        match axum::extract::Path::<String>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(id)) => Ok(Self(without_control(id)?)),
            Err(_) => Err(bad_path().into()),
        }
    }
}

/// Two parts of the path.
pub(crate) struct Ids(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Ids {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        match axum::extract::Path::<(String, String)>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path((first, second))) => {
                Ok(Self(without_control(first)?, without_control(second)?))
            }
            Err(_) => Err(bad_path().into()),
        }
    }
}

fn without_control(id: String) -> Ruled<String> {
    match id.contains(char::is_control) {
        true => Err(control_character("id".to_owned())),
        false => Ok(id),
    }
}

fn bad_path() -> Refusal {
    Refusal::field(
        Code::InvalidParams,
        "id",
        "is not valid UTF-8",
        "a UUID or a reference id such as REQ-012",
    )
}

/// A UUID in the path.
pub(crate) fn uuid(text: &str) -> Ruled<spexus_domain::Uuid> {
    spexus_domain::Uuid::try_parse(text).map_err(|_| {
        Refusal::field(
            Code::InvalidParams,
            "id",
            format!("{:?} is not an id", spexus_domain::text::excerpt(text, 60)),
            "a UUID",
        )
    })
}
