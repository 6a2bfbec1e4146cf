//! JSON-RPC 2.0 envelopes, read once and without copying.
//!
//! The outer object is taken apart into borrowed raw pieces; nothing inside `params` is looked at until the method is
//! known. An id is never interpreted: its own bytes come back in the answer, so `1.0`, `1e2` and numbers beyond any
//! integer type survive.

use std::borrow::Cow;
use std::sync::OnceLock;

use refusal::Refusal;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::fields::Fields;

/// One incoming message.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// Answers a request of ours.
    Response(Response<'a>),
}

/// A request: it has an id.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The id as it was written: a JSON string or number.
    pub id: &'a str,
    /// The method's name.
    pub method: Cow<'a, str>,
    /// The parameters' own text, when there are any.
    pub params: Option<&'a str>,
    fields: OnceLock<Fields<'a>>,
    meta: OnceLock<Fields<'a>>,
}

impl<'a> Request<'a> {
    fn new(id: &'a str, method: Cow<'a, str>, params: Option<&'a str>) -> Self {
        Self {
            id,
            method,
            params,
            fields: OnceLock::new(),
            meta: OnceLock::new(),
        }
    }

    /// The members of the parameters: taken apart once, when they are first asked for.
    pub fn fields(&self) -> Result<&Fields<'a>, Refusal> {
        once(&self.fields, self.params)
    }

    /// The members of MCP `_meta`; `None` when the parameters have none.
    pub fn meta(&self) -> Result<Option<&Fields<'a>>, Refusal> {
        match self.fields()?.raw("_meta") {
            None => Ok(None),
            meta => once(&self.meta, meta).map(Some),
        }
    }
}

fn once<'c, 'a>(cell: &'c OnceLock<Fields<'a>>, text: Option<&'a str>) -> Result<&'c Fields<'a>, Refusal> {
    if let Some(fields) = cell.get() {
        return Ok(fields);
    }
    let fields = Fields::of(text)?;
    Ok(cell.get_or_init(|| fields))
}

/// A notification: a method without an id.
#[derive(Clone, Debug)]
pub struct Notification<'a> {
    /// The method's name.
    pub method: Cow<'a, str>,
    /// The parameters' own text, when there are any.
    pub params: Option<&'a str>,
}

/// An answer of the client to one of the server's requests.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// The id the server chose, as the client wrote it.
    pub id: &'a str,
    /// The result or the error object, each as text.
    pub outcome: Result<&'a str, &'a str>,
}

/// Why a text is not a message. Carries the id when it could be read.
#[derive(Debug, PartialEq, Eq)]
pub enum Malformed<'a> {
    /// Not JSON at all (`-32700`).
    Syntax(String),
    /// JSON, but no JSON-RPC message (`-32600`).
    Shape {
        /// The id to answer to, when one could be read.
        id: Option<&'a str>,
        /// What is wrong.
        problem: &'static str,
    },
}

