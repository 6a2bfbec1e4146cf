//! What handlers answer: a page, a way to another page, or a refusal, which is made a page here.

use crate::asset;
use crate::mark::Markup;
use crate::preferences::Preferences;
use crate::shell::{Crumb, Shell};
use askama::Template;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use spexus_domain::{Code, Refusal};
use spexus_http::pages;

/// What a handler answers.
pub(crate) type Answer<T = Response> = Result<T, Refused>;

/// A refusal on its way to become a page.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Box<Refusal>);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(Box::new(refusal))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.code.http_status());
        let mut response = status
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            .into_response();
        response.extensions_mut().insert(self.0.code);
        response.extensions_mut().insert(self.0);
        response
    }
}

/// A page.
pub(crate) fn html(template: &impl Template) -> Answer {
    html_with(StatusCode::OK, template)
}

/// A form again, with what is wrong with it.
pub(crate) fn faulty(template: &impl Template, refusal: &Refusal) -> Answer {
    let status = StatusCode::from_u16(refusal.code.http_status());
    html_with(status.unwrap_or(StatusCode::UNPROCESSABLE_ENTITY), template)
}

/// A part of a page.
pub(crate) fn markup(template: &impl Template) -> Answer<Markup> {
    template.render().map(Markup).map_err(|error| {
        tracing::error!(%error, "a part of a page could not be rendered");
        Refusal::new(Code::InternalError, "this page could not be made").into()
    })
}

fn html_with(status: StatusCode, template: &impl Template) -> Answer {
    match template.render() {
        Ok(text) => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            Ok((status, [(header::CONTENT_TYPE, kind)], text).into_response())
        }
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            Err(Refusal::new(Code::InternalError, "this page could not be made").into())
        }
    }
}

/// To another page, after a form: the browser asks for it anew, so reloading repeats nothing. The address is our own.
pub(crate) fn see(path: &str) -> Response {
    let location = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

/// An address within this server, or `/`: nobody is sent elsewhere by a link somebody else made.
pub(crate) fn own_path(text: &str) -> &str {
    let plain = text.starts_with('/')
        && !text.starts_with("//")
        && !text.contains(['\\', '\r', '\n', '\t'])
        && text.parse::<Uri>().is_ok();
    if plain { text } else { "/" }
}

/// Around every page: refusals become pages, and browsers are told how little a page may do.
pub(crate) async fn around(request: Request, next: Next) -> Response {
    let preferences = Preferences::of(request.headers());
    let asked = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let reads = request.method().is_safe();
    let (parts, body) = request.into_parts();
    //= specs/spexus-web.md#safety
    //# A form MUST be refused unless it was sent from a page of this server.
    let mut response = match pages::check_same_origin(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => Refused::from(refusal).into_response(),
    };
    if let Some(refusal) = response.extensions_mut().remove::<Box<Refusal>>() {
        response = refused(*refusal, &preferences, &asked, reads);
    }
    let headers = response.headers_mut();
    //= specs/spexus-web.md#safety
    //# Every page MUST forbid scripts and styles that are not files of this server, frames around it, and markup made by scripts
    //# other than our own.
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Forms tell where they come from, links to other sites do not.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
    require-trusted-types-for 'script'; trusted-types spexus";

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    shell: Shell,
    refusal: Refusal,
    /// Whether the way in is what helps.
    signed_out: bool,
}

fn refused(refusal: Refusal, preferences: &Preferences, asked: &str, reads: bool) -> Response {
    let signed_out = matches!(
        refusal.code,
        Code::AuthMissing | Code::AuthFailed | Code::AuthExpired
    );
    //= specs/spexus-web.md#signing-in
    //# A page MUST lead whoever is not signed in to the sign-in form.
    if signed_out && reads {
        let next: String = form_urlencoded::byte_serialize(asked.as_bytes()).collect();
        return see(&format!("/login?next={next}"));
    }
    let title = preferences.texts().not_possible.to_owned();
    let page = RefusedPage {
        shell: Shell::bare(preferences, title.clone()).crumbs(vec![Crumb::here(title)]),
        refusal,
        signed_out,
    };
    match faulty(&page, &page.refusal) {
        Ok(response) => response,
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Where a module or a stylesheet is.
pub(crate) fn asset(name: &str) -> &'static str {
    asset::address(name)
}
