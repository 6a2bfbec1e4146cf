//! Saying hello, in both eras, and the level of log messages.

use std::sync::Arc;

use futures_util::FutureExt;
use refusal::Refusal;
use serde_json::{Map, Value, json};

use super::resources::keep_session;
use super::visibility::{audience, guarded};
use super::{Ending, Incoming, Job, Routed, detached_context};
use crate::server::context::Context;
use crate::server::core::{Core, Instructions};
use crate::server::guard::Entry;
use crate::session::Phase;
use crate::session::store::SessionEdit;
use crate::settings::VersionMismatch;
use mcp_protocol::{
    Client, ClientCapabilities, Fields, OfferedVersions, Outcome, RpcError, Terms, Version,
    envelope::Request, experimental, level_named,
};

// Fulfils 000 R1.1, 000 R1.2, 000 R2.3, 001 D1, 002 Req-Cap-001, 002 Req-Proto-005, 002 Req-Proto-014
pub(super) fn initialize(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    fields: &Fields<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    if incoming.session.phase() != Phase::New {
        return Err(RpcError::invalid("this session is initialized already"));
    }
    let asked = fields.required_text("protocolVersion").map_err(malformed)?;
    let settings = &incoming.core.settings;
    //= specs/mcp-server.md#versions
    //# A version the operator does not offer MUST be treated like one nobody knows, in both eras.
    let agreed = match settings.versions.find(&asked) {
        Some(version) if version.has_handshake() => Some(version),
        // A version without a handshake cannot be agreed on in one; the newest that can is the next best.
        Some(_) => settings.versions.newest_handshake(),
        None => match settings.version_mismatch {
            VersionMismatch::Negotiate => settings.versions.newest_handshake(),
            VersionMismatch::Reject => None,
        },
    };
    let Some(version) = agreed else {
        let refused = unknown_version(&asked, &settings.versions);
        return Ok(Routed::Last(Err(refused), Ending::VersionRefused));
    };
    let info: Option<Value> = fields.decode("clientInfo").map_err(malformed)?;
    //= specs/mcp-server.md#lifecycle
    //# A capability the server does not know MUST be ignored and MUST NOT fail the connection.
    let declared: Map<String, Value> = fields
        .decode("capabilities")
        .map_err(malformed)?
        .unwrap_or_default();
    let client = Arc::new(Client::new(info.as_ref(), ClientCapabilities::new(declared)));
    incoming.session.greet(version, client.clone());
    if let Some(guard) = &incoming.core.guard {
        let cx = detached_context(incoming, incoming.sink.clone());
        incoming.session.belong_to(guard.tenant(&cx));
    }
    let mut declared = capabilities(incoming, request, terms, version);
    experimental::hide_foreign(&mut declared, &client.name, &client.capabilities);
    let answer = json!({
        "protocolVersion": version.name(),
        "capabilities": declared,
        "serverInfo": incoming.core.info,
    });
    Ok(instructed(incoming.core, answer, false))
}

pub(super) fn discover(
    incoming: &Incoming<'_>,
    request: &Request<'_>,
    terms: &Terms,
) -> Result<Routed, RpcError> {
    let mut declared = capabilities(incoming, request, terms, terms.version);
    experimental::hide_foreign(&mut declared, &terms.client.name, &terms.client.capabilities);
    let answer = json!({
        "supportedVersions": incoming.core.settings.versions.names(),
        "capabilities": declared,
    });
    Ok(instructed(incoming.core, answer, true))
}

pub(super) fn set_level(incoming: &Incoming<'_>, fields: &Fields<'_>) -> Result<Routed, RpcError> {
    let level = level_named(&fields.required_text("level")?)?;
    incoming.session.set_log_level(level);
    if incoming.session.is_line() {
        return Ok(Routed::Now(Outcome::empty()));
    }
    let edit = SessionEdit::LogLevel(level as u8);
    let keep = |cx: Context| async move { keep_session(&cx.0, edit).await }.boxed();
    Ok(Routed::Later(Job::new(incoming.core, keep)))
}

/// Adds the instructions, which may take work to make.
fn instructed(core: &Arc<Core>, mut answer: Value, cacheable: bool) -> Routed {
    let finish = move |answer: Value| {
        let outcome = Outcome::value(answer);
        if cacheable { outcome.cacheable() } else { outcome }
    };
    match &core.instructions {
        Instructions::None => Routed::Now(finish(answer)),
        Instructions::Fixed(text) => {
            answer["instructions"] = json!(text);
            Routed::Now(finish(answer))
        }
        Instructions::Made(make) => {
            let make = make.clone();
            let run = move |cx| {
                async move {
                    answer["instructions"] = json!(make(cx).await);
                    Ok(finish(answer))
                }
                .boxed()
            };
            Routed::Later(Job::new(core, run))
        }
    }
}

/// What the server can do for whoever asks, as it stands now.
fn capabilities(incoming: &Incoming<'_>, request: &Request<'_>, terms: &Terms, version: Version) -> Value {
    let core = incoming.core;
    // A guard that breaks costs the families it decides about, and never the hello.
    let audience = audience(incoming, request, terms).unwrap_or_else(|_| Some(String::new()));
    let shows = |family: &str| match (&core.guard, &audience) {
        (Some(guard), Some(audience)) => {
            guarded(|| guard.shows(audience, Entry::Family(family))).unwrap_or(false)
        }
        _ => true,
    };
    let made = core
        .capabilities
        .of(&core.settings, version, audience.clone(), shows);
    (*made).clone()
}

// Fulfils 001 D5
/// Somebody should look when clients come that cannot be served; the version itself is whatever they wrote.
fn unknown_version(asked: &str, offered: &OfferedVersions) -> RpcError {
    metrics::counter!("mcp_version_refusals_total").increment(1);
    let shown: String = asked.chars().filter(|c| !c.is_control()).take(40).collect();
    tracing::warn!(
        version = shown,
        "a client asked for a version that is not supported"
    );
    RpcError::unknown_version(asked, offered)
}

// Fulfils 001 D6
/// Parameters of a hello that are missing or of the wrong type, in the word clients look for.
//= specs/mcp-server.md#lifecycle
//# An `initialize` whose parameters are missing or of the wrong type MUST be refused with `MALFORMED_REQUEST` in `data.code`.
fn malformed(refusal: Refusal) -> RpcError {
    RpcError::from(refusal).with("code", "MALFORMED_REQUEST")
}
