//! Pieces of messages, read without taking whole messages apart.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Where the stateless era names its version.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Where the stateless era names what its client can do.
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Where the stateless era says in every answer who gives it.
const META_SERVER: &str = r#""io.modelcontextprotocol/serverInfo":"#;

/// What the bridge looks at in a request's parameters.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Glance<'a> {
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

impl<'a> Glance<'a> {
    /// Parameters of another shape are the backend's to refuse.
    pub(crate) fn at(params: Option<&'a str>) -> Self {
        params
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    }

    /// The tool a call names.
    pub(crate) fn tool_name(&self) -> Option<&str> {
        self.name.as_deref().or(self.tool.as_deref())
    }
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
pub(crate) fn introduced(answer: Vec<u8>, info: &str) -> Vec<u8> {
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
        let told = introduced(said.to_vec(), r#"{"name":"before"}"#);
        assert_eq!(
            std::str::from_utf8(&told).unwrap(),
            r#"{"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"before"},"x":1},"text":"y"}}"#
        );
        for other in [
            &br#"{"result":{"text":"\"io.modelcontextprotocol/serverInfo\":{}"}}"#[..],
            b"",
            b"{}",
        ] {
            assert_eq!(introduced(other.to_vec(), "{}"), other);
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
