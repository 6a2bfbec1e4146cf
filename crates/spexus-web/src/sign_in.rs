//! Signing in and out.

use crate::answer::{Answer, Refused, faulty, html, own_path, see};
use crate::form::{Faults, Form, Params};
use crate::mark::icon;
use crate::preferences::{Language, Preferences};
use crate::shell::Shell;
use crate::texts::fill;
use crate::visit::Visit;
use askama::Template;
use axum::extract::{FromRequestParts, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use serde::Deserialize;
use spexus_domain::Refusal;
use spexus_http::pages::{self, App};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    shell: Shell,
    next: String,
    username: String,
    /// Whether a session has ended meanwhile.
    ended: bool,
    faults: Faults,
    languages: [Language; 2],
}

/// Where to go afterwards.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

/// The parts of a request of nobody in particular, within the rate of its address.
pub(crate) struct Stranger(Parts, Preferences);

impl FromRequestParts<App> for Stranger {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refused> {
        Ok(Self(parts.clone(), Preferences::of(&parts.headers)))
    }
}

fn form(preferences: &Preferences, next: &str) -> SignInPage {
    SignInPage {
        shell: Shell::bare(preferences, preferences.texts().sign_in.to_owned()),
        next: own_path(next).to_owned(),
        username: String::new(),
        ended: false,
        faults: Faults::default(),
        languages: Language::ALL,
    }
}

/// The form.
pub(crate) async fn page(
    State(app): State<App>,
    Stranger(parts, preferences): Stranger,
    Params(Next { next }): Params<Next>,
) -> Answer {
    pages::admit_stranger(&app, &parts)?;
    let ended = pages::shows_secret(&parts);
    html(&SignInPage {
        ended,
        ..form(&preferences, &next)
    })
}

/// A name and a password.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignIn {
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    next: String,
}

/// Opens a session.
//= specs/spexus-web.md#signing-in
//# Signing in MUST lead to the page that was asked for, and never to another site.
pub(crate) async fn sign_in(
    State(app): State<App>,
    Stranger(parts, preferences): Stranger,
    Form(input): Form<SignIn>,
) -> Answer {
    match pages::sign_in(&app, &parts, &input.username, &input.password).await {
        Ok(cookie) => Ok(([(header::SET_COOKIE, cookie)], see(own_path(&input.next))).into_response()),
        Err(refusal) => again(&preferences, input, &refusal),
    }
}

/// The form again, with the name that was typed and what is wrong. The password is typed again.
fn again(preferences: &Preferences, input: SignIn, refusal: &Refusal) -> Answer {
    let page = SignInPage {
        username: input.username,
        faults: Faults::of(refusal),
        ..form(preferences, &input.next)
    };
    faulty(&page, refusal)
}

/// Ends the session.
pub(crate) async fn sign_out(visit: Visit, Stranger(parts, _): Stranger) -> Answer {
    let cookie = pages::sign_out(&visit.app, &parts, &visit.caller).await?;
    Ok(([(header::SET_COOKIE, cookie)], see("/login")).into_response())
}
