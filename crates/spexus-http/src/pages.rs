//! What the crate of the pages needs of this one: whose request it is, the way in and out, and bodies within their limits.
//! Pages are routes over [`App`]; they are mounted beside REST, behind the same middleware.

use crate::auth::{self, Secret};
use crate::{extract, openapi};
use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use spexus_domain::account::Caller;
use spexus_domain::{Code, Refusal, Ruled};
use spexus_service::account::login;

pub use crate::app::App;

/// Who sends a request, by its cookie or token, within the rates of both; a write with a cookie only from our own pages.
pub async fn authenticate(app: &App, parts: &Parts) -> Ruled<Caller> {
    auth::authenticate(app, parts).await
}

/// Counts a request that needs no account against the rate of its address.
pub fn admit_stranger(app: &App, parts: &Parts) -> Ruled<()> {
    auth::spend_anonymous(app, parts)
}

/// Refuses a write that a browser sends from a page of another site.
pub fn check_same_origin(parts: &Parts) -> Ruled<()> {
    auth::check_same_origin(parts)
}

/// Whether a request shows a session or a token, good or bad.
pub fn shows_secret(parts: &Parts) -> bool {
    Secret::of(&parts.headers).is_some()
}

/// The address and program a request comes from.
pub struct From(pub spexus_service::Origin);

impl<S: Send + Sync> FromRequestParts<S> for From {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(auth::origin(parts)))
    }
}

/// The address this server is reached by, as the browser has it.
pub struct OwnAddress(pub String);

impl FromRequestParts<App> for OwnAddress {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let scheme = if app.options.secure_cookies {
            "https"
        } else {
            "http"
        };
        Ok(Self(format!("{scheme}://{}", openapi::host(&parts.headers))))
    }
}

/// Signs somebody in and gives the cookie of the session. The caller has asked [`check_same_origin`]: nobody is signed in as
/// somebody else by another site.
pub async fn sign_in(app: &App, parts: &Parts, username: &str, password: &str) -> Ruled<HeaderValue> {
    auth::spend_anonymous(app, parts)?;
    let session = login::login(&app.service, username, password, &auth::origin(parts)).await?;
    header(auth::session_cookie(app, &session.token, ""))
}

/// Ends the session a request was made with and gives the cookie that forgets it.
pub async fn sign_out(app: &App, parts: &Parts, caller: &Caller) -> Ruled<HeaderValue> {
    if let Some(secret) = Secret::of(&parts.headers) {
        login::logout(&app.service, caller, secret.text(), &auth::origin(parts)).await?;
    }
    header(auth::session_cookie(app, "", "; Max-Age=0"))
}

/// A whole body, within the limits of size and time.
pub async fn read_body(app: &App, body: Body) -> Ruled<Bytes> {
    extract::read_in_time(app, body).await
}

fn header(cookie: String) -> Ruled<HeaderValue> {
    HeaderValue::try_from(cookie)
        .map_err(|_| Refusal::new(Code::InternalError, "the session could not be opened"))
}
