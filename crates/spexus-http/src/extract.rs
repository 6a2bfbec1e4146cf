//! Reading requests: bodies, queries, ids and who sends them. What does not fit is refused here, with the field's name.

use crate::app::App;
use crate::respond::Refused;
use crate::sender::Sender;
use axum::body::{Body, HttpBody};
use axum::extract::{FromRef, FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, complaint, hint};
use spexus_service::{Origin, account::token, audit};
use std::time::Duration;

/// The name of the cookie a web session is kept in.
pub(crate) const SESSION_COOKIE: &str = "spexus_session";

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
        let app = App::from_ref(state);
        check_content_type(request.headers())?;
        let limit = Duration::from_millis(app.options.read_timeout_ms);
        let body =
            match tokio::time::timeout(limit, read(request.into_body(), app.options.max_body_bytes)).await {
                Ok(body) => body?,
                //= specs/spexus-http.md#limits
                //# A body that does not arrive in its time MUST be refused, and nothing of it written.
                Err(_) => {
                    let message = format!(
                        "the body did not arrive within {} ms",
                        app.options.read_timeout_ms
                    );
                    return Err(Refusal::new(Code::ProtocolError, message)
                        .hint("Send the whole body without pauses.")
                        .into());
                }
            };
        Ok(Self(decode(&body)?))
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
async fn read(mut body: Body, max_body_bytes: usize) -> Ruled<Bytes> {
    let too_large = || {
        let message = format!("the body is larger than {max_body_bytes} bytes");
        Refusal::new(Code::MessageTooLarge, message).fact("max_body_bytes", max_body_bytes)
    };
    let most = max_body_bytes.saturating_mul(DISCARDED_TIMES);
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let (mut whole, mut seen) = (BytesMut::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            Refusal::new(Code::ProtocolError, "the body was cut off").hint("Send it again in full.")
        })?;
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

fn decode<T: DeserializeOwned>(body: &[u8]) -> Ruled<T> {
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
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| misfit(&error))?;
    reader.end().map_err(|error| {
        Refusal::new(
            Code::InvalidParams,
            format!("the body is not one JSON value: {error}"),
        )
    })?;
    Ok(value)
}

/// Refuses NUL in any text of a body, by the name of the field: no text has it, and PostgreSQL cannot even look for it.
fn refuse_nul(body: &[u8]) -> Ruled<()> {
    const ESCAPED: &[u8] = b"u0000";
    if !body.windows(ESCAPED.len()).any(|part| part == ESCAPED) {
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

fn misfit(error: &serde_path_to_error::Error<serde_json::Error>) -> Refusal {
    if error.inner().is_syntax() || error.inner().is_eof() {
        let sentence = spexus_domain::text::excerpt(&error.inner().to_string(), 300);
        return Refusal::new(Code::InvalidParams, format!("the body is not JSON: {sentence}"));
    }
    complaint::refusal(&error.path().to_string(), &error.inner().to_string())
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
    let odd = form_urlencoded::parse(text.as_bytes()).find(|(_, value)| value.contains(char::is_control));
    match odd {
        Some((name, _)) => Err(control_character(spexus_domain::text::excerpt(&name, 100))),
        None => query(text),
    }
}

/// Reads a query string; unknown and misspelt parameters are refused.
pub(crate) fn query<T: DeserializeOwned>(text: &str) -> Ruled<T> {
    let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(text.as_bytes()));
    serde_path_to_error::deserialize(pairs)
        .map_err(|error| complaint::refusal(&error.path().to_string(), &error.inner().to_string()))
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

/// Where a request comes from.
pub(crate) struct CameFrom(pub(crate) Origin);

impl<S: Send + Sync> FromRequestParts<S> for CameFrom {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(origin(parts)))
    }
}

pub(crate) fn origin(parts: &Parts) -> Origin {
    let address = parts
        .extensions
        .get::<Sender>()
        .map(|sender| sender.address.to_string())
        .unwrap_or_default();
    let client = parts
        .headers
        .get(header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    Origin {
        address,
        client: client.to_owned(),
    }
}

/// Who sends a request: the owner of a valid token or session. Extracting it is what protects a route.
pub(crate) struct Who(pub(crate) Caller);

impl<S> FromRequestParts<S> for Who
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        Ok(Self(admit(&App::from_ref(state), parts).await?))
    }
}

// Fulfils 003 R9.3, 003 R12.2, 003 R12.6, 003 R12.8
/// The owner of a request's token or session, within the rate of both.
pub(crate) async fn admit(app: &App, parts: &Parts) -> Ruled<Caller> {
    let shown = secret(&parts.headers);
    if matches!(shown, Some(Secret::Cookie(_))) {
        check_same_origin(parts)?;
    }
    admit_with(app, parts, shown).await
}

