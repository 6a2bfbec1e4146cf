//! Authentication: who sends a request, by the bearer token or the cookie it shows, within the rate of both; whether a write
//! with a cookie comes from our own pages (CSRF); and for how long a stream may stay open for whoever opened it.

use crate::app::App;
use crate::respond::Refused;
use crate::sender::Sender;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled, hint};
use spexus_service::account::token;
use spexus_service::{Origin, Service, audit};
use std::time::Duration;
use tokio::sync::watch;

/// The name of the cookie a web session is kept in.
const SESSION_COOKIE: &str = "spexus_session";

/// The cookie that keeps a web session, or with `Max-Age=0` ends it.
//= specs/spexus-http.md#sessions
//# The cookie of a session MUST be hidden from scripts and sent along from other sites only when a link is followed.
pub(crate) fn session_cookie(app: &App, secret: &str, more: &str) -> String {
    let secure = if app.options.secure_cookies {
        "; Secure"
    } else {
        ""
    };
    format!("{SESSION_COOKIE}={secret}; Path=/; HttpOnly; SameSite=Lax{secure}{more}")
}

/// How often a stream looks whether its token has expired.
const EXPIRY_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The authenticated caller: the owner of a valid token or session. Extracting it is what protects a route.
pub(crate) struct Authenticated(pub(crate) Caller);

impl<S> FromRequestParts<S> for Authenticated
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        Ok(Self(authenticate(&App::from_ref(state), parts).await?))
    }
}

/// A request that needs no token, within the rate of its address. Extracting it is what protects an open route.
pub(crate) struct Anonymous;

impl<S> FromRequestParts<S> for Anonymous
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        spend_anonymous(&App::from_ref(state), parts)?;
        Ok(Self)
    }
}

/// The address and program a request comes from.
pub(crate) struct RequestOrigin(pub(crate) Origin);

impl<S: Send + Sync> FromRequestParts<S> for RequestOrigin {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(origin(parts)))
    }
}

// Fulfils 003 R9.3, 003 R12.2, 003 R12.6, 003 R12.8
/// The owner of a request's token or session, within the rate of both.
pub(crate) async fn authenticate(app: &App, parts: &Parts) -> Ruled<Caller> {
    let shown = Secret::of(&parts.headers);
    if matches!(shown, Some(Secret::Cookie(_))) {
        check_same_origin(parts)?;
    }
    authenticate_with(app, parts, shown).await
}

/// The owner of a request's token. Sessions are for people in browsers; programs have tokens.
// Fulfils 003 R9.2
//= specs/spexus-mcp.md#endpoint
//# The endpoint MUST be opened by a bearer token only: cookies and secrets of web sessions MUST be refused like no token and like a bad one.
pub(crate) async fn authenticate_token(app: &App, parts: &Parts) -> Ruled<Caller> {
    let shown = match Secret::of(&parts.headers) {
        Some(Secret::Bearer(secret)) if secret.starts_with(token::SESSION_PREFIX) => Some(Secret::Bearer("")),
        Some(Secret::Cookie(_)) => None,
        shown => shown,
    };
    authenticate_with(app, parts, shown).await
}

