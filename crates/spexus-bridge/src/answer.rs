//! Answers the bridge writes itself.

use mcp_client::SendError;
use mcp_protocol::{RpcCode, RpcError, ToolResult, Version};
use refusal::{Code, Refusal};
use serde_json::{Value, json};

/// `{"jsonrpc":"2.0","id":…,"result":…}` around a text.
pub(crate) fn result(id: &str, text: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{text}}}"#).into_bytes()
}

/// `{"jsonrpc":"2.0","id":…,"error":…}` around a text.
pub(crate) fn error(id: &str, text: &str) -> Vec<u8> {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{text}}}"#).into_bytes()
}

/// A notification.
pub(crate) fn notification(method: &str, params: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
        .to_string()
        .into_bytes()
}

/// Arguments that cannot be right, told as the version in use tells it.
pub(crate) fn arguments(id: &str, refusal: Refusal, version: Version) -> Vec<u8> {
    if version.faults_are_results() {
        let result_value = serde_json::to_value(ToolResult::failed(&refusal)).unwrap_or_else(|_| json!({}));
        let mut result_value = result_value;
        if version.has_result_meta() {
            result_value["resultType"] = "complete".into();
        }
        return result(id, &result_value.to_string());
    }
    RpcError::numbered(RpcCode::InvalidParams, refusal).answer(id, version)
}

// Fulfils 003 R4.9, 003 R13.7
/// Why a call came to nothing.
//= specs/spexus-bridge.md#faults
//# A call whose backend cannot be reached MUST be answered with 1080, one that takes too long with 1069, and one that is not tried because too many failed with 1086.
pub(crate) fn unreachable(fault: &SendError, safe: bool) -> Refusal {
    match fault {
        SendError::NotSent(_) => Refusal::new(
            Code::DependencyUnavailable,
            "the requirements server cannot be reached",
        )
        .hint("Try again in a moment. If it stays so, check that the server runs and that BACKEND_API_URL is its address."),
        SendError::Broken(_) if safe => Refusal::new(
            Code::DependencyUnavailable,
            "the connection to the requirements server broke before it answered",
        )
        .hint("Try again in a moment."),
        SendError::Broken(_) => Refusal::new(
            Code::DependencyUnavailable,
            "the connection to the requirements server broke before it answered; whether the change was made is unknown",
        )
        .hint("Look whether the change is there before you make it again."),
    }
}

/// The host said nothing of a session yet.
pub(crate) fn uninitialized() -> Refusal {
    Refusal::new(Code::ServerUninitialized, "this session was not initialized yet")
}

/// The backend took too long.
pub(crate) fn overdue(limit: std::time::Duration, safe: bool) -> Refusal {
    let refusal = Refusal::new(
        Code::Timeout,
        format!(
            "the requirements server did not answer within {} ms",
            limit.as_millis()
        ),
    );
    if safe {
        refusal.hint("Try again, ask for less, or raise MCP_REQUEST_TIMEOUT.")
    } else {
        refusal.hint("Whether the change was made is unknown: look before you make it again. MCP_REQUEST_TIMEOUT sets the limit.")
    }
}

/// The backend answered with something that is no message.
pub(crate) fn not_mcp(status: u16) -> Refusal {
    let code = match status {
        401 => Code::AuthFailed,
        403 => Code::AuthzForbidden,
        429 => Code::RateLimitExceeded,
        413 => Code::MessageTooLarge,
        _ => Code::DependencyUnavailable,
    };
    let message = format!("the requirements server answered with HTTP status {status} and no message");
    match code {
        Code::DependencyUnavailable => Refusal::new(code, message)
            .hint("Check that BACKEND_API_URL is the address of a Spexus server and that no proxy answers in its place."),
        Code::AuthFailed => Refusal::new(code, message).hint(
            "Send a valid token as `Authorization: Bearer mcp_pat_…`; create one with `spexus token create`.",
        ),
        _ => Refusal::new(code, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Refusal {
        Refusal::field(Code::InvalidParams, "title", "is missing", "type \"string\"")
    }

    // proves 003 R13.6
    #[test]
    fn arguments_are_refused_as_each_version_wants_it_with_the_field() {
        for version in Version::ALL {
            let text = arguments("7", refused(), version);
            let answer: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(answer["id"], 7);
            let (is_result, fields) = match answer.get("result") {
                Some(result) => (true, &result["structuredContent"]["error"]["fields"]),
                None => (false, &answer["error"]["data"]["fields"]),
            };
            assert_eq!(is_result, version >= Version::V2025_11_25, "{version}: {answer}");
            assert_eq!(fields[0]["field"], "title", "{version}: {answer}");
        }
    }

    // proves 003 R13.7
    #[test]
    fn every_failure_says_what_to_do_next() {
        let broken = SendError::Broken("connection reset".into());
        for refusal in [
            unreachable(&SendError::NotSent("refused".into()), true),
            unreachable(&broken, true),
            unreachable(&broken, false),
            overdue(std::time::Duration::from_secs(30), false),
            not_mcp(502),
            not_mcp(401),
        ] {
            assert!(
                refusal.hint.ends_with('.') && refusal.hint.len() > 10,
                "{refusal:?}"
            );
        }
        assert!(unreachable(&broken, false).message.contains("unknown"));
    }
}
