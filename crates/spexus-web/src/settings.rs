//! What is one's own: the look of the pages, the password, the tokens of one's programs.

use crate::answer::{Answer, faulty, html, see};
use crate::form::{Faults, Form};
use crate::mark::{Markup, icon};
use crate::preferences::Language;
use crate::shell::Shell;
use crate::visit::Visit;
use crate::when::when;
use askama::Template;
use axum::extract::Path;
use serde::Deserialize;
use spexus_domain::account::{NewToken, Scope, Token, User};
use spexus_domain::{Refusal, Uuid};
use spexus_http::pages::From;
use spexus_service::account::{session, token, user};
use spexus_service::{account, consent};

#[derive(Template)]
#[template(path = "settings.html")]
struct SettingsPage {
    shell: Shell,
    user: User,
    languages: [Language; 2],
    tokens: Vec<Row>,
    scopes: [Scope; 5],
    once: Uuid,
    sessions: Vec<(Uuid, Markup, Markup)>,
    /// A token that was just made: shown now and never again.
    secret: Option<String>,
    name: String,
    token_faults: Faults,
    password_faults: Faults,
}

impl SettingsPage {
    fn themes(&self) -> [(&'static str, &'static str); 3] {
        let t = self.shell.t;
        [
            ("", t.theme_system),
            ("light", t.theme_light),
            ("dark", t.theme_dark),
        ]
    }
}

struct Row {
    token: Token,
    scopes: String,
    used: Option<Markup>,
    ends: Option<Markup>,
}

async fn page(visit: &Visit) -> Answer<SettingsPage> {
    let (service, caller, t) = (visit.service(), &visit.caller, visit.texts());
    let now = visit.now();
    let row = |token: Token| Row {
        scopes: token
            .scopes
            .iter()
            .map(|scope| scope.name())
            .collect::<Vec<_>>()
            .join(", "),
        used: token.last_used_at.map(|at| when(t, at, now)),
        ends: token.expires_at.map(|at| when(t, at, now)),
        token,
    };
    Ok(SettingsPage {
        shell: visit.shell(t.settings),
        user: user::get(service, caller, &caller.username).await?,
        languages: Language::ALL,
        tokens: token::list(service, caller, None)
            .await?
            .data
            .into_iter()
            .map(row)
            .collect(),
        scopes: Scope::ALL,
        once: Uuid::now_v7(),
        sessions: session::list(service, caller)
            .await?
            .into_iter()
            .map(|one| (one.id, when(t, one.began_at, now), when(t, one.ends_at, now)))
            .collect(),
        secret: None,
        name: String::new(),
        token_faults: Faults::default(),
        password_faults: Faults::default(),
    })
}

/// The page.
pub(crate) async fn show(visit: Visit) -> Answer {
    html(&page(&visit).await?)
}

/// What a token is to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenRequest {
    #[serde(default)]
    name: String,
    #[serde(default)]
    scope: String,
    expires: Option<String>,
    /// Makes the same form sent twice one token.
    once: Uuid,
}

/// Makes a token and shows it, once.
//= specs/spexus-web.md#tokens
//# The secret of a token MUST be shown on the page that answers its making and on no other.
pub(crate) async fn make_token(visit: Visit, Form(wanted): Form<TokenRequest>) -> Answer {
    if !consent::claim(visit.service(), &visit.caller, &format!("form {}", wanted.once)).await? {
        return Ok(see("/settings#tokens"));
    }
    let input = NewToken {
        name: wanted.name.clone(),
        scopes: vec![wanted.scope],
        expires: wanted.expires.filter(|text| !text.is_empty()),
        ..NewToken::default()
    };
    match token::create(visit.service(), &visit.caller, None, input).await {
        Ok(made) => html(&SettingsPage {
            secret: Some(made.token),
            ..page(&visit).await?
        }),
        Err(refusal) if refusal.faults.is_empty() => Err(refusal.into()),
        Err(refusal) => {
            let again = SettingsPage {
                name: wanted.name,
                token_faults: Faults::of(&refusal),
                ..page(&visit).await?
            };
            faulty(&again, &refusal)
        }
    }
}

/// Revokes a token.
pub(crate) async fn revoke_token(visit: Visit, Path(id): Path<Uuid>) -> Answer {
    token::revoke(visit.service(), &visit.caller, id).await?;
    Ok(see("/settings#tokens"))
}

/// Ends a session; it may be this one.
pub(crate) async fn end_session(visit: Visit, Path(id): Path<Uuid>) -> Answer {
    session::end(visit.service(), &visit.caller, id).await?;
    Ok(see("/settings#sessions"))
}

/// The password that is and the one that is to be.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Passwords {
    #[serde(default)]
    current: String,
    #[serde(default)]
    new: String,
}

/// Changes the password; all sessions end, so one signs in again.
pub(crate) async fn change_password(
    visit: Visit,
    From(origin): From,
    Form(words): Form<Passwords>,
) -> Answer {
    let keep = account::user::Tokens::Keep;
    let changed = user::change_password(
        visit.service(),
        &visit.caller,
        &words.current,
        &words.new,
        keep,
        &origin,
    )
    .await;
    match changed {
        Ok(_) => Ok(see("/login")),
        Err(refusal) => again(&visit, &refusal).await,
    }
}

async fn again(visit: &Visit, refusal: &Refusal) -> Answer {
    let page = SettingsPage {
        password_faults: Faults::of(refusal),
        ..page(visit).await?
    };
    faulty(&page, refusal)
}
