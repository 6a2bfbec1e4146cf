//! Saying hello, in both eras, and the level of log messages.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use super::resources::keep_session;
use super::route::level_named;
use super::{Door, Ending, Plan, Step};
use crate::answer::{Outcome, RpcError};
use crate::client::{Client, ClientCapabilities, TASKS_EXTENSION};
use crate::context::Context;
use crate::core::{Core, Instructions};
use crate::fields::Fields;
use crate::session::Phase;
use crate::session_store::SessionEdit;
use crate::settings::VersionMismatch;
use crate::version::{Era, Version};

// Fulfils 000 R1.1, 000 R1.2, 000 R2.3, 001 D1, 002 Req-Cap-001, 002 Req-Proto-005, 002 Req-Proto-014
pub(super) fn initialize(door: &Door<'_>, fields: &Fields<'_>) -> Result<Step, RpcError> {
    if door.session.phase() != Phase::New {
        return Err(RpcError::invalid("this session is initialized already"));
    }
    let asked = fields.required_text("protocolVersion")?;
    let version = match (Version::parse(&asked), door.core.settings.version_mismatch) {
        (Some(version), _) if version.era() == Era::Handshake => version,
        // A version without a handshake cannot be agreed on in one; the newest that can is the next best.
        (Some(_), _) | (None, VersionMismatch::Negotiate) => Version::NEWEST_HANDSHAKE,
        (None, VersionMismatch::Reject) => {
            return Ok(Step::Last(Err(unknown_version(&asked)), Ending::VersionRefused));
        }
    };
    let info: Option<Value> = fields.decode("clientInfo")?;
    //= specs/mcp-runtime.md#lifecycle
    //# A capability the server does not know MUST be ignored and MUST NOT fail the connection.
    let declared: Map<String, Value> = fields.decode("capabilities")?.unwrap_or_default();
    let client = Client::new(info.as_ref(), ClientCapabilities::new(declared));
    door.session.greet(version, Arc::new(client));
    let answer = json!({
        "protocolVersion": version.name(),
        "capabilities": capabilities(door.core, version),
        "serverInfo": door.core.info,
    });
    Ok(instructed(door.core, answer, false))
}

pub(super) fn discover(door: &Door<'_>) -> Result<Step, RpcError> {
    let answer = json!({
        "supportedVersions": Version::names(),
        "capabilities": capabilities(door.core, Version::V2026_07_28),
    });
    Ok(instructed(door.core, answer, true))
}

pub(super) fn set_level(door: &Door<'_>, fields: &Fields<'_>) -> Result<Step, RpcError> {
    let level = level_named(&fields.required_text("level")?)?;
    door.session.set_log_level(level);
    if door.session.is_line() {
        return Ok(Step::Now(Outcome::empty()));
    }
    let edit = SessionEdit::LogLevel(level as u8);
    let keep = |cx: Context| async move { keep_session(&cx.0, edit).await }.boxed();
    Ok(Step::Later(Plan::new(door.core, keep)))
}

/// Adds the instructions, which may take work to make.
fn instructed(core: &Arc<Core>, mut answer: Value, cacheable: bool) -> Step {
    let finish = move |answer: Value| {
        let outcome = Outcome::value(answer);
        if cacheable { outcome.cacheable() } else { outcome }
    };
    match &core.instructions {
        Instructions::None => Step::Now(finish(answer)),
        Instructions::Fixed(text) => {
            answer["instructions"] = json!(text);
            Step::Now(finish(answer))
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
            Step::Later(Plan::new(core, run))
        }
    }
}

// Fulfils 000 R1.4, 000 R1.5, 000 R4.1, 000 R4.2, 000 R4.3, 000 R4.4, 000 R4.5, 001 D2, 003 R3.1, 003 R3.2
// Fulfils 003 R3.3, 003 R3.4, 003 R3.7, 002 Req-Cap-002, 002 Req-Cap-003
/// What the server can do, declared exactly as far as it works.
//= specs/mcp-runtime.md#lifecycle
//# The server MUST declare exactly the families it serves, and every family outside MCP with a semantic version.
fn capabilities(core: &Core, version: Version) -> Value {
    let (settings, offers) = (&core.settings, &core.settings.offers);
    let mut all = json!({});
    if offers.tools {
        all["tools"] = json!({ "listChanged": true });
    }
    if offers.resources {
        all["resources"] = json!({ "subscribe": true, "listChanged": true });
    }
    if offers.prompts {
        all["prompts"] = json!({ "listChanged": true });
    }
    if offers.logging {
        all["logging"] = json!({});
    }
    if offers.completions {
        all["completions"] = json!({});
    }
    let mut extensions = settings.extensions.clone();
    if offers.tasks && version == Version::V2025_11_25 {
        all["tasks"] = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    if offers.tasks && version.era() == Era::Stateless {
        extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
    }
    if !extensions.is_empty() {
        all["extensions"] = json!(extensions);
    }
    let mut families = settings.experimental.clone();
    if offers.prompts && offers.prompt_creation {
        families.push(("prompts/create".to_owned(), "1.0.0".to_owned()));
    }
    for (family, version) in families {
        all["experimental"][family] = json!({ "version": version });
    }
    all
}

// Fulfils 001 D5
/// Somebody should look when clients come that cannot be served; the version itself is whatever they wrote.
fn unknown_version(asked: &str) -> RpcError {
    metrics::counter!("mcp_version_refusals_total").increment(1);
    let shown: String = asked.chars().filter(|c| !c.is_control()).take(40).collect();
    tracing::warn!(
        version = shown,
        "a client asked for a version that is not supported"
    );
    RpcError::unknown_version(asked)
}
