//! Members of messages, read without taking whole messages apart.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use mcp_protocol::envelope::Request;
use memchr::memmem;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Where the stateless era names its version.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Where the stateless era names what its client can do.
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Where the stateless era says in every answer who gives it.
const META_SERVER: &str = r#""io.modelcontextprotocol/serverInfo":"#;

/// The members of a request's parameters that the bridge reads.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) tool: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) uri: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "taskId")]
    pub(crate) task_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "requestId")]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

impl<'a> Params<'a> {
    /// Parameters of another shape are the backend's to refuse.
    pub(crate) fn read(params: Option<&'a str>) -> Self {
        params
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// The tool a call names.
    pub(crate) fn tool_name(&self) -> Option<&str> {
        self.name.as_deref().or(self.tool.as_deref())
    }
}

/// A request of the host, taken apart once: the text as it came, and where its members stand in it.
#[derive(Debug)]
pub(crate) struct HostRequest {
    pub(crate) id: Box<str>,
    pub(crate) method: Box<str>,
    /// The version, for requests of the stateless era.
    pub(crate) stateless: Option<String>,
    text: Bytes,
    params: Option<Range<usize>>,
}

impl HostRequest {
    pub(crate) fn new(text: &str, request: &Request<'_>, stateless: Option<String>) -> Self {
        Self {
            id: request.id.into(),
            method: request.method.as_ref().into(),
            stateless,
            params: request.params.and_then(|params| place_of(params, text)),
            text: Bytes::copy_from_slice(text.as_bytes()),
        }
    }

    /// The whole message, as it came.
    pub(crate) fn body(&self) -> Bytes {
        self.text.clone()
    }

    /// The text of the parameters.
    pub(crate) fn params(&self) -> Option<&str> {
        std::str::from_utf8(&self.text[self.params.clone()?]).ok()
    }

