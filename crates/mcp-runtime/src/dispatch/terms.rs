//! On which terms a message is served: by its own `_meta`, or by the handshake before it.

use std::sync::Arc;

use memchr::memmem;
use refusal::{Code, Refusal};
use serde_json::{Map, Value};

use super::Door;
use crate::answer::RpcError;
use crate::client::{Client, ClientCapabilities};
use crate::envelope::Request;
use crate::fields::{self, Fields};
use crate::level::Level;
use crate::method::Method;
use crate::session::Terms;
use crate::version::{Era, Version};

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Decides the terms. This is the only place that tells the eras apart.
//= specs/mcp-runtime.md#versions
//# The era of a message MUST be decided once, from the message itself; handlers MUST NOT have to ask for it.
pub(super) fn of(door: &Door<'_>, request: &Request<'_>) -> Result<Terms, RpcError> {
    if let Some(terms) = door.terms {
        return Ok(terms.clone());
    }
    // A cheap look for the name saves taking apart the parameters of every message.
    let names_version = request
        .params
        .is_some_and(|p| memmem::find(p.as_bytes(), META_VERSION.as_bytes()).is_some());
    let only_stateless = Method::named(&request.method).is_some_and(|m| !m.exists_in(Era::Handshake));
    if only_stateless || (names_version && meta(request.params).is_ok_and(|m| m.has(META_VERSION))) {
        return stateless(request.params);
    }
    Ok(door.session.terms())
}

/// The terms a message of the stateless era carries in its `_meta`.
//= specs/mcp-runtime.md#versions
//# A request of the stateless era MUST name its version and the client's capabilities, else it MUST be refused with `-32602`.
pub(crate) fn stateless(params: Option<&str>) -> Result<Terms, RpcError> {
    let unfit = |refusal: Refusal| RpcError::from(refusal).status(400);
    let meta = meta(params).map_err(unfit)?;
    let name = meta.required_text(META_VERSION).map_err(unfit)?;
    let declared = meta
        .decode::<Map<String, Value>>(META_CAPABILITIES)
        .map_err(unfit)?;
    let declared = declared.ok_or_else(|| unfit(fields::missing(META_CAPABILITIES)))?;
    let version = Version::parse(&name).filter(|v| v.era() == Era::Stateless);
    let version = version.ok_or_else(|| unsupported_version(&name))?;
    let info: Option<Value> = meta.decode(META_CLIENT).map_err(unfit)?;
    let level = meta.text(META_LEVEL).map_err(unfit)?;
    let log_level = match level.as_deref() {
        None => None,
        Some(name) => Some(level_named(name).map_err(unfit)?),
    };
    let client = Arc::new(Client::new(info.as_ref(), ClientCapabilities::new(declared)));
    Ok(Terms {
        version,
        client,
        log_level,
    })
}

/// The error for a version that is not served without a handshake.
pub(crate) fn unsupported_version(requested: &str) -> RpcError {
    let refusal = Refusal::new(
        Code::InvalidProtocolVersion,
        format!("version {requested:?} is not supported"),
    );
    RpcError::numbered(-32022, refusal)
        .with("supported", Version::names().to_vec())
        .with("requested", requested)
        .status(400)
}

pub(super) fn level_named(name: &str) -> Result<Level, Refusal> {
    Level::parse(name).ok_or_else(|| {
        Refusal::field(
            Code::InvalidParams,
            "level",
            format!("{name:?} is no level"),
            "debug, info, notice, warning, error, critical, alert or emergency",
        )
    })
}

fn meta(params: Option<&str>) -> Result<Fields<'_>, Refusal> {
    let meta = Fields::of(params)?.raw("_meta");
    meta.ok_or_else(|| fields::missing("_meta"))
        .and_then(|meta| Fields::of(Some(meta)))
}