/// The owner of a request's token. Sessions are for people in browsers; programs have tokens.
// Fulfils 003 R9.2
//= specs/spexus-mcp.md#endpoint
//# The endpoint MUST be opened by a bearer token only: cookies and secrets of web sessions MUST be refused like no token and like a bad one.
pub(crate) async fn admit_token(app: &App, parts: &Parts) -> Ruled<Caller> {
    let shown = match secret(&parts.headers) {
        Some(Secret::Header(secret)) if secret.starts_with(token::SESSION_PREFIX) => Some(Secret::Header("")),
        Some(Secret::Cookie(_)) => None,
        shown => shown,
    };
    admit_with(app, parts, shown).await
}

async fn admit_with(app: &App, parts: &Parts, shown: Option<Secret<'_>>) -> Ruled<Caller> {
    let origin = origin(parts);
    let network = parts.extensions.get::<Sender>().map(Sender::network);
    let (Some(Secret::Header(secret)) | Some(Secret::Cookie(secret))) = shown else {
        //= specs/spexus-http.md#permissions
        //# A request without a valid token or session MUST be answered 401, except for logging in, health and the descriptions of the interface.
        let refusal = Refusal::new(Code::AuthMissing, "this needs a token").hint(hint::NO_TOKEN);
        charge(app, parts)?;
        audit::note_turned_away(&app.service, &origin, &refusal);
        return Err(refusal);
    };
    // A token that was good a moment ago is not what makes an address send too much, and costs no look-up.
    if let Some(network) = network
        && !token::is_remembered(&app.service, secret)
    {
        turn_away(app, &origin, app.limits.check_network(network))?;
    }
    match token::authenticate(&app.service, secret, &origin).await {
        Ok(caller) => {
            turn_away(app, &origin, app.limits.check_caller(&caller))?;
            Ok(caller)
        }
        Err(refusal) => {
            if let Some(network) = network.filter(|_| refusal.code.http_status() == 401) {
                app.limits.spend(network);
            }
            Err(refusal)
        }
    }
}

/// Counts a request that needs no token against the rate of its address, and refuses it beyond.
pub(crate) fn charge(app: &App, parts: &Parts) -> Ruled<()> {
    let Some(sender) = parts.extensions.get::<Sender>() else {
        return Ok(());
    };
    turn_away(app, &origin(parts), app.limits.check_network(sender.network()))?;
    app.limits.spend(sender.network());
    Ok(())
}

/// Notes whoever comes too fast.
fn turn_away(app: &App, origin: &Origin, checked: Ruled<()>) -> Ruled<()> {
    if let Err(refusal) = &checked {
        metrics::counter!("spexus_rate_limited_total").increment(1);
        audit::note_turned_away(&app.service, origin, refusal);
    }
    checked
}

/// A request that needs no token, within the rate of its address. Extracting it is what protects an open route.
pub(crate) struct Anyone;

impl<S> FromRequestParts<S> for Anyone
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        charge(&App::from_ref(state), parts)?;
        Ok(Self)
    }
}

/// The secret of a request and where it stands.
pub(crate) enum Secret<'a> {
    Header(&'a str),
    Cookie(&'a str),
}

pub(crate) fn secret(headers: &HeaderMap) -> Option<Secret<'_>> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let value = value.to_str().unwrap_or_default();
        let bearer = value
            .get(..7)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer "));
        return Some(Secret::Header(if bearer { value[7..].trim() } else { "" }));
    }
    let cookies = headers
        .get_all(header::COOKIE)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    let named = |cookie: &'_ str| {
        cookie
            .split_once('=')
            .is_some_and(|(name, _)| name == SESSION_COOKIE)
    };
    let found = cookies
        .flat_map(|all| all.split(';'))
        .map(str::trim)
        .find(|cookie| named(cookie));
    found
        .and_then(|cookie| cookie.split_once('='))
        .map(|(_, secret)| Secret::Cookie(secret))
}

//= specs/spexus-http.md#sessions
//# A write with a cookie MUST be refused unless its Origin is the address the server is reached by.
/// A cookie is sent by the browser on its own; a write with one must come from our own pages.
fn check_same_origin(parts: &Parts) -> Ruled<()> {
    if parts.method.is_safe() {
        return Ok(());
    }
    let host = parts
        .headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let origin = parts
        .headers
        .get(header::ORIGIN)
        .and_then(|origin| origin.to_str().ok())
        .unwrap_or_default();
    let own = origin
        .split_once("://")
        .is_some_and(|(_, rest)| !host.is_empty() && rest == host);
    if own {
        return Ok(());
    }
    Err(
        Refusal::new(Code::AuthzForbidden, "this request came from another site")
            .hint("Send a token in the Authorization header instead."),
    )
}
