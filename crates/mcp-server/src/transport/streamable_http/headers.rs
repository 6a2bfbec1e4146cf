//! Headers of the stateless era, which repeat what the body says so that proxies need not read it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use refusal::{Code, Refusal};
use serde_json::Value;

use crate::server::core::Core;
use crate::session::Session;
use mcp_protocol::{Fields, Method, RpcCode, RpcError, Version, arguments, envelope::Request};

pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const LAST_EVENT: &str = "last-event-id";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// A header's text without the blanks around it. One that occurs twice, or is not text, counts as wrong.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let wrong = |problem: &str| Refusal::new(Code::InvalidHeader, format!("the header {name} {problem}"));
    if values.next().is_some() {
        return Err(wrong("occurs twice"));
    }
    value
        .to_str()
        .map(|text| Some(text.trim()))
        .map_err(|_| wrong("is not text"))
}

/// Refuses a request of a session that names another version than was agreed on.
//= specs/mcp-server.md#http-transport
//# A request of a session whose header names another version than was agreed on MUST be refused with status 400.
pub(super) fn check_agreed(headers: &HeaderMap, session: &Session) -> Result<(), Refusal> {
    let agreed = session.version();
    match text(headers, VERSION)? {
        Some(named) if Version::parse(named) != Some(agreed) => Err(Refusal::new(
            Code::InvalidHeader,
            format!("the header {VERSION} is not {agreed}, which this session agreed on"),
        )),
        _ => Ok(()),
    }
}

/// Holds the headers of a request against its body.
//= specs/mcp-server.md#http-transport
//# In the stateless era a header that is missing or differs from the body MUST be refused with `-32020` and status 400.
pub(super) fn compare(
    core: &Core,
    headers: &HeaderMap,
    request: &Request<'_>,
    version: &str,
) -> Result<(), RpcError> {
    same(headers, VERSION, Some(version))?;
    same(headers, METHOD, Some(&request.method))?;
    let fields = request.fields()?;
    let named = match Method::named(&request.method) {
        Some(Method::ToolsCall | Method::PromptsGet) => fields.text("name")?,
        Some(Method::ResourcesRead) => fields.text("uri")?,
        Some(Method::TasksGet | Method::TasksUpdate | Method::TasksCancel) => fields.text("taskId")?,
        _ => None,
    };
    if let Some(name) = &named {
        same(headers, NAME, Some(name))?;
    }
    match (Method::named(&request.method), named) {
        (Some(Method::ToolsCall), Some(name)) => compare_arguments(core, headers, &name, fields),
        _ => Ok(()),
    }
}

/// Arguments a tool wants to see in headers, too.
fn compare_arguments(
    core: &Core,
    headers: &HeaderMap,
    tool: &str,
    fields: &Fields<'_>,
) -> Result<(), RpcError> {
    let tools = core.registry.tools.load();
    let Some(registered) = tools.get(tool).filter(|t| !t.header_arguments.is_empty()) else {
        return Ok(());
    };
    let arguments = arguments(fields.raw("arguments"))?;
    for (header, argument) in &registered.header_arguments {
        let value = match arguments.get(argument) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        same(headers, header, value.as_deref())?;
    }
    Ok(())
}

fn same(headers: &HeaderMap, name: &str, body: Option<&str>) -> Result<(), RpcError> {
    let header = match text(headers, name) {
        Ok(header) => header.map(decode).transpose(),
        Err(refusal) => return Err(mismatch(refusal)),
    };
    let differs = |problem: &str| {
        mismatch(Refusal::new(
            Code::InvalidHeader,
            format!("the header {name} {problem}"),
        ))
    };
    match header {
        Err(()) => Err(differs("is not valid base64")),
        Ok(header) if header.as_deref() == body => Ok(()),
        Ok(None) => Err(differs("is missing")),
        Ok(Some(_)) => Err(differs("does not say what the body says")),
    }
}

/// A value that cannot stand in a header is wrapped: `=?base64?…?=`.
fn decode(value: &str) -> Result<String, ()> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|v| v.strip_suffix("?=")) else {
        return Ok(value.to_owned());
    };
    STANDARD
        .decode(inner)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or(())
}

fn mismatch(refusal: Refusal) -> RpcError {
    RpcError::numbered(RpcCode::HeaderMismatch, refusal).with_status(400)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, body: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert("x", value.parse().unwrap());
        same(&headers, "x", body).is_ok()
    }

    #[test]
    fn headers_are_held_against_the_body() {
        assert!(check("  a ", Some("a")) && check("=?base64?SGVsbG8=?=", Some("Hello")));
        assert!(check("SGVsbG8=", Some("SGVsbG8=")) && check("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")));
        assert!(!check("A", Some("a")) && !check("a", None));
        assert!(!check("=?base64?SGVsbG8?=", Some("Hello")), "padding is missing");
        assert!(!check("=?base64?SGVs!!!bG8=?=", Some("Hello")));
        assert!(
            same(&HeaderMap::new(), "x", None).is_ok() && same(&HeaderMap::new(), "x", Some("a")).is_err()
        );
        let mut twice = HeaderMap::new();
        twice.append("x", "a".parse().unwrap());
        twice.append("x", "a".parse().unwrap());
        assert_eq!(same(&twice, "x", Some("a")).unwrap_err().code, -32020);
    }
}
