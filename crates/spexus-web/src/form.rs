//! Input from the browser: bodies of forms and queries of addresses, decoded with the name of every field that does not fit.

use crate::answer::Refused;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use spexus_domain::{Code, Fault, Refusal, Ruled, decode};
use spexus_http::pages::{self, App};
use std::borrow::Cow;

/// The fields of a form. A field that was sent several times is one text, its values separated by commas.
pub(crate) struct Form<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for Form<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refused> {
        let given = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        let given = given
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim();
        if !given.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            let message = format!(
                "this is {:?}, not a form",
                spexus_domain::text::excerpt(given, 60)
            );
            return Err(Refusal::new(Code::InvalidContentType, message).into());
        }
        let body = pages::read_body(app, request.into_body()).await?;
        Ok(Self(decoded(&body)?))
    }
}

/// The query of an address.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Params<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refused> {
        Ok(Self(decoded(parts.uri.query().unwrap_or_default().as_bytes())?))
    }
}

/// Decodes pairs; what was left empty in a form is as good as not there for fields that may be absent.
pub(crate) fn decoded<T: DeserializeOwned>(text: &[u8]) -> Ruled<T> {
    let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = Vec::new();
    for (name, value) in form_urlencoded::parse(text) {
        if value.contains('\0') {
            let allowed = "text without control characters";
            let name = spexus_domain::text::excerpt(&name, 100);
            return Err(Refusal::field(
                Code::InvalidParams,
                name,
                "has a control character",
                allowed,
            ));
        }
        // Browsers write line breaks as two characters.
        let value = match value.contains('\r') {
            true => Cow::Owned(value.replace("\r\n", "\n")),
            false => value,
        };
        match pairs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = Cow::Owned(format!("{known},{value}")),
            None => pairs.push((name, value)),
        }
    }
    decode::pairs(pairs.into_iter())
}

/// What is wrong with a form, for showing each fault beside its field.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Fault>, String);

impl Faults {
    pub(crate) fn of(refusal: &Refusal) -> Self {
        Self(refusal.faults.clone(), refusal.message.clone())
    }

    /// What is wrong with a field, and what is allowed.
    //= specs/spexus-web.md#documents
    //# A form that does not fit MUST be shown again with the entered texts, each fault at its field with what is allowed.
    pub(crate) fn at(&self, field: &str) -> Option<String> {
        let fault = self.0.iter().find(|fault| fault.field == field)?;
        Some(match fault.allowed.is_empty() {
            true => fault.problem.clone(),
            false => format!("{}; {}", fault.problem, fault.allowed),
        })
    }

    /// Whether anything is wrong.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty() || !self.1.is_empty()
    }

    /// What is wrong with the whole, or with fields that the form does not show.
    pub(crate) fn beside(&self, shown: &[&str]) -> Option<String> {
        let hidden = self
            .0
            .iter()
            .filter(|fault| !shown.contains(&fault.field.as_str()));
        let hidden: Vec<String> = hidden
            .map(|fault| format!("{}: {}; {}", fault.field, fault.problem, fault.allowed))
            .collect();
        match (self.0.is_empty(), self.1.is_empty()) {
            (true, false) => Some(self.1.clone()),
            _ => (!hidden.is_empty()).then(|| hidden.join(" · ")),
        }
    }
}
