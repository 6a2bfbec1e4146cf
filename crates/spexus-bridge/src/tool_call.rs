//! Tool calls before they leave: arguments held against the tool's schema, and a key for those that are not repeatable.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use refusal::Refusal;
use serde_json::{Value, json};

use crate::backend::header_value;
use crate::bridge::Bridge;
use crate::message::{HostRequest, META_CAPABILITIES, Params, header_text};
use crate::tool_cache::{CachedTool, KEY, ToolList};

/// A request that may be forwarded.
pub(crate) struct Checked {
    pub(crate) body: Bytes,
    /// Whether twice is once.
    pub(crate) repeatable: bool,
    /// Arguments that must stand in headers, too.
    pub(crate) headers: Vec<(String, String)>,
}

// Fulfils 003 R6.3, 003 R6.10, 003 R13.6
/// Holds a call against what is known of its tool, and gives it a key when the tool takes one.
//= specs/spexus-bridge.md#calling-the-backend
//# Arguments MUST be checked against the tool's schema before the backend is called, and every wrong field MUST be named.
pub(crate) async fn check(
    bridge: &Bridge,
    request: &HostRequest,
    params: &Params<'_>,
) -> Result<Checked, Refusal> {
    let (backend, version) = (&bridge.backend.endpoint, &bridge.settings.version);
    let as_it_is = |repeatable| Checked {
        body: request.body(),
        repeatable,
        headers: Vec::new(),
    };
    let Some(mut tools) = bridge.tools.get(backend, version).await else {
        return Ok(as_it_is(false));
    };
    let Some(name) = params.tool_name() else {
        return Ok(as_it_is(false));
    };
    let Some(mut arguments) = given(params) else {
        return Ok(as_it_is(tools.get(name).is_some_and(CachedTool::repeatable)));
    };
    let mut admitted = admit(&tools, name, &mut arguments);
    // Before the host is refused, what it is held against must be what the backend has now.
    let fresh = Duration::from_millis(bridge.settings.limits.tool_cache_fresh_ms);
    if (admitted.is_err() || tools.get(name).is_none())
        && tools.is_older_than(fresh)
        && let Some(now) = bridge.tools.refresh(backend, version).await
    {
        tools = now;
        // What was held against the old list was completed by it.
        arguments = given(params).unwrap_or_default();
        admitted = admit(&tools, name, &mut arguments);
    }
    //= specs/spexus-bridge.md#calling-the-backend
    //# A call that only lacks arguments MUST be carried when the host can ask its person for them.
    if let Err(refusal) = admitted
        && !(host_can_ask(bridge, request) && only_lacks(&tools, name, &arguments, &refusal))
    {
        return Err(refusal);
    }
    Ok(match tools.get(name) {
        Some(tool) => keyed(bridge, request, params, tool, &arguments),
        None => as_it_is(false),
    })
}

/// The arguments of a call; `None` where they are no object: the backend knows how to read arguments that came as text, and
/// how to refuse the rest.
fn given(params: &Params<'_>) -> Option<Value> {
    match params.arguments {
        None => Some(json!({})),
        Some(raw) => serde_json::from_str(raw.get()).ok().filter(Value::is_object),
    }
}

/// The call with a key, where its tool takes one and the host gave none.
fn keyed(
    bridge: &Bridge,
    request: &HostRequest,
    params: &Params<'_>,
    tool: &CachedTool,
    arguments: &Value,
) -> Checked {
    let mut checked = Checked {
        body: request.body(),
        repeatable: tool.repeatable(),
        headers: match request.stateless {
            Some(_) => header_arguments(tool, arguments),
            None => Vec::new(),
        },
    };
    if tool.repeatable() || !tool.takes_key() {
        return checked;
    }
    //= specs/spexus-bridge.md#faults
    //# A call that makes something MUST carry a key by which the backend makes it once, however often it is sent.
    if arguments.get(KEY).is_some() {
        checked.repeatable = true;
    } else if let Some(body) = request.with_argument(params, KEY, &bridge.next_key()) {
        checked.body = body;
        checked.repeatable = true;
    }
    checked
}

/// The headers a request of the stateless era must carry; `None` for the other era.
pub(crate) fn stateless_headers(
    request: &HostRequest,
    params: &Params<'_>,
    arguments: Vec<(String, String)>,
) -> Option<HeaderMap> {
    let version = request.stateless.as_ref()?;
    let mut headers = HeaderMap::new();
    let mut put = |name: &str, text: &str| {
        let name = HeaderName::try_from(name).ok();
        headers.extend(name.zip(header_value(&header_text(text))));
    };
    put("mcp-protocol-version", version);
    put("mcp-method", &request.method);
    let named = match &*request.method {
        "tools/call" | "prompts/get" => params.name.as_deref(),
        "resources/read" => params.uri.as_deref(),
        method if method.starts_with("tasks/") => params.task_id.as_deref(),
        _ => None,
    };
    if let Some(name) = named {
        put("mcp-name", name);
    }
    for (name, value) in arguments {
        put(&name, &value);
    }
    Some(headers)
}

fn header_arguments(tool: &CachedTool, arguments: &Value) -> Vec<(String, String)> {
    let value = |(header, argument): (String, String)| match arguments.get(&argument) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some((header, text.clone())),
        Some(other) => Some((header, other.to_string())),
    };
    tool.header_arguments().into_iter().filter_map(value).collect()
}

/// Whether the host can show a question of the backend to its person.
fn host_can_ask(bridge: &Bridge, request: &HostRequest) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let declared = match &request.stateless {
        Some(_) => read(request.params().unwrap_or("{}"))["_meta"][META_CAPABILITIES].take(),
        None => read(&bridge.session.handshake_params())["capabilities"].take(),
    };
    declared.get("elicitation").is_some()
}

fn admit(tools: &ToolList, name: &str, arguments: &mut Value) -> Result<(), Refusal> {
    match tools.get(name).and_then(CachedTool::schema) {
        Some(schema) => schema.admit(arguments),
        None => Ok(()),
    }
}

fn only_lacks(tools: &ToolList, name: &str, arguments: &Value, refusal: &Refusal) -> bool {
    match (tools.get(name).and_then(CachedTool::schema), arguments) {
        (Some(schema), Value::Object(given)) => schema.only_lacks(given, refusal),
        _ => false,
    }
}