/// One frame: a message, or an array of them.
#[derive(Debug)]
pub enum Frame<'a> {
    /// A single text, not yet taken apart.
    Single(&'a str),
    /// The texts of a batch.
    Batch(Vec<&'a RawValue>),
}

/// What one text holds, taken apart once.
#[derive(Debug)]
pub enum Received<'a> {
    /// One message.
    Message(Message<'a>),
    /// The texts of a batch.
    Batch(Vec<&'a RawValue>),
}

/// Takes a text apart: a message, or an array of texts that are taken apart one by one.
pub fn receive(text: &str) -> Result<Received<'_>, Malformed<'_>> {
    match frame(text)? {
        Frame::Single(text) => message(text).map(Received::Message),
        Frame::Batch(texts) => Ok(Received::Batch(texts)),
    }
}

/// Tells a batch from a single message by the first byte that is not blank.
pub fn frame(text: &str) -> Result<Frame<'_>, Malformed<'_>> {
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if !text.starts_with('[') {
        return Ok(Frame::Single(text));
    }
    serde_json::from_str(text)
        .map(Frame::Batch)
        .map_err(|e| Malformed::Syntax(e.to_string()))
}

/// Takes one message apart.
pub fn message(text: &str) -> Result<Message<'_>, Malformed<'_>> {
    if !text.trim_start().starts_with('{') {
        return Err(no_object(text));
    }
    let parts: Parts<'_> = serde_json::from_str(text).map_err(|e| Malformed::Syntax(e.to_string()))?;
    parts.sort_out()
}

/// The id of a message that was cut off, when it stands in the part that was kept.
///
/// Only an `id` on the outermost level counts: one inside `params` belongs to somebody else.
pub fn id_in_prefix(prefix: &str) -> Option<&str> {
    let bytes = prefix.as_bytes();
    let (mut depth, mut at) = (0usize, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at)?;
                if depth == 1
                    && &prefix[at..end] == "\"id\""
                    && let Some(value) = after_colon(prefix, end)
                {
                    return scalar(value);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[derive(Default)]
struct Parts<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    result: Option<&'a str>,
    error: Option<&'a str>,
    doubled: bool,
}

impl<'a> Parts<'a> {
    fn sort_out(self) -> Result<Message<'a>, Malformed<'a>> {
        let id = self.id.filter(|id| is_id(id));
        if self.method.is_none()
            && let Some(outcome) = self.error.map(Err).or(self.result.map(Ok))
        {
            // An answer is never answered, however odd it is: two sides that complain about each other never end.
            return Ok(Message::Response(Response {
                id: id.unwrap_or("null"),
                outcome,
            }));
        }
        let wrong = |problem| Malformed::Shape { id, problem };
        if self.doubled {
            return Err(wrong("a member of the message occurs twice"));
        }
        if self.jsonrpc != Some("\"2.0\"") {
            return Err(wrong("`jsonrpc` must be \"2.0\""));
        }
        if self.id.is_some() && id.is_none() {
            return Err(wrong("`id` must be a string or a number"));
        }
        match self.method {
            Some(method) if self.result.is_none() && self.error.is_none() => self.call(id, method),
            Some(_) => Err(wrong("a message has one of `method`, `result` and `error`")),
            None => Err(wrong("`method` is missing")),
        }
    }

    fn call(&self, id: Option<&'a str>, method: &'a str) -> Result<Message<'a>, Malformed<'a>> {
        let wrong = |problem| Malformed::Shape { id, problem };
        let method = text(method).ok_or_else(|| wrong("`method` must be a string"))?;
        let params = self.params;
        if params.is_some_and(|p| !p.starts_with(['{', '['])) {
            return Err(wrong("`params` must be an object or an array"));
        }
        Ok(match id {
            Some(id) => Message::Request(Request::new(id, method, params)),
            None => Message::Notification(Notification { method, params }),
        })
    }
}

impl<'de> Deserialize<'de> for Parts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Outer;
        impl<'de> Visitor<'de> for Outer {
            type Value = Parts<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut parts = Parts::default();
                while let Some(member) = map.next_key::<Member>()? {
                    let slot = match member {
                        Member::JsonRpc => &mut parts.jsonrpc,
                        Member::Id => &mut parts.id,
                        Member::Method => &mut parts.method,
                        Member::Params => &mut parts.params,
                        Member::Result => &mut parts.result,
                        Member::Error => &mut parts.error,
                        Member::Other => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    let text = map.next_value::<&'de RawValue>()?.get();
                    parts.doubled |= slot.replace(text).is_some();
                }
                Ok(parts)
            }
        }
        deserializer.deserialize_map(Outer)
    }
}

enum Member {
    JsonRpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Member;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Member, E> {
                Ok(match name {
                    "jsonrpc" => Member::JsonRpc,
                    "id" => Member::Id,
                    "method" => Member::Method,
                    "params" => Member::Params,
                    "result" => Member::Result,
                    "error" => Member::Error,
                    _ => Member::Other,
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

fn no_object(text: &str) -> Malformed<'_> {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => Malformed::Shape {
            id: None,
            problem: "a message must be an object",
        },
        Err(e) => Malformed::Syntax(e.to_string()),
    }
}

/// The value of a raw JSON string, borrowed when nothing in it is escaped.
pub(crate) fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(raw).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

fn is_id(raw: &str) -> bool {
    raw.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}

fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn after_colon(text: &str, end: usize) -> Option<&str> {
    text[end..].trim_start().strip_prefix(':').map(str::trim_start)
}

fn scalar(value: &str) -> Option<&str> {
    let end = match value.as_bytes().first()? {
        b'"' => string_end(value.as_bytes(), 0)?,
        _ => value.find([',', '}', ' ', '\t', '\r', '\n'])?,
    };
    let raw = &value[..end];
    (is_id(raw) && serde_json::from_str::<IgnoredAny>(raw).is_ok()).then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Request<'_> {
        match message(text) {
            Ok(Message::Request(request)) => request,
            other => panic!("{text} is {other:?}"),
        }
    }

    fn problem(text: &str) -> (Option<String>, String) {
        match message(text) {
            Err(Malformed::Shape { id, problem }) => (id.map(str::to_owned), problem.to_owned()),
            Err(Malformed::Syntax(_)) => (None, "syntax".to_owned()),
            Ok(other) => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn ids_keep_their_bytes() {
        for id in [
            "1",
            "-7",
            "1.0",
            "1e2",
            "\"a\\u0062\"",
            "123456789012345678901234567890",
            "\"\"",
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(request(&text).id, id);
        }
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        assert_eq!(problem("{").1, "syntax");
        assert_eq!(problem("nonsense").1, "syntax");
        assert_eq!(problem("1").1, "a message must be an object");
        assert_eq!(problem("{}").1, "`jsonrpc` must be \"2.0\"");
        let cases = [
            (
                r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
                "`jsonrpc` must be \"2.0\"",
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, "`method` is missing"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
                "`method` must be a string",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":5}"#,
                "`params` must be an object or an array",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","result":5}"#,
                "a message has one of `method`, `result` and `error`",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#,
                "a member of the message occurs twice",
            ),
        ];
        for (text, expect) in cases {
            assert_eq!(problem(text), (Some("1".to_owned()), expect.to_owned()));
        }
        for id in ["null", "{}", "[]", "true"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
            assert_eq!(
                problem(&text),
                (None, "`id` must be a string or a number".to_owned())
            );
        }
    }

    #[test]
    fn an_answer_is_an_answer_however_odd() {
        for text in [
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
            r#"{"error":5}"#,
            r#"{"jsonrpc":"2.0","id":{},"result":{},"error":{}}"#,
        ] {
            assert!(
                matches!(message(text), Ok(Message::Response(Response { id: "null", .. }))),
                "{text}"
            );
        }
    }

    #[test]
    fn an_escaped_method_is_read() {
        let text = r#"{"jsonrpc":"2.0","id":1,"method":"pi\u006eg","extra":[{}]}"#;
        assert_eq!(request(text).method, "ping");
    }

    #[test]
    fn the_id_of_a_cut_message_is_the_outer_one() {
        let cut = r#"{"jsonrpc":"2.0","params":{"id":5,"x":"{\"id\":6"},"id": "a\"b" ,"more":"abc"#;
        assert_eq!(id_in_prefix(cut), Some(r#""a\"b""#));
        assert_eq!(id_in_prefix(r#"{"params":{"id":5,"#), None);
        assert_eq!(id_in_prefix(r#"{"id":12"#), None, "the number may go on");
        assert_eq!(id_in_prefix(r#"{"id":12,"#), Some("12"));
        assert_eq!(id_in_prefix(r#"{"id":nonsense,"#), None);
    }

    #[test]
    fn a_batch_is_known_by_its_bracket() {
        assert!(matches!(frame(" \u{feff}[1,2]"), Ok(Frame::Batch(parts)) if parts.len() == 2));
        assert!(matches!(frame("[1,"), Err(Malformed::Syntax(_))));
        assert!(matches!(frame("{}"), Ok(Frame::Single("{}"))));
    }
}