    /// The message with one more argument of the tool it calls; all else stays as it came.
    pub(crate) fn with_argument(&self, params: &Params<'_>, name: &str, value: &str) -> Option<Bytes> {
        let text = std::str::from_utf8(&self.text).ok()?;
        let member = format!("{}:{}", Value::from(name), Value::from(value));
        let Some(arguments) = params.arguments.map(RawValue::get) else {
            let at = self.params.clone()?;
            let mut params: Value = serde_json::from_str(&text[at.clone()]).ok()?;
            params["arguments"] = serde_json::from_str(&format!("{{{member}}}")).ok()?;
            return Some(format!("{}{params}{}", &text[..at.start], &text[at.end..]).into());
        };
        let inside = arguments.strip_prefix('{')?;
        let comma = if inside.trim_start().starts_with('}') {
            ""
        } else {
            ","
        };
        let at = place_of(inside, text)?.start;
        Some(format!("{}{member}{comma}{}", &text[..at], &text[at..]).into())
    }
}

/// Where a part of a text stands in it.
fn place_of(part: &str, whole: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let place = start..start + part.len();
    (whole.get(place.clone()) == Some(part)).then_some(place)
}

/// The version a request of the stateless era carries in its `_meta`.
pub(crate) fn stateless_version(params: Option<&str>) -> Option<String> {
    #[derive(Deserialize)]
    struct Outer {
        #[serde(rename = "_meta")]
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
        version: String,
    }
    let params = params?;
    // A cheap look for the name saves taking apart the parameters of every message.
    memmem::find(params.as_bytes(), META_VERSION.as_bytes())?;
    let outer: Outer = serde_json::from_str(params).ok()?;
    Some(outer.meta.version)
}

/// A text as a header's value: as it is when it can stand there, else wrapped.
pub(crate) fn header_text(text: &str) -> String {
    let plain =
        text.bytes().all(|b| (0x20..0x7f).contains(&b)) && text.trim() == text && !text.starts_with("=?");
    if plain {
        return text.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// An answer of the stateless era as the bridge's own: who gave it says the same as in the other era. The name can only
/// stand as a member, for within a text its quotes would be escaped.
pub(crate) fn with_server_info(answer: Vec<u8>, info: &str) -> Vec<u8> {
    let Some(at) = memmem::find(&answer, META_SERVER.as_bytes()) else {
        return answer;
    };
    let (before, rest) = answer.split_at(at + META_SERVER.len());
    let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
    match values.next() {
        Some(Ok(_)) => [before, info.as_bytes(), &rest[values.byte_offset()..]].concat(),
        _ => answer,
    }
}

/// Line ends can only stand between the parts of a JSON text; there they mean nothing.
pub(crate) fn one_line(text: &[u8]) -> Cow<'_, [u8]> {
    let text = text.trim_ascii();
    if memchr::memchr2(b'\n', b'\r', text).is_none() {
        return Cow::Borrowed(text);
    }
    let blank = |byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            *byte
        }
    };
    Cow::Owned(text.iter().map(blank).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_protocol::envelope;

    #[test]
    fn a_name_that_cannot_stand_in_a_header_is_wrapped() {
        assert_eq!(header_text("create_epic"), "create_epic");
        assert_eq!(header_text("Hello\n"), "=?base64?SGVsbG8K?=");
        assert_eq!(header_text("é"), "=?base64?w6k=?=");
        assert_eq!(header_text("=?x"), "=?base64?PT94?=");
    }

    #[test]
    fn an_answer_is_one_line_whatever_a_proxy_made_of_it() {
        assert_eq!(&*one_line(b"{\n  \"a\": 1\r\n}\n"), b"{   \"a\": 1  }");
        assert!(matches!(one_line(b"{}"), Cow::Borrowed(b"{}")));
    }

    #[test]
    fn an_answer_is_given_in_the_name_of_the_bridge() {
        let said = br#"{"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"behind"},"x":1},"text":"y"}}"#;
        let renamed = with_server_info(said.to_vec(), r#"{"name":"before"}"#);
        assert_eq!(
            std::str::from_utf8(&renamed).unwrap(),
            r#"{"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"before"},"x":1},"text":"y"}}"#
        );
        for other in [
            &br#"{"result":{"text":"\"io.modelcontextprotocol/serverInfo\":{}"}}"#[..],
            b"",
            b"{}",
        ] {
            assert_eq!(with_server_info(other.to_vec(), "{}"), other);
        }
    }

    #[test]
    fn an_argument_is_added_and_all_else_stays_as_it_came() {
        let added = |text: &str| {
            let Ok(envelope::Message::Request(request)) = envelope::message(text) else {
                panic!("{text}");
            };
            let request = HostRequest::new(text, &request, None);
            let params = Params::read(request.params());
            let body = request.with_argument(&params, "key", "k\"1").unwrap();
            String::from_utf8(body.to_vec()).unwrap()
        };
        let head = r#"{"x":1.00,"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t""#;
        for (arguments, expect) in [
            (
                r#","arguments":{"n":1.50}}"#,
                r#","arguments":{"key":"k\"1","n":1.50}}"#,
            ),
            (r#","arguments": { } }"#, r#","arguments": {"key":"k\"1" } }"#),
        ] {
            assert_eq!(
                added(&format!("{head}{arguments},\"y\":[]}}")),
                format!("{head}{expect},\"y\":[]}}")
            );
        }
        for none in ["}", r#","arguments":null}"#] {
            let body: Value = serde_json::from_str(&added(&format!("{head}{none},\"y\":[]}}"))).unwrap();
            assert_eq!(
                body["params"],
                serde_json::json!({ "name": "t", "arguments": { "key": "k\"1" } })
            );
            assert_eq!(body["y"], serde_json::json!([]));
        }
    }

    #[test]
    fn the_version_is_read_from_the_meta_only() {
        let params = format!(r#"{{"_meta":{{"{META_VERSION}":"2026-07-28"}},"name":"x"}}"#);
        assert_eq!(stateless_version(Some(&params)).as_deref(), Some("2026-07-28"));
        let inside = format!(r#"{{"arguments":{{"{META_VERSION}":"2026-07-28"}}}}"#);
        assert_eq!(stateless_version(Some(&inside)), None);
        assert_eq!(stateless_version(None), None);
    }
}
