//! The requests that are counted.

use serde_json::{Value, json};

/// Who is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Surface {
    /// `spexus serve`.
    Http,
    /// `spexus mcp` in front of a server that is not counted.
    Bridge,
    /// `spexus mcp --database`.
    Embedded,
}

/// One kind of request.
pub(super) struct Request {
    pub(super) name: &'static str,
    pub(super) surface: Surface,
    /// The shorter of the two runs.
    pub(super) few: usize,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    /// The body, or the parameters of `tools/call`; `#` stands for the number of the request.
    pub(super) body: &'static str,
}

impl Request {
    const fn rest(
        name: &'static str,
        few: usize,
        method: &'static str,
        path: &'static str,
        body: &'static str,
    ) -> Self {
        Self {
            name,
            surface: Surface::Http,
            few,
            method,
            path,
            body,
        }
    }

    const fn tool(name: &'static str, surface: Surface, few: usize, body: &'static str) -> Self {
        Self {
            name,
            surface,
            few,
            method: "POST",
            path: "/api/v1/mcp",
            body,
        }
    }

    /// What this request sends as its `number`th.
    pub(super) fn text(&self, number: usize) -> String {
        self.body.replace('#', &number.to_string())
    }

    /// The same as a JSON-RPC call; in the stateless era every call says what the connection would have said.
    pub(super) fn call(&self, number: usize) -> Value {
        let mut params: Value = serde_json::from_str(&self.text(number)).unwrap_or_default();
        if self.surface == Surface::Http {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params })
    }

    pub(super) fn is_call(&self) -> bool {
        self.path == "/api/v1/mcp"
    }
}

const READ: &str = r#"{"name":"get_item","arguments":{"id":"EP-001"}}"#;

/// All of them.
pub(super) const REQUESTS: &[Request] = &[
    Request::rest("GET an item", 200, "GET", "/api/v1/epics/EP-001", ""),
    Request::rest(
        "GET a page of 50",
        100,
        "GET",
        "/api/v1/requirements?limit=50",
        "",
    ),
    Request::rest(
        "GET a search",
        100,
        "GET",
        "/api/v1/search?query=export&limit=20",
        "",
    ),
    Request::rest(
        "POST an epic",
        100,
        "POST",
        "/api/v1/epics",
        r#"{"title":"Sign in with passkey #","description":"Without a password, within two seconds."}"#,
    ),
    Request::rest(
        "PATCH an epic",
        100,
        "PATCH",
        "/api/v1/epics/EP-001",
        r#"{"title":"Sign in, text #"}"#,
    ),
    Request::tool("tools/call get_item over HTTP", Surface::Http, 200, READ),
    Request::tool(
        "tools/call create_epic over HTTP",
        Surface::Http,
        100,
        r#"{"name":"create_epic","arguments":{"title":"Sign in with passkey #"}}"#,
    ),
    Request::tool("tools/call get_item, embedded", Surface::Embedded, 200, READ),
    Request::tool("tools/call get_item, bridge alone", Surface::Bridge, 200, READ),
];
