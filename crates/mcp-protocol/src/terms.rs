//! On which terms a message is served: by its own `_meta`, or by the handshake before it.

use std::sync::Arc;

use memchr::memmem;
use refusal::{Code, Refusal};
use serde_json::{Map, Value};

use crate::client::{Client, ClientCapabilities};
use crate::envelope::Request;
use crate::error::{RpcCode, RpcError};
use crate::fields::{self, Fields};
use crate::level::Level;
use crate::method::Method;
use crate::version::{OfferedVersions, Version};

/// MCP `_meta` key of the revision a message is written in.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The terms one message is served on: decided once, where it enters.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The revision.
    pub version: Version,
    /// Who sends it.
    pub client: Arc<Client>,
    /// Log messages from this level on are wanted; `None` wants none.
    pub log_level: Option<Level>,
}

impl Terms {
    /// The terms a message brings along; `None` when those of the handshake before it hold.
    //= specs/mcp-server.md#versions
    //# The era of a message MUST be decided once, from the message itself; handlers MUST NOT have to ask for it.
    pub fn of_message(request: &Request<'_>, offered: &OfferedVersions) -> Result<Option<Terms>, RpcError> {
        // A cheap look for the name saves taking apart the parameters of every message.
        let names_version = request
            .params
            .is_some_and(|p| memmem::find(p.as_bytes(), META_VERSION.as_bytes()).is_some());
        let is_stateless = Method::named(&request.method).is_some_and(Method::is_stateless_only)
            || (names_version && meta(request).is_ok_and(|m| m.has(META_VERSION)));
        is_stateless.then(|| Self::of_meta(request, offered)).transpose()
    }

    /// The terms a message of the stateless era carries in its `_meta`.
    //= specs/mcp-server.md#versions
    //# A request of the stateless era MUST name its version and the client's capabilities, else it MUST be refused with `-32602`.
    pub fn of_meta(request: &Request<'_>, offered: &OfferedVersions) -> Result<Terms, RpcError> {
        let unfit = |refusal: Refusal| RpcError::from(refusal).with_status(400);
        let meta = meta(request).map_err(unfit)?;
        let name = meta.required_text(META_VERSION).map_err(unfit)?;
        let declared = meta
            .decode::<Map<String, Value>>(META_CAPABILITIES)
            .map_err(unfit)?;
        let declared = declared.ok_or_else(|| unfit(fields::missing(META_CAPABILITIES)))?;
        let version = offered.find(&name).filter(|v| !v.has_handshake());
        let version = version.ok_or_else(|| unsupported_version(&name, offered))?;
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
}

/// The error for a version that is not served without a handshake.
pub fn unsupported_version(requested: &str, offered: &OfferedVersions) -> RpcError {
    let refusal = Refusal::new(
        Code::InvalidProtocolVersion,
        format!("version {requested:?} is not supported"),
    );
    RpcError::numbered(RpcCode::UnsupportedVersion, refusal)
        .with("supported", offered.names())
        .with("requested", requested)
        .with_status(400)
}

/// The level with this name, or a refusal that lists them.
pub fn level_named(name: &str) -> Result<Level, Refusal> {
    Level::parse(name).ok_or_else(|| {
        Refusal::field(
            Code::InvalidParams,
            "level",
            format!("{name:?} is no level"),
            "debug, info, notice, warning, error, critical, alert or emergency",
        )
    })
}

fn meta<'c, 'a>(request: &'c Request<'a>) -> Result<&'c Fields<'a>, Refusal> {
    request.meta()?.ok_or_else(|| fields::missing("_meta"))
}