async fn authenticate_with(app: &App, parts: &Parts, shown: Option<Secret<'_>>) -> Ruled<Caller> {
    let origin = origin(parts);
    let network = parts.extensions.get::<Sender>().map(Sender::network);
    let Some(secret) = shown else {
        //= specs/spexus-http.md#permissions
        //# A request without a valid token or session MUST be answered 401, except for logging in, health and the descriptions of the interface.
        let refusal = Refusal::new(Code::AuthMissing, "this needs a token").hint(hint::NO_TOKEN);
        spend_anonymous(app, parts)?;
        audit::note_turned_away(&app.service, &origin, &refusal);
        return Err(refusal);
    };
    // A token that was good a moment ago is not what makes an address send too much, and costs no look-up.
    if let Some(network) = network
        && !token::is_remembered(&app.service, secret.text())
    {
        note_rate_limited(app, &origin, app.limits.check_network(network))?;
    }
    match token::authenticate(&app.service, secret.text(), &origin).await {
        Ok(caller) => {
            note_rate_limited(app, &origin, app.limits.check_caller(&caller))?;
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
pub(crate) fn spend_anonymous(app: &App, parts: &Parts) -> Ruled<()> {
    let Some(sender) = parts.extensions.get::<Sender>() else {
        return Ok(());
    };
    note_rate_limited(app, &origin(parts), app.limits.check_network(sender.network()))?;
    app.limits.spend(sender.network());
    Ok(())
}

/// Notes whoever is over a rate.
fn note_rate_limited(app: &App, origin: &Origin, checked: Ruled<()>) -> Ruled<()> {
    if let Err(refusal) = &checked {
        metrics::counter!("spexus_rate_limited_total").increment(1);
        audit::note_turned_away(&app.service, origin, refusal);
    }
    checked
}

pub(crate) fn origin(parts: &Parts) -> Origin {
    origin_of(
        parts.extensions.get::<Sender>(),
        parts.headers.get(header::USER_AGENT),
    )
}

fn origin_of(sender: Option<&Sender>, user_agent: Option<&HeaderValue>) -> Origin {
    let client = user_agent
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    Origin {
        address: sender.map_or_else(String::new, |sender| sender.address.to_string()),
        client: client.to_owned(),
    }
}

/// The secret a request shows, and where.
#[derive(Clone, Copy)]
pub(crate) enum Secret<'a> {
    Bearer(&'a str),
    Cookie(&'a str),
}

impl<'a> Secret<'a> {
    /// The one in the `Authorization` header, else the one in the cookie of a session.
    pub(crate) fn of(headers: &'a HeaderMap) -> Option<Self> {
        match headers.get(header::AUTHORIZATION) {
            Some(value) => Some(Self::Bearer(bearer(value))),
            None => cookie(headers).map(Self::Cookie),
        }
    }

    pub(crate) fn text(self) -> &'a str {
        match self {
            Self::Bearer(secret) | Self::Cookie(secret) => secret,
        }
    }
}

/// The token of an `Authorization` header; empty for one of another scheme.
fn bearer(value: &HeaderValue) -> &str {
    let value = value.to_str().unwrap_or_default();
    match value.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("bearer ") => value[7..].trim(),
        _ => "",
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers
        .get_all(header::COOKIE)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = cookies
        .flat_map(|all| all.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == SESSION_COOKIE)
        .map(|(_, secret)| secret)
}

//= specs/spexus-http.md#sessions
//# A write with a cookie MUST be refused unless its Origin is the address the server is reached by.
/// A cookie is sent by the browser on its own; a write with one must come from our own pages.
pub(crate) fn check_same_origin(parts: &Parts) -> Ruled<()> {
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

/// What a request was authenticated with, kept until it is known whether its answer is a stream. Copies no text.
pub(crate) struct Shown {
    authorization: Option<HeaderValue>,
    user_agent: Option<HeaderValue>,
    sender: Option<Sender>,
}

impl Shown {
    pub(crate) fn of(parts: &Parts) -> Self {
        Self {
            authorization: parts.headers.get(header::AUTHORIZATION).cloned(),
            user_agent: parts.headers.get(header::USER_AGENT).cloned(),
            sender: parts.extensions.get::<Sender>().copied(),
        }
    }

    pub(crate) fn into_stream_auth(self, app: &App) -> StreamAuth {
        let secret = self.authorization.as_ref().map_or("", bearer);
        let origin = origin_of(self.sender.as_ref(), self.user_agent.as_ref());
        StreamAuth::new(app, secret, origin)
    }
}

/// Re-authentication of a stream: whoever it was opened for is looked up again whenever something has changed, so a token
/// that is revoked or expires ends its streams.
pub(crate) struct StreamAuth {
    service: Service,
    secret: String,
    origin: Origin,
    changes: watch::Receiver<i64>,
}

impl StreamAuth {
    pub(crate) fn new(app: &App, secret: &str, origin: Origin) -> Self {
        Self {
            service: app.service.clone(),
            secret: secret.to_owned(),
            origin,
            changes: app.service.follow(),
        }
    }

    /// The caller as of now, with the number of the last change of now: these rights are younger than that change, but
    /// perhaps older than the next.
    pub(crate) async fn authenticate(&mut self) -> Ruled<(Caller, i64)> {
        let head = *self.changes.borrow_and_update();
        let caller = token::authenticate(&self.service, &self.secret, &self.origin).await?;
        Ok((caller, head))
    }

    /// Waits for the next change; `None` when the stream has to end, because the token has expired or the store is closed.
    pub(crate) async fn changed(&mut self) -> Option<()> {
        tokio::select! {
            changed = self.changes.changed() => changed.ok(),
            () = token::expired(&self.service, &self.secret, EXPIRY_CHECK_INTERVAL) => None,
        }
    }
}
