//! Around every request: an id, a limit on how many run at once and how long each may take, a count, and one answer
//! whatever happens inside.

use crate::app::App;
use crate::cors;
use crate::early;
use crate::query;
use crate::respond::Refused;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use spexus_domain::{Code, Refusal, Uuid};
use spexus_service::deadline::{self, Overrun};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tracing::Instrument;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The one middleware. Why it is not a stack of `tower-http` layers: ARCHITECTURE.md, "Smaller decisions".
pub(crate) async fn around(State(app): State<App>, request: Request, next: Next) -> Response {
    let id = request_id(&request);
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("none".into(), |path| path.as_str().to_owned());
    //= specs/spexus-http.md#logs
    //# No log line, at any level, MUST hold a token, a password, the secret of a session or a text of a body.
    let span = tracing::info_span!("request", id = %id, %method, route);
    let started = Instant::now();
    let page = cors::admitted(&request, &app.options.cors_origins);
    let preflight = page.as_ref().and_then(|_| cors::preflight(&request));
    let (request, unread) = early::track_body(request);
    let mut response = match preflight {
        Some(response) => response,
        None => answer(&app, request, next).instrument(span.clone()).await,
    };
    unread.close_connection(&mut response);
    let (status, seconds) = (response.status(), started.elapsed().as_secs_f64());
    let labels = [
        ("method", method.to_string()),
        ("route", route),
        ("status", status.as_u16().to_string()),
    ];
    metrics::counter!("spexus_http_requests_total", &labels).increment(1);
    metrics::histogram!("spexus_http_request_seconds", "route" => labels[1].1.clone()).record(seconds);
    let milliseconds = seconds * 1_000.0;
    span.in_scope(|| match status.as_u16() {
        500.. => tracing::warn!(status = status.as_u16(), milliseconds, "answered"),
        _ => tracing::debug!(status = status.as_u16(), milliseconds, "answered"),
    });
    add_common_headers(&mut response, &id);
    if let Some(origin) = page {
        cors::open(response.headers_mut(), origin);
    }
    //= specs/spexus-http.md#proxies
    //# Where browsers reach the server by HTTPS, every answer MUST tell them to use nothing else.
    if app.options.secure_cookies {
        let strict = HeaderValue::from_static("max-age=31536000; includeSubDomains");
        response
            .headers_mut()
            .insert(header::STRICT_TRANSPORT_SECURITY, strict);
    }
    response
}

/// Lets a request run within the limits; a panic and an overrun are answered like everything else.
async fn answer(app: &App, request: Request, next: Next) -> Response {
    //= specs/spexus-http.md#limits
    //# Requests beyond the number that may run at once MUST be refused at once, not queued.
    let _permit = match ConcurrencyPermit::acquire(&app.running, app.options.max_concurrent_requests) {
        Some(permit) => permit,
        None => {
            let refusal = Refusal::new(Code::ConcurrentLimitExceeded, "too many requests run at once");
            return Refused(refusal.fact("retry_after_seconds", 1)).into_response();
        }
    };
    if let Err(refusal) = query::refuse_unread(&request) {
        return Refused(refusal).into_response();
    }
    let limit = Duration::from_millis(app.options.request_timeout_ms);
    match deadline::within(limit, AssertUnwindSafe(next.run(request)).catch_unwind()).await {
        Ok(Ok(response)) => response,
        //= specs/spexus-http.md#answers
        //# A fault inside MUST cost one answer, tell nothing of the inside, and leave the server working.
        Ok(Err(_)) => Refused(Refusal::new(
            Code::InternalError,
            "the server could not finish this request",
        ))
        .into_response(),
        //= specs/spexus-http.md#limits
        //# A request that takes longer than its time MUST be answered 504.
        Err(overrun) => Refused(timeout(overrun, app.options.request_timeout_ms)).into_response(),
    }
}

//= specs/spexus-http.md#limits
//# A request that is answered 504 MUST have written nothing, then or later, unless the answer says that the outcome is unknown.
/// What is said of a request that took too long. Whoever hears that nothing was done may safely send it again.
fn timeout(overrun: Overrun, limit_ms: u64) -> Refusal {
    match overrun {
        Overrun::NothingDone => Refusal::new(
            Code::Timeout,
            format!("the request took longer than {limit_ms} ms; nothing was changed"),
        )
        .fact("outcome", "nothing_done"),
        Overrun::OutcomeUnknown => Refusal::new(
            Code::Timeout,
            format!("the request took longer than {limit_ms} ms; what it writes may have been done or not"),
        )
        .hint("Look whether it is there, or send it again with the same idempotency key.")
        .fact("outcome", "unknown"),
    }
}

/// A permit to be one of the requests that run at once.
struct ConcurrencyPermit(Arc<AtomicUsize>);

impl ConcurrencyPermit {
    fn acquire(running: &Arc<AtomicUsize>, max: usize) -> Option<Self> {
        let permit = Self(running.clone());
        (running.fetch_add(1, Ordering::AcqRel) < max).then_some(permit)
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

//= specs/spexus-http.md#answers
//# Every answer MUST carry a request id: the client's own when it is plain, else a new one.
/// The id the client gave, when it is a plain one, or a new one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(&REQUEST_ID).and_then(|id| id.to_str().ok());
    let plain = |id: &&str| {
        (1..=64).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    given
        .filter(plain)
        .map_or_else(|| Uuid::now_v7().simple().to_string(), str::to_owned)
}

//= specs/spexus-http.md#answers
//# Every answer MUST forbid browsers to guess its type, to frame it and to keep it.
/// Headers every answer has.
fn add_common_headers(response: &mut Response, id: &str) {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    // Pages for people say their own, which are as strict in other places.
    headers
        .entry(header::REFERRER_POLICY)
        .or_insert(HeaderValue::from_static("no-referrer"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"));
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}
